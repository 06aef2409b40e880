//! The scripted model, in virtual time.

use std::time::Duration;

use futures_util::StreamExt as _;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::{ModelError, ModelErrorKind};
use gadgetry::proto::message::{Content, Message, Request, Role};
use gadgetry::proto::usage::Usage;
use gadgetry::{Model as _, ScriptedModel};
use tokio::time::Instant;

fn request(messages: Vec<Message>) -> Request {
    Request::default().messages(messages).iteration(1)
}

fn ask(text: &str) -> Request {
    request(vec![Message::text(Role::User, text)])
}

fn end(stop_reason: StopReason, usage: Option<Usage>) -> Delta {
    Delta::MessageEnd { stop_reason, usage }
}

fn error(error: &str, code: &str) -> Delta {
    Delta::Error(ModelError::new(ModelErrorKind::Other, error.to_owned()).with_code(code))
}

async fn reply(model: &ScriptedModel, request: Request) -> Vec<Delta> {
    model.stream(request).collect().await
}

/// Checks the first reply of `script` to the request "a question".
async fn check(script: &str, expected: &[Delta]) {
    let model: ScriptedModel = script.parse().expect(script);
    assert_eq!(reply(&model, ask("a question")).await, expected, "{script}");
}

#[tokio::test(start_paused = true)]
async fn says_what_the_script_says() {
    let usage = Usage::default().input_tokens(7).output_tokens(2);
    let stop = || end(StopReason::Stop, None);
    check(r#"{"text": "hi"}"#, &[Delta::text("hi"), stop()]).await;
    check(
        r#"{"chunks": ["a", {"delayMs": 5}, "b", ""]}"#,
        &[Delta::text("a"), Delta::text("b"), Delta::text(""), stop()],
    )
    .await;
    check(r#"{"chunks": []}"#, &[stop()]).await;
    check(
        r#"{"text": "hi", "finish": "stop", "usage": {"inputTokens": 7, "outputTokens": 2}}"#,
        &[Delta::text("hi"), end(StopReason::Stop, Some(usage))],
    )
    .await;
    check(
        r#"{"text": "hi", "finish": "length"}"#,
        &[Delta::text("hi"), end(StopReason::MaxTokens, None)],
    )
    .await;
    let failure = || error("the script says that the model fails here", "script");
    check(
        r#"{"text": "hi", "finish": "error"}"#,
        &[Delta::text("hi"), failure()],
    )
    .await;
    check(
        r#"{"text": "hi", "finish": "error", "usage": {"inputTokens": 7, "outputTokens": 2}}"#,
        &[Delta::text("hi"), Delta::Usage { usage }, failure()],
    )
    .await;
    check(
        r#"{"text": "hi", "finish": "disconnect"}"#,
        &[Delta::text("hi")],
    )
    .await;
    check(
        r#"{"text": "hi", "expect": {"contains": ["question", "a q"]}}"#,
        &[Delta::text("hi"), stop()],
    )
    .await;
    let unmet = "line 2 of the script expects a request that contains \"answer\" and \"\\n!\"; \
                 this one does not. It ends with: a question";
    check(
        "\n{\"text\": \"hi\", \"expect\": {\"contains\": [\"question\", \"answer\", \"\\n!\"]}}",
        &[error(unmet, "expectation")],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn delays_pass_in_tokio_time() {
    let script = r#"{"chunks": [{"delayMs": 20}, "a", "b", {"delayMs": 100}]}"#;
    let model: ScriptedModel = script.parse().expect("a script");
    let start = Instant::now();
    let mut times = Vec::new();
    let mut stream = model.stream(ask(""));
    while stream.next().await.is_some() {
        times.push(start.elapsed());
    }
    assert_eq!(times, [20, 20, 120].map(Duration::from_millis));
}

#[tokio::test]
async fn each_call_takes_the_next_reply_and_then_there_is_silence() {
    let model: ScriptedModel = "{\"text\": \"1\"}\r\n\r\n  \n{\"text\": \"2\"}\n"
        .parse()
        .expect("a script");
    let stop = end(StopReason::Stop, None);
    let first = model.stream(ask(""));
    // Dropped without being read: its reply is taken all the same.
    drop(first);
    assert_eq!(
        reply(&model, ask("")).await,
        [Delta::text("2"), stop.clone()]
    );
    let silence = reply(&model, ask("")).await;
    assert_eq!(silence, std::slice::from_ref(&stop));
    assert_eq!(reply(&model, ask("")).await, [stop]);
}

#[tokio::test]
async fn expectations_see_raw_replies_and_results() {
    let messages = vec![
        Message::text(Role::System, "be brief"),
        Message::new(
            Role::Assistant,
            vec![Content::Text {
                text: "hidden".to_owned(),
            }],
        )
        .raw("!!!GADGET_START:Read:r".to_owned()),
        Message::new(
            Role::User,
            vec![Content::GadgetResult {
                invocation_id: "r".into(),
                gadget_name: "Read".to_owned(),
                text: "the file".to_owned(),
                is_error: false,
                sticky: false,
                media: Vec::new(),
            }],
        ),
    ];
    let script = r#"{"text": "", "expect": {"contains": ["be brief", "GADGET_START:Read", "the file"]}}
                    {"text": "", "expect": {"contains": ["hidden"]}}"#;
    let model: ScriptedModel = script.parse().expect("a script");
    let met = reply(&model, request(messages.clone())).await;
    assert_eq!(met, [Delta::text(""), end(StopReason::Stop, None)]);
    let unmet = reply(&model, request(messages)).await;
    assert!(
        matches!(&unmet[..], [Delta::Error(ModelError { code: Some(code), .. })] if code == "expectation"),
        "{unmet:?}"
    );
}

#[test]
fn mistakes_name_their_place() {
    let cases = [
        ("\n{}", r#"script:2:1: a reply needs "text" or "chunks""#),
        (
            r#"{"text": "a", "chunks": []}"#,
            r#"script:1:1: a reply has "text" or "chunks", not both: remove one of them"#,
        ),
        (
            "{\"text\": \"a\"}\n\n{\"txt\": \"a\"}",
            "script:3:6: unknown field `txt`, expected one of `text`, `chunks`, `finish`, `usage`, `expect`",
        ),
        (
            r#"{"text": "a", "finish": "stopped"}"#,
            "script:1:33: unknown variant `stopped`, expected one of `stop`, `length`, `error`, `disconnect`",
        ),
        (
            r#"{"chunks": ["a", 5]}"#,
            r#"script:1:18: invalid type: integer `5`, expected a text or {"delayMs": N}"#,
        ),
        (
            r#"{"chunks": [{"delay": 5}]}"#,
            "script:1:20: unknown field `delay`, expected `delayMs`",
        ),
        (
            r#"{"chunks": [{"delayMs": -5}]}"#,
            "script:1:26: invalid value: integer `-5`, expected u64",
        ),
        (
            r#"{"text": "a", "usage": {"tokens": 1}}"#,
            "script:1:32: unknown field `tokens`, expected one of `inputTokens`, `outputTokens`, `totalTokens`, \
             `reasoningTokens`, `cachedInputTokens`, `cacheCreationTokens`",
        ),
        (
            r#"{"text": "a", "expect": {"contain": []}}"#,
            "script:1:34: unknown field `contain`, expected `contains`",
        ),
        (
            r#"{"text": "a"} {"text": "b"}"#,
            "script:1:15: trailing characters",
        ),
        (r#"{"text": "a"#, "script:1:11: EOF while parsing a string"),
    ];
    for (script, message) in cases {
        let error = script.parse::<ScriptedModel>().expect_err(script);
        assert_eq!(error.to_string(), message, "{script}");
    }
}

#[test]
fn scripts_come_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("replies.jsonl");
    std::fs::write(&path, "\u{feff}{\"text\": \"a\"}\n").expect("a file");
    let model = ScriptedModel::from_path(&path).expect("a script");
    assert_eq!(model.name(), format!("script:{}", path.display()));

    std::fs::write(&path, "{\"text\": \"a\"}\n5\n").expect("a file");
    let error = ScriptedModel::from_path(&path).expect_err("line 2 is no reply");
    let place = format!("{}:2:1: ", path.display());
    assert!(error.to_string().starts_with(&place), "{error}");

    let missing = folder.path().join("missing.jsonl");
    let error = ScriptedModel::from_path(&missing).expect_err("no file");
    let start = format!("cannot read the script {}: ", missing.display());
    assert!(error.to_string().starts_with(&start), "{error}");
}
