//! The arrows between the files of a crate: who names an item of whom.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::paths::{Content, Import, NamedPath};

/// An arrow from a file to another one, with its first line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) line: usize,
    /// The path as written.
    pub(crate) path: String,
    pub(crate) is_test: bool,
}

impl fmt::Display for Arrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.from, self.to)
    }
}

/// The files of a crate, by module.
#[derive(Debug)]
pub(crate) struct Graph {
    files: BTreeMap<Vec<String>, File>,
}

#[derive(Debug)]
struct File {
    name: String,
    content: Content,
}

/// Meaning of a path.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// A module as a whole.
    Module(Vec<String>),
    /// An item that this module defines.
    Item(Vec<String>),
}

/// Maximum number of re-exports that are followed.
const DEPTH: usize = 16;

impl Graph {
    /// Reads the files of a crate: paths below `src/` with their text.
    pub(crate) fn new(sources: &[(String, String)]) -> Self {
        let files = sources.iter().map(|(name, source)| {
            let content = Content::of(source);
            let name = name.clone();
            (module_of(&name), File { name, content })
        });
        Self {
            files: files.collect(),
        }
    }

    /// Returns all arrows, once each pair of files, those of the product before those of tests.
    pub(crate) fn arrows(&self) -> Vec<Arrow> {
        let mut arrows: BTreeMap<(String, String, bool), Arrow> = BTreeMap::new();
        for (module, file) in &self.files {
            let imports = file.content.imports.iter();
            let imports = imports.filter(|import| is_used(import, &file.content));
            let imports = imports.map(|import| (&import.path, true));
            let paths = file.content.paths.iter().map(|path| (path, false));
            for (path, is_import) in imports.chain(paths) {
                let Some(to) = self.file_of(module, path, is_import) else {
                    continue;
                };
                if to == file.name {
                    continue;
                }
                let key = (file.name.clone(), to.clone(), path.is_test);
                arrows.entry(key).or_insert_with(|| Arrow {
                    from: file.name.clone(),
                    to,
                    line: path.line,
                    path: path.segments.join("::"),
                    is_test: path.is_test,
                });
            }
        }
        arrows.into_values().collect()
    }

    /// The file that a path needs, if it is one of the crate.
    fn file_of(&self, module: &[String], path: &NamedPath, is_import: bool) -> Option<String> {
        let target = self.resolve(module, &path.inside, &path.segments, DEPTH)?;
        let is_glob = path.segments.last().is_some_and(|last| last == "*");
        let module = match target {
            // An import of a module needs what its name is then used for.
            Target::Module(_) if is_import && !is_glob => return None,
            Target::Item(module) | Target::Module(module) => module,
        };
        Some(self.files.get(&module)?.name.clone())
    }

