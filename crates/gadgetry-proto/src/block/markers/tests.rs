use std::collections::BTreeSet;

use super::*;

#[track_caller]
fn check([start, end, arg]: [&str; 3], expected: &Result<(), MarkerError>) {
    let made = Markers::new(start, end, arg);
    assert_eq!(
        &made.clone().map(|_| ()),
        expected,
        "{start:?} {end:?} {arg:?}"
    );
    // A format that is read from a file is held to the same.
    let json = serde_json::json!({ "start": start, "end": end, "arg": arg });
    let read = serde_json::from_value::<Markers>(json);
    assert_eq!(
        read.map_err(|error| error.to_string()),
        made.map_err(|error| error.to_string())
    );
}

fn white_space(name: &'static str, marker: &str) -> MarkerError {
    MarkerError::WhiteSpace {
        name,
        marker: marker.to_owned(),
    }
}

#[test]
fn different_markers_are_valid() {
    for markers in [
        ["!!!GADGET_START:", "!!!GADGET_END", "!!!ARG:"],
        ["a", "b", "c"],
        ["a b ", "b\t", "c"],
        ["→a", "→b", "é"],
        // One may hold another, but not begin with it.
        ["a", "ba", "ca"],
    ] {
        check(markers, &Ok(()));
    }
}

#[test]
fn empty_markers_are_refused() {
    check(["", "b", "c"], &Err(MarkerError::Empty { name: "start" }));
    check(["a", "", "c"], &Err(MarkerError::Empty { name: "end" }));
    check(
        ["a", "b", ""],
        &Err(MarkerError::Empty { name: "argument" }),
    );
    check(["", "", ""], &Err(MarkerError::Empty { name: "start" }));
}

#[test]
fn line_breaks_and_white_space() {
    check(["a\n", "b", "c"], &Err(white_space("start", "a\n")));
    check(["a", "b\rb", "c"], &Err(white_space("end", "b\rb")));
    check(["a", "b", " c"], &Err(white_space("argument", " c")));
    check(
        ["a", "\u{3000}b", "c"],
        &Err(white_space("end", "\u{3000}b")),
    );
}

#[test]
fn equal_markers_are_refused() {
    let equal = |name, other_name| {
        Err(MarkerError::Equal {
            name,
            other_name,
            marker: "x".to_owned(),
        })
    };
    check(["x", "x", "c"], &equal("start", "end"));
    check(["x", "b", "x"], &equal("start", "argument"));
    check(["a", "x", "x"], &equal("end", "argument"));
}

#[test]
fn prefixes() {
    let prefix = |name, other_name| {
        Err(MarkerError::Prefix {
            name,
            other_name,
            marker: "x".to_owned(),
        })
    };
    check(["x", "xy", "c"], &prefix("start", "end"));
    check(["x", "b", "xy"], &prefix("start", "argument"));
    check(["xy", "x", "c"], &prefix("end", "start"));
    check(["a", "x", "xy"], &prefix("end", "argument"));
    check(["xy", "b", "x"], &prefix("argument", "start"));
    check(["a", "xy", "x"], &prefix("argument", "end"));
}

#[test]
fn messages() {
    for (error, message) in [
        (Markers::new("", "b", "c"), "the start marker is empty"),
        (
            Markers::new("a", "b\n", "c"),
            r#"the end marker "b\n" contains a line break or begins with whitespace"#,
        ),
        (
            Markers::new("a", "b", "a"),
            r#"the start marker and the argument marker are both "a"; they must differ"#,
        ),
        (
            Markers::new("ab", "a", "c"),
            r#"the start marker begins with the end marker "a"; a parser could not distinguish them"#,
        ),
    ] {
        assert_eq!(error.unwrap_err().to_string(), message);
    }
}

#[test]
fn nonces() {
    let check = |seed, words: &str| {
        let markers = Markers::nonce(seed);
        assert_eq!(markers.start(), format!("!!!GADGET_START {words}:"));
        assert_eq!(markers.end(), format!("!!!GADGET_END {words}"));
        assert_eq!(markers.arg(), format!("!!!ARG {words}:"));
        assert_eq!(markers.words(), Some(words));
        let Markers { start, end, arg } = markers;
        self::check([&start, &end, &arg], &Ok(()));
    };
    check(0, "tenant minor");
    check(1, "option client");
    check(7, "horn core");
    check(u64::MAX, "tide inlet");
    let starts = (0..1000).map(|seed| Markers::nonce(seed).start);
    let different: BTreeSet<String> = starts.collect();
    assert!(different.len() > 995, "{}", different.len());
}

/// All words are there, once each, and none begins a word that could be read in its place.
#[test]
fn words() {
    let all = &*WORDS;
    assert_eq!(all.len(), 1024);
    assert!(all.is_sorted());
    let distinct: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(distinct.len(), 1024);
    let is_plain = |word: &&str| word.len() >= 4 && word.bytes().all(|it| it.is_ascii_lowercase());
    assert_eq!(all.iter().find(|word| !is_plain(word)), None);
}

#[test]
fn what_is_a_nonce() {
    let check = |tail: &str, is_nonce: bool, has_words: bool| {
        let markers = Markers::new(
            format!("!!!GADGET_START{tail}:"),
            format!("!!!GADGET_END{tail}"),
            format!("!!!ARG{tail}:"),
        );
        let markers = markers.expect("they are markers");
        assert_eq!(markers.is_nonce(), is_nonce, "{tail:?}");
        assert_eq!(markers.words().is_some(), has_words, "{tail:?}");
    };
    check("", false, false);
    check(" option client", true, true);
    check(" option", false, false);
    check(" option client client", false, false);
    check(" option clients", false, false);
    check(" option  client", false, false);
    check("_option_client", false, false);
    // Of runs that earlier versions have saved.
    check("_0badcafe", true, false);
    check("_0badcaf", false, false);
}
