//! The parts of a run can be read alone: a part names only parts above it, and the methods of a type are in one file.
//!
//! The order is the table of comments in `src/run/mod.rs`.

use std::collections::BTreeMap;
use std::path::Path;

use gadgetry_order::{Token, read, sources, tokens};

/// The parts of a run are ordered like modules.
#[test]
fn a_part_of_a_run_names_only_parts_above_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let order = parts(&read(&src.join("run/mod.rs")));
    let mut violations = Vec::new();
    let mut present = Vec::new();
    for (file, source) in sources(&src.join("run")) {
        let part = file.trim_end_matches(".rs").split('/').next();
        let part = part.expect("a path has a first part").to_owned();
        if part != "mod" {
            violations.extend(check_part(&order, &part, &file, &source));
            present.push(part);
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    let mut listed = order;
    present.dedup();
    for names in [&mut listed, &mut present] {
        names.sort();
    }
    assert_eq!(
        listed, present,
        "left: the table in run/mod.rs; right: the files of run/"
    );
}

/// So that the methods of a type do not call each other through many files: what needs another file is another type.
#[test]
fn the_methods_of_a_part_are_in_one_file() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut violations = Vec::new();
    for (file, source) in sources(&src.join("run")) {
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, name) in types_with_methods(&tokens(&source)) {
            // Private types in two files may have one name.
            let key = format!("{folder}/{name}");
            let first = files.entry(key).or_insert_with(|| file.clone());
            if *first != file {
                violations.push(format!(
                    "run/{file}:{line}: methods of {name}, which has others in run/{first}"
                ));
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    assert_eq!(
        files.get("/Run").map(String::as_str),
        Some("mod.rs"),
        "{files:?}"
    );
}

/// The parts that the table in `run/mod.rs` names, in order.
fn parts(source: &str) -> Vec<String> {
    let rows = source.lines().filter_map(|line| line.strip_prefix("// | "));
    let names = rows.flat_map(|row| row.split('|').next().unwrap_or(row).split_whitespace());
    names.map(str::to_owned).collect()
}

fn place(order: &[String], name: &str) -> Option<usize> {
    order.iter().position(|part| part == name)
}

/// The names of parts, and of the run itself, that a part must not name.
fn check_part(order: &[String], part: &str, file: &str, source: &str) -> Vec<String> {
    let tokens = tokens(source);
    let own = place(order, part);
    let above = |name: &str| place(order, name).is_some_and(|other| Some(other) <= own);
    // Below `run`, `super` of a file is the run itself.
    let is_alone = !file.contains('/');
    let paths = tokens.windows(5).filter_map(|window| match *window {
        [(line, "crate"), (_, "::"), (_, "run"), (_, "::"), (_, name)] => Some((line, name)),
        // `super::*` is for the tests in a file.
        [_, _, (line, "super"), (_, "::"), (_, name)] if is_alone && name != "*" => {
            Some((line, name))
        }
        _ => None,
    });
    let wrong = paths.filter(|(_, name)| !above(name));
    wrong
        .map(|(line, name)| {
            format!("run/{file}:{line}: {part} names {name}, which is not above it")
        })
        .collect()
}

/// The types that have an `impl` of their own in a file, not of a trait.
fn types_with_methods<'a>(tokens: &[Token<'a>]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for (at, &(line, token)) in tokens.iter().enumerate() {
        let begins = at == 0 || matches!(tokens[at - 1].1, "}" | ";" | "]");
        if token != "impl" || !begins {
            continue;
        }
        let end = tokens[at..].iter().position(|token| token.1 == "{");
        let head = &tokens[at + 1..at + end.unwrap_or(0).max(1)];
        if head.iter().any(|token| token.1 == "for") {
            continue;
        }
        // The name is the last one outside all angle brackets, before a `where`.
        let mut depth = 0_u32;
        let mut name = None;
        for (_, token) in head.iter().take_while(|token| token.1 != "where") {
            match *token {
                "<" => depth += 1,
                ">" => depth = depth.saturating_sub(1),
                word if depth == 0 && word.starts_with(char::is_alphabetic) => name = Some(word),
                _ => {}
            }
        }
        found.extend(name.map(|name| (line, name)));
    }
    found
}

#[test]
fn the_checker_of_parts_finds_violations() {
    let order = parts("// | io | x |\n// | calls turn | y |\n// other | words |");
    assert_eq!(order, ["io", "calls", "turn"]);
    let check = |part: &str, source: &str| {
        let file = format!("{part}.rs");
        check_part(&order, part, &file, source).len()
    };
    assert_eq!(check("calls", "use crate::run::io::Input;"), 0);
    assert_eq!(
        check(
            "calls",
            "use crate::run::calls::Calls; use crate::call::Call;"
        ),
        0
    );
    assert_eq!(check("calls", "use crate::run::turn::Turn;"), 1);
    assert_eq!(check("turn", "use crate::run::Run;"), 1);
    assert_eq!(check("turn", "x; use super::Run;"), 1);
    let types = |source: &str| -> Vec<String> {
        let found = types_with_methods(&tokens(source)).into_iter();
        found.map(|(_, name)| name.to_owned()).collect()
    };
    assert_eq!(
        types("impl Run { } impl<'a> a::Parts<'a> where A: B { }"),
        ["Run", "Parts"]
    );
    assert_eq!(
        types("impl Default for Run { } fn f(x: impl Fn()) { }"),
        [""; 0]
    );
    assert_eq!(types("#[cfg(test)] impl<T: Into<U>> Run<T> { }"), ["Run"]);
}
