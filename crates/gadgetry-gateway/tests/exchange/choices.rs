//! Tool choices, and one call at a time.

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::ExchangeStep;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::delta::StopReason;
use gadgetry_proto::message::Role;
use serde_json::{Value, json};

use crate::support::exchanges::{Client, Received, ask, feed, texts};

const PARIS: &str = "{S}weather:w\n{A}city\nParis\n{E}\n";
const SUM: &str = "{S}sum:s\n{A}a\n1\n{A}b\n2\n{E}\n";

fn chosen(choice: Value) -> Value {
    let mut body = ask("Hi");
    body["tool_choice"] = choice;
    body
}

#[test]
fn a_choice_is_satisfied_or_an_error() {
    let named = json!({"type": "function", "function": {"name": "sum"}});
    let allowed = |mode: &str| json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [{"type": "function", "function": {"name": "sum"}}]}});
    let check = |choice: &Value, replies: &[&str], calls: &[&str], error: Option<&str>| {
        let received = Client::new(ClientApi::Chat).receive(chosen(choice.clone()), replies);
        let names: Vec<&str> = received
            .calls
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, calls, "{choice} {replies:?}");
        assert_eq!(received.error.as_deref(), error, "{choice} {replies:?}");
    };
    let required = json!("required");
    check(&json!("auto"), &["No."], &[], None);
    check(&required, &[PARIS], &["weather"], None);
    check(&required, &["No.", PARIS], &["weather"], None);
    check(
        &required,
        &["No.", "No."],
        &[],
        Some("tool_choice not satisfied: the model did not call a tool"),
    );
    check(&named, &[SUM], &["sum"], None);
    check(&named, &[PARIS, SUM], &["sum"], None);
    check(&named, &["No.", SUM], &["sum"], None);
    check(
        &named,
        &["No.", "No."],
        &[],
        Some("tool_choice not satisfied: the model did not call the tool sum"),
    );
    check(&allowed("auto"), &["No."], &[], None);
    check(&allowed("auto"), &[PARIS, SUM], &["sum"], None);
    check(&allowed("required"), &["No.", SUM], &["sum"], None);
}

/// Servers that continue a message of the assistant are sent the beginning of the call.
#[test]
fn a_call_that_must_be_made_is_begun() {
    let mut client = Client::new(ClientApi::Chat);
    client.rules.template.prefill = true;
    let named = json!({"type": "function", "function": {"name": "sum"}});
    let check = |form: CallForm, choice: &Value, head: &str, reply: &str, calls: &[&str]| {
        let mut client = client.clone();
        client.rules.form = Some(form);
        let reply = client.written(reply);
        for size in 1..=reply.len() {
            let mut exchange = client.exchange(chosen(choice.clone()), 1);
            let request = exchange.request();
            let last = request.messages.last().expect("a message");
            let is_begun = last.role == Role::Assistant;
            assert_eq!(is_begun, !head.is_empty(), "{choice}");
            if is_begun {
                let begun = format!("assistant: {}", client.written(head));
                assert_eq!(texts(&request).last(), Some(&begun));
            }
            let mut out = Vec::new();
            let progress = feed(&mut exchange, &reply, size, &mut out);
            let received = Received::of(&out);
            let names: Vec<&str> = received.calls.iter().map(|(it, _)| it.as_str()).collect();
            assert_eq!(names, calls, "{choice} {reply:?} {size}");
            let ends = if calls.is_empty() && !head.is_empty() {
                matches!(progress, ExchangeStep::Again(_))
            } else {
                progress == ExchangeStep::Done
            };
            assert!(ends, "{choice} {reply:?} {size}: {progress:?}");
        }
    };
    let sum = ":s\n{A}a\n1\n{A}b\n2\n{E}\n";
    check(CallForm::Block, &named, "{S}sum", sum, &["sum"]);
    // Without an id, and with the beginning once more.
    check(
        CallForm::Block,
        &named,
        "{S}sum",
        "\n{A}a\n1\n{A}b\n2\n{E}\n",
        &["sum"],
    );
    check(CallForm::Block, &named, "{S}sum", SUM, &["sum"]);
    check(
        CallForm::Block,
        &named,
        "{S}sum",
        &format!("\n{SUM}"),
        &["sum"],
    );
    check(
        CallForm::Block,
        &json!("required"),
        "{S}",
        &format!("sum{sum}"),
        &["sum"],
    );
    check(
        CallForm::Block,
        &json!("required"),
        "{S}",
        PARIS,
        &["weather"],
    );
    check(CallForm::Block, &named, "{S}sum", "No.", &[]);
    // Nothing is demanded.
    check(CallForm::Block, &json!("auto"), "", "No.", &[]);
    check(CallForm::Block, &json!("auto"), "", PARIS, &["weather"]);
    let rest = "\", \"arguments\": {\"a\": 1, \"b\": 2}}\n</tool_call>";
    let head = "<tool_call>\n{\"name\":\"";
    let whole = format!("{head}sum{rest}");
    let begun = format!("{head}sum");
    check(CallForm::Json, &named, &begun, rest, &["sum"]);
    check(CallForm::Json, &named, &begun, &whole, &["sum"]);
    let spaced = whole.replace(':', ": ");
    check(CallForm::Json, &named, &begun, &spaced, &["sum"]);
    check(
        CallForm::Json,
        &json!("required"),
        head,
        &format!("sum{rest}"),
        &["sum"],
    );
    check(CallForm::Json, &json!("required"), head, &whole, &["sum"]);
    check(CallForm::Json, &json!("auto"), "", &whole, &["sum"]);
}

