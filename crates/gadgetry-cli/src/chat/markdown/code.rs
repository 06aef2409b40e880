//! Code with its words coloured, line by line.

use std::fmt;
use std::sync::LazyLock;

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

/// Bytes of a line that is coloured. The patterns of grammars may take long for longer ones.
const LONGEST: usize = 500;

/// Lines of a text that are coloured, in all of its code together.
pub(super) const LINES: usize = 2_000;

/// Bytes of these lines.
const BYTES: usize = 128 << 10;

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// The styles by the scopes of a grammar; the innermost scope with a style counts.
static STYLES: LazyLock<Vec<(Scope, Style)>> = LazyLock::new(|| {
    let color = |color| Style::new().fg(color);
    let styles = [
        ("comment", Style::new().add_modifier(Modifier::DIM)),
        ("string", color(Color::Green)),
        ("constant", color(Color::Cyan)),
        ("keyword.operator", Style::new()),
        ("keyword", color(Color::Magenta)),
        ("storage", color(Color::Magenta)),
        ("entity.name.function", color(Color::Blue)),
        ("support.function", color(Color::Blue)),
        ("entity.name.tag", color(Color::Blue)),
        ("entity.name", color(Color::Yellow)),
        ("entity.other.attribute-name", color(Color::Yellow)),
        ("support.type", color(Color::Yellow)),
        ("markup.inserted", color(Color::Green)),
        ("markup.deleted", color(Color::Red)),
        ("meta.diff.range", color(Color::Cyan)),
    ];
    let styles = styles.into_iter();
    let styles = styles.filter_map(|(name, style)| Some((Scope::new(name).ok()?, style)));
    styles.collect()
});

/// Limit on coloured code in a text: grammars take long, and a model may write without end.
#[derive(Clone, Debug)]
pub(super) struct Colors {
    lines: usize,
    bytes: usize,
}

impl Default for Colors {
    fn default() -> Self {
        Self {
            lines: LINES,
            bytes: BYTES,
        }
    }
}

impl Colors {
    /// Takes a line; `false` if it is to stay plain, as all after it are.
    fn take(&mut self, line: &str) -> bool {
        let left = self.bytes.checked_sub(line.len());
        let left = left.zip(self.lines.checked_sub(1));
        (self.bytes, self.lines) = left.unwrap_or_default();
        left.is_some()
    }
}

/// Code in one language. A language without a grammar has no colours.
#[derive(Clone)]
pub(super) struct Code(Option<(ParseState, ScopeStack)>);

impl Code {
    /// Code in the language that a fence names.
    pub(super) fn of(language: &str) -> Self {
        if language.is_empty() {
            return Self(None);
        }
        let language = language.trim_matches(['{', '}', '.']);
        let grammar = GRAMMARS.find_syntax_by_token(usual_name(language));
        Self(grammar.map(|it| (ParseState::new(it), ScopeStack::new())))
    }

    /// The next line, whose text has no line break.
    pub(super) fn line(&mut self, text: &str, colors: &mut Colors) -> Line<'static> {
        let plain = || Line::raw(text.to_owned());
        if self.0.is_some() && !colors.take(text) {
            self.0 = None;
        }
        let Some((parser, scopes)) = self.0.as_mut().filter(|_| text.len() <= LONGEST) else {
            return plain();
        };
        let Ok(changes) = parser.parse_line(&format!("{text}\n"), &GRAMMARS) else {
            self.0 = None;
            return plain();
        };
        let (mut spans, mut from) = (Vec::new(), 0);
        for (at, change) in changes {
            let at = text.floor_char_boundary(at);
            if at > from {
                spans.push(Span::styled(text[from..at].to_owned(), style(scopes)));
                from = at;
            }
            if scopes.apply(&change).is_err() {
                self.0 = None;
                return plain();
            }
        }
        if from < text.len() {
            spans.push(Span::styled(text[from..].to_owned(), style(scopes)));
        }
        Line::from(spans)
    }

    /// A line that may still grow.
    pub(super) fn preview(&self, text: &str, colors: &Colors) -> Line<'static> {
        self.clone().line(text, &mut colors.clone())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Code").field(&self.0.is_some()).finish()
    }
}

