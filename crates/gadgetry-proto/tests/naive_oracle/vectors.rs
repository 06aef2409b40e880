//! The vectors of the two references.

use gadgetry_proto::reply::Format;
use serde_json::Value;

use super::{anywhere, spelled};
use crate::support::naive::{Seen, read};

/// Texts and calls of a block vector, in order: `["text", …]` joined, `["call", {…}]` with parameters as text.
#[test]
fn block_vectors() {
    let file: Value =
        serde_json::from_str(include_str!("../conformance/block-vectors.json")).unwrap();
    let mut count = 0;
    for vector in file["vectors"].as_array().unwrap() {
        if vector["area"] != "parser" {
            continue;
        }
        count += 1;
        let id = vector["id"].as_str().unwrap();
        let options = &vector["input"]["options"];
        let format = match options["startPrefix"].as_str() {
            Some(start) => spelled(
                start,
                options["endPrefix"].as_str().unwrap(),
                options["argPrefix"].as_str().unwrap(),
            ),
            None => anywhere(),
        };
        let mut seen = Vec::new();
        let mut text = String::new();
        for event in read(&joined(&vector["input"]["chunks"]), &format) {
            match event {
                Seen::Text(more) => text += &more,
                Seen::Call {
                    name,
                    id,
                    dependencies,
                    arguments,
                    ..
                } => {
                    flush(&mut seen, &mut text);
                    seen.push(format!("call {name} {id} {dependencies:?} {arguments:?}"));
                }
                _ => {}
            }
        }
        flush(&mut seen, &mut text);
        assert_eq!(
            seen,
            deviation(id).unwrap_or_else(|| vector_events(vector)),
            "{id} {}",
            vector["title"]
        );
    }
    assert_eq!(count, 20);
}

fn vector_events(vector: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let mut text = String::new();
    let feeds = vector["expect"]["feeds"].as_array().unwrap();
    for event in feeds
        .iter()
        .chain([&vector["expect"]["finalize"]])
        .flat_map(|events| events.as_array().unwrap())
    {
        match event[0].as_str().unwrap() {
            "text" => text += event[1].as_str().unwrap(),
            "call" => {
                flush(&mut lines, &mut text);
                let call = &event[1];
                let id = call["id"].as_str().unwrap().replace('$', "gadget_");
                let dependencies: Vec<&str> = call["deps"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|dep| dep.as_str().unwrap())
                    .collect();
                let pairs: Vec<(String, String)> = call["params"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(name, value)| {
                        (
                            name.clone(),
                            value
                                .as_str()
                                .map_or_else(|| value.to_string(), str::to_owned),
                        )
                    })
                    .collect();
                let arguments: Result<_, ()> = Ok(pairs);
                lines.push(format!(
                    "call {} {id} {dependencies:?} {arguments:?}",
                    call["name"].as_str().unwrap()
                ));
            }
            _ => {}
        }
    }
    flush(&mut lines, &mut text);
    lines
}

fn flush(lines: &mut Vec<String>, text: &mut String) {
    if !text.is_empty() {
        lines.push(format!("text {text:?}"));
        text.clear();
    }
}

/// What decisions.md makes of a vector, where that is something else.
fn deviation(id: &str) -> Option<Vec<String>> {
    let lines: &[&str] = match id {
        // An empty id is an auto id.
        "P06" => &[r#"call Blend gadget_1 ["x"] Ok([])"#],
        // The fragment of the end marker is dropped.
        "P12" => &[r#"call Scale s1 [] Ok([("item", "kiwi")])"#],
        // A value is exact text: its last blank stays.
        "P14" => &[
            r#"call Note n1 [] Ok([("body", "say ")])"#,
            r#"text " loudly\nmore\n!!!GADGET_END\n""#,
        ],
        // Text without any argument is no empty body.
        "P41" => &[
            r#"text "Write ""#,
            "call Name on one line gadget_1 [] Err(())",
        ],
        _ => return None,
    };
    Some(lines.iter().map(|&line| line.to_owned()).collect())
}

#[test]
fn tag_vectors() {
    let file: Value =
        serde_json::from_str(include_str!("../conformance/tag-vectors.json")).unwrap();
    let vectors = file["parser"].as_array().unwrap();
    assert_eq!(vectors.len(), 37);
    for vector in vectors {
        let id = vector["id"].as_str().unwrap();
        let names = vector["tags"].as_array().unwrap();
        let format = Format {
            markers: None,
            tags: names
                .iter()
                .map(|name| name.as_str().unwrap().to_owned())
                .collect(),
            ..anywhere()
        };
        let mut text = String::new();
        let mut blocks = Vec::new();
        for seen in read(&joined(&vector["chunks"]), &format) {
            match seen {
                Seen::Text(more) => text += &more,
                Seen::Tag {
                    tag,
                    content,
                    attrs,
                    self_closing,
                    ..
                } => {
                    let attrs: serde_json::Map<String, Value> = attrs
                        .into_iter()
                        .map(|(name, value)| (name, value.into()))
                        .collect();
                    let mut block =
                        serde_json::json!({ "tag": tag, "content": content, "attrs": attrs });
                    if self_closing {
                        block["selfClosing"] = true.into();
                    }
                    blocks.push(block);
                }
                _ => {}
            }
        }
        let (expected_text, expected_blocks) = tag_deviation(id).unwrap_or_else(|| {
            (
                vector["expect"]["text"].as_str().unwrap().to_owned(),
                vector["expect"]["blocks"].clone(),
            )
        });
        assert_eq!(text, expected_text, "{id} {}", vector["about"]);
        assert_eq!(
            Value::from(blocks),
            expected_blocks,
            "{id} {}",
            vector["about"]
        );
    }
}

/// Text and blocks where decisions.md or reply-format.md say something else than the reference does.
fn tag_deviation(id: &str) -> Option<(String, Value)> {
    let block = |tag: &str, content: &str, attrs: Value| serde_json::json!([{ "tag": tag, "content": content, "attrs": attrs }]);
    let none = || serde_json::json!({});
    let (text, blocks) = match id {
        // `-` begins no attribute: no tag.
        "plain-009" => ("<!DOCTYPE x><?pi?><!-- <note -->", serde_json::json!([])),
        "attrq-001" => ("d", block("ref", "c", serde_json::json!({ "t": "a > b" }))),
        "attrq-002" => ("d", block("ref", "c", serde_json::json!({ "t": "a/>b" }))),
        "attrq-003" => (
            "d",
            block("ref", "c", serde_json::json!({ "u": "https://e.org/p" })),
        ),
        // The quote never ends: no tag.
        "attrq-005" => ("<ref t=\"open>c</ref>d", serde_json::json!([])),
        // `,` and `1` begin no attributes: no tag.
        "attrq-006" => ("<plan is to go there, since 1 > 0", serde_json::json!([])),
        "self-006" => {
            let block = serde_json::json!([{ "tag": "ping", "content": "", "attrs": {}, "selfClosing": true }]);
            ("x", block)
        }
        "miss-001" => ("<t", block("note", "n", none())),
        "miss-003" => ("t", block("note", "a<", none())),
        "miss-005" => ("t", block("note", "a</", none())),
        _ => return None,
    };
    Some((text.to_owned(), blocks))
}

fn joined(chunks: &Value) -> String {
    chunks
        .as_array()
        .unwrap()
        .iter()
        .map(|chunk| chunk.as_str().unwrap())
        .collect()
}
