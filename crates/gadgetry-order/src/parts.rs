//! Modules that are composed of parts: a part names only parts above it, and the methods of a type are in one file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::graph::{Arrow, Graph};
use crate::sources;
use crate::tokens::{Token, tokens};

/// The check of a module whose type is composed of parts, each with its own state.
///
/// The order is the table of comments in the module's `mod.rs`, read row by row:
///
/// ```text
/// // | io pending | what goes in and comes out |
/// // | calls turn | the cycle |
/// ```
///
/// A part is a file or a folder of the module. It names only parts above it and never `mod.rs`, so it can be read alone. Only code
/// counts, without that of tests.
#[derive(Debug)]
pub struct Parts {
    src: PathBuf,
    module: String,
    whole: String,
}

impl Parts {
    /// Begins the check of the module in the folder `src/module` of the crate with this manifest. `whole` is the type of its `mod.rs`.
    pub fn of(manifest: &str, module: &str, whole: &str) -> Self {
        Self {
            src: Path::new(manifest).join("src"),
            module: module.to_owned(),
            whole: whole.to_owned(),
        }
    }

    /// Checks the module.
    ///
    /// # Panics
    ///
    /// If a part names one that is not above it, if the table is not exactly that of the parts, or if the methods of a type are in two
    /// files.
    #[track_caller]
    pub fn check(self) {
        let problems = self.problems(&sources(&self.src));
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    fn problems(&self, sources: &[(String, String)]) -> Vec<String> {
        let folder = format!("{}/", self.module);
        let files = sources.iter();
        let files: Vec<(&str, &str)> = files
            .filter_map(|(name, text)| Some((name.strip_prefix(&folder)?, text.as_str())))
            .collect();
        let root = files.iter().find(|(name, _)| *name == "mod.rs");
        let Some((_, root)) = root else {
            return vec![format!("there is no {folder}mod.rs")];
        };
        let order = listed(root);
        let mut problems = self.table_problems(&order, &files);
        let arrows = Graph::new(sources).arrows();
        problems.extend(arrows.iter().filter_map(|arrow| {
            let from = part(arrow.from.strip_prefix(&folder)?);
            let to = part(arrow.to.strip_prefix(&folder)?);
            (!arrow.is_test).then(|| misplaced(&order, from, to, arrow))?
        }));
        problems.extend(self.method_problems(&files));
        problems
    }

    fn table_problems(&self, order: &[String], files: &[(&str, &str)]) -> Vec<String> {
        let names = files.iter().map(|(file, _)| part(file).to_owned());
        let mut present: Vec<String> = names.filter(|part| part != "mod").collect();
        present.sort();
        present.dedup();
        let mut listed = order.to_vec();
        listed.sort();
        if listed == present {
            return Vec::new();
        }
        let module = &self.module;
        vec![format!(
            "the table in {module}/mod.rs lists {listed:?}, and the parts are {present:?}"
        )]
    }

    /// Finds types whose methods would call each other through several files.
    fn method_problems(&self, files: &[(&str, &str)]) -> Vec<String> {
        let module = &self.module;
        let mut found: BTreeMap<String, &str> = BTreeMap::new();
        let mut problems = Vec::new();
        for (file, source) in files {
            let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
            for (line, name) in types_with_methods(&tokens(source)) {
                // Private types in two folders may have one name.
                let first = *found.entry(format!("{folder}/{name}")).or_insert(file);
                if first != *file {
                    problems.push(format!(
                        "{module}/{file}:{line}: methods of {name}, which has others in {module}/{first}"
                    ));
                }
            }
        }
        let whole = &self.whole;
        let home = found.get(&format!("/{whole}"));
        if home != Some(&"mod.rs") {
            problems.push(format!(
                "the methods of {whole} are in {home:?} and not in {module}/mod.rs"
            ));
        }
        problems
    }
}

/// The part that a file belongs to.
fn part(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or(file);
    first.trim_end_matches(".rs")
}

/// The parts that the table names, in order.
fn listed(source: &str) -> Vec<String> {
    let rows = source.lines().filter_map(|line| line.strip_prefix("// | "));
    let names = rows.flat_map(|row| row.split('|').next().unwrap_or(row).split_whitespace());
    names.map(str::to_owned).collect()
}

/// Describes an arrow from a part to one that is not above it.
fn misplaced(order: &[String], from: &str, to: &str, arrow: &Arrow) -> Option<String> {
    if from == "mod" || from == to {
        return None;
    }
    let position = |name: &str| order.iter().position(|part| part == name);
    if position(to).is_some_and(|to| Some(to) < position(from)) {
        return None;
    }
    let Arrow {
        from: file,
        line,
        path,
        ..
    } = arrow;
    Some(format!(
        "{file}:{line}: {path} names {to}, which is not above {from} in the table of parts"
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "// | io | x |\n// | calls turn | y |\nmod calls;\nmod io;\nmod turn;\n\
         pub use io::Input;\npub struct Run;\nimpl Run {}\n";

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let default = [
            ("lib.rs", "mod run;"),
            ("run/mod.rs", ROOT),
            ("run/io.rs", "pub struct Input;"),
            ("run/turn.rs", "pub struct Turn;"),
            ("run/calls/mod.rs", ""),
        ];
        let is_replaced = |name: &str| files.iter().any(|(other, _)| *other == name);
        let kept = default.iter().filter(|(name, _)| !is_replaced(name));
        let sources = kept.chain(files);
        let sources: Vec<(String, String)> = sources
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        let parts = Parts::of("/nowhere", "run", "Run");
        assert_eq!(parts.problems(&sources), expected);
    }

    #[test]
    fn parts_name_parts_above_them() {
        for source in [
            "use crate::run::io::Input; fn f(_: Input) {}",
            "use super::io::Input; fn f(_: Input) {}",
            "use crate::run::Input; fn f(_: Input) {}",
            "use super::Input; fn f(_: Input) {}",
            "#[cfg(test)] mod tests { use super::super::Run; fn f(_: Run) {} }",
        ] {
            check(&[("run/turn.rs", source)], &[]);
        }
        check(
            &[("run/calls/mod.rs", "use crate::run::turn::Turn;")],
            &[
                "run/calls/mod.rs:1: crate::run::turn::Turn names turn, which is not above calls in the table of parts",
            ],
        );
        check(
            &[("run/turn.rs", "use super::Run;")],
            &["run/turn.rs:1: super::Run names mod, which is not above turn in the table of parts"],
        );
    }

    #[test]
    fn the_table_lists_all_parts() {
        check(
            &[("run/other.rs", "")],
            &[
                "the table in run/mod.rs lists [\"calls\", \"io\", \"turn\"], and the parts are \
               [\"calls\", \"io\", \"other\", \"turn\"]",
            ],
        );
    }

    #[test]
    fn the_methods_of_a_type_are_in_one_file() {
        check(
            &[
                ("run/io.rs", "pub struct Input;\nimpl Input {}"),
                ("run/turn.rs", "\nimpl super::io::Input {}"),
            ],
            &["run/turn.rs:2: methods of Input, which has others in run/io.rs"],
        );
        let root = ROOT.replace("impl Run {}", "");
        check(
            &[("run/mod.rs", &root)],
            &["the methods of Run are in None and not in run/mod.rs"],
        );
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
}
