//! The arguments of `#[gadget(…)]`, on the function, on a parameter, and of an example in it.

mod entries;
mod json;

use proc_macro2::{Group, TokenStream};
use quote::quote;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Expr, ExprUnary, Ident, Lit, LitFloat, LitStr, Path, Type, UnOp};

use crate::mistakes::Mistakes;
use crate::words;
use entries::{Entry, Key, literal, read};

pub(crate) use entries::string_literal;

const GADGET: [Key; 12] = [
    Key::new("name", r#"name = "Weather""#),
    Key::new("description", r#"description = "Gets the weather""#),
    Key::new("timeout", r#"timeout = "10s""#),
    Key::new("max_concurrent", "max_concurrent = 2"),
    Key::new("exclusive", "exclusive"),
    Key::new("blocking", "blocking"),
    Key::new("sticky_result", "sticky_result"),
    Key::new("unterminated", r#"unterminated = "confirm""#),
    Key::new("on_interrupt", r#"on_interrupt = "rerun""#),
    Key::new("permission", r#"permission = "ask""#),
    Key::new("preview", "preview = preview_of_delete"),
    Key::new(
        "example",
        r#"example(params = {"city": "Paris"}, output = "21°C")"#,
    )
    .repeated(),
];
const EXAMPLE: [Key; 3] = [
    Key::new("params", r#"params = {"city": "Paris"}"#),
    Key::new("output", r#"output = "21°C""#),
    Key::new("comment", r#"comment = "What it shows""#),
];
const PARAMETER: [Key; 2] = [Key::new("default", "default = 3"), Key::new("with", "with")];

/// The arguments of `#[gadget(…)]` on the function.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) max_concurrent: Option<u32>,
    pub(crate) exclusive: bool,
    pub(crate) blocking: bool,
    pub(crate) sticky_result: bool,
    /// The name of a variant of `Unterminated`.
    pub(crate) unterminated: Option<&'static str>,
    /// The name of a variant of `OnInterrupt`.
    pub(crate) on_interrupt: Option<&'static str>,
    /// The name of a variant of `Permission`.
    pub(crate) permission: Option<&'static str>,
    /// The function that previews a call.
    pub(crate) preview: Option<Path>,
    pub(crate) examples: Vec<Example>,
}

pub(crate) struct Example {
    /// A JSON object, in braces.
    pub(crate) params: Group,
    pub(crate) output: Option<LitStr>,
    pub(crate) comment: Option<LitStr>,
}

impl Options {
    /// Reads the arguments. Those that cannot be read are among the mistakes.
    pub(crate) fn parse(arguments: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut options = Self::default();
        let parser = |input: ParseStream<'_>| {
            read(
                input,
                "`#[gadget]`",
                &GADGET,
                mistakes,
                |entry, input, mistakes| options.read(entry, input, mistakes),
            );
            Ok(())
        };
        if let Err(mistake) = parser.parse2(arguments) {
            mistakes.push(mistake);
        }
        options
    }

    fn read(
        &mut self,
        entry: &Entry,
        input: ParseStream<'_>,
        mistakes: &mut Mistakes,
    ) -> syn::Result<()> {
        match entry.key.name {
            "name" => self.name = Some(entry.text(input)?),
            "description" => self.description = Some(entry.text(input)?),
            "timeout" => self.timeout_ms = Some(timeout(&entry.value(input)?)?),
            "max_concurrent" => self.max_concurrent = Some(count(&entry.value(input)?)?),
            "exclusive" => {
                entry.no_value(input)?;
                self.exclusive = true;
            }
            "blocking" => {
                entry.no_value(input)?;
                self.blocking = true;
            }
            "sticky_result" => {
                entry.no_value(input)?;
                self.sticky_result = true;
            }
            "unterminated" => {
                let words = [("execute", "Execute"), ("confirm", "Confirm")];
                self.unterminated = Some(entry.word(input, &words)?);
            }
            "on_interrupt" => {
                let words = [("fail", "Fail"), ("rerun", "Rerun"), ("ask", "Ask")];
                self.on_interrupt = Some(entry.word(input, &words)?);
            }
            "permission" => {
                let words = [("allow", "Allow"), ("ask", "Ask"), ("deny", "Deny")];
                self.permission = Some(entry.word(input, &words)?);
            }
            "preview" => self.preview = Some(entry.path(input)?),
            _ => {
                let content = entry.list(input)?;
                self.examples.extend(example(entry, &content, mistakes)?);
            }
        }
        Ok(())
    }
}

fn timeout(value: &Expr) -> syn::Result<u64> {
    let milliseconds = match literal(value) {
        Some(Lit::Str(text)) => words::milliseconds(&text.value()),
        Some(Lit::Int(number)) => number.base10_parse().ok().filter(|it| *it > 0),
        _ => None,
    };
    milliseconds.ok_or_else(|| {
        let message = "a timeout is a text such as \"500ms\", \"10s\" or \"2m\", or a whole number of milliseconds, and greater than 0";
        syn::Error::new_spanned(value, message)
    })
}

fn count(value: &Expr) -> syn::Result<u32> {
    let count = match literal(value) {
        Some(Lit::Int(number)) => number.base10_parse().ok().filter(|it| *it > 0),
        _ => None,
    };
    count.ok_or_else(|| {
        syn::Error::new_spanned(value, "`max_concurrent` is a whole number, 1 or more")
    })
}

/// The literal that an expression is.
/// `None` if it has no parameters that could be read; that is among the mistakes then.
fn example(
    entry: &Entry,
    content: ParseStream<'_>,
    mistakes: &mut Mistakes,
) -> syn::Result<Option<Example>> {
    let mut has_params = false;
    let (mut params, mut output, mut comment) = (None, None, None);
    read(
        content,
        "an example",
        &EXAMPLE,
        mistakes,
        |entry, input, _| {
            match entry.key.name {
                "params" => {
                    has_params = true;
                    params = Some(entry.object(input)?);
                }
                "output" => output = Some(entry.text(input)?),
                _ => comment = Some(entry.text(input)?),
            }
            Ok(())
        },
    );
    if !has_params {
        return Err(entry.error("an example needs its parameters"));
    }
    Ok(params.map(|params| Example {
        params,
        output,
        comment,
    }))
}

/// The default of an argument that a call leaves out.
pub(crate) enum DefaultValue {
    /// The default of the argument's type.
    OfType,
    Value(Expr),
}

/// Returns whether a parameter has `#[gadget(with)]`: the run has its value.
pub(crate) fn is_value(attributes: &[Attribute]) -> bool {
    let word = attributes.first().and_then(|it| it.parse_args().ok());
    word.is_some_and(|word: Ident| word == "with")
}

/// Returns the default in `#[gadget(…)]` on a parameter.
pub(crate) fn default_value(
    attributes: &[Attribute],
    mistakes: &mut Mistakes,
) -> Option<DefaultValue> {
    let mut default = None;
    for (place, attribute) in attributes.iter().enumerate() {
        if place > 0 {
            mistakes.add(attribute, "a parameter has one `#[gadget(…)]` at most");
            continue;
        }
        let parser = |input: ParseStream<'_>| {
            read(
                input,
                "`#[gadget]` on a parameter",
                &PARAMETER,
                mistakes,
                |entry, input, _| {
                    let value = entry.optional_value(input)?;
                    if entry.key.name == "with" {
                        let message = "a value of the run has no default and no other options";
                        return Err(entry.error(message));
                    }
                    default = Some(value.map_or(DefaultValue::OfType, DefaultValue::Value));
                    Ok(())
                },
            );
            Ok(())
        };
        if let Err(mistake) = attribute.parse_args_with(parser) {
            mistakes.push(mistake);
        }
    }
    default
}

/// A whole number without a suffix as the float that `ty` wants: `default = 0` for an `f64`.
pub(crate) fn as_float(value: &Expr, ty: &Type) -> Option<TokenStream> {
    let Type::Path(path) = ty else {
        return None;
    };
    if !path.path.is_ident("f64") && !path.path.is_ident("f32") {
        return None;
    }
    let (sign, number) = match value {
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(minus),
            expr,
            ..
        }) => (Some(minus), literal(expr)?),
        value => (None, literal(value)?),
    };
    let Lit::Int(number) = number else {
        return None;
    };
    let float = LitFloat::new(&format!("{}.0", number.base10_digits()), number.span());
    number.suffix().is_empty().then(|| quote!(#sign #float))
}

/// Returns `true` if serde reads a field by names that are not in the schema of its struct.
pub(crate) fn reads_other_names(attributes: &[Attribute]) -> bool {
    let tokens = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("serde"))
        .filter_map(|attribute| attribute.meta.require_list().ok())
        .flat_map(|list| list.tokens.clone());
    let mut words = tokens.map(|token| token.to_string());
    words.any(|word| word == "flatten" || word == "alias")
}
