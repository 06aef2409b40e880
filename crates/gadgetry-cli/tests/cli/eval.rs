//! `gadgetry eval`: a server that answers by the form of calls that a prompt demands.

use std::process::Command;
use std::sync::LazyLock;

use gadgetry::proto::block::{Anchoring, Markers, Writer};
use gadgetry::proto::prompt::json_call;
use serde_json::{Map, Value, json};

use super::agent_models::nonce;
use super::config::Configured;
use super::doctor::llama_cpp;
use super::server::{Reply, Server};
use super::workshop::Ended;

static CASES: LazyLock<Value> = LazyLock::new(|| {
    let cases = include_str!("../../src/commands/eval/cases.json");
    serde_json::from_str(cases).expect("JSON")
});

/// The forms of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Block,
    BlockExamples,
    Json,
    Native,
}

pub(crate) fn form(request: &Value) -> Form {
    let messages = request["messages"].as_array().expect("messages");
    let text = messages[0]["content"].as_str().unwrap_or_default();
    if request["tools"].is_array() {
        Form::Native
    } else if text.contains("<tool_call>") {
        Form::Json
    } else if messages.len() > 2 {
        Form::BlockExamples
    } else {
        Form::Block
    }
}

/// The first of the values that are right.
fn first(option: &Value) -> Value {
    match option {
        Value::Object(fields) => {
            let fields = fields.iter().filter_map(|(name, options)| {
                let first_one = options.get(0).filter(|it| !it.is_null())?;
                Some((name.clone(), first(first_one)))
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(first).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => option.clone(),
    }
}

/// The calls that are right for the question of a request.
fn solution(request: &Value) -> Vec<(String, Value)> {
    let messages = request["messages"].as_array().expect("messages");
    let last = messages.last().expect("a message")["content"].as_str();
    let asked = last.expect("a text");
    let mut cases = CASES["cases"].as_array().expect("cases").iter();
    let case = cases.find(|it| asked.ends_with(it["ask"].as_str().expect("a question")));
    let right = case.expect("one of our cases")["right"].as_array().cloned();
    let calls = right.unwrap_or_default();
    let calls = calls.iter().flat_map(|it| it.as_object().expect("a call"));
    let calls = calls.map(|(name, values)| (name.clone(), first_values(values)));
    calls.collect()
}

fn first_values(values: &Value) -> Value {
    first(values)
}

/// Always right.
pub(crate) fn perfect(request: &Value) -> Reply {
    let calls = solution(request);
    if calls.is_empty() {
        return Reply::says("I answer without tools.");
    }
    match form(request) {
        Form::Native => {
            let calls = calls.into_iter();
            Reply::ManyCalls(calls.map(|(name, it)| (name, it.to_string())).collect())
        }
        Form::Json => {
            let calls = calls.iter().map(|(name, it)| json_call(name, it));
            Reply::Says(vec![calls.collect::<Vec<_>>().join("\n")])
        }
        Form::Block | Form::BlockExamples => {
            let system = request["messages"][0]["content"].as_str();
            let nonce = nonce(system.expect("a text"));
            let markers = Markers::new(
                format!("!!!GADGET_START{nonce}:"),
                format!("!!!GADGET_END{nonce}"),
                format!("!!!ARG{nonce}:"),
            );
            let markers = markers.expect("markers");
            let writer = Writer {
                markers: &markers,
                anchoring: Anchoring::LineStart,
            };
            let mut text = String::new();
            for (name, parameters) in &calls {
                let written = writer.write(&mut text, name, None, &[""; 0], parameters, None);
                written.expect("a block");
            }
            Reply::Says(vec![text])
        }
    }
}

fn wordy(_: &Value) -> Reply {
    Reply::says("Let me think.")
}

/// Right in JSON only.
pub(crate) fn json_only(request: &Value) -> Reply {
    if form(request) == Form::Json {
        return perfect(request);
    }
    wordy(request)
}

/// Right as native tools only.
pub(crate) fn native_only(request: &Value) -> Reply {
    if form(request) == Form::Native {
        return perfect(request);
    }
    wordy(request)
}

/// Right where the reply is constrained, and otherwise cut off within each call, which is then none.
fn constrained_only(request: &Value) -> Reply {
    if request["grammar"].is_string() {
        return perfect(request);
    }
    Reply::Ends("<tool_call>\n{\"name\": \"set_ti", "length")
}

/// Calls tools whatever is asked, and never one that there is.
fn eager(request: &Value) -> Reply {
    if form(request) == Form::Native {
        return Reply::ManyCalls(vec![("fly".to_owned(), "{}".to_owned())]);
    }
    Reply::Says(vec![json_call("fly", &json!({}))])
}

fn command(configured: &Configured, server: &Server, args: &[&str]) -> Command {
    let usual = ["eval", "small", "--base-url", server.url()];
    configured.command(&[&usual, args].concat())
}

fn eval(server: &Server, args: &[&str]) -> (Value, Ended) {
    let configured = Configured::new("");
    let ended = Ended::of(&mut command(
        &configured,
        server,
        &[args, &["--json"]].concat(),
    ));
    let document = serde_json::from_str(&ended.stdout).unwrap_or_default();
    (document, ended)
}

/// The arms as `name: called/valid/tool of needed, right of all`, and the best one.
#[track_caller]
fn check(model: fn(&Value) -> Reply, args: &[&str], arms: &[&str], best: Option<&str>) {
    let server = Server::start(llama_cpp(true).into_iter().chain([Reply::By(model)]));
    let (document, ended) = eval(&server, args);
    let measured = document["models"][0]["arms"].as_array();
    let measured = measured.unwrap_or_else(|| panic!("{ended:?}"));
    let found = measured.iter().map(|arm| {
        let it = &arm["numbers"];
        format!(
            "{}: {}/{}/{} of {}, {} of {}",
            arm["arm"].as_str().expect("a name"),
            it["called"],
            it["valid"],
            it["tool"],
            it["needCall"],
            it["right"],
            it["cases"]
        )
    });
    assert_eq!(found.collect::<Vec<_>>(), arms, "{ended:?}");
    assert_eq!(document["models"][0]["best"]["arm"].as_str(), best);
    assert_eq!(ended.code, Some(i32::from(best.is_none())), "{ended:?}");
}

#[test]
fn models_that_are_good_at_one_form() {
    let six = ["--cases", "6"];
    check(
        perfect,
        &six,
        &[
            "text: 5/5/5 of 5, 6 of 6",
            "text+examples: 5/5/5 of 5, 6 of 6",
            "json+examples: 5/5/5 of 5, 6 of 6",
            "constrained: 5/5/5 of 5, 6 of 6",
            "constrained-json: 5/5/5 of 5, 6 of 6",
            "native: 5/5/5 of 5, 6 of 6",
        ],
        // It has the fewest tokens.
        Some("native"),
    );
    check(
        json_only,
        &six,
        &[
            "text: 0/0/0 of 5, 1 of 6",
            "text+examples: 0/0/0 of 5, 1 of 6",
            "json+examples: 5/5/5 of 5, 6 of 6",
            "constrained: 0/0/0 of 5, 1 of 6",
            "constrained-json: 5/5/5 of 5, 6 of 6",
            "native: 0/0/0 of 5, 1 of 6",
        ],
        Some("json+examples"),
    );
    check(
        constrained_only,
        &[&six[..], &["--form", "json+examples,constrained-json"]].concat(),
        &[
            "json+examples: 0/0/0 of 5, 1 of 6",
            "constrained-json: 5/5/5 of 5, 6 of 6",
        ],
        Some("constrained-json"),
    );
    let forms = [
        "--class",
        "no-call,one",
        "--cases",
        "2",
        "--form",
        "json+examples,native",
    ];
    check(
        eager,
        &forms,
        &[
            "json+examples: 1/0/0 of 1, 0 of 2",
            "native: 1/0/0 of 1, 0 of 2",
        ],
        None,
    );
}

/// Each case has a solution in each form: what is right is read as right.
#[test]
fn all_cases_can_be_solved() {
    check(
        perfect,
        &["--parallel", "1"],
        &[
            "text: 52/52/52 of 52, 64 of 64",
            "text+examples: 52/52/52 of 52, 64 of 64",
            "json+examples: 52/52/52 of 52, 64 of 64",
            "constrained: 52/52/52 of 52, 64 of 64",
            "constrained-json: 52/52/52 of 52, 64 of 64",
            "native: 52/52/52 of 52, 64 of 64",
        ],
        Some("native"),
    );
}

/// What is sent is bounded and repeatable, and only constrained arms have a grammar.
#[test]
fn requests() {
    let server = Server::start(llama_cpp(true).into_iter().chain([Reply::By(perfect)]));
    eval(&server, &["--cases", "1"]);
    let asked = server.asked();
    let requests = asked.iter().filter(|it| it.line.starts_with("POST"));
    let found: Vec<Value> = requests
        .map(|it| {
            let body = &it.body;
            json!([
                body["temperature"],
                body["max_tokens"],
                body["grammar"].is_string(),
                body["tools"].is_array()
            ])
        })
        .collect();
    let request = |grammar, tools| json!([0.0, 512, grammar, tools]);
    let expected = [
        request(false, false),
        request(false, false),
        request(false, false),
        request(true, false),
        request(true, false),
        request(false, true),
    ];
    assert_eq!(found, expected);
}

/// A model without a chat template is measured as it is used: through completions, with a grammar that it can end.
#[test]
fn a_base_model() {
    let get = |path, body: &str| Reply::Gets(path, "200 OK", body.to_owned());
    let props =
        r#"{"default_generation_settings":{"n_ctx":4096},"chat_template":"","build_info":"b1"}"#;
    let server = Server::start([
        get("/v1/models", r#"{"data":[{"id":"small"}]}"#),
        get("/props", props),
        Reply::By(wordy),
    ]);
    let (document, ended) = eval(&server, &["--cases", "1"]);
    let left_out = document["models"][0]["leftOut"].to_string();
    assert!(left_out.contains("no chat template"), "{ended:?}");
    let asked = server.asked();
    let requests: Vec<_> = asked
        .iter()
        .filter(|it| it.line.starts_with("POST"))
        .collect();
    assert_eq!(requests.len(), 5, "{ended:?}");
    for (at, request) in requests.iter().enumerate() {
        assert_eq!(request.line, "POST /v1/completions");
        let prompt = request.body["prompt"].as_str().expect("text");
        assert!(prompt.ends_with("\n\n### Assistant\n"), "{prompt}");
        let grammar = request.body["grammar"].as_str();
        let ends = grammar.is_some_and(|it| it.starts_with("root ::= reply ("));
        assert_eq!(ends, at >= 3, "{grammar:?}");
    }
}

#[test]
fn the_best_settings_are_saved() {
    let server = Server::start(llama_cpp(true).into_iter().chain([Reply::By(json_only)]));
    let configured = Configured::new("# Mine.\nquiet = true\n");
    let args = ["--cases", "6", "--save"];
    let ended = Ended::of(&mut command(&configured, &server, &args));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.contains("saved [models.\"small\"] in "),
        "{ended:?}"
    );
    let best = "\nbest: json+examples (--form json --examples 2 --constrain off --tools text)\n";
    assert!(ended.stdout.ends_with(best), "{ended:?}");
    let table =
        "[models.small]\nform = \"json\"\nexamples = 2\nconstrain = \"off\"\ntools = \"text\"\n";
    let file = configured.0.read("home/gadgetry/config.toml");
    assert_eq!(file, format!("# Mine.\nquiet = true\n\n{table}"));
    let shown = configured.ended(&["config"]);
    let line = "\n[models]\nsmall {\"form\":\"json\",\"examples\":2,\"constrain\":\"off\",\"tools\":\"text\"}";
    assert!(shown.stdout.contains(line), "{shown:?}");
    // The next time it is shown next to what is measured, with a prefix, too.
    let again = [
        "eval",
        "llamacpp:small",
        "--base-url",
        server.url(),
        "--cases",
        "1",
    ];
    let again = configured.ended(&again);
    let line = "\nconfigured: --form json --examples 2 --constrain off --tools text\n";
    assert!(again.stdout.contains(line), "{again:?}");
}

#[test]
fn tables_that_are_wrong() {
    let check = |text: &str, error: &str| {
        let configured = Configured::new(text);
        let ended = configured.ended(&["config"]);
        assert!(ended.stderr.contains(error), "{ended:?}");
        assert_eq!(ended.code, Some(2), "{ended:?}");
    };
    check(
        "[models.\"ollama:x\"]\nform = \"xml\"\n",
        "config.toml:2:8: unknown form of calls \"xml\"",
    );
    check(
        "[models.x]\nexample = 2\n",
        "config.toml:2:1: unknown key example; did you mean examples?",
    );
    check("models = 2\n", "config.toml:1:10: models is a number");
}

#[test]
fn invalid_arguments_are_refused() {
    let check = |args: &[&str], error: &str| {
        let configured = Configured::new("");
        let ended = configured.ended(&[&["eval"], args].concat());
        assert!(ended.stderr.contains(error), "{ended:?}");
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{ended:?}");
    };
    check(&[], "error: no model: name one");
    check(&["nothing-of-this-name"], "nothing-of-this-name");
    check(&["small", "--form", "xml"], "'xml'");
    check(&["script:none.jsonl"], "none.jsonl");
    let server = ["small", "--base-url", "http://127.0.0.1:9/v1"];
    check(&[&server[..], &["--cases", "0"]].concat(), "--cases");
    check(&[&server[..], &["--bfcl", "missing"]].concat(), "missing");
    let args = [&["--no-config", "eval"], &server[..], &["--save"]].concat();
    let ended = Configured::new("").ended(&args);
    let error = "error: --save needs a configuration file, and none is read\n";
    ended.check("", error, 2);
}

/// A model that is measured with the cases of the leaderboard.
#[test]
fn cases_of_the_leaderboard() {
    let function = json!({ "name": "a.go", "description": "Goes", "parameters": {
        "type": "dict", "properties": { "to": { "type": "string" } }, "required": ["to"] } });
    let question = json!({ "id": "simple_python_0", "function": [function],
        "question": [[{ "role": "user", "content": "Go to Rome." }]] });
    let answer =
        json!({ "id": "simple_python_0", "ground_truth": [{ "a.go": { "to": ["Rome"] } }] });
    let configured = Configured::new("");
    std::fs::create_dir_all(configured.0.path("bfcl/possible_answer")).expect("a folder");
    let name = "BFCL_v4_simple_python.json";
    configured
        .0
        .write(&format!("bfcl/{name}"), &question.to_string());
    configured
        .0
        .write(&format!("bfcl/possible_answer/{name}"), &answer.to_string());
    let go =
        |_: &Value| Reply::ManyCalls(vec![("a_go".to_owned(), r#"{"to":"rome."}"#.to_owned())]);
    let server = Server::start([Reply::By(go)]);
    let args = ["--bfcl", "bfcl", "--form", "native"];
    let ended = Ended::of(&mut command(&configured, &server, &args));
    let row = "\nnative    1/1    1/1   1/1    1/1  100   10 ";
    assert!(ended.stdout.contains(row), "{ended:?}");
}

/// A hostile server neither hangs nor breaks it, and commands no terminal.
#[test]
fn hostile_servers() {
    let check = |reply: Reply, args: &[&str], error: &str| {
        let server = Server::start([reply]);
        let args = [&["--cases", "4", "--form", "json+examples"], args].concat();
        let configured = Configured::new("");
        let ended = Ended::of(&mut command(&configured, &server, &args));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stdout.contains(error), "{ended:?}");
        assert!(!ended.stdout.contains('\u{1b}'), "{ended:?}");
        assert!(!ended.stderr.contains('\u{1b}'), "{ended:?}");
    };
    let text = |text: &str| json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let frame = |text_of: &str| format!("data: {}\n\n", text(text_of));
    let words: Vec<String> = (0..60_000).map(|at| format!("word{at}")).collect();
    check(
        Reply::Stream(frame(&words.join(" "))),
        &[],
        "json+examples was given up: the reply is longer than 262144 bytes\n",
    );
    check(
        Reply::Hangs,
        &["--patience", "50ms"],
        "json+examples was given up: no whole reply within 50ms\n",
    );
    check(
        Reply::Stream("data: {{{\n\n".to_owned()),
        &[],
        "json+examples was given up: ",
    );
    check(
        Reply::Status("500 No", r#"{"error":{"message":"a\u001b[2Jb\u202e"}}"#),
        &[],
        "json+examples was given up: ",
    );
    // Names of tools that do not exist, and numbers that nobody can have.
    let call = json_call("\u{1b}[2J", &Value::Object(Map::new()));
    check(Reply::says(&call), &[], "no form gave a right call\n");
    let nested = "[".repeat(100_000);
    let call =
        format!("<tool_call>\n{{\"name\": \"set_timer\", \"arguments\": {{\"minutes\": {nested}");
    check(Reply::Says(vec![call]), &[], "no form gave a right call\n");
}

/// An interrupt leaves what was measured.
#[cfg(unix)]
#[test]
fn an_interrupt_prints_what_there_is() {
    let hangs_at_last = |request: &Value| {
        if form(request) == Form::Json {
            return Reply::Hangs;
        }
        perfect(request)
    };
    let server = Server::start([Reply::By(hangs_at_last)]);
    let configured = Configured::new("");
    let args = ["--cases", "2", "--form", "text,json+examples"];
    let child = command(&configured, &server, &args)
        .spawn()
        .expect("it starts");
    server.wait_for(|asked| {
        let requests = asked.iter().filter(|it| it.line.starts_with("POST"));
        requests.count() > 2
    });
    let sent = Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill").success());
    let ended = Ended::wait(child);
    assert!(
        ended
            .stdout
            .contains("\ntext             2/2    2/2   2/2    2/2"),
        "{ended:?}"
    );
    assert_eq!(
        ended.stderr,
        "error: stopped before everything was measured\n"
    );
    assert_eq!(ended.code, Some(1));
}

/// What the table says is used by an agent with that model: two worked turns are two calls and an answer. What is typed or set for the agent wins.
#[test]
fn tables_are_used_by_agents() {
    let check = |table: &str, args: &[&str], said: usize, is_json: bool| {
        let server = Server::start([Reply::says("Done.")]);
        let text = format!("[models.small]\n{table}\n[agent]\nbuiltins = \"all\"\n");
        let configured = Configured::new(&text);
        let usual = ["agent", "Hi", "--model", "llamacpp:small", "--base-url"];
        let args = [&usual, [server.url()].as_slice(), args].concat();
        let ended = configured.ended(&args);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let asked = server.asked();
        let messages = &asked.last().expect("a request").body["messages"];
        let messages = messages.as_array().expect("messages");
        let assistants = messages.iter().filter(|it| it["role"] == "assistant");
        assert_eq!(assistants.count(), said, "{messages:?}");
        let system = messages[0]["content"].to_string();
        assert_eq!(system.contains("<tool_call>"), is_json, "{system}");
    };
    check("", &[], 0, false);
    check("form = \"json\"\nexamples = 2", &[], 3, true);
    check(
        "form = \"json\"\nexamples = 2",
        &["--examples", "1", "--form", "block"],
        1,
        false,
    );
}
