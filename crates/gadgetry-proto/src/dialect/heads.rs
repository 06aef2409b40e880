//! What programs add to the lines of a text: colours, line numbers, and signs before them.

use std::borrow::Cow;

/// Maximum bytes of the head of a line, which may have a long path.
const HEAD: usize = 1024;

/// Maximum digits of a line number.
const LINE_NUMBER: usize = 7;

/// Signs of comments, quotations, lists and changes.
const SIGNS: &str = "+-*#/>|;%!~.$\u{2022}\u{2502}";

/// Signs that are these only before whitespace, because forms begin with them, too.
const SPACED: &str = "<:@=?";

/// The one character for `ESC [`.
const C1: char = '\u{9b}';

/// A sequence that chooses the characters of ASCII, after its first character.
const CHARACTERS: &str = "(B";

/// Returns the length of what a program may have put before the first line of a text: signs, and line numbers with what belongs to them.
///
/// ```text
/// +  "path"      + // "path"     12| "path"     src/a.rs:12:  "path"     1a2b3c4d (Ann 2026-01-01 12:00:00 +0100 12)  "path"
/// ```
pub(super) fn head_length(text: &str) -> usize {
    let near = &text[..text.floor_char_boundary(HEAD.min(text.len()))];
    let ends = ['\n', '\r', '\u{2028}', '\u{2029}'];
    let line = near.split(ends).next().unwrap_or_default();
    line.len() - unsigned(unnumbered(unsigned(line))).len()
}

fn unsigned(line: &str) -> &str {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || SIGNS.contains(c));
        let spaced = rest.strip_prefix(|c: char| SPACED.contains(c));
        let Some(after) = spaced.filter(|it| it.starts_with([' ', '\t'])) else {
            return rest;
        };
        rest = after;
    }
}

/// Removes a line number before a line, also two of them, or what `git blame` and `grep` show there.
fn unnumbered(line: &str) -> &str {
    let rest = blamed(line).unwrap_or(line);
    let mut rest = located(rest).unwrap_or(rest);
    for _ in 0..2 {
        let open = rest.trim_start();
        let open = open.trim_start_matches(['[', '(', '#', 'L', 'l']);
        let after = open.trim_start_matches(|c: char| c.is_ascii_digit());
        if !is_line_number(&open[..open.len() - after.len()]) {
            break;
        }
        rest = after.trim_start_matches([']', ')', ':', '|', '.', '>', '\u{2192}', '\u{2502}']);
    }
    rest
}

/// Returns what follows a file and a line number, or only a file, as `grep` shows them:
///
/// ```text
/// src/a.rs:12:  src/a.rs-12-  HEAD:src/a.rs:12:  my notes/a.md:12:  src/a.rs:
/// ```
fn located(line: &str) -> Option<&str> {
    // Neither a file, nor before one.
    let near = &line[..line.find(['"', '{', '<', '>', '|']).unwrap_or(line.len())];
    let mut parts = near
        .match_indices([':', '-', '='])
        .filter(|part| part.0 > 0);
    let numbered = parts.find_map(|(at, sign)| {
        let after = &line[at + 1..];
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = is_line_number(&after[..after.len() - rest.len()]);
        let rest = rest
            .strip_prefix(sign)
            .or_else(|| (sign == ":").then(|| rest.strip_prefix("-")).flatten());
        rest.filter(|_| is_number)
    });
    let file = || {
        let (file, _) = near.split_once(':')?;
        let is_file = file.contains(['.', '/']) && !file.contains(char::is_whitespace);
        is_file.then(|| &line[file.len() + 1..])
    };
    numbered.or_else(file)
}

/// Returns what follows a commit, its author and its time: `1a2b3c4d (Ann 2026-01-01 12:00:00 +0100 12)`. The commit may be left out.
fn blamed(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('^');
    let after = line.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    let length = line.len() - after.len();
    let is_commit = (7..=40).contains(&length) && after.starts_with([' ', '\t']);
    let mut ends = after
        .match_indices(')')
        .filter(|_| is_commit || line.starts_with('('));
    let (end, _) = ends.find(|(end, _)| {
        let before = &after[..*end];
        let most = before.ceil_char_boundary(end.saturating_sub(LINE_NUMBER + 1));
        let Some((_, number)) = before[most..].rsplit_once([' ', '\t']) else {
            return false;
        };
        let time = before[..before.len() - number.len()].trim_end();
        is_line_number(number) && (is_commit || ends_in_zone(time))
    })?;
    Some(&after[end + 1..])
}

/// Returns `true` if a time with its difference to that of the world is at the end, as `+0100`.
fn ends_in_zone(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes
        .split_last_chunk()
        .is_some_and(|(_, zone): (_, &[u8; 5])| {
            matches!(zone[0], b'+' | b'-') && zone[1..].iter().all(u8::is_ascii_digit)
        })
}

fn is_line_number(text: &str) -> bool {
    (1..=LINE_NUMBER).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit())
}

/// Returns a text without the sequences that colour it, also those without their first character, as they are in a result: `[1;32m`.
pub(super) fn uncolored(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (at, bracket) in text.match_indices(['[', C1]) {
        if at < done {
            continue;
        }
        let before = &text[done..at];
        let kept = without_escape(before);
        let is_sequence =
            kept.len() < before.len() || done > 0 && before.is_empty() || bracket != "[";
        let after = at + bracket.len();
        if let Some(length) = color(&text[after..], is_sequence) {
            // `ESC ( B ESC [ m` ends all colours in many terminals.
            out.push_str(kept.strip_suffix(CHARACTERS).map_or(kept, without_escape));
            done = after + length;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// Returns a text without the character at its end that begins a sequence, also as `^[`.
fn without_escape(text: &str) -> &str {
    let kept = text.trim_end_matches('\u{1b}');
    kept.strip_suffix("^[").unwrap_or(kept)
}

/// Returns the length of what follows the bracket of a sequence that colours text or clears a line. If that is not known of it, `[m` may
/// begin a list, too.
fn color(text: &str, is_sequence: bool) -> Option<usize> {
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, ';' | ':');
    let numbers = text.trim_start_matches(is_number);
    let rest = numbers.strip_prefix(['m', 'K'])?;
    let has_numbers = numbers.len() < text.len();
    let is_in_list = |c: char| c.is_alphanumeric() || matches!(c, '_' | ',' | '.' | ']' | '-');
    let is_color = has_numbers || is_sequence || !rest.starts_with(is_in_list);
    is_color.then_some(text.len() - rest.len())
}
