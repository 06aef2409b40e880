//! The function, its parameters and their attributes.

use quote::quote;

use super::read;
use crate::attr::DefaultValue;
use crate::valid::Input;

const UNNAMED: &str =
    "an argument needs a type that can be named: the model needs to know what to write";
const PATTERN: &str = "an argument is a plain name, for the model; take it apart in the body";
const LIFETIME: &str = "an argument is made for the call, so it has no lifetime";
const GENERICS: &str =
    "a gadget has no generics: the model needs to know the types of its arguments";
const NAMELESS: &str =
    "no type can be named after this function; give it a name like `get_weather`";
const DESCRIPTION: &str = "a gadget needs a description, for the model: write a doc comment that says what it does \
     and when to use it, or `description = \"…\"`";
const CONTEXT: &str = "the context is not an argument of the model, so it has no attributes";

/// A function, under flawless arguments, has exactly these mistakes.
fn check(function: &str, expected: &[&str]) {
    let (_, said) = read("description = \"Rings.\"", function);
    assert_eq!(said, expected, "{function}");
}

fn borrowed(owned: &str) -> String {
    format!("an argument is made for the call, so it cannot be borrowed; take {owned}")
}

#[test]
fn arguments_are_named_and_owned() {
    for flawless in [
        "fn ring() {}",
        "pub(crate) async fn ring(mut a: u8, b: Vec<Option<String>>) -> u8 { a }",
        "fn ring(r#type: u8, a: Cow<'static, str>) {}",
    ] {
        check(flawless, &[]);
    }
    for (parameter, mistake) in [
        ("a: &str", borrowed("`String`").as_str()),
        ("a: Option<&'static str>", &borrowed("`String`")),
        ("a: &'a [u8]", &borrowed("a `Vec`")),
        ("a: &u8", &borrowed("an owned type")),
        ("a: Cow<'_, str>", LIFETIME),
        ("a: impl Into<&str>", UNNAMED),
        ("a: Vec<impl Copy>", UNNAMED),
        ("(a, b): (u8, u8)", PATTERN),
        ("ref a: u8", PATTERN),
        ("a @ 1: u8", PATTERN),
        ("_: u8", "an argument needs a name, for the model"),
        (
            "#[cfg(unix)] a: u8",
            "an argument cannot be conditional; make the whole gadget conditional",
        ),
        (
            "#[gadget(defualt)] a: u8",
            "unknown argument `defualt`: `#[gadget]` on a parameter knows `default`, `with`",
        ),
        (
            "#[gadget(default =)] a: u8",
            "`default` needs a value: `default = 3`",
        ),
        (
            "#[gadget(default)] #[gadget(default)] a: u8",
            "a parameter has one `#[gadget(…)]` at most",
        ),
    ] {
        check(&format!("fn ring({parameter}) {{}}"), &[mistake]);
        check(
            &format!("fn ring({parameter}, z: u8, {parameter}) {{}}"),
            &[mistake; 2],
        );
    }
}

#[test]
fn gadgets_are_free_functions_without_generics() {
    for (function, expected) in [
        (
            "fn ring(&self) {}",
            &[
                "a gadget is a free function; for methods, put `#[gadgets]` on the impl block in place of `#[gadget]`",
            ][..],
        ),
        ("fn ring<'a, T: Copy, const N: usize>(a: T) {}", &[GENERICS]),
        (
            "fn ring() where u8: Copy {}",
            &["a gadget has no generics, so no `where` clause"],
        ),
        (
            "const unsafe extern \"C\" fn ring() {}",
            &[
                "a gadget cannot be `const`",
                "a gadget cannot be `unsafe`",
                "a gadget cannot be `extern`",
            ],
        ),
        (
            "fn Ring() {}",
            &["the gadget's type is called `Ring`; name the function in snake_case"],
        ),
        ("fn __() {}", &[NAMELESS]),
        ("fn _2() {}", &[NAMELESS]),
    ] {
        check(function, expected);
    }
}

#[test]
fn a_context_is_no_argument() {
    for (parameters, expected) in [
        ("context: ExecutionContext", &[][..]),
        ("_: &gadgetry::ExecutionContext", &[]),
        (
            "a: ExecutionContext, b: &ExecutionContext",
            &["a gadget is given one `ExecutionContext`"],
        ),
        (
            "#[doc = \"Fine.\"] #[serde(skip)] #[gadget(default)] a: ExecutionContext",
            &[CONTEXT; 2],
        ),
        (
            "a: &mut ExecutionContext",
            &[&borrowed("`ExecutionContext` or `&ExecutionContext`")],
        ),
    ] {
        check(&format!("fn ring({parameters}) {{}}"), expected);
    }
}

#[test]
fn a_value_of_the_run_is_no_argument() {
    let shared = "a value of the run is shared by its calls: take `&T`, where `T` is the type that was given to `.with(…)`";
    let bare = "a value of the run is not an argument of the model, so it has no other attributes";
    for (parameters, expected) in [
        ("#[gadget(with)] db: &Db", &[][..]),
        ("/// Fine.\n #[gadget(with)] _: &dyn Store", &[]),
        ("#[gadget(with)] db: Db", &[shared]),
        ("#[gadget(with)] db: &mut Db", &[shared]),
        ("#[gadget(with)] db: &'static Db", &[shared]),
        ("#[gadget(with)] #[serde(skip)] db: &Db", &[bare]),
        ("#[gadget(with)] #[gadget(default)] db: &Db", &[bare]),
        (
            "#[gadget(with, default)] a: u8",
            &["a value of the run has no default and no other options: `with`"],
        ),
    ] {
        check(&format!("fn ring({parameters}) {{}}"), expected);
    }
}

#[test]
fn parameters_keep_their_order() {
    let function = "fn ring(#[gadget(default)] a: u8, c: &ExecutionContext, #[gadget(default = 3)] b: u8, #[gadget(with)] v: &app::Db, d: u8) {}";
    let (gadget, _) = read("description = \"Rings.\"", function);
    let inputs = gadget.inputs.iter().map(|input| match input {
        Input::Context { by_reference } => format!("context {by_reference}"),
        Input::Value(ty) => format!("value {}", quote!(#ty)),
        Input::Argument(argument) => {
            let default = match &argument.default {
                None => "required".to_owned(),
                Some(DefaultValue::OfType) => "default".to_owned(),
                Some(DefaultValue::Value(value)) => quote!(#value).to_string(),
            };
            format!("{} {default}", argument.name)
        }
    });
    let inputs: Vec<String> = inputs.collect();
    assert_eq!(
        inputs,
        [
            "a default",
            "context true",
            "b 3",
            "value app :: Db",
            "d required"
        ]
    );
}

#[test]
fn the_type_has_a_name_that_is_free() {
    for (function, expected) in [
        ("get_user", "GetUser"),
        ("r#type", "Type"),
        ("self_", "Self_"),
    ] {
        let (gadget, _) = read("", &format!("fn {function}() {{}}"));
        assert_eq!(gadget.type_name.expect("a name"), expected);
    }
}

#[test]
fn a_gadget_has_a_description() {
    for (arguments, function) in [
        ("", "fn ring() {}"),
        ("", "///  \nfn ring() {}"),
        ("description = \" \"", "/// Rings.\nfn ring() {}"),
    ] {
        let (_, said) = read(arguments, function);
        assert_eq!(said, [DESCRIPTION], "{arguments} {function}");
    }
}
