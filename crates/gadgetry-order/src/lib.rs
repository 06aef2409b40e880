//! For tests of this workspace: the modules of a crate are in order, and its files in no circle.
//!
//! ```no_run
//! #[test]
//! fn modules_are_in_order() {
//!     gadgetry_order::Order::of(env!("CARGO_MANIFEST_DIR")).check();
//! }
//! ```
//!
//! The order is the table of modules in the docs of `src/lib.rs` or `src/main.rs`, read row by row: a module names only modules
//! above it. So the table shows in which order a crate can be read, and it is true. A crate with one module has none.
//!
//! Only code counts: comments, docs and strings may name any module. A path counts where the item is defined, not where it is
//! re-exported; `mod child;` and a re-export do not count. Code of tests counts for the order, and not for circles.
//!
//! | module | what it does |
//! |---|---|
//! | `tokens` | splits Rust code |
//! | `paths` | finds imports and paths in a file |
//! | `graph` | resolves paths to files; finds circles |
//! | `parts` | checks modules that are composed of parts |

mod graph;
mod parts;
mod paths;
mod tokens;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use graph::{Arrow, Graph, circles, is_root};

pub use parts::Parts;
pub use tokens::{Token, tokens};

const HEADER: &str = "//! | module |";

/// The check of one crate.
#[derive(Debug)]
pub struct Order {
    src: PathBuf,
    upward: BTreeSet<String>,
    closing: BTreeSet<String>,
}

impl Order {
    /// Begins the check of the crate in this folder, that of its manifest.
    pub fn of(manifest: &str) -> Self {
        Self {
            src: Path::new(manifest).join("src"),
            upward: BTreeSet::new(),
            closing: BTreeSet::new(),
        }
    }

    /// Admits that modules name modules below them in the table, each as `from -> to`. One that no longer does fails the check, so
    /// this list only shrinks.
    #[must_use]
    pub fn except_upward(mut self, arrows: &[&str]) -> Self {
        self.upward = arrows.iter().map(|it| (*it).to_owned()).collect();
        self
    }

    /// Admits arrows between files that close circles, each as `from.rs -> to.rs`: without them, there must be no circle. One that
    /// no longer closes any fails the check, so this list only shrinks.
    #[must_use]
    pub fn except(mut self, arrows: &[&str]) -> Self {
        self.closing = arrows.iter().map(|it| (*it).to_owned()).collect();
        self
    }

