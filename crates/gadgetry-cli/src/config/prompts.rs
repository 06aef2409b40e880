//! Templates of prompts: `[prompts]`, and the prompts of custom commands.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::error::Error as _;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use gadgetry::models::Date;
use gadgetry::proto::schema::closest;
use gadgetry_files as files;
use minijinja::machinery::Token;
use minijinja::value::{Object, Value};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};

use super::file::{Named, PromptSource};
use crate::error::Error;
use crate::options::Place;

/// Bytes of a file with a template.
const FILE_LIMIT: u64 = 1 << 20;
/// Prompts that include each other, one the next, at most.
const DEEPEST: usize = 32;
/// Bytes of a rendered prompt.
const RENDERED_LIMIT: usize = 16 << 20;
/// Words and signs of one tag.
const TOKENS: usize = 300;
/// `elif`s of one prompt.
const BRANCHES: usize = 100;
/// Bytes of a line, and lines.
const LONGEST: usize = 60_000;
/// Instructions that rendering may take.
const FUEL: u64 = 10_000_000;

/// The variables of the environment that `env` has; with the prefix, further ones. None of them is a key.
const VARIABLES: [&str; 14] = [
    "COMPUTERNAME",
    "EDITOR",
    "HOME",
    "HOSTNAME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PWD",
    "SHELL",
    "TERM",
    "TZ",
    "USER",
    "USERNAME",
    "VISUAL",
];
const PREFIX: &str = "GADGETRY_PROMPT_";

/// The templates of the configuration, by name.
#[derive(Debug, Default)]
pub(crate) struct Prompts(pub(crate) BTreeMap<String, PromptSource>);

/// Handling of prompts that are files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    Read,
    Skip,
}

/// A template with all that it includes.
#[derive(Debug)]
pub(crate) struct Template {
    /// Templates by name, its own first.
    texts: Vec<(String, Named)>,
}

impl Prompts {
    /// Checks that there is a prompt of this name; the error says which one may be meant.
    pub(crate) fn check(&self, name: &str) -> Result<(), String> {
        if self.0.contains_key(name) {
            return Ok(());
        }
        let hint = match closest(name, self.0.keys().map(String::as_str)).first() {
            Some(near) => format!("; did you mean {near:?}?"),
            None => "; add it to [prompts]".to_owned(),
        };
        Err(format!("there is no prompt {name:?}{hint}"))
    }

    /// Checks the prompts that are not in files of their own, which are read when they are used.
    pub(crate) fn check_all(&self) -> Result<(), Error> {
        for (name, source) in &self.0 {
            if let PromptSource::Inline(named) = source {
                self.check_template(name, named.clone())?;
            }
        }
        Ok(())
    }

    /// Checks a template, without the files that it includes.
    pub(crate) fn check_template(&self, name: &str, text: Named) -> Result<(), Error> {
        self.collect(name, text, Files::Skip).map(drop)
    }

    /// The prompt of this name, and what it includes.
    pub(crate) fn named(&self, name: &str) -> Result<Template, Error> {
        let source = self.0.get(name);
        let source =
            source.ok_or_else(|| Error::input(format_args!("there is no prompt {name:?}")))?;
        self.template(name, read(source)?)
    }

    /// A template in a file of the configuration, and what it includes.
    pub(crate) fn template(&self, name: &str, text: Named) -> Result<Template, Error> {
        self.collect(name, text, Files::Read)
    }

    fn collect(&self, name: &str, text: Named, files: Files) -> Result<Template, Error> {
        let mut template = Template {
            texts: vec![(name.to_owned(), text)],
        };
        self.include(0, files, &mut vec![name.to_owned()], &mut template)?;
        template.environment()?;
        Ok(template)
    }

