//! Data flow is module order: a module names only modules above it.
//!
//! The only source of the order is the table in the docs of `src/lib.rs`, read row by row. Only code counts: comments,
//! doc comments and strings may name any module. What the checker cannot resolve it refuses.
//!
//! This file is a part of the tests of `gadgetry-proto` and of `gadgetry`: each compiles it for itself.
#![allow(
    clippy::disallowed_methods,
    reason = "this test reads the crate's own source; only the engine bans that"
)]

use std::fs;
use std::path::Path;

const TABLE: &str = "the table of modules in the docs of src/lib.rs";
const HEADER: &str = "//! | module |";

#[test]
fn a_module_names_only_modules_above_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let order = order(&read(&src.join("lib.rs")));
    let mut violations = Vec::new();
    for (file, source) in sources(&src) {
        violations.extend(check_file(&order, &file, &source));
    }
    assert!(
        violations.is_empty(),
        "a module names only modules above it, in the order of {TABLE}:\n  {}",
        violations.join("\n  ")
    );
}

#[test]
fn the_table_lists_exactly_the_modules() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let lib = read(&src.join("lib.rs"));
    let mut listed = order(&lib);
    let mut declared: Vec<String> = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "))
        // A module with a body is a part of `lib.rs`.
        .filter_map(|name| name.strip_suffix(';').map(str::to_owned))
        .collect();
    let mut present: Vec<String> = fs::read_dir(&src)
        .expect("src/ can be read")
        .map(|entry| entry.expect("src/ can be read").file_name())
        .map(|name| name.to_string_lossy().trim_end_matches(".rs").to_owned())
        .filter(|name| name != "lib")
        .collect();
    for names in [&mut listed, &mut declared, &mut present] {
        names.sort();
    }
    assert_eq!(listed, declared, "left: {TABLE}; right: `mod` in lib.rs");
    assert_eq!(
        listed, present,
        "left: {TABLE}; right: files and folders of src/"
    );
}

/// The names between backticks in the first column of the table, in order. Links to modules that share their name with
/// a function are written `mod@name`.
fn order(lib: &str) -> Vec<String> {
    let table = lib.lines().skip_while(|line| !line.starts_with(HEADER));
    let rows = table.skip(2).map_while(|line| line.strip_prefix("//! | "));
    let names = rows.flat_map(|row| {
        let column = row.split('|').next().unwrap_or(row);
        column.split('`').skip(1).step_by(2)
    });
    names
        .map(|name| name.trim_start_matches("mod@").to_owned())
        .collect()
}

/// Every Rust file under `folder`, with its path below `src/`.
pub(crate) fn sources(src: &Path) -> Vec<(String, String)> {
    let mut sources = Vec::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of src/ can be read") {
            let path = entry.expect("a folder of src/ can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let below = path.strip_prefix(src).expect("it was found there");
                let name = below.to_string_lossy().replace('\\', "/");
                sources.push((name, read(&path)));
            }
        }
    }
    sources.sort();
    sources
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The violations of one file; `lib.rs` itself may name every module.
fn check_file(order: &[String], file: &str, source: &str) -> Vec<String> {
    let path: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    let module = path[0];
    if module == "lib" {
        return Vec::new();
    }
    let Some(own) = place(order, module) else {
        return vec![format!("{file}:1: {module} is not in {TABLE}")];
    };
    let depth = path.iter().filter(|part| **part != "mod").count();
    let references = references(&tokens(source), depth).into_iter();
    let violations = references.filter_map(|(line, reference)| {
        let why = match reference {
            Reference::Module(name) => match place(order, name) {
                Some(other) if other <= own => return None,
                Some(_) => format!("{module} names crate::{name}, which comes after it"),
                None => format!("{module} names crate::{name}, which is not in {TABLE}"),
            },
            Reference::Unclear(what) => {
                format!("{module} says `{what}`; write `crate::module::…`, one module a line")
            }
        };
        Some(format!("{file}:{line}: {why}"))
    });
    violations.collect()
}

pub(crate) fn place(order: &[String], name: &str) -> Option<usize> {
    order.iter().position(|module| module == name)
}

/// A path that leaves the module it stands in.
enum Reference<'a> {
    /// `crate::name`, or `super::name` where that is the same.
    Module(&'a str),
    /// Something that could name any module.
    Unclear(&'static str),
}

pub(crate) type Token<'a> = (usize, &'a str);

/// The paths through `crate` and `super` in a file that stands `depth` modules below the root.
fn references<'a>(tokens: &[Token<'a>], depth: usize) -> Vec<(usize, Reference<'a>)> {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.1);
    let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut found = Vec::new();
    let mut braces = 0;
    // How many braces were open before each inline module that is still open.
    let mut inline: Vec<usize> = Vec::new();
    for (at, &(line, token)) in tokens.iter().enumerate() {
        match token {
            "{" => {
                if at >= 2 && word(at - 2) == "mod" {
                    inline.push(braces);
                }
                braces += 1;
            }
            "}" => {
                braces = braces.saturating_sub(1);
                inline.pop_if(|before| *before == braces);
            }
            // `pub(crate)` names nothing.
            "crate" if at > 0 && word(at - 1) == "(" && word(at + 1) == ")" => {}
            "crate" if word(at + 1) == "::" && is_name(word(at + 2)) => {
                found.push((line, Reference::Module(word(at + 2))));
            }
            "crate" if word(at + 1) == "::" && word(at + 2) == "{" => {
                found.push((line, Reference::Unclear("crate::{…}")));
            }
            "crate" => found.push((line, Reference::Unclear("crate"))),
            "super" if word(at + 1) == "::" && word(at + 2) == "super" => {
                found.push((line, Reference::Unclear("super::super")));
            }
            // The second half of `super::super`, which is refused already.
            "super" if at >= 2 && word(at - 2) == "super" => {}
            // Here `super` is the root of the crate.
            "super" if depth + inline.len() <= 1 => {
                let name = word(at + 2);
                found.push(if word(at + 1) == "::" && is_name(name) {
                    (line, Reference::Module(name))
                } else {
                    (line, Reference::Unclear("super"))
                });
            }
            _ => {}
        }
    }
    found
}

