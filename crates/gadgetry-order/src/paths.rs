//! The paths in a file: what it imports, and what it names in its code.

use crate::tokens::{Token, tokens};

/// A path in the code of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedPath {
    pub(crate) line: usize,
    /// The names of the inline modules around it.
    pub(crate) inside: Vec<String>,
    /// The segments as written, such as `crate`, `error`, `Span`. A glob ends with `*`.
    pub(crate) segments: Vec<String>,
    /// True if only tests have it.
    pub(crate) is_test: bool,
}

/// A name that a `use` binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The name; `*` for a glob, `_` for a trait without a name.
    pub(crate) name: String,
    pub(crate) path: NamedPath,
    /// Whether others can name it here.
    pub(crate) is_public: bool,
}

/// The content of a file, as far as paths go.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) imports: Vec<Import>,
    /// The paths outside imports.
    pub(crate) paths: Vec<NamedPath>,
    /// The names of items that are defined here.
    pub(crate) items: Vec<String>,
    /// All names outside imports.
    pub(crate) words: Vec<String>,
}

impl Content {
    pub(crate) fn of(source: &str) -> Self {
        let tokens = tokens(source);
        let mut content = Self::default();
        let mut scanner = Scanner {
            tokens: &tokens,
            at: 0,
            braces: 0,
            inline: Vec::new(),
            test_until: None,
        };
        scanner.run(&mut content);
        content
    }
}

const ITEMS: &[&str] = &[
    "struct", "enum", "trait", "type", "const", "static", "fn", "union",
];

struct Scanner<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    braces: usize,
    /// The inline modules around, each with the braces that were open before it.
    inline: Vec<(String, usize)>,
    /// The braces that were open before the outermost item of tests.
    test_until: Option<usize>,
}

