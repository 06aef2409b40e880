//! What functions return, as the expansion of `#[gadget]` turns it into results.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use gadgetry::__private::into_result;
use gadgetry::{GadgetError, GadgetOutput};
use serde::Serialize;
use serde_json::json;

fn shown(result: Result<GadgetOutput, GadgetError>) -> String {
    match result {
        Ok(output) => format!("ok {}", output.text()),
        Err(error) => format!("error {error}"),
    }
}

/// An error with a cause.
#[derive(Debug)]
struct Late(std::num::ParseIntError);

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the train is late")
    }
}

impl Error for Late {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

fn late() -> Late {
    Late("x".parse::<u8>().unwrap_err())
}

/// Both `Serialize` and an error: `Result<_, Both>` is `Serialize` itself.
#[derive(Debug, Serialize)]
struct Both;

impl fmt::Display for Both {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("both")
    }
}

impl Error for Both {}

/// `Display` and `Serialize`, but no error.
#[derive(Serialize)]
struct Words(&'static str);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "words: {}", self.0)
    }
}

#[derive(Serialize)]
struct Forecast {
    city: &'static str,
    degrees: f32,
}

fn forecast() -> Forecast {
    Forecast {
        city: "Oslo",
        degrees: 0.1,
    }
}

#[derive(Serialize)]
struct Unit;

/// `impl Serialize` has no name.
fn nameless() -> impl Serialize {
    [true, false]
}

/// Neither `Serialize` nor `Sync`, but it becomes an output.
struct Own(std::cell::Cell<u8>);

impl From<Own> for GadgetOutput {
    fn from(own: Own) -> Self {
        GadgetOutput::new(format!("own {}", own.0.get()))
    }
}

#[test]
fn whatever_a_function_returns_is_a_result() {
    macro_rules! check {
        ($($value:expr, $type:ty => $shown:expr;)*) => { $({
            let value: $type = $value;
            assert_eq!(shown(into_result!(value)), $shown, "{}", stringify!($value));
        })* };
    }
    check! {
        (), () => "ok ";
        Unit, Unit => "ok ";
        None, Option<u8> => "ok null";
        Some("a"), Option<&str> => "ok a";
        "a \"quoted\" line\nand \\ another", &'static str => "ok a \"quoted\" line\nand \\ another";
        String::from("text"), String => "ok text";
        'c', char => "ok c";
        5, u8 => "ok 5";
        0.1, f32 => "ok 0.1";
        38.0, f64 => "ok 38";
        -2.0, f32 => "ok -2";
        Some(38.0), Option<f64> => "ok 38";
        json!(38.0), serde_json::Value => "ok 38";
        f64::NAN, f64 => "ok null";
        vec![1.0, 2.5], Vec<f64> => "ok [1.0,2.5]";
        "38.0", &'static str => "ok 38.0";
        true, bool => "ok true";
        vec!["a", "b"], Vec<&str> => r#"ok ["a","b"]"#;
        json!({ "z": 1, "a": null }), serde_json::Value => r#"ok {"z":1,"a":null}"#;
        json!("text"), serde_json::Value => "ok text";
        forecast(), Forecast => r#"ok {"city":"Oslo","degrees":0.1}"#;
        GadgetOutput::new("made"), GadgetOutput => "ok made";
        Own(7.into()), Own => "ok own 7";
        Ok(Own(7.into())), Result<Own, String> => "ok own 7";

        Ok(5), Result<u8, String> => "ok 5";
        Err("plain".to_owned()), Result<u8, String> => "error plain";
        Err("borrowed"), Result<(), &'static str> => "error borrowed";
        Ok(()), Result<(), Late> => "ok ";
        Err(late()), Result<(), Late> => "error the train is late: invalid digit found in string";
        Err(Both), Result<u8, Both> => "error both";
        Ok(1), Result<u8, Both> => "ok 1";
        Err(Words("w")), Result<u8, Words> => "error words: w";
        Err(GadgetError::new("own")), Result<GadgetOutput, GadgetError> => "error own";
        Ok(GadgetOutput::new("made")), Result<GadgetOutput, GadgetError> => "ok made";
        Err(Box::new(late())), Result<u8, Box<dyn Error + Send + Sync>> => "error the train is late: invalid digit found in string";
        Err("boxed".into()), Result<u8, Box<dyn Error>> => "error boxed";
        Err(Box::new(late())), Result<u8, Box<Late>> => "error the train is late: invalid digit found in string";
    }
    assert_eq!(shown(into_result!(nameless())), "ok [true,false]");
}

#[test]
fn a_value_that_json_cannot_express_is_an_error() {
    let map = BTreeMap::from([(vec![1], 2)]);
    let output = GadgetOutput::from(map);
    assert_eq!(
        output.text(),
        "The result cannot be written as JSON: key must be a string"
    );
}
