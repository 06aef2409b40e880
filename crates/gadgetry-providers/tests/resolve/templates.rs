//! Models without a chat template: how they are recognised, and through which API they are used.

use futures_util::StreamExt as _;
use gadgetry_proto::message::Request;
use gadgetry_providers::model::Model as _;
use gadgetry_providers::server::recognise;
use gadgetry_providers::{BaseUrl, Resolver};
use serde_json::json;

use super::OPENAI;
use super::recognition::{LLAMA_CPP_MODELS, Server, VLLM_MODELS, http};

/// `/props` of llama.cpp with a template and an end token.
fn llama_cpp_template(template: &str, end: &str) -> String {
    json!({
        "default_generation_settings": { "n_ctx": 8192 },
        "chat_template": template,
        "eos_token": end,
    })
    .to_string()
}

#[tokio::test]
async fn models_without_a_chat_template() {
    /// What llama.cpp b11549 says for Gemma 3 270M, which has none.
    const STAND_IN: &str = "{%- for message in messages -%}\n  {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}\n\
        {%- endfor -%}\n{%- if add_generation_prompt -%}\n  {{- '<|im_start|>assistant\n' -}}\n{%- endif -%}";
    const MISSING: &str = "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat \
        template if the tokenizer does not define one.";
    let vllm_error = |message: &str| {
        format!(r#"{{"error":{{"message":"{message}","type":"BadRequestError","code":400}}}}"#)
    };
    let llama = |template: &str, end: &str| {
        vec![
            ("GET /v1/models", "200 OK", LLAMA_CPP_MODELS.to_owned()),
            ("GET /props", "200 OK", llama_cpp_template(template, end)),
        ]
    };
    let vllm = |status: &'static str, body: String| {
        vec![
            ("GET /v1/models", "200 OK", VLLM_MODELS.to_owned()),
            (
                "GET /version",
                "200 OK",
                r#"{"version":"0.12.0"}"#.to_owned(),
            ),
            ("POST /tokenize", status, body),
        ]
    };
    let ollama = |shown: &str| {
        vec![
            (
                "GET /v1/models",
                "200 OK",
                r#"{"data":[{"id":"m:latest"}]}"#.to_owned(),
            ),
            (
                "GET /api/version",
                "200 OK",
                r#"{"version":"0.12.6"}"#.to_owned(),
            ),
            ("POST /api/show", "200 OK", shown.to_owned()),
        ]
    };
    let rows = [
        (
            "llama.cpp's own template",
            llama(STAND_IN, "<eos>"),
            Some(false),
        ),
        (
            "a model of ChatML",
            llama(STAND_IN, "<|im_end|>"),
            Some(true),
        ),
        (
            "another template",
            llama("{{ messages }}", "<eos>"),
            Some(true),
        ),
        ("an empty template", llama(" \n", "<eos>"), Some(false)),
        (
            "vLLM has none",
            vllm("400 Bad Request", vllm_error(MISSING)),
            Some(false),
        ),
        (
            "vLLM, an older form",
            vllm(
                "400 Bad Request",
                format!(r#"{{"object":"error","message":"{MISSING}"}}"#),
            ),
            Some(false),
        ),
        (
            "vLLM has one",
            vllm("200 OK", r#"{"count":7,"tokens":[1]}"#.to_owned()),
            Some(true),
        ),
        (
            "vLLM refuses for another reason",
            vllm("400 Bad Request", vllm_error("no")),
            None,
        ),
        (
            "vLLM fails",
            vllm("500 Oops", "chat template".to_owned()),
            None,
        ),
        (
            "Ollama passes the prompt on",
            ollama(r#"{"template":"{{ .Prompt }}\n"}"#),
            Some(false),
        ),
        (
            "Ollama has a template",
            ollama(r#"{"template":"{{ .System }}{{ .Prompt }}"}"#),
            Some(true),
        ),
        ("Ollama says nothing", ollama(r#"{"template":""}"#), None),
    ];
    for (row, answers, expected) in rows {
        let routes = answers.into_iter();
        let server =
            Server::start(routes.map(|(route, status, body)| (route.to_owned(), (status, body))))
                .await;
        let url = BaseUrl::new(server.url.clone());
        let facts = recognise(&http(), &url, None, None).await;
        let name = facts.models[0].name.clone();
        assert_eq!(facts.models[0].has_chat_template, expected, "{row}");
        let completes_only = expected == Some(false);
        assert_eq!(facts.completes_only(&name), completes_only, "{row}");

        // A model of that name is used accordingly, unless a prefix says how.
        let resolver = Resolver::new([OPENAI; 0]).base_url(server.url.clone());
        for (prefix, is_completed) in [
            ("", completes_only),
            ("chat:", false),
            ("completions:", true),
        ] {
            let model = resolver.connect(&format!("{prefix}{name}")).await.unwrap();
            let before = server.asked().len();
            let request = Request::default();
            let _: Vec<_> = model.stream(request).collect().await;
            let asked = server.asked().split_off(before).concat();
            let path = if is_completed {
                "post /v1/completions "
            } else {
                "post /v1/chat/completions "
            };
            assert!(asked.starts_with(path), "{row} {prefix}: {asked}");
            if is_completed {
                assert_eq!(model.info().usual_examples(), 2, "{row} {prefix}");
            }
        }
    }
}
