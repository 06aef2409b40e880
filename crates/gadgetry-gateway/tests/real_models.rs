//! What only a real model on a real server shows: SmolLM2-135M on llama.cpp, and Gemma 3 270M if it is installed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use gadgetry::{Agent, from_fn};
use gadgetry_gateway::exchange::{MarkerStyle, ModelRules};
use gadgetry_proto::call::Outcome;
use gadgetry_proto::event::EventKind;
use gadgetry_proto::run::Retry;
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::resolve::Api;
use gadgetry_providers::server::recognise;
use gadgetry_providers::{BaseUrl, ConstraintField, Http, HttpConfig, OpenAi, ServerKind};
use serde_json::{Value, json};

use crate::support::llama::Llama;
use crate::support::world::{client, get, serve, settings, settings_of};

/// How long something may take that takes a second, on a machine that does much else.
const LIMIT: Duration = Duration::from_mins(2);

/// The URL of a gateway before the server.
async fn gateway(llama: &Llama, rules: ModelRules) -> String {
    let address = serve(settings(&llama.url(), rules)).await;
    format!("http://{address}/v1")
}

async fn post(url: &str, path: &str, body: &Value) -> (u16, Value) {
    let answer = client().post(format!("{url}/{path}")).json(body).send();
    let answer = answer.await.expect("it answers");
    let status = answer.status().as_u16();
    (status, answer.json().await.expect("JSON"))
}

fn weather() -> Value {
    json!({ "type": "function", "function": {
        "name": "get_weather", "description": "The weather of a city",
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] },
    } })
}

/// What `/slots` says.
async fn is_processing(llama: &Llama) -> bool {
    let slots = get(format!("{}/slots", llama.address)).await;
    let slots: Value = slots
        .expect("it answers")
        .json()
        .await
        .expect("a list of slots");
    let slots = slots.as_array().expect("a list of slots");
    slots.iter().any(|slot| slot["is_processing"] == true)
}

