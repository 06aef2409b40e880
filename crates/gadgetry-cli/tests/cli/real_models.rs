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
        "name": "smollm2", "contextWindow": 2048, "templateHasTools": false, "server": "llama-cpp", "version": null,
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
