//! What clients learn of each other: nothing.

use std::collections::HashSet;

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::ModelRules;
use gadgetry_gateway::settings::ClientKey;
use serde_json::{Value, json};

use super::replies::body;
use crate::support::upstream::{Prompt, Upstream};
use crate::support::world::{World, client, settings};

async fn world(has_keys: bool) -> World {
    let upstream = Upstream::start().await;
    let mut settings = settings(&upstream.url(), ModelRules::default());
    if has_keys {
        settings.keys = vec![ClientKey::new("a", "alpha"), ClientKey::new("b", "beta")];
    }
    World::serve(upstream, settings).await
}

/// The answer to a request with a key: status, id of the request, text.
async fn ask(world: &World, key: &str, path: &str, body: &Value) -> (u16, String, String) {
    let request = client().post(world.url(path)).header("x-api-key", key);
    let answer = request.json(body).send().await.expect("it answers");
    let id = answer.headers()["x-request-id"].to_str().expect("text");
    let (status, id) = (answer.status().as_u16(), id.to_owned());
    (status, id, answer.text().await.expect("text"))
}

/// The start marker of the last prompt.
fn marker(world: &World) -> String {
    let requests = world.upstream.requests();
    let prompt = Prompt::of(requests.last().expect("a request"));
    prompt.markers().expect("tools are there").0
}

#[tokio::test]
async fn markers_are_those_of_a_conversation() {
    let world = world(true).await;
    let turn = |first: &str, replies: usize| {
        let (path, mut body) = body(ClientApi::Chat, "text", false);
        body["messages"][0]["content"] = format!("{first} scenario: text").into();
        let messages = body["messages"].as_array_mut().expect("a list");
        for _ in 0..replies {
            messages.push(json!({"role": "assistant", "content": "Hello there."}));
            messages.push(json!({"role": "user", "content": "And now? scenario: text"}));
        }
        (path, body)
    };
    let (path, first) = turn("One", 0);
    ask(&world, "alpha", path, &first).await;
    let expected = marker(&world);
    let model = |name: &str| {
        let mut body = first.clone();
        body["model"] = name.into();
        body
    };
    let mut tools = first.clone();
    tools["tools"][0]["function"]["description"] = "other".into();
    for (key, body, is_same) in [
        ("alpha", first.clone(), true),
        ("alpha", turn("One", 1).1, true),
        ("alpha", turn("One", 3).1, true),
        ("alpha", turn("Two", 0).1, false),
        ("alpha", model("other"), false),
        ("alpha", tools, false),
        ("beta", first.clone(), false),
    ] {
        ask(&world, key, path, &body).await;
        assert_eq!(marker(&world) == expected, is_same, "{key} {body}");
    }
}

#[tokio::test]
async fn ids_say_nothing_about_each_other() {
    let world = world(true).await;
    let mut seen = HashSet::new();
    for api in ClientApi::ALL {
        for _ in 0..4 {
            let (path, body) = body(api, "one", false);
            let (status, request, text) = ask(&world, "alpha", path, &body).await;
            assert_eq!(status, 200, "{text}");
            let answer: Value = serde_json::from_str(&text).expect("JSON");
            let own = answer["id"].as_str().expect("an id").to_owned();
            let call = match api {
                ClientApi::Chat => &answer["choices"][0]["message"]["tool_calls"][0]["id"],
                ClientApi::Responses => &answer["output"][1]["call_id"],
                ClientApi::Messages => &answer["content"][1]["id"],
            };
            let call = call.as_str().expect("a call").to_owned();
            for id in [request, own, call] {
                let digits = id.split('_').nth(1).or(id.split('-').nth(1));
                let digits = digits.expect("digits").to_owned();
                assert!(digits.len() >= 26, "{id} has 128 bits");
                // No two of them begin alike, as those of a counter do.
                assert!(seen.insert(digits[..8].to_owned()), "{id}");
            }
        }
    }
}

/// A streamed response is remembered, too, and for its owner.
#[tokio::test]
async fn items_of_a_stream_have_an_owner() {
    for (has_keys, store) in [(true, true), (true, false), (false, true), (false, false)] {
        let world = world(has_keys).await;
        let (path, mut body) = body(ClientApi::Responses, "text", true);
        body["store"] = store.into();
        let (_, _, text) = ask(&world, "alpha", path, &body).await;
        let at = text.find("msg_").expect("an item");
        let id = text[at..].split('"').next().expect("its id");
        let refers = |first: &str| {
            let first = json!({"role": "user", "content": first});
            json!({"model": "m", "input": [first, {"type": "item_reference", "id": id}]})
        };
        let own = refers(body["input"].as_str().expect("text"));
        let other = refers("something else");
        for (key, body, may_read) in [
            ("alpha", &own, true),
            ("beta", &own, !has_keys),
            ("alpha", &other, has_keys),
        ] {
            let (status, _, text) = ask(&world, key, path, body).await;
            let expected = if may_read && store { 200 } else { 404 };
            assert_eq!(status, expected, "{key} {body} {has_keys} {store}: {text}");
        }
    }
}
