//! `ListDirectory`.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gadgetry::proto::schema::OnInterrupt;
use gadgetry::{
    CallPreview, ExecutionContext, Gadget, GadgetError, GadgetInfo, Permission, Subject,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::blocking::{blocking, preview_of, reads, whole_workspace};
use crate::workspace::{Entry, EntryKind, REPLACED, Walk, Workspace};

/// Entries that are listed.
const ENTRIES: usize = 1000;

/// Lists a folder.
#[derive(Debug)]
pub(crate) struct ListDirectory(pub(crate) Arc<Workspace>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListDirectoryParams {
    #[serde(default = "whole_workspace")]
    directory_path: String,
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 10))]
    max_depth: usize,
    #[serde(default)]
    include_ignored: bool,
}

fn three() -> usize {
    3
}

impl Gadget for ListDirectory {
    type Params = ListDirectoryParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new(
            "ListDirectory",
            "Lists a folder as type|name|size|age (D folder, F file, L link), without what .gitignore excludes.",
        )
        .on_interrupt(OnInterrupt::Rerun)
    }

    async fn execute(
        &self,
        params: ListDirectoryParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let workspace = Arc::clone(&self.0);
        blocking(move || list(&workspace, &params, &context, SystemTime::now())).await
    }

    async fn preview(&self, params: ListDirectoryParams) -> Result<CallPreview, GadgetError> {
        preview_of(&self.0, params.directory_path).await
    }
}

fn list(
    workspace: &Workspace,
    params: &ListDirectoryParams,
    context: &ExecutionContext,
    now: SystemTime,
) -> Result<String, GadgetError> {
    let is_cancelled = || context.cancellation().is_cancelled();
    let path = workspace.resolve(&params.directory_path)?;
    context.check_approved(&reads(workspace, &path))?;
    let (shown, depth) = (path.on_one_line(), params.max_depth);
    let mut text = format!("path={shown} maxDepth={depth}\n\n#T|N|S|A\n");
    let (mut rows, mut more) = (0, false);
    let walk = Walk {
        depth: params.max_depth,
        ignore: !params.include_ignored,
    };
    walk.visit(workspace, &path, &mut |entry| {
        if rows == ENTRIES || is_cancelled() {
            more = true;
            return ControlFlow::Break(());
        }
        if !may_show(&entry, context) {
            return ControlFlow::Continue(());
        }
        rows += 1;
        row(&entry, now, &mut text);
        ControlFlow::Continue(())
    })?;
    if is_cancelled() {
        return Err(GadgetError::cancelled());
    }
    if rows == 0 {
        text.push_str("#empty\n");
    }
    if more {
        text.push_str(
            "#more: only the first 1000 entries are listed; list a folder or fewer levels\n",
        );
    }
    Ok(text)
}

/// Returns whether the rules about approvals leave an entry, and of a folder what is in it.
fn may_show(entry: &Entry<'_>, context: &ExecutionContext) -> bool {
    let path = entry.path.to_string();
    let is_folder = entry.kind == EntryKind::Folder;
    // A folder is a row of its own: it is left out only if nothing in it may be shown.
    let is_denied =
        is_folder && context.permission_for(&Subject::Folder(path.clone())) == Permission::Deny;
    !is_denied && context.may_include(&Subject::Path(path))
}

fn row(entry: &Entry<'_>, now: SystemTime, text: &mut String) {
    let kind = match entry.kind {
        EntryKind::Folder => 'D',
        EntryKind::File => 'F',
        EntryKind::Link => 'L',
        EntryKind::Other => 'O',
    };
    let metadata = entry.metadata.as_ref();
    let size = metadata.filter(|_| entry.kind == EntryKind::File);
    let size = size.map_or(0, cap_std::fs::Metadata::len);
    let modified = metadata.and_then(|metadata| metadata.modified().ok());
    let age = modified.and_then(|modified| now.duration_since(modified.into_std()).ok());
    let name = entry.path.on_one_line().replace('|', REPLACED);
    let age = age.unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{kind}|{name}|{size}|{}", short(age));
}

/// The age in its largest unit: `5m`, `2d`, `3mo`.
fn short(age: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let seconds = age.as_secs();
    let units = [
        (365 * DAY, "y"),
        (30 * DAY, "mo"),
        (7 * DAY, "w"),
        (DAY, "d"),
        (HOUR, "h"),
        (MINUTE, "m"),
    ];
    let unit = units.into_iter().find(|(unit, _)| seconds >= *unit);
    let (unit, name) = unit.unwrap_or((1, "s"));
    format!("{}{name}", seconds / unit)
}
