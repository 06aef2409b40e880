//! Settings that a request carries, as each API sends them.

use std::sync::Arc;

use futures_util::StreamExt as _;
use gadgetry_proto::message::{Message, Request, Role, Sampling};
use gadgetry_providers::model::Model;
use gadgetry_providers::{Anthropic, ModelOptions, OpenAi, OpenAiCompletions, OpenAiResponses};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Takes one request, refuses it, and returns its body.
async fn body_of_one_request(listener: TcpListener) -> Value {
    let (mut stream, _) = listener.accept().await.expect("a client");
    let mut received = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.expect("a request");
        received.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&received).into_owned();
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        if let Ok(body) = serde_json::from_str(body) {
            let refusal =
                b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream
                .write_all(refusal)
                .await
                .expect("a client that reads");
            return body;
        }
        assert_ne!(read, 0, "the request is whole: {text}");
    }
}

/// What a model sends that has settings of its own, for a request with `sampling`.
async fn sent(
    model: impl Fn(String, ModelOptions) -> Arc<dyn Model>,
    stop: &[&str],
    sampling: Sampling,
) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let options = ModelOptions {
        temperature: Some(0.75),
        max_tokens: Some(7),
        stop: stop.iter().map(|&it| it.to_owned()).collect(),
        ..ModelOptions::default()
    };
    let model = model(format!("http://{address}/v1"), options);
    let request = Request::default()
        .messages(vec![Message::text(Role::User, "Hi")])
        .sampling(sampling);
    let reply = model.stream(request).collect::<Vec<_>>();
    let (body, _) = tokio::join!(body_of_one_request(listener), reply);
    body
}

#[tokio::test]
async fn the_request_takes_precedence_over_the_model() {
    macro_rules! model {
        ($model:ident) => {
            (|url: String, options: ModelOptions| -> Arc<dyn Model> {
                let builder = $model::builder("m")
                    .options(options)
                    .base_url(url)
                    .api_key("k");
                Arc::new(builder.build().expect("a model"))
            }) as fn(String, ModelOptions) -> Arc<dyn Model>
        };
    }
    let numbers = Sampling::default().temperature(0.25).max_tokens(9);
    for (model, tokens, stop) in [
        (model!(OpenAi), "max_completion_tokens", "stop"),
        (model!(OpenAiCompletions), "max_tokens", "stop"),
        (model!(Anthropic), "max_tokens", "stop_sequences"),
        (model!(OpenAiResponses), "max_output_tokens", ""),
    ] {
        let of = |body: &Value| {
            let stop = body.get(stop).and_then(Value::as_array);
            let own = |it: &&Value| *it == "agent" || *it == "model";
            let stop = stop.map(|stop| stop.iter().filter(own).cloned().collect::<Vec<_>>());
            json!([body["temperature"], body[tokens], stop])
        };
        let (own, all) = if stop.is_empty() {
            (&[][..], numbers.clone())
        } else {
            (&["model"][..], numbers.clone().stop(["agent"]))
        };
        let shown = |text: &str| (!stop.is_empty()).then(|| json!([text]));
        for (sampling, expected) in [
            (Sampling::default(), json!([0.75, 7, shown("model")])),
            (all, json!([0.25, 9, shown("agent")])),
            (
                Sampling::default().temperature(0.0),
                json!([0.0, 7, shown("model")]),
            ),
        ] {
            let body = sent(model, own, sampling).await;
            assert_eq!(of(&body), expected, "{body}");
        }
    }
}

#[tokio::test]
async fn a_setting_that_an_api_lacks_is_an_error() {
    let model = OpenAiResponses::builder("m").base_url("http://127.0.0.1:9/v1");
    let request = Request::default().sampling(Sampling::default().stop(["END"]));
    let model = model.build().expect("a model");
    let deltas = model.stream(request).collect::<Vec<_>>().await;
    let shown = format!("{deltas:?}");
    assert!(
        shown.contains("the Responses API has no stop sequences"),
        "{shown}"
    );
}
