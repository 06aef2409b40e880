//! Every pattern of parameters: what the model is told, what is refused, and what the gadget gets.

use std::collections::{BTreeMap, HashMap};

use gadgetry::NoParams;
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::Deserialize;

use crate::support::check;

macro_rules! params {
    ($($item:item)*) => { $(
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(crate = "gadgetry::serde")]
        #[schemars(crate = "gadgetry::schemars")]
        #[allow(dead_code, reason = "the fields are read by their Debug")]
        $item
    )* };
}

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

    struct Optional {
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
    struct User {
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

    struct Settings {
        theme: Theme,
    }

    #[serde(rename_all = "lowercase")]
    enum Theme {
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

    struct Maps {
        env: HashMap<String, String>,
        counts: BTreeMap<String, u8>,
        users: BTreeMap<String, User>,
        anything: gadgetry::serde_json::Value,
    }

    struct Unions {
        shape: Shape,
        event: Event,
        id: Id,
        plain: Plain,
    }

    /// A shape
    #[serde(tag = "kind", rename_all = "lowercase")]
    enum Shape {
        /// Round
        Circle { radius: f64 },
        Square { side: f64 },
    }

    #[serde(tag = "type", content = "data", rename_all = "lowercase")]
    enum Event {
        Key(String),
        Click { x: i32, y: i32 },
        Quit,
    }

    #[serde(untagged)]
    enum Id {
        Number(u64),
        Name(String),
    }

    #[serde(rename_all = "lowercase")]
    enum Plain {
        Nothing,
        Wait { seconds: u8 },
    }

    /// A tagged enum may be the parameters themselves.
    #[serde(tag = "action", rename_all = "lowercase")]
    enum Actions {
        /// Opens a page
        Open {
            /// Where it is
            url: String,
        },
        Close,
    }

    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Strict {
        #[serde(rename = "type")]
        kind: String,
        long_name: bool,
        #[serde(skip)]
        inner: u8,
    }

    struct Flat {
        id: u8,
        #[serde(flatten)]
        settings: Settings,
    }

    struct Tree {
        name: String,
        #[serde(default)]
        children: Vec<Tree>,
    }

    struct Newtypes {
        id: Newtype,
        boxed: Box<Newtype>,
        /// Its own words
        shown: Newtype,
    }

    /// What an id is
    struct Newtype(u16);
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
                "number: expected number, got string \"one\"\nwhole: expected integer, got number 1.5\ntruth: expected boolean, got string \"yes\"\nchoice: expected one of \"option1\", \"option-two\", got string \"option3\"",
            ),
        ],
    );
}

#[test]
fn optional_fields() {
    check::<Optional>(
        &[
            "- required (string; required)",
            "- optional (string or null; optional)",
            "- also (integer or null; optional; 0 to 255)",
            "- with_default (string; optional; default default)",
            "- units (one of celsius | fahrenheit; optional; default celsius)",
        ],
        &[
            (
                &[("required", "r")],
                r#"Optional { required: "r", optional: None, also: None, with_default: "default", units: Celsius }"#,
            ),
            (
                &[
                    ("required", "r"),
                    ("optional", "o"),
                    ("also", "null"),
                    ("with_default", "w"),
                    ("units", "fahrenheit"),
                ],
                r#"Optional { required: "r", optional: Some("o"), also: None, with_default: "w", units: Fahrenheit }"#,
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
            "    - rows/0/age (integer or null; optional; at least 0)",
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
                "numbers.0: expected number, got string \"x\"\npair: must have at least 2 items\nrows: must have at least 1 item",
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
            "  - user/age (integer or null; optional; at least 0)",
            "- settings (object; required): Account creation options",
            "  - settings/theme (one of light | dark; required)",
            "- settings_of_guests (object or null; optional)",
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
                "settings.theme: expected one of \"light\", \"dark\", got string \"dim\"\nsettings_of_guests.theme: expected one of \"light\", \"dark\", got string \"dim\"",
            ),
        ],
    );
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
            r#"- date (string; required; matches ^\d{4}-\d{2}-\d{2}$)"#,
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
                "city: must have at most 5 characters, got string \"Warsaw\"\ndate: must match the pattern ^\\d{4}-\\d{2}-\\d{2}$, got string \"tomorrow\"\nmail: must be a valid email, got string \"nobody\"\npage: must be a valid uri, got string \"nowhere\"\nshare: must be more than 0, got 0\nstep: must be a multiple of 5, got 7\nsmall: must be at most 127, got 128\nwide: must be at least 0, got -1\nletter: must have at most 1 character, got string \"xy\"",
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
                "serde: Error: Invalid parameters for 'Probe':\n  - wide: invalid value: integer `4294967296`, expected u32",
            ),
        ],
    );
}

