//! Files that a command line names, as far as that can be seen without a shell.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::about;
use super::ways::is_absent;

/// Folders below each other that are looked at.
const DEPTH: usize = 40;

/// Entries of folders that are looked at for one line.
const ENTRIES: usize = 250_000;

/// Bytes of a line, each of which is compared with each entry.
const LINE: usize = 1 << 14;

/// Characters of a line in an error.
const SHOWN: usize = 80;

/// Returns the paths that words of a command line may be: between blanks and what else separates words in a shell, and in quotes. The
/// home directory is `~`.
pub(crate) fn words(line: &str) -> Vec<String> {
    let unquoted = line.replace(['"', '\'', '\\'], "");
    let words = unquoted.split(is_end).map(str::to_owned);
    // What is quoted may have blanks, also where a program takes the quotes for its own.
    let quoted = line.split(['"', '\'']).map(|it| it.trim().to_owned());
    let words = words.chain(quoted).chain(words_of_shell(line));
    let words = words.filter(|word| !word.is_empty()).map(|word| {
        let in_home = ["$HOME/", "${HOME}/"];
        let after = in_home.iter().find_map(|it| word.strip_prefix(it));
        after.map_or_else(|| word.clone(), |after| format!("~/{after}"))
    });
    let words: BTreeSet<String> = words.collect();
    words.into_iter().collect()
}

/// Words of a shell before that of a program.
const BEFORE: [&str; 15] = [
    "!", "{", "command", "do", "elif", "else", "env", "exec", "if", "nohup", "sudo", "then",
    "time", "until", "while",
];

/// Returns the folders that a line changes to by `cd`.
pub(crate) fn changed_to(line: &str) -> Vec<String> {
    let unquoted = line.replace(['"', '\'', '\\'], "");
    let parts = unquoted.split([';', '&', '|', '(', ')', '`', '\n']);
    let folders = parts.filter_map(|part| {
        let words = part.split_ascii_whitespace();
        let mut words = words.skip_while(|it| BEFORE.contains(it) || it.contains('='));
        let is_change = words.next() == Some("cd");
        words.next().filter(|_| is_change).map(str::to_owned)
    });
    folders.collect()
}

/// Returns whether a character ends a word that is not quoted.
fn is_end(c: char) -> bool {
    c.is_ascii_whitespace() || ";&|<>()`=".contains(c)
}

/// Returns the words of a line without their quotes, as a shell reads them.
fn words_of_shell(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (Some('"'), '\\') => {
                let next = characters.next();
                let is_written = next.is_some_and(|it| !"\"\\$`\n".contains(it));
                word.extend(is_written.then_some('\\').into_iter().chain(next));
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '\\') => word.extend(characters.next()),
            (None, c) if is_end(c) => words.push(std::mem::take(&mut word)),
            (Some(_) | None, c) => word.push(c),
        }
    }
    words.push(word);
    words
}

/// Returns a line, or the name of a file, without what quotes a part of it. So a quotation mark in a name makes no difference.
fn unquoted(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.iter().copied();
    bytes.filter(|it| !b"\"'\\".contains(it)).collect()
}

/// Returns the files below a folder whose name is in a command line, with the names of all folders between.
///
/// So it does not matter how the line leads to them: by `cd`, a variable or the output of another command. A name with a pattern or a
/// variable in it, such as `guar?.sh`, is that of each program it may be.
///
/// # Errors
///
/// If the line, or what there is to look at, is beyond a limit, or a folder cannot be read: a file that is not found could be changed.
pub(crate) fn files_below(folder: &Path, line: &[u8]) -> io::Result<Vec<PathBuf>> {
    if line.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    if line.len() > LINE {
        let message = format!("the line is longer than {LINE} bytes");
        return Err(not_found(line, &message));
    }
    let found = files_within(folder, line, ENTRIES);
    found.map_err(|error| not_found(line, &error.to_string()))
}

/// An error about the files of a line.
fn not_found(line: &[u8], why: &str) -> io::Error {
    let shown = String::from_utf8_lossy(line);
    let shown: String = shown
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    io::Error::other(format!(
        "the files that the command line `{shown}` names cannot be found, so not be protected: {why}"
    ))
}

