//! Calls that depend on others of their reply.

use gadgetry_gateway::ClientApi;
use serde_json::{Value, json};

use crate::support::exchanges::{Client, ask, texts};

const BOTH: &str = "{S}weather:w\n{A}city\nParis\n{E}\n{S}sum:s:w\n{A}a\n${w/low}\n{A}b\n2\n{E}\n";

/// The next request of the client, with results of the calls that it has received.
fn next(ids: &[String], result: &str) -> Value {
    let mut body = ask("Hi");
    let calls: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Paris\"}"}}))
        .collect();
    let messages = body["messages"].as_array_mut().expect("a list");
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
    for id in ids {
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
    }
    body
}

#[test]
fn they_are_offered_with_the_results_filled_in() {
    let client = Client::new(ClientApi::Chat);
    let received = client.receive(ask("Hi"), &[BOTH]);
    assert_eq!(
        received.calls,
        [("weather".to_owned(), json!({"city": "Paris"}))]
    );
    let check = |result: &str, expected: &str| {
        let request = client.exchange(next(&received.ids, result), 2).request();
        let last = texts(&request).last().cloned().unwrap_or_default();
        assert!(last.contains(&client.written(expected)), "{result}: {last}");
        // Twice the same request is twice the same prompt.
        let again = client.exchange(next(&received.ids, result), 3).request();
        assert_eq!(texts(&again), texts(&request));
    };
    check("{\"low\": 7}", "{S}sum:s\n{A}a\n7\n{A}b\n2\n{E}\n");
    check(
        "warm",
        "the result of w is not JSON with a value at /low, or has more than",
    );
}

#[test]
fn what_depends_on_nothing_valid_is_corrected() {
    let client = Client::new(ClientApi::Chat);
    let alone = "{S}sum:s:nobody\n{A}a\n1\n{A}b\n2\n{E}\n";
    let whole = "{S}sum:s\n{A}a\n1\n{A}b\n2\n{E}\n";
    let received = client.receive(ask("Hi"), &[alone, whole]);
    assert_eq!(
        received.calls,
        [("sum".to_owned(), json!({"a": 1, "b": 2}))]
    );
}

#[test]
fn they_are_run_where_that_is_switched_on() {
    let mut client = Client::new(ClientApi::Chat);
    client.rules.run_dependencies = true;
    let received = client.receive(ask("Hi"), &[BOTH]);
    let mut exchange = client.exchange(next(&received.ids, "{\"low\": 7}"), 2);
    let mut out = Vec::new();
    assert!(
        exchange.run_dependencies(&mut out),
        "no request to the model is needed"
    );
    let received = crate::support::exchanges::Received::of(&out);
    assert_eq!(
        received.calls,
        [("sum".to_owned(), json!({"a": 7, "b": 2}))]
    );
}

/// A client may name the exchange in replies that it makes up, and each had all of what waits.
#[test]
fn they_are_offered_once_whatever_the_client_repeats() {
    let client = Client::new(ClientApi::Chat);
    let long = "y".repeat(100_000);
    let reply = format!(
        "{{S}}weather:w\n{{A}}city\nParis\n{{E}}\n{{S}}weather:s:w\n{{A}}city\n{long}\n{{E}}\n"
    );
    let received = client.receive(ask("Hi"), &[&reply]);
    let check = |result: &str, repeated: usize, written: usize| {
        let mut body = next(&received.ids, result);
        let messages = body["messages"].as_array_mut().expect("a list");
        let pair = messages[messages.len() - 2..].to_vec();
        for _ in 1..repeated {
            messages.extend(pair.clone());
        }
        let request = client.exchange(body, 2).request();
        let prompt = texts(&request).concat();
        // As the model has written it, and with the results.
        assert_eq!(prompt.matches(&long).count(), written, "{repeated}");
    };
    check("x", 1, 2);
    check("x", 200, 2);
}
