//! What of a model's text the client receives as text and as calls.

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::ExchangeStep;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::dialect::Dialects;
use serde_json::{Value, json};

use crate::support::exchanges::{Client, Received, ask, end, feed, tool};

const PARIS: &str = "{S}weather:w\n{A}city\nParis\n{E}\n";

fn paris() -> (String, Value) {
    ("weather".to_owned(), json!({"city": "Paris"}))
}

#[test]
fn text_and_calls() {
    let check = |reply: &str, text: &str, calls: &[(String, Value)]| {
        let received = Client::new(ClientApi::Chat).receive(ask("Hi"), &[reply]);
        let stop_reason = if calls.is_empty() {
            StopReason::Stop
        } else {
            StopReason::ToolUse
        };
        let got = (
            received.text.as_str(),
            received.calls.as_slice(),
            received.stop_reason,
        );
        assert_eq!(got, (text, calls, Some(stop_reason)), "{reply}");
    };
    check("Hello.", "Hello.", &[]);
    check("\n\n Hello.", "\n\n Hello.", &[]);
    check(PARIS, "", &[paris()]);
    check(&format!("\n\n{PARIS}"), "", &[paris()]);
    check(
        &format!("Before.\n{PARIS}After."),
        "Before.\nAfter.",
        &[paris()],
    );
    check(&format!("{PARIS}{PARIS}"), "", &[paris(), paris()]);
    check("{S}WEATHER:w\n{A}city\nParis\n{E}", "", &[paris()]);
    check(
        "{S}sum\n{A}a\n1\n{A}b\n2\n{E}",
        "",
        &[("sum".to_owned(), json!({"a": 1, "b": 2}))],
    );
    check(
        "<think>{S}weather:w\n{A}city\nParis\n{E}</think>Yes.",
        "Yes.",
        &[],
    );
}

#[test]
fn what_looks_like_a_call_is_text_and_the_model_is_asked_once() {
    // The markers of the specification: those of this prompt are others.
    let plain = "!!!GADGET_START:weather\n!!!ARG:city\nParis\n!!!GADGET_END\n";
    let check = |said: &str, answer: &str, calls: &[(String, Value)]| {
        let client = Client::new(ClientApi::Chat);
        let received = client.receive(ask("Hi"), &[said, answer]);
        let expected = (client.written(said), calls.to_vec());
        assert_eq!(
            (received.text, received.calls),
            expected,
            "{said}: {answer}"
        );
    };
    for said in [plain, "About `{S}weather:w` in text."] {
        check(said, "I only explain.", &[]);
        check(said, PARIS, &[paris()]);
    }
}

#[test]
fn ids_have_the_models_word() {
    let check = |api: ClientApi, ids: [&str; 2]| {
        let mut body = ask("Hi");
        body["tools"] = json!([tool("weather", json!({"type": "object"}))]);
        if api == ClientApi::Messages {
            body["tools"] = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
        }
        if api == ClientApi::Responses {
            body = json!({"model": "m", "input": "Hi", "tools": [{"type": "function", "name": "weather"}]});
        }
        let reply = "{S}weather:first\n{E}\n{S}weather:a b\n{E}";
        let received = Client::new(api).receive(body, &[reply]);
        assert_eq!(received.ids, ids, "{api:?}");
    };
    check(
        ClientApi::Chat,
        [
            "call_00000000000000000000000001_first",
            "call_00000000000000000000000001_c2",
        ],
    );
    check(
        ClientApi::Responses,
        [
            "call_00000000000000000000000001_first",
            "call_00000000000000000000000001_c2",
        ],
    );
    check(
        ClientApi::Messages,
        [
            "toolu_00000000000000000000000001_first",
            "toolu_00000000000000000000000001_c2",
        ],
    );
}