/// The same for a number of entries.
fn files_within(folder: &Path, line: &[u8], most: usize) -> io::Result<Vec<PathBuf>> {
    let line = unquoted(line);
    let patterns: Vec<Vec<u8>> = line
        .split(|byte| is_between(*byte))
        .filter_map(pattern)
        .collect();
    let (mut files, mut seen, mut entries) = (Vec::new(), BTreeSet::new(), 0);
    let mut left = vec![(folder.to_owned(), 0)];
    while let Some((inner, depth)) = left.pop() {
        let unread = |error: io::Error| about(&inner, &format!("cannot be searched: {error}"));
        let found = match fs::read_dir(&inner) {
            Ok(found) => found,
            // It is of another user, or gone.
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(unread(error)),
        };
        if !seen.insert(fs::canonicalize(&inner).map_err(unread)?) {
            continue;
        }
        if depth > DEPTH {
            return Err(about(&inner, "is too deep in other folders to be searched"));
        }
        for entry in found {
            entries += 1;
            if entries > most {
                let message = format!(
                    "has more than {most} entries, with those of the folders in it that the line names"
                );
                return Err(about(folder, &message));
            }
            let entry = entry.map_err(unread)?;
            let name = entry.file_name();
            let name = unquoted(name.as_encoded_bytes());
            let is_literal = has_name(&line, &name);
            if !is_literal && !patterns.iter().any(|it| matches(it, &name)) {
                continue;
            }
            let path = entry.path();
            // A link counts as what it leads to.
            let Ok(found) = fs::metadata(&path) else {
                continue;
            };
            if found.is_dir() {
                left.push((path, depth + 1));
            } else if found.is_file() && (is_literal || is_program(&path, &found)) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
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
            "bob's tools/it's.sh",
            "a\"b\\c.py",
            "'",
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let check = |line: &str, expected: &[&str]| {
            let found = files_below(folder.path(), line.as_bytes()).unwrap();
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
        let its = &["bob's tools/it's.sh"];
        check("sh \"bob's tools/it's.sh\"", its);
        check("cd bob\\'s\\ tools; sh \"./it's.sh\"", its);
        check("sh 'bob'\\''s tools/it'\\''s.sh'", its);
        check("sh \"$(pwd)/bob's tools\"/it?.sh", its);
        check("sh bob*/*.sh", its);
        check("sh 'a\"b\\c.py'", &["a\"b\\c.py"]);
        check("sh a.py", &["a.py"]);
        check("cat a.txt*", &["a.txt"]);
        check("cat *.txt *", &[]);
        check("sh a.py.old guard.sh a", &[]);
        check("", &[]);
    }

    #[test]
    fn words_of_command_lines() {
        let check = |line: &str, expected: &[&str]| {
            let found = words(line);
            for word in expected {
                assert!(found.iter().any(|it| it == word), "{line}: {found:?}");
            }
        };
        check("sh a&&b;c|d", &["sh", "a", "b", "c", "d"]);
        check("X=a 'b c'\\ d", &["X", "a", "b c", "b c d"]);
        check("\"./Bob's/f.sh\"", &["./Bob's/f.sh"]);
        check(
            "sh ./it\\'s.sh \"\\$a \\b\\\"\"",
            &["./it's.sh", "$a \\b\""],
        );
        check("$HOME/a \"${HOME}/it's\"", &["~/a", "~/it's"]);
    }

    #[test]
    fn folders_that_command_lines_change_to() {
        let check = |line: &str, expected: &[&str]| {
            assert_eq!(changed_to(line), expected, "{line}");
        };
        check("", &[]);
        check("cd", &[]);
        check("cd a && X=1 ./b c d", &["a"]);
        check("if [ -x a/b ]; then exec 'a/b'; fi", &[]);
        check(
            "if true; then cd \"a/b\"; fi; X=1 cd c | echo cd d",
            &["a/b", "c"],
        );
    }

    /// What cannot be looked at as a whole is an error, not the end of what there is.
    #[test]
    fn limits() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("tools/deep")).unwrap();
        for name in ["a", "b", "tools/c", "tools/d", "tools/f.sh"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let check = |line: &str, most: usize, expected: Result<usize, &str>| {
            let found = files_within(folder.path(), line.as_bytes(), most);
            let found = found.map(|it| it.len()).map_err(|it| it.to_string());
            match (&found, expected) {
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                _ => assert_eq!(found, expected.map_err(str::to_owned), "{line}"),
            }
        };
        check("sh tools/f.sh", 7, Ok(1));
        check("sh tools/f.sh", 6, Err("has more than 6 entries"));
        // Only folders that the line names count.
        check("sh a", 3, Ok(1));
        check("sh a", 2, Err("has more than 2 entries"));
        let long = |length: usize| files_below(folder.path(), "x ".repeat(length / 2).as_bytes());
        assert_eq!(long(LINE).unwrap(), [] as [PathBuf; 0]);
        let error = long(LINE + 2).unwrap_err().to_string();
        assert!(error.contains("`x x ") && error.ends_with("longer than 16384 bytes"));
    }
}
