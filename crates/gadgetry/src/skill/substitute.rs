//! The placeholders of a skill's text.

/// Fills in the placeholders of `text`, in one pass: replacements are never searched for placeholders, and nothing is executed.
/// See [`super::Skill::activate`] for the placeholders.
pub(super) fn substitute(text: &str, arguments: &str, folder: &str) -> String {
    let arguments = arguments.trim();
    let words = words(arguments);
    let mut has_arguments = arguments.is_empty();
    let mut out = String::with_capacity(text.len() + arguments.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, here) = rest.split_at(at);
        out.push_str(before);
        let placeholder = if before.ends_with('\\') {
            None
        } else {
            placeholder(here)
        };
        let filled_in = placeholder.and_then(|(what, length)| {
            let text = match what {
                Placeholder::Folder => folder,
                Placeholder::Arguments => arguments,
                Placeholder::Word(index) => words.get(index).copied()?,
            };
            has_arguments |= what != Placeholder::Folder;
            Some((text, length))
        });
        let (text, length) = filled_in.unwrap_or_else(|| {
            // `$$1` is the shell's `$$` and a 1.
            let dollars = if here.starts_with("$$") { 2 } else { 1 };
            (&here[..dollars], dollars)
        });
        out.push_str(text);
        rest = &here[length..];
    }
    out.push_str(rest);
    if !has_arguments {
        out.push_str("\n\nArguments: ");
        out.push_str(arguments);
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Placeholder {
    Folder,
    Arguments,
    /// Zero-based word.
    Word(usize),
}

/// The placeholder that `text`, which begins with a dollar sign, begins with, and its length in bytes.
fn placeholder(text: &str) -> Option<(Placeholder, usize)> {
    const FOLDER: &str = "${SKILL_DIR}";
    const ARGUMENTS: &str = "$ARGUMENTS";
    if text.starts_with(FOLDER) {
        return Some((Placeholder::Folder, FOLDER.len()));
    }
    if let Some(rest) = text.strip_prefix(ARGUMENTS) {
        if let Some(rest) = rest.strip_prefix('[') {
            let (index, length) = number(rest)?;
            let closed = rest[length..].starts_with(']');
            return closed.then_some((Placeholder::Word(index), ARGUMENTS.len() + length + 2));
        }
        return (!continues(rest)).then_some((Placeholder::Arguments, ARGUMENTS.len()));
    }
    let (position, length) = number(text.strip_prefix('$')?)?;
    let rest = &text[1 + length..];
    if continues(rest) || is_amount(rest) {
        return None;
    }
    Some((Placeholder::Word(position.checked_sub(1)?), 1 + length))
}

/// A number without leading zeros, and its length in bytes.
fn number(text: &str) -> Option<(usize, usize)> {
    let length = (text.find(|c: char| !c.is_ascii_digit())).unwrap_or(text.len());
    let digits = &text[..length];
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().ok()?, length))
}

/// Returns whether a word continues with `rest`: `$ARGUMENTS_FILE` and `$1st` are not placeholders.
fn continues(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Returns whether the digits before `rest` are a sum of money: `$5.00`, `$1,000`.
fn is_amount(rest: &str) -> bool {
    let mut rest = rest.chars();
    matches!(rest.next(), Some('.' | ',')) && rest.next().is_some_and(|c| c.is_ascii_digit())
}

/// Returns the words of `arguments`. Blanks separate them, except between a quote that begins a word and the same quote at its
/// end.
fn words(arguments: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = arguments.trim_start();
    while let Some(first) = rest.chars().next() {
        let word;
        (word, rest) = match quoted(rest, first) {
            Some(length) => (&rest[1..=length], &rest[length + 2..]),
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word);
        rest = rest.trim_start();
    }
    words
}

/// The length of the quoted text at the start of `text`, if `quote`, its first character, is a quote.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let inside = text.strip_prefix(['"', '\''])?;
    let mut ends = inside.match_indices(quote);
    let (length, _) = ends.find(|(at, _)| {
        let after = &inside[at + 1..];
        after.is_empty() || after.starts_with(char::is_whitespace)
    })?;
    Some(length)
}
