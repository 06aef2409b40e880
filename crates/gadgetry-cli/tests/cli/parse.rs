//! `gadgetry parse`: options and events.

use std::fs;

use serde_json::{Value, json};

use super::{check, joined, lines, run};

const CALL: &str = "!!!GADGET_START:Add:sum:a,b\n!!!ARG:n\n7\n!!!GADGET_END\n";

#[test]
fn every_event() {
    check(
        &["parse", "-", "--tag", "think", "--tag", "done"],
        "Hi é.\n!!!GADGET_START:Add:sum:a,b\n!!!ARG:n\n007\n!!!GADGET_END\n\
         !!!GADGET_START:Add\n!!!ARG:n 7\n!!!GADGET_START:Z\n!!!GADGET_END\n\
         <think mood=\"&lt;\" x>hm</think><done/>!!!GADGET_END\n<think>\n!!!GADGET_START:A",
        r#"{"type":"text","text":"Hi é.\n"}
{"type":"gadget_call_start","gadgetName":"Add","invocationId":"sum","dependencies":["a","b"]}
{"type":"gadget_args_partial","invocationId":"sum","gadgetName":"Add","fieldPath":"n","delta":"007","isFieldComplete":true}
{"type":"gadget_call","gadgetName":"Add","invocationId":"sum","dependencies":["a","b"],"parametersRaw":"!!!ARG:n\n007\n","parameters":{"n":"007"},"terminatedBy":"endMarker"}
{"type":"gadget_call_start","gadgetName":"Add","invocationId":"gadget_1","dependencies":[]}
{"type":"gadget_call","gadgetName":"Add","invocationId":"gadget_1","dependencies":[],"parametersRaw":"!!!ARG:n 7\n","parseError":"Malformed argument line: !!!ARG:n 7. Write only the name after !!!ARG: and the value on the next line:\n!!!ARG:n\n7","terminatedBy":"nextStart"}
{"type":"gadget_call_start","gadgetName":"Z","invocationId":"gadget_2","dependencies":[]}
{"type":"gadget_call","gadgetName":"Z","invocationId":"gadget_2","dependencies":[],"parametersRaw":"","parameters":{},"terminatedBy":"endMarker"}
{"type":"text","text":"\n"}
{"type":"custom_block_start","blockId":"block_1","tag":"think","attrs":{"mood":"<","x":""}}
{"type":"custom_block_delta","blockId":"block_1","tag":"think","delta":"hm"}
{"type":"custom_block_end","blockId":"block_1","tag":"think","reason":"closed"}
{"type":"custom_block","blockId":"block_1","tag":"think","content":"hm","attrs":{"mood":"<","x":""}}
{"type":"custom_block_start","blockId":"block_2","tag":"done","attrs":{}}
{"type":"custom_block_end","blockId":"block_2","tag":"done","reason":"selfClosing"}
{"type":"custom_block","blockId":"block_2","tag":"done","content":"","attrs":{},"selfClosing":true}
{"type":"text","text":"!!!GADGET_END"}
{"type":"diagnostic","code":"strayMarker","message":"!!!GADGET_END is outside any gadget block and is text","span":{"start":163,"end":176}}
{"type":"text","text":"\n"}
{"type":"custom_block_start","blockId":"block_3","tag":"think","attrs":{}}
{"type":"custom_block_delta","blockId":"block_3","tag":"think","delta":"\n!!!GADGET_START:A"}
{"type":"custom_block_end","blockId":"block_3","tag":"think","reason":"endOfStream"}
{"type":"custom_block","blockId":"block_3","tag":"think","content":"\n!!!GADGET_START:A","attrs":{}}
"#,
        "",
        0,
    );
}

#[test]
fn empty_input_has_no_events() {
    check(&["parse"], "", "", "", 0);
    check(&["parse"], " \n", "", "", 0);
}

#[test]
fn markers_of_ones_own() {
    let start =
        r#"{"type":"gadget_call_start","gadgetName":"A","invocationId":"i","dependencies":[]}"#;
    check(
        &[
            "parse",
            "--start",
            "--{",
            "--end",
            "}--",
            "--arg",
            "-$",
            "--no-partials",
        ],
        "--{A:i\n-$x\n!!!ARG:y\n}--",
        &format!(
            "{start}\n{}\n",
            r#"{"type":"gadget_call","gadgetName":"A","invocationId":"i","dependencies":[],"parametersRaw":"-$x\n!!!ARG:y\n","parameters":{"x":"!!!ARG:y"},"terminatedBy":"endMarker"}"#
        ),
        "",
        0,
    );
}

