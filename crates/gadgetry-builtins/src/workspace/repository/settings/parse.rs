//! Git's format of settings, as `git-config` documents it.

use std::iter::Peekable;
use std::str::Chars;

/// Returns keys, in lower case and without their section, and values. What Git refuses ends the list.
///
/// ```text
/// [core "x"] hooksPath = "a b"\
///   c   ; comment          ─►  ("hookspath", "a b  c")
/// ```
pub(super) fn values(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '#' | ';' => skip_line(&mut characters),
            '[' => skip_section(&mut characters),
            c if c.is_ascii_alphabetic() => {
                let mut key = c.to_ascii_lowercase().to_string();
                while let Some(c) = characters.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
                    key.push(c.to_ascii_lowercase());
                }
                while characters.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                if characters.next_if_eq(&'=').is_some() {
                    found.push((key, value(&mut characters)));
                } else {
                    skip_line(&mut characters);
                }
            }
            _ => {}
        }
    }
    found
}

fn skip_line(characters: &mut Peekable<Chars<'_>>) {
    for _ in characters.by_ref().take_while(|c| *c != '\n') {}
}

fn skip_section(characters: &mut Peekable<Chars<'_>>) {
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '"' => quoted = !quoted,
            ']' if !quoted => return,
            '\n' => return,
            _ => {}
        }
    }
}

fn value(characters: &mut Peekable<Chars<'_>>) -> String {
    let (mut value, mut quoted, mut blanks) = (String::new(), false, String::new());
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' => break,
            '#' | ';' if !quoted => {
                skip_line(characters);
                break;
            }
            // Git removes them at the end, also where the file ends.
            ' ' | '\t' | '\r' if !quoted => blanks.push(character),
            other => {
                // Blanks at the beginning and at the end are not part of it.
                if !value.is_empty() {
                    value.push_str(&blanks);
                }
                blanks.clear();
                match other {
                    '"' => quoted = !quoted,
                    '\\' => {
                        characters.next_if_eq(&'\r');
                        match characters.next() {
                            None | Some('\n') => {}
                            Some('n') => value.push('\n'),
                            Some('t') => value.push('\t'),
                            Some('b') => value.push('\u{8}'),
                            Some(other) => value.push(other),
                        }
                    }
                    other => value.push(other),
                }
            }
        }
    }
    value
}

/// Returns keys without their section, and values, of `GIT_CONFIG_PARAMETERS`: what `git -c` passes on, each in quotes of a shell.
///
/// ```text
/// 'core.hooksPath'='a b' 'core.x=y'  ─►  ("hookspath", "a b"), ("x", "y")
/// ```
///
/// Where a name has a `=` itself, each of them counts as the end of one.
pub(super) fn parameters(text: &str) -> Vec<(String, String)> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' => quoted = !quoted,
            '\\' if !quoted => word.extend(characters.next()),
            ' ' | '\t' | '\n' if !quoted => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    let mut found = Vec::new();
    for word in words {
        for (at, _) in word.match_indices('=') {
            let key = word[..at].rsplit('.').next().unwrap_or_default();
            found.push((key.to_ascii_lowercase(), word[at + 1..].to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{parameters, values};

    #[test]
    fn keys_and_values() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let found = values(text);
            let found: Vec<(&str, &str)> = found
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check("", &[]);
        check("[core]\n\thooksPath = .hooks\n", &[("hookspath", ".hooks")]);
        check("[include] path=a ; b\n", &[("path", "a")]);
        check(
            "[include]path = \"a ; b\" # c\nx = y",
            &[("path", "a ; b"), ("x", "y")],
        );
        check("[include]\npath = a\\\nb\nbare\n", &[("path", "ab")]);
        check(
            "[a \"]\"]\nPATH =  a  b  \r\nk-1 = \\\\ \\\"",
            &[("path", "a  b"), ("k-1", "\\ \"")],
        );
        // The file ends without a newline.
        check("[core]\nhooksPath = .hooks\r", &[("hookspath", ".hooks")]);
        check(
            "# path = x\n; path = y\n[x] # z\npath = w",
            &[("path", "w")],
        );
    }

    #[test]
    fn parameters_of_the_environment() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let found = parameters(text);
            let found: Vec<(&str, &str)> = found.iter().map(|(k, v)| (&**k, &**v)).collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check("", &[]);
        check("'core.hooksPath=a b'", &[("hookspath", "a b")]);
        check(
            "'core.hooksPath'='a'\\''b' 'x.y=z'",
            &[("hookspath", "a'b"), ("y", "z")],
        );
        check("'a.b=c.d'='e'", &[("b", "c.d=e"), ("d", "e")]);
    }

    /// Git reads the same.
    #[test]
    fn as_git_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        for value in [
            "a",
            "a b",
            "\"a\" b",
            "a;b",
            "\"a#b\" #c",
            "a\\\n b",
            "\\\"x\\\\",
            "  x\t y  ",
            "x\"  \"y",
            "",
            "x\r\n[a]",
        ] {
            std::fs::write(&file, format!("[core]\n\thooksPath = {value}\n")).unwrap();
            let Ok(git) = std::process::Command::new("git")
                .arg("config")
                .arg("-f")
                .arg(&file)
                .args(["-z", "core.hooksPath"])
                .output()
            else {
                return;
            };
            let expected = String::from_utf8(git.stdout).unwrap();
            let found = values(&std::fs::read_to_string(&file).unwrap());
            assert_eq!(
                found.first().map(|(_, value)| value.as_str()),
                Some(expected.trim_end_matches('\0')),
                "{value:?}"
            );
        }
    }
}
