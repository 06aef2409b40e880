//! `gadgetry write`, and that `gadgetry parse` is its inverse.

use std::fs;

use serde_json::{Value, json};

use super::{check, lines, run};

const ADD: &str = r#"{"gadgetName":"Add","parameters":{"a":1,"b":{"c":["x\ny"]}}}"#;
const MIX: &str =
    r#"{"gadgetName":"Mix","invocationId":"m","dependencies":["a","b"],"parameters":{}}"#;

#[test]
fn blocks() {
    let add = "!!!GADGET_START:Add\n!!!ARG:a\n1\n!!!ARG:b/c/0\nx\ny\n!!!GADGET_END\n";
    let mix = "!!!GADGET_START:Mix:m:a,b\n!!!GADGET_END\n";
    let both = format!("{ADD}\n\n{MIX}");
    check(&["write"], "", "", "", 0);
    check(&["write"], &both, &format!("{add}{mix}"), "", 0);
    check(&["write", "-"], format!("{ADD}\r\n"), add, "", 0);
    let json = |text: &str| json!({ "text": text }).to_string();
    check(
        &["write", "--jsonl"],
        &both,
        &format!("{}\n{}\n", json(add), json(mix)),
        "",
        0,
    );
    check(
        &["write", "--start", "--[", "--end", "]", "--arg", "-a "],
        ADD,
        "--[Add\n-a a\n1\n-a b/c/0\nx\ny\n]\n",
        "",
        0,
    );
    let marker =
        r#"{"gadgetName":"A","invocationId":null,"dependencies":[],"parameters":{"x":"!!!ARG:"}}"#;
    check(
        &["write", "--line-start"],
        marker,
        "!!!GADGET_START:A\n!!!ARG:x\n\\!!!ARG:\n!!!GADGET_END\n",
        "",
        0,
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("calls.jsonl");
    fs::write(&file, ADD).expect("a file");
    check(&["write", &file.display().to_string()], "", add, "", 0);
}

#[test]
fn a_bad_line_ends_it_and_leaves_no_trace() {
    let mix = "!!!GADGET_START:Mix:m:a,b\n!!!GADGET_END\n";
    let mistake = |line: &str, error: &str| {
        let stderr = format!("error: line 2: {error}\n");
        check(
            &["write"],
            format!("{MIX}\n{line}\n{ADD}\n"),
            mix,
            &stderr,
            2,
        );
    };
    mistake("Add", "the line is not a JSON object");
    mistake(
        "{\"gadgetName\":\"A\"",
        "EOF while parsing an object at column 17",
    );
    mistake(
        "{\"gadgetName\":\"A\"}",
        "missing field `parameters` at column 18",
    );
    mistake(
        "{\"parameters\":{}}",
        "missing field `gadgetName` at column 17",
    );
    mistake(
        "{\"gadgetName\":\"A\",\"parameters\":[]}",
        "the parameters are not an object",
    );
    mistake(
        "{\"gadgetName\":\"\",\"parameters\":{}}",
        "the gadget name \"\" is not allowed in a header",
    );
    mistake(
        "{\"gadgetName\":\"A\",\"invocationId\":\"a:b\",\"parameters\":{}}",
        "the invocation id \"a:b\" is not allowed in a header",
    );
    mistake(
        "{\"gadgetName\":\"A\",\"dependencies\":[\"a\",\"a\"],\"parameters\":{}}",
        "duplicate dependency \"a\"",
    );
    mistake(
        "{\"gadgetName\":\"A\",\"parameters\":{\"x\":1,\"x\":2}}",
        "parameters: line 1, column 8: the key is there twice",
    );
    mistake(
        "{\"gadgetName\":\"A\",\"parameters\":{},\"schema\":{\"type\":\"string\"}}",
        "schema: parameters are an object, but the schema admits only: string",
    );
    mistake(
        "{\"gadgetName\":\"A\",\"params\":{}}",
        "unknown field `params`, expected one of `gadgetName`, `invocationId`, `dependencies`, `parameters`, `schema` at column 26",
    );
}

#[test]
fn integers_keep_every_digit() {
    let digits = "123456789012345678901234567890";
    let line = format!("{{\"gadgetName\":\"A\",\"parameters\":{{\"n\":{digits}}}}}\n");
    let block = format!("!!!GADGET_START:A\n!!!ARG:n\n{digits}\n!!!GADGET_END\n");
    check(&["write"], line, &block, "", 0);
}

#[test]
fn what_is_written_is_read_back() {
    let texts = [
        "",
        " ",
        "\n",
        "a\n",
        "\r\n",
        "a\r",
        "007",
        "1e5",
        "-0",
        "true",
        "null",
        "[1]",
        "{}",
        "\"q\"",
        "```",
        "```\nx\n```",
        "\\",
        "!!!ARG:x\n1",
        "!!!GADGET_END",
        "\n!!!GADGET_END\n",
        " !!!GADGET_START:B\n",
        "\\!!!ARG:x",
        "<done/>",
        "${a}",
        "\u{0}\u{7f}",
        "😀é\u{2028}",
        "!!GADGET_END",
        "12345678901234567890123",
        "  indented\n\ttext  ",
    ];
    let mut calls: Vec<Value> = texts
        .iter()
        .map(|text| json!({ "x": text, "y": [text, { "z": text }] }))
        .collect();
    calls.extend(
        ["", "a/b", "a~b", "0", "a b", "!!!ARG:", "k\ny", "é"]
            .map(|key| json!({ key: 1, "o": { key: [true] } })),
    );
    calls.extend([
        json!({}),
        json!({ "a": null, "b": [], "c": {}, "d": [[], {}], "e": -1.5, "f": 18_446_744_073_709_551_615_u64, "g": 1e300 }),
        json!({ "0": { "0": "x" }, "1": [[1, [2]], null] }),
    ]);
    let string = json!({ "type": "object", "additionalProperties": true, "properties": { "x": { "type": "string" } } });
    for schema in [None, Some(string)] {
        for options in [
            &[][..],
            &["--line-start"],
            &["--start", "<<", "--end", ">>", "--arg", "@"],
        ] {
            let input: Vec<String> = calls
                .iter()
                .enumerate()
                .map(|(n, parameters)| {
                    let call = json!({ "gadgetName": "G", "invocationId": format!("c{n}"), "parameters": parameters, "schema": schema });
                    format!("{call}\n")
                })
                .collect();
            let written = run(&[&["write"], options].concat(), input.concat().as_bytes());
            assert_eq!(String::from_utf8_lossy(&written.stderr), "", "{options:?}");
            let mut args = [&["parse", "--no-partials"], options].concat();
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("schema.json").display().to_string();
            if let Some(schema) = &schema {
                fs::write(&file, schema.to_string()).expect("a file");
                args.extend(["--schema", &file]);
            }
            let events = lines(&args, &written.stdout);
            let read: Vec<&Value> = events
                .iter()
                .filter(|event| event["type"] == "gadget_call")
                .map(|call| &call["parameters"])
                .collect();
            assert_eq!(read, calls.iter().collect::<Vec<_>>(), "{args:?}");
            let text = events
                .iter()
                .filter(|event| event["type"] == "text")
                .count();
            assert_eq!(text, 0, "{args:?}");
        }
    }
}
