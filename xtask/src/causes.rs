//! An error whose message contains its cause does not return it from `source()` as well: who prints a chain of errors would print it
//! twice.

use std::fs;
use std::path::{Path, PathBuf};

/// Names the errors in `files` that give their cause both ways.
pub(crate) fn problems(files: &[PathBuf], root: &Path) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for file in files {
        let shown = file.strip_prefix(root).unwrap_or(file).display();
        let text = fs::read_to_string(file).map_err(|error| format!("{shown}: {error}"))?;
        problems.extend(twice(&text).into_iter().map(|line| {
            format!(
                "{shown}:{line}: the message contains the cause, and `source()` returns it; name the field `error`, without `#[source]` and `#[from]`"
            )
        }));
    }
    Ok(problems)
}

/// The lines of the messages that contain what `source()` returns.
fn twice(text: &str) -> Vec<usize> {
    // Comments may contain anything.
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let lines = text
        .split('\n')
        .map(|line| if is_comment(line) { "" } else { line });
    let code = lines.collect::<Vec<_>>().join("\n");
    let starts = code
        .match_indices("#[error(")
        .map(|(at, found)| (at, at + found.len()));
    let is_twice = |&(_, start): &(usize, usize)| {
        let message = until_closed(&code[start..], ')');
        let item = &code[start + message.len()..];
        sources(fields(item)).any(|source| mentions(message, source))
    };
    let twice = starts.filter(is_twice);
    twice
        .map(|(at, _)| code[..at].matches('\n').count() + 1)
        .collect()
}

/// The text before the bracket that closes what was opened before it. Brackets in texts do not count.
fn until_closed(text: &str, close: char) -> &str {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            c if c == close && depth == 0 => return &text[..at],
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text
}

/// The fields of the type or the variant after a message, with the bracket before them.
fn fields(item: &str) -> &str {
    let mut rest = item.trim_start_matches([')', ']']).trim_start();
    while let Some(attribute) = rest.strip_prefix("#[") {
        let inside = until_closed(attribute, ']');
        rest = attribute[inside.len()..]
            .trim_start_matches(']')
            .trim_start();
    }
    let Some(at) = rest.find(['(', '{', ',', ';', '}']) else {
        return "";
    };
    // That of `pub(super)` is not of a field.
    let before = rest[..at].trim_end();
    if before.ends_with("pub") {
        let inside = until_closed(&rest[at + 1..], ')');
        return fields(&rest[at + inside.len() + 1..]);
    }
    let close = match rest[at..].chars().next() {
        Some('(') => ')',
        Some('{') => '}',
        _ => return "",
    };
    let inside = until_closed(&rest[at + 1..], close);
    &rest[at..=at + inside.len()]
}

/// The names of the fields that `thiserror` returns from `source()`.
fn sources(fields: &str) -> impl Iterator<Item = &str> {
    let is_tuple = fields.starts_with('(');
    let parts = fields.split([',', '\n']);
    let mut is_marked = false;
    parts.filter_map(move |part| {
        is_marked |= part.contains("#[source]") || part.contains("#[from]");
        if is_tuple {
            return std::mem::take(&mut is_marked).then_some("0");
        }
        let name = part.split_once(": ")?.0.split_whitespace().last()?;
        let is_source = std::mem::take(&mut is_marked) || name == "source";
        is_source.then_some(name)
    })
}

/// Whether a message contains the value of this field.
fn mentions(message: &str, field: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    message.match_indices(field).any(|(at, _)| {
        let (before, after) = (&message[..at], &message[at + field.len()..]);
        // In the text only with a brace before it, in an argument as a name.
        let in_text = before.matches('"').count() % 2 == 1;
        let begins = if in_text {
            before.ends_with('{')
        } else {
            !before.ends_with(is_word)
        };
        begins && !after.starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::twice;

    #[test]
    fn causes_are_given_one_way() {
        for (code, expected) in [
            (
                "#[error(\"no {source}\")]\nRead {\n    path: String,\n    source: io::Error,\n},",
                true,
            ),
            (
                "#[error(\"no {path}\")]\nRead {\n    path: String,\n    source: io::Error,\n},",
                false,
            ),
            (
                "#[error(\"the source {path}\")]\nRead { path: String, source: io::Error },",
                false,
            ),
            (
                "#[error(\"{}, {path}\", words(source))]\nRead { path: String, source: io::Error },",
                true,
            ),
            (
                "#[error(\"{error}\")]\nRead {\n    #[source]\n    error: io::Error,\n},",
                true,
            ),
            ("#[error(\"{error}\")]\nRead { error: io::Error },", false),
            ("#[error(\"({{: {0}\")]\nRead(#[from] io::Error),", true),
            (
                "#[error(\"{0}\")]\n// It says (more).\nRead(#[source] io::Error),",
                true,
            ),
            ("#[error(transparent)]\nRead(#[from] io::Error),", false),
            ("#[error(\"{0}\")]\nRead(io::Error),", false),
            (
                "#[error(\"{0}\")]\nText(String),\n#[error(\"read\")]\nRead(#[from] io::Error),",
                false,
            ),
            (
                "#[error(\"none\")]\nNone,\n#[error(\"{0}\")]\nRead(#[from] io::Error),",
                true,
            ),
            (
                "#[error(\"{source}\")]\n#[non_exhaustive]\npub(crate) struct Read {\n    pub(super) source: io::Error,\n}",
                true,
            ),
            (
                "#[error(\"{0}\")]\npub struct Read(#[source] io::Error);",
                true,
            ),
        ] {
            assert_eq!(!twice(code).is_empty(), expected, "{code}");
        }
        assert_eq!(
            twice("\n\n#[error(\"{0}\")]\nRead(#[from] io::Error),"),
            [3]
        );
    }
}
