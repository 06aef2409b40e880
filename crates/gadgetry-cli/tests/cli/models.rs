//! `gadgetry models`: lists, filters, and a newer table.

use serde_json::Value;

use crate::server::{Reply, Server};
use crate::workshop::{Ended, Workshop, reply};

const TABLE: &str = r#"{
    "acme/large": {"mode": "chat", "litellm_provider": "acme", "max_input_tokens": 128000, "max_output_tokens": 8192,
        "input_cost_per_token": 0.0000025, "output_cost_per_token": 0.00001, "supports_vision": true},
    "acme/small": {"mode": "chat", "litellm_provider": "acme", "max_input_tokens": 8000,
        "input_cost_per_token": 0.000000075, "output_cost_per_token": 0.0000003},
    "ollama/tiny": {"mode": "chat", "litellm_provider": "ollama", "input_cost_per_token": 0, "output_cost_per_token": 0}
}"#;

fn models(workshop: &Workshop, args: &[&str]) -> Ended {
    Ended::of(&mut workshop.command(&[&["models"], args].concat()))
}

/// With the table above in its data directory.
fn updated() -> Workshop {
    let workshop = Workshop::new(&reply("Hi."));
    workshop.write("table.json", TABLE);
    let ended = models(&workshop, &["update", "--from", "table.json"]);
    assert!(ended.stdout.starts_with("3 models: 3 new, "), "{ended:?}");
    ended.check(&ended.stdout, "", 0);
    assert!(workshop.has("gadgetry/models.json.gz"));
    workshop
}

#[test]
fn the_table_in_the_program() {
    let workshop = Workshop::new("");
    let ended = models(&workshop, &["gpt-4o", "--provider", "openai"]);
    let mut lines = ended.stdout.lines();
    let head = lines.next().expect("a head");
    let words: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(
        words,
        [
            "MODEL", "CONTEXT", "OUTPUT", "$/M", "IN", "$/M", "OUT", "FEATURES"
        ]
    );
    let line = lines
        .find(|line| line.split_whitespace().next() == Some("gpt-4o"))
        .expect("the model");
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    assert_eq!(words, ["gpt-4o", "128,000", "16,384", "2.50", "10.00"]);
    assert_eq!(ended.code, Some(0));
}

#[test]
fn a_newer_table_counts_for_later_commands() {
    let workshop = updated();
    let check = |args: &[&str], stdout: &str| models(&workshop, args).check(stdout, "", 0);
    check(
        &[],
        "MODEL        CONTEXT  OUTPUT  $/M IN  $/M OUT  FEATURES\n\
         acme/large   128,000   8,192    2.50    10.00  streaming vision\n\
         acme/small     8,000       ?   0.075     0.30  streaming\n\
         ollama/tiny        ?       ?    0.00     0.00  streaming\n",
    );
    let ids = |args: &[&str]| -> Vec<String> {
        let ended = models(&workshop, &[&["--json"], args].concat());
        ended.check(&ended.stdout, "", 0);
        let lines = ended.stdout.lines();
        let json = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        json.map(|model| model["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(ids(&["--feature", "vision"]), ["acme/large"]);
    assert_eq!(ids(&["--local"]), ["ollama/tiny"]);
    assert_eq!(ids(&["SMALL"]), ["acme/small"]);
    assert_eq!(ids(&["--provider", "acme"]), ["acme/large", "acme/small"]);
    assert_eq!(ids(&["--provider", "nobody"]), [""; 0]);
    // An agent knows the new prices, too.
    let args = [
        "agent",
        "Go!",
        "--model",
        "acme/large",
        "--budget",
        "1",
        "--gadgets",
        "gadgets.toml",
    ];
    let priced = Server::start([Reply::says("Done.")]);
    let args = [&args[..], &["--base-url", priced.url(), "-q"]].concat();
    Ended::of(&mut workshop.command(&args)).check("Done.\n", "", 0);
}

#[test]
fn a_table_from_a_server() {
    let workshop = Workshop::new("");
    let table: &'static str = TABLE;
    let server = Server::start([
        Reply::Status("200 OK", table),
        Reply::Status("404 Not Found", ""),
    ]);
    let url = format!("{}/table.json", server.url());
    let update = ["update", "--from", &url, "--data-dir", "kept/here"];
    let ended = models(&workshop, &update);
    assert!(ended.stdout.starts_with("3 models: "), "{ended:?}");
    assert_eq!(server.asked()[0].line, "GET /v1/table.json");
    let listed = models(&workshop, &["--data-dir", "kept/here", "--json", "tiny"]);
    assert!(listed.stdout.contains("ollama/tiny"), "{listed:?}");
    // What is there stays if a newer one cannot be had.
    let again = models(&workshop, &update);
    again.check(
        "",
        &format!("error: {url}: the server answered 404 Not Found\n"),
        1,
    );
    assert_eq!(
        models(&workshop, &["--data-dir", "kept/here", "--json", "tiny"]),
        listed
    );
}

#[test]
fn mistakes() {
    let workshop = updated();
    workshop.write("empty.json", "{}");
    workshop.write("script.txt", "no table");
    let check = |args: &[&str], stderr: &str, code: i32| {
        models(&workshop, args).check("", &format!("error: {stderr}\n"), code);
    };
    check(
        &["nothing-like-it"],
        "no model that is known is like that",
        1,
    );
    check(
        &["--feature", "wings"],
        "invalid value 'wings' for '--feature <FEATURE>' [possible values: streaming, tools, vision, audio, reasoning, \
         structured-output, prompt-caching]",
        2,
    );
    check(
        &["update", "--from", "missing.json"],
        "cannot read missing.json: No such file or directory (os error 2)",
        2,
    );
    check(
        &["update", "--from", "empty.json"],
        "empty.json: no model in it: expected LiteLLM's model_prices_and_context_window.json, or a table that gadgetry wrote",
        2,
    );
    let ended = models(&workshop, &["update", "--from", "script.txt"]);
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(2)));
    // Nothing of it was kept.
    assert_eq!(models(&workshop, &["--json"]).stdout.lines().count(), 3);
    workshop.write("gadgetry/models.json.gz", "broken");
    let ended = models(&workshop, &[]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .ends_with("; delete the file, or update it again\n"),
        "{ended:?}"
    );
    updated();
    let mended = models(&workshop, &["update", "--from", "table.json"]);
    assert_eq!(mended.code, Some(0), "{mended:?}");
}
