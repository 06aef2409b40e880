//! Every pattern of parameters: what the model is told, what is refused, and what the gadget gets.

use gadgetry::IntoGadget as _;
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::Deserialize;

use super::support::{Probe, check, params};

params! {
    struct Basic {
        text: String,
        number: f64,
        whole: i64,
        truth: bool,
        choice: Choice,
    }

    #[serde(rename_all = "kebab-case")]
    enum Choice {
        Option1,
        OptionTwo,
    }

    struct MayLack {
        required: String,
        optional: Option<String>,
        #[serde(default)]
        also: Option<u8>,
        #[serde(default = "fallback")]
        with_default: String,
        #[serde(default)]
        units: Units,
    }

    #[derive(Default, gadgetry::serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Units {
        #[default]
        Celsius,
        Fahrenheit,
    }

    struct Arrays {
        items: Vec<String>,
        numbers: Vec<f64>,
        pair: (String, u8),
        #[schemars(length(min = 1, max = 2))]
        rows: Vec<User>,
    }

    /// A user
    pub(crate) struct User {
        /// Full name of the user
        name: String,
        age: Option<u32>,
    }

    struct Nested {
        user: User,
        /// Account creation options
        settings: Settings,
        settings_of_guests: Option<Settings>,
    }

    pub(crate) struct Settings {
        theme: Theme,
    }

    #[serde(rename_all = "lowercase")]
    pub(crate) enum Theme {
        Light,
        Dark,
    }

    struct Described {
        /// Search query - supports wildcards like * and ?
        query: String,
        /// Maximum number of results to return
        #[schemars(range(min = 1, max = 100))]
        limit: u32,
        /// Output format for results
        ///
        /// One line for each.
        format: Format,
        #[schemars(description = "Not a doc comment")]
        other: bool,
    }

    #[serde(rename_all = "lowercase")]
    enum Format {
        /// JavaScript Object Notation
        Json,
        /// One row a line
        Csv,
    }

    struct Bounds {
        #[schemars(length(min = 1, max = 5))]
        city: String,
        #[schemars(regex(pattern = r"^\d{4}-\d{2}-\d{2}$"))]
        date: String,
        #[schemars(email)]
        mail: String,
        #[schemars(url)]
        page: String,
        #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
        share: f32,
        #[schemars(extend("multipleOf" = 5))]
        step: u8,
        small: i8,
        wide: u32,
        letter: char,
    }
}

fn fallback() -> String {
    "default".to_owned()
}

#[test]
fn basic_types() {
    check::<Basic>(
        &[
            "- text (string; required)",
            "- number (number; required)",
            "- whole (integer; required)",
            "- truth (boolean; required)",
            "- choice (one of option1 | option-two; required)",
        ],
        &[
            (
                &[
                    ("text", "007"),
                    ("number", "1.5"),
                    ("whole", "-3"),
                    ("truth", "true"),
                    ("choice", "option-two"),
                ],
                r#"Basic { text: "007", number: 1.5, whole: -3, truth: true, choice: OptionTwo }"#,
            ),
            (
                &[
                    ("text", "x"),
                    ("number", "one"),
                    ("whole", "1.5"),
                    ("truth", "yes"),
                    ("choice", "option3"),
                ],
                "number: expected number, got string \"one\"\n\
                 whole: expected integer, got number 1.5\n\
                 truth: expected boolean, got string \"yes\"\n\
                 choice: expected one of \"option1\", \"option-two\", got string \"option3\"",
            ),
        ],
    );
}

#[test]
fn optional_fields() {
    check::<MayLack>(
        &[
            "- required (string; required)",
            "- optional (string; optional)",
            "- also (integer; optional; 0 to 255)",
            "- with_default (string; optional; default default)",
            "- units (one of celsius | fahrenheit; optional; default celsius)",
        ],
        &[
            (
                &[("required", "r")],
                r#"MayLack { required: "r", optional: None, also: None, with_default: "default", units: Celsius }"#,
            ),
            (
                &[
                    ("required", "r"),
                    ("optional", "o"),
                    ("also", "null"),
                    ("with_default", "w"),
                    ("units", "fahrenheit"),
                ],
                r#"MayLack { required: "r", optional: Some("o"), also: None, with_default: "w", units: Fahrenheit }"#,
            ),
            (
                &[("optional", "o"), ("also", "x")],
                "required: expected string, but it is missing\nalso: expected integer or null, got string \"x\"",
            ),
        ],
    );
}

#[test]
fn arrays() {
    check::<Arrays>(
        &[
            "- items (array of string; required)",
            "- numbers (array of number; required)",
            "- pair (tuple; required; exactly 2 items)",
            "  - pair/0 (string; required)",
            "  - pair/1 (integer; required; 0 to 255)",
            "- rows (array of object; required; 1 to 2 items)",
            "  - rows/0 (each item: object): A user",
            "    - rows/0/name (string; required): Full name of the user",
            "    - rows/0/age (integer; optional; at least 0)",
        ],
        &[
            (
                &[
                    ("items/0", "a"),
                    ("items/1", "2"),
                    ("numbers", "[1, 2.5]"),
                    ("pair/0", "p"),
                    ("pair/1", "1"),
                    ("rows/0/name", "Ada"),
                ],
                r#"Arrays { items: ["a", "2"], numbers: [1.0, 2.5], pair: ("p", 1), rows: [User { name: "Ada", age: None }] }"#,
            ),
            (
                &[
                    ("items/0", "a"),
                    ("numbers/0", "x"),
                    ("pair/0", "p"),
                    ("rows", "[]"),
                ],
                "numbers.0: expected number, got string \"x\"\n\
                 pair: must have at least 2 items\n\
                 rows: must have at least 1 item",
            ),
        ],
    );
}

