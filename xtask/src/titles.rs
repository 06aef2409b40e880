//! Commit titles have at most 72 characters.

use std::path::Path;
use std::process::Command;

const MAX: usize = 72;

/// The commits up to this one were made before titles were checked.
const BASE: &str = "541e9eb";

/// The titles after [`BASE`] that are too long. A clone without that commit, such as a shallow one, is skipped.
pub(crate) fn problems(root: &Path) -> Vec<String> {
    let range = format!("{BASE}..HEAD");
    let log = Command::new("git")
        .args(["log", "--no-merges", "--format=%h %s", &range])
        .current_dir(root)
        .output();
    match log {
        Ok(log) if log.status.success() => too_long(&String::from_utf8_lossy(&log.stdout)),
        _ => {
            eprintln!("commit titles: not checked, the history is not available");
            Vec::new()
        }
    }
}

/// Each line is a short hash and a title.
fn too_long(log: &str) -> Vec<String> {
    log.lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(hash, title)| {
            let length = title.chars().count();
            (length > MAX).then(|| {
                format!("commit {hash}: the title has {length} characters, at most {MAX}: {title}")
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles() {
        for (title, ok) in [
            ("Fix it", true),
            (&"x".repeat(72), true),
            (&"ü".repeat(72), true),
            (&"x".repeat(73), false),
        ] {
            assert_eq!(
                too_long(&format!("abc1234 {title}\n")).is_empty(),
                ok,
                "{title}"
            );
        }
    }
}
