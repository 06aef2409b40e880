use super::*;

const CODE: &str = "\
fn main() {
    let limit = 10;
    run(limit);
}

fn other() {
\tlet limit = 10;
}
";

fn wanted<'e>(search: &'e str, replace: &'e str) -> Edit<'e> {
    Edit {
        search,
        replace,
        replace_all: false,
        expected_count: None,
    }
}

#[test]
fn passages_are_found_by_the_first_strategy_that_finds_any() {
    let check = |text: &str, search: &str, replace: &str, expected: &str, by, lines| {
        let edited = edit(text, &wanted(search, replace)).unwrap();
        let expected = Edited {
            text: expected.to_owned(),
            strategy: by,
            lines,
        };
        assert_eq!(edited, expected, "{search:?}");
    };
    check("a\nb\nc\n", "b", "B", "a\nB\nc\n", Strategy::Exact, (2, 2));
    check("a\nb\nc\n", "b\nc\n", "", "a\n", Strategy::Exact, (2, 3));
    check("x", "x", "y", "y", Strategy::Exact, (1, 1));
    check(
        "if  a ==\tb {\n  c();  \n}\n",
        "if a == b {\n c();",
        "if b {\n  d();",
        "if b {\n  d();\n}\n",
        Strategy::WhiteSpace,
        (1, 2),
    );
    check(
        "a\r\nb\r\nc\r\n",
        "a\nb\n",
        "x\ny\nz\n",
        "x\r\ny\r\nz\r\nc\r\n",
        Strategy::WhiteSpace,
        (1, 2),
    );
    check(
        "mod m {\n    fn a() {\n        b();\n    }\n}\n",
        "fn a() {\n    b();\n}\n",
        "fn a() {\n    c();\n\n    d();\n}\n",
        "mod m {\n    fn a() {\n        c();\n\n        d();\n    }\n}\n",
        Strategy::Indentation,
        (2, 4),
    );
}

#[test]
fn what_cannot_be_replaced_says_why() {
    let check = |wanted: Edit<'_>, expected: &str| {
        let error = edit(CODE, &wanted).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(wanted("", "x"), "`search` is empty");
    check(wanted("x", "x"), "are the same");
    check(
        wanted("\trun(limit);\n", "    run(limit);\n"),
        "nothing would change",
    );
    // Nothing but whitespace may differ, however alike the passage is.
    for near in [
        "    let limit = 11;\n    run(limit);",
        "    let limit = 10\n    run(limit);",
        "    let limits = 10;\n    run(limit);",
        "    let limit == 10;\n    run(limit);",
        "    let limit = -10;\n    run(limit);",
        "    let limit = 1 0;\n    run(limit);",
        "    letlimit = 10;\n    run(limit);",
        "    let limit = 10;\n    Run(limit);",
        "    let limit=10;\n    run(limit);",
    ] {
        check(wanted(near, "x"), "not found\nLines 2-3 are");
    }
    check(
        wanted("let limit = 10;", "x"),
        "found 2 times, at lines 2, 7",
    );
    check(
        Edit {
            expected_count: Some(3),
            replace_all: true,
            ..wanted("let limit = 10;", "x")
        },
        "but expectedCount is 3",
    );
    check(
        wanted("let limits = 10;", "x"),
        "not found\nLines 2-2 are 9",
    );
    check(
        wanted("no such passage anywhere here", "x"),
        "read the file again",
    );
    check(
        wanted("fn main() {\n    let x = 5;\n    y(z);\n}", "x"),
        "Lines 1-4 are",
    );
}

#[test]
fn all_occurrences_are_replaced_if_that_is_wanted() {
    let check = |replace_all, expected_count| {
        let edited = edit(
            CODE,
            &Edit {
                replace_all,
                expected_count,
                ..wanted("limit = 10", "limit = 20")
            },
        );
        let edited = edited.unwrap();
        assert_eq!(edited.text, CODE.replace("10", "20"));
        assert_eq!(edited.lines, (2, 7));
    };
    check(true, None);
    check(true, Some(2));
    check(false, Some(2));
}

proptest::proptest! {
    #[test]
    fn a_unique_passage_is_replaced_as_replacen_does(
        text in "[ab \n\t]{0,40}",
        search in "[ab \n\t]{1,6}",
        replace in "[xy\n]{0,6}",
    ) {
        let edited = edit(&text, &wanted(&search, &replace));
        match text.matches(&search).count() {
            _ if search == replace => proptest::prop_assert_eq!(edited, Err(EditError::Same)),
            1 => proptest::prop_assert_eq!(edited.unwrap().text, text.replacen(&search, &replace, 1)),
            0 => {
                if let Ok(edited) = edited {
                    proptest::prop_assert_ne!(edited.strategy, Strategy::Exact);
                }
            }
            _ => proptest::prop_assert!(edited.is_err()),
        }
    }
}

/// There is no clock: lines that are compared one by one at each place make this take minutes.
#[test]
fn many_equal_lines_take_linear_time() {
    let (text, search) = ("a\n".repeat(100_000), "a\n".repeat(20_000) + "b");
    let missing = edit(&text, &wanted(&search, "x"));
    assert_eq!(missing, Err(EditError::NotFound(Vec::new())));
    let search = " a\n".repeat(20_000);
    let all = Edit {
        replace_all: true,
        ..wanted(&search, "x\n")
    };
    assert_eq!(edit(&text, &all).unwrap().text, "x\n".repeat(5));
}

proptest::proptest! {
    #[test]
    fn passages_are_those_of_a_walk(text in "[ab \n]{0,30}", search in "[ab \n]{1,8}") {
        let (lines, searched) = (Lines::of(&text), Lines::of(&search));
        let key = |line: &str| collapsed(line.trim_start());
        let found = lines.passages(&searched, key);
        let all: Vec<String> = lines.all.iter().map(|it| key(it)).collect();
        let wanted: Vec<String> = searched.all.iter().map(|it| key(it)).collect();
        let mut expected = Vec::new();
        let mut at = 0;
        while at + wanted.len() <= all.len() && wanted.iter().any(|it| !it.is_empty()) {
            let is_there = all[at..at + wanted.len()] == wanted;
            if is_there {
                expected.push(lines.range(at, wanted.len(), &searched));
            }
            at += if is_there { wanted.len() } else { 1 };
        }
        proptest::prop_assert_eq!(found, expected);
    }
}
