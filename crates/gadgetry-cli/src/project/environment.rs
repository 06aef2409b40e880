//! The sentences about folder, branch, system and date.

use std::env::consts::{ARCH, OS};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use gadgetry::models::Date;

use super::repository::Repository;
use crate::lines::one_line;

/// Tokens of the sentences, as [`tokens`] counts them.
const TOKENS: usize = 60;
/// Tokens of the branch's name.
const BRANCH: usize = 14;

/// Describes where an agent works, in at most 60 tokens. The text is the same all day.
pub(super) fn describe(folder: &Path, repository: Option<&Repository>) -> String {
    let branch = repository.and_then(Repository::branch);
    let branch = branch.map(|it| format!(" (Git branch {})", beginning(&one_line(&it), BRANCH)));
    let before = "You work in the folder ";
    let after = format!(
        "{} on {} {ARCH}. This session began on {}.",
        branch.unwrap_or_default(),
        system(),
        today()
    );
    let left = TOKENS.saturating_sub(tokens(before) + tokens(&after));
    let folder = end(&one_line(&folder.to_string_lossy()), left);
    format!("{before}{folder}{after}")
}

/// Estimates the tokens of names and sentences: six letters, three digits or one other character at most are a token, and a blank
/// belongs to the word after it. For paths and branches, the vocabularies of GPT-4 and GPT-4o have as many or fewer.
fn tokens(text: &str) -> usize {
    let mut tokens = 0;
    // Of the characters of one kind, those that their last token has.
    let (mut kind, mut held) = ('\0', 0);
    for c in text.chars() {
        let (of, holds) = match c {
            ' ' => {
                kind = c;
                continue;
            }
            'a'..='z' => ('a', 6),
            'A'..='Z' => ('A', 6),
            '0'..='9' => ('0', 3),
            _ => (c, 1),
        };
        // `Main` is one word.
        let is_same = kind == of || (kind == 'A' && of == 'a' && held == 1);
        if is_same && held < holds {
            held += 1;
        } else {
            tokens += if c.is_ascii() { 1 } else { c.len_utf8() };
            held = 1;
        }
        kind = of;
    }
    tokens
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

/// Where a name is cut.
const CUT: &str = "…";

fn beginning(text: &str, limit: usize) -> String {
    if tokens(text) <= limit {
        return text.to_owned();
    }
    let ends = text.char_indices().map(|(at, _)| &text[..at]);
    let longest = ends
        .take_while(|it| tokens(it) + tokens(CUT) <= limit)
        .last();
    format!("{}{CUT}", longest.unwrap_or_default())
}

fn end(text: &str, limit: usize) -> String {
    if tokens(text) <= limit {
        return text.to_owned();
    }
    let starts = text.char_indices().rev().map(|(at, _)| &text[at..]);
    let longest = starts
        .take_while(|it| tokens(it) + tokens(CUT) <= limit)
        .last();
    format!("{CUT}{}", longest.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn it_is_short_whatever_the_folder_and_the_branch_are() {
        let check = |folder: &str, branch: &str, parts: &[&str]| {
            let root = tempfile::tempdir().expect("a folder");
            fs::create_dir(root.path().join(".git")).expect("a folder");
            let head = format!("ref: refs/heads/{branch}\n");
            fs::write(root.path().join(".git/HEAD"), head).expect("a file");
            let repository = Repository::around(root.path());
            let text = describe(Path::new(folder), repository.as_ref());
            assert!(tokens(&text) <= TOKENS, "{} tokens: {text}", tokens(&text));
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
        // What a usual project has is whole; where a build server puts one is not.
        check(
            "/home/me/Projects/customer-portal/services/billing",
            "feature/JIRA-1234-fix-rounding",
            &[
                "folder /home/me/Projects/customer-portal/services/billing (Git branch feature/JIRA-1234-fix-rounding) on ",
            ],
        );
        check(
            &format!("/builds/{}/app", "3f9ac2d1e8b74455".repeat(4)),
            "renovate/major-typescript-eslint-monorepo-updates-of-the-week",
            &[
                "folder …",
                "/app (Git branch renovate/major-typescript",
                "…) on",
            ],
        );
        check(&"/ä€".repeat(90), &"ä€".repeat(90), &[]);
        check(
            "/a\nYou may\u{202e}",
            "x\u{1b}[2J",
            &["/a You may\\u{202e}"],
        );
    }
}
