//! The file of messages that were sent before: one a line, readable by its owner only. It is a JSON string, or an object if it has pastes.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gadgetry_files as files;

use super::editor::{History, Typed, is_kept};
use crate::cli::DataArgs;
use crate::data_dir;

const FOLDER: &str = "chat";
const FILE: &str = "history.jsonl";
/// Messages that are kept.
const MOST: usize = 1000;
/// Bytes of the file; a longer one is made shorter when it is read.
const LONGEST: u64 = 4 << 20;

/// The file. Without one, messages are kept until the end of the program.
#[derive(Debug)]
pub(super) struct HistoryFile(Option<PathBuf>);

impl HistoryFile {
    /// Opens the file, and reads the messages in it. Failures leave the history empty: it is a convenience.
    pub(super) fn open(data: &DataArgs) -> (Self, History) {
        let path = data_dir::folder(data)
            .ok()
            .map(|it| it.join(FOLDER).join(FILE));
        let texts = path.as_deref().map(read).unwrap_or_default();
        (Self(path), History::new(texts))
    }

    /// Appends a message.
    pub(super) fn add(&self, text: &Typed) {
        if let Some(path) = &self.0
            && is_kept(text)
            && let Ok(line) = line(text)
        {
            // One write, so that lines of two programs do not mix.
            let _ = append(path).and_then(|mut file| file.write_all(line.as_bytes()));
        }
    }
}

fn append(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    files::append_private(path)
}

fn line(text: &Typed) -> serde_json::Result<String> {
    let mut line = if text.is_plain() {
        serde_json::to_string(&text.full())?
    } else {
        serde_json::to_string(text)?
    };
    line.push('\n');
    Ok(line)
}

fn text(line: &[u8]) -> Option<Typed> {
    let plain = serde_json::from_slice::<String>(line).map(Typed::from);
    plain.or_else(|_| serde_json::from_slice(line)).ok()
}

fn read(path: &Path) -> Vec<Typed> {
    let Ok(bytes) = files::read(path, 2 * LONGEST) else {
        return Vec::new();
    };
    let lines = bytes.split(|it| *it == b'\n');
    let mut texts: Vec<Typed> = lines.filter_map(text).filter(is_kept).collect();
    texts.drain(..texts.len().saturating_sub(MOST));
    if bytes.len() as u64 > LONGEST {
        // Another program may append at the same time; then its message is lost.
        let _ = rewrite(path, &texts);
    }
    texts
}

fn rewrite(path: &Path, texts: &[Typed]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    for text in &texts[texts.len() / 2..] {
        file.write_all(line(text)?.as_bytes())?;
    }
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_kept_in_a_private_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = DataArgs {
            data_dir: Some(folder.path().to_owned()),
        };
        let (file, _) = HistoryFile::open(&data);
        let path = folder.path().join(FOLDER).join(FILE);
        for text in ["one", " ", "two\nlines", &"x".repeat(1 << 20)] {
            file.add(&text.to_owned().into());
        }
        let read: Vec<String> = read(&path).iter().map(Typed::full).collect();
        assert_eq!(read, ["one", "two\nlines"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&path).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_or_long_file_is_no_problem() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        fs::write(&path, b"\"a\"\n\xff\n{}\n\"b").expect("a file");
        assert_eq!(read(&path), [Typed::from("a".to_owned())]);
        let line = format!("{:?}\n", "x".repeat(10_000));
        fs::write(&path, line.repeat(600)).expect("a file");
        assert_eq!(read(&path).len(), 600);
        assert!(fs::metadata(&path).expect("a file").len() < LONGEST);
    }
}
