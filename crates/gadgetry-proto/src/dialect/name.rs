//! Names of gadgets in text.

/// A name of a gadget at the beginning of `text`: everything up to what cannot be in one.
pub(super) fn name_at(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
    &text[..end.unwrap_or(text.len())]
}
