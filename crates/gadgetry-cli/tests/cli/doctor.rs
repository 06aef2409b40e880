//! `gadgetry doctor`: what it finds, and what it says of models.

use serde_json::{Value, json};

use super::eval::{json_only, native_only, perfect};
use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop};

/// No server is found on this machine, whatever runs there.
pub(crate) const NO_SERVERS: [(&str, &str); 9] = [
    ("OLLAMA_BASE_URL", NOWHERE),
    ("LMSTUDIO_BASE_URL", NOWHERE),
    ("LLAMACPP_BASE_URL", NOWHERE),
    ("VLLM_BASE_URL", NOWHERE),
    ("SGLANG_BASE_URL", NOWHERE),
    ("TGI_BASE_URL", NOWHERE),
    ("JAN_BASE_URL", NOWHERE),
    ("LLAMAFILE_BASE_URL", NOWHERE),
    ("LITELLM_BASE_URL", NOWHERE),
];
const NOWHERE: &str = "http://127.0.0.1:9/v1";

/// Without any server on this machine but those in `env`.
fn doctor(args: &[&str], env: &[(&str, &str)]) -> Ended {
    let workshop = Workshop::new("");
    let mut command = workshop.command(&[&["doctor"], args].concat());
    command.envs(NO_SERVERS);
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
    assert!(nothing.stdout.ends_with("Servers\n  none found\n"));
    let error = "error: no key is set, and no server was found: set one of the variables above, or start a server\n";
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
    let server = Server::start([Reply::By(perfect)]);
    let args = ["vllm:small", "--base-url", server.url(), "--json"];
    let ended = doctor(&args, &[("GROQ_API_KEY", "gsk-nobody-may-see-this")]);
    ended.check(&ended.stdout, "", 0);
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(ended.stdout.lines().count(), 1);
    let groq =
        json!({ "provider": "groq", "variables": ["GROQ_API_KEY"], "foundIn": "GROQ_API_KEY" });
    assert!(report["keys"].as_array().expect("keys").contains(&groq));
    assert_eq!(report["servers"], json!([]));
    let probe = &report["probe"];
    assert_eq!(probe["model"], "vllm:small");
    assert_eq!(probe["followsFormat"], true);
    let options = "--form block --examples 0 --constrain off --markers random --tools text";
    assert_eq!(probe["recommended"], options);
    let arms = probe["arms"].as_array().expect("arms");
    let [arm] = arms.as_slice() else {
        panic!("{arms:?}")
    };
    let mut numbers = arm["numbers"].clone();
    assert!(numbers["seconds"].take().is_f64());
    let expected = json!({
        "cases": 6, "needCall": 5, "called": 5, "valid": 5, "tool": 5, "right": 6, "rightWithout": 1, "failed": 0, "inputTokens": 1200.0,
        "outputTokens": 34.0, "seconds": null,
    });
    assert_eq!(numbers, expected);
    // Bounded, and the same each time.
    let requests = server.asked();
    assert_eq!(requests.len(), 6);
    for request in requests {
        let body = &request.body;
        assert_eq!(
            (&body["temperature"], &body["max_tokens"]),
            (&json!(0.0), &json!(512))
        );
    }
}

/// What is said of a model: the forms that were tried, a part of the report, and the error.
#[track_caller]
fn check(reply: Reply, args: &[&str], forms: &[&str], part: &str, stderr: &str) {
    let server = Server::start([reply]);
    let ended = doctor(
        &[&["vllm:small", "--base-url", server.url()], args].concat(),
        &[],
    );
    let table = ended.stdout.split("\nFORM ").nth(1).unwrap_or_default();
    let rows = table.lines().skip(1).take_while(|line| !line.is_empty());
    let tried: Vec<&str> = rows.filter_map(|row| row.split(' ').next()).collect();
    assert_eq!(tried, forms, "{ended:?}");
    assert!(ended.stdout.contains(part), "{ended:?}");
    let code = i32::from(!stderr.is_empty());
    let stderr = if stderr.is_empty() {
        String::new()
    } else {
        format!("error: {stderr}\n")
    };
    ended.check(&ended.stdout, &stderr, code);
}

#[test]
fn the_form_that_a_model_is_good_at() {
    let says = Reply::says;
    check(
        Reply::By(perfect),
        &[],
        &["text"],
        "the default settings are good for it\n",
        "",
    );
    check(
        Reply::By(json_only),
        &[],
        &["text", "text+examples", "json+examples"],
        "use it with --form json --examples 2 --constrain off --tools text, or measure more and keep the best: \
         gadgetry eval vllm:small --save\n",
        "",
    );
    check(
        Reply::By(native_only),
        &[],
        &["text", "text+examples", "json+examples", "native"],
        "use it with --tools native, or",
        "",
    );
    check(
        Reply::By(native_only),
        &["--tools", "native"],
        &["native"],
        "use it with --tools native, or",
        "",
    );
    let none = "vllm:small made no right call, in whatever form";
    let text = ["text", "text+examples", "json+examples"];
    check(
        says("42 Ada\nis it."),
        &["--tools", "text"],
        &text,
        "it wrote:\n  | 42 Ada\n  | is it.\n",
        none,
    );
    check(
        Reply::Ends("Let me", "length"),
        &["--tools", "text"],
        &text,
        "",
        none,
    );
    check(says(""), &["--tools", "text"], &text, "", none);
    // Markers that are not those of this run are no call: nothing that others wrote beforehand is executed.
    check(
        says("!!!GADGET_START:set_timer\n!!!ARG:minutes\n12\n!!!GADGET_END\n"),
        &["--tools", "text"],
        &text,
        "  | !!!GADGET_START:set_timer\n",
        none,
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
        Servers on this machine need no key, if one runs: ollama, lmstudio, llamacpp, vllm, sglang, tgi, jan, llamafile, litellm\n";
    missing.check("", error, 2);
}

/// What llama.cpp says about itself.
pub(super) fn llama_cpp(has_tools: bool) -> [Reply; 2] {
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
                "chat_template_caps": { "supports_tools": has_tools },
            }),
        ),
    ]
}

#[test]
fn what_servers_say_about_themselves() {
    let server = Server::start(llama_cpp(false));
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

    // Its template has no tools, so that native calls are not tried; grammars are.
    let replies = llama_cpp(false).into_iter().chain([Reply::says("42.")]);
    let server = Server::start(replies);
    let ended = doctor(&["small", "--base-url", server.url()], &[]);
    let part = "\nServer of the model\n  llama.cpp b11549, takes grammars\n  small: 8,192 tokens\n\nsmall  llama.cpp";
    assert!(ended.stdout.contains(part), "{ended:?}");
    let part = "\nnative is left out: the model's chat template has no tools\n";
    assert!(ended.stdout.contains(part), "{ended:?}");
    assert!(
        ended.stdout.contains("\nconstrained-json    0/5 "),
        "{ended:?}"
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
}
