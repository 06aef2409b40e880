//! What is said about a function that is no gadget, and what is written beside one that is. How it compiles and runs is
//! tested where the runtime is: `gadgetry/tests/macro_gadgets.rs` and `gadgetry/tests/ui`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Item, parse_quote};

use crate::ast::Function;
use crate::attr::{DefaultValue, Options};
use crate::mistakes::Mistakes;
use crate::valid::{Gadget, Input};

/// What is read of a gadget, and what is said about it.
fn read(arguments: TokenStream, item: TokenStream) -> (Gadget, Vec<String>) {
    let function = Function::parse(item).expect("a function");
    let mut mistakes = Mistakes::default();
    let options = Options::parse(arguments, &mut mistakes);
    let gadget = Gadget::check(&function, options, &mut mistakes);
    let said = mistakes.into_error().into_iter().flatten();
    (gadget, said.map(|it| it.to_string()).collect())
}

/// `arguments` on a flawless function are the cause of exactly these mistakes.
fn check_arguments(arguments: TokenStream, expected: &[&str]) {
    let text = arguments.to_string();
    let (_, said) = read(
        arguments,
        quote!(
            #[doc = "Rings."]
            fn ring() {}
        ),
    );
    assert_eq!(said, expected, "{text}");
}

/// A function, under flawless arguments, has exactly these mistakes.
fn check_function(function: TokenStream, expected: &[&str]) {
    let text = function.to_string();
    let (_, said) = read(quote!(description = "Rings."), function);
    assert_eq!(said, expected, "{text}");
}

#[test]
fn all_arguments_are_read() {
    let arguments = quote! {
        name = "bell", description = " Rings. ", timeout = "1.5s", max_concurrent = 2, exclusive,
        example(params = {"times": 1}, output = "ding", comment = "Once"), example(params = {}),
    };
    let (gadget, said) = read(
        arguments,
        quote!(
            #[doc = "Not this."]
            fn ring() {}
        ),
    );
    assert_eq!(said, [""; 0]);
    assert_eq!(gadget.type_name.expect("a name"), "Ring");
    assert_eq!(
        (gadget.name.as_str(), gadget.description.as_str()),
        ("bell", "Rings.")
    );
    let options = gadget.options;
    assert_eq!(options.timeout_ms, Some(1500));
    assert_eq!(options.max_concurrent, Some(2));
    assert!(options.exclusive);
    let [once, bare] = options.examples.as_slice() else {
        panic!("not two examples");
    };
    assert_eq!(once.params.to_string(), quote!({"times": 1}).to_string());
    assert_eq!(once.output.as_ref().expect("output").value(), "ding");
    assert_eq!(once.comment.as_ref().expect("comment").value(), "Once");
    assert!(bare.output.is_none() && bare.comment.is_none());
}

