//! Changes of files as unified diffs.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use similar::TextDiff;

use crate::encoding::decoded;

/// Time for a diff. Beyond it, the diff is correct, but not the shortest.
const DEADLINE: Duration = Duration::from_millis(500);

/// Bytes of a diff that the model reads.
const LENGTH_LIMIT: usize = 32 << 10;

/// The change of a file as a unified diff for the model, which is shortened. Binary content has none.
pub(crate) fn unified(path: &str, before: Option<&[u8]>, after: &[u8]) -> String {
    shortened(whole(path, before, after))
}

/// The change of a file that may be gone, as [`unified`]. That of an empty file has its names alone.
pub(crate) fn change(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let names = names(path, before, after);
    let diff = between(&names, before, after.unwrap_or_default());
    if diff.is_empty() {
        return format!("--- {}\n+++ {}\n", names.0, names.1);
    }
    shortened(diff)
}

/// The change of a file as a unified diff, all of it: what the user approves. Of a file that is not text, all of the new text.
pub(crate) fn whole(path: &str, before: Option<&[u8]>, after: &[u8]) -> String {
    between(&names(path, before, Some(after)), before, after)
}

/// The names of a file before and after a change.
fn names(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> (String, String) {
    let name = |side: &str, content: Option<&[u8]>| match content {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    (name("a", before), name("b", after))
}

fn between((old_name, new_name): &(String, String), before: Option<&[u8]>, after: &[u8]) -> String {
    let Some((new, encoding)) = decoded(after) else {
        return format!("(binary file, {} bytes)\n", after.len());
    };
    let (old, note) = match before.map(decoded) {
        None => (Cow::Borrowed(""), String::new()),
        Some(Some((old, was))) if was == encoding || old.is_empty() => (old, String::new()),
        Some(Some((old, was))) => {
            let (was, name) = (was.name(), encoding.name());
            (old, format!("(encoding: {was} becomes {name})\n"))
        }
        Some(None) => (Cow::Borrowed(""), "(the file is binary now)\n".to_owned()),
    };
    let diff = TextDiff::configure()
        .timeout(DEADLINE)
        .diff_lines(&*old, &*new);
    let mut unified = diff.unified_diff();
    let unified = unified.context_radius(3).header(old_name, new_name);
    format!("{note}{unified}")
}

fn shortened(mut diff: String) -> String {
    if diff.len() > LENGTH_LIMIT {
        let end = diff.floor_char_boundary(LENGTH_LIMIT);
        let end = diff[..end].rfind('\n').map_or(end, |line| line + 1);
        let left_out = diff[end..].lines().count();
        diff.truncate(end);
        // Writing to a string cannot fail.
        let _ = writeln!(diff, "… {left_out} more lines of the diff");
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn files_that_are_gone_or_empty() {
        let check = |before: Option<&str>, after: Option<&str>, expected: &str| {
            let [before, after] = [before, after].map(|it| it.map(str::as_bytes));
            assert_eq!(change("x", before, after), expected);
        };
        let line = "+++ b/x\n";
        let gone = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-+++ b/x\n";
        check(Some(line), None, gone);
        check(Some(""), None, "--- a/x\n+++ /dev/null\n");
        check(None, Some(""), "--- /dev/null\n+++ b/x\n");
        let made = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n";
        check(None, Some("a\n"), made);
    }
}