    /// Checks the crate.
    ///
    /// # Panics
    ///
    /// If a module names one below it, if files are in a circle, if the table is not exactly that of the modules, or if an exception
    /// is no longer needed.
    #[track_caller]
    pub fn check(self) {
        let sources = sources(&self.src);
        let problems = self.problems(&sources);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    fn problems(&self, sources: &[(String, String)]) -> Vec<String> {
        let root = sources.iter().find(|(name, _)| is_root(name));
        let Some((root, source)) = root else {
            return vec!["there is neither src/lib.rs nor src/main.rs".to_owned()];
        };
        let modules = declared(source);
        let order = listed(source);
        let mut problems = Vec::new();
        if modules.len() > 1 {
            problems.extend(table_problems(root, &order, &modules));
        }
        let arrows = Graph::new(sources).arrows();
        problems.extend(self.upward_problems(&order, &arrows));
        problems.extend(self.circle_problems(arrows));
        problems
    }

    fn upward_problems(&self, order: &[String], arrows: &[Arrow]) -> Vec<String> {
        let place = |file: &str| {
            let module = file.split('/').next().unwrap_or(file);
            order
                .iter()
                .position(|it| it == module.trim_end_matches(".rs"))
        };
        let mut problems = Vec::new();
        let mut admitted = self.upward.clone();
        for arrow in arrows {
            let (Some(from), Some(to)) = (place(&arrow.from), place(&arrow.to)) else {
                continue;
            };
            if to <= from {
                continue;
            }
            let upward = format!("{} -> {}", order[from], order[to]);
            if !self.upward.contains(&upward) {
                problems.push(format!(
                    "{}:{}: {} names {}, which is below {} in the table of modules",
                    arrow.from, arrow.line, arrow.path, order[to], order[from]
                ));
            }
            admitted.remove(&upward);
        }
        problems.extend(
            admitted
                .into_iter()
                .map(|upward| format!("the exception {upward} is no longer needed: remove it")),
        );
        problems
    }

    fn circle_problems(&self, arrows: Vec<Arrow>) -> Vec<String> {
        let arrows: Vec<Arrow> = arrows.into_iter().filter(|arrow| !arrow.is_test).collect();
        let without = |exceptions: &BTreeSet<String>| -> Vec<Arrow> {
            let others = arrows.iter();
            let others = others.filter(|arrow| !exceptions.contains(&arrow.to_string()));
            others.cloned().collect()
        };
        let rest = without(&self.closing);
        let new = circles(&rest).into_iter().map(|circle| {
            let inside = rest
                .iter()
                .filter(|arrow| circle.contains(&arrow.from) && circle.contains(&arrow.to));
            let inside =
                inside.map(|arrow| format!("\n  {arrow} (line {}: {})", arrow.line, arrow.path));
            format!("these files are in a circle:{}", inside.collect::<String>())
        });
        let gone = self.closing.iter().filter(|exception| {
            let mut others = self.closing.clone();
            others.remove(*exception);
            let arrows = without(&others);
            let arrow = arrows.iter().find(|arrow| arrow.to_string() == **exception);
            !arrow.is_some_and(|arrow| {
                let mut circles = circles(&arrows).into_iter();
                circles.any(|circle| circle.contains(&arrow.from) && circle.contains(&arrow.to))
            })
        });
        let gone = gone.map(|exception| {
            format!("the exception {exception} closes no circle any longer: remove it")
        });
        new.chain(gone).collect()
    }
}

/// A module of a root, in a file of its own.
struct Module {
    name: String,
    /// True if only tests have it. Then it may be missing in the table.
    is_test: bool,
}

/// Returns the problems of the table: it lists exactly the modules, once each.
fn table_problems(root: &str, order: &[String], modules: &[Module]) -> Vec<String> {
    let mut problems = Vec::new();
    for Module { name, .. } in modules.iter().filter(|module| !module.is_test) {
        let count = order.iter().filter(|it| *it == name).count();
        if count != 1 {
            problems.push(format!(
                "{root}: the table of modules lists {name} {count} times and not once"
            ));
        }
    }
    let is_known = |listed: &String| modules.iter().any(|module| module.name == *listed);
    let unknown = order.iter().filter(|listed| !is_known(listed));
    problems.extend(
        unknown.map(|it| format!("{root}: the table of modules lists {it}, which is not a module")),
    );
    problems
}

/// The names between backticks in the first column of the table, in order. Links to modules that share their name with a function
/// are written `mod@name`.
fn listed(root: &str) -> Vec<String> {
    let table = root.lines().skip_while(|line| !line.starts_with(HEADER));
    let rows = table.skip(2).map_while(|line| line.strip_prefix("//! | "));
    let names = rows.flat_map(|row| {
        let column = row.split('|').next().unwrap_or(row);
        column.split('`').skip(1).step_by(2)
    });
    names
        .map(|name| name.trim_start_matches("mod@").to_owned())
        .collect()
}

fn declared(root: &str) -> Vec<Module> {
    let mut modules = Vec::new();
    let mut is_test = false;
    for line in root.lines() {
        let visible = line
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub ");
        let name = visible.strip_prefix("mod ");
        if let Some(name) = name.and_then(|it| it.strip_suffix(';')) {
            modules.push(Module {
                name: name.to_owned(),
                is_test,
            });
        }
        is_test = matches!(line, "#[cfg(test)]" | "#[cfg(doctest)]");
    }
    modules
}

/// Reads every Rust file in `folder`, with its path below it.
///
/// # Panics
///
/// If one cannot be read.
pub fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut sources = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        let entries =
            fs::read_dir(&inner).unwrap_or_else(|error| panic!("{}: {error}", inner.display()));
        for entry in entries {
            let path = entry
                .unwrap_or_else(|error| panic!("{}: {error}", inner.display()))
                .path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy();
                sources.push((name.replace('\\', "/"), read(&path)));
            }
        }
    }
    sources.sort();
    sources
}