#[test]
fn arguments_have_right_forms() {
    const KNOWN: &str = "`#[gadget]` knows `name`, `description`, `timeout`, `max_concurrent`, `exclusive`, `example`";
    let unknown = format!("unknown argument `speed`: {KNOWN}");
    let timeout = "a timeout is a text like \"500ms\", \"10s\" or \"2m\", or a whole number of milliseconds, and more than nothing";
    let count = "`max_concurrent` is a whole number, 1 or more";
    check_arguments(quote!(), &[]);
    check_arguments(quote!(timeout = 250), &[]);
    check_arguments(quote!(timeout = "2m",), &[]);
    for wrong in [
        quote!("10"),
        quote!(0),
        quote!("0s"),
        quote!(-1),
        quote!(1.5),
        quote!(LONG),
    ] {
        check_arguments(quote!(timeout = #wrong), &[timeout]);
    }
    for wrong in [quote!("2"), quote!(0), quote!(-1), quote!(99999999999)] {
        check_arguments(quote!(max_concurrent = #wrong), &[count]);
    }
    check_arguments(quote!(speed = Map::<A, B>::new()), &[&unknown]);
    check_arguments(quote!(speed), &[&unknown]);
    check_arguments(quote!(speed(1, 2)), &[&unknown]);
    check_arguments(quote!(speed = {"a": 1}), &[&unknown]);
    check_arguments(quote!("ring"), &[KNOWN]);
    check_arguments(
        quote!(exclusive, exclusive),
        &["`exclusive` is given twice"],
    );
    check_arguments(
        quote!(exclusive = true),
        &["`exclusive` takes no value: `exclusive`"],
    );
    check_arguments(
        quote!(timeout),
        &[r#"`timeout` needs a value: `timeout = "10s"`"#],
    );
    check_arguments(
        quote!(timeout =),
        &[r#"`timeout` needs a value: `timeout = "10s"`"#],
    );
    check_arguments(
        quote!(name = 3),
        &[r#"`name` is a string literal: `name = "Weather"`"#],
    );
    check_arguments(quote!(name = "a" "b"), &["expected `,`"]);
    for wrong in ["a b", "a:b", "a\tb"] {
        check_arguments(
            quote!(name = #wrong),
            &["a gadget's name has no `:`, white space or control character"],
        );
    }
    check_arguments(
        quote!(name = ""),
        &["a gadget has a name; without `name` it is that of its type"],
    );
}

#[test]
fn examples_have_right_forms() {
    check_arguments(
        quote!(example),
        &[r#"`example` needs parentheses: `example(params = {"city": "Paris"}, output = "21°C")`"#],
    );
    check_arguments(
        quote!(example()),
        &[
            r#"an example needs its parameters: `example(params = {"city": "Paris"}, output = "21°C")`"#,
        ],
    );
    check_arguments(
        quote!(example(params = 3, output = 4, note = "x", comment = "c")),
        &[
            r#"`params` is a JSON object: `params = {"city": "Paris"}`"#,
            r#"`output` is a string literal: `output = "21°C"`"#,
            "unknown argument `note`: an example knows `params`, `output`, `comment`",
        ],
    );
}

#[test]
fn one_mistake_does_not_hide_the_next() {
    check_arguments(
        quote!(
            timeout = "soon",
            max_concurrent = 0,
            speed = 3,
            exclusive = 1,
            name = "a b",
            timeout = 1
        ),
        &[
            "a timeout is a text like \"500ms\", \"10s\" or \"2m\", or a whole number of milliseconds, and more than nothing",
            "`max_concurrent` is a whole number, 1 or more",
            "unknown argument `speed`: `#[gadget]` knows `name`, `description`, `timeout`, `max_concurrent`, `exclusive`, `example`",
            "`exclusive` takes no value: `exclusive`",
            "`timeout` is given twice",
            "a gadget's name has no `:`, white space or control character",
        ],
    );
}

#[test]
fn a_function_can_be_called_with_what_a_model_writes() {
    let borrowed = |owned: &str| {
        format!("an argument is made for the call, so it cannot be borrowed; take {owned}")
    };
    let unnamed =
        "an argument needs a type that can be named: the model must be told what to write";
    let pattern = "an argument is a plain name, for the model; take it apart in the body";
    check_function(
        quote!(
            pub(crate) async fn ring(mut a: u8, b: Vec<Option<String>>) -> u8 {}
        ),
        &[],
    );
    check_function(
        quote!(
            fn ring(a: &str) {}
        ),
        &[&borrowed("`String`")],
    );
    check_function(
        quote!(
            fn ring(a: Option<&'static str>) {}
        ),
        &[&borrowed("`String`")],
    );
    check_function(
        quote!(
            fn ring(a: &[u8]) {}
        ),
        &[&borrowed("a `Vec`")],
    );
    check_function(
        quote!(
            fn ring(a: &u8, b: &u8) {}
        ),
        &[borrowed("an owned type").as_str(); 2],
    );
    check_function(
        quote!(
            fn ring(a: Cow<'_, str>) {}
        ),
        &["an argument is made for the call, so it has no lifetime"],
    );
    check_function(
        quote!(
            fn ring(a: Cow<'static, str>) {}
        ),
        &[],
    );
    check_function(
        quote!(
            fn ring(a: impl Into<&str>, b: Vec<impl Copy>) {}
        ),
        &[unnamed; 2],
    );
    check_function(
        quote!(
            fn ring((a, b): (u8, u8), ref c: u8, d @ 1: u8) {}
        ),
        &[pattern; 3],
    );
    check_function(
        quote!(
            fn ring(_: u8) {}
        ),
        &["an argument needs a name, for the model"],
    );
    check_function(
        quote!(
            fn ring(#[cfg(unix)] a: u8) {}
        ),
        &["an argument cannot be conditional; make the whole gadget so"],
    );
    check_function(
        quote!(
            fn ring(
                #[gadget(defualt)] a: u8,
                #[gadget(default)]
                #[gadget(default)]
                b: u8,
            ) {
            }
        ),
        &[
            "unknown argument `defualt`: `#[gadget]` on a parameter knows `default`",
            "a parameter has one `#[gadget(…)]` at most",
        ],
    );
    check_function(
        quote!(
            fn ring(#[gadget(default =)] a: u8) {}
        ),
        &["`default` needs a value: `default = 3`"],
    );
}

#[test]
fn a_function_stands_alone() {
    let generics = "a gadget has no generics: the model must be told the types of its arguments";
    check_function(
        quote!(
            fn ring(&self) {}
        ),
        &[
            "a gadget is a free function; a type with state implements the trait `gadgetry::Gadget` instead",
        ],
    );
    check_function(
        quote!(
            fn ring<'a, T: Copy, const N: usize>(a: T) {}
        ),
        &[generics],
    );
    check_function(
        quote!(
            fn ring()
            where
                u8: Copy,
            {
            }
        ),
        &["a gadget has no generics, so nothing to say about them"],
    );
    check_function(
        quote!(
            const unsafe extern "C" fn ring() {}
        ),
        &[
            "a gadget cannot be `const`",
            "a gadget cannot be `unsafe`",
            "a gadget cannot be `extern`",
        ],
    );
    check_function(
        quote!(
            fn Ring() {}
        ),
        &["the gadget's type is called `Ring`; name the function in snake_case"],
    );
    for nameless in [quote!(__), quote!(_2)] {
        check_function(
            quote!(fn #nameless() {}),
            &["no type can be named after this function; give it a name like `get_weather`"],
        );
    }
}

#[test]
fn a_context_is_no_argument() {
    check_function(
        quote!(
            fn ring(context: ExecutionContext) {}
        ),
        &[],
    );
    check_function(
        quote!(
            fn ring(_: &gadgetry::ExecutionContext) {}
        ),
        &[],
    );
    check_function(
        quote!(
            fn ring(a: ExecutionContext, b: &ExecutionContext) {}
        ),
        &["a gadget is given one `ExecutionContext`"],
    );
    check_function(
        quote!(
            fn ring(
                #[doc = "Fine."]
                #[serde(skip)]
                #[gadget(default)]
                a: ExecutionContext,
            ) {
            }
        ),
        &["the context is no argument of the model, so it has no attributes"; 2],
    );
    check_function(
        quote!(
            fn ring(a: &mut ExecutionContext) {}
        ),
        &[
            "an argument is made for the call, so it cannot be borrowed; take `ExecutionContext` or `&ExecutionContext`",
        ],
    );
    let (gadget, _) = read(
        quote!(description = "Rings."),
        quote!(
            fn ring(#[gadget(default)] a: u8, c: &ExecutionContext, #[gadget(default = 3)] b: u8) {}
        ),
    );
    let inputs = gadget.inputs.iter().map(|input| match input {
        Input::Context { by_reference } => format!("context {by_reference}"),
        Input::Argument(argument) => {
            let default = match &argument.default {
                None => "required".to_owned(),
                Some(DefaultValue::OfType) => "default".to_owned(),
                Some(DefaultValue::Value(value)) => quote!(#value).to_string(),
            };
            format!("{} {default}", argument.name)
        }
    });
    assert_eq!(
        inputs.collect::<Vec<_>>(),
        ["a default", "context true", "b 3"]
    );
}

#[test]
fn a_gadget_has_a_description() {
    let (_, said) = read(
        quote!(),
        quote!(
            #[doc = "  "]
            fn ring() {}
        ),
    );
    let missing = "a gadget needs a description, for the model: write a doc comment that says what it does and when to use it, or `description = \"…\"`";
    assert_eq!(said, [missing]);
    let (_, said) = read(
        quote!(description = " "),
        quote!(
            #[doc = "Rings."]
            fn ring() {}
        ),
    );
    assert_eq!(said, [missing]);
}

#[test]
fn what_is_no_function_stays_as_it_is() {
    for (item, message) in [
        (
            quote!(
                #[derive(Debug)]
                pub struct Ring {
                    times: u8,
                }
            ),
            "`#[gadget]` belongs on a function; a type implements the trait `gadgetry::Gadget` instead",
        ),
        (
            quote!(
                const RING: u8 = 1;
            ),
            "`#[gadget]` belongs on a function; a type implements the trait `gadgetry::Gadget` instead",
        ),
        (
            quote!(
                fn ring();
            ),
            "a gadget is a function with a body",
        ),
    ] {
        let written = crate::gadget_tokens(quote!(), item.clone());
        let expected = quote!(::core::compile_error!{ #message } #item);
        assert_eq!(written.to_string(), expected.to_string());
    }
}

/// The names of the items that are written for a function.
fn items(arguments: TokenStream, function: TokenStream) -> Vec<String> {
    let file: syn::File = syn::parse2(crate::gadget_tokens(arguments, function)).expect("items");
    let name = |item: &Item| match item {
        Item::Fn(item) => format!("fn {}", item.sig.ident),
        Item::Struct(item) => format!("struct {}", item.ident),
        Item::Impl(_) => "impl".to_owned(),
        Item::Const(item) => format!("const {}", item.ident),
        Item::Macro(item) => item
            .mac
            .path
            .segments
            .last()
            .map(|it| it.ident.to_string())
            .unwrap_or_default(),
        other => panic!("{}", quote!(#other)),
    };
    file.items.iter().map(name).collect()
}

#[test]
fn a_function_keeps_its_gadget_whatever_its_mistakes() {
    let ring = quote!(
        #[doc = "Rings."]
        pub fn ring() {}
    );
    assert_eq!(
        items(quote!(), ring.clone()),
        ["fn ring", "struct Ring", "const _"]
    );
    assert_eq!(
        items(quote!(speed, timeout), ring),
        [
            "compile_error",
            "compile_error",
            "fn ring",
            "struct Ring",
            "impl"
        ]
    );
    assert_eq!(
        items(
            quote!(description = "Rings."),
            quote!(
                fn Ring() {}
            )
        ),
        ["compile_error", "fn Ring"]
    );
}

#[test]
fn the_function_loses_only_what_the_macro_owns() {
    let function: TokenStream = parse_quote! {
        #[inline] #[doc = "Rings."]
        pub(crate) async fn ring(#[doc = "How often"] #[serde(rename = "n")] #[allow(unused)] mut times: u8) -> u8 { times }
    };
    let function = Function::parse(function).expect("a function");
    let expected = quote! {
        #[inline] #[doc = "Rings."]
        pub(crate) async fn ring(#[allow(unused)] mut times: u8) -> u8 { times }
    };
    assert_eq!(quote!(#function).to_string(), expected.to_string());
    assert_eq!(function.parameters[0].field.len(), 2);
}