impl<'a> Scanner<'_, 'a> {
    fn word(&self, offset: usize) -> &'a str {
        self.tokens
            .get(self.at + offset)
            .map_or("", |token| token.1)
    }

    fn run(&mut self, content: &mut Content) {
        let mut is_test_next = false;
        while self.at < self.tokens.len() {
            let (line, token) = self.tokens[self.at];
            match token {
                "#" if self.word(1) == "[" => {
                    is_test_next |= self.is_cfg_test();
                    self.at += 1;
                }
                // A path in a visibility names nothing.
                "pub" if self.word(1) == "(" => {
                    while !matches!(self.word(0), ")" | "") {
                        self.at += 1;
                    }
                }
                // A module in a file of its own, whose name does not count as a use of an import.
                "mod" if is_name(self.word(1)) && self.word(2) == ";" => {
                    is_test_next = false;
                    self.at += 3;
                }
                "mod" if is_name(self.word(1)) && self.word(2) == "{" => {
                    self.inline.push((self.word(1).to_owned(), self.braces));
                    self.open(&mut is_test_next);
                    self.at += 3;
                }
                "use" => {
                    let is_public = self.is_public();
                    self.at += 1;
                    let is_test = self.test_until.is_some() || is_test_next;
                    self.tree(&mut Vec::new(), line, is_public, is_test, content);
                    is_test_next = false;
                    self.at += 1; // the semicolon
                }
                "{" => {
                    self.open(&mut is_test_next);
                    self.at += 1;
                }
                "}" => {
                    self.close();
                    self.at += 1;
                }
                ";" => {
                    is_test_next = false;
                    self.at += 1;
                }
                _ if is_name(token) => self.name(line, token, is_test_next, content),
                _ => self.at += 1,
            }
        }
    }

    fn open(&mut self, is_test_next: &mut bool) {
        if std::mem::take(is_test_next) {
            self.test_until.get_or_insert(self.braces);
        }
        self.braces += 1;
    }

    fn close(&mut self) {
        self.braces = self.braces.saturating_sub(1);
        self.inline.pop_if(|(_, before)| *before == self.braces);
        if self.test_until == Some(self.braces) {
            self.test_until = None;
        }
    }

    /// A name in code: the definition of an item, or the beginning of a path.
    fn name(&mut self, line: usize, token: &'a str, is_test: bool, content: &mut Content) {
        content.words.push(token.to_owned());
        if ITEMS.contains(&token) && is_name(self.word(1)) {
            content.items.push(self.word(1).to_owned());
        }
        if token == "macro_rules" && self.word(1) == "!" {
            content.items.push(self.word(2).to_owned());
        }
        let mut segments = vec![token.to_owned()];
        let is_rooted = self.at > 0 && self.tokens[self.at - 1].1 == "::";
        self.at += 1;
        while self.word(0) == "::" && is_name(self.word(1)) {
            segments.push(self.word(1).to_owned());
            content.words.push(self.word(1).to_owned());
            self.at += 2;
        }
        if segments.len() > 1 && !is_rooted {
            content.paths.push(NamedPath {
                line,
                inside: self.inside(),
                segments,
                is_test: self.test_until.is_some() || is_test,
            });
        }
    }

    /// One tree of a `use`, up to the `,`, `}` or `;` after it.
    fn tree(
        &mut self,
        prefix: &mut Vec<String>,
        line: usize,
        is_public: bool,
        is_test: bool,
        content: &mut Content,
    ) {
        let before = prefix.len();
        loop {
            let token = self.word(0);
            self.at += 1;
            if token == "{" {
                while !matches!(self.word(0), "}" | "") {
                    self.tree(prefix, line, is_public, is_test, content);
                    if self.word(0) == "," {
                        self.at += 1;
                    }
                }
                self.at += 1;
                break;
            }
            if token == "::" {
                continue;
            }
            prefix.push(token.to_owned());
            if self.word(0) == "::" {
                continue;
            }
            let mut name = token;
            if self.word(0) == "as" {
                name = self.word(1);
                self.at += 2;
            }
            // `use a::{self}` binds `a`.
            if token == "self" && prefix.len() > before.max(1) {
                prefix.pop();
                if name == "self" {
                    name = prefix.last().map_or("self", |last| last.as_str());
                }
                let name = name.to_owned();
                self.import(name, prefix.clone(), line, is_public, is_test, content);
                break;
            }
            let name = name.to_owned();
            self.import(name, prefix.clone(), line, is_public, is_test, content);
            break;
        }
        prefix.truncate(before);
    }

    fn import(
        &self,
        name: String,
        segments: Vec<String>,
        line: usize,
        is_public: bool,
        is_test: bool,
        content: &mut Content,
    ) {
        let path = NamedPath {
            line,
            inside: self.inside(),
            segments,
            is_test,
        };
        content.imports.push(Import {
            name,
            path,
            is_public,
        });
    }

    fn inside(&self) -> Vec<String> {
        self.inline.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Returns whether the `use` here is `pub use` or `pub(…) use`.
    fn is_public(&self) -> bool {
        let before = |count: usize| self.at.checked_sub(count).map(|at| self.tokens[at].1);
        before(1) == Some("pub") || (before(1) == Some(")") && self.follows_pub())
    }

    fn follows_pub(&self) -> bool {
        let open = self.tokens[..self.at]
            .iter()
            .rposition(|token| token.1 == "(");
        open.is_some_and(|open| open > 0 && self.tokens[open - 1].1 == "pub")
    }

    /// Returns whether the attribute here is `#[cfg(test)]`, `#[cfg(doctest)]` or `#[cfg(all(test, …))]`.
    fn is_cfg_test(&self) -> bool {
        let is_test = |word| matches!(word, "test" | "doctest");
        self.word(2) == "cfg"
            && (is_test(self.word(4)) || (self.word(4) == "all" && is_test(self.word(6))))
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let content = Content::of(source);
        let imports = content.imports.iter().map(|import| {
            let vis = if import.is_public { "pub " } else { "" };
            let path = import.path.segments.join("::");
            let test = if import.path.is_test { " (test)" } else { "" };
            format!("{vis}use {path} as {}{test}", import.name)
        });
        let paths = content.paths.iter().map(|path| {
            let inside = path.inside.join("/");
            let test = if path.is_test { " (test)" } else { "" };
            format!("{inside}> {}{test}", path.segments.join("::"))
        });
        let found: Vec<String> = imports.chain(paths).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn imports() {
        check("use crate::a::B;", &["use crate::a::B as B"]);
        check("pub use a::B as C;", &["pub use a::B as C"]);
        check("pub(crate) use a::B;", &["pub use a::B as B"]);
        check(
            "use super::{self, a::{B, C as _}, d::*};",
            &[
                "use super as super",
                "use super::a::B as B",
                "use super::a::C as _",
                "use super::d::* as *",
            ],
        );
        check(
            "#[cfg(test)]\nuse a::B;\nuse a::C;",
            &["use a::B as B (test)", "use a::C as C"],
        );
    }

    #[test]
    fn paths_in_code() {
        check(
            "fn f(x: a::B) -> crate::c::D { x.e() }",
            &["> a::B", "> crate::c::D"],
        );
        check("fn f<T>() { T::new::<a::B>() }", &["> T::new", "> a::B"]);
        check(
            "mod m { fn f() { super::g() } } x::y",
            &["m> super::g", "> x::y"],
        );
        check(
            "#[cfg(test)] mod tests { fn f() { a::b() } } c::d",
            &["tests> a::b (test)", "> c::d"],
        );
        check(
            "#[cfg(all(test, unix))] fn f() { a::b() } #[cfg(not(test))] fn f() { c::d() }",
            &["> a::b (test)", "> c::d"],
        );
        check("pub(in crate::a) fn f(x: b::C) {}", &["> b::C"]);
        check("// a::b\n/* a::b */ \"a::b\" 'a' r#\"a::b\"#", &[]);
    }
}