/// Reads a file.
///
/// # Panics
///
/// If it cannot be read.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_in_order() {
        Order::of(env!("CARGO_MANIFEST_DIR")).check();
    }

    const ROOT: &str = "//! | other | table |\n//! |---|---|\n//! | `x` | y |\n//!\n\
         //! | module | what it does |\n//! |---|---|\n//! | [`error`] `id` | words |\n\
         //! | [`mod@block`] | x |\n//! | [`run`] | y |\n//!\n//! | `other` | table |\n\
         mod error;\npub mod id;\nmod block;\npub(crate) mod run;\n#[cfg(test)]\nmod tests;\nmod inline {}\n";

    fn order() -> Order {
        Order::of("/nowhere")
    }

    #[track_caller]
    fn check(order: &Order, files: &[(&str, &str)], expected: &[&str]) {
        let files = [
            ("lib.rs", ROOT),
            ("error.rs", "struct Span;"),
            ("run.rs", "struct Run;"),
        ]
        .iter()
        .chain(files)
        .map(|(name, source)| ((*name).to_owned(), (*source).to_owned()));
        let found = order.problems(&files.collect::<Vec<_>>());
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_named_must_be_above() {
        let below = "block/parser.rs:3: crate::run::Run names run, which is below block in the table of modules";
        for source in [
            "\n\nuse crate::run::Run;",
            "\n\nfn f(x: crate :: r#run::Run) {}",
            "// crate::run\n\n#[cfg(test)] mod tests { use crate::run::Run; }",
            "fn f<'a>(x: &'a str) -> char { '\"' }\n\nuse crate::run::Run; // \"",
            "const X: &str = r#\"\"\n\n\"#; use crate::run::Run;",
            "/* /* */\n\n*/ macro_rules! m { () => { $crate::run::Run } }",
            "\n\nuse crate::{error::Span, run::Run};",
        ] {
            check(&order(), &[("block/parser.rs", source)], &[below]);
        }
        let below = |path: &str| {
            format!(
                "block/mod.rs:1: {path} names run, which is below block in the table of modules"
            )
        };
        check(
            &order(),
            &[("block/mod.rs", "use super::run::Run;")],
            &[&below("super::run::Run")],
        );
        check(
            &order(),
            &[("block/mod.rs", "use super::run; type R = run::Run;")],
            &[&below("run::Run")],
        );
        check(
            &order(),
            &[("block/mod.rs", "mod tests { use super::super::run::*; }")],
            &[&below("super::super::run::*")],
        );
    }

    #[test]
    fn what_is_above_or_inside_may_be_named() {
        for (file, source) in [
            (
                "block/parser.rs",
                "use crate::error::Span; use crate::block::Markers;",
            ),
            (
                "block/parser.rs",
                "use super::markers; pub(crate) fn f() { self::g() }",
            ),
            ("block/parser.rs", "/// [`crate::run::Run`]\nfn f() {}"),
            (
                "block/parser.rs",
                "/* crate::run::X */ const X: &str = \"\\\"crate::run::X\";",
            ),
            (
                "block/parser.rs",
                "const X: [&[u8]; 2] = [br\"crate::run::X\", b\"crate::run::X\"];",
            ),
            (
                "block/mod.rs",
                "mod tests { use super::*; fn f() { super::f() } }",
            ),
            ("id.rs", "use super::error::Span;"),
        ] {
            check(&order(), &[(file, source)], &[]);
        }
    }

    #[test]
    fn circles_in_a_module_are_found() {
        let circle = [
            ("run/a.rs", "use super::b::B; struct A;"),
            ("run/b.rs", "use super::a::A; struct B;"),
        ];
        let words = "these files are in a circle:\n  run/a.rs -> run/b.rs (line 1: super::b::B)\n  \
             run/b.rs -> run/a.rs (line 1: super::a::A)";
        check(&order(), &circle, &[words]);
        check(&order().except(&["run/a.rs -> run/b.rs"]), &circle, &[]);
        let tests = [
            circle[0],
            (
                "run/b.rs",
                "struct B; #[cfg(test)] mod tests { use crate::run::a::A; }",
            ),
        ];
        check(&order(), &tests, &[]);
    }

    #[test]
    fn exceptions_only_shrink() {
        let upward = order().except_upward(&["block -> run"]);
        check(&upward, &[("block.rs", "use crate::run::Run;")], &[]);
        let gone = "the exception block -> run is no longer needed: remove it";
        check(&upward, &[("block.rs", "")], &[gone]);
        let circle = order().except(&["run/a.rs -> run/b.rs"]);
        let gone = "the exception run/a.rs -> run/b.rs closes no circle any longer: remove it";
        let a = ("run/a.rs", "use super::b::B;");
        check(&circle, &[a, ("run/b.rs", "struct B;")], &[gone]);
        check(&circle, &[("run/b.rs", "struct B;")], &[gone]);
    }

    #[test]
    fn the_table_lists_each_module_once() {
        let root = "//! | module | x |\n//! |---|---|\n//! | `a` `a` `b` | x |\nmod a;\nmod c;\n";
        let files = [("main.rs".to_owned(), root.to_owned())];
        let expected = [
            "main.rs: the table of modules lists a 2 times and not once",
            "main.rs: the table of modules lists c 0 times and not once",
            "main.rs: the table of modules lists b, which is not a module",
        ];
        assert_eq!(order().problems(&files), expected);
    }
}
