//! Unified diffs as the texts before and after.

/// The change of a passage of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The file: absolute, or relative to the folder of the session.
    pub path: String,
    /// The text before; `None` for a new file.
    pub before: Option<String>,
    /// The text after.
    pub after: String,
}

impl Change {
    /// A change of a file.
    ///
    /// ```
    /// use gadgetry_acp::Change;
    /// let change = Change::new("src/main.rs", Some("a".to_owned()), "b");
    /// assert_eq!(change.after, "b");
    /// ```
    pub fn new(path: impl Into<String>, before: Option<String>, after: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            before,
            after: after.into(),
        }
    }
}

/// Returns the changes that a text with a unified diff of one file describes, one for each hunk. Text before its header is skipped.
pub(crate) fn changes(text: &str) -> Vec<Change> {
    let mut lines = text.split_inclusive('\n').peekable();
    let Some(before) = lines.find_map(|line| line.strip_prefix("--- ")) else {
        return Vec::new();
    };
    let Some(path) = lines.next().and_then(|line| line.strip_prefix("+++ ")) else {
        return Vec::new();
    };
    let is_new = before.trim_end() == "/dev/null";
    let path = path.trim_end_matches(['\r', '\n']);
    let path = path.strip_prefix("b/").unwrap_or(path);
    let mut changes: Vec<Change> = Vec::new();
    // In which of the texts the line before was.
    let mut last = (false, false);
    for line in lines {
        if line.starts_with("@@ ") {
            let before = (!is_new).then(String::new);
            changes.push(Change::new(path, before, ""));
            continue;
        }
        let Some(change) = changes.last_mut() else {
            continue;
        };
        let (is_old, is_after) = match line.chars().next() {
            Some('-') => (true, false),
            Some('+') => (false, true),
            Some(' ') => (true, true),
            // `\ No newline at end of file`
            Some('\\') => {
                if last.0
                    && let Some(before) = &mut change.before
                {
                    cut_line_break(before);
                }
                if last.1 {
                    cut_line_break(&mut change.after);
                }
                continue;
            }
            _ => continue,
        };
        last = (is_old, is_after);
        if is_old && let Some(before) = &mut change.before {
            before.push_str(&line[1..]);
        }
        if is_after {
            change.after.push_str(&line[1..]);
        }
    }
    changes
}

fn cut_line_break(text: &mut String) {
    if text.ends_with('\n') {
        text.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_are_texts_before_and_after() {
        let check = |diff: &str, expected: &[(&str, Option<&str>, &str)]| {
            let found = changes(diff);
            let found: Vec<_> = found
                .iter()
                .map(|it| (&*it.path, it.before.as_deref(), &*it.after))
                .collect();
            assert_eq!(found, expected, "{diff}");
        };
        check("", &[]);
        check("no diff\n", &[]);
        check("--- a/x\n", &[]);
        check(
            "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n",
            &[("new.txt", None, "x\n")],
        );
        check(
            "path=a status=success\n\n--- a/a b.txt\n+++ b/a b.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n@@ -9 +9,2 @@\n nine\n+ten\n",
            &[
                ("a b.txt", Some("one\ntwo\n"), "1\ntwo\n"),
                ("a b.txt", Some("nine\n"), "nine\nten\n"),
            ],
        );
        // Lines that look like headers are text in a hunk.
        check(
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- a\n+++ b\n",
            &[("x", Some("-- a\n"), "++ b\n")],
        );
        check(
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+new\n\\ No newline at end of file\n",
            &[("x", Some("old"), "new")],
        );
        check("--- a/x\n+++ b/x\n@@ -1 +1 @@\n+é", &[("x", Some(""), "é")]);
    }
}
