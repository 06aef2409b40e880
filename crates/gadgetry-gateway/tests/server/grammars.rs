//! Grammars that go upstream, by the size of the model.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::{Json, Router, routing};
use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::{Constrain, ModelRules};
use gadgetry_proto::call_form::CallForm;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::replies::body;
use crate::support::world::{client, serve, settings};

/// Serves llama.cpp's API for a model with this number of parameters. Returns its URL, and the requests that it receives.
async fn llama_cpp(parameters: Option<u64>) -> (String, Arc<Mutex<Vec<Value>>>) {
    let requests: Arc<Mutex<Vec<Value>>> = Arc::default();
    let models =
        json!({"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_params": parameters}}]});
    let props = json!({"build_info": "b1-a", "chat_template": "x", "default_generation_settings": {"n_ctx": 8192}});
    let complete = async |State(seen): State<Arc<Mutex<Vec<Value>>>>,
                          Json(request): Json<Value>| {
        seen.lock().expect("no panic within").push(request);
        let message = json!({"role": "assistant", "content": "Fine."});
        Json(json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))
    };
    let router = Router::new()
        .route(
            "/v1/models",
            routing::get(move || async move { Json(models) }),
        )
        .route("/props", routing::get(move || async move { Json(props) }))
        .route("/v1/chat/completions", routing::post(complete))
        .with_state(Arc::clone(&requests));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}/v1"), requests)
}

/// Open strings of a small model take all the tokens of a reply, whether or not its prompt shows worked turns.
#[tokio::test]
async fn strings_of_small_models_are_bounded() {
    let (small, large) = (Some(135_000_000), Some(8_000_000_000));
    for (parameters, examples, is_bounded) in [
        (small, None, true),
        (small, Some(2), true),
        (small, Some(0), true),
        (large, None, false),
        (large, Some(2), false),
        (None, None, false),
        // Worked turns are for small models.
        (None, Some(2), true),
    ] {
        for form in CallForm::ALL {
            let (url, requests) = llama_cpp(parameters).await;
            let rules = ModelRules {
                form: Some(form),
                examples,
                constrain: Constrain::Auto,
                ..ModelRules::default()
            };
            let address = serve(settings(&url, rules)).await;
            let (path, body) = body(ClientApi::Chat, "text", false);
            let request = client().post(format!("http://{address}{path}"));
            let answer = request.json(&body).send().await.expect("it answers");
            assert!(answer.status().is_success());
            let sent = requests.lock().expect("no panic within").pop();
            let sent = sent.expect("it was asked");
            let grammar = sent["grammar"].as_str().expect("a grammar");
            // Without its first character in a block, which begins no marker.
            let bounds = ["{0,200}", "{0,199}"];
            let has_bound = bounds.iter().any(|bound| grammar.contains(bound));
            assert_eq!(
                has_bound, is_bounded,
                "{parameters:?} {examples:?} {form}: {grammar}"
            );
        }
    }
}
