//! The function as it was written, taken apart.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, FnArg, Pat, Signature, Token, Type, Visibility};

/// A function. Its body is kept as tokens: the macro has no business there.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    /// Without the attributes that [`Parameter`] holds.
    pub(crate) signature: Signature,
    body: TokenStream,
    /// The parameters, without `self`.
    pub(crate) parameters: Vec<Parameter>,
}

/// One parameter, and the attributes that the macro took off it.
pub(crate) struct Parameter {
    pub(crate) pattern: Pat,
    pub(crate) ty: Type,
    /// `#[gadget(…)]`: for the macro.
    pub(crate) own: Vec<Attribute>,
    /// Doc comments, `#[serde(…)]` and `#[schemars(…)]`: for the field that it becomes.
    pub(crate) field: Vec<Attribute>,
}

impl Function {
    /// Fails if the item is not a function with a body.
    pub(crate) fn parse(item: TokenStream) -> syn::Result<Self> {
        Self::parse_stream.parse2(item)
    }

    fn parse_stream(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility: Visibility = input.parse()?;
        if !begins_function(input) {
            return Err(input.error(
                "`#[gadget]` belongs on a function; a type implements the trait `gadgetry::Gadget` instead",
            ));
        }
        let mut signature: Signature = input.parse()?;
        if !input.peek(syn::token::Brace) {
            return Err(input.error("a gadget is a function with a body"));
        }
        let body = input.parse()?;
        let parameters = take_parameters(&mut signature.inputs);
        Ok(Self {
            attributes,
            visibility,
            signature,
            body,
            parameters,
        })
    }
}

/// The function without what the macro took off it.
impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self {
            attributes,
            visibility,
            signature,
            body,
            ..
        } = self;
        tokens.extend(quote!(#(#attributes)* #visibility #signature #body));
    }
}

/// Returns `true` if `fn` comes next, perhaps after qualifiers.
fn begins_function(input: ParseStream<'_>) -> bool {
    let qualifiers = ["const", "async", "safe", "unsafe", "extern"];
    let next = input.fork().parse::<TokenStream>().into_iter().flatten();
    let mut next = next.filter(|token| !matches!(token, TokenTree::Literal(_)));
    let word = next.find(|token| qualifiers.iter().all(|it| token.to_string() != *it));
    word.is_some_and(|word| word.to_string() == "fn")
}

fn take_parameters(inputs: &mut Punctuated<FnArg, Token![,]>) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for input in inputs {
        let FnArg::Typed(input) = input else {
            continue;
        };
        let (mut own, mut field) = (Vec::new(), Vec::new());
        for attribute in std::mem::take(&mut input.attrs) {
            let path = attribute.path();
            if path.is_ident("gadget") || path.is_ident("tool") {
                own.push(attribute);
            } else if ["doc", "serde", "schemars"]
                .iter()
                .any(|it| path.is_ident(it))
            {
                field.push(attribute);
            } else {
                input.attrs.push(attribute);
            }
        }
        parameters.push(Parameter {
            pattern: (*input.pat).clone(),
            ty: (*input.ty).clone(),
            own,
            field,
        });
    }
    parameters
}
