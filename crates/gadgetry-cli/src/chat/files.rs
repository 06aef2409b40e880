//! Files of the working directory: their text for a message that mentions them.

use std::path::{Component, Path};

use gadgetry_files as files;

/// Files that one message attaches.
const MOST_MENTIONS: usize = 20;
/// Bytes of a file that is attached.
const LONGEST: u64 = 256 << 10;

/// A message with the text of the files that it mentions as `@path`, and why others are missing. A word that names no file
/// is just a word.
pub(super) fn attach(message: &str) -> (String, Vec<String>) {
    let (mut text, mut problems) = (message.to_owned(), Vec::new());
    let mut attached: Vec<&str> = Vec::new();
    for path in mentions(message) {
        if attached.contains(&path) {
            continue;
        }
        if attached.len() == MOST_MENTIONS {
            problems.push(format!("only the first {MOST_MENTIONS} files are attached"));
            break;
        }
        match read(path) {
            Ok(None) => {}
            Ok(Some(content)) => {
                let end = if content.ends_with('\n') { "" } else { "\n" };
                text.extend(["\n\n--- ", path, " ---\n", &content, end]);
                attached.push(path);
            }
            Err(problem) => problems.push(format!("{path} is not attached: {problem}")),
        }
    }
    (text, problems)
}

/// The words after `@`, without punctuation at their end.
fn mentions(message: &str) -> impl Iterator<Item = &str> {
    let words = message.split_whitespace();
    let paths = words.filter_map(|word| word.strip_prefix('@'));
    let paths = paths.map(|path| path.trim_end_matches([',', ';', ':', '.', '?', '!', ')']));
    paths.filter(|path| !path.is_empty())
}

/// The text of a file below the working directory; `None` if there is no such file.
fn read(path: &str) -> Result<Option<String>, String> {
    let path = Path::new(path);
    let is_inside = |it: Component<'_>| matches!(it, Component::Normal(_) | Component::CurDir);
    if !path.components().all(is_inside) || !path.is_file() {
        return Ok(None);
    }
    let folder = Path::new(".").canonicalize();
    let real = path.canonicalize().map_err(|error| error.to_string())?;
    if !folder.is_ok_and(|folder| real.starts_with(folder)) {
        return Err("it is outside of the working directory".to_owned());
    }
    let bytes = files::read(&real, LONGEST).map_err(|error| error.to_string())?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(Some(text)),
        Ok(_) | Err(_) => Err("it is not text".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_words_after_an_at_sign() {
        let check = |message: &str, expected: &[&str]| {
            assert_eq!(mentions(message).collect::<Vec<_>>(), expected, "{message}");
        };
        check("compare @src/a.rs, @b.rs.", &["src/a.rs", "b.rs"]);
        check("mail me@example.com @ once", &[]);
        check("(@a) @b?", &["b"]);
    }

    #[test]
    fn only_files_of_the_working_directory_are_attached() {
        let check = |message: &str, is_attached: bool| {
            let (text, problems) = attach(message);
            assert_eq!(text != message, is_attached, "{message}: {text}");
            assert_eq!(problems, [""; 0], "{message}");
        };
        // Tests run in the folder of their crate.
        check("see @Cargo.toml", true);
        check("see @src", false);
        check("see @nonesuch", false);
        check("see @/etc/hostname", false);
        check("see @../../Cargo.toml", false);
    }
}
