//! Runs as event streams, and clients that leave them.

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use futures_util::future::join_all;
use gadgetry::{Agent, Event, EventKind};
use gadgetry_axum::{Sse, UiRequest};
use serde_json::{Value, json};

use crate::support::{Endless, Events, client, deployer, serve};

fn app(agent: Agent) -> Router {
    let events =
        async |State(agent): State<Agent>, question: String| Sse::events(agent.ask(question));
    let chat = async |State(agent): State<Agent>, body: String| {
        let request: UiRequest = body.parse().unwrap();
        Sse::ui_messages(agent.ask_owned(request.conversation(), request.question()))
    };
    Router::new()
        .route("/events", post(events))
        .route("/chat", post(chat))
        .with_state(agent)
}

async fn ask(url: &str, path: &str, body: String) -> Events {
    let response = client()
        .post(format!("{url}{path}"))
        .body(body)
        .send()
        .await;
    Events::new(response.unwrap().error_for_status().unwrap())
}

#[tokio::test]
async fn each_event_is_one_message() {
    let url = serve(app(deployer(&["allow *"]))).await;
    let messages = ask(&url, "/events", "Go".to_owned()).await.rest().await;
    let events: Vec<Event> = messages
        .iter()
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert!(
        events
            .iter()
            .map(|event| event.seq)
            .eq(0..events.len() as u64)
    );
    let last = &events.last().unwrap().kind;
    assert!(matches!(last, EventKind::RunFinished { answer, .. } if answer == "Done."));
}

/// The types of parts, with what matters of them.
fn lines(parts: &[String]) -> Vec<String> {
    let line = |data: &String| {
        if data == "[DONE]" {
            return data.clone();
        }
        let part: Value = serde_json::from_str(data).unwrap();
        let detail = ["delta", "toolName", "output", "errorText", "finishReason"];
        let detail = detail.iter().find_map(|field| part[field].as_str());
        let kind = part["type"].as_str().unwrap();
        detail.map_or_else(
            || kind.to_owned(),
            |detail| format!("{kind} {}", detail.trim_end()),
        )
    };
    parts.iter().map(line).collect()
}

#[tokio::test]
async fn a_run_is_a_message_of_the_ai_sdk() {
    let url = serve(app(deployer(&["allow *"]))).await;
    let text = |text: &str| json!([{ "type": "text", "text": text }, { "type": "step-start" }]);
    let body = json!({ "id": "c", "trigger": "submit-message", "messages": [
        { "id": "1", "role": "system", "parts": text("Obey.") },
        { "id": "2", "role": "user", "parts": text("Hi") },
        { "id": "3", "role": "user", "parts": text("Go") },
    ] });
    let parts = ask(&url, "/chat", body.to_string()).await.rest().await;
    assert_eq!(
        lines(&parts),
        [
            "start",
            "start-step",
            "text-start",
            "text-delta On it.",
            "text-end",
            "tool-input-start Deploy",
            "tool-input-available Deploy",
            "tool-output-available deployed to staging",
            "finish-step",
            "start-step",
            "text-start",
            "text-delta Done.",
            "text-end",
            "finish-step",
            "finish stop",
            "[DONE]",
        ]
    );
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_run() {
    for path in ["/events", "/chat"] {
        let (agent, mut open) = Endless::agent();
        let url = serve(app(agent)).await;
        let body = json!({ "messages": [{ "role": "user", "parts": [{ "type": "text", "text": "Hi" }] }] });
        let mut events = ask(&url, path, body.to_string()).await;
        events.next().await.unwrap();
        open.wait_for(|open| *open == 1).await.unwrap();
        drop(events);
        // The model's stream is dropped.
        open.wait_for(|open| *open == 0).await.unwrap();
    }
}

#[tokio::test]
async fn many_runs_stream_at_once() {
    let (agent, mut open) = Endless::agent();
    let url = serve(app(agent)).await;
    let streams = join_all((0..200).map(|_| async {
        let mut events = ask(&url, "/events", "Hi".to_owned()).await;
        events.until("text").await;
        events
    }));
    let streams = streams.await;
    open.wait_for(|open| *open == 200).await.unwrap();
    drop(streams);
    open.wait_for(|open| *open == 0).await.unwrap();
}
