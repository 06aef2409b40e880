//! The command line at a real model on a real server, which `cargo xtask test servers` installs.

#[path = "../../../gadgetry-gateway/tests/support/llama.rs"]
#[expect(dead_code, reason = "the tests of the gateway use all of it")]
mod llama;

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
        "constraint": "llama-cpp", "structuralTags": false,
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
            let cut = "the reply ended";
            for call in calls {
                let error = call["error"].as_str().unwrap_or_default();
                assert!(error.is_empty() || error.contains(cut), "{call}");
            }
        }
    }
}
