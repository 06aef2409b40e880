//! Requests and replies in files.

use std::fs;
use std::path::Path;

use gadgetry::presets::FileLogging;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::message::{Content, Message, Request, Role};
use gadgetry::proto::run::Input;
use gadgetry::proto::time::Time;
use gadgetry::{Media, MediaData, MediaKind, Observer};
use serde_json::json;

use super::support::{end, events, watch};

/// All files of a folder, by name.
fn files(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<(String, String)> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn check_files(folder: &Path, expected: &[(&str, &str)]) {
    let files = files(folder);
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    assert_eq!(files, expected);
}

#[test]
fn requests_and_replies_are_files() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("deep").join("calls");
    let mut log = FileLogging::new(&folder);
    let picture = Content::Media(Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: MediaData::Base64("c2VjcmV0".to_owned()),
        name: None,
    });
    let mut question = Message::text(Role::User, "What is this?");
    question.content.push(picture);
    let request = Request::default()
        .messages(vec![Message::text(Role::System, "Be brief.\n"), question])
        .trailing(vec![Message::text(Role::User, "Hurry.")])
        .iteration(1);
    let list = events(&[
        json!({ "type": "model_call_start", "iteration": 1 }),
        json!({ "type": "text", "text": "not this" }),
        json!({ "type": "sub model_call_start", "iteration": 1 }),
        json!({ "type": "sub text", "text": "Looking." }),
        json!({
            "type": "sub gadget_call", "gadgetName": "Ask", "invocationId": "b", "call": 0, "dependencies": [],
            "parametersRaw": "!!!ARG:q\nx", "parameters": {}, "terminatedBy": "endMarker", "span": { "start": 0, "end": 9 },
        }),
        end("sub model_call_end", 1, 0.125, [7, 3]),
        json!({ "type": "model_retry", "iteration": 1, "attempt": 1, "left": 2, "delayMs": 10, "kind": "overloaded", "error": "busy" }),
        end("model_call_end", 1, 0.25, [9, 4]),
        json!({ "type": "model_call_start", "iteration": 2, "purpose": "summary" }),
    ]);
    log.event(&list[0]);
    log.request(&request);
    log.input(Time(1), &Input::Delta(Delta::text("A ")));
    log.event(&list[1]);
    for event in &list[2..=6] {
        log.event(event);
    }
    // The retry has no start of its own.
    log.request(&request);
    log.input(Time(1), &Input::Delta(Delta::text("A \n")));
    log.input(Time(1), &Input::Delta(Delta::text("cat.\n")));
    log.event(&list[7]);
    log.event(&list[8]);
    log.input(Time(1), &Input::Delta(Delta::text("It")));
    log.finish().unwrap();

    let request = "reply 1\n\n--- system\nBe brief.\n\n--- user\nWhat is this?\n\n[image: unnamed (image/png)]\n\n--- user\nHurry.\n";
    let expected = [
        ("0001.request", request),
        ("0001.response", "A \n---\nfailed, retry 1 follows: busy\n"),
        (
            "0002.response",
            "Looking.\n[Ask b]\n!!!ARG:q\nx\n---\nsubagent a.0\nStop, 7 tokens in, 3 out, $0.125000\n",
        ),
        ("0003.request", request),
        (
            "0003.response",
            "A \ncat.\n---\nStop, 9 tokens in, 4 out, $0.250000\n",
        ),
        ("0004.response", "It\n---\nthe reply did not end\n"),
    ];
    check_files(&folder, &expected);

    // Another run in the same folder goes on behind it.
    let mut log = FileLogging::new(&folder);
    log.event(&list[0]);
    log.event(&list[7]);
    log.finish().unwrap();
    assert_eq!(files(&folder)[6].0, "0005.response");
}

#[test]
fn an_unwritable_folder_is_an_error_at_the_end() {
    let root = tempfile::tempdir().unwrap();
    let start = events(&[json!({ "type": "model_call_start", "iteration": 1 })]);

    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let mut log = FileLogging::new(file.join("calls"));
    watch(&mut log, &start);
    log.request(&Request::default());
    let error = log.finish().unwrap_err();
    assert_eq!(error.path, file.join("calls"));
    assert!(error.to_string().starts_with("cannot write "), "{error}");

    // What somebody else wrote meanwhile stays as it is.
    let mut log = FileLogging::new(root.path());
    fs::write(root.path().join("0001.request"), "mine").unwrap();
    watch(&mut log, &start);
    log.request(&Request::default());
    let error = log.finish().unwrap_err();
    assert_eq!(error.path, root.path().join("0001.request"));
    let names: Vec<String> = files(root.path())
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["0001.request", "file"]);
    assert_eq!(fs::read_to_string(&error.path).unwrap(), "mine");
}
