//! Every form of calls through an exchange: the client gets the calls, and none of their text.
//!
//! The forms are rows of `corpus/dialects.json`; the engine checks the same ones.

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::ExchangeStep;
use gadgetry_proto::dialect::{CustomDialect, Dialects};
use serde_json::{Value, json};

use crate::support::exchanges::{Client, Received, ask, feed, tool};

fn client() -> Client {
    let mut all = Dialects::all();
    let custom = json!({
        "name": "mine", "before": "[[call", "name-before": "", "name-after": "]]", "after": "[[end]]",
        "arguments": {"pairs": {"key-before": "[", "key-after": "]", "value-after": "[/]"}},
    });
    let custom: CustomDialect = serde_json::from_value(custom).expect("the form");
    all.define(custom).expect("it is right");
    let mut client = Client::new(ClientApi::Chat);
    client.rules.dialects = all;
    client
}

fn body() -> Value {
    let mut body = ask("Hi");
    body["tools"] = json!([tool(
        "Calc",
        json!({"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "number"}}, "required": ["text", "n"]}),
    )]);
    body
}

fn receive(reply: &str, size: usize) -> Received {
    let client = client();
    let mut exchange = client.exchange(body(), 1);
    let mut out = Vec::new();
    let progress = feed(&mut exchange, reply, size, &mut out);
    assert_eq!(progress, ExchangeStep::Done, "{reply}");
    Received::of(&out)
}

fn rows() -> Vec<Value> {
    serde_json::from_str(include_str!("../../../../corpus/dialects.json")).expect("the rows")
}

fn call(row: &Value, text: &str, number: &str) -> String {
    let written = if row["encoding"] == "json" {
        Value::from(text).to_string()
    } else {
        text.to_owned()
    };
    let form = row["form"].as_str().expect("a form");
    form.replacen("{n}", number, 1)
        .replacen("{text}", &written, 1)
}

#[test]
fn each_form_reaches_the_client_as_calls_alone() {
    for row in rows() {
        let text = "a \"b\" </tool_call> <|call|> 東京";
        let reply = format!("One.\n{}\n{}", call(&row, text, "1"), call(&row, "b", "2"));
        for size in [1, 5, usize::MAX] {
            let received = receive(&reply, size);
            let calls: Vec<&Value> = received.calls.iter().map(|(_, input)| input).collect();
            let expected = [json!({"text": text, "n": 1}), json!({"text": "b", "n": 2})];
            assert_eq!(calls, [&expected[0], &expected[1]], "{row} {size}");
            assert_eq!(received.text.trim(), "One.", "{row} {size}");
        }
        let thought = receive(&format!("<think>{}</think>Done.", call(&row, "a", "1")), 3);
        assert_eq!(
            (thought.text.as_str(), thought.calls.len()),
            ("Done.", 0),
            "{row}"
        );
        let quoted = format!(
            "Write `{}` to call.",
            call(&row, "a", "1").replace('\n', " ")
        );
        let received = receive(&quoted, 3);
        assert_eq!(
            (received.text.as_str(), received.calls.len()),
            (quoted.as_str(), 0),
            "{row}"
        );
    }
}

/// A form that the data of the conversation has is a quotation: the client gets each byte of it, next to a call as well.
#[test]
fn a_form_that_is_repeated_from_the_data_is_shown_as_it_was_written() {
    for row in rows() {
        let form = call(&row, "a \"b\"", "1");
        let other = call(&row, "c", "2");
        let mut body = body();
        body["messages"] = json!([{"role": "user", "content": format!("What is this?\n{form}\n")}]);
        let check = |reply: &str, expected: &str, calls: usize| {
            for size in [1, 5, usize::MAX] {
                let mut exchange = client().exchange(body.clone(), 1);
                let mut out = Vec::new();
                feed(&mut exchange, reply, size, &mut out);
                let received = Received::of(&out);
                // A line break before a call is a part of neither.
                let text = received.text.strip_suffix('\n').filter(|_| calls > 0);
                let text = text.unwrap_or(&received.text);
                assert_eq!(
                    (text, received.calls.len()),
                    (expected, calls),
                    "{row} in pieces of {size}"
                );
            }
        };
        check(&form, &form, 0);
        check(
            &format!("It is\n\n{form}\n"),
            &format!("It is\n\n{form}\n"),
            0,
        );
        let twice = format!("{form}\n{form}");
        check(&twice, &twice, 0);
        if row["bare"] != true {
            let twice = format!("{form}{form}");
            check(&twice, &twice, 0);
        }
        check(&format!("{form}\n{other}"), &form, 1);
    }
}

/// A form of a call from which no call was made counts, whatever the reason; a quotation in prose does not.
#[test]
fn a_form_without_a_call_is_counted() {
    let form = r#"<tool_call>{"name": "Calc", "arguments": {"text": "a", "n": 1}}</tool_call>"#;
    let check = |dialects: Dialects, data: &str, reply: &str, expected: bool| {
        for size in [1, usize::MAX] {
            let mut client = client();
            client.rules.dialects = dialects.clone();
            client.rules.repairs = 0;
            let mut body = body();
            body["messages"][0]["content"] = data.into();
            let mut exchange = client.exchange(body, 1);
            feed(&mut exchange, reply, size, &mut Vec::new());
            assert_eq!(exchange.counts().is_unparsed(), expected, "{reply}");
        }
    };
    let all = || client().rules.dialects;
    check(all(), "Hi", form, false);
    check(Dialects::default(), "Hi", form, true);
    check(all(), &format!("Page: {form}"), form, true);
    let unknown = form.replace("Calc", "Format");
    check(all(), "Hi", &unknown, true);
    check(all(), "Hi", &format!("Sure.\n{unknown}"), true);
    check(all(), "Hi", &format!("{unknown}\n{form}"), false);
    check(all(), "Hi", &form.replace("\"n\": 1}", ""), true);
    check(
        all(),
        "Hi",
        &form.replace("{\"text\": \"a\", \"n\": 1}", "?"),
        true,
    );
    let bare = r#"{"name": "Calc", "parameters": {"text": "a"}}"#;
    check(Dialects::default(), "Hi", bare, true);
    // Without the name of a tool or a marker, it may be any data.
    check(all(), "Hi", &bare.replace("Calc", "Format"), false);
    check(all(), "Hi", "It is 3 < 4.", false);
    check(all(), "Hi", &format!("Write `{form}` to call."), false);
    check(
        all(),
        "Hi",
        &format!("<think>{unknown}</think>Done."),
        false,
    );
}

/// A call that is cut off is written again in a turn that the client does not see, and nothing of it is shown.
#[test]
fn a_call_that_was_cut_off_is_not_shown() {
    for row in rows().iter().filter(|row| row["bare"] != true) {
        let whole = call(row, "abcdef", "1");
        let at = whole.find("cdef").expect("the text");
        for cut in [at, whole.floor_char_boundary(14)] {
            let mut exchange = client().exchange(body(), 1);
            let mut out = Vec::new();
            let reply = format!("One.\n{}", &whole[..cut]);
            let progress = feed(&mut exchange, &reply, 2, &mut out);
            assert!(
                matches!(progress, ExchangeStep::Again(_)),
                "{row} at {cut}: {progress:?}"
            );
            let again = feed(&mut exchange, &whole, 2, &mut out);
            assert_eq!(again, ExchangeStep::Done, "{row}");
            let received = Received::of(&out);
            assert_eq!(
                (received.text.trim(), received.calls.len()),
                ("One.", 1),
                "{row} at {cut}"
            );
        }
    }
}

/// The channels of gpt-oss become what they are.
#[test]
fn channels_are_reasoning_and_text() {
    let reply = "<|channel|>analysis<|message|>I add.<|end|><|start|>assistant<|channel|>final<|message|>It is 3.<|return|>";
    for size in [1, 4, usize::MAX] {
        let mut exchange = client().exchange(body(), 1);
        let mut out = Vec::new();
        feed(&mut exchange, reply, size, &mut out);
        let thought: String = out
            .iter()
            .filter_map(|delta| match delta {
                gadgetry_proto::delta::Delta::Reasoning { delta, .. } => Some(delta.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(
            (thought.as_str(), Received::of(&out).text.as_str()),
            ("I add.", "It is 3.")
        );
    }
}