#[test]
fn line_start_anchors_the_markers() {
    let text = "see !!!GADGET_START:A\n!!!GADGET_START:B:b\n!!!ARG:x\n\\!!!GADGET_END\nand !!!ARG:\n!!!GADGET_END";
    let events = lines(&["parse", "--line-start", "--no-partials"], text);
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert_eq!(kinds.first(), Some(&"text"), "{events:?}");
    let call = events.last().expect("a call");
    assert_eq!(
        call["parameters"],
        json!({ "x": "!!!GADGET_END\nand !!!ARG:" })
    );
    assert_eq!(call["gadgetName"], "B");
    let anywhere = lines(&["parse", "--no-partials"], text);
    assert_ne!(events, anywhere);
}

#[test]
fn no_partials_leaves_out_only_the_partials() {
    let with = lines(&["parse"], CALL);
    let without = lines(&["parse", "--no-partials"], CALL);
    let others: Vec<Value> = with
        .iter()
        .filter(|event| event["type"] != "gadget_args_partial")
        .cloned()
        .collect();
    assert_ne!(with, without);
    assert_eq!(without, others);
}

#[test]
fn a_schema_decides_the_types_and_validates_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("schema.json");
    let schema =
        json!({ "type": "object", "properties": { "n": { "type": "string" } }, "required": ["m"] });
    fs::write(&file, schema.to_string()).expect("a file");
    let file = file.display().to_string();
    let parameters = |args: &[&str]| {
        lines(args, CALL)
            .pop()
            .map(|call| call["parameters"].clone())
    };
    assert_eq!(parameters(&["parse"]), Some(json!({ "n": 7 })));
    assert_eq!(
        parameters(&["parse", "--schema", &file]),
        Some(json!({ "n": "7" }))
    );
}

#[test]
fn a_file_is_read_like_stdin() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("reply é.txt");
    fs::write(&file, CALL).expect("a file");
    let file = file.display().to_string();
    assert_eq!(lines(&["parse", &file], ""), lines(&["parse"], CALL));
}

#[test]
fn the_chunk_size_changes_nothing_but_the_cuts() {
    let reply = format!(
        "Zuerst 😀 <think>a < b</think> und <thin {CALL} {CALL}!!!GADGET_START:W:w\n!!!ARG:text\n{}\n!!!ARG:b/0\ntrue\n\
         !!!GADGET_END\n!!GADGET_START:x\nEnde",
        "eine Zeile ü\n".repeat(400)
    );
    for text in [reply.as_str(), "\u{FEFF}x\r\n", "é"] {
        for anchoring in [&[][..], &["--line-start"]] {
            let args = [&["parse", "--tag", "think"], anchoring].concat();
            let whole = joined(lines(&args, text));
            for size in ["1", "2", "3", "5", "7", "16", "100", "4096", "1000000"] {
                let args = [&args[..], &["--chunk-size", size]].concat();
                assert_eq!(joined(lines(&args, text)), whole, "{args:?}");
            }
        }
    }
}

#[test]
fn the_chunk_size_is_the_size_of_a_push() {
    let stdout = |size: &str| {
        let output = run(&["parse", "--chunk-size", size], "abcdéf".as_bytes());
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let texts = |pieces: &[&str]| {
        let lines = pieces.iter().map(|piece| {
            format!(
                "{{\"type\":\"text\",\"text\":\"{piece}\"}}
"
            )
        });
        lines.collect::<Vec<_>>().concat()
    };
    assert_eq!(stdout("1"), texts(&["a", "b", "c", "d", "é", "f"]));
    assert_eq!(stdout("5"), texts(&["abcd", "éf"]));
    assert_eq!(stdout("100"), texts(&["abcdéf"]));
}

#[test]
fn what_is_not_utf8_is_replaced() {
    check(
        &["parse", "--chunk-size", "100"],
        b"caf\xc3\xa9 \xff\xe2\x82|\xf0\x9f",
        "{\"type\":\"text\",\"text\":\"café \u{FFFD}\u{FFFD}|\u{FFFD}\"}\n",
        "",
        0,
    );
}
