//! The viewer beyond the vectors: errors, bounds, and paging through hints.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed; clippy's own exception covers test functions only, not their helpers"
)]

use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::convo::viewer::{NAME, Pattern, ViewMode, ViewRequest, spec, view};
use gadgetry_proto::schema::Registry;
use proptest::prelude::{
    Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::{Value, json};

/// Longer than any text that the viewer adds to what it shows.
const HEADERS: usize = 400;

#[track_caller]
fn check(content: &str, max_chars: usize, params: &Value, expected: &str) {
    let request: ViewRequest = serde_json::from_value(params.clone()).unwrap();
    assert_eq!(view(content, &request, max_chars), expected);
}

#[test]
fn invalid_limits_are_errors() {
    for wrong in [
        "", "-", "abc", "0-", "-0", "5", "0-3", "4-2", "1e1-", "3--", "1-2-3", "+1-", "١-",
    ] {
        let request = ViewRequest {
            limit: Some(wrong.to_owned()),
            ..ViewRequest::default()
        };
        let shown = view("a\nb", &request, 100);
        assert!(
            shown.starts_with(&format!("Error: limit {wrong:?} is not understood.")),
            "{shown}"
        );
    }
    let request = ViewRequest {
        limit: Some("x".repeat(10_000)),
        ..ViewRequest::default()
    };
    assert!(view("a", &request, 100).len() < HEADERS);
}

/// There is no clock: an expression that is matched all the same makes this take minutes.
#[test]
fn an_expression_that_repeats_too_much_is_refused() {
    let shown = |regex: &str| {
        let request = serde_json::from_value(json!({ "patterns": [{ "regex": regex }] })).unwrap();
        view(&"a".repeat(500_000), &request, 100)
    };
    let refused = "Error: patterns/0/regex takes too long for 500000 bytes";
    assert!(shown("[a-z]{5000}[0-9]").starts_with(refused));
    assert!(shown("^a+$").starts_with("[Mode: line |"));
}

#[test]
fn limits_past_the_end_are_clipped() {
    let none = "[Mode: line | Showing 0 of 2 lines]\n\
                [The limit begins past line 2, the last one that is left. Last lines: limit: \"-2\"]";
    check(
        "a\nb",
        99,
        &json!({ "limit": " 100- " }),
        "[Mode: line | Showing all 2 lines]\na\nb",
    );
    check(
        "a\nb",
        99,
        &json!({ "limit": "-100" }),
        "[Mode: line | Showing all 2 lines]\na\nb",
    );
    check(
        "a\nb",
        99,
        &json!({ "limit": "2-99" }),
        "[Mode: line | Showing 1 of 2 lines]\nb",
    );
    check("a\nb", 99, &json!({ "limit": "3-99" }), none);
    let huge = "99999999999999999999999-";
    check(
        "a\nb",
        99,
        &json!({ "limit": huge }),
        "[Mode: line | Showing all 2 lines]\na\nb",
    );
    check("", 99, &json!({}), "[Mode: line | Showing all 1 line]\n");
}

#[test]
fn the_last_characters_are_the_very_last_ones() {
    let text = "abcdefghij";
    for (limit, room, shown) in [
        (
            "-6",
            99,
            "[Mode: character | Showing chars 5-10 of 10]\nefghij",
        ),
        (
            "-6",
            4,
            "[Mode: character | Showing chars 7-10 of 10 (truncated due to viewer size limit)]\n\
             [Chunk before: mode: \"character\", limit: \"5-6\"]\nghij",
        ),
        (
            "-99",
            3,
            "[Mode: character | Showing chars 8-10 of 10 (truncated due to viewer size limit)]\n\
             [Chunk before: mode: \"character\", limit: \"1-7\"]\nhij",
        ),
    ] {
        check(
            text,
            room,
            &json!({ "mode": "character", "limit": limit }),
            shown,
        );
    }
}

#[test]
fn hints_count_in_what_the_patterns_leave() {
    check(
        "x\na1\nx\na2\nx\na3\na4",
        5,
        &json!({ "patterns": [{ "regex": "a" }] }),
        "[Mode: line | Showing 2 of 7 lines (truncated due to size limit)]\n\
         [... 2 more lines. Use limit parameter to paginate, e.g., limit: \"3-202\"]\na1\na2",
    );
    check(
        "x\na1\nx\na2\nx\na3\na4",
        5,
        &json!({ "patterns": [{ "regex": "a" }], "limit": "-3" }),
        "[Mode: line | Showing 2 of 7 lines (truncated due to size limit)]\n\
         [... 1 more line. Use limit parameter to paginate, e.g., limit: \"4-4\"]\na2\na3",
    );
}

#[test]
fn a_long_line_among_others() {
    check(
        "ab\nlonglonglong\ncd",
        4,
        &json!({ "limit": "2-3" }),
        "[Mode: line | Showing 1 partial line of 3 lines (the selected line exceeds the viewer size limit)]\n\
         [... 1 more line. Use limit parameter to paginate, e.g., limit: \"3-3\"]\n\
         long\n\
         [Tip: This output is dense (3 lines; longest line 12 chars). Try mode: \"character\", limit: \"4-18\".]",
    );
}

#[test]
fn patterns() {
    check(
        "a\r\nb\r\nc",
        99,
        &json!({ "patterns": [{ "regex": "^[ab]$", "before": 4_000_000_000_u32 }] }),
        "[Mode: line | Showing 2 of 3 lines]\na\r\nb\r",
    );
    for beyond_u32 in [json!(1_000_000_000_000_u64), json!(1e30)] {
        check(
            "a\nb\nc",
            99,
            &json!({ "patterns": [{ "regex": "b", "before": beyond_u32, "after": beyond_u32 }] }),
            "[Mode: line | Showing all 3 lines]\na\nb\nc",
        );
    }
    check(
        "TODO\nnone\ntodo",
        99,
        &json!({ "patterns": [{ "regex": "(?i)todo", "after": 4_000_000_000_u32 }, { "regex": "n", "include": false }] }),
        "[Mode: line | Showing 2 of 3 lines]\nTODO\ntodo",
    );
    check(
        "a",
        99,
        &json!({ "patterns": [{ "regex": "a" }, { "regex": "(" }] }),
        "Error: patterns/1/regex cannot be used: regex parse error:\n    (\n    ^\nerror: unclosed group\n\
         (Syntax: Rust regex. No look-around, no back-references; (?i) ignores case.)",
    );
    for costly in [
        "(?=a)",
        r"(a)\1",
        r"(\w{100}){100}{100}",
        &"(".repeat(10_000),
    ] {
        let pattern = json!({ "patterns": [{ "regex": costly }] });
        let request: ViewRequest = serde_json::from_value(pattern).unwrap();
        let shown = view("aaaa", &request, 100);
        assert!(
            shown.starts_with("Error: patterns/0/regex cannot be used: "),
            "{shown}"
        );
        assert!(shown.chars().count() < 800, "{shown}");
    }
}

#[test]
fn characters_are_never_split() {
    check(
        "äöü🦀x",
        2,
        &json!({ "mode": "character", "limit": "3-9" }),
        "[Mode: character | Showing chars 3-4 of 5 (truncated due to viewer size limit)]\n\
         [Next chunk: mode: \"character\", limit: \"5-5\"]\nü🦀",
    );
    check(
        "🦀🦀",
        99,
        &json!({ "mode": "character", "limit": "-1" }),
        "[Mode: character | Showing chars 2-2 of 2]\n🦀",
    );
    check(
        "",
        99,
        &json!({ "mode": "character" }),
        "[Mode: character | Output is empty]",
    );
    check(
        "abc",
        99,
        &json!({ "mode": "character", "limit": "7-9" }),
        "[Mode: character | Showing chars 0-0 of 3]\n\
         [The limit begins past the end. Last chunk: mode: \"character\", limit: \"1-3\"]",
    );
}

#[test]
fn stored_outputs() {
    let mut store = OutputStore::default();
    let request = ViewRequest::default();
    assert_eq!(
        store.view("x", &request, 99),
        "Error: No stored output with id \"x\". Available IDs: (none)"
    );
    let first = store.insert("Search", "one".to_owned()).to_owned();
    let second = store.insert("Search", "two".to_owned()).to_owned();
    assert_eq!(
        store.view(&second, &request, 99),
        "[Mode: line | Showing all 1 line]\ntwo"
    );
    assert_eq!(
        store.view("x", &request, 99),
        format!("Error: No stored output with id \"x\". Available IDs: {first}, {second}")
    );
}

#[test]
fn the_declared_parameters_are_the_request() {
    let Ok(registry) = Registry::new([spec()]) else {
        panic!("the viewer's own schema is refused")
    };
    assert!(registry.get(NAME).is_some());
    let declared = spec().parameters;
    let names: Vec<&str> = declared["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(names, ["id", "mode", "patterns", "limit"]);
    let text = gadgetry_proto::prompt::parameter_list(&declared);
    assert!(
        text.contains("- patterns/0/regex (string; required)"),
        "{text}"
    );
    assert!(!text.contains("4294967295"), "{text}");
}

#[test]
fn lines_around_a_match_are_whole_numbers_from_0() {
    for wrong in [json!(-1), json!(0.5), json!("many")] {
        let request = json!({ "patterns": [{ "regex": "b", "before": wrong }] });
        assert!(serde_json::from_value::<ViewRequest>(request).is_err());
    }
}

/// What follows `limit: "` in the hint, if there is one.
fn hinted(shown: &str) -> Option<String> {
    let header = shown
        .lines()
        .take(2)
        .find(|line| line.starts_with("[...") || line.starts_with("[Next"))?;
    let (_, limit) = header.split_once("limit: \"")?;
    Some(limit.trim_end_matches("\"]").to_owned())
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[abä🦀]{0,12}", 0..300)
}

fn request() -> impl Strategy<Value = ViewRequest> {
    let limit = prop_oneof![
        Just(None),
        (1..400_u32).prop_map(|n| Some(format!("{n}-"))),
        (1..400_u32).prop_map(|n| Some(format!("-{n}"))),
        (1..400_u32, 0..400_u32).prop_map(|(low, n)| Some(format!("{low}-{}", low + n))),
    ];
    let pattern =
        ("[ab]", any::<bool>(), 0..3_u32, 0..3_u32).prop_map(|(regex, include, before, after)| {
            Pattern {
                regex,
                include,
                before,
                after,
            }
        });
    (prop::collection::vec(pattern, 0..3), limit).prop_map(|(patterns, limit)| ViewRequest {
        mode: ViewMode::Line,
        patterns,
        limit,
    })
}

proptest! {
    #[test]
    fn output_is_bounded(lines in lines(), request in request(), max in 0..200_usize, characters in any::<bool>()) {
        let mut request = request;
        if characters {
            request.mode = ViewMode::Character;
        }
        let shown = view(&lines.join("\n"), &request, max);
        prop_assert!(shown.chars().count() <= max + HEADERS, "{}", shown);
    }

    #[test]
    fn hints_lead_through_every_line_once(lines in lines(), request in request(), max in 12..200_usize) {
        // Numbered lines, so that a line visited twice or never is seen.
        let content: Vec<String> = lines.iter().enumerate().map(|(n, line)| format!("{n}:{line}")).collect();
        let content = content.join("\n");
        let whole = view(&content, &request, usize::MAX);
        prop_assert_eq!(hinted(&whole), None);
        let mut request = request;
        let mut visited = Vec::new();
        loop {
            let shown = view(&content, &request, max.max(20));
            let body = shown.lines().skip_while(|line| line.starts_with('[')).map(str::to_owned);
            visited.extend(body);
            let Some(next) = hinted(&shown) else { break };
            request.limit = Some(next);
        }
        let expected: Vec<String> = whole.lines().skip_while(|line| line.starts_with('[')).map(str::to_owned).collect();
        prop_assert_eq!(visited, expected);
    }

    #[test]
    fn hints_lead_through_every_character_once(content in "[a\n🦀]{1,6000}", max in 1..900_usize) {
        let mut request = ViewRequest { mode: ViewMode::Character, ..ViewRequest::default() };
        let mut visited = String::new();
        loop {
            let shown = view(&content, &request, max);
            let next = hinted(&shown);
            let headers = if next.is_some() { 2 } else { 1 };
            visited.extend(shown.splitn(headers + 1, '\n').nth(headers));
            let Some(next) = next else { break };
            request.limit = Some(next);
        }
        prop_assert_eq!(visited, content);
    }
}

/// Lines count with the line breaks between them.
#[test]
fn lines_fit_up_to_the_limit() {
    let cut = |shown: &str, more: &str| {
        format!(
            "[Mode: line | Showing {shown} of 2 lines (truncated due to size limit)]\n\
             [... 1 more line. Use limit parameter to paginate, e.g., limit: \"2-{more}\"]\n"
        )
    };
    check(
        "ab\ncd",
        5,
        &json!({}),
        "[Mode: line | Showing all 2 lines]\nab\ncd",
    );
    check("ab\ncd", 4, &json!({}), &(cut("1", "201") + "ab"));
    check(
        "abcd",
        4,
        &json!({}),
        "[Mode: line | Showing all 1 line]\nabcd",
    );
    check("abcd\nef", 4, &json!({}), &(cut("1", "201") + "abcd"));
}

#[test]
fn the_next_chunk_follows_the_last_character() {
    let text = "x".repeat(9_000);
    for (room, next) in [(10, "11-2010"), (8_000, "8001-9000")] {
        let request = json!({ "mode": "character" });
        let shown = format!(
            "[Mode: character | Showing chars 1-{room} of 9000 (truncated due to viewer size limit)]\n\
             [Next chunk: mode: \"character\", limit: \"{next}\"]\n{}",
            "x".repeat(room)
        );
        check(&text, room, &request, &shown);
    }
}

/// The model knows the viewer only by its specification.
#[test]
fn the_specification_says_what_the_viewer_is_for() {
    let spec = spec();
    assert_eq!(spec.name, NAME);
    assert!(spec.description.contains("output"), "{}", spec.description);
    assert!(spec.parameters["properties"]["id"].is_object());
}
