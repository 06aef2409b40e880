//! Several upstreams: routes, fallback, health, modes.

use std::sync::Arc;

use axum::{Json, Router, routing};
use gadgetry_gateway::exchange::{Constrain, ModelRules, RulesPatch, ToolMode};
use gadgetry_gateway::settings::Route;
use gadgetry_gateway::upstream::{Target, Upstream as Server};
use gadgetry_gateway::{ClientApi, Settings};
use gadgetry_proto::call_form::CallForm;
use gadgetry_providers::resolve::Api;
use gadgetry_providers::{BaseUrl, HttpConfig, Resolver};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::replies::body;
use crate::support::upstream::Upstream;
use crate::support::world::{World, client, get};

fn server(name: &str, url: &str) -> Arc<Server> {
    let target = Target::Server {
        url: BaseUrl::new(url),
        api: Api::Chat,
        key: None,
    };
    Arc::new(Server::new(name, target, HttpConfig::new()).expect("a valid URL"))
}

/// The status, the upstream that answered, and the body.
async fn ask(world: &World, model: &str, scenario: &str) -> (u16, String, Value) {
    let (path, mut body) = body(ClientApi::Chat, scenario, false);
    body["model"] = model.into();
    let answer = client()
        .post(world.url(path))
        .json(&body)
        .send()
        .await
        .expect("it answers");
    let status = answer.status().as_u16();
    let upstream = answer.headers().get("x-gadgetry-upstream");
    let upstream = upstream.map_or(String::new(), |it| it.to_str().expect("text").to_owned());
    (status, upstream, answer.json().await.expect("JSON"))
}