#[test]
fn the_model_is_asked_for_what_is_demanded() {
    let client = Client::new(ClientApi::Chat);
    let last = |choice: Value| {
        let request = client.exchange(chosen(choice), 1).request();
        texts(&request).last().cloned().unwrap_or_default()
    };
    assert_eq!(last(json!("auto")), "user: Hi");
    assert!(last(json!("required")).contains("Call a tool now"));
    let named = last(json!({"type": "function", "function": {"name": "sum"}}));
    assert!(named.contains("Call the tool sum now"), "{named}");
}

#[test]
fn without_tools_a_block_is_text() {
    let client = Client::new(ClientApi::Chat);
    let received = client.receive(chosen(json!("none")), &[PARIS]);
    assert_eq!(
        (received.text, received.calls.len()),
        (client.written(PARIS), 0)
    );
    let request = client.exchange(chosen(json!("none")), 1).request();
    assert_eq!(texts(&request), ["user: Hi"]);
}

#[test]
fn one_call_at_a_time() {
    let both = format!("{PARIS}{SUM}After.");
    for (api, body) in [
        (ClientApi::Chat, {
            let mut body = ask("Hi");
            body["parallel_tool_calls"] = json!(false);
            body
        }),
        (
            ClientApi::Messages,
            json!({
                "model": "m",
                "max_tokens": 9,
                "messages": [{"role": "user", "content": "Hi"}],
                "tools": [{"name": "weather", "input_schema": {}}, {"name": "sum", "input_schema": {}}],
                "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
            }),
        ),
    ] {
        let client = Client::new(api);
        let mut exchange = client.exchange(body, 1);
        let mut out = Vec::new();
        let written = client.written(&both);
        let progress = crate::support::exchanges::feed(&mut exchange, &written, 3, &mut out);
        assert_eq!(progress, gadgetry_gateway::exchange::ExchangeStep::Done);
        let received = crate::support::exchanges::Received::of(&out);
        assert_eq!(
            (received.calls.len(), received.text.as_str()),
            (1, ""),
            "{api:?}"
        );
        assert_eq!(received.stop_reason, Some(StopReason::ToolUse));
    }
}
