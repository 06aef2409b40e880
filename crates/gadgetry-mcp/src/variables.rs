//! `${NAME}` in the configuration of a server.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// The names of the variables that a text reads.
pub(crate) fn names(text: &str) -> BTreeSet<String> {
    let names = RefCell::new(BTreeSet::new());
    let note = |name: &str| {
        names.borrow_mut().insert(name.to_owned());
        Some(String::new())
    };
    // Every variable has a value here.
    let _ = expand(text, &note);
    names.into_inner()
}

/// The value of an environment variable.
pub(crate) fn of_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Replaces `${NAME}` and `${NAME:-default}` by what `lookup` finds.
///
/// Fails with the name of the variable that has neither a value nor a default. Anything else with a `$` is text.
pub(crate) fn expand(
    text: &str,
    lookup: &impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        expanded.push_str(before);
        let inside = from[2..].find('}').map(|end| &from[2..2 + end]);
        let (name, default) = match inside {
            Some(inside) => match inside.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inside, None),
            },
            None => ("", None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            expanded.push_str("${");
            rest = &from[2..];
            continue;
        }
        match lookup(name).or_else(|| default.map(str::to_owned)) {
            Some(value) => expanded.push_str(&value),
            None => return Err(name.to_owned()),
        }
        rest = &from[inside.map_or(2, |inside| inside.len() + 3)..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::{expand, names};

    #[test]
    fn variables() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let lookup = |name: &str| (name == "KEY").then(|| "s3".to_owned());
            let found = expand(text, &lookup);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        };
        check("Bearer ${KEY}", Ok("Bearer s3"));
        check("${KEY}${KEY:-x}!", Ok("s3s3!"));
        check("${NONE:-a b}c", Ok("a bc"));
        check("${NONE:-}", Ok(""));
        check("${NONE}", Err("NONE"));
        check("$KEY ${ ${} ${a b} ${KEY", Ok("$KEY ${ ${} ${a b} ${KEY"));
        let found = names("${B}/${A:-x}${B} ${ $C");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["A", "B"]);
    }
}
