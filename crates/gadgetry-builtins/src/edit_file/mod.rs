//! `EditFile`.

mod matching;
mod nearest;

use std::sync::Arc;

use gadgetry::proto::schema::Unterminated;
use gadgetry::{
    CallPreview, Example, ExecutionContext, Gadget, GadgetError, GadgetInfo, Permission,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::after_edit::AfterEdits;
use crate::blocking::{blocking, writes};
use crate::diff::{unified, whole};
use crate::workspace::{FileError, Workspace, WorkspacePath};

use matching::{Edit, Edited, edit};

/// Replaces a passage of a file.
#[derive(Debug)]
pub(crate) struct EditFile {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) after: Arc<AfterEdits>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EditFileParams {
    file_path: String,
    /// the passage as it is in the file, long enough to be unique
    search: String,
    /// the new passage
    replace: String,
    #[serde(default)]
    replace_all: bool,
    expected_count: Option<usize>,
}

impl Gadget for EditFile {
    type Params = EditFileParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new(
            "EditFile",
            "Replaces a passage of a text file. Returns the diff.",
        )
        .example(
            Example::new(json!({
                "filePath": "src/main.rs",
                "search": "    let limit = 10;",
                "replace": "    let limit = 20;",
            }))
            .comment("Change one line"),
        )
        .unterminated(Unterminated::Confirm)
    }

    async fn execute(
        &self,
        params: EditFileParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let (workspace, after) = (Arc::clone(&self.workspace), Arc::clone(&self.after));
        let approved = context.clone();
        let (path, content, result) = blocking(move || {
            let path = workspace.resolve(&params.file_path)?;
            let mut done = None;
            let changed = workspace.change(&path, |before| {
                let edited = edited(&path, before, &params)?;
                let writes = writes(&path, before, edited.text.as_bytes());
                approved.check_approved(&after.noted(&path, writes))?;
                let text = edited.text.clone().into_bytes();
                done = Some(edited);
                Ok::<_, GadgetError>(text)
            })?;
            let diff = unified(&path.to_string(), changed.before.as_deref(), &changed.after);
            let (strategy, (first, last)) = done.map_or(("exact", (0, 0)), |edited| {
                (edited.strategy.as_str(), edited.lines)
            });
            let result = format!(
                "path={path} status=success strategy={strategy} lines={first}-{last}\n\n{diff}"
            );
            Ok((path, changed.after, result))
        })
        .await?;
        Ok(self.after.run(&path, &content, result, &context).await)
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    async fn preview(&self, params: EditFileParams) -> Result<CallPreview, GadgetError> {
        let (workspace, commands) = (Arc::clone(&self.workspace), Arc::clone(&self.after));
        blocking(move || {
            let path = workspace.resolve(&params.file_path)?;
            let before = workspace.content(&path)?;
            let edited = edited(&path, before.as_deref(), &params)?;
            let after = edited.text.as_bytes();
            let diff = whole(&path.to_string(), before.as_deref(), after);
            let writes = writes(&path, before.as_deref(), after);
            Ok(commands.noted(&path, writes).diff(diff))
        })
        .await
    }
}

fn edited(
    path: &WorkspacePath,
    before: Option<&[u8]>,
    params: &EditFileParams,
) -> Result<Edited, GadgetError> {
    let before = before
        .ok_or_else(|| FileError::io(path, std::io::ErrorKind::NotFound.into()))
        .map_err(GadgetError::from)?;
    let before = std::str::from_utf8(before)
        .map_err(|_| GadgetError::new(format_args!("{path} is not UTF-8 text")))?;
    let wanted = Edit {
        search: &params.search,
        replace: &params.replace,
        replace_all: params.replace_all,
        expected_count: params.expected_count,
    };
    edit(before, &wanted).map_err(|error| GadgetError::new(format_args!("{path}: {error}")))
}
