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
use crate::encoding::decoded;
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
                let (edited, bytes) = edited(&path, before, &params)?;
                let writes = writes(&path, before, &bytes);
                approved.check_approved(&after.noted(&path, writes))?;
                done = Some(edited);
                Ok::<_, GadgetError>(bytes)
            })?;
            let diff = unified(
                &path.on_one_line(),
                changed.before.as_deref(),
                &changed.after,
            );
            let (strategy, (first, last)) = done.map_or(("exact", (0, 0)), |edited| {
                (edited.strategy.as_str(), edited.lines)
            });
            let shown = path.on_one_line();
            let result = format!(
                "path={shown} status=success strategy={strategy} lines={first}-{last}\n\n{diff}"
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
            let (_, after) = edited(&path, before.as_deref(), &params)?;
            let diff = whole(&path.on_one_line(), before.as_deref(), &after);
            let writes = writes(&path, before.as_deref(), &after);
            Ok(commands.noted(&path, writes).diff(diff))
        })
        .await
    }
}

/// The edit, and the bytes of the file after it, in the encoding that it has.
fn edited(
    path: &WorkspacePath,
    before: Option<&[u8]>,
    params: &EditFileParams,
) -> Result<(Edited, Vec<u8>), GadgetError> {
    let before = before
        .ok_or_else(|| FileError::io(path, std::io::ErrorKind::NotFound.into()))
        .map_err(GadgetError::from)?;
    let (before, encoding) = decoded(before).ok_or_else(|| {
        GadgetError::new(format_args!(
            "{path} is not text in UTF-8, or in UTF-16 with a byte order mark"
        ))
    })?;
    let wanted = Edit {
        search: &params.search,
        replace: &params.replace,
        replace_all: params.replace_all,
        expected_count: params.expected_count,
    };
    let edited = edit(&before, &wanted)
        .map_err(|error| GadgetError::new(format_args!("{path}: {error}")))?;
    let bytes = encoding.bytes(edited.text.clone());
    Ok((edited, bytes))
}