#[test]
fn a_call_is_sent_before_the_reply_is_over() {
    let client = Client::new(ClientApi::Chat);
    let mut exchange = client.exchange(ask("Hi"), 1);
    let mut out = Vec::new();
    exchange.push(Delta::MessageStart { model: None }, &mut out);
    exchange.push(Delta::text(client.written(PARIS)), &mut out);
    assert_eq!(Received::of(&out).calls, [paris()]);
    exchange.push(
        Delta::text(client.written("Some text.\n{S}weather")),
        &mut out,
    );
    assert_eq!(Received::of(&out).text, "Some text.\n");
}

#[test]
fn invalid_calls_are_corrected_without_the_client() {
    let check = |replies: &[&str], text: &str, calls: &[(String, Value)]| {
        let received = Client::new(ClientApi::Chat).receive(ask("Hi"), replies);
        assert_eq!(
            (received.text.as_str(), received.calls.as_slice()),
            (text, calls),
            "{replies:?}"
        );
        assert_eq!(received.error, None, "{replies:?}");
    };
    let town = "{S}weather:w\n{A}town\nParis\n{E}\n";
    check(&[town, PARIS], "", &[paris()]);
    check(
        &[&format!("Look:\n{town}"), &format!("Sorry!\n{PARIS}")],
        "Look:\n",
        &[paris()],
    );
    // The model gives up and answers.
    check(&[town, "I cannot."], "I cannot.", &[]);
    // What was sent is not sent again.
    let rome = "{S}weather:r\n{A}city\nRome\n{E}\n";
    let both = [("weather".to_owned(), json!({"city": "Rome"})), paris()];
    check(
        &[&format!("{rome}{town}"), &format!("{rome}{PARIS}")],
        "",
        &both,
    );
    // Unknown tools, malformed blocks, blocks without an end, near misses.
    check(
        &["{S}whether:w\n{A}city\nParis\n{E}\n", PARIS],
        "",
        &[paris()],
    );
    check(
        &["{S}weather:w\n{A}city\nParis\n{A}city\nRome\n{E}\n", PARIS],
        "",
        &[paris()],
    );
    check(&["{S}weather:w\n{A}city\nParis\n", PARIS], "", &[paris()]);
    check(
        &[&format!("{}weather\n", "!!GADGET_START:"), PARIS],
        "!!GADGET_START:weather\n",
        &[paris()],
    );
}

#[test]
fn a_call_that_stays_invalid_is_an_error() {
    let town = "{S}weather:w\n{A}town\nParis\n{E}\n";
    let received = Client::new(ClientApi::Chat).receive(ask("Hi"), &[town, town]);
    let error = received.error.expect("there is nothing to send");
    assert!(
        error.contains("weather") && error.contains("city"),
        "{error}"
    );
    assert_eq!((received.calls.len(), received.stop_reason), (0, None));
    // With a valid one before it, that one counts.
    let received =
        Client::new(ClientApi::Chat).receive(ask("Hi"), &[&format!("{PARIS}{town}"), town]);
    assert_eq!(
        (received.calls.as_slice(), received.error),
        (&[paris()][..], None)
    );
}

