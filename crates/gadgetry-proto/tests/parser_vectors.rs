//! The parser vectors of both references, through the real scanner, in the chunks that they give.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;

use gadgetry_proto::block::Markers;
use gadgetry_proto::piece::EndReason;
use gadgetry_proto::reply::{Format, ReplyEvent, Scanner};
use serde_json::{Value, json};

const BLOCKS: &str = include_str!("../../../corpus/block-vectors.json");
const TAGS: &str = include_str!("../../../corpus/tag-vectors.json");

/// What we do instead of what the reference did, and why.
struct Deviation {
    id: &'static str,
    reason: &'static str,
    instead: &'static [&'static str],
}

const BLOCK_DEVIATIONS: [Deviation; 4] = [
    Deviation {
        id: "P06",
        reason: "decisions.md: an empty id means auto id",
        instead: &[r#"call Blend gadget_1 after ["x"] {}"#],
    },
    Deviation {
        id: "P12",
        reason: "reply-format.md, rule 8: the fragment of the end marker is dropped",
        instead: &[
            r#"argument s1 item "kiwi""#,
            r#"call Scale s1 after [] {"item":"kiwi"}"#,
        ],
    },
    Deviation {
        id: "P14",
        reason: "decisions.md: a value is exact text, so its last blank stays",
        instead: &[
            r#"argument n1 body "say ""#,
            r#"call Note n1 after [] {"body":"say "}"#,
            r#"text " loudly\nmore\n!!!GADGET_END\n""#,
        ],
    },
    Deviation {
        id: "P41",
        reason: "decisions.md: a body without an argument marker is malformed, not empty",
        instead: &[
            r#"text "Write ""#,
            "call Name on one line gadget_1 after [] malformed",
        ],
    },
];

/// The text around the blocks joins up, and the blocks are in order.
const TAG_DEVIATIONS: [Deviation; 12] = [
    Deviation {
        id: "plain-009",
        reason: "`-` begins no attribute, so this is no tag",
        instead: &[r#"text "<!DOCTYPE x><?pi?><!-- <note -->""#],
    },
    Deviation {
        id: "attrq-001",
        reason: "`>` inside quotes belongs to the value",
        instead: &[r#"block ref {"t":"a > b"} "c" Closed"#, r#"text "d""#],
    },
    Deviation {
        id: "attrq-002",
        reason: "`/>` inside quotes belongs to the value",
        instead: &[r#"block ref {"t":"a/>b"} "c" Closed"#, r#"text "d""#],
    },
    Deviation {
        id: "attrq-003",
        reason: "an unquoted value runs to whitespace or `>`",
        instead: &[
            r#"block ref {"u":"https://e.org/p"} "c" Closed"#,
            r#"text "d""#,
        ],
    },
    Deviation {
        id: "attrq-005",
        reason: "the quote never ends, so this is no tag",
        instead: &[r#"text "<ref t=\"open>c</ref>d""#],
    },
    Deviation {
        id: "attrq-006",
        reason: "`,` and `1` begin no attributes, so this is no tag",
        instead: &[r#"text "<plan is to go there, since 1 > 0""#],
    },
    Deviation {
        id: "self-006",
        reason: "`/ >` closes the tag itself",
        instead: &[r#"block ping {} "" SelfClosing"#, r#"text "x""#],
    },
    Deviation {
        id: "miss-001",
        reason: "a `<` that ends a false start is looked at again",
        instead: &[r#"text "<""#, r#"block note {} "n" Closed"#, r#"text "t""#],
    },
    Deviation {
        id: "miss-003",
        reason: "a `<` that ends a false start is looked at again",
        instead: &[r#"block note {} "a<" Closed"#, r#"text "t""#],
    },
    Deviation {
        id: "miss-005",
        reason: "a `<` that ends a false start is looked at again",
        instead: &[r#"block note {} "a</" Closed"#, r#"text "t""#],
    },
    Deviation {
        id: "name-001",
        reason: "a name that can never match is refused when it is registered",
        instead: &["refused 2nd"],
    },
    Deviation {
        id: "name-003",
        reason: "a name that can never match is refused when it is registered",
        instead: &["refused n:s"],
    },
];

#[test]
fn block_vectors() {
    let file: Value = serde_json::from_str(BLOCKS).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    let vectors = vectors.iter().filter(|vector| vector["area"] == "parser");
    let mut unused: BTreeSet<&str> = BLOCK_DEVIATIONS
        .iter()
        .map(|deviation| deviation.id)
        .collect();
    let mut count = 0;
    for vector in vectors {
        count += 1;
        let id = vector["id"].as_str().unwrap();
        let deviation = BLOCK_DEVIATIONS.iter().find(|deviation| deviation.id == id);
        assert_eq!(
            deviation.is_some(),
            vector["recommend"] == "diverge" && id != "P43",
            "{id}"
        );
        unused.remove(id);
        let expected = instead(deviation).unwrap_or_else(|| expected_of_block(vector));
        let told = tell(&block_format(vector), &chunks(&vector["input"]["chunks"]));
        assert_eq!(
            told,
            expected,
            "{id} {} {}",
            vector["title"],
            reason(deviation)
        );
    }
    assert_eq!((count, unused.len()), (20, 0));
}

#[test]
fn tag_vectors() {
    let file: Value = serde_json::from_str(TAGS).unwrap();
    let vectors = file["parser"].as_array().unwrap();
    let mut unused: BTreeSet<&str> = TAG_DEVIATIONS
        .iter()
        .map(|deviation| deviation.id)
        .collect();
    for vector in vectors {
        let id = vector["id"].as_str().unwrap();
        let deviation = TAG_DEVIATIONS.iter().find(|deviation| deviation.id == id);
        assert!(deviation.is_none() || vector["quirk"] == true, "{id}");
        unused.remove(id);
        let expected = instead(deviation).unwrap_or_else(|| expected_of_tags(vector));
        let format = Format {
            tags: chunks(&vector["tags"]),
            ..Format::default()
        };
        let told = tell(&format, &chunks(&vector["chunks"]));
        assert_eq!(
            told,
            expected,
            "{id} {} {}",
            vector["about"],
            reason(deviation)
        );
    }
    assert_eq!((vectors.len(), unused.len()), (37, 0));
}

/// P43: text after a block is not held until the next marker.
#[test]
fn text_after_a_block_is_emitted_at_once() {
    let mut scanner = scanner(&block_format(&Value::Null)).unwrap();
    let mut told = Vec::new();
    for chunk in [
        "!!!GADGET_START:Bell:b1\n!!!GADGET_END",
        "\nrang once",
        " and twice\n",
    ] {
        let mut texts = String::new();
        scanner.push(chunk, &mut |event| {
            if let ReplyEvent::Text(text) = event {
                texts.push_str(text);
            }
        });
        told.push(texts);
    }
    assert_eq!(told, ["", "\nrang once", " and twice\n"]);
}

fn instead(deviation: Option<&Deviation>) -> Option<Vec<String>> {
    deviation.map(|deviation| {
        deviation
            .instead
            .iter()
            .map(|&line| line.to_owned())
            .collect()
    })
}

fn reason(deviation: Option<&Deviation>) -> &str {
    deviation.map_or("", |deviation| deviation.reason)
}

fn chunks(value: &Value) -> Vec<String> {
    serde_json::from_value(value.clone()).unwrap()
}

fn block_format(vector: &Value) -> Format {
    let options = &vector["input"]["options"];
    let markers = match options["startPrefix"].as_str() {
        Some(start) => {
            let [end, arg] = ["endPrefix", "argPrefix"].map(|name| options[name].as_str().unwrap());
            Markers::new(start, end, arg).unwrap()
        }
        None => Markers::default(),
    };
    Format {
        markers: Some(markers),
        ..Format::default()
    }
}

fn scanner(format: &Format) -> Result<Scanner, String> {
    Scanner::new(format).map_err(|_| format!("refused {}", format.tags.join(" ")))
}

/// A line for each text, argument, call and custom block, with deltas joined.
fn tell(format: &Format, chunks: &[String]) -> Vec<String> {
    let mut scanner = match scanner(format) {
        Ok(scanner) => scanner,
        Err(refused) => return vec![refused],
    };
    let mut lines = Lines::default();
    let mut reason = EndReason::Closed;
    let mut deltas = String::new();
    let mut value = String::new();
    let mut hear = |event: ReplyEvent<'_>| match event {
        ReplyEvent::Text(text) => lines.text.push_str(text),
        ReplyEvent::Argument {
            header,
            pointer,
            delta,
            complete,
            begins: _,
        } => {
            value.push_str(delta);
            if complete {
                lines.push(argument(
                    header.invocation_id(),
                    pointer,
                    &std::mem::take(&mut value),
                ));
            }
        }
        ReplyEvent::Call(block) => {
            let header = block.header();
            let parameters = block
                .parameters(None)
                .map_or("malformed".into(), |it| it.to_string());
            let dependencies: Vec<&str> = header.dependencies().collect();
            let (name, id) = (header.gadget_name(), header.invocation_id());
            lines.push(format!(
                "call {name} {id} after {dependencies:?} {parameters}"
            ));
        }
        ReplyEvent::TagDelta { delta, .. } => deltas.push_str(delta),
        ReplyEvent::TagEnd { reason: why, .. } => reason = why,
        ReplyEvent::Tag {
            tag,
            content,
            attributes,
            ..
        } => {
            assert_eq!(std::mem::take(&mut deltas), content, "the deltas add up");
            let attributes = Value::Object(attributes.clone());
            lines.push(format!("block {tag} {attributes} {content:?} {reason:?}"));
        }
        ReplyEvent::CallStart(_) | ReplyEvent::TagStart { .. } | ReplyEvent::Diagnostic(_) => {}
    };
    for chunk in chunks {
        scanner.push(chunk, &mut hear);
    }
    scanner.finish(&mut hear);
    lines.finish()
}

/// Lines, with the texts between them joined.
#[derive(Default)]
struct Lines {
    text: String,
    lines: Vec<String>,
}

impl Lines {
    fn push(&mut self, line: String) {
        if !self.text.is_empty() {
            self.lines.push(format!("text {:?}", self.text));
            self.text.clear();
        }
        self.lines.push(line);
    }

    fn finish(mut self) -> Vec<String> {
        self.push(String::new());
        self.lines.pop();
        self.lines
    }
}

fn argument(id: &str, pointer: &str, value: &str) -> String {
    format!("argument {id} {pointer} {value:?}")
}

/// The reference tells nothing about the arguments of a block that arrives whole (P36, P37). Here that must not
/// depend on the cuts: every argument is told, and its deltas add up to the text of the parameter.
fn expected_of_block(vector: &Value) -> Vec<String> {
    let mut lines = Lines::default();
    let feeds = vector["expect"]["feeds"].as_array().unwrap();
    let events = feeds.iter().chain([&vector["expect"]["finalize"]]);
    let mut partials: Vec<(String, String)> = Vec::new();
    for event in events.flat_map(|events| events.as_array().unwrap()) {
        let text = |at: usize| event[at].as_str().unwrap();
        match text(0) {
            "text" => lines.text.push_str(text(1)),
            "partial" => match partials.iter_mut().find(|(field, _)| field == text(3)) {
                Some((_, value)) => value.push_str(text(5)),
                None => partials.push((text(3).to_owned(), text(5).to_owned())),
            },
            "call" => {
                let call = &event[1];
                let id = call["id"].as_str().unwrap().replace('$', "gadget_");
                for (name, value) in call["params"].as_object().unwrap() {
                    let value = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned);
                    let joined = partials.iter().find(|(field, _)| field == name);
                    assert!(
                        joined.is_none_or(|(_, joined)| *joined == value),
                        "{vector}"
                    );
                    lines.push(argument(&id, name, &value));
                }
                partials.clear();
                let dependencies = chunks(&call["deps"]);
                let (name, parameters) = (call["name"].as_str().unwrap(), &call["params"]);
                lines.push(format!(
                    "call {name} {id} after {dependencies:?} {parameters}"
                ));
            }
            other => panic!("{other} is no event"),
        }
    }
    lines.finish()
}

/// The reference has one summary for each block; that it ended, it says only of blocks that were closed.
fn expected_of_tags(vector: &Value) -> Vec<String> {
    let mut lines = Lines::default();
    let feeds = vector["expect"]["events_by_chunk"].as_array().unwrap();
    let events = feeds.iter().chain([&vector["expect"]["flush_events"]]);
    let mut reason = EndReason::EndOfStream;
    for event in events.flat_map(|events| events.as_array().unwrap()) {
        match event["type"].as_str().unwrap() {
            "text" => lines.text.push_str(event["delta"].as_str().unwrap()),
            "custom_block_start" | "custom_block_delta" => reason = EndReason::EndOfStream,
            "custom_block_end" => reason = EndReason::Closed,
            "custom_block" => {
                if event.get("selfClosing") == Some(&json!(true)) {
                    reason = EndReason::SelfClosing;
                }
                let (tag, attributes) = (event["tag"].as_str().unwrap(), &event["attrs"]);
                let content = event["content"].as_str().unwrap();
                lines.push(format!("block {tag} {attributes} {content:?} {reason:?}"));
            }
            other => panic!("{other} is no event"),
        }
    }
    lines.finish()
}