    /// Adds what the text at `index` includes. `chain` leads to it.
    fn include(
        &self,
        index: usize,
        files: Files,
        chain: &mut Vec<String>,
        template: &mut Template,
    ) -> Result<(), Error> {
        let (_, (text, place)) = &template.texts[index];
        let (included, place) = (includes(text), place.clone());
        for name in included {
            if chain.contains(&name) {
                let chain = chain.join(" -> ");
                return Err(place.error(format_args!(
                    "circular include of prompts: {chain} -> {name}"
                )));
            }
            if chain.len() >= DEEPEST {
                let problem = format_args!("more than {DEEPEST} prompts include each other");
                return Err(place.error(problem));
            }
            if template.texts.iter().any(|(other, _)| *other == name) {
                continue;
            }
            self.check(&name).map_err(|problem| place.error(problem))?;
            let Some(source) = self.0.get(&name) else {
                continue;
            };
            if files == Files::Skip && matches!(source, PromptSource::File(..)) {
                continue;
            }
            template.texts.push((name.clone(), read(source)?));
            chain.push(name);
            self.include(template.texts.len() - 1, files, chain, template)?;
            chain.pop();
        }
        Ok(())
    }
}

fn read(source: &PromptSource) -> Result<Named, Error> {
    match source {
        PromptSource::Inline(named) => Ok(named.clone()),
        PromptSource::File(path, place) => {
            let text = files::text(path, FILE_LIMIT);
            let text = text.map_err(|error| {
                place.error(format_args!("cannot read {}: {error}", path.display()))
            })?;
            let place = Place {
                file: path.display().to_string().into(),
                line: 1,
                column: 1,
            };
            Ok((text, place))
        }
    }
}

/// The names in `{% include "name" %}`.
fn includes(text: &str) -> BTreeSet<String> {
    let tags = text.split("{%").skip(1);
    let names = tags.filter_map(|tag| {
        let tag = tag.trim_start_matches(['-', '+']).trim_start();
        let rest = tag.strip_prefix("include")?.trim_start();
        let quote = rest.chars().next().filter(|it| matches!(it, '"' | '\''))?;
        let name = rest.strip_prefix(quote)?.split(quote).next()?;
        Some(name.to_owned())
    });
    names.collect()
}

impl Template {
    /// Returns whether a variable is used.
    pub(crate) fn uses(&self, variable: &str) -> bool {
        let Ok(environment) = self.environment() else {
            return false;
        };
        environment
            .templates()
            .any(|(_, it)| it.undeclared_variables(false).contains(variable))
    }

    /// The text. `args` and `stdin` are variables of commands only.
    pub(crate) fn render(&self, args: Option<&str>, stdin: Option<&str>) -> Result<String, Error> {
        let environment = self.environment()?;
        let (name, _) = &self.texts[0];
        let template = environment.get_template(name);
        let template = template.map_err(|error| self.problem(&error))?;
        let mut values = BTreeMap::from([
            ("env", Value::from_object(Variables)),
            ("date", Value::from(today())),
        ]);
        values.extend(args.map(|args| ("args", Value::from(args))));
        values.extend(stdin.map(|stdin| ("stdin", Value::from(stdin))));
        let mut output = Capped(Vec::new());
        let rendered = template.render_captured_to(values, &mut output);
        if let Err(error) = rendered {
            return Err(self.problem(&error));
        }
        String::from_utf8(output.0).map_err(Error::input)
    }

    fn environment(&self) -> Result<Environment<'_>, Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_fuel(Some(FUEL));
        for (name, (text, place)) in &self.texts {
            if is_too_deep(text) {
                return Err(place.error(format_args!(
                    "prompt {name:?}: a tag has more than {TOKENS} words and signs, there are more than {BRANCHES} elif, or it has more than {LONGEST} lines or bytes in a line"
                )));
            }
            let added = environment.add_template(name, text);
            added.map_err(|error| self.problem(&error))?;
        }
        Ok(environment)
    }

    /// A mistake in one of the texts.
    fn problem(&self, mut error: &minijinja::Error) -> Error {
        // An error in an included template is the source of one about the include.
        while let (ErrorKind::BadInclude, Some(source)) = (error.kind(), error.source())
            && let Some(source) = source.downcast_ref()
        {
            error = source;
        }
        let name = error.name().unwrap_or_default();
        let found = self.texts.iter().find(|(other, _)| other == name);
        let (name, (_, place)) = found.unwrap_or(&self.texts[0]);
        let line = error.line().unwrap_or(1);
        if error.kind() == ErrorKind::OutOfFuel {
            return place.error(format_args!(
                "prompt {name:?}, line {line}: it takes too many steps"
            ));
        }
        // The description of an undefined value does not name it, but its detail may.
        let detail = error.detail().map(|it| format!(": {it}"));
        place.error(format_args!(
            "prompt {name:?}, line {line}: {}{}",
            error.kind(),
            detail.unwrap_or_default()
        ))
    }
}

