//! What Prometheus reads.

use serde_json::json;

use crate::support::world::{World, client, get};

/// Asks for a scenario. Returns the headers of the answer.
async fn ask(world: &World, model: &str, scenario: &str) -> reqwest::header::HeaderMap {
    let tool = json!({"name": "get_weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false,
    }});
    let body = json!({
        "model": model,
        "messages": [{"role": "user", "content": format!("scenario: {scenario}")}],
        "tools": [{"type": "function", "function": tool}],
    });
    let answer = client().post(world.url("/v1/chat/completions")).json(&body);
    let answer = answer.send().await.expect("it answers");
    let headers = answer.headers().clone();
    answer.bytes().await.expect("a body");
    headers
}

async fn metrics(world: &World) -> String {
    let text = get(world.url("/metrics")).await.expect("it answers");
    text.text().await.expect("text")
}

#[tokio::test]
async fn requests_are_counted_by_model_and_upstream() {
    let world = World::start().await;
    let rows = [
        ("one", false),
        ("text", false),
        ("near-miss", true),
        ("unknown", true),
    ];
    for (scenario, is_unparsed) in rows {
        let headers = ask(&world, "m", scenario).await;
        let found = headers.contains_key("x-gadgetry-unparsed");
        assert_eq!(found, is_unparsed, "{scenario}: {headers:?}");
    }
    ask(&world, "m", "overloaded").await;
    let refused = client().post(world.url("/v1/chat/completions")).body("{");
    assert_eq!(refused.send().await.expect("it answers").status(), 400);
    let text = metrics(&world).await;
    let at = r#"{api="chat",model="m",upstream="scripted",client=""}"#;
    for line in [
        r#"gadgetry_requests_total{api="chat",model="m",upstream="scripted",client="",status="200"} 4"#.to_owned(),
        r#"gadgetry_requests_total{api="chat",model="m",upstream="scripted",client="",status="503"} 1"#.to_owned(),
        r#"gadgetry_requests_total{api="chat",model="",upstream="",client="",status="400"} 1"#.to_owned(),
        r#"gadgetry_upstream_up{upstream="scripted"} 1"#.to_owned(),
        r#"gadgetry_overhead_seconds_count{api="chat"} 5"#.to_owned(),
        format!("gadgetry_calls_total{at} 1"),
        format!("gadgetry_unparsed_replies_total{at} 2"),
        format!("gadgetry_first_byte_seconds_count{at} 4"),
        format!("gadgetry_request_seconds_count{at} 5"),
    ] {
        assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
    }
    for name in ["input_tokens", "output_tokens", "repairs"] {
        let line = format!("gadgetry_{name}_total{at} ");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

/// Clients choose the names of models: they may not fill the memory.
#[tokio::test]
async fn models_that_clients_make_up_have_one_label() {
    let world = World::start().await;
    for number in 0..205 {
        ask(&world, &format!("model-{number}"), "text").await;
    }
    let text = metrics(&world).await;
    let counts = text
        .lines()
        .filter(|it| it.starts_with("gadgetry_request_seconds_count"));
    assert_eq!(counts.count(), 201);
    let other = r#"gadgetry_request_seconds_count{api="chat",model="other",upstream="scripted",client=""} 5"#;
    assert!(text.contains(other), "{text}");
}
