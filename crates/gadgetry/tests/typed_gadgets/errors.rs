//! What `?` turns into the error of a gadget, and what the model reads then.

use std::error::Error;

use gadgetry::GadgetError;

#[derive(Debug, thiserror::Error)]
#[error("outer")]
struct Outer(#[source] std::num::ParseIntError);

fn check(error: impl Into<GadgetError>, expected: &str) {
    assert_eq!(error.into().to_string(), expected);
}

#[test]
fn errors_boxed_errors_and_texts_become_one() {
    let invalid = || "x".parse::<i32>().unwrap_err();
    check("a text", "a text");
    check("a text".to_owned(), "a text");
    check(std::borrow::Cow::Borrowed("a text"), "a text");
    check(invalid(), "invalid digit found in string");
    check(Outer(invalid()), "outer: invalid digit found in string");
    check(
        Box::<dyn Error + Send + Sync>::from(invalid()),
        "invalid digit found in string",
    );
    check(
        Box::<dyn Error + Send + Sync>::from(Outer(invalid())),
        "outer: invalid digit found in string",
    );
    let error = GadgetError::from(Outer(invalid()));
    assert!(error.downcast_ref::<Outer>().is_some());
}

#[test]
fn a_text_is_enough_for_an_option() {
    fn find(name: &str) -> Result<u8, GadgetError> {
        let found = (name == "Ada").then_some(1);
        Ok(found.ok_or("there is no such entry")?)
    }
    assert_eq!(find("Ada").unwrap(), 1);
    check(find("Eve").unwrap_err(), "there is no such entry");
}