/// Returns whether the parser may descend deeper than the stack is.
///
/// It descends for each operator of an expression, and for each `elif`.
fn is_too_deep(text: &str) -> bool {
    // The parser counts columns and lines in 16 bits.
    if text.lines().count() > LONGEST || text.lines().any(|line| line.len() > LONGEST) {
        return true;
    }
    let (mut tokens, mut branches) = (0, 0);
    for token in
        minijinja::machinery::tokenize(text, false, minijinja::syntax::SyntaxConfig::default())
    {
        match token {
            Ok((Token::VariableStart | Token::BlockStart, _)) => tokens = 0,
            Ok((Token::Ident("elif"), _)) => branches += 1,
            Ok(_) => tokens += 1,
            // The parser ends here as well.
            Err(_) => return false,
        }
        if tokens > TOKENS || branches > BRANCHES {
            return true;
        }
    }
    false
}

/// Today's date, in UTC.
fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Date::from_unix_seconds(now.unwrap_or_default().as_secs()).to_string()
}

/// The variable `env`.
#[derive(Debug)]
struct Variables;

impl Object for Variables {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        if !VARIABLES.contains(&name) && !name.starts_with(PREFIX) {
            let problem = format!(
                "env.{name} is not available to prompts; available are {}, and {PREFIX}…",
                VARIABLES.join(", ")
            );
            return Some(minijinja::Error::new(ErrorKind::InvalidOperation, problem).into());
        }
        env::var(name).ok().map(Value::from)
    }
}

/// A buffer that refuses more than a prompt may have.
struct Capped(Vec<u8>);

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > RENDERED_LIMIT {
            return Err(files::too_large(RENDERED_LIMIT as u64));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_found() {
        let check = |text: &str, expected: &[&str]| {
            let found = includes(text);
            assert!(found.iter().eq(expected), "{text}: {found:?}");
        };
        check("", &[]);
        check("include \"a\" {{ include }} {%", &[]);
        check(
            "{% include \"a\" %}{%include 'b'%}{% include \"a\" %}",
            &["a", "b"],
        );
        check(
            "{%- include \"a b\" -%}{%+ include 'c' ignore missing %}",
            &["a b", "c"],
        );
        check("{% included \"a\" %}{% if include %}", &[]);
        check("{% include name %}{% include \"open", &["open"]);
    }

    #[test]
    fn no_nesting_is_too_deep() {
        let place = Place {
            file: "f".into(),
            line: 1,
            column: 1,
        };
        for piece in [
            "{{(",
            "(",
            "[",
            "{",
            "{'a':",
            "not ",
            "-",
            "a.",
            "a|f ",
            "a[",
            "f(",
            "a~",
            "a+",
            "a**",
            "a if b else ",
            "a and ",
            "{% if a %}{% elif b %}",
            "{% elif b %}",
            "{% else %}",
            "{% if a %}",
            "{% for a in b %}",
            "{% set a %}",
            "{% block a %}",
            "{% filter upper %}",
            "{% raw %}",
            "{#",
            "{{",
            "{%",
            "x",
            "{{ a }}",
        ] {
            for start in ["", "{{ ", "{% if ", "{% set a = ", "{% if a %}"] {
                let text = format!("{start}{}", piece.repeat(200_000));
                let prompts = Prompts::default();
                let _ = prompts.check_template("p", (text, place.clone()));
            }
        }
    }
}
