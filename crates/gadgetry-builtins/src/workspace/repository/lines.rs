//! Files that a command line names, as far as that can be seen without a shell.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Folders below each other that are looked at.
const DEPTH: usize = 40;

/// Entries of folders that are looked at.
const ENTRIES: usize = 100_000;

/// Returns the paths that words of a command line may be: between blanks and what else separates words in a shell, and in quotes. The
/// home directory is `~`.
pub(crate) fn words(line: &str) -> Vec<String> {
    let unquoted = line.replace(['"', '\'', '\\'], "");
    let is_end = |c: char| c.is_ascii_whitespace() || ";&|<>()`=".contains(c);
    let words = unquoted.split(is_end);
    // What is quoted may have blanks.
    let words = words.chain(line.split(['"', '\''])).map(str::trim);
    let words = words.filter(|word| !word.is_empty()).map(|word| {
        let in_home = ["$HOME/", "${HOME}/"];
        let after = in_home.iter().find_map(|it| word.strip_prefix(it));
        after.map_or_else(|| word.to_owned(), |after| format!("~/{after}"))
    });
    words.collect()
}

/// Returns the files below a folder whose name is in a command line, with the names of all folders between.
///
/// So it does not matter how the line leads to them: by `cd`, a variable or the output of another command. A name with a pattern or a
/// variable in it, such as `guar?.sh`, is that of each program it may be.
pub(crate) fn files_below(folder: &Path, line: &[u8]) -> Vec<PathBuf> {
    let line: Vec<u8> = line
        .iter()
        .copied()
        .filter(|it| !b"\"'\\".contains(it))
        .collect();
    let patterns: Vec<Vec<u8>> = line
        .split(|byte| is_between(*byte))
        .filter_map(pattern)
        .collect();
    let (mut files, mut seen, mut entries) = (Vec::new(), BTreeSet::new(), 0);
    let mut left = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = left.pop() {
        let is_new = fs::canonicalize(&folder).is_ok_and(|it| seen.insert(it));
        let Ok(found) = fs::read_dir(&folder) else {
            continue;
        };
        if !is_new {
            continue;
        }
        for entry in found.flatten() {
            entries += 1;
            if entries > ENTRIES {
                return files;
            }
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            let is_literal = has_name(&line, name);
            if !is_literal && !patterns.iter().any(|it| matches(it, name)) {
                continue;
            }
            let path = entry.path();
            // A link counts as what it leads to.
            let Ok(found) = fs::metadata(&path) else {
                continue;
            };
            if found.is_dir() && depth < DEPTH {
                left.push((path, depth + 1));
            } else if found.is_file() && (is_literal || is_program(&path, &found)) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Returns whether a line has a name that no longer one begins with.
fn has_name(line: &[u8], name: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let is_end = |rest: &[u8]| {
        let rest = rest.strip_prefix(b".").unwrap_or(rest);
        !rest.first().is_some_and(is_of_name)
    };
    let mut places = line.windows(name.len().max(1)).enumerate();
    places.any(|(at, it)| it == name && is_end(&line[at + name.len()..]))
}

/// Returns whether a byte is between names of files, or words.
fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"/;&|<>()`=".contains(&byte)
}

/// Returns a name with `?` for one byte, and `*` for more: in a pattern of a shell, and for variables and alternatives. `None` if it has
/// none of them, or nothing else.
fn pattern(name: &[u8]) -> Option<Vec<u8>> {
    let mut pattern = Vec::new();
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let skip = |is_end: fn(&u8) -> bool| after.iter().position(is_end);
        match first {
            b'{' | b'[' => {
                let end = skip(|it| b"]}".contains(it)).map_or(after.len(), |at| at + 1);
                rest = &after[end..];
                pattern.push(b'*');
            }
            b'$' if after.first() != Some(&b'{') => {
                let end = skip(|it| !it.is_ascii_alphanumeric() && *it != b'_');
                rest = &after[end.unwrap_or(after.len())..];
                pattern.push(b'*');
            }
            b'$' => {}
            other => pattern.push(*other),
        }
    }
    let is_wild = pattern.iter().any(|byte| b"*?".contains(byte));
    let has_text = pattern.iter().any(u8::is_ascii_alphanumeric);
    (is_wild && has_text).then_some(pattern)
}

/// Returns whether a pattern is one of a name.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // The ends of the pattern that are left after each byte of the name.
    let mut left: Vec<bool> = vec![false; pattern.len() + 1];
    left[0] = true;
    let with_none = |left: &mut Vec<bool>| {
        for (at, byte) in pattern.iter().enumerate() {
            left[at + 1] |= left[at] && *byte == b'*';
        }
    };
    with_none(&mut left);
    for byte in name {
        let mut next = vec![false; left.len()];
        for (at, wanted) in pattern.iter().enumerate() {
            next[at] |= left[at] && *wanted == b'*';
            next[at + 1] |= left[at] && (*wanted == b'?' || wanted == byte);
        }
        left = next;
        with_none(&mut left);
    }
    left[pattern.len()]
}

/// Returns whether a file is meant to be run.
fn is_program(path: &Path, found: &Metadata) -> bool {
    let mut start = [0; 2];
    is_executable(found)
        || path.extension().is_some_and(|it| it == "sh")
        || File::open(path).is_ok_and(|mut it| it.read_exact(&mut start).is_ok() && start == *b"#!")
}

#[cfg(unix)]
fn is_executable(found: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_command_lines() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "scripts/guard.sh",
            "scripts/my guard.py",
            "a.py",
            "a.txt",
            "b/a.py",
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let check = |line: &str, expected: &[&str]| {
            let found = files_below(folder.path(), line.as_bytes());
            let expected: Vec<PathBuf> = expected.iter().map(|it| folder.path().join(it)).collect();
            assert_eq!(found, expected, "{line}");
        };
        let guard = &["scripts/guard.sh"];
        check("sh $(pwd)/scripts/guard.sh", guard);
        check(
            "\"$(git rev-parse --show-toplevel)/scripts/guard.sh\"",
            guard,
        );
        check("cd scripts && sh ./guard.sh", guard);
        check("sh ${CLAUDE_PROJECT_DIR:-.}/scripts/guard.sh", guard);
        check("`pwd`/scripts/guard.sh||true", guard);
        check("X=1&&scripts/guard.sh|cat", guard);
        check("scripts/guard.sh&", guard);
        check("scripts/guar?.sh", guard);
        check("scripts/*.sh", guard);
        check("scripts/guar[a-e].sh", guard);
        check("sh scripts/{guard,other}.sh", guard);
        check("sh scripts/$NAME.sh; sh scripts/${NAME}.sh", guard);
        check("scr\"ipts\"/'gu'ard.s\\h", guard);
        let my = &["scripts/my guard.py"];
        check("python \"$CLAUDE_PROJECT_DIR\"/scripts/my\\ guard.py", my);
        check("python \"$PWD\"/scripts/\"my guard.py\"", my);
        check("sh a.py", &["a.py"]);
        check("cat a.txt*", &["a.txt"]);
        check("cat *.txt *", &[]);
        check("sh a.py.old guard.sh a", &[]);
        check("", &[]);
    }
}
