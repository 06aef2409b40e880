//! The command line and the library at a real model on a real server, which `cargo xtask test servers` installs.

#[path = "../../../gadgetry-gateway/tests/support/llama.rs"]
#[expect(dead_code, reason = "the tests of the gateway use all of it")]
mod llama;

use gadgetry::provider::Resolver;
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::Deserialize;
use gadgetry::{Agent, gadget};
use serde_json::{Value, json};

use super::workshop::{Ended, Workshop};
use llama::Llama;

/// What the server says about itself is listed, and the conversation of an agent is to fit into it.
#[test]
fn the_window_of_a_real_server() {
    let Some(llama) = Llama::start(4096, &["--slots", "2"]) else {
        return;
    };
    let url = llama.url();
    let workshop = Workshop::new("");
    let ended = Ended::of(&mut workshop.command(&["models", "--base-url", &url, "--json"]));
    let mut listed: Value = serde_json::from_str(&ended.stdout).expect("one model");
    assert!(listed["version"].take().is_string(), "{ended:?}");
    let expected = json!({
        "name": "smollm2", "contextWindow": 2048, "templateHasTools": false, "hasChatTemplate": true, "server": "llama-cpp", "version": null,
        "constraint": "llama-cpp", "structuralTags": false, "toolMode": "text", "form": "json", "examples": 2,
    });
    assert_eq!(listed, expected);

    let options = [
        "--base-url",
        &url,
        "--max-tokens",
        "5",
        "--save",
        "log.jsonl",
    ];
    let agent = [&["agent", "Hi", "--model", "smollm2"], &options[..]].concat();
    let ended = Ended::of(&mut workshop.command(&agent));
    let log = workshop.read("log.jsonl");
    let header: Value = serde_json::from_str(log.lines().next().expect("a header")).expect("JSON");
    assert_eq!(header["config"]["contextWindow"], 2048, "{ended:?}");
}

/// Whatever a model of this size writes: a call under a grammar is valid, and the table has a row for each form.
#[test]
fn a_real_model_is_measured() {
    let Some(llama) = Llama::start(4096, &[]) else {
        return;
    };
    let url = llama.url();
    let workshop = Workshop::new("");
    let forms = "json+examples,constrained,constrained-json,native";
    let eval = [
        "eval",
        "smollm2",
        "--base-url",
        &url,
        "--form",
        forms,
        "--cases",
        "5",
        "--max-tokens",
        "200",
        // Other tests use the same cores.
        "--patience",
        "600s",
        "--json",
    ];
    let ended = Ended::of(&mut workshop.command(&eval));
    let document: Value = serde_json::from_str(&ended.stdout).expect("a document");
    let model = &document["models"][0];
    assert_eq!(model["leftOut"][0]["arm"], "native", "{ended:?}");
    let arms = model["arms"].as_array().expect("arms");
    assert_eq!(arms.len(), 3, "{ended:?}");
    for arm in arms {
        assert_eq!(arm["numbers"]["cases"], 5, "{arm}");
        assert_eq!(arm["numbers"]["failed"], 0, "{arm}");
        if arm["settings"]["constrain"] == "auto" {
            let probes = arm["probes"].as_array().expect("probes");
            let calls = probes
                .iter()
                .flat_map(|it| it["calls"].as_array().expect("calls"));
            // The replies are limited to 200 tokens, which may end inside a call.
            let cut = [
                "the reply ended",
                "the reply was cut off by the token limit",
            ];
            for call in calls {
                let error = call["error"].as_str().unwrap_or_default();
                let valid = error.is_empty() || cut.iter().any(|it| error.contains(it));
                assert!(valid, "{call}");
            }
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(crate = "gadgetry::serde", rename_all = "lowercase")]
#[schemars(crate = "gadgetry::schemars")]
enum Mood {
    Happy,
    Angry,
}

/// The review of a customer
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(crate = "gadgetry::serde")]
#[schemars(crate = "gadgetry::schemars")]
struct Review {
    mood: Mood,
    /// Whole stars
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
}

/// Searches the shop
#[gadget]
fn search(query: String) -> String {
    format!("nothing about {query}")
}

/// A model of this size calls nothing by itself. That its answer is a value is the work of the grammar, whatever else it calls before.
#[tokio::test]
async fn a_real_model_answers_with_a_value() {
    let Some(llama) = Llama::start(4096, &[]) else {
        return;
    };
    let resolver = Resolver::new([("", "")]).base_url(llama.url());
    let resolver = resolver.max_tokens(300).temperature(0.0);
    // The run recognises the server.
    let model = resolver.resolve("smollm2").expect("a model");
    let alone = Agent::builder().model(model.clone());
    let with_another = Agent::builder()
        .model(model)
        .gadget(Search)
        .max_iterations(2);
    for agent in [alone, with_another] {
        let agent = agent.system("Read the review: It leaks! One star.");
        let agent = agent.build().expect("an agent");
        let review = agent.ask("Which mood, how many stars?").typed::<Review>();
        let review = review.await.expect("a review");
        assert!(matches!(review.value.mood, Mood::Happy | Mood::Angry));
        assert!((1..=5).contains(&review.value.stars), "{review:?}");
    }
}
