//! Ends of lines at the end of a value.

/// `end` without one newline before it.
pub(super) fn without_newline(text: &str, start: usize, end: usize) -> usize {
    let value = &text.as_bytes()[start..end];
    let value = value
        .strip_suffix(b"\n")
        .map_or(value, |line| line.strip_suffix(b"\r").unwrap_or(line));
    start + value.len()
}

/// `end` without what may be the trailing newline, whole or half.
pub(super) fn held_newline(text: &str, start: usize, end: usize) -> usize {
    let value = &text.as_bytes()[start..end];
    let value = value.strip_suffix(b"\n").unwrap_or(value);
    start + value.strip_suffix(b"\r").unwrap_or(value).len()
}

/// The start of the line that ends at `end`, if the line is short and holds only bytes of `class`; otherwise `end`.
pub(super) fn line_of(
    text: &str,
    start: usize,
    end: usize,
    cap: usize,
    class: impl Fn(u8) -> bool,
) -> usize {
    let bytes = &text.as_bytes()[start..end];
    let count = bytes
        .iter()
        .rev()
        .take(cap + 1)
        .take_while(|byte| class(**byte))
        .count();
    let line = end - count;
    let at_line_start = line == start || text.as_bytes()[line - 1] == b'\n';
    if at_line_start && count <= cap {
        line
    } else {
        end
    }
}
