//! `gadgetry models`: lists, filters, and a newer table.

use serde_json::Value;

use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop, reply};

const TABLE: &str = r#"{
    "groq/large": {"mode": "chat", "litellm_provider": "groq", "max_input_tokens": 128000, "max_output_tokens": 8192,
        "input_cost_per_token": 0.0000025, "output_cost_per_token": 0.00001, "supports_vision": true},
    "groq/small": {"mode": "chat", "litellm_provider": "groq", "max_input_tokens": 8000,
        "input_cost_per_token": 0.000000075, "output_cost_per_token": 0.0000003},
    "ollama/tiny": {"mode": "chat", "litellm_provider": "ollama", "input_cost_per_token": 0, "output_cost_per_token": 0},
    "acme/other": {"mode": "chat", "litellm_provider": "acme"},
    "groq/old": {"mode": "chat", "litellm_provider": "groq", "deprecation_date": "2020-02-02"},
    "gpt-codex": {"mode": "responses", "litellm_provider": "openai"}
}"#;

fn models(workshop: &Workshop, args: &[&str]) -> Ended {
    Ended::of(&mut workshop.command(&[&["models"], args].concat()))
}

/// With the table above in its data directory.
fn updated() -> Workshop {
    let workshop = Workshop::new(&reply("Hi."));
    workshop.write("table.json", TABLE);
    let ended = models(&workshop, &["update", "--from", "table.json"]);
    assert!(ended.stdout.starts_with("6 models: 6 new, "), "{ended:?}");
    ended.check(&ended.stdout, "", 0);
    assert!(workshop.has("gadgetry/models.json.gz"));
    workshop
}

#[test]
fn the_table_in_the_program() {
    let workshop = Workshop::new("");
    let ended = models(&workshop, &["gpt-4o", "--provider", "openai", "--all"]);
    let mut lines = ended.stdout.lines();
    let head = lines.next().expect("a head");
    let words: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(
        words,
        [
            "MODEL", "CONTEXT", "OUTPUT", "$/M", "IN", "$/M", "OUT", "FEATURES", "NOTES"
        ]
    );
    let line = lines
        .find(|line| line.split_whitespace().next() == Some("openai:gpt-4o"))
        .expect("the model");
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    assert_eq!(
        words,
        ["openai:gpt-4o", "128,000", "16,384", "2.50", "10.00"]
    );
    assert_eq!(ended.code, Some(0));
}

