//! Links of Markdown: where they are in a text, and where they lead.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use mdbook_preprocessor::book::Book;
use mdbook_preprocessor::errors::Error;
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

/// Returns the places of the targets of inline links outside of code.
pub(crate) fn targets(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut fence = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let marks = line.trim_start();
        let length = marks.len() - marks.trim_start_matches('`').len();
        match fence {
            Some(open) if length >= open => fence = None,
            None if length >= 3 => fence = Some(length),
            None => of_line(line, start, &mut found),
            Some(_) => {}
        }
        start += line.len();
    }
    found
}

fn of_line(line: &str, start: usize, found: &mut Vec<Range<usize>>) {
    let mut is_code = false;
    let bytes = line.as_bytes();
    for at in 0..bytes.len() {
        if bytes[at] == b'`' {
            is_code = !is_code;
        }
        // `[`code`](target)` closes its code before the bracket.
        if !is_code && bytes[at..].starts_with(b"](") {
            let from = at + 2;
            if let Some(length) = line[from..].find(')') {
                found.push(start + from..start + from + length);
            }
        }
    }
}

/// Returns the path of a target, and what follows its `#`. None for an address with a scheme.
pub(crate) fn split(target: &str) -> Option<(&str, &str)> {
    if target.contains(':') {
        return None;
    }
    Some(target.split_once('#').unwrap_or((target, "")))
}

/// Removes `.` and `..`.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = normal.pop(),
            Component::CurDir => {}
            _ => normal.push(part),
        }
    }
    normal
}

/// Makes addresses of links that leave `docs/`, and corrects those of files that a chapter includes.
pub(crate) struct Outwards {
    root: PathBuf,
    repository: String,
}

impl Outwards {
    pub(crate) fn new(root: PathBuf, repository: String) -> Self {
        Self { root, repository }
    }

    /// Returns the target as the chapter in `folder` needs it. What leads nowhere is left to the check of the pages.
    fn rewritten(&self, folder: &Path, target: &str) -> Option<String> {
        let (path, heading) = split(target)?;
        if path.is_empty() {
            return None;
        }
        // A file that was included is in another folder: at the root, or where it says itself.
        let at = [folder.join(path), self.root.join(path)];
        let at = at
            .into_iter()
            .map(|it| normal(&it))
            .find(|it| it.exists())?;
        let heading = if heading.is_empty() {
            String::new()
        } else {
            format!("#{heading}")
        };
        let docs = self.root.join("docs");
        if at.starts_with(&docs) && !at.ends_with("SUMMARY.md") {
            // mdBook makes `index.html` of a README.
            let at = if at.ends_with("README.md") {
                at.with_file_name("index.md")
            } else {
                at
            };
            let up = normal(folder)
                .strip_prefix(&docs)
                .ok()?
                .components()
                .count();
            let within = at.strip_prefix(&docs).ok()?.display();
            return Some(format!("{}{within}{heading}", "../".repeat(up)));
        }
        let form = if at.is_dir() { "tree" } else { "blob" };
        let path = at.strip_prefix(&self.root).ok()?.display();
        Some(format!("{}/{form}/main/{path}{heading}", self.repository))
    }
}

impl Preprocessor for Outwards {
    fn name(&self) -> &'static str {
        "outwards"
    }

    fn run(&self, _: &PreprocessorContext, mut book: Book) -> Result<Book, Error> {
        let docs = self.root.join("docs");
        book.for_each_chapter_mut(|chapter| {
            let Some(path) = &chapter.source_path else {
                return;
            };
            let folder = docs.join(path);
            let folder = folder.parent().unwrap_or(&docs);
            for place in targets(&chapter.content).into_iter().rev() {
                if let Some(new) = self.rewritten(folder, &chapter.content[place.clone()]) {
                    chapter.content.replace_range(place, &new);
                }
            }
        });
        Ok(book)
    }
}

#[cfg(test)]
mod tests {
    use super::targets;

    #[test]
    fn links_outside_of_code() {
        let text = "[a](b) `[c](d)` [`e`](f#g)\n```rust\n[h](i)\n```\n![j](k.svg)";
        let found: Vec<&str> = targets(text).into_iter().map(|it| &text[it]).collect();
        assert_eq!(found, ["b", "f#g", "k.svg"]);
    }
}
