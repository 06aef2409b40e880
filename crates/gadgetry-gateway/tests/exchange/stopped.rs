//! Replies that are ended early: at calls that cannot become valid, and at lines that repeat without end.

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::ExchangeStep;
use gadgetry_proto::delta::StopReason;
use serde_json::{Value, json};

use crate::support::exchanges::{Client, Received, feed, texts, tool};

fn body() -> Value {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string" }, "days": { "type": "integer" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    let user = json!({ "role": "user", "content": "Hi" });
    json!({ "model": "m", "messages": [user], "tools": [tool("weather", schema)] })
}

/// What the client receives, and the messages of the repair turn, whatever the pieces are.
#[track_caller]
fn read(client: &Client, reply: &str) -> (Received, Option<Vec<String>>) {
    let mut all = [1, 2, 7, 50, usize::MAX].map(|size| {
        let mut exchange = client.exchange(body(), 1);
        let mut out = Vec::new();
        let progress = feed(&mut exchange, &client.written(reply), size, &mut out);
        let again = match progress {
            ExchangeStep::Again(request) => Some(texts(&request)),
            ExchangeStep::Done | ExchangeStep::More => None,
        };
        (Received::of(&out), again)
    });
    for other in &all[1..] {
        assert_eq!(&all[0], other, "{reply}");
    }
    std::mem::take(&mut all[0])
}

const PARIS: &str = "{S}weather:w\n{A}city\nParis\n{E}\n";

/// The upstream's stream ends there, the calls before it are the client's, and the repair turn says why.
#[test]
fn a_call_that_cannot_become_valid() {
    let client = Client::new(ClientApi::Chat);
    for (doomed, problem) in [
        (
            "{S}weather:v\n{A}city\nRome\n{A}city\n",
            "Duplicate pointer: city. The call could not become valid",
        ),
        (
            "{S}weather:v\n{A}city\nRome\n{A}unit\n",
            "'weather' has no parameter 'unit', and had all parameters that it needs. The call could not become valid",
        ),
    ] {
        let reply = format!("{PARIS}{doomed}x\n{{A}}more\ny\n{{E}}\n{PARIS}");
        let (received, again) = read(&client, &reply);
        let paris = ("weather".to_owned(), json!({ "city": "Paris" }));
        assert_eq!(received.calls, [paris]);
        let again = again.expect("a repair turn");
        let [.., kept, correction] = &again[..] else {
            panic!("{again:#?}");
        };
        let expected = client.written(&format!("assistant: {PARIS}{doomed}"));
        assert_eq!(*kept, expected);
        assert!(correction.contains(problem), "{correction}");
    }
    let (received, again) = read(
        &client,
        "{S}weather:v\n{A}unit\nC\n{A}city\nRome\n{E}\nBye.",
    );
    assert!(received.text.ends_with("Bye."), "{received:?}");
    let again = again.expect("it is not valid").pop().expect("a correction");
    assert!(!again.contains("could not become"), "{again}");
}

#[test]
fn lines_that_repeat() {
    let client = Client::new(ClientApi::Chat);
    let lines = |count| "And once more.\n".repeat(count);
    let (received, again) = read(&client, &(lines(30) + "Bye."));
    let ended = (received.text, received.stop_reason);
    assert_eq!(ended, (lines(10), Some(StopReason::MaxTokens)));
    assert_eq!(again, None);

    let start = format!("{{S}}weather:v\n{{A}}city\n{}", lines(40));
    let (received, again) = read(&client, &format!("{start}{}{{E}}\n", lines(40)));
    assert_eq!(received.calls, []);
    let again = again.expect("a repair turn");
    let [.., kept, correction] = &again[..] else {
        panic!("{again:#?}");
    };
    assert_eq!(*kept, client.written(&format!("assistant: {start}")));
    let why = "You wrote the same again and again, so your reply was ended there.";
    assert!(correction.contains(why), "{correction}");
}

#[test]
fn it_can_be_switched_off() {
    let mut client = Client::new(ClientApi::Chat);
    client.rules.stop_early = false;
    let reply = "And once more.\n".repeat(30) + "Bye.";
    assert_eq!(read(&client, &reply).0.text, reply);
    let (received, again) = read(
        &client,
        "{S}weather:v\n{A}city\nRome\n{A}city\nParis\n{E}\nBye.",
    );
    assert_eq!((received.text.as_str(), again.is_some()), ("Bye.", true));
}