#[test]
fn a_newer_table_counts_for_later_commands() {
    let workshop = updated();
    let check = |args: &[&str], stdout: &str| models(&workshop, args).check(stdout, "", 0);
    check(
        &["--all"],
        "MODEL             CONTEXT  OUTPUT  $/M IN  $/M OUT  FEATURES          NOTES\n\
         acme/other              ?       ?       ?        ?  streaming         not served by a known provider (acme)\n\
         groq:large        128,000   8,192    2.50    10.00  streaming vision\n\
         groq:old                ?       ?       ?        ?  streaming         may be gone since 2020-02-02\n\
         groq:small          8,000       ?   0.075     0.30  streaming\n\
         ollama:tiny             ?       ?    0.00     0.00  streaming\n\
         openai:gpt-codex        ?       ?       ?        ?  streaming         Responses API\n",
    );
    check(
        &["--all", "o", "--provider", "acme"],
        "MODEL       CONTEXT  OUTPUT  $/M IN  $/M OUT  FEATURES   NOTES\n\
         acme/other        ?       ?       ?        ?  streaming  not served by a known provider (acme)\n",
    );
    check(
        &["--all", "codex"],
        "MODEL             CONTEXT  OUTPUT  $/M IN  $/M OUT  FEATURES   NOTES\n\
         openai:gpt-codex        ?       ?       ?        ?  streaming  Responses API\n",
    );
    check(
        &["groq:sm", "--json", "--all"],
        "{\"name\":\"groq:small\",\"id\":\"groq/small\",\"provider\":\"groq\",\"contextWindow\":8000,\
         \"price\":{\"input\":0.075,\"output\":0.3},\"features\":[\"streaming\"]}\n",
    );
    let ids = |args: &[&str]| -> Vec<String> {
        let ended = models(&workshop, &[&["--json", "--all"], args].concat());
        ended.check(&ended.stdout, "", 0);
        let lines = ended.stdout.lines();
        let json = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        json.map(|model| model["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(ids(&["--feature", "vision"]), ["groq/large"]);
    assert_eq!(ids(&["--local"]), ["ollama/tiny"]);
    assert_eq!(ids(&["SMALL"]), ["groq/small"]);
    assert_eq!(
        ids(&["--provider", "groq"]),
        ["groq/large", "groq/old", "groq/small"]
    );
    assert_eq!(ids(&["--provider", "acme"]), ["acme/other"]);
    assert_eq!(ids(&["--provider", "nobody"]), [""; 0]);
    // An agent knows the new prices, too.
    let args = [
        "agent",
        "Go!",
        "--model",
        "groq:large",
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
    assert!(ended.stdout.starts_with("6 models: "), "{ended:?}");
    assert_eq!(server.asked()[0].line, "GET /v1/table.json");
    let listed = models(
        &workshop,
        &["--data-dir", "kept/here", "--json", "--all", "tiny"],
    );
    assert!(listed.stdout.contains("ollama/tiny"), "{listed:?}");
    // What is there stays if a newer one cannot be had.
    let again = models(&workshop, &update);
    again.check(
        "",
        &format!("error: {url}: the server answered 404 Not Found\n"),
        1,
    );
    assert_eq!(
        models(
            &workshop,
            &["--data-dir", "kept/here", "--json", "--all", "tiny"]
        ),
        listed
    );
}

#[test]
fn filters_without_a_match_are_errors() {
    let workshop = updated();
    workshop.write("empty.json", "{}");
    workshop.write("script.txt", "no table");
    let check = |args: &[&str], stderr: &str, code: i32| {
        models(&workshop, args).check("", &format!("error: {stderr}\n"), code);
    };
    check(&["nothing-like-it", "--all"], "no known model matches", 1);
    check(
        &["other"],
        "no model can be used: no key is set, and no server answers; --all lists the catalogue, `gadgetry doctor` shows which keys count",
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
        "empty.json: the table contains no model: expected LiteLLM's model_prices_and_context_window.json, or a table that gadgetry wrote",
        2,
    );
    let ended = models(&workshop, &["update", "--from", "script.txt"]);
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(2)));
    // Nothing of it was kept.
    assert_eq!(
        models(&workshop, &["--json", "--all"])
            .stdout
            .lines()
            .count(),
        6
    );
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
    let repaired = models(&workshop, &["update", "--from", "table.json"]);
    assert_eq!(repaired.code, Some(0), "{repaired:?}");
}

/// Without `--all`, the list has what can be used now: by the keys that are set, and from servers that answer.
#[test]
fn what_can_be_used_now() {
    let workshop = updated();
    let list = r#"{"data":[{"id":"tiny"},{"id":"mine"}]}"#;
    let ollama = Server::start([Reply::Gets("/v1/models", "200 OK", list.to_owned())]);
    let host = ollama.url().trim_end_matches("/v1").to_owned();
    let check =
        |args: &[&str], variables: &[(&str, &str)], stdout: &str, stderr: &str, code: i32| {
            let mut command = workshop.command(&[&["models"], args].concat());
            command.envs(variables.iter().copied());
            Ended::of(&mut command).check(stdout, stderr, code);
        };
    let key = [("GROQ_API_KEY", "secret")];
    let head = "MODEL       CONTEXT  OUTPUT  $/M IN  $/M OUT\n";
    let large = "groq:large  128,000   8,192    2.50    10.00\n";
    let small = "groq:small    8,000       ?   0.075     0.30\n";
    // Not what may be gone, nor what another key is for.
    check(&[], &key, &format!("{head}{large}{small}"), "", 0);
    check(&["SMALL"], &key, &format!("{head}{small}"), "", 0);
    check(
        &["--feature", "vision"],
        &key,
        &format!("{head}{large}"),
        "",
        0,
    );
    let none = "error: no model that you can use matches; --all lists the catalogue\n";
    check(&["codex"], &key, "", none, 1);
    // A server has models that the catalogue does not know.
    let both = [("GROQ_API_KEY", "secret"), ("OLLAMA_HOST", host.as_str())];
    let at = format!("at {host}/v1");
    let expected = format!(
        "MODEL        CONTEXT  OUTPUT  $/M IN  $/M OUT    NOTES\n\
         ollama:mine        ?       ?    0.00     0.00    {at}\n\
         ollama:tiny        ?       ?    0.00     0.00    {at}\n"
    );
    check(&["--provider", "ollama"], &both, &expected, "", 0);
    let mine =
        format!("{{\"name\":\"ollama:mine\",\"provider\":\"ollama\",\"baseUrl\":\"{host}/v1\"}}\n");
    check(&["mine", "--json"], &both, &mine, "", 0);
}

/// The table arrives whole or not at all, from the server that was named, and lands nowhere else.
#[test]
fn an_update_stays_where_it_belongs() {
    let other = Server::start([Reply::Status("200 OK", TABLE)]);
    let away: &'static str = format!("302 Found\r\nlocation: {}/table.json", other.url())
        .replace("127.0.0.1", "localhost")
        .leak();
    let server = Server::start([
        Reply::Status(away, ""),
        Reply::Status("302 Found\r\nlocation: /v1/new.json", ""),
        Reply::Status("200 OK", TABLE),
    ]);
    let workshop = Workshop::new("");
    let url = format!("{}/table.json", server.url());
    let update = ["update", "--from", &url, "--data-dir", "kept"];
    let refused = models(&workshop, &update);
    let origin = other
        .url()
        .trim_end_matches("/v1")
        .replace("127.0.0.1", "localhost");
    let error =
        format!("error: {url}: it redirects to {origin}; if you trust that host, pass its URL\n");
    refused.check("", &error, 1);
    assert!(other.asked().is_empty());
    // Links that lie where a file might be written are not followed.
    std::fs::create_dir(workshop.path("kept")).expect("a folder");
    workshop.write("kept/victim", "precious");
    std::os::unix::fs::symlink("victim", workshop.path("kept/models.json.gz.new")).expect("a link");
    let done = models(&workshop, &update);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(workshop.read("kept/victim"), "precious");
    assert!(!server.asked()[2].headers.to_lowercase().contains("referer"));
}

#[test]
fn a_table_that_cannot_be_written_leaves_nothing() {
    let workshop = Workshop::new("");
    workshop.write("table.json", TABLE);
    // A folder is where the table would be.
    std::fs::create_dir_all(workshop.path("kept/models.json.gz/folder")).expect("a folder");
    let update = ["update", "--from", "table.json", "--data-dir", "kept"];
    let ended = models(&workshop, &update);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .stderr
            .starts_with("error: cannot write kept/models.json.gz: "),
        "{ended:?}"
    );
    let left = std::fs::read_dir(workshop.path("kept")).expect("the folder");
    assert_eq!(left.count(), 1);
}

/// The models of a server, as a table and as JSON; or why there are none.
#[test]
fn models_of_a_server() {
    let get = |path, body: &str| Reply::Gets(path, "200 OK", body.to_owned());
    let list = r#"{"data":[{"id":"Qwen/Qwen2.5-7B","owned_by":"vllm","max_model_len":32768},{"id":"lora","owned_by":"vllm"}]}"#;
    let vllm = [
        get("/v1/models", list),
        get("/version", r#"{"version":"0.12.0"}"#),
    ];
    let server = Server::start(vllm);
    let workshop = Workshop::new("");
    let ended = models(&workshop, &["--base-url", server.url()]);
    let expected = format!(
        "{}  vLLM 0.12.0, takes grammars and structural tags\n\n\
         MODEL            CONTEXT  CALLS AS        TEMPLATE HAS TOOLS\n\
         Qwen/Qwen2.5-7B   32,768  blocks in text  ?\n\
         lora                   ?  blocks in text  ?\n",
        server.url()
    );
    ended.check(&expected, "", 0);
    let props =
        r#"{"default_generation_settings":{"n_ctx":4096},"chat_template":"","build_info":"b1"}"#;
    let base = Server::start([
        get("/v1/models", r#"{"data":[{"id":"base"}]}"#),
        get("/props", props),
    ]);
    let ended = models(&workshop, &["--base-url", base.url()]);
    let expected = format!(
        "{}  llama.cpp b1, takes grammars\n\n\
         MODEL  CONTEXT  CALLS AS      TEMPLATE HAS TOOLS\n\
         base     4,096  JSON in text  no template\n",
        base.url()
    );
    ended.check(&expected, "", 0);
    let ended = models(&workshop, &["qwen", "--base-url", server.url(), "--json"]);
    let line: Value = serde_json::from_str(&ended.stdout).expect("one line of JSON");
    let expected = serde_json::json!({
        "name": "Qwen/Qwen2.5-7B", "contextWindow": 32768, "server": "vllm", "version": "0.12.0",
        "constraint": "vllm", "structuralTags": true, "toolMode": "text", "form": "block", "examples": 0,
    });
    assert_eq!(line, expected);

    let refuses = Reply::Gets("/v1/models", "401 Unauthorized", "{}".to_owned());
    let refuses = Server::start([refuses]);
    let other = Server::start([Reply::says("Hi.")]);
    for (url, error) in [
        (
            refuses.url(),
            "refuses the request: name the variable of its key with --api-key-env",
        ),
        (
            other.url(),
            "no server of models answers there; expected a form like http://127.0.0.1:8080/v1",
        ),
    ] {
        let ended = models(&workshop, &["--base-url", url]);
        assert!(
            ended.stderr.starts_with("error: http://127.0.0.1:"),
            "{ended:?}"
        );
        assert!(ended.stderr.ends_with(&format!("{error}\n")), "{ended:?}");
        assert_eq!(ended.code, Some(1));
    }
    let ended = models(
        &workshop,
        &[
            "--base-url",
            server.url(),
            "--api-key-env",
            "GADGETRY_NO_SUCH_KEY",
        ],
    );
    ended.check(
        "",
        "error: no key: the environment variable GADGETRY_NO_SUCH_KEY is not set\n",
        2,
    );
}
