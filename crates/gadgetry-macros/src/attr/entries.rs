//! Lists of `key`, `key = value` and `key(…)`, where one mistake does not hide the next.

use proc_macro2::{Delimiter, Group, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{ParseBuffer, ParseStream};
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path, Token, token};

use super::json;
use crate::mistakes::Mistakes;

/// The name of an entry, and its form.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// An example of the entry, for messages.
    sample: &'static str,
    repeated: bool,
}

impl Key {
    pub(super) const fn new(name: &'static str, sample: &'static str) -> Self {
        Self {
            name,
            sample,
            repeated: false,
        }
    }

    /// Allows the entry several times.
    pub(super) const fn repeated(mut self) -> Self {
        self.repeated = true;
        self
    }
}

/// A key where it was written. Its value follows in the input.
pub(super) struct Entry {
    pub(super) key: &'static Key,
    ident: Ident,
}

impl Entry {
    /// A mistake at the key, with the right form.
    pub(super) fn error(&self, message: &str) -> syn::Error {
        let sample = self.key.sample;
        syn::Error::new(self.ident.span(), format!("{message}: `{sample}`"))
    }

    /// `= expression`, or nothing
    pub(super) fn optional_value(&self, input: ParseStream<'_>) -> syn::Result<Option<Expr>> {
        if ends(input) {
            return Ok(None);
        }
        self.value(input).map(Some)
    }

    /// `= expression`
    pub(super) fn value(&self, input: ParseStream<'_>) -> syn::Result<Expr> {
        self.equals(input)?;
        input.parse()
    }

    /// `= "text"`
    pub(super) fn text(&self, input: ParseStream<'_>) -> syn::Result<LitStr> {
        let value = self.value(input)?;
        string_literal(&value).cloned().ok_or_else(|| {
            let Key { name, sample, .. } = self.key;
            let message = format!("`{name}` is a string literal: `{sample}`");
            syn::Error::new_spanned(&value, message)
        })
    }

    /// `= "word"`, one of these; returns its meaning.
    pub(super) fn word(
        &self,
        input: ParseStream<'_>,
        words: &[(&str, &'static str)],
    ) -> syn::Result<&'static str> {
        let text = self.text(input)?;
        let value = text.value();
        let found = words.iter().find(|(word, _)| *word == value);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            let (last, others) = words
                .split_last()
                .map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
            let message = format!("`{}` is {} or {last}", self.key.name, others.join(", "));
            syn::Error::new_spanned(text, message)
        })
    }

    /// `= function`
    pub(super) fn path(&self, input: ParseStream<'_>) -> syn::Result<Path> {
        match self.value(input)? {
            Expr::Path(path) if path.qself.is_none() => Ok(path.path),
            other => {
                let Key { name, sample, .. } = self.key;
                let message = format!("`{name}` names a function: `{sample}`");
                Err(syn::Error::new_spanned(other, message))
            }
        }
    }

    /// `= {…}`
    pub(super) fn object(&self, input: ParseStream<'_>) -> syn::Result<Group> {
        self.equals(input)?;
        match input.fork().parse()? {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                json::value(input)?;
                Ok(group)
            }
            other => {
                let Key { name, sample, .. } = self.key;
                let message = format!("`{name}` is a JSON object: `{sample}`");
                Err(syn::Error::new_spanned(other, message))
            }
        }
    }

    fn equals(&self, input: ParseStream<'_>) -> syn::Result<()> {
        let needs = || self.error(&format!("`{}` needs a value", self.key.name));
        input.parse::<Token![=]>().map_err(|_| needs())?;
        if ends(input) { Err(needs()) } else { Ok(()) }
    }

    /// `(…)`
    pub(super) fn list<'a>(&self, input: ParseStream<'a>) -> syn::Result<ParseBuffer<'a>> {
        if !input.peek(token::Paren) {
            return Err(self.error(&format!("`{}` needs parentheses", self.key.name)));
        }
        let content;
        syn::parenthesized!(content in input);
        Ok(content)
    }

    pub(super) fn no_value(&self, input: ParseStream<'_>) -> syn::Result<()> {
        if ends(input) {
            return Ok(());
        }
        Err(self.error(&format!("`{}` takes no value", self.key.name)))
    }
}

/// Reads the whole input. `read_entry` reads what follows a key; `place` is where the keys are known.
pub(super) fn read(
    input: ParseStream<'_>,
    place: &str,
    keys: &'static [Key],
    mistakes: &mut Mistakes,
    mut read_entry: impl FnMut(&Entry, ParseStream<'_>, &mut Mistakes) -> syn::Result<()>,
) {
    let mut seen = Vec::new();
    while !input.is_empty() {
        let result = key(input, place, keys, &mut seen)
            .and_then(|entry| read_entry(&entry, input, mistakes))
            .and_then(|()| separator(input));
        if let Err(mistake) = result {
            mistakes.push(mistake);
            skip_entry(input);
        }
    }
}

fn key(
    input: ParseStream<'_>,
    place: &str,
    keys: &'static [Key],
    seen: &mut Vec<&'static str>,
) -> syn::Result<Entry> {
    let known = || {
        let names: Vec<String> = keys.iter().map(|it| format!("`{}`", it.name)).collect();
        format!("{place} knows {}", names.join(", "))
    };
    let ident = input
        .call(Ident::parse_any)
        .map_err(|error| syn::Error::new(error.span(), known()))?;
    let Some(key) = keys.iter().find(|key| ident == key.name) else {
        let message = format!("unknown argument `{ident}`: {}", known());
        return Err(syn::Error::new(ident.span(), message));
    };
    if seen.contains(&key.name) && !key.repeated {
        let message = format!("`{ident}` is given twice");
        return Err(syn::Error::new(ident.span(), message));
    }
    seen.push(key.name);
    Ok(Entry { key, ident })
}

fn ends(input: ParseStream<'_>) -> bool {
    input.is_empty() || input.peek(Token![,])
}

fn separator(input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() {
        return Ok(());
    }
    let comma: syn::Result<Token![,]> = input.parse();
    comma.map(drop)
}

/// Moves past the next comma that separates entries. A value that is an expression may contain commas.
fn skip_entry(input: ParseStream<'_>) {
    if input.peek(Token![=]) && !input.peek2(token::Brace) {
        let ahead = input.fork();
        let value = ahead
            .parse::<Token![=]>()
            .and_then(|_| ahead.parse::<Expr>());
        if value.is_ok() {
            syn::parse::discouraged::Speculative::advance_to(input, &ahead);
        }
    }
    while !input.is_empty() && !input.peek(Token![,]) {
        let _: syn::Result<TokenTree> = input.parse();
    }
    let _: syn::Result<Option<Token![,]>> = input.parse();
}

/// Returns the literal that an expression is.
pub(super) fn literal(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

/// Returns the text of a string literal.
pub(crate) fn string_literal(value: &Expr) -> Option<&LitStr> {
    match literal(value) {
        Some(Lit::Str(text)) => Some(text),
        _ => None,
    }
}
