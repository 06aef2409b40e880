//! The fuzz targets' properties on generated input, so that a stable compiler runs them too.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::properties;

/// What the grammars are made of, whole and nearly.
const PIECES: [&str; 24] = [
    "!!!GADGET_START:",
    "!!!GADGET_END",
    "!!!ARG:",
    "!!!GADGET_START:Fetch:a:b,c\n",
    "!!GADGET_START:",
    "!!!gadget_end",
    "!!!",
    "<think>",
    "</think>",
    "<think a=\"1>\" b='/>' c>",
    "<done/>",
    "<",
    "</",
    "\n",
    "\r\n",
    "\\",
    "```json\n",
    "a/0/b",
    "~1",
    "0x1F",
    "-0.5",
    "true",
    "{\"a\":[1,null]}",
    "é😀",
];

/// Mostly pieces of the grammars in any order, some bytes of no grammar.
fn reply() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => (0..PIECES.len()).prop_map(|at| PIECES[at].as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..8),
    ];
    vec(piece, 0..32).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn block(data in reply()) {
        properties::block(&data);
    }

    #[test]
    fn tag(data in reply()) {
        properties::tag(&data);
    }

    #[test]
    fn scanner(data in reply()) {
        properties::reply(&data);
    }

    #[test]
    fn coercion(data in reply()) {
        properties::coercion(&data);
    }
}
