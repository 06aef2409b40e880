//! Replies of the three APIs, streamed and whole, read by this project's own decoders.

use futures_util::StreamExt as _;
use gadgetry_gateway::ClientApi;
use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::model::Model as _;
use gadgetry_providers::{Anthropic, ModelOptions, OpenAi, OpenAiResponses};
use serde_json::{Value, json};
use std::sync::Arc;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::ModelError;

use crate::support::world::{World, client};

/// What a client of this project receives through an API.
async fn receive(world: &World, api: ClientApi, scenario: &str, is_streaming: bool) -> Vec<Delta> {
    let city =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let tools = vec![
        GadgetSpec::new("get_weather", "Weather").parameters(city),
        GadgetSpec::new("ping", "Answers"),
        GadgetSpec::new("create", "Creates"),
    ];
    let options = ModelOptions {
        tools,
        streaming: is_streaming,
        max_tokens: Some(1_000),
        ..ModelOptions::default()
    };
    let model: Arc<dyn gadgetry_providers::model::Model> = match api {
        ClientApi::Chat => Arc::new(
            OpenAi::builder("m")
                .options(options)
                .base_url(world.url("/v1"))
                .build()
                .expect("valid"),
        ),
        ClientApi::Responses => Arc::new(
            OpenAiResponses::builder("m")
                .options(options)
                .base_url(world.url("/v1"))
                .build()
                .expect("valid"),
        ),
        ClientApi::Messages => Arc::new(
            Anthropic::builder("m")
                .options(options)
                .base_url(world.url(""))
                .build()
                .expect("valid"),
        ),
    };
    let request = Request::default()
        .messages(vec![Message::text(
            Role::User,
            format!("scenario: {scenario}"),
        )])
        .iteration(1);
    model.stream(request).collect().await
}

/// Text, calls and the end of a reply.
fn summary(deltas: &[Delta]) -> (String, Vec<(String, Value)>, Result<StopReason, String>) {
    let mut text = String::new();
    let mut calls: Vec<(String, String, Value)> = Vec::new();
    let mut json = String::new();
    let mut end = Err("no end".to_owned());
    for delta in deltas {
        match delta {
            Delta::Text { delta, .. } => text.push_str(delta),
            Delta::ToolCallStart { id, name } => {
                calls.push((id.clone(), name.clone(), Value::Null));
                json.clear();
            }
            Delta::ToolCallDelta { delta, .. } => json.push_str(delta),
            Delta::ToolCallEnd { input, .. } => {
                let input = input
                    .clone()
                    .unwrap_or_else(|| serde_json::from_str(&json).expect("valid arguments"));
                calls.last_mut().expect("it began").2 = input;
            }
            Delta::ToolCall { id, name, input } => {
                calls.push((id.clone(), name.clone(), input.clone()));
            }
            Delta::MessageEnd { stop_reason, .. } => end = Ok(stop_reason.clone()),
            Delta::Error(ModelError { message: error, .. }) => end = Err(error.clone()),
            _ => {}
        }
    }
    let calls = calls
        .into_iter()
        .map(|(_, name, input)| (name, input))
        .collect();
    (text, calls, end)
}

#[tokio::test]
async fn every_api_streamed_and_whole() {
    let world = World::start().await;
    let paris = || ("get_weather".to_owned(), json!({"city": "Paris"}));
    let rome = || ("get_weather".to_owned(), json!({"city": "Rome"}));
    let created = json!({
        "user": {"name": "Ada \"the first\"\nLovelace", "age": 36},
        "tags": ["a", true],
        "ratio": 0.5,
        "ok": true,
    });
    let table = [
        ("text", "Hello there.", vec![], StopReason::Stop),
        ("one", "Let me look.\n", vec![paris()], StopReason::ToolUse),
        (
            "parallel",
            "Both:\n",
            vec![paris(), rome()],
            StopReason::ToolUse,
        ),
        (
            "noargs",
            "",
            vec![("ping".to_owned(), json!({}))],
            StopReason::ToolUse,
        ),
        (
            "nested",
            "",
            vec![("create".to_owned(), created)],
            StopReason::ToolUse,
        ),
        (
            "around",
            "Before.\nAfter.",
            vec![paris()],
            StopReason::ToolUse,
        ),
        ("repair", "", vec![paris()], StopReason::ToolUse),
        ("hermes", "Sure.\n", vec![paris()], StopReason::ToolUse),
        ("think", "Forty-two.", vec![], StopReason::Stop),
        ("length", "Half a sent", vec![], StopReason::MaxTokens),
    ];
    for api in ClientApi::ALL {
        for is_streaming in [true, false] {
            for (scenario, text, calls, reason) in &table {
                let deltas = receive(&world, api, scenario, is_streaming).await;
                let expected = ((*text).to_owned(), calls.clone(), Ok(reason.clone()));
                assert_eq!(
                    summary(&deltas),
                    expected,
                    "{api:?} {scenario} streaming: {is_streaming}"
                );
            }
        }
    }
}

