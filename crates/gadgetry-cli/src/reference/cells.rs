//! Texts as cells of tables.

/// A text of help or of a schema as a cell of a table.
pub(super) fn cell(text: &str) -> String {
    // An example in Rust says nothing about the option or the JSON.
    let text = text.split("```").next().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = without_links(&text).replace('|', "\\|");
    // Tags would be HTML, but not in code.
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| match at % 2 {
        0 => part.replace('<', "\\<"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Removes links of rustdoc, which lead nowhere on a page.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('[') {
        let (before, link) = rest.split_at(start);
        plain.push_str(before);
        let Some(end) = link.find(']') else { break };
        let label = &link[1..end];
        let after = &link[end + 1..];
        let target = after.strip_prefix('(').and_then(|it| it.split_once(')'));
        match target {
            Some((_, after)) => {
                plain.push_str(label);
                rest = after;
            }
            None if label.starts_with('`') => {
                plain.push_str(label);
                rest = after;
            }
            None => {
                plain.push_str(&link[..=end]);
                rest = after;
            }
        }
    }
    plain + rest
}

#[test]
fn texts_become_cells() {
    for (text, expected) in [
        ("a <b> | `<c>`", "a \\<b> \\| `<c>`"),
        ("one\n\ntwo\n```\nthree", "one two"),
        (
            "an [identity](RunInfo) of [`Run`], [agent]",
            "an identity of `Run`, [agent]",
        ),
    ] {
        assert_eq!(cell(text), expected);
    }
}
