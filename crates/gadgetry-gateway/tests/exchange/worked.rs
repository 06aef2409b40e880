//! The worked example in the docs of `exchange`: what the client receives after each piece of the upstream's reply.

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::ExchangeStep;
use gadgetry_proto::delta::{Delta, StopReason};
use serde_json::json;

use crate::support::exchanges::{Client, ask, end};

/// The deltas for the client, in short.
fn short(deltas: &[Delta]) -> Vec<String> {
    let short = |delta: &Delta| match delta {
        Delta::MessageStart { .. } => "start".to_owned(),
        Delta::Text { delta, .. } => format!("text {delta:?}"),
        Delta::ToolCall { name, input, .. } => format!("call {name} {input}"),
        Delta::MessageEnd { stop_reason, .. } => format!("end {stop_reason:?}"),
        other => format!("{other:?}"),
    };
    deltas.iter().map(short).collect()
}

#[test]
fn the_worked_example_is_true() {
    let client = Client::new(ClientApi::Chat);
    let mut body = ask("Add.");
    body["tool_choice"] = json!("required");
    let mut exchange = client.exchange(body, 1);
    let mut out = Vec::new();
    let rows: [(&str, &[&str]); 6] = [
        ("\n", &[]),
        ("First the sum.\n", &[]),
        (
            "{S}sum:s\n{A}a\n1\n{A}b\n2\n{E}",
            &[
                "start",
                r#"text "\nFirst the sum.\n""#,
                r#"call sum {"a":1,"b":2}"#,
            ],
        ),
        ("\n<tool_", &[]),
        (
            r#"call>{"name": "sum", "arguments": {"a": "x"}}</tool_call>"#,
            &[],
        ),
        ("Done.", &[r#"text "Done.""#]),
    ];
    for (piece, expected) in rows {
        let piece_of_reply = Delta::text(client.written(piece));
        let progress = exchange.push(piece_of_reply, &mut out);
        assert_eq!(progress, ExchangeStep::More, "{piece}");
        assert_eq!(short(&out), expected, "{piece}");
        out.clear();
    }
    let progress = end(&mut exchange, StopReason::Stop, &mut out);
    assert!(matches!(progress, ExchangeStep::Again(_)), "{progress:?}");
    assert_eq!(short(&out), [""; 0]);
    let corrected = r#"<tool_call>{"name": "sum", "arguments": {"a": 3, "b": 4}}</tool_call>"#;
    exchange.push(Delta::text(corrected), &mut out);
    let progress = end(&mut exchange, StopReason::Stop, &mut out);
    assert_eq!(progress, ExchangeStep::Done);
    assert_eq!(short(&out), [r#"call sum {"a":3,"b":4}"#, "end ToolUse"]);
}