/// Asks until the server processes a request, or none.
async fn until_processing(llama: &Llama, expected: bool) {
    let change = async {
        while is_processing(llama).await != expected {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(LIMIT, change).await;
    assert!(in_time.is_ok(), "processing is not {expected}");
}

/// Tokens that it has written since it started.
async fn written(llama: &Llama) -> u64 {
    const NAME: &str = "llamacpp:tokens_predicted_total ";
    let text = get(format!("{}/metrics", llama.address)).await;
    let text = text.expect("it answers").text().await.expect("text");
    let line = text.lines().find_map(|line| line.strip_prefix(NAME));
    line.expect("the counter").trim().parse().expect("a number")
}

#[tokio::test]
async fn the_server_is_recognised() {
    let tools = "{% if tools %}{{ tools | tojson }}{% endif %}\
        {% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";
    for (options, window, has_tools) in [
        (&["--slots", "2"][..], 2048, false),
        (&["--template", tools], 4096, true),
    ] {
        let Some(llama) = Llama::start(4096, options) else {
            return;
        };
        let http = Http::new(HttpConfig::new()).expect("a client");
        let facts = recognise(&http, &BaseUrl::new(llama.url()), None, None).await;
        assert_eq!(facts.kind, ServerKind::LlamaCpp);
        assert_eq!(facts.constraint, ConstraintField::LlamaCpp);
        let model = facts.model("whatever").expect("its only model");
        assert_eq!(model.name, "smollm2");
        assert_eq!(model.context_window, Some(window), "{options:?}");
        assert_eq!(model.template_has_tools, Some(has_tools), "{options:?}");

        let url = gateway(&llama, ModelRules::default()).await;
        let models = get(format!("{url}/models")).await.expect("it answers");
        let models: Value = models.json().await.expect("JSON");
        assert_eq!(models["data"][0]["id"], "smollm2");
        assert_eq!(models["data"][0]["context_window"], window, "{models}");
    }
}

/// A chat model through `/v1/completions` because the settings say so, and a base model because its server does.
#[tokio::test]
async fn models_that_complete_text() {
    for (model, api, is_base) in [
        ("smollm2", Api::Completions, false),
        ("gemma", Api::Chat, true),
    ] {
        let Some(llama) = Llama::start_with(model, 4096, &[]) else {
            continue;
        };
        let http = Http::new(HttpConfig::new()).expect("a client");
        let facts = recognise(&http, &BaseUrl::new(llama.url()), None, None).await;
        assert_eq!(facts.completes_only(model), is_base, "{model}: {facts:?}");
        let address = serve(settings_of(api, &llama.url(), ModelRules::default())).await;
        let url = format!("http://{address}/v1");
        let question = json!({ "role": "user", "content": "What is the weather in Paris?" });
        let ask = async |messages: &Value, choice: &str, max_tokens: u32| {
            let body = json!({
                "model": model, "messages": messages, "tools": [weather()], "tool_choice": choice, "temperature": 0,
                "max_tokens": max_tokens,
            });
            let (status, reply) = post(&url, "chat/completions", &body).await;
            assert_eq!(status, 200, "{model}: {reply}");
            reply
        };

        let reply = ask(&json!([question]), "required", 200).await;
        let choice = &reply["choices"][0];
        assert_eq!(choice["finish_reason"], "tool_calls", "{model}: {reply}");
        let calls = &choice["message"]["tool_calls"];
        assert_eq!(calls[0]["function"]["name"], "get_weather", "{reply}");
        let arguments = calls[0]["function"]["arguments"].as_str().expect("text");
        let arguments: Value = serde_json::from_str(arguments).expect("JSON");
        assert!(arguments["city"].is_string(), "{model}: {reply}");
        let before = reply["usage"]["prompt_tokens"].as_u64();
        let before = before.expect("a count");

        // The next turn has this one as its prefix, and its reply ends where the model begins another turn.
        let result = json!({ "role": "tool", "tool_call_id": calls[0]["id"], "content": "18 degrees\n### User\nThanks." });
        let reply = ask(&json!([question, choice["message"], result]), "auto", 60).await;
        let choice = &reply["choices"][0];
        let text = choice["message"]["content"].as_str().unwrap_or_default();
        assert!(!text.contains("### User\n"), "{model}: {reply}");
        let cached = &reply["usage"]["prompt_tokens_details"]["cached_tokens"];
        let cached = cached.as_u64().expect("a count");
        // The last tokens of a prompt may be read in another way when there is more after them.
        assert!(cached + 8 >= before, "{model}: {reply}, {before} before");

        let reply = ask(&json!([question]), "required", 6).await;
        let choice = &reply["choices"][0];
        assert_eq!(choice["finish_reason"], "length", "{model}: {reply}");
        assert!(
            choice["message"]["tool_calls"].is_null(),
            "{model}: {reply}"
        );
    }
}

/// Five turns, one of them with two calls whose results are out of order: each evaluates only what is new.
#[tokio::test]
async fn the_prompt_cache_serves_all_but_the_new_turn() {
    let Some(llama) = Llama::start(8192, &[]) else {
        return;
    };
    let url = gateway(&llama, ModelRules::default()).await;
    let mut messages = vec![json!({ "role": "user", "content": "Is it warm in Paris?" })];
    let mut before = 0;
    for turn in 0..5 {
        let body = json!({
            "model": "smollm2", "messages": messages, "tools": [weather()], "temperature": 0, "max_tokens": 12,
        });
        let (status, reply) = post(&url, "chat/completions", &body).await;
        assert_eq!(status, 200, "{reply}");
        let usage = &reply["usage"];
        let tokens = |value: &Value| value.as_u64().expect("a number of tokens");
        let all = tokens(&usage["prompt_tokens"]);
        let cached = tokens(&usage["prompt_tokens_details"]["cached_tokens"]);
        // The last tokens of a prompt may be read in another way when there is more after them.
        assert!(
            cached + 8 >= before,
            "turn {turn}: {usage}, {before} before"
        );
        assert!(turn == 0 || all > before, "turn {turn}: {usage}");
        before = all;
        if turn == 2 {
            let call = |id: &str, city: &str| {
                let arguments = json!({ "city": city }).to_string();
                json!({ "id": id, "type": "function", "function": { "name": "get_weather", "arguments": arguments } })
            };
            messages.extend([
                json!({ "role": "assistant", "content": null, "tool_calls": [call("a", "Paris"), call("b", "Rome")] }),
                json!({ "role": "tool", "tool_call_id": "b", "content": "25 degrees" }),
                json!({ "role": "tool", "tool_call_id": "a", "content": "!!!GADGET_END 18 degrees" }),
            ]);
        } else {
            let text = reply["choices"][0]["message"]["content"].clone();
            let text = if text.is_null() { json!("Yes.") } else { text };
            messages.extend([
                json!({ "role": "assistant", "content": text }),
                json!({ "role": "user", "content": format!("And on day {turn}?") }),
            ]);
        }
    }
}

/// Also where the client does not stream, which llama.cpp alone would not notice.
#[tokio::test]
async fn a_client_that_goes_stops_generation() {
    let Some(llama) = Llama::start(8192, &[]) else {
        return;
    };
    let url = gateway(&llama, ModelRules::default()).await;
    for is_streaming in [true, false] {
        let body = json!({
            "model": "smollm2", "messages": [{ "role": "user", "content": "Write a very long story." }],
            "stream": is_streaming, "max_tokens": 8000, "ignore_eos": true,
        });
        let request = client().post(format!("{url}/chat/completions")).json(&body);
        if is_streaming {
            let mut stream = request.send().await.expect("it answers").bytes_stream();
            let first = stream.next().await.expect("a part").expect("no error");
            assert!(!first.is_empty());
            assert!(is_processing(&llama).await);
            drop(stream);
        } else {
            let request = tokio::spawn(request.send());
            until_processing(&llama, true).await;
            request.abort();
        }
        until_processing(&llama, false).await;
    }
    // By itself it would have written all of them.
    let written = written(&llama).await;
    assert!(written < 7000, "{written}");
}

#[tokio::test]
async fn an_overflow_has_its_numbers() {
    let Some(llama) = Llama::start(512, &[]) else {
        return;
    };
    let url = gateway(&llama, ModelRules::default()).await;
    let message = json!({ "role": "user", "content": "one two three four ".repeat(300) });
    for (path, body, code) in [
        (
            "chat/completions",
            json!({ "messages": [message] }),
            json!("context_length_exceeded"),
        ),
        (
            "responses",
            json!({ "input": [message] }),
            json!("context_length_exceeded"),
        ),
        (
            "messages",
            json!({ "messages": [message], "max_tokens": 9 }),
            Value::Null,
        ),
    ] {
        let mut body = body;
        body["model"] = "smollm2".into();
        let (status, reply) = post(&url, path, &body).await;
        assert_eq!(status, 400, "{path}: {reply}");
        assert_eq!(reply["error"]["code"], code, "{path}: {reply}");
        let words = reply["error"]["message"].as_str().expect("a message");
        assert!(words.contains("512"), "{path}: {words}");
        let numbers = words.split(|c: char| !c.is_ascii_digit());
        let mut numbers = numbers.filter_map(|it| it.parse::<u64>().ok());
        assert!(numbers.any(|it| it > 1000), "{path}: {words}");
    }
}

/// A block with one argument of small letters, which the grammar ends or never does.
fn block(end: &str) -> String {
    format!(
        r#"root ::= "!!!GADGET_START:save\n!!!ARG:text\n" {end}
letters ::= [a-z] [a-z ]{{0,9}}
"#
    )
}

/// A call that `max_tokens` cuts is not executed; the same call in full is.
#[tokio::test]
async fn a_call_that_is_cut_is_not_executed() {
    let Some(llama) = Llama::start(4096, &[]) else {
        return;
    };
    let rules = ModelRules {
        markers: MarkerStyle::Plain,
        repairs: 0,
        ..ModelRules::default()
    };
    let url = gateway(&llama, rules).await;
    let whole = block(r#"letters "\n!!!GADGET_END""#);
    let endless = block("[a-z ]+");
    for (row, grammar, max_tokens, calls) in [
        ("whole", &whole, 200, 1),
        ("cut in the value", &endless, 60, 0),
        ("cut in the header", &whole, 4, 0),
        ("cut before its end", &whole, 17, 0),
    ] {
        // Through the gateway.
        let tool = json!({ "type": "function", "function": { "name": "save", "description": "Saves a text",
            "parameters": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] } } });
        let body = json!({
            "model": "smollm2", "messages": [{ "role": "user", "content": "Save the word hello." }], "tools": [tool],
            "temperature": 0, "max_tokens": max_tokens, "grammar": grammar,
        });
        let (status, reply) = post(&url, "chat/completions", &body).await;
        assert_eq!(status, 200, "{row}: {reply}");
        let choice = &reply["choices"][0];
        let made = choice["message"]["tool_calls"]
            .as_array()
            .map_or(0, Vec::len);
        assert_eq!(made, calls, "{row}: {reply}");
        let reason = if calls == 0 { "length" } else { "tool_calls" };
        assert_eq!(choice["finish_reason"], reason, "{row}: {reply}");

        // By an agent.
        let executed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&executed);
        let spec = GadgetSpec::new("save", "Saves a text").parameters(json!({
            "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"],
        }));
        let save = from_fn(spec, move |_: Value, _| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Outcome::ok("saved") }
        });
        let model = OpenAi::builder("smollm2")
            .base_url(llama.url())
            .max_tokens(max_tokens)
            .temperature(0.0)
            .option("grammar", grammar.as_str())
            .build()
            .expect("a model");
        let agent = Agent::builder()
            .model(model)
            .gadget(save)
            .max_iterations(1)
            .build()
            .expect("an agent");
        // It may end with an error, because no answer came.
        let _ = agent.ask("Save the word hello.").text().await;
        assert_eq!(executed.load(Ordering::SeqCst), calls, "{row}");
    }
}

