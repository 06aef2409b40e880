//! Images of the next message: files whose path was pasted or dragged into the terminal, or is mentioned.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use gadgetry::Media;
use percent_encoding::percent_decode_str;

use crate::error::Error;
use crate::lines::short;
use crate::media;

/// Bytes of an image.
pub(super) const LARGEST: u64 = 10 << 20;
/// Images that are kept for messages.
const MOST: usize = 20;
/// Ends of the names of images.
const ENDS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// Images by their labels.
#[derive(Debug, Default)]
pub(super) struct Images(Vec<(String, Media)>);

impl Images {
    /// Takes an image, and returns its label for the input line.
    pub(super) fn add(&mut self, media: Media) -> String {
        let name = media.name.as_deref().unwrap_or_default();
        let name = short(&name.replace(['[', ']'], "_"));
        let mut label = format!("[image {name}]");
        let mut number = 1;
        while let Some((_, other)) = self.0.iter().find(|(it, _)| *it == label) {
            if *other == media {
                return label;
            }
            number += 1;
            label = format!("[image {name} {number}]");
        }
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push((label.clone(), media));
        label
    }

    /// Returns the images whose labels a message has.
    pub(super) fn of(&self, message: &str) -> Vec<Media> {
        let all = self.0.iter();
        all.filter(|(label, _)| message.contains(label.as_str()))
            .map(|(_, media)| media.clone())
            .collect()
    }
}

/// Reads an image.
pub(super) fn read(path: &Path) -> Result<Media, Error> {
    let length = fs::metadata(path).map(|it| it.len());
    let length = length.map_err(|error| Error::at(path.display(), error))?;
    refuse_large(length, &path.display())?;
    media::image_of(path)
}

/// Fails if an image has more bytes than a message may have.
pub(super) fn refuse_large(length: u64, name: &dyn Display) -> Result<(), Error> {
    if length <= LARGEST {
        return Ok(());
    }
    let words = format_args!("larger than {} MiB", LARGEST >> 20);
    Err(Error::at(name, words))
}

/// Returns whether a name is that of an image.
pub(super) fn is_image(name: &str) -> bool {
    let name = name.to_lowercase();
    ENDS.iter().any(|end| name.ends_with(end))
}

/// The image that a pasted text names: a path as terminals write one that is dragged into them, in quotes, with backslashes, or as a
/// URL. `None` if it is other text, or if there is no such file.
pub(super) fn dragged(text: &str) -> Option<PathBuf> {
    let text = text.trim();
    if text.is_empty() || text.contains('\n') || !is_image(text.trim_end_matches(['\'', '"'])) {
        return None;
    }
    let is_file = |path: &String| Path::new(path).is_file();
    let decoded = |path| percent_decode_str(path).decode_utf8_lossy().into_owned();
    let url = text.strip_prefix("file://").map(decoded);
    let words = || shell_words::split(text).ok().filter(|it| it.len() == 1);
    let found = url
        .filter(is_file)
        .or_else(|| Some(text.to_owned()).filter(is_file))
        .or_else(|| words()?.pop().filter(is_file))?;
    Some(PathBuf::from(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dragged_path_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a b's.png");
        fs::write(&path, "x").expect("a file");
        let plain = path.to_str().expect("text");
        let check = |text: &str, is_found: bool| {
            let expected = is_found.then(|| path.clone());
            assert_eq!(dragged(text), expected, "{text}");
        };
        check(plain, true);
        check(&format!(" {plain}\n"), true);
        check(&format!("\"{plain}\""), true);
        check(&format!("'{}'", plain.replace('\'', r"'\''")), true);
        check(&plain.replace(' ', r"\ ").replace('\'', r"\'"), true);
        let url = plain.replace(' ', "%20").replace('\'', "%27");
        check(&format!("file://{url}"), true);
        for other in [
            "",
            "a.png",
            "look at this.png",
            &format!("{plain} and more"),
        ] {
            check(other, false);
        }
        check(&format!("{plain}\n{plain}"), false);
    }
}
