//! Runs of agents recognise the server of their model by themselves.

use gadgetry::journal::MemoryJournal;
use gadgetry::proto::call_form::CallForm;
use gadgetry::{Agent, AgentRun, gadget};
use gadgetry_providers::Resolver;
use gadgetry_providers::model::ModelInfo;
use serde_json::Value;
use tokio::time::{Duration, Instant};

use super::recognition::Server;

/// Returns the weather of a city
#[gadget]
fn weather(city: String) -> String {
    format!("rain in {city}")
}

const REPLY: &str = concat!(
    r#"data: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n"
);

/// A llama.cpp with a model of 135 million parameters, or a server that only answers requests.
async fn server(is_recognised: bool) -> Server {
    let models =
        r#"{"data":[{"id":"smollm2","owned_by":"llamacpp","meta":{"n_params":134515008}}]}"#;
    let props =
        r#"{"default_generation_settings":{"n_ctx":8192},"total_slots":1,"chat_template":"x"}"#;
    let get = |path: &str, body: &str| (format!("GET {path}"), ("200 OK", body.to_owned()));
    let facts = [get("/v1/models", models), get("/props", props)];
    let head = "200 OK\r\ncontent-type: text/event-stream";
    let reply = (
        "POST /v1/chat/completions".to_owned(),
        (head, REPLY.to_owned()),
    );
    let facts = facts.into_iter().filter(|_| is_recognised);
    Server::start(facts.chain([reply])).await
}

fn agent(server: &Server) -> Agent {
    let resolver = Resolver::new([("LLAMACPP_BASE_URL", server.url.clone())]);
    let model = resolver.resolve("llamacpp:smollm2").unwrap();
    let agent = Agent::builder().model(model).gadget(Weather);
    agent.max_iterations(1).without_retry().build().unwrap()
}

/// The bodies of the requests to the model.
fn requests(server: &Server) -> Vec<Value> {
    let asked = server.asked();
    let posts = asked.iter().filter(|it| it.starts_with("post"));
    let bodies = posts.map(|it| it.split_once("\r\n\r\n").unwrap().1);
    bodies.map(|it| serde_json::from_str(it).unwrap()).collect()
}

/// Checks that the run begins with what its server says.
#[track_caller]
fn check(server: &Server, way: &str) {
    let request = requests(server).pop().unwrap();
    assert!(request["grammar"].is_string(), "{way}: {request}");
    let shown = request["messages"].to_string();
    assert!(shown.contains("<tool_call>"), "{way}: {request}");
}

#[tokio::test]
async fn every_way_to_run_recognises_the_server() {
    async fn text(run: AgentRun<'_>) {
        assert_eq!(run.text().await.unwrap(), "Hi.");
    }
    let small = server(true).await;
    let agent = agent(&small);
    text(agent.ask("?")).await;
    check(&small, "a run");
    let asked = small.asked().len();
    text(agent.ask("?")).await;
    assert_eq!(small.asked().len(), asked + 1, "it is recognised once");

    let journal = MemoryJournal::default();
    text(agent.durable(&journal).run_id("d").ask("?").await.unwrap()).await;
    check(&small, "a durable run");
    text(agent.durable(&journal).run_id("d").resume().await.unwrap()).await;

    let typed = agent.ask("?").typed::<String>().await;
    typed.expect_err("the server calls nothing");
    check(&small, "a typed run");

    let mut run = agent.ask("?");
    let config = run.header().await.unwrap().config;
    assert_eq!((config.form, config.examples), (CallForm::Json, 2));
    assert_eq!(config.context_window, Some(8192));
    text(run).await;
    check(&small, "a run with its header");
}

/// The server may be another one, or not yet be there, when a run is resumed.
#[tokio::test]
async fn a_durable_run_keeps_the_form_of_its_calls() {
    let (small, silent) = (server(true).await, server(false).await);
    for (began, resumed, is_json) in [(&small, &silent, true), (&silent, &small, false)] {
        let journal = MemoryJournal::default();
        let run = agent(began).durable(&journal).run_id("d").ask("?").await;
        drop(run.unwrap());
        let run = agent(resumed).durable(&journal).run_id("d").resume().await;
        assert_eq!(run.unwrap().text().await.unwrap(), "Hi.");
        let request = requests(resumed).pop().unwrap();
        let shown = request["messages"].to_string();
        assert_eq!(shown.contains("<tool_call>"), is_json, "{request}");
    }
}

#[tokio::test]
async fn what_the_author_has_set_stays() {
    let small = server(true).await;
    let resolver = Resolver::new([("LLAMACPP_BASE_URL", small.url.clone())])
        .info(|_| Some(ModelInfo::default().context_window(100_000)));
    let agent = Agent::builder()
        .model(resolver.resolve("llamacpp:smollm2").unwrap())
        .gadget(Weather)
        .form(CallForm::Block)
        .examples(0)
        .constrained(false);
    let mut run = agent.ask("?").unwrap();
    let config = run.header().await.unwrap().config;
    assert_eq!(config.context_window, Some(100_000));
    assert_eq!(run.text().await.unwrap(), "Hi.");
    let request = requests(&small).pop().unwrap();
    assert!(request["grammar"].is_null(), "{request}");
    assert_eq!(
        request["messages"].as_array().unwrap().len(),
        2,
        "{request}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_does_not_wait_for_its_server() {
    let silent = ("GET /v1/models".to_owned(), ("SILENT", String::new()));
    let server = Server::start([silent]).await;
    let run = agent(&server).ask("?");
    let handle = run.handle();
    let ended = tokio::spawn(run.text());
    while server.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    handle.cancel();
    let began = Instant::now();
    ended.await.unwrap().expect_err("it was cancelled");
    assert!(requests(&server).is_empty());
    assert_eq!(
        began.elapsed(),
        Duration::ZERO,
        "the server has four seconds"
    );
}

#[tokio::test]
async fn a_server_that_says_nothing_is_asked_as_it_is() {
    let silent = server(false).await;
    let agent = agent(&silent);
    assert_eq!(agent.ask("?").text().await.unwrap(), "Hi.");
    let request = requests(&silent).pop().unwrap();
    assert!(request["grammar"].is_null(), "{request}");
    let asked = silent.asked().len();
    assert_eq!(agent.ask("?").text().await.unwrap(), "Hi.");
    assert_eq!(silent.asked().len(), asked + 1, "not again so soon");
}
