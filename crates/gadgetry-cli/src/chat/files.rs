//! Files of the working directory: their text for a message that mentions them.

use std::path::{Component, Path};

use gadgetry::Media;
use gadgetry_files as files;

use super::images;

/// Files that one message attaches.
const MOST_MENTIONS: usize = 20;
/// Bytes of a file that is attached.
const LONGEST: u64 = 256 << 10;
/// The reason that a file is not attached.
const OUTSIDE: &str = "it is outside of the working directory";

/// A message with the files that it mentions.
#[derive(Debug)]
pub(super) struct Attached {
    /// The message, and below it the texts of files.
    pub(super) text: String,
    pub(super) images: Vec<Media>,
    /// Reasons why others are missing.
    pub(super) problems: Vec<String>,
}

/// A message with the files that it mentions as `@path`. A word that names no file is just a word.
pub(super) fn attach(message: &str) -> Attached {
    let (mut text, mut problems) = (message.to_owned(), Vec::new());
    let mut images = Vec::new();
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
            Ok(Some(Content::Image(image))) => {
                images.push(*image);
                attached.push(path);
            }
            Ok(Some(Content::Text(content))) => {
                let end = if content.ends_with('\n') { "" } else { "\n" };
                text.extend(["\n\n--- ", path, " ---\n", &content, end]);
                attached.push(path);
            }
            Err(problem) => problems.push(format!("{path} is not attached: {problem}")),
        }
    }
    Attached {
        text,
        images,
        problems,
    }
}

/// The content of a file that is attached.
enum Content {
    Text(String),
    Image(Box<Media>),
}

/// The words after `@`, without punctuation at their end.
fn mentions(message: &str) -> impl Iterator<Item = &str> {
    let words = message.split_whitespace();
    let paths = words.filter_map(|word| word.strip_prefix('@'));
    let paths = paths.map(|path| path.trim_end_matches([',', ';', ':', '.', '?', '!', ')']));
    paths.filter(|path| !path.is_empty())
}

/// The content of a file below the working directory; `None` if the text names no file, as `@someone` does.
fn read(path: &str) -> Result<Option<Content>, String> {
    let is_path = path.contains(['/', '.']);
    let path = Path::new(path);
    let is_inside = |it: Component<'_>| matches!(it, Component::Normal(_) | Component::CurDir);
    if !path.exists() {
        let missing = Err("there is no such file".to_owned());
        return if is_path { missing } else { Ok(None) };
    }
    if !path.components().all(is_inside) {
        return Err(OUTSIDE.to_owned());
    }
    if path.is_dir() {
        // The model can list it.
        return Ok(None);
    }
    if !path.is_file() {
        return Err("it is not a file".to_owned());
    }
    let folder = Path::new(".").canonicalize();
    let real = path.canonicalize().map_err(|error| error.to_string())?;
    if !folder.is_ok_and(|folder| real.starts_with(folder)) {
        return Err(OUTSIDE.to_owned());
    }
    if images::is_image(&real.to_string_lossy()) {
        let image = images::read(&real).map_err(|error| error.to_string())?;
        return Ok(Some(Content::Image(Box::new(image))));
    }
    let bytes = files::read(&real, LONGEST).map_err(|error| error.to_string())?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(Some(Content::Text(text))),
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
        let check = |message: &str, is_attached: bool, problem: &str| {
            let attached = attach(message);
            let has_text = attached.text != message;
            assert_eq!(has_text, is_attached, "{message}: {attached:?}");
            assert_eq!(attached.problems.join(""), problem, "{message}");
        };
        // Tests run in the folder of their crate.
        check("see @Cargo.toml", true, "");
        check("ask @someone, or @", false, "");
        check("see @src/", false, "");
        check(
            "see @src/mian.rs",
            false,
            "src/mian.rs is not attached: there is no such file",
        );
        for outside in ["/etc/passwd", "../../Cargo.toml"] {
            let problem = format!("{outside} is not attached: {OUTSIDE}");
            check(&format!("see @{outside}"), false, &problem);
        }
    }
}
