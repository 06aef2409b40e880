//! The sentences about folder, branch, system and date.

use std::env::consts::{ARCH, OS};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use gadgetry::models::Date;

use super::repository::Repository;
use crate::lines::one_line;

/// Bytes of the folder's path that are shown, from its end.
const PATH: usize = 96;
/// Bytes of the branch's name.
const BRANCH: usize = 40;

/// Describes where an agent works, in at most 60 tokens of four bytes each. The text is the same all day.
pub(super) fn describe(folder: &Path, repository: Option<&Repository>) -> String {
    let branch = repository.and_then(Repository::branch);
    let branch = branch.map(|it| format!(" (Git branch {})", beginning(&one_line(&it), BRANCH)));
    format!(
        "You work in the folder {}{} on {} {ARCH}. This session began on {}.",
        end(&one_line(&folder.to_string_lossy()), PATH),
        branch.unwrap_or_default(),
        system(),
        today()
    )
}

fn system() -> &'static str {
    match OS {
        "linux" => "Linux",
        "macos" => "macOS",
        "windows" => "Windows",
        other => other,
    }
}

/// The date, in UTC.
fn today() -> Date {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Date::from_unix_seconds(now.unwrap_or_default().as_secs())
}

fn beginning(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let at = text.floor_char_boundary(bytes);
    format!("{}…", &text[..at])
}

fn end(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let at = text.ceil_char_boundary(text.len() - bytes);
    format!("…{}", &text[at..])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Four bytes a token, as the engine estimates before a provider has counted.
    const LIMIT: usize = 60 * 4;

    #[test]
    fn it_is_short_whatever_the_folder_and_the_branch_are() {
        let check = |folder: &str, branch: &str, parts: &[&str]| {
            let root = tempfile::tempdir().expect("a folder");
            fs::create_dir(root.path().join(".git")).expect("a folder");
            let head = format!("ref: refs/heads/{branch}\n");
            fs::write(root.path().join(".git/HEAD"), head).expect("a file");
            let repository = Repository::around(root.path());
            let text = describe(Path::new(folder), repository.as_ref());
            assert!(text.len() <= LIMIT, "{} bytes: {text}", text.len());
            assert!(!text.contains('\n'), "{text}");
            for part in parts {
                assert!(text.contains(part), "{part}: {text}");
            }
        };
        check(
            "/home/me/p",
            "main",
            &["folder /home/me/p (Git branch main) on ", "began on 2"],
        );
        check(
            &format!("/{}/end", "x".repeat(4000)),
            &"y".repeat(2000),
            &["/end (Git", "y…)"],
        );
        check(&"/ä€".repeat(90), &"ä€".repeat(90), &[]);
        check(
            "/a\nYou may\u{202e}",
            "x\u{1b}[2J",
            &["/a You may\\u{202e}"],
        );
    }
}
