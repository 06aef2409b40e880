//! Maps, enums with data, and what attributes of serde do: what the model is told, what is refused, and what the gadget
//! gets.

use std::collections::{BTreeMap, HashMap};

use gadgetry::NoParams;
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::Deserialize;

use super::schemas::{Settings, User};
use super::support::{check, params};

params! {
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
            "    - users/<key>/age (integer; optional; at least 0)",
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
                "shape.radius: expected number, but it is missing\n\
                 plain: fits none of the admitted forms of string or object, got string \"something\"",
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
                "longName: expected boolean, but it is missing\n\
                 long_name: there is no such parameter; did you mean 'longName'?",
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
                "id: must be at least 0, got -1\n\
                 boxed: must be at most 65535, got 65536\n\
                 shown: expected integer, got string \"x\"",
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
        &[r"- <key matching ^\d+$> (each value: boolean)"],
        &[
            (&[("7", "true")], "{7: true}"),
            (
                &[("256", "true")],
                "serde: 256: invalid value: integer `256`, expected u8",
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
                "children.0.name: expected string, but it is missing\n\
                 children.0.children.0.name: expected string, but it is missing",
            ),
        ],
    );
}
