//! `gadgetry doctor`: what it finds, and what it says of models.

use serde_json::{Value, json};

use super::agent_models::nonce;
use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop};

const WORD: &str = "The word was marmalade-7f3.";

/// The right call, with the markers of the system message.
fn call(system: &str) -> String {
    let nonce = nonce(system);
    assert_eq!(
        nonce.split(' ').count(),
        3,
        "random markers, as `agent` has them"
    );
    format!(
        "!!!GADGET_START{nonce}:OpenLocker\n!!!ARG{nonce}:number\n42\n!!!ARG{nonce}:owner\nAda\n!!!GADGET_END{nonce}\n"
    )
}

/// Without any server on this machine but those in `env`.
fn doctor(args: &[&str], env: &[(&str, &str)]) -> Ended {
    let workshop = Workshop::new("");
    let mut command = workshop.command(&[&["doctor"], args].concat());
    for variable in [
        "OLLAMA",
        "LMSTUDIO",
        "LLAMACPP",
        "VLLM",
        "SGLANG",
        "TGI",
        "JAN",
        "LLAMAFILE",
        "LITELLM",
    ] {
        command.env(format!("{variable}_BASE_URL"), "http://127.0.0.1:9/v1");
    }
    Ended::of(command.envs(env.iter().copied()))
}

#[test]
fn what_there_is() {
    let nothing = doctor(&[], &[]);
    assert!(
        nothing
            .stdout
            .contains("  openai      not set: OPENAI_API_KEY\n")
    );
    assert!(nothing.stdout.ends_with("Local servers\n  none found\n"));
    let error = "error: no key is set, and no local server was found: set one of the variables above, or start a server\n";
    nothing.check(&nothing.stdout, error, 1);

    let key = "sk-nobody-may-see-this";
    let set = doctor(&[], &[("OPENAI_API_KEY", key)]);
    set.check(&set.stdout, "", 0);
    assert!(set.stdout.contains("  openai      set in OPENAI_API_KEY\n"));
    assert!(!set.stdout.contains("nobody"));

    let list = r#"{"data":[{"id":"one"},{"id":"two"}]}"#;
    let list = Reply::Gets("/v1/models", "200 OK", list.to_owned());
    let server = Server::start([list]);
    let found = doctor(&[], &[("VLLM_BASE_URL", server.url())]);
    found.check(&found.stdout, "", 0);
    let line = format!("  vllm        {}  one, two\n", server.url());
    assert!(found.stdout.ends_with(&line), "{found:?}");
    assert_eq!(server.asked()[0].line, "GET /v1/models");
}

#[test]
fn as_json() {
    let server = Server::start([Reply::Answers(call), Reply::says(WORD)]);
    let args = ["vllm:small", "--base-url", server.url(), "--json"];
    let ended = doctor(&args, &[("GROQ_API_KEY", "gsk-nobody-may-see-this")]);
    ended.check(&ended.stdout, "", 0);
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(ended.stdout.lines().count(), 1);
    let groq =
        json!({ "provider": "groq", "variables": ["GROQ_API_KEY"], "foundIn": "GROQ_API_KEY" });
    assert!(report["keys"].as_array().expect("keys").contains(&groq));
    assert_eq!(report["servers"], json!([]));
    let mut probe = report["probe"].clone();
    assert!(probe["durationMs"].take().is_u64());
    let expected = json!({
        "model": "vllm:small", "followsFormat": true, "answered": true, "called": true, "parametersRight": true,
        "usedResult": true, "durationMs": null, "inputTokens": 2400, "outputTokens": 68, "cost": 0.0,
    });
    assert_eq!(probe, expected);
}

/// What is said of a model with these replies: the steps that it did, notes, and the error.
#[track_caller]
fn check(replies: &[Reply], steps: usize, note: &str, stderr: &str) {
    let server = Server::start(replies.iter().cloned());
    let ended = doctor(&["vllm:small", "--base-url", server.url()], &[]);
    let done = ended
        .stdout
        .lines()
        .filter(|line| line.starts_with("  yes "));
    assert_eq!(done.count(), steps, "{ended:?}");
    assert!(ended.stdout.contains(note), "{ended:?}");
    let code = i32::from(!stderr.is_empty());
    let stderr = if stderr.is_empty() {
        String::new()
    } else {
        format!("error: {stderr}\n")
    };
    ended.check(&ended.stdout, &stderr, code);
}

#[test]
fn whether_a_model_follows_the_format() {
    let word = Reply::says(WORD);
    let says = Reply::says;
    check(
        &[Reply::Answers(call), word.clone()],
        4,
        "2,400 tokens in, 68 tokens out\n",
        "",
    );
    check(
        &[says("42 Ada\nis it.")],
        1,
        "  it wrote:\n  | 42 Ada\n  | is it.\n",
        "vllm:small wrote no gadget block; if it can call tools, try --tools native",
    );
    check(
        &[Reply::Ends("Let me", "length")],
        1,
        "",
        "vllm:small reached its token limit before it called the gadget",
    );
    check(
        &[Reply::Ends("No.", "content_filter")],
        1,
        "",
        "vllm:small refused, or its provider withheld the reply",
    );
    check(&[says("")], 1, "", "vllm:small wrote nothing");
    // Markers that are not those of this run are no call: nothing that others wrote beforehand is executed.
    check(
        &[says(
            "!!!GADGET_START:OpenLocker\n!!!ARG:number\n42\n!!!ARG:owner\nAda\n!!!GADGET_END\n",
        )],
        1,
        "note: !!!GADGET_START is not a marker",
        "vllm:small wrote no gadget block; if it can call tools, try --tools native",
    );
    let wrong = Reply::Answers(|system| call(system).replace("number\n42", "number\n24"));
    let error = "vllm:small called the gadget with wrong parameters";
    check(&[wrong, word.clone()], 3, "", error);
    let error = "vllm:small did not use the gadget's result";
    check(&[Reply::Answers(call), says("A sock.")], 3, "", error);
    let near = Reply::Answers(|system| {
        format!(
            "!!GADGET_START{}:OpenLocker\n{}",
            nonce(system),
            call(system)
        )
    });
    let error = "vllm:small called the gadget, but not exactly in the right form";
    check(&[near, word], 4, "note: !!GADGET_START ", error);
}

