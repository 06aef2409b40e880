//! The tokens of Rust code, as far as paths go.

/// A token, and the number of its line.
pub type Token<'a> = (usize, &'a str);

/// Splits Rust code into names, `::`, and single characters. Comments, strings and characters are left out.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        let name = name_length(rest);
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment_length(rest)
        } else if let Some(length) = raw_string_length(rest) {
            length
        } else if c == '"' || rest.starts_with("b\"") || rest.starts_with("c\"") {
            let quote = rest.find('"').unwrap_or(0);
            quote + quoted_length(&rest[quote..], '"')
        } else if c == '\'' {
            character_length(rest)
        } else if name > 0 {
            tokens.push((line, rest[..name].trim_start_matches("r#")));
            name
        } else if rest.starts_with("::") {
            tokens.push((line, "::"));
            2
        } else {
            if !c.is_whitespace() {
                tokens.push((line, &rest[..c.len_utf8()]));
            }
            c.len_utf8()
        };
        line += rest[..length].matches('\n').count();
        at += length;
    }
    tokens
}

/// Returns the length of the name or number that `text` begins with; 0 if it begins with none.
fn name_length(text: &str) -> usize {
    let raw = if text.starts_with("r#") { 2 } else { 0 };
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let length = text[raw..]
        .find(|c| !is_part(c))
        .unwrap_or(text.len() - raw);
    if length == 0 { 0 } else { raw + length }
}

/// Returns the length of a block comment. They nest.
fn block_comment_length(text: &str) -> usize {
    let mut open = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            open += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            open -= 1;
            at += 2;
            if open == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Returns the length of a raw string, such as `r"…"` or `br##"…"##`.
fn raw_string_length(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let content = body[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = content
        .find(&end)
        .map_or(content.len(), |at| at + end.len());
    Some(text.len() - content.len() + length)
}

/// Returns the length up to and with the closing quote.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// Returns the length of a character, or of the quote alone of a lifetime.
fn character_length(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    let (first, second) = (chars.next(), chars.next());
    if first == Some('\\') || second == Some('\'') {
        quoted_length(text, '\'')
    } else {
        1
    }
}