    fn resolve(
        &self,
        module: &[String],
        inside: &[String],
        segments: &[String],
        depth: usize,
    ) -> Option<Target> {
        let depth = depth.checked_sub(1)?;
        let mut here = [module, inside].concat();
        let mut rest = segments;
        match segments.first()?.as_str() {
            "crate" => {
                here.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|it| it == "super") {
                    here.pop();
                    rest = &rest[1..];
                }
                if here.len() > module.len() || here == module {
                    // Still in this file.
                    here.truncate(module.len());
                }
            }
            first => {
                here = module.to_vec();
                if !self.has_child(module, first) {
                    let import = self.import(module, first)?;
                    if import.path.segments.first().is_some_and(|it| it == first)
                        && import.path.segments.len() == 1
                    {
                        return None;
                    }
                    let path = [&import.path.segments[..], &rest[1..]].concat();
                    return self.resolve(module, &import.path.inside, &path, depth);
                }
            }
        }
        here.truncate(here.len().min(self.known(&here)));
        Some(self.descend(here, rest, depth))
    }

    /// Follows the segments after the module `here`.
    fn descend(&self, mut here: Vec<String>, rest: &[String], depth: usize) -> Target {
        for (at, segment) in rest.iter().enumerate() {
            if segment == "*" {
                return Target::Module(here);
            }
            if self.has_child(&here, segment) {
                here.push(segment.clone());
                continue;
            }
            let origin = self.origin(&here, segment, &rest[at + 1..], depth);
            return origin.unwrap_or(Target::Item(here));
        }
        Target::Module(here)
    }

    /// The target of a name that a module only re-exports.
    fn origin(
        &self,
        module: &[String],
        name: &str,
        rest: &[String],
        depth: usize,
    ) -> Option<Target> {
        let file = self.files.get(module)?;
        if file.content.items.iter().any(|item| item == name) {
            return None;
        }
        if let Some(import) = self.import(module, name) {
            let path = [&import.path.segments[..], rest].concat();
            return self.resolve(module, &import.path.inside, &path, depth);
        }
        let globs = file.content.imports.iter();
        let mut globs = globs.filter(|import| import.name == "*" && import.is_public);
        globs.find_map(|glob| {
            let path = &glob.path.segments[..glob.path.segments.len() - 1];
            let target = self.resolve(module, &glob.path.inside, path, depth)?;
            let Target::Module(other) = target else {
                return None;
            };
            let items = &self.files.get(&other)?.content.items;
            let has_it = items.iter().any(|item| item == name);
            has_it.then_some(Target::Item(other))
        })
    }

    fn import(&self, module: &[String], name: &str) -> Option<&Import> {
        let mut imports = self.files.get(module)?.content.imports.iter();
        imports.find(|import| import.name == name && !import.path.is_test)
    }

    fn has_child(&self, module: &[String], name: &str) -> bool {
        let mut child = module.to_vec();
        child.push(name.to_owned());
        self.files.contains_key(&child)
    }

    /// Counts the leading segments that are modules with a file: the others are inline.
    fn known(&self, module: &[String]) -> usize {
        let mut length = module.len();
        while length > 0 && !self.files.contains_key(&module[..length]) {
            length -= 1;
        }
        length
    }
}

/// Returns whether an import is more than a re-export: a file does not depend on what it only forwards.
fn is_used(import: &Import, content: &Content) -> bool {
    !import.is_public || import.name == "_" || content.words.contains(&import.name)
}

/// The module of a file, by its path below `src/`.
fn module_of(file: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs").split('/').map(str::to_owned);
    let mut module: Vec<String> = path.collect();
    if module.last().is_some_and(|last| last == "mod") || is_root(file) {
        module.pop();
    }
    module
}

/// Returns whether this is the root of a crate.
pub(crate) fn is_root(file: &str) -> bool {
    matches!(file, "lib.rs" | "main.rs")
}