#[test]
fn native_calls() {
    let call = Reply::Calls("c1", "OpenLocker", r#"{"number":42,"owner":"Ada"}"#);
    let server = Server::start([call, Reply::says(WORD)]);
    let args = [
        "vllm:small",
        "--base-url",
        server.url(),
        "--tools",
        "native",
    ];
    let ended = doctor(&args, &[]);
    ended.check(&ended.stdout, "", 0);
    let line = "  yes called the gadget natively\n";
    assert!(ended.stdout.contains(line), "{ended:?}");
    assert_eq!(
        server.asked()[0].body["tools"][0]["function"]["name"],
        "OpenLocker"
    );
}

#[test]
fn servers_that_refuse_and_addresses_of_the_environment() {
    let locked = Reply::Gets("/v1/models", "401 Unauthorized", "{}".to_owned());
    let locked = Server::start([locked]);
    let env = [
        ("VLLM_BASE_URL", locked.url()),
        (
            "ANTHROPIC_BASE_URL",
            "http://bob:secret@gw.example/v1?key=secret",
        ),
    ];
    let ended = doctor(&["--wait", "5s"], &env);
    let line = format!(
        "  vllm        {}  refused the request: needs a key (VLLM_API_KEY)\n",
        locked.url()
    );
    assert!(ended.stdout.contains(&line), "{ended:?}");
    let line = "  anthropic   http://gw.example/v1  ANTHROPIC_BASE_URL\n";
    assert!(ended.stdout.contains(line), "{ended:?}");
    assert!(!ended.stdout.contains("secret"), "{ended:?}");
}

#[test]
fn a_model_that_fails() {
    let refused = Reply::Status("401 Unauthorized", r#"{"error":{"message":"no such key"}}"#);
    let server = Server::start([refused]);
    let args = ["openai:small", "--base-url", server.url()];
    let ended = doctor(&args, &[("OPENAI_API_KEY", "sk-nobody-may-see-this")]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("no such key"), "{ended:?}");
    assert!(!ended.stderr.contains("nobody"), "{ended:?}");
    let missing = doctor(&["openai:small"], &[]);
    let error = "error: no key for openai: set OPENAI_API_KEY. Configured: nothing. \
        On this machine: ollama, lmstudio, llamacpp, vllm, sglang, tgi, jan, llamafile, litellm\n";
    missing.check("", error, 2);
}

/// What llama.cpp says about itself.
fn llama_cpp() -> [Reply; 2] {
    let get = |path, body: Value| Reply::Gets(path, "200 OK", body.to_string());
    [
        get(
            "/v1/models",
            json!({ "data": [{ "id": "small", "owned_by": "llamacpp", "meta": { "n_ctx": 8192 } }] }),
        ),
        get(
            "/props",
            json!({
                "default_generation_settings": { "n_ctx": 8192 }, "build_info": "b11549",
                "chat_template_caps": { "supports_tools": false },
            }),
        ),
    ]
}

#[test]
fn what_servers_say_about_themselves() {
    let server = Server::start(llama_cpp());
    let env = [("LLAMACPP_BASE_URL", server.url())];
    let found = doctor(&[], &env);
    let line = format!(
        "  llamacpp    {}  small (8,192 tokens)  (llama.cpp b11549, takes grammars)\n",
        server.url()
    );
    found.check(&found.stdout, "", 0);
    assert!(found.stdout.ends_with(&line), "{found:?}");
    let found = doctor(&["--json"], &env);
    let report: Value = serde_json::from_str(&found.stdout).expect("JSON");
    let expected = json!([{
        "provider": "llamacpp", "baseUrl": server.url(), "models": ["small"], "kind": "llama-cpp", "version": "b11549",
        "constraint": "llama-cpp", "contextWindows": { "small": 8192 },
    }]);
    assert_eq!(report["servers"], expected);

    // Its template has no tools, so that no other form of calls is advised.
    let replies = llama_cpp().into_iter().chain([Reply::says("42.")]);
    let server = Server::start(replies);
    let ended = doctor(&["small", "--base-url", server.url()], &[]);
    let part = "\nServer of the model\n  llama.cpp b11549, takes grammars\n  small: 8,192 tokens\n\nsmall\n";
    assert!(ended.stdout.contains(part), "{ended:?}");
    let error = "error: small wrote no gadget block, and its chat template has no tools, so that --tools native is of no use\n";
    ended.check(&ended.stdout, error, 1);
}
