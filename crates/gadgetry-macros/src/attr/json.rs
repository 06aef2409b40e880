//! JSON as the macro `json!` reads it, because its own error messages are not helpful.

use proc_macro2::TokenStream;
use syn::parse::ParseStream;
use syn::{Expr, LitStr, Token, braced, bracketed, token};

/// Goes over a value: an object, an array, or an expression.
pub(super) fn value(input: ParseStream<'_>) -> syn::Result<()> {
    if input.peek(token::Brace) {
        let content;
        braced!(content in input);
        list(&content, member)
    } else if input.peek(token::Bracket) {
        let content;
        bracketed!(content in input);
        list(&content, value)
    } else {
        let value: syn::Result<Expr> = input.parse();
        value.map(drop)
    }
}

fn member(input: ParseStream<'_>) -> syn::Result<()> {
    let key: syn::Result<LitStr> = input.parse();
    if let Err(mistake) = key {
        let message = r#"a JSON key is a string literal: `"city": "Paris"`"#;
        return Err(syn::Error::new(mistake.span(), message));
    }
    input.parse::<Token![:]>()?;
    value(input)
}

/// Reads all of the content, because the parser would complain about the rest after a mistake.
fn list(
    content: ParseStream<'_>,
    entry: impl Fn(ParseStream<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    let mut result = Ok(());
    while result.is_ok() && !content.is_empty() {
        result = entry(content);
        if result.is_ok() && !content.is_empty() {
            result = content.parse::<Token![,]>().map(drop);
        }
    }
    content.parse::<TokenStream>()?;
    result
}