#[test]
fn maps() {
    check::<Maps>(
        &[
            "- env (map of string; required)",
            "- counts (map of integer; required)",
            "  - counts/<key> (each value: integer; 0 to 255)",
            "- users (map of object; required)",
            "  - users/<key> (each value: object): A user",
            "    - users/<key>/name (string; required): Full name of the user",
            "    - users/<key>/age (integer or null; optional; at least 0)",
            "- anything (any value; required)",
        ],
        &[
            (
                &[
                    ("env/HOME", "/root"),
                    ("counts/a", "1"),
                    ("users/x/name", "Ada"),
                    ("anything", "[1]"),
                ],
                r#"Maps { env: {"HOME": "/root"}, counts: {"a": 1}, users: {"x": User { name: "Ada", age: None }}, anything: String("[1]") }"#,
            ),
            (
                &[
                    ("env", "{}"),
                    ("counts/a", "256"),
                    ("users/x/age", "1"),
                    ("anything", "{}"),
                ],
                "counts.a: must be at most 255, got 256\nusers.x.name: expected string, but it is missing",
            ),
        ],
    );
}

#[test]
fn enums_with_data() {
    check::<Unions>(
        &[
            "- shape (object; required): A shape",
            "  - either (object): Round",
            "    - shape/kind (always circle; required)",
            "    - shape/radius (number; required)",
            "  - either (object)",
            "    - shape/kind (always square; required)",
            "    - shape/side (number; required)",
            "- event (object; required)",
            "  - either (object)",
            "    - event/type (always key; required)",
            "    - event/data (string; required)",
            "  - either (object)",
            "    - event/type (always click; required)",
            "    - event/data (object; required)",
            "      - event/data/x (integer; required)",
            "      - event/data/y (integer; required)",
            "  - either (object)",
            "    - event/type (always quit; required)",
            "- id (integer or string; required)",
            "  - either (integer; at least 0)",
            "- plain (always nothing or object; required)",
            "  - either (always nothing)",
            "  - either (object)",
            "    - plain/wait (object; required)",
            "      - plain/wait/seconds (integer; required; 0 to 255)",
        ],
        &[
            (
                &[
                    ("shape/kind", "circle"),
                    ("shape/radius", "2"),
                    ("event/type", "click"),
                    ("event/data/x", "1"),
                    ("event/data/y", "2"),
                    ("id", "42"),
                    ("plain", "nothing"),
                ],
                "Unions { shape: Circle { radius: 2.0 }, event: Click { x: 1, y: 2 }, id: Number(42), plain: Nothing }",
            ),
            (
                &[
                    ("shape/kind", "square"),
                    ("shape/side", "2"),
                    ("event/type", "quit"),
                    ("id", "x42"),
                    ("plain/wait/seconds", "3"),
                ],
                r#"Unions { shape: Square { side: 2.0 }, event: Quit, id: Name("x42"), plain: Wait { seconds: 3 } }"#,
            ),
            (
                &[
                    ("shape/kind", "circle"),
                    ("shape/side", "2"),
                    ("event/type", "key"),
                    ("event/data", "7"),
                    ("id", "true"),
                    ("plain", "something"),
                ],
                "shape.radius: expected number, but it is missing\nplain: fits none of the admitted forms of string or object, got string \"something\"",
            ),
        ],
    );
}