fn style(scopes: &ScopeStack) -> Style {
    let of = |scope: &Scope| {
        STYLES
            .iter()
            .find(|(prefix, _)| prefix.is_prefix_of(*scope))
    };
    let found = scopes.scopes.iter().rev().find_map(of);
    found.map_or(Style::new(), |(_, style)| *style)
}

/// The name by which a grammar is found, for languages that have none of their own here.
fn usual_name(language: &str) -> &str {
    match language {
        "typescript" | "ts" | "tsx" | "jsx" => "js",
        "shell" | "console" | "zsh" => "sh",
        "toml" | "ini" => "properties",
        "jsonc" | "json5" | "jsonl" => "json",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The colours of the words, as `word:colour`.
    fn colors(language: &str, lines: &[&str]) -> Vec<String> {
        let mut code = Code::of(language);
        let mut all = Colors::default();
        let lines = lines.iter().map(|line| code.line(line, &mut all));
        let lines: Vec<Line<'_>> = lines.collect();
        let spans = lines.iter().flat_map(|line| &line.spans);
        let words = spans.filter(|span| !span.content.trim().is_empty());
        let word = |span: &Span<'_>| {
            let color = span.style.fg.map_or("-".to_owned(), |it| it.to_string());
            format!("{}:{color}", span.content.trim())
        };
        words.map(word).filter(|it| !it.ends_with(":-")).collect()
    }

    #[test]
    fn words_have_the_colors_of_their_kind() {
        let check = |language: &str, lines: &[&str], expected: &[&str]| {
            assert_eq!(colors(language, lines), expected, "{language} {lines:?}");
        };
        check(
            "rust",
            &["fn a() -> u8 { 7 }"],
            &["fn:Magenta", "a:Blue", "u8:Magenta", "7:Cyan"],
        );
        check("python", &["s = 'x'"], &["':Green", "x:Green", "':Green"]);
        check(
            "diff",
            &["+a", "-b", " c"],
            &["+:Green", "a:Green", "-:Red", "b:Red"],
        );
        check("nonesuch", &["fn a()"], &[]);
        check("", &["fn a()"], &[]);
        // A string over two lines.
        check(
            "rust",
            &["\"a", "b\""],
            &["\":Green", "a:Green", "b:Green", "\":Green"],
        );
    }

    #[test]
    fn every_character_stays() {
        for text in [
            "let s = \"日本 👩\u{200d}💻\"; // é",
            "",
            "\\",
            "'''",
            "\u{301}x",
        ] {
            for language in ["rust", "python", "js", "sh", "json", "html"] {
                assert_eq!(
                    Code::of(language)
                        .line(text, &mut Colors::default())
                        .to_string(),
                    text,
                    "{language}"
                );
            }
        }
        let long = "x".repeat(LONGEST + 1);
        let line = Code::of("rust").line(&long, &mut Colors::default());
        assert_eq!(line.to_string(), long);
    }

    /// 200,000 rows of a table in a fence took minutes.
    #[test]
    fn a_text_has_colors_up_to_a_limit() {
        let check = |line: &str, most: (usize, usize), fences: usize, lines: usize, expected| {
            let (lines_left, bytes) = most;
            let mut colors = Colors {
                lines: lines_left,
                bytes,
            };
            let mut colored = 0;
            for _ in 0..fences {
                let mut code = Code::of("rust");
                for _ in 0..lines {
                    let line = code.line(line, &mut colors);
                    colored += usize::from(line.spans.len() > 1);
                }
            }
            assert_eq!(colored, expected, "{most:?} {fences} x {lines}");
        };
        let line = "let x = 1;";
        check(line, (LINES, BYTES), 1, 10, 10);
        check(line, (5, BYTES), 1, 10, 5);
        check(line, (5, BYTES), 10, 1, 5);
        check(line, (LINES, 35), 1, 10, 3);
        check(line, (LINES, 35), 10, 1, 3);
        // What is too long for the rest ends it, too.
        check(line, (LINES, 9), 10, 1, 0);
        let all = Colors::default();
        assert_eq!((all.lines, all.bytes), (LINES, BYTES));
    }
}
