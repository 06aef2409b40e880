//! `DeleteFile`.

use std::sync::Arc;

use gadgetry::proto::schema::Unterminated;
use gadgetry::{
    CallPreview, Example, ExecutionContext, Gadget, GadgetError, GadgetInfo, Permission, Subject,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::blocking::blocking;
use crate::workspace::{Deleted, Workspace};

/// Deletes a file or a folder.
#[derive(Debug)]
pub(crate) struct DeleteFile(pub(crate) Arc<Workspace>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DeleteFileParams {
    /// Path of the file or folder, relative to the workspace
    file_path: String,
    /// Delete a folder with everything in it
    #[serde(default)]
    recursive: bool,
}

impl Gadget for DeleteFile {
    type Params = DeleteFileParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new(
            "DeleteFile",
            "Deletes a file or a folder of the workspace. Of a symbolic link, the link is deleted.",
        )
        .example(
            Example::new(json!({ "filePath": "old/notes.txt" }))
                .output("Deleted the file old/notes.txt")
                .comment("Delete a file"),
        )
        .unterminated(Unterminated::Confirm)
    }

    async fn execute(
        &self,
        params: DeleteFileParams,
        _context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let workspace = Arc::clone(&self.0);
        blocking(move || {
            let path = workspace.resolve_entry(&params.file_path)?;
            let what = match workspace.delete(&path, params.recursive)? {
                Deleted::File => "file",
                Deleted::Folder => "folder",
            };
            Ok(format!("Deleted the {what} {path}"))
        })
        .await
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    async fn preview(&self, params: DeleteFileParams) -> Result<CallPreview, GadgetError> {
        let workspace = Arc::clone(&self.0);
        blocking(move || {
            let path = workspace.resolve_entry(&params.file_path)?;
            let preview = CallPreview::of(Subject::Path(path.to_string()));
            Ok(if params.recursive {
                preview.note("with everything in it")
            } else {
                preview
            })
        })
        .await
    }
}
