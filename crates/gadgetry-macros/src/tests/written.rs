//! Tests of the items that replace a function.

use quote::quote;
use syn::Item;

use super::tokens;
use crate::ast::Function;
use crate::gadget_tokens;

/// Checks that these items are written in place of a function.
fn check(arguments: &str, function: &str, expected: &[&str]) {
    let written = gadget_tokens(tokens(arguments), &tokens(function));
    let file: syn::File = syn::parse2(written).expect("items");
    let items: Vec<String> = file.items.iter().map(name).collect();
    assert_eq!(items, expected, "{arguments} {function}");
}

fn name(item: &Item) -> String {
    match item {
        Item::Fn(item) => format!("fn {}", item.sig.ident),
        Item::Struct(item) => format!("struct {}", item.ident),
        Item::Const(item) => format!("const {}", item.ident),
        Item::Impl(_) => "impl".to_owned(),
        Item::Macro(_) => "mistake".to_owned(),
        other => panic!("{}", quote!(#other)),
    }
}

#[test]
fn a_function_keeps_its_gadget_whatever_its_mistakes() {
    let ring = "/// Rings.\npub fn ring() {}";
    check("", ring, &["fn ring", "struct Ring", "const _"]);
    check(
        "speed, timeout",
        ring,
        &["mistake", "mistake", "fn ring", "struct Ring", "impl"],
    );
    // No type can stand beside these.
    check("", "/// Rings.\nfn Ring() {}", &["mistake", "fn Ring"]);
    check("", "/// Rings.\nfn ring(self) {}", &["mistake", "fn ring"]);
}

#[test]
fn what_is_no_function_stays_as_it_is() {
    let no_function =
        "`#[gadget]` belongs on a function; a type implements the trait `gadgetry::Gadget` instead";
    for (item, message) in [
        (
            "#[derive(Debug)] pub struct Ring { fn_: fn(u8) }",
            no_function,
        ),
        ("const RING: fn() = ring;", no_function),
        ("impl Ring { fn ring() {} }", no_function),
        ("fn ring();", "a gadget is a function with a body"),
    ] {
        let item = tokens(item);
        let expected = quote!(::core::compile_error!{ #message } #item);
        let written = gadget_tokens(tokens(""), &item);
        assert_eq!(written.to_string(), expected.to_string());
    }
}

#[test]
fn the_function_loses_only_what_the_macro_owns() {
    let function = r#"#[inline] /// Rings.
        pub(crate) async fn ring(#[doc = "How often"] #[serde(rename = "n")] #[allow(unused)] mut times: u8) -> u8 { times }"#;
    let function = Function::parse(tokens(function)).expect("a function");
    let expected = r"#[inline] /// Rings.
        pub(crate) async fn ring(#[allow(unused)] mut times: u8) -> u8 { times }";
    assert_eq!(quote!(#function).to_string(), tokens(expected).to_string());
    assert_eq!(function.parameters[0].field.len(), 2);
}