#[tokio::test]
async fn the_next_upstream_answers_where_one_fails() {
    let upstream = Upstream::start().await;
    // Nothing listens there.
    let dead = server("dead", "http://127.0.0.1:9/v1");
    let settings =
        Settings::default().upstreams(vec![Arc::clone(&dead), server("alive", &upstream.url())]);
    let world = World::serve(upstream, settings).await;
    for _ in 0..3 {
        let (status, name, _) = ask(&world, "m", "text").await;
        assert_eq!((status, name.as_str()), (200, "alive"));
    }
    assert!(dead.is_out(), "it has failed three times");
    // What the client has done wrong is no reason to try another one.
    let (status, _, _) = ask(&world, "m", "too-long").await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn routes_name_models() {
    let upstream = Upstream::start().await;
    let local = server("local", &upstream.url());
    let route = |name: &str, model: Option<&str>| {
        Route::new(name.to_owned(), vec![Arc::clone(&local)])
            .model(model.map(str::to_owned))
            .rules(ModelRules::default().into())
    };
    let settings = Settings::default()
        .upstreams(vec![Arc::clone(&local)])
        .routes(vec![route("exact", None), route("claude-*", Some("qwen"))]);
    let world = World::serve(upstream, settings).await;
    for (model, status, sent) in [
        ("exact", 200, Some("exact")),
        ("claude-sonnet-5", 200, Some("qwen")),
        ("gpt-9", 404, None),
    ] {
        let before = world.upstream.requests().len();
        let (got, _, body) = ask(&world, model, "text").await;
        assert_eq!(got, status, "{model}: {body}");
        let requests = world.upstream.requests();
        assert_eq!(
            requests.get(before).and_then(|it| it["model"].as_str()),
            sent,
            "{model}"
        );
        if status == 200 {
            assert_eq!(
                body["model"], model,
                "the client reads the name that it has used"
            );
        }
    }
}

#[tokio::test]
async fn a_model_has_rules_of_its_own() {
    let upstream = Upstream::start().await;
    let local = server("local", &upstream.url());
    let json = RulesPatch {
        form: Some(Some(CallForm::Json)),
        ..RulesPatch::default()
    };
    let route = |name: &str, model: Option<&str>, rules: RulesPatch| {
        Route::new(name.to_owned(), vec![Arc::clone(&local)])
            .model(model.map(str::to_owned))
            .rules(rules)
    };
    let blocks = RulesPatch {
        form: Some(Some(CallForm::Block)),
        ..RulesPatch::default()
    };
    let routes = vec![
        route("alias", Some("small"), RulesPatch::default()),
        route("routed", Some("small"), blocks),
        route("*", None, RulesPatch::default()),
    ];
    let settings = Settings::default()
        .upstreams(vec![Arc::clone(&local)])
        .routes(routes)
        .models([("small".to_owned(), json)].into());
    let world = World::serve(upstream, settings).await;
    for (model, has_json) in [
        ("small", true),
        ("alias", true),
        ("routed", false),
        ("smaller", false),
    ] {
        let before = world.upstream.requests().len();
        ask(&world, model, "text").await;
        let prompt = world.upstream.requests()[before]["messages"].to_string();
        assert_eq!(
            prompt.contains("<tool_call>"),
            has_json,
            "{model}: {prompt}"
        );
    }
}

#[tokio::test]
async fn a_probe_decides_in_mode_auto() {
    let rules = ModelRules {
        mode: ToolMode::Auto,
        ..ModelRules::default()
    };
    let world = World::with(rules).await;
    // The scripted model calls nothing natively.
    for expected in [2, 3] {
        let (status, _, body) = ask(&world, "m", "one").await;
        assert_eq!(
            (status, &body["choices"][0]["finish_reason"]),
            (200, &"tool_calls".into())
        );
        assert_eq!(
            world.upstream.requests().len(),
            expected,
            "the probe is sent once"
        );
    }
}

#[tokio::test]
async fn a_model_that_calls_natively_is_used_so_in_mode_auto() {
    let rules = ModelRules {
        mode: ToolMode::Auto,
        ..ModelRules::default()
    };
    let world = World::with(rules).await;
    for expected in [2, 3] {
        let (status, _, body) = ask(&world, "native-model", "text").await;
        let call = &body["choices"][0]["message"]["tool_calls"][0]["function"];
        assert_eq!((status, &call["name"]), (200, &"get_weather".into()));
        let input: Value = serde_json::from_str(call["arguments"].as_str().expect("text"))
            .expect("the arguments are JSON");
        assert_eq!(input, json!({"city": "Oslo"}));
        let requests = world.upstream.requests();
        assert_eq!(requests.len(), expected, "the probe is sent once");
        let tools = &requests[expected - 1]["tools"];
        assert_eq!(tools[0]["function"]["name"], "get_weather");
    }
}

/// Without tools the form of the answer is the upstream's affair.
#[tokio::test]
async fn a_schema_of_the_answer_goes_upstream() {
    let world = World::start().await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    for api in ClientApi::ALL {
        let (path, mut body) = body(api, "text", false);
        let fields = body.as_object_mut().expect("an object");
        fields.remove("tools");
        let format = json!({"type": "json_schema", "name": "n", "schema": schema});
        match api {
            ClientApi::Chat => {
                body["response_format"] =
                    json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
            }
            ClientApi::Responses => body["text"] = json!({"format": format}),
            ClientApi::Messages => {
                body["output_config"] =
                    json!({"format": {"type": "json_schema", "schema": schema}});
            }
        }
        let request = client().post(world.url(path)).json(&body).send();
        assert_eq!(request.await.expect("it answers").status(), 200, "{api:?}");
        let sent = world.upstream.requests().pop().expect("it was asked");
        let format = &sent["response_format"];
        assert_eq!(format["type"], "json_schema", "{api:?}: {sent}");
        assert_eq!(format["json_schema"]["schema"], schema, "{api:?}: {sent}");
    }
}

#[tokio::test]
async fn tools_go_upstream_in_mode_native() {
    let rules = ModelRules {
        mode: ToolMode::Native,
        ..ModelRules::default()
    };
    let world = World::with(rules).await;
    let (status, _, _) = ask(&world, "m", "text").await;
    let request = world.upstream.requests().remove(0);
    assert_eq!(
        (status, &request["tools"][0]["function"]["name"]),
        (200, &"get_weather".into())
    );
    assert_eq!(
        request["messages"][0]["role"], "user",
        "there are no instructions"
    );
}

#[test]
fn a_key_of_its_own_is_enough_for_a_named_model() {
    use gadgetry_providers::{ApiKey, Resolver};
    let made = |key: Option<ApiKey>| {
        let target = Target::Model {
            name: "openai:gpt-4o".to_owned(),
            key,
            // No variable has a key.
            resolver: Box::new(Resolver::new([] as [(&str, &str); 0])),
        };
        Server::new("cloud", target, HttpConfig::new())
    };
    assert!(made(Some(ApiKey::new("sk-own"))).is_ok());
    let error = made(None).expect_err("there is no key").to_string();
    assert!(error.contains("no key for openai"), "{error}");
}

/// The window is the smallest of the upstreams that a request for a model may go to, as far as they say one; rules are those of
/// the route.
#[tokio::test]
async fn models_with_what_is_known_about_them() {
    let vllm = |window: u64| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/v1", listener.local_addr().expect("it is bound"));
        let model = json!({ "id": "qwen", "owned_by": "vllm", "max_model_len": window });
        let models = json!({ "object": "list", "data": [model] });
        let router = Router::new()
            .route("/v1/models", routing::get(move || async { Json(models) }))
            .route(
                "/version",
                routing::get(|| async { Json(json!({ "version": "0.12.0" })) }),
            );
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    };
    let upstream = Upstream::start().await;
    let (large, small) = (vllm(32_768).await, vllm(4_096).await);
    let silent = server("silent", &upstream.url());
    let large = server("large", &large);
    let small = server("small", &small);
    let known = Target::Model {
        name: "anthropic:claude-haiku-4-5".to_owned(),
        key: Some("sk-0123456789".into()),
        resolver: Box::new(Resolver::new([("A", "b")])),
    };
    let known = Arc::new(Server::new("known", known, HttpConfig::new()).expect("a model"));
    let route = |name: &str, upstreams: &[&Arc<Server>], rules: ModelRules| {
        Route::new(
            name.to_owned(),
            upstreams.iter().map(|it| Arc::clone(it)).collect(),
        )
        .model("qwen".to_owned())
        .rules(rules.into())
    };
    let rules = ModelRules {
        mode: ToolMode::Auto,
        dialects: "hermes,llama".parse().expect("dialects"),
        constrain: Constrain::Vllm,
        ..ModelRules::default()
    };
    let settings = Settings::default()
        .upstreams(vec![Arc::clone(&large)])
        .routes(vec![
            route("one", &[&large], rules),
            route("both", &[&large, &small], ModelRules::default()),
            route("half", &[&silent, &small], ModelRules::default()),
            route("none", &[&silent], ModelRules::default()),
            route("known", &[&known], ModelRules::default()),
        ]);
    let world = World::serve(upstream, settings).await;
    let models: Value = get(world.url("/v1/models"))
        .await
        .expect("it answers")
        .json()
        .await
        .expect("JSON");
    let models = models["data"].as_array().expect("a list");
    for (at, (name, mode, constrained, window)) in [
        ("one", "auto", true, json!(32_768)),
        ("both", "text", true, json!(4_096)),
        ("half", "text", false, json!(4_096)),
        ("none", "text", false, Value::Null),
        ("known", "text", false, json!(200_000)),
    ]
    .into_iter()
    .enumerate()
    {
        let entry = &models[at];
        assert_eq!(entry["id"], name);
        assert_eq!(entry["tool_mode"], mode, "{name}");
        assert_eq!(entry["constrained"], constrained, "{name}");
        assert_eq!(entry["context_window"], window, "{name}");
    }
    assert_eq!(models[0]["dialects"], json!(["hermes", "llama"]));
    let one: Value = get(world.url("/v1/models/one"))
        .await
        .expect("it answers")
        .json()
        .await
        .expect("JSON");
    assert_eq!(one, models[0]);
}

