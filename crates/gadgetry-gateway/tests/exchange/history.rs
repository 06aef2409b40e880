//! Earlier calls and results in the prompt.

use gadgetry_gateway::ClientApi;
use gadgetry_proto::message::Role;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::exchanges::{Client, ask, texts};

/// The messages of a prompt after the system message.
fn prompt(client: &Client, messages: Value) -> Vec<String> {
    let mut body = ask("");
    body["messages"] = messages;
    let request = client.exchange(body, 9).request();
    let mut texts = texts(&request);
    texts.retain(|text| !text.starts_with("system: "));
    let word = client.secrets().word;
    texts
        .into_iter()
        .map(|text| text.replace(&word, "WORD"))
        .collect()
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn calls_are_blocks_and_results_are_in_envelopes() {
    let check = |messages: Value, expected: &[&str]| {
        let client = Client::new(ClientApi::Chat);
        let markers = |text: &str| client.written(text).replace(&client.secrets().word, "WORD");
        let expected: Vec<String> = expected.iter().map(|text| markers(text)).collect();
        assert_eq!(prompt(&client, messages.clone()), expected, "{messages}");
    };
    let user = json!({"role": "user", "content": "Hi"});
    let paris = call(
        "call_000000000000000000000000aa_w",
        "weather",
        r#"{"city":"Paris"}"#,
    );
    let rome = call("toolu_R", "weather", r#"{"city":"Rome"}"#);
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let said = |calls: Value| json!({"role": "assistant", "content": "Look.", "tool_calls": calls});
    let block = "{S}weather:w\n{A}city\nParis\n{E}\n";
    let other = "{S}weather:toolu_R\n{A}city\nRome\n{E}\n";
    // In the order of the calls, whatever the order of the results.
    check(
        json!([
            user,
            said(json!([paris, rome])),
            result("toolu_R", "hot"),
            result("call_000000000000000000000000aa_w", "cold")
        ]),
        &[
            "user: Hi",
            &format!("assistant: Look.\n{block}{other}"),
            "user: <<<RESULT w weather ok WORD>>>\ncold\n<<<END WORD>>>\n<<<RESULT toolu_R weather ok WORD>>>\nhot\n<<<END WORD>>>",
        ],
    );
    // A missing result, and the user instead.
    check(
        json!([user, said(json!([paris])), {"role": "user", "content": "Stop."}]),
        &[
            "user: Hi",
            &format!("assistant: Look.\n{block}"),
            "user: <<<RESULT w weather missing WORD>>>\n[no result]\n<<<END WORD>>>\n\nStop.",
        ],
    );
    // A result whose call was compacted away.
    check(
        json!([user, result("call_9", "late")]),
        &["user: Hi\n\n<<<RESULT call_9 unknown ok WORD>>>\nlate\n<<<END WORD>>>"],
    );
    // The same word twice.
    let again = call(
        "call_000000000000000000000000bb_w",
        "weather",
        r#"{"city":"Rome"}"#,
    );
    check(
        json!([
            user,
            said(json!([paris])),
            result("call_000000000000000000000000aa_w", "1"),
            said(json!([again])),
            result("call_000000000000000000000000bb_w", "2")
        ]),
        &[
            "user: Hi",
            &format!("assistant: Look.\n{block}"),
            "user: <<<RESULT w weather ok WORD>>>\n1\n<<<END WORD>>>",
            "assistant: Look.\n{S}weather:w_2\n{A}city\nRome\n{E}\n",
            "user: <<<RESULT w_2 weather ok WORD>>>\n2\n<<<END WORD>>>",
        ],
    );
    // Arguments that are no JSON, of a tool that is not there.
    check(
        json!([
            user,
            said(json!([call("x", "gone", "{oops")])),
            result("x", "?")
        ]),
        &[
            "user: Hi",
            "assistant: Look.\n{S}gone:x\n{oops\n{E}\n",
            "user: <<<RESULT x gone ok WORD>>>\n?\n<<<END WORD>>>",
        ],
    );
}

#[test]
fn templates_without_a_system_role_or_with_alternation() {
    use Role::{Assistant, System, User};
    let check = |has_system: bool, alternates: bool, roles: &[Role]| {
        let mut client = Client::new(ClientApi::Chat);
        client.rules.template.system_role = has_system;
        client.rules.template.alternate = alternates;
        let mut body = ask("");
        body["messages"] = json!([
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "One."},
            {"role": "user", "content": "Two."},
        ]);
        let request = client.exchange(body, 1).request();
        let got: Vec<Role> = request
            .messages
            .iter()
            .map(|message| message.role)
            .collect();
        assert_eq!(got, roles, "{has_system} {alternates}");
    };
    check(true, true, &[System, User, Assistant, User]);
    check(true, false, &[System, Assistant, User, User]);
    check(false, true, &[User, Assistant, User]);
    check(false, false, &[User, Assistant, User, User]);
}

/// A turn of a conversation: what the user says, the calls of the reply, and their results.
#[derive(Clone, Debug)]
struct Turn {
    said: String,
    reply: String,
    calls: Vec<(String, Result<String, ()>)>,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let text = "[a-z!<>\\\\:_\n ]{0,24}|!!!GADGET_START:x|<<<END|\u{e9}\u{20ac}";
    let result = prop_oneof![text.prop_map(Ok), Just(Err(()))];
    let call = ("[a-z_]{1,6}", result);
    let turn = ("[a-z]{1,9}", text, prop::collection::vec(call, 0..4));
    let turn = turn.prop_map(|(said, reply, calls)| Turn { said, reply, calls });
    prop::collection::vec(turn, 1..6)
}

/// The body after so many turns.
fn body(turns: &[Turn]) -> Value {
    let mut messages = vec![json!({"role": "system", "content": "Be brief."})];
    for (number, turn) in turns.iter().enumerate() {
        messages.push(json!({"role": "user", "content": turn.said}));
        let ids: Vec<String> = (0..turn.calls.len())
            .map(|at| format!("call_{number:026}_c{at}"))
            .collect();
        let calls = ids.iter().zip(&turn.calls);
        let calls: Vec<Value> = calls
            .map(|(id, (name, _))| call(id, name, &json!({"city": turn.reply}).to_string()))
            .collect();
        let mut reply = json!({"role": "assistant", "content": turn.reply});
        if !calls.is_empty() {
            reply["tool_calls"] = calls.into();
        }
        messages.push(reply);
        for (id, (_, result)) in ids.iter().zip(&turn.calls) {
            if let Ok(result) = result {
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
            }
        }
    }
    messages.push(json!({"role": "user", "content": "And now?"}));
    let mut body = ask("");
    body["messages"] = messages.into();
    body
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The prompt of a turn is a prefix of that of the next one, up to the message that the user has added.
    #[test]
    fn prompts_grow_at_their_end(turns in turns()) {
        let mut client = Client::new(ClientApi::Chat);
        // Merging adjacent messages would join what comes with what was.
        client.rules.template.alternate = false;
        for count in 1..turns.len() {
            let before = texts(&client.exchange(body(&turns[..count]), 1).request());
            let after = texts(&client.exchange(body(&turns[..=count]), 2).request());
            let shared = before.len() - 1;
            prop_assert_eq!(&before[..shared], &after[..shared]);
        }
    }

    /// Whatever a conversation has in it, none of it is a block of the prompt but the calls of the model.
    #[test]
    fn no_text_of_a_conversation_is_a_block(turns in turns()) {
        let client = Client::new(ClientApi::Chat);
        let start = client.secrets().markers.start().to_owned();
        let texts = prompt(&client, body(&turns)["messages"].clone());
        let blocks: usize = texts.iter().map(|text| text.matches(&start.replace(&client.secrets().word, "WORD")).count()).sum();
        let calls: usize = turns.iter().map(|turn| turn.calls.len()).sum();
        prop_assert_eq!(blocks, calls);
    }
}