#[test]
fn nested_objects() {
    check::<Nested>(
        &[
            "- user (object; required): A user",
            "  - user/name (string; required): Full name of the user",
            "  - user/age (integer; optional; at least 0)",
            "- settings (object; required): Account creation options",
            "  - settings/theme (one of light | dark; required)",
            "- settings_of_guests (object; optional)",
            "  - settings_of_guests/theme (one of light | dark; required)",
        ],
        &[
            (
                &[
                    ("user/name", "Ada"),
                    ("user/age", "36"),
                    ("settings/theme", "dark"),
                ],
                r#"Nested { user: User { name: "Ada", age: Some(36) }, settings: Settings { theme: Dark }, settings_of_guests: None }"#,
            ),
            (
                &[
                    ("user/name", "Ada"),
                    ("settings/theme", "dim"),
                    ("settings_of_guests/theme", "dim"),
                ],
                "settings.theme: expected one of \"light\", \"dark\", got string \"dim\"\n\
                 settings_of_guests.theme: expected one of \"light\", \"dark\", got string \"dim\"",
            ),
        ],
    );
}

#[test]
fn types_are_written_where_they_are_used() {
    let gadget = Probe::<Nested>::default().into_gadget();
    let schema = gadget.spec().parameters.to_string();
    let settings = r#""theme":{"type":"string","enum":["light","dark"]}"#;
    assert_eq!(schema.matches(settings).count(), 2, "{schema}");
    assert!(!schema.contains("$ref") && !schema.contains("$schema") && !schema.contains("title"));
}

#[test]
fn descriptions() {
    check::<Described>(
        &[
            "- query (string; required): Search query - supports wildcards like * and ?",
            "- limit (integer; required; 1 to 100): Maximum number of results to return",
            "- format (one of json | csv; required): Output format for results",
            "  One line for each.",
            "  - either (always json): JavaScript Object Notation",
            "  - either (always csv): One row a line",
            "- other (boolean; required): Not a doc comment",
        ],
        &[
            (
                &[
                    ("query", "a*"),
                    ("limit", "100"),
                    ("format", "csv"),
                    ("other", "true"),
                ],
                r#"Described { query: "a*", limit: 100, format: Csv, other: true }"#,
            ),
            (
                &[
                    ("query", "a*"),
                    ("limit", "101"),
                    ("format", "xml"),
                    ("other", "true"),
                ],
                "limit: must be at most 100, got 101\nformat: expected one of \"json\", \"csv\", got string \"xml\"",
            ),
        ],
    );
}

#[test]
fn bounds_patterns_and_formats() {
    check::<Bounds>(
        &[
            "- city (string; required; length 1 to 5)",
            r"- date (string; required; matches ^\d{4}-\d{2}-\d{2}$)",
            "- mail (string; required; format email)",
            "- page (string; required; format uri)",
            "- share (number; required; at most 1.0; more than 0)",
            "- step (integer; required; 0 to 255; multiple of 5)",
            "- small (integer; required; -128 to 127)",
            "- wide (integer; required; at least 0)",
            "- letter (string; required; length exactly 1)",
        ],
        &[
            (
                &[
                    ("city", "Paris"),
                    ("date", "2026-11-21"),
                    ("mail", "a@example.com"),
                    ("page", "https://example.com/"),
                    ("share", "0.5"),
                    ("step", "10"),
                    ("small", "-128"),
                    ("wide", "4294967295"),
                    ("letter", "x"),
                ],
                r#"Bounds { city: "Paris", date: "2026-11-21", mail: "a@example.com", page: "https://example.com/", share: 0.5, step: 10, small: -128, wide: 4294967295, letter: 'x' }"#,
            ),
            (
                &[
                    ("city", "Warsaw"),
                    ("date", "tomorrow"),
                    ("mail", "nobody"),
                    ("page", "nowhere"),
                    ("share", "0"),
                    ("step", "7"),
                    ("small", "128"),
                    ("wide", "-1"),
                    ("letter", "xy"),
                ],
                "city: must have at most 5 characters, got string \"Warsaw\"\n\
                 date: must match the pattern ^\\d{4}-\\d{2}-\\d{2}$, got string \"tomorrow\"\n\
                 mail: must be a valid email, got string \"nobody\"\n\
                 page: must be a valid uri, got string \"nowhere\"\n\
                 share: must be more than 0, got 0\n\
                 step: must be a multiple of 5, got 7\n\
                 small: must be at most 127, got 128\n\
                 wide: must be at least 0, got -1\n\
                 letter: must have at most 1 character, got string \"xy\"",
            ),
            (
                &[
                    ("city", "Paris"),
                    ("date", "2026-11-21"),
                    ("mail", "a@example.com"),
                    ("page", "https://example.com/"),
                    ("share", "0.5"),
                    ("step", "10"),
                    ("small", "1"),
                    ("wide", "4294967296"),
                    ("letter", "x"),
                ],
                "serde: wide: invalid value: integer `4294967296`, expected u32",
            ),
        ],
    );
}
