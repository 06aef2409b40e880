use serde_json::json;

use super::*;

/// The host of a command line, whose commands end with a status.
struct Shell;

impl Gadgets for Shell {
    fn describe(&self, gadget: &str, _: Option<&Value>) -> CallDescription {
        CallDescription::new(CallKind::Execute, gadget)
    }

    fn has_failed(&self, gadget: &str, result: &str) -> bool {
        gadget == "Run" && !result.starts_with("status=0")
    }
}

fn updates(events: &[Value], updates: &mut Updates) -> Vec<Value> {
    let mut all = Vec::new();
    for event in events {
        let mut event = event.clone();
        (event["v"], event["seq"], event["timeMs"]) = (1.into(), 1.into(), 0.into());
        let event = serde_json::from_value(event).expect("an event");
        all.extend(updates.event(&event, &Shell));
    }
    let all = all.into_iter().map(serde_json::to_value);
    all.collect::<Result<_, _>>().expect("JSON")
}

fn run() -> Updates {
    Updates::new(1, PathBuf::from("/"), None, Spent::default())
}

#[test]
fn notes_about_requests() {
    let check = |event: Value, kind: &str, text: &str| {
        let found = updates(&[event], &mut run());
        let expected = json!([{
            "sessionUpdate": kind, "content": { "type": "text", "text": text }, "messageId": "1.0",
        }]);
        assert_eq!(Value::from(found), expected);
    };
    check(
        json!({
            "type": "model_retry", "iteration": 1, "attempt": 1, "left": 2, "delayMs": 1500,
            "kind": "overloaded", "error": "busy",
        }),
        "agent_thought_chunk",
        "\nRetrying in 2 s, attempt 2 of 4: busy\n",
    );
    check(
        json!({
            "type": "diagnostic", "code": "mediaOmitted", "message": "[image: cat.png] was not sent: why",
                "span": { "start": 0, "end": 0 },
        }),
        "agent_message_chunk",
        "*[image: cat.png] was not sent: why*\n\n",
    );
}

/// The end of a call: its status, and the texts that stay.
#[test]
fn calls_end() {
    let check = |gadget: &str, answer: (&str, &str), status: &str, texts: &[&str]| {
        let mut run = run();
        let call = json!({ "call": 0, "invocationId": "a", "gadgetName": gadget });
        let event = |kind: &str, more: &[(&str, Value)]| {
            let mut event = call.clone();
            event["type"] = kind.into();
            for (name, value) in more {
                event[name] = value.clone();
            }
            event
        };
        updates(&[event("gadget_start", &[])], &mut run);
        let seen = run.seen(CallId(0), Seen::Output("1%\n".to_owned()));
        assert!(seen.is_some(), "the call runs");
        let (field, text) = answer;
        let ended = [(field, text.into()), ("durationMs", 1.into())];
        let ended = updates(&[event("gadget_result", &ended)], &mut run);
        let [ended] = &ended[..] else {
            panic!("{ended:?}");
        };
        let content = ended["content"].as_array().into_iter().flatten();
        let content = content.filter_map(|it| it["content"]["text"].as_str());
        let found = (ended["status"].as_str(), content.collect::<Vec<_>>());
        assert_eq!(found, (Some(status), texts.to_vec()), "{gadget} {answer:?}");
    };
    let ok = ("result", "status=0\n\n1%\n");
    let exit = ("result", "status=3\n\n1%\n");
    check("Run", ok, "completed", &["```\nstatus=0\n\n1%\n```"]);
    check("Run", exit, "failed", &["```\nstatus=3\n\n1%\n```"]);
    check("Other", exit, "completed", &["```\nstatus=3\n\n1%\n```"]);
    // What it has written is not in its error.
    let cancelled = ("error", "Cancelled");
    let texts = ["```\n1%\n```", "```\nCancelled\n```"];
    check("Run", cancelled, "failed", &texts);
}