#[tokio::test]
async fn failures_have_the_status_of_the_api() {
    let world = World::start().await;
    let client = client();
    let check = |scenario: &'static str, statuses: [u16; 3], retry: Option<&'static str>| {
        let (world, client) = (&world, &client);
        async move {
            for (api, status) in ClientApi::ALL.into_iter().zip(statuses) {
                for is_streaming in [true, false] {
                    let (path, body) = body(api, scenario, is_streaming);
                    let answer = client
                        .post(world.url(path))
                        .json(&body)
                        .send()
                        .await
                        .expect("it answers");
                    assert_eq!(answer.status().as_u16(), status, "{api:?} {scenario}");
                    let header = answer
                        .headers()
                        .get("retry-after")
                        .map(|it| it.to_str().expect("text").to_owned());
                    assert_eq!(header.as_deref(), retry, "{api:?} {scenario}");
                    let body: Value = answer.json().await.expect("JSON");
                    assert!(
                        body["error"]["message"].is_string(),
                        "{api:?} {scenario}: {body}"
                    );
                    assert_eq!(
                        body["type"] == "error",
                        api == ClientApi::Messages,
                        "{body}"
                    );
                }
            }
        }
    };
    check("rate-limit", [429, 429, 429], Some("7")).await;
    check("overloaded", [503, 503, 529], None).await;
    check("too-long", [400, 400, 400], None).await;
    check("broken", [502, 502, 502], None).await;
}

/// A path, and a body that asks for a scenario with one tool.
pub(super) fn body(api: ClientApi, scenario: &str, is_streaming: bool) -> (&'static str, Value) {
    let said = format!("scenario: {scenario}");
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    match api {
        ClientApi::Chat => (
            "/v1/chat/completions",
            json!({
                "model": "m", "stream": is_streaming,
                "messages": [{"role": "user", "content": said}],
                "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": schema}}],
            }),
        ),
        ClientApi::Responses => (
            "/v1/responses",
            json!({
                "model": "m", "stream": is_streaming, "input": said,
                "tools": [{"type": "function", "name": "get_weather", "parameters": schema}],
            }),
        ),
        ClientApi::Messages => (
            "/v1/messages?beta=true",
            json!({
                "model": "m", "stream": is_streaming, "max_tokens": 100,
                "messages": [{"role": "user", "content": said}],
                "tools": [{"name": "get_weather", "input_schema": schema}],
            }),
        ),
    }
}

#[tokio::test]
async fn a_call_is_whole_also_for_a_client_that_wants_it_in_parts() {
    let world = World::start().await;
    for is_eager in [true, false] {
        let (path, mut body) = body(ClientApi::Messages, "one", true);
        body["tools"][0]["eager_input_streaming"] = is_eager.into();
        let request = client().post(world.url(path)).json(&body).send();
        let text = request.await.expect("it answers").text().await;
        let text = text.expect("a stream");
        assert_eq!(text.matches("input_json_delta").count(), 1, "{text}");
        assert!(text.contains("\"stop_reason\":\"tool_use\""), "{text}");
        assert_eq!(text.matches("\"type\":\"tool_use\"").count(), 1, "{text}");
    }
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_an_error_in_its_stream() {
    let world = World::start().await;
    let client = client();
    for api in ClientApi::ALL {
        let (path, body) = body(api, "cut", true);
        let answer = client
            .post(world.url(path))
            .json(&body)
            .send()
            .await
            .expect("it answers");
        assert_eq!(answer.status().as_u16(), 200, "{api:?}");
        let text = answer.text().await.expect("a stream");
        assert!(text.contains("Let "), "{api:?}: {text}");
        let (error, ends) = match api {
            ClientApi::Chat => ("\"error\":{", "finish_reason\":\"stop"),
            ClientApi::Responses => ("response.failed", "response.completed"),
            ClientApi::Messages => ("event: error", "message_stop"),
        };
        assert!(
            text.contains(error) && !text.contains(ends),
            "{api:?}: {text}"
        );
        assert!(
            !text.contains("get_weather") && !text.contains("GADGET"),
            "{api:?}: {text}"
        );
    }
}
