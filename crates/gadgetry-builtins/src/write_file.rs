//! `WriteFile`.

use std::sync::Arc;

use gadgetry::proto::schema::Unterminated;
use gadgetry::{
    CallPreview, Example, ExecutionContext, Gadget, GadgetError, GadgetInfo, Permission,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::blocking::{blocking, writes};
use crate::diff::whole;
use crate::workspace::Workspace;

/// Writes a whole file.
#[derive(Debug)]
pub(crate) struct WriteFile(pub(crate) Arc<Workspace>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WriteFileParams {
    /// Path of the file, relative to the workspace
    file_path: String,
    /// The complete new content of the file
    content: String,
}

impl Gadget for WriteFile {
    type Params = WriteFileParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new(
            "WriteFile",
            "Writes a text file of the workspace, with the folders above it. Replaces the whole file if it exists; to change a part of it, use EditFile.",
        )
        .example(
            Example::new(json!({ "filePath": "notes/today.md", "content": "# Today\n\n- tests\n" }))
                .output("path=notes/today.md\n\nWrote 17 bytes (new file)")
                .comment("Create a file"),
        )
        .unterminated(Unterminated::Confirm)
    }

    async fn execute(
        &self,
        params: WriteFileParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let workspace = Arc::clone(&self.0);
        blocking(move || {
            let path = workspace.resolve(&params.file_path)?;
            let changed = workspace.change(&path, |before| {
                let after = params.content.as_bytes();
                context.check_approved(&writes(&path, before, after))?;
                Ok::<_, GadgetError>(after.to_vec())
            })?;
            let is_new = changed.before.is_none();
            let (bytes, new) = (
                params.content.len(),
                if is_new { " (new file)" } else { "" },
            );
            let unit = if bytes == 1 { "byte" } else { "bytes" };
            Ok(format!("path={path}\n\nWrote {bytes} {unit}{new}"))
        })
        .await
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    async fn preview(&self, params: WriteFileParams) -> Result<CallPreview, GadgetError> {
        let workspace = Arc::clone(&self.0);
        blocking(move || {
            let path = workspace.resolve(&params.file_path)?;
            let (before, after) = (workspace.content(&path)?, params.content.as_bytes());
            let diff = whole(&path.to_string(), before.as_deref(), after);
            Ok(writes(&path, before.as_deref(), after).diff(diff))
        })
        .await
    }
}
