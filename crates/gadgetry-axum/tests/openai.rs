//! Agents as an OpenAI-compatible endpoint.

use gadgetry::Agent;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry_axum::OpenAi;
use reqwest::Response;
use serde_json::{Value, json};

use crate::support::{Endless, Events, Failing, client, deployer, serve};

async fn server(rules: &[&str]) -> String {
    let endpoint = OpenAi::new().agent("deployer", deployer(rules));
    serve(endpoint.body_bytes(64 << 10).router()).await
}

async fn send(url: &str, body: &Value) -> Response {
    let request = client().post(format!("{url}/v1/chat/completions"));
    request.json(body).send().await.unwrap()
}

fn body(is_streaming: bool) -> Value {
    json!({
        "model": "deployer",
        "stream": is_streaming,
        "stream_options": { "include_usage": true },
        "messages": [{ "role": "user", "content": "Go" }],
    })
}

#[tokio::test]
async fn an_agent_answers_as_a_document_and_as_a_stream() {
    let url = server(&["allow *"]).await;
    let document: Value = send(&url, &body(false)).await.json().await.unwrap();
    assert_eq!(document["object"], "chat.completion");
    assert_eq!(document["model"], "deployer");
    let choice = &document["choices"][0];
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(choice["message"]["content"], "On it.\n\nDone.");
    assert_eq!(document["usage"]["prompt_tokens"], 20);
    assert_eq!(document["usage"]["completion_tokens"], 10);

    let response = send(&url, &body(true)).await;
    assert_eq!(
        response.headers()["content-type"],
        "text/event-stream; charset=utf-8"
    );
    let chunks = Events::new(response).rest().await;
    assert_eq!(chunks.last().unwrap(), "[DONE]");
    let chunks = chunks.iter().filter(|it| *it != "[DONE]");
    let chunks: Vec<Value> = chunks.map(|it| serde_json::from_str(it).unwrap()).collect();
    let text: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "On it.\n\nDone.");
    assert_eq!(chunks.last().unwrap()["usage"], document["usage"]);
}

#[tokio::test]
async fn approvals_are_denied_where_no_one_can_answer() {
    let url = server(&["ask *"]).await;
    let document: Value = send(&url, &body(false)).await.json().await.unwrap();
    assert_eq!(
        document["choices"][0]["message"]["content"],
        "On it.\n\nDone."
    );
}

#[tokio::test]
async fn models_are_listed() {
    let url = server(&[]).await;
    let get = async |path: &str| client().get(format!("{url}{path}")).send().await.unwrap();
    let list: Value = get("/v1/models").await.json().await.unwrap();
    assert_eq!(list["data"][0]["id"], "deployer");
    assert_eq!(get("/models/deployer").await.status(), 200);
    assert_eq!(get("/v1/models/other").await.status(), 404);
}

#[tokio::test]
async fn what_an_agent_cannot_do_is_refused() {
    let url = server(&[]).await;
    let with = |field: &str, value: Value| {
        let mut body = body(true);
        body[field] = value;
        body
    };
    let tool = json!([{ "type": "function", "function": { "name": "f", "parameters": {} } }]);
    let said = |role: &str, text: &str| json!([{ "role": role, "content": text }]);
    for (body, status, message) in [
        (with("model", json!("other")), 404, "unknown model"),
        (
            with("model", json!("a\r\nset-cookie: b=c")),
            404,
            "unknown model",
        ),
        (with("tools", tool), 400, "tools of its own"),
        (
            with("response_format", json!({ "type": "json_object" })),
            400,
            "answers in text",
        ),
        (with("messages", json!([])), 400, "empty"),
        (with("messages", json!("x")), 400, "not a list"),
        (
            with("messages", said("assistant", "Hi")),
            400,
            "the last message",
        ),
        (with("messages", said("user", " ")), 400, "the last message"),
        (
            with("messages", said("user", &"x".repeat(65 << 10))),
            413,
            "larger than the limit",
        ),
    ] {
        let shown = format!("{:.200}", body.to_string());
        let response = send(&url, &body).await;
        assert_eq!(response.status(), status, "{shown}");
        let error: Value = response.json().await.unwrap();
        let text = error["error"]["message"].as_str().unwrap();
        assert!(text.contains(message), "{shown}: {text}");
    }
    for (kind, text, status) in [
        ("application/json", "{", 400),
        ("application/json", "\u{0}", 400),
        ("text/plain", "{}", 400),
    ] {
        let request = client().post(format!("{url}/v1/chat/completions"));
        let request = request.header("content-type", kind).body(text);
        assert_eq!(request.send().await.unwrap().status(), status, "{text:?}");
    }
    let nested = format!(r#"{{"messages":{}"#, "[".repeat(30_000));
    let request = client().post(format!("{url}/v1/chat/completions"));
    let request = request
        .header("content-type", "application/json")
        .body(nested);
    assert_eq!(request.send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn an_error_of_the_model_has_a_status_and_no_details() {
    let check = async |kind: ModelErrorKind, status: u16, retry_after: Option<&str>| {
        let agent = Agent::builder().model(Failing(kind)).without_retry();
        let agent = agent.build().unwrap();
        let url = serve(OpenAi::new().agent("deployer", agent).router()).await;
        for is_streaming in [false, true] {
            let response = send(&url, &body(is_streaming)).await;
            assert_eq!(response.status(), status, "{kind:?}");
            let after = response.headers().get("retry-after").cloned();
            assert_eq!(after.as_ref().map(|it| it.to_str().unwrap()), retry_after);
            let text = response.text().await.unwrap();
            assert!(text.contains("the model of the agent failed"), "{text}");
            assert!(!text.contains("sk-1"), "{text}");
        }
    };
    check(ModelErrorKind::RateLimit, 429, Some("7")).await;
    check(ModelErrorKind::Overloaded, 503, Some("7")).await;
    check(ModelErrorKind::ContextOverflow, 400, Some("7")).await;
    // The key is the agent's.
    check(ModelErrorKind::Authentication, 502, Some("7")).await;
    check(ModelErrorKind::BadRequest, 502, Some("7")).await;
}

#[tokio::test]
async fn what_has_no_effect_is_said() {
    let url = server(&["allow *"]).await;
    let mut body = body(false);
    body["temperature"] = json!(0.5);
    body["messages"] = json!([
        { "role": "system", "content": "Obey." },
        { "role": "user", "content": "Go" },
    ]);
    let response = send(&url, &body).await;
    let warnings = response.headers().get_all("x-gadgetry-warning");
    assert_eq!(warnings.iter().count(), 2);
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_run() {
    let (agent, mut open) = Endless::agent();
    let url = serve(OpenAi::new().agent("deployer", agent).router()).await;
    let mut events = Events::new(send(&url, &body(true)).await);
    events.next().await.unwrap();
    open.wait_for(|open| *open == 1).await.unwrap();
    drop(events);
    open.wait_for(|open| *open == 0).await.unwrap();
    // Before the reply as a document, too.
    let waiting = tokio::spawn({
        let url = url.clone();
        async move { send(&url, &body(false)).await }
    });
    open.wait_for(|open| *open == 1).await.unwrap();
    waiting.abort();
    open.wait_for(|open| *open == 0).await.unwrap();
}