/// The grammar that goes upstream follows the request: a demanded call comes first, and only those that may be called are in it.
#[tokio::test]
async fn a_grammar_follows_the_choice_of_the_request() {
    let rules = ModelRules {
        constrain: Constrain::LlamaCpp,
        ..ModelRules::default()
    };
    let world = World::with(rules).await;
    let check = async |changes: Value, expected: &str| {
        let (path, mut body) = body(ClientApi::Chat, "text", false);
        let other = json!({"type": "function", "function": {"name": "other", "parameters": {"type": "object", "properties": {}}}});
        body["tools"].as_array_mut().expect("tools").push(other);
        let fields = body.as_object_mut().expect("an object");
        fields.extend(changes.as_object().cloned().unwrap_or_default());
        let request = client().post(world.url(path)).json(&body).send();
        let _ = request.await.expect("it answers");
        let sent = world.upstream.requests().pop().expect("it was asked");
        let grammar = sent["grammar"].as_str().unwrap_or_default();
        let root = grammar.lines().next().unwrap_or_default();
        assert_eq!(root, expected, "{changes}: {grammar}");
        grammar.matches(":other").count() + grammar.matches(":get_weather").count()
    };
    let prose = "root ::= (line | call) (\"\\n\" (line | call))*";
    let calls = "root ::= call (\"\\n\" call)* \"\\n\"?";
    assert_eq!(check(json!({}), prose).await, 2);
    assert_eq!(check(json!({"tool_choice": "required"}), calls).await, 2);
    let named = json!({"tool_choice": {"type": "function", "function": {"name": "other"}}});
    assert_eq!(check(named, calls).await, 1);
    let single = json!({"tool_choice": "required", "parallel_tool_calls": false});
    assert_eq!(check(single, "root ::= call \"\\n\"?").await, 2);
    assert_eq!(check(json!({"tool_choice": "none"}), "").await, 0);
}
