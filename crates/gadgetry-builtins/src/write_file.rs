//! `WriteFile`.

use std::sync::Arc;

use gadgetry::proto::schema::Unterminated;
use gadgetry::{CallPreview, ExecutionContext, Gadget, GadgetError, GadgetInfo, Permission};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::after_edit::AfterEdits;
use crate::blocking::{blocking, writes};
use crate::diff::whole;
use crate::workspace::Workspace;

/// Writes a whole file.
#[derive(Debug)]
pub(crate) struct WriteFile {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) after: Arc<AfterEdits>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WriteFileParams {
    file_path: String,
    /// all of it
    content: String,
}

impl Gadget for WriteFile {
    type Params = WriteFileParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new(
            "WriteFile",
            "Writes a whole text file, and the folders above it. To change a part of one, use EditFile.",
        )
        .unterminated(Unterminated::Confirm)
    }

    async fn execute(
        &self,
        params: WriteFileParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let (workspace, commands) = (Arc::clone(&self.workspace), Arc::clone(&self.after));
        let approved = context.clone();
        let (path, content, result) = blocking(move || {
            let path = workspace.resolve(&params.file_path)?;
            let changed = workspace.change(&path, |before| {
                let after = params.content.as_bytes();
                let writes = writes(&path, before, after);
                approved.check_approved(&commands.noted(&path, writes))?;
                Ok::<_, GadgetError>(after.to_vec())
            })?;
            let is_new = changed.before.is_none();
            let (bytes, new) = (
                params.content.len(),
                if is_new { " (new file)" } else { "" },
            );
            let unit = if bytes == 1 { "byte" } else { "bytes" };
            let shown = path.on_one_line();
            let result = format!("path={shown}\n\nWrote {bytes} {unit}{new}");
            Ok((path, changed.after, result))
        })
        .await?;
        Ok(self.after.run(&path, &content, result, &context).await)
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    async fn preview(&self, params: WriteFileParams) -> Result<CallPreview, GadgetError> {
        let (workspace, commands) = (Arc::clone(&self.workspace), Arc::clone(&self.after));
        blocking(move || {
            let path = workspace.resolve(&params.file_path)?;
            let (before, after) = (workspace.content(&path)?, params.content.as_bytes());
            let diff = whole(&path.on_one_line(), before.as_deref(), after);
            let mut preview = writes(&path, before.as_deref(), after);
            if before.as_deref() == Some(after) {
                preview = preview.note("the file has this content already");
            }
            Ok(commands.noted(&path, preview).diff(diff))
        })
        .await
    }
}
