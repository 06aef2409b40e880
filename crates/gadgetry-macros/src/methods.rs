//! An impl block whose methods are gadgets.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, format_ident, quote};
use syn::{Attribute, ImplItem, ItemImpl, Type};

use crate::ast::Function;
use crate::attr::Options;
use crate::expand::{self, Callee};
use crate::fallback;
use crate::mistakes::Mistakes;
use crate::valid::Gadget;

pub(crate) fn tokens(arguments: &TokenStream, item: &TokenStream) -> TokenStream {
    let Ok(block) = syn::parse2::<ItemImpl>(item.clone()) else {
        let message =
            "`#[gadgets]` belongs on the `impl` block of a type; a function takes `#[gadget]`";
        return fallback::item(item, &syn::Error::new_spanned(item, message));
    };
    let mut mistakes = Mistakes::default();
    if !arguments.is_empty() {
        let message = "`#[gadgets]` takes no arguments; put `#[gadget(…)]` on a method";
        mistakes.add(arguments, message);
    }
    check(&block, &mut mistakes);
    let (items, methods) = parts(&block, &mut mistakes);
    let ItemImpl {
        attrs,
        unsafety,
        impl_token,
        generics,
        self_ty,
        ..
    } = &block;
    let trait_for = block
        .trait_
        .as_ref()
        .map(|(bang, path, for_token)| quote!(#bang #path #for_token));
    let where_clause = &generics.where_clause;
    let block_again = quote! {
        #(#attrs)*
        #unsafety #impl_token #generics #trait_for #self_ty #where_clause {
            #(#items)*
        }
    };
    match mistakes.into_error() {
        None => {
            let gadgets = gadgets(self_ty, &methods);
            quote!(#block_again #gadgets)
        }
        Some(error) => {
            let error = error.to_compile_error();
            let stand_in = (block.trait_.is_none() && generics.params.is_empty())
                .then(|| method(self_ty, &quote!(::core::unreachable!())));
            quote!(#error #block_again #stand_in)
        }
    }
}

fn check(block: &ItemImpl, mistakes: &mut Mistakes) {
    if let Some((_, path, _)) = &block.trait_ {
        let message = "`#[gadgets]` belongs on an impl block of the type itself, not of a trait";
        mistakes.add(path, message);
    }
    if !block.generics.params.is_empty() {
        let message =
            "a type with gadgets has no generics: the model needs the types of the arguments";
        mistakes.add(&block.generics.params, message);
    }
    if !block
        .items
        .iter()
        .any(|item| matches!(item, ImplItem::Fn(_)))
    {
        mistakes.add(&block.self_ty, "there is no method to make a gadget of");
    }
}

/// The items of the block without what the macro owns, and the methods among them.
fn parts(block: &ItemImpl, mistakes: &mut Mistakes) -> (Vec<TokenStream>, Vec<(Function, Gadget)>) {
    let (mut items, mut methods) = (Vec::new(), Vec::new());
    for item in &block.items {
        let ImplItem::Fn(method) = item else {
            items.push(item.to_token_stream());
            continue;
        };
        let mut function = match Function::parse(method.to_token_stream()) {
            Ok(function) => function,
            Err(mistake) => {
                mistakes.push(mistake);
                continue;
            }
        };
        let (own, others) = function.attributes.drain(..).partition(is_own);
        function.attributes = others;
        let options = options(&own, mistakes);
        let gadget = Gadget::method(&function, options, mistakes);
        items.push(quote! {
            // Arguments are made for the call.
            #[allow(clippy::needless_pass_by_value)]
            #function
        });
        methods.push((function, gadget));
    }
    (items, methods)
}

fn is_own(attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    last.is_some_and(|segment| segment.ident == "gadget" || segment.ident == "tool")
}

/// Returns the arguments of `#[gadget(…)]` on a method; empty without it.
fn options(own: &[Attribute], mistakes: &mut Mistakes) -> Options {
    if let Some(second) = own.get(1) {
        mistakes.add(second, "a method has one `#[gadget(…)]` at most");
    }
    let list = own
        .first()
        .and_then(|attribute| attribute.meta.require_list().ok());
    let tokens = list.map(|list| list.tokens.clone());
    Options::parse(tokens.unwrap_or_default(), mistakes)
}

/// A type for each method, which holds the value, and the method that makes all of them.
fn gadgets(self_ty: &Type, methods: &[(Function, Gadget)]) -> TokenStream {
    let definitions = methods.iter().filter_map(|(function, gadget)| {
        let name = format_ident!("__{}Gadget", gadget.type_name.as_ref()?);
        let conditions: Vec<_> = expand::conditions(function).collect();
        let implementation =
            expand::implementation(&name, function, gadget, &Callee::Method(self_ty));
        let make = quote! {
            #(#conditions)*
            gadgets.push(::gadgetry::IntoGadget::into_gadget(#name(::std::sync::Arc::clone(self))));
        };
        let definition = quote! {
            #(#conditions)*
            struct #name(::std::sync::Arc<#self_ty>);

            #(#conditions)*
            const _: () = {
                #implementation
            };
        };
        Some((definition, make))
    });
    let (definitions, makes): (Vec<_>, Vec<_>) = definitions.unzip();
    let method = method(
        self_ty,
        &quote! {
            let mut gadgets = ::std::vec::Vec::new();
            #(#makes)*
            gadgets
        },
    );
    quote! {
        const _: () = {
            #(#definitions)*
            #method
        };
    }
}

fn method(self_ty: &Type, body: &TokenStream) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl #self_ty {
            /// The gadgets of this value, one for each method, for `AgentBuilder::gadgets`. They share it.
            #[allow(dead_code, unreachable_pub, clippy::vec_init_then_push)]
            pub fn gadgets(
                self: &::std::sync::Arc<Self>,
            ) -> ::std::vec::Vec<::std::sync::Arc<dyn ::gadgetry::DynGadget>> {
                #body
            }
        }
    }
}