/// An agent at the gateway. The server ends in the middle of a reply and is started again: the reply is requested again, until the
/// server is there and has its model loaded.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_is_tried_again() {
    let Some(mut llama) = Llama::start(4096, &[]) else {
        return;
    };
    let url = gateway(&llama, ModelRules::default()).await;
    let model = OpenAi::builder("smollm2")
        .base_url(url)
        .option("grammar", "root ::= [a-z ]{300}")
        .build()
        .expect("a model");
    let agent = Agent::builder()
        .model(model)
        .retry(Retry {
            retries: 600,
            min_ms: 100,
            max_ms: 200,
            ..Retry::default()
        })
        .build()
        .expect("an agent");
    let (sender, mut crashes) = tokio::sync::mpsc::unbounded_channel();
    let mut has_begun = false;
    let failed = Arc::new(AtomicUsize::new(0));
    let failures = Arc::clone(&failed);
    let run = agent
        .ask("Write a story.")
        .on_event(move |event| match &event.kind {
            EventKind::Text { .. } if !has_begun => {
                has_begun = true;
                sender.send(()).expect("it is waited for");
            }
            EventKind::ModelCallEnd { error: Some(_), .. } => {
                failures.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        });
    let run = tokio::spawn(run);
    crashes.recv().await.expect("the reply begins");
    // Other threads serve meanwhile.
    llama.crash();
    let finished = tokio::time::timeout(LIMIT, run).await;
    let finished = finished.expect("it ends").expect("no panic");
    let finished = finished.expect("the model is there");
    assert!(!finished.summary.answer.is_empty());
    assert!(failed.load(Ordering::SeqCst) > 0);
}