/// Returns the circles: files of which each leads to each other one.
pub(crate) fn circles(arrows: &[Arrow]) -> Vec<BTreeSet<String>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for arrow in arrows {
        next.entry(&arrow.from).or_default().push(&arrow.to);
    }
    let reach = |start: &str| {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&str> = next.get(start).cloned().unwrap_or_default();
        while let Some(file) = open.pop() {
            if reached.insert(file) {
                open.extend(next.get(file).into_iter().flatten());
            }
        }
        reached
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|file| (*file, reach(file))).collect();
    let mut circles: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (file, others) in &reached {
        if !others.contains(file) {
            continue;
        }
        let back = |other: &&&str| reached.get(**other).is_some_and(|it| it.contains(file));
        let circle = others.iter().filter(back).map(|it| (*it).to_owned());
        circles.insert(circle.collect());
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arrows between the files of a crate, as `from -> to`.
    fn arrows(files: &[(&str, &str)]) -> Vec<Arrow> {
        let sources = files
            .iter()
            .map(|(name, source)| ((*name).to_owned(), (*source).to_owned()));
        Graph::new(&sources.collect::<Vec<_>>()).arrows()
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let found = arrows(files).into_iter().map(|arrow| {
            let test = if arrow.is_test { " (test)" } else { "" };
            format!("{} -> {}{test}", arrow.from, arrow.to)
        });
        assert_eq!(found.collect::<Vec<_>>(), expected, "{files:?}");
    }

    #[test]
    fn paths_lead_to_files() {
        for source in [
            "use crate::b::X;",
            "use crate::{b::X, c};",
            "use super::b::X;",
            "use crate::b; fn f(x: b::X) {}",
            "use crate::b as d; fn f(x: d::X) {}",
            "fn f(x: crate::b::X) {}",
            "fn f(x: super::b::X) {}",
            "mod m { use super::super::b::X; }",
            "mod m { fn f(x: crate::b::X) {} }",
            "macro_rules! m { () => { $crate::b::X } }",
            "use crate::b::*;",
        ] {
            check(
                &[
                    ("lib.rs", "mod a; mod b; mod c;"),
                    ("a.rs", source),
                    ("b.rs", "struct X;"),
                    ("c.rs", ""),
                ],
                &["a.rs -> b.rs"],
            );
        }
    }

    #[test]
    fn modules_that_are_only_declared_or_imported_are_not_needed() {
        for source in [
            "mod b;",
            "use crate::b;",
            "use std::b::X;",
            "// crate::b::X",
            "pub use b::X;",
            "mod m { fn f() { super::g() } }",
        ] {
            check(
                &[("a/mod.rs", source), ("a/b.rs", "struct X;"), ("b.rs", "")],
                &[],
            );
        }
    }

    #[test]
    fn re_exports_lead_to_the_origin() {
        let b = (
            "b/mod.rs",
            "mod c; pub use c::X; mod d; pub use d::*; pub fn own() {}",
        );
        let c = ("b/c.rs", "pub struct X;");
        let d = ("b/d.rs", "pub struct Y;");
        let to = |source, to: &[&str]| check(&[("a.rs", source), b, c, d], to);
        to("use crate::b::X;", &["a.rs -> b/c.rs"]);
        to("use crate::b; fn f(x: b::X) {}", &["a.rs -> b/c.rs"]);
        to("use crate::b::Y;", &["a.rs -> b/d.rs"]);
        to("use crate::b::own;", &["a.rs -> b/mod.rs"]);
        to("use crate::b::X; fn f() { X::new() }", &["a.rs -> b/c.rs"]);
        check(
            &[
                ("lib.rs", "pub use b::X;"),
                ("a.rs", "use crate::X;"),
                ("b.rs", "struct X;"),
            ],
            &["a.rs -> b.rs"],
        );
    }

    #[test]
    fn a_re_export_that_is_used_is_needed() {
        check(
            &[
                ("a/mod.rs", "pub use b::X; fn f(x: X) {}"),
                ("a/b.rs", "struct X;"),
            ],
            &["a/mod.rs -> a/b.rs"],
        );
        check(
            &[
                ("a/mod.rs", "mod b; fn f() { b::f() }"),
                ("a/b.rs", "fn f() { super::g() }"),
            ],
            &["a/b.rs -> a/mod.rs", "a/mod.rs -> a/b.rs"],
        );
    }

    #[test]
    fn tests_are_marked() {
        check(
            &[
                ("a.rs", "#[cfg(test)] mod tests { use crate::b::X; }"),
                ("b.rs", "struct X;"),
            ],
            &["a.rs -> b.rs (test)"],
        );
    }

    #[test]
    fn circles_are_found() {
        let arrow = |pair: &str| {
            let (from, to) = pair.split_once(' ').expect("two names");
            Arrow {
                from: from.to_owned(),
                to: to.to_owned(),
                line: 1,
                path: String::new(),
                is_test: false,
            }
        };
        let check = |pairs: &[&str], expected: &[&[&str]]| {
            let arrows: Vec<Arrow> = pairs.iter().map(|pair| arrow(pair)).collect();
            let found: Vec<Vec<String>> = circles(&arrows)
                .into_iter()
                .map(|circle| circle.into_iter().collect())
                .collect();
            assert_eq!(found, expected, "{pairs:?}");
        };
        check(&["a b", "b c", "a c"], &[]);
        check(&["a b", "b a"], &[&["a", "b"]]);
        check(
            &["a b", "b c", "c a", "c d", "d e", "e d"],
            &[&["a", "b", "c"], &["d", "e"]],
        );
    }
}
