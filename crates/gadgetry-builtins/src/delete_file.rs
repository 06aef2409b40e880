//! `DeleteFile`.

use std::sync::Arc;

use gadgetry::proto::schema::Unterminated;
use gadgetry::{
    CallPreview, ExecutionContext, Gadget, GadgetError, GadgetInfo, Permission, Subject,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::blocking::blocking;
use crate::workspace::{Deleted, Doomed, Workspace, WorkspacePath};

/// Deletes a file or a folder.
#[derive(Debug)]
pub(crate) struct DeleteFile(pub(crate) Arc<Workspace>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DeleteFileParams {
    file_path: String,
    /// a folder with all in it
    #[serde(default)]
    recursive: bool,
}

impl Gadget for DeleteFile {
    type Params = DeleteFileParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("DeleteFile", "Deletes a file or a folder.")
            .unterminated(Unterminated::Confirm)
    }

    async fn execute(
        &self,
        params: DeleteFileParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let workspace = Arc::clone(&self.0);
        blocking(move || {
            let path = workspace.resolve_entry(&params.file_path)?;
            let check = |doomed: &Doomed| context.check_approved(&deletes(&path, doomed));
            let mut may = |inside: &WorkspacePath| {
                if context.may_include(&Subject::Path(inside.to_string())) {
                    return Ok(());
                }
                Err(GadgetError::new(format_args!(
                    "{path} was not deleted: {inside} in it may not be deleted, by a rule about approvals"
                )))
            };
            let what = match workspace.delete(&path, params.recursive, check, &mut may)? {
                Deleted::File => "file",
                Deleted::EmptyFolder | Deleted::Folder => "folder",
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
            let doomed = workspace.deletes(&path, params.recursive)?;
            Ok(deletes(&path, &doomed))
        })
        .await
    }
}

/// An approval holds for what is there now.
fn deletes(path: &WorkspacePath, doomed: &Doomed) -> CallPreview {
    let text = path.to_string();
    let (subject, note) = match doomed.kind {
        Deleted::File if doomed.is_link => (Subject::Path(text), "a link".to_owned()),
        Deleted::File => (Subject::Path(text), "a file".to_owned()),
        Deleted::EmptyFolder => (Subject::Path(text), "an empty folder".to_owned()),
        Deleted::Folder => {
            let files = match doomed.files {
                1 => "1 file".to_owned(),
                files => format!("{files} files"),
            };
            (
                Subject::Folder(text),
                format!("a folder with {files} in it"),
            )
        }
    };
    let preview = CallPreview::of(subject).note(note).whole();
    preview.bound_to(&doomed.state)
}