/// The tokens of Rust code with their lines, as far as paths go: names, `::`, and single characters. Comments are left
/// out, and so is what stands in strings and characters.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        let name = name_length(rest);
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment_length(rest)
        } else if let Some(length) = raw_string_length(rest) {
            length
        } else if c == '"' || rest.starts_with("b\"") || rest.starts_with("c\"") {
            let quote = rest.find('"').unwrap_or(0);
            quote + quoted_length(&rest[quote..], '"')
        } else if c == '\'' {
            character_length(rest)
        } else if name > 0 {
            tokens.push((line, rest[..name].trim_start_matches("r#")));
            name
        } else if rest.starts_with("::") {
            tokens.push((line, "::"));
            2
        } else {
            if !c.is_whitespace() {
                tokens.push((line, &rest[..c.len_utf8()]));
            }
            c.len_utf8()
        };
        line += rest[..length].matches('\n').count();
        at += length;
    }
    tokens
}

/// The length of the name (or number) that `text` begins with; 0 if it begins with none.
fn name_length(text: &str) -> usize {
    let raw = if text.starts_with("r#") { 2 } else { 0 };
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let length = text[raw..]
        .find(|c| !is_part(c))
        .unwrap_or(text.len() - raw);
    if length == 0 { 0 } else { raw + length }
}

/// Block comments nest.
fn block_comment_length(text: &str) -> usize {
    let mut open = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            open += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            open -= 1;
            at += 2;
            if open == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// `r"…"`, `br##"…"##` and the like.
fn raw_string_length(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let content = body[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = content
        .find(&end)
        .map_or(content.len(), |at| at + end.len());
    Some(text.len() - content.len() + length)
}

/// Up to and with the closing quote.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// A character whole, or the quote alone of a lifetime.
fn character_length(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    let (first, second) = (chars.next(), chars.next());
    if first == Some('\\') || second == Some('\'') {
        quoted_length(text, '\'')
    } else {
        1
    }
}

fn check(file: &str, source: &str, expected: &[&str]) {
    let order = order(
        "//! | other | table |\n//! |---|---|\n//! | `x` | y |\n//!\n\
         //! | module | what it does |\n//! |---|---|\n//! | [`error`] `id` | words |\n\
         //! | [`mod@block`] | x |\n//! | [`run`] | y |\n//!\n//! | `other` | table |",
    );
    assert_eq!(order, ["error", "id", "block", "run"]);
    assert_eq!(
        check_file(&order, file, source),
        expected,
        "{file}: {source}"
    );
}

#[test]
fn the_checker_finds_violations() {
    let after = "block/parser.rs:3: block names crate::run, which comes after it";
    for source in [
        "\n\nuse crate::run::Run;",
        "\n\nfn f(x: crate :: r#run::Run) {}",
        "// crate::run\n\n#[cfg(test)] mod tests { use crate::run; }",
        "fn f<'a>(x: &'a str) -> char { '\"' }\n\nuse crate::run; // \"",
        "const X: &str = r#\"\"\n\n\"#; use crate::run;",
        "/* /* */\n\n*/ macro_rules! m { () => { $crate::run::Run } }",
    ] {
        check("block/parser.rs", source, &[after]);
    }
    let first = "block/mod.rs:1: block names crate::run, which comes after it";
    check("block/mod.rs", "use super::run;", &[first]);
    check("block/mod.rs", "mod tests {} use super::run;", &[first]);
}

#[test]
fn the_checker_refuses_what_it_cannot_resolve() {
    let hint = "write `crate::module::…`, one module a line";
    for (source, what) in [
        ("use crate::{error, run};", "crate::{…}"),
        ("use crate::*;", "crate"),
        ("use crate as c;", "crate"),
        ("use super::super::run;", "super::super"),
        ("use super::{id, run};", "super"),
        ("use super::*;", "super"),
    ] {
        check(
            "id.rs",
            source,
            &[&format!("id.rs:1: id says `{what}`; {hint}")],
        );
    }
    check(
        "id.rs",
        "use crate::Run;",
        &[&format!(
            "id.rs:1: id names crate::Run, which is not in {TABLE}"
        )],
    );
    check("new.rs", "", &[&format!("new.rs:1: new is not in {TABLE}")]);
}

#[test]
fn the_checker_admits_what_is_above_or_inside() {
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
            "/* crate::run */ const X: &str = \"\\\"crate::run\";",
        ),
        (
            "block/parser.rs",
            "const X: [&[u8]; 2] = [br\"crate::run\", b\"crate::run\"];",
        ),
        (
            "block/mod.rs",
            "mod tests { use super::*; fn f() { super::f() } }",
        ),
        ("id.rs", "use super::error::Span;"),
        ("lib.rs", "pub use crate::run::Run;"),
    ] {
        check(file, source, &[]);
    }
}
