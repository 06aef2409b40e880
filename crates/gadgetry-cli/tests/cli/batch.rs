//! `gadgetry parse --batch`.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{check, lines, run};

#[track_caller]
fn record(line: &str, stdout: &str) {
    check(&["parse", "--batch"], line, &format!("{stdout}\n"), "", 0);
}

/// A line that gives an error, in its place and at the end.
#[track_caller]
fn mistake(line: &str, id: &str, error: &str) {
    let stdout = format!("{{\"id\":{id},\"error\":{}}}\n", Value::from(error));
    check(
        &["parse", "--batch"],
        line,
        &stdout,
        &format!("error: {error}\n"),
        2,
    );
}

#[test]
fn records() {
    record(r#"{"id":"a","chunks":[]}"#, r#"{"id":"a","events":[]}"#);
    record(r#"{"chunks":[""]}"#, r#"{"id":null,"events":[]}"#);
    record(
        r#" {"options":{},"chunks":["Hé","l\u006co, \"you\""],"id":{"n":[1.0,12345678901234567890123]}} "#,
        r#"{"id":{"n":[1.0,12345678901234567890123]},"events":[{"type":"text","text":"Hé"},{"type":"text","text":"llo, \"you\""}]}"#,
    );
    record(
        r#"{"id":1,"chunks":["<t>x</","t>"],"options":{"tags":["t"],"schema":null}}"#,
        r#"{"id":1,"events":[{"type":"custom_block_start","blockId":"block_1","tag":"t","attrs":{}},{"type":"custom_block_delta","blockId":"block_1","tag":"t","delta":"x"},{"type":"custom_block_end","blockId":"block_1","tag":"t","reason":"closed"},{"type":"custom_block","blockId":"block_1","tag":"t","content":"x","attrs":{}}]}"#,
    );
    record(
        r#"{"id":1,"chunks":["[[A:a\n?x\n5]]"],"options":{"start":"[[","end":"]]","arg":"?","lineStart":false,"partials":false}}"#,
        r#"{"id":1,"events":[{"type":"gadget_call_start","gadgetName":"A","invocationId":"a","dependencies":[]},{"type":"gadget_call","gadgetName":"A","invocationId":"a","dependencies":[],"parametersRaw":"?x\n5","parameters":{"x":5},"terminatedBy":"endMarker"}]}"#,
    );
}

#[test]
fn schemas_by_name_come_before_the_one_for_all() {
    let text = "!!!GADGET_START:Ab\n!!!ARG:x\n5\n!!!GADGET_START:C\n!!!ARG:x\n5\n!!!GADGET_END";
    let typed = |name: &str| json!({ "type": "object", "properties": { "x": { "type": name } } });
    let parameters = |options: Value| {
        let line = json!({ "chunks": [text], "options": options }).to_string();
        let answers = lines(&["parse", "--batch"], line);
        let events = answers[0]["events"].as_array().expect("events").clone();
        let calls = events
            .into_iter()
            .filter(|event| event["type"] == "gadget_call");
        calls
            .map(|call| call["parameters"]["x"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(parameters(json!({})), [json!(5), json!(5)]);
    assert_eq!(
        parameters(json!({ "schema": typed("string") })),
        [json!("5"), json!("5")]
    );
    assert_eq!(
        parameters(json!({ "schemas": { "aB": typed("string") } })),
        [json!("5"), json!(5)]
    );
    assert_eq!(
        parameters(json!({ "schema": typed("string"), "schemas": { "AB": typed("integer") } })),
        [json!(5), json!("5")]
    );
}

#[test]
fn the_command_line_gives_the_defaults() {
    check(
        &[
            "parse",
            "--batch",
            "--no-partials",
            "--start",
            "@",
            "--tag",
            "t",
        ],
        "{\"chunks\":[\"@A:a\\n!!!ARG:x\\n1\\n!!!GADGET_END<t/>\"],\"options\":{\"tags\":[]}}",
        "{\"id\":null,\"events\":[{\"type\":\"gadget_call_start\",\"gadgetName\":\"A\",\"invocationId\":\"a\",\"dependencies\":[]},\
         {\"type\":\"gadget_call\",\"gadgetName\":\"A\",\"invocationId\":\"a\",\"dependencies\":[],\"parametersRaw\":\"!!!ARG:x\\n1\\n\",\"parameters\":{\"x\":1},\"terminatedBy\":\"endMarker\"},\
         {\"type\":\"text\",\"text\":\"<t/>\"}]}\n",
        "",
        0,
    );
}

#[test]
fn invalid_lines_are_errors_with_their_number() {
    mistake("nonsense", "null", "line 1: the line is not a JSON object");
    mistake("\n\n[1]", "null", "line 3: the line is not a JSON object");
    mistake(
        r#"{"id":1,"#,
        "null",
        "line 1: EOF while parsing a value at column 8",
    );
    mistake(
        r#"{"id":1}"#,
        "1",
        "line 1: missing field `chunks` at column 8",
    );
    mistake(
        r#"{"id":[2],"chunks":["a",5]}"#,
        "[2]",
        "line 1: invalid type: integer `5`, expected a string at column 25",
    );
    mistake(
        r#"{"id":"x","chunks":[],"option":{}}"#,
        "\"x\"",
        "line 1: unknown field `option`, expected one of `id`, `chunks`, `options` at column 30",
    );
    let options = |options: &str, error: &str| {
        mistake(
            &format!(r#"{{"chunks":["text"],"options":{options},"id":7}}"#),
            "7",
            &format!("line 1: {error}"),
        );
    };
    options(
        r#"{"tag":["a"]}"#,
        "options: unknown field `tag`, expected one of `start`, `end`, `arg`, `lineStart`, `tags`, `partials`, `schema`, `schemas` at column 6",
    );
    options("[]", "options: options is not a JSON object");
    options(r#"{"start":""}"#, "the start marker is empty");
    options(
        r#"{"tags":["1"]}"#,
        "\"1\" is not a tag name: write a letter or _, then letters, digits, _ or -, at most 64 bytes",
    );
    options(
        r#"{"schema":5}"#,
        "schema: a schema must be a JSON object or `true`",
    );
    options(
        r#"{"schemas":{"A":[]}}"#,
        "the schema of A: a schema must be a JSON object or `true`",
    );
    options(
        r#"{"schemas":{"A":{},"a":{}}}"#,
        "there are two schemas of a",
    );
    check(
        &["parse", "--batch"],
        "{}\n{\"id\":1,\"chunks\":[]}\n?",
        "{\"id\":null,\"error\":\"line 1: missing field `chunks` at column 2\"}\n{\"id\":1,\"events\":[]}\n\
         {\"id\":null,\"error\":\"line 3: the line is not a JSON object\"}\n",
        "error: 2 invalid lines; line 1: missing field `chunks` at column 2\n",
        2,
    );
    let output = run(&["parse", "--batch"], b"{\"id\":1,\"chunks\":[\"\xff\"]}\n");
    assert!(
        output
            .stdout
            .starts_with(b"{\"id\":null,\"error\":\"line 1: invalid unicode code point")
    );
}

#[test]
fn a_thousand_lines_in_order() {
    let (mut input, mut output) = (String::new(), String::new());
    for id in 0..1000 {
        let (options, value) = match id % 4 {
            0 => (json!({}), json!(id)),
            1 => (
                json!({ "schema": { "type": "object", "properties": { "n": { "type": "string" } } } }),
                json!(id.to_string()),
            ),
            2 => (json!({ "lineStart": true }), json!(id)),
            _ => (json!({ "tags": [format!("t{id}")] }), json!(id)),
        };
        let mut options = options;
        options["partials"] = false.into();
        let block = format!("!!!GADGET_START:Add\n!!!ARG:n\n{id}\n!!!GADGET_END\n");
        let (head, tail) = block.split_at(id % block.len());
        let line = json!({ "id": id, "chunks": [head, tail], "options": options });
        let _ = writeln!(input, "{line}");
        let start = json!({ "type": "gadget_call_start", "gadgetName": "Add", "invocationId": "gadget_1", "dependencies": [] });
        let call = json!({
            "type": "gadget_call", "gadgetName": "Add", "invocationId": "gadget_1", "dependencies": [],
            "parametersRaw": format!("!!!ARG:n\n{id}\n"), "parameters": { "n": value }, "terminatedBy": "endMarker",
        });
        let _ = writeln!(output, "{}", json!({ "id": id, "events": [start, call] }));
    }
    check(&["parse", "--batch"], &input, &output, "", 0);
}
