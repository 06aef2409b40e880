//! Reads the words in source text: names, durations, descriptions.

use std::time::Duration;

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// `get_weather` as a type is named: `GetWeather`.
pub(crate) fn pascal_case(name: &str) -> String {
    name.split('_').map(capitalized).collect()
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    let Some(first) = chars.next() else {
        return String::new();
    };
    first.to_uppercase().chain(chars).collect()
}

/// Reads a duration as milliseconds, by the rule of gadget files: `500ms`, `10s`, `1.5m`, `1h`. Returns `None` for anything
/// else and for less than a millisecond. `corpus/durations.tsv` tests both functions.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let unit_start = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (amount, unit) = text.split_at(unit_start);
    let seconds_per_unit = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let plain = amount.starts_with(|c: char| c.is_ascii_digit())
        && amount.ends_with(|c: char| c.is_ascii_digit())
        && amount.chars().all(|c| c.is_ascii_digit() || c == '.');
    if !plain {
        return None;
    }
    let seconds = amount.parse::<f64>().ok()? * seconds_per_unit;
    let milliseconds = Duration::try_from_secs_f64(seconds).ok()?.as_millis();
    u64::try_from(milliseconds).ok().filter(|it| *it > 0)
}

/// The text of the doc comments among `attributes`, without the blanks around it and the one that all lines begin with.
pub(crate) fn doc_text(attributes: &[Attribute]) -> String {
    let docs: Vec<String> = attributes.iter().filter_map(doc).collect();
    let lines: Vec<&str> = docs
        .iter()
        .flat_map(|doc| doc.split('\n'))
        .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
        .collect();
    lines.join("\n").trim().to_owned()
}

fn doc(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else {
        return None;
    };
    let Expr::Lit(ExprLit {
        lit: Lit::Str(text),
        ..
    }) = &meta.value
    else {
        return None;
    };
    meta.path.is_ident("doc").then(|| text.value())
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn types_are_named_in_pascal_case() {
        for (function, name) in [
            ("weather", "Weather"),
            ("get_weather", "GetWeather"),
            ("fetch_2_urls", "Fetch2Urls"),
            ("_hidden__name_", "HiddenName"),
            ("getWeather", "GetWeather"),
            ("été", "Été"),
            ("__", ""),
        ] {
            assert_eq!(pascal_case(function), name);
        }
    }

    #[test]
    fn durations_follow_the_table() {
        let table = include_str!("../../../corpus/durations.tsv");
        let rows = table.lines().filter_map(|line| line.split_once('\t'));
        assert!(rows.clone().count() > 20);
        for (text, expected) in rows {
            let found = milliseconds(text).map_or("invalid".to_owned(), |it| it.to_string());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_doc_comment_is_a_text() {
        let attributes: Vec<Attribute> = vec![
            parse_quote!(#[doc = " Gets the weather."]),
            parse_quote!(#[inline]),
            parse_quote!(#[doc = ""]),
            parse_quote!(#[doc = "   - indented  "]),
            parse_quote!(#[doc(hidden)]),
            parse_quote!(#[doc = "\n"]),
        ];
        assert_eq!(doc_text(&attributes), "Gets the weather.\n\n  - indented");
        assert_eq!(doc_text(&[]), "");
    }
}