#[test]
fn a_tagged_enum_as_parameters() {
    check::<Actions>(
        &[
            "- either (object): Opens a page",
            "  - action (always open; required)",
            "  - url (string; required): Where it is",
            "- either (object)",
            "  - action (always close; required)",
        ],
        &[
            (
                &[("action", "open"), ("url", "https://example.com")],
                r#"Open { url: "https://example.com" }"#,
            ),
            (&[("action", "close")], "Close"),
            (
                &[("action", "open")],
                "url: expected string, but it is missing",
            ),
            (
                &[("action", "shut")],
                r#"action: expected one of "open", "close", got string "shut""#,
            ),
            (
                &[],
                r#"action: expected one of "open", "close", but it is missing"#,
            ),
        ],
    );
}

#[test]
fn attributes_of_serde() {
    check::<Strict>(
        &[
            "- type (string; required)",
            "- longName (boolean; required)",
        ],
        &[
            (
                &[("type", "t"), ("longName", "true")],
                r#"Strict { kind: "t", long_name: true, inner: 0 }"#,
            ),
            (
                &[("type", "t"), ("long_name", "true")],
                "longName: expected boolean, but it is missing\nlong_name: there is no such parameter",
            ),
        ],
    );
    check::<Flat>(
        &[
            "- id (integer; required; 0 to 255)",
            "- theme (one of light | dark; required)",
        ],
        &[
            (
                &[("id", "1"), ("theme", "light")],
                "Flat { id: 1, settings: Settings { theme: Light } }",
            ),
            (
                &[("id", "1")],
                r#"theme: expected one of "light", "dark", but it is missing"#,
            ),
        ],
    );
    check::<Newtypes>(
        &[
            "- id (integer; required; 0 to 65535): What an id is",
            "- boxed (integer; required; 0 to 65535): What an id is",
            "- shown (integer; required; 0 to 65535): Its own words",
        ],
        &[
            (
                &[("id", "1"), ("boxed", "2"), ("shown", "3")],
                "Newtypes { id: Newtype(1), boxed: Newtype(2), shown: Newtype(3) }",
            ),
            (
                &[("id", "-1"), ("boxed", "65536"), ("shown", "x")],
                "id: must be at least 0, got -1\nboxed: must be at most 65535, got 65536\nshown: expected integer, got string \"x\"",
            ),
        ],
    );
    check::<NoParams>(
        &[],
        &[
            (&[], "NoParams"),
            (&[("x", "1")], "x: there is no such parameter"),
        ],
    );
    check::<BTreeMap<String, bool>>(
        &["- <key> (each value: boolean)"],
        &[
            (&[("a", "true")], r#"{"a": true}"#),
            (&[("a", "1")], r#"a: expected boolean, got string "1""#),
        ],
    );
    check::<BTreeMap<u8, bool>>(
        &[r#"- <key matching ^\\d+$> (each value: boolean)"#],
        &[
            (&[("7", "true")], "{7: true}"),
            (
                &[("256", "true")],
                "serde: Error: Invalid parameters for 'Probe':\n  - 256: invalid value: integer `256`, expected u8",
            ),
            (&[("a", "true")], "a: there is no such parameter"),
        ],
    );
}

#[test]
fn a_type_that_holds_itself() {
    check::<Tree>(
        &[
            "- name (string; required)",
            "- children (array; optional)",
            "  - children/0 (each item: object like all parameters together)",
        ],
        &[
            (
                &[
                    ("name", "root"),
                    ("children/0/name", "a"),
                    ("children/0/children/0/name", "b"),
                ],
                r#"Tree { name: "root", children: [Tree { name: "a", children: [Tree { name: "b", children: [] }] }] }"#,
            ),
            (
                &[("name", "root"), ("children/0/children/0/nome", "b")],
                "children.0.name: expected string, but it is missing\nchildren.0.children.0.name: expected string, but it is missing",
            ),
        ],
    );
}