#[test]
fn the_model_reads_what_was_wrong() {
    let client = Client::new(ClientApi::Chat);
    let mut exchange = client.exchange(ask("Hi"), 1);
    let mut out = Vec::new();
    let rome = "{S}weather:r\n{A}city\nRome\n{E}\n";
    let reply = client.written(&format!("{rome}{{S}}weather:w\n{{A}}town\nParis\n{{E}}\n"));
    let ExchangeStep::Again(request) = feed(&mut exchange, &reply, 5, &mut out) else {
        panic!("it is corrected");
    };
    let texts = crate::support::exchanges::texts(&request);
    let [.., said, told] = texts.as_slice() else {
        panic!("{texts:?}")
    };
    assert_eq!(*said, format!("assistant: {reply}"));
    for part in [
        "<<<RESULT r weather accepted ",
        "<<<RESULT w weather error ",
        "city",
        "Gadget Usage:",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn other_forms_of_calls() {
    let hermes = "Sure.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";
    let received = Client::new(ClientApi::Chat).receive(ask("Hi"), &[hermes]);
    assert_eq!(
        (received.text.as_str(), received.calls.as_slice()),
        ("Sure.\n", &[paris()][..])
    );
    let mut client = Client::new(ClientApi::Chat);
    client.rules.dialects = Dialects::default();
    let received = client.receive(ask("Hi"), &[hermes]);
    assert_eq!((received.text.as_str(), received.calls.len()), (hermes, 0));
    // Invalid ones are corrected, too.
    let wrong = hermes.replace("city", "town");
    let received = Client::new(ClientApi::Chat).receive(ask("Hi"), &[&wrong, PARIS]);
    assert_eq!(
        (received.text.as_str(), received.calls.as_slice()),
        ("Sure.\n", &[paris()][..])
    );
}

#[test]
fn stop_sequences_end_the_text_and_not_a_block() {
    let check = |reply: &str, text: &str, calls: usize, reason: StopReason| {
        let mut body = ask("Hi");
        body["stop"] = json!(["Paris", "STOP"]);
        let received = Client::new(ClientApi::Chat).receive(body, &[reply]);
        let got = (
            received.text.as_str(),
            received.calls.len(),
            received.stop_reason,
        );
        assert_eq!(got, (text, calls, Some(reason)), "{reply}");
    };
    check("One STOP two", "One ", 0, StopReason::StopSequence);
    check(PARIS, "", 1, StopReason::ToolUse);
    check("One ST", "One ST", 0, StopReason::Stop);
}

#[test]
fn how_a_reply_was_cut_is_how_it_ends() {
    for reason in [
        StopReason::MaxTokens,
        StopReason::ContentFilter,
        StopReason::Other("x".to_owned()),
    ] {
        let client = Client::new(ClientApi::Chat);
        let mut exchange = client.exchange(ask("Hi"), 1);
        let mut out = Vec::new();
        let text = client.written("Text.\n{S}weather:w\n{A}city\nPar");
        exchange.push(Delta::text(text), &mut out);
        assert_eq!(
            end(&mut exchange, reason.clone(), &mut out),
            ExchangeStep::Done
        );
        let received = Received::of(&out);
        assert_eq!(
            (received.text.as_str(), received.calls.len()),
            ("Text.\n", 0),
            "{reason}"
        );
        assert_eq!(received.stop_reason, Some(reason));
    }
}

#[test]
fn arguments_of_native_calls_are_repaired() {
    let check = |json: &str, expected: Option<Value>| {
        let mut client = Client::new(ClientApi::Chat);
        client.is_native = true;
        let mut exchange = client.exchange(ask("Hi"), 1);
        assert_eq!(exchange.native_tools().map(|tools| tools.len()), Some(2));
        let mut out = Vec::new();
        let id = || "x".to_owned();
        exchange.push(
            Delta::ToolCallStart {
                id: id(),
                name: "sum".to_owned(),
            },
            &mut out,
        );
        exchange.push(
            Delta::ToolCallDelta {
                id: id(),
                delta: json.to_owned(),
            },
            &mut out,
        );
        exchange.push(
            Delta::ToolCallEnd {
                id: id(),
                input: None,
            },
            &mut out,
        );
        let progress = end(&mut exchange, StopReason::ToolUse, &mut out);
        let received = Received::of(&out);
        match expected {
            Some(input) => assert_eq!(received.calls, [("sum".to_owned(), input)], "{json}"),
            None => assert!(
                matches!(progress, ExchangeStep::Again(_)),
                "{json}: {progress:?}"
            ),
        }
    };
    let sum = json!({"a": 1, "b": 2});
    check(r#"{"a": 1, "b": 2}"#, Some(sum.clone()));
    check(r#""{\"a\": 1, \"b\": 2}""#, Some(sum));
    check(r#"{"a": 1"#, None);
    check(r#"{"a": 1}"#, None);
    // Which of the two is meant?
    check(r#"{"a": 1, "b": 2, "b": 123456789012345678901234}"#, None);
    check("", None);
}
