//! `gadgetry agent` with a model behind a server on loopback.

use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop, block, events};

/// With markers that the replies can be written with.
fn run(workshop: &Workshop, server: &Server, args: &[&str]) -> Ended {
    run_with_markers(workshop, server, &[&["--markers", "plain"], args].concat())
}

fn run_with_markers(workshop: &Workshop, server: &Server, args: &[&str]) -> Ended {
    let usual = ["agent", "Go!", "--gadgets", "gadgets.toml", "--base-url"];
    let args = [&usual, [server.url()].as_slice(), args].concat();
    Ended::of(
        workshop
            .command(&args)
            .env("OPENAI_API_KEY", "sk-secret-key-1"),
    )
}

const MODEL: [&str; 2] = ["--model", "openai:gpt-4o"];

fn with(args: &[&'static str]) -> Vec<&'static str> {
    [&MODEL, args].concat()
}

fn busy() -> Reply {
    Reply::Status("503 Service Unavailable\r\nretry-after: 0", "{}")
}

fn text(messages: &Value, at: usize) -> &str {
    text_of(&messages[at])
}

#[test]
fn gadgets_are_called_and_their_results_go_back() {
    let call = format!("I'll ask.\n{}", block("Echo:a", "hello"));
    let server = Server::start([Reply::says(&call), Reply::says("It said hello.")]);
    let workshop = Workshop::new("");
    let ended = run(&workshop, &server, &with(&["--system", "Be kind."]));
    assert_eq!(ended.stdout, "It said hello.\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("  > Echo a {\"say\":\"hello\"}\n"));
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    let first = &asked[0].body["messages"];
    assert!(text(first, 0).starts_with("Be kind."));
    assert!(text(first, 0).contains("!!!GADGET_START:"));
    assert_eq!(text(first, 1), "Go!");
    let second = &asked[1].body["messages"];
    assert_eq!(text(second, 2), call);
    assert!(text(second, 3).contains(r#"{"say":"hello"}"#));
}

/// The nonce in the markers that a system message speaks of, or nothing.
pub(crate) fn nonce(system: &str) -> String {
    let behind = system.split("!!!GADGET_START").nth(1).expect("a marker");
    behind.chars().take_while(|c| *c != ':').collect()
}

/// Whether a call of `Touch` in the first reply runs. Gives the system message, and the last message of the second request.
#[track_caller]
fn check_markers(args: &[&str], call: fn(&str) -> String, runs: bool) -> (String, String) {
    let workshop = Workshop::new("");
    let server = Server::start([Reply::Answers(call), Reply::says("Done.")]);
    let args = [&MODEL, args, &["--save", "run.log", "--events", "jsonl"]].concat();
    let ended = run_with_markers(&workshop, &server, &args);
    ended.check(&ended.stdout, "", 0);
    assert_eq!(workshop.has("trace"), runs, "{args:?}");
    let again = Ended::of(&mut workshop.command(&["replay", "run.log"]));
    again.check(&ended.stdout, "", 0);
    let asked = server.asked();
    let [first, second] = asked.as_slice() else {
        panic!("two requests: {asked:?}")
    };
    let last = second.body["messages"].as_array().expect("messages").last();
    let result = text_of(last.expect("a message")).to_owned();
    (text(&first.body["messages"], 0).to_owned(), result)
}

#[test]
fn markers_cannot_be_known_before_the_run() {
    let plain = |_: &str| block("Touch:a", "");
    let named = |system: &str| {
        let nonce = nonce(system);
        format!("!!!GADGET_START{nonce}:Touch:a\n!!!GADGET_END{nonce}\n")
    };
    let own = |_: &str| "<<<Touch:a\n!!!GADGET_END\n".to_owned();
    let (first, note) = check_markers(&[], plain, false);
    assert!(
        note.contains("!!!GADGET_START is not a marker and was not executed"),
        "{note}"
    );
    let (second, result) = check_markers(&["--markers", "random"], named, true);
    assert_eq!(result, "Result (a): ");
    for system in [&first, &second] {
        assert_eq!(nonce(system).split(' ').count(), 3, "two words");
    }
    assert_ne!(nonce(&first), nonce(&second));
    check_markers(&["--markers", "plain"], plain, true);
    check_markers(&["--start", "<<<"], own, true);
    let quoted = |_: &str| format!("> {}", block("Touch:a", ""));
    check_markers(&["--markers", "plain"], quoted, true);
    check_markers(&["--markers", "plain", "--line-start"], quoted, false);
}

#[test]
fn another_interface_is_the_same_run() {
    let call = "!!!GADGET_START:Echo:a\n!!!ARG:say\nhello\n!!!GADGET_END\n";
    let server = Server::start([Reply::Messages(call), Reply::Messages("It said hello.")]);
    let workshop = Workshop::new("");
    let args = [
        "agent",
        "Go!",
        "--gadgets",
        "gadgets.toml",
        "--model",
        "haiku",
        "--system",
        "Be kind.",
        "--markers",
        "plain",
        "--quiet",
    ];
    let mut command = workshop.command(&args);
    command
        .env("ANTHROPIC_API_KEY", "sk-ant-secret-key-1")
        .env("ANTHROPIC_BASE_URL", server.url());
    Ended::of(&mut command).check("It said hello.\n", "", 0);
    let asked = server.asked();
    assert_eq!(asked[1].line, "POST /v1/messages");
    assert!(asked[1].headers.contains("x-api-key: sk-ant-secret-key-1"));
    let system = asked[0].body["system"].to_string();
    assert!(system.contains("Be kind.") && system.contains("!!!GADGET_START:"));
    let results = asked[1].body["messages"][2].to_string();
    assert!(results.contains("hello"), "{results}");
}

#[test]
fn events_and_the_log_tell_costs_and_no_key() {
    let server = Server::start([
        busy(),
        Reply::says(&block("Echo:a", "x")),
        Reply::says("Done."),
    ]);
    let workshop = Workshop::new("");
    let args = with(&["--events", "jsonl", "--save", "run.log"]);
    let ended = run(&workshop, &server, &args);
    ended.check(&ended.stdout, "", 0);
    let told = events(&ended.stdout);
    let kinds: Vec<&str> = told
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert_eq!(
        kinds[..4],
        [
            "run_start",
            "model_call_start",
            "model_call_end",
            "model_retry"
        ]
    );
    let last = told.last().expect("events");
    assert_eq!(last["reason"], "completed");
    // 1,200 tokens in at $2.50, 34 out at $10, twice.
    assert_eq!(last["totalCost"], 0.00668);
    let again = Ended::of(&mut workshop.command(&["replay", "run.log"]));
    again.check(&ended.stdout, "", 0);
    for kept in [&workshop.read("run.log"), &ended.stdout] {
        assert!(!kept.contains("sk-secret"), "{kept}");
    }
}

/// What a provider reports counts where no price is known; without either, the cost is not 0 but unknown.
#[test]
fn costs_without_a_price() {
    let usage = r#""usage":{"prompt_tokens":9,"completion_tokens":1,"cost":0.0123}"#;
    let body: &'static str = format!(
        r#"{{"choices":[{{"message":{{"content":"Hi."}},"finish_reason":"stop"}}],{usage}}}"#
    )
    .leak();
    let workshop = Workshop::new("");
    let totals = |model: &str, budget: &[&str], reply: Reply| {
        let server = Server::start([reply]);
        let args = [
            "agent",
            "Go!",
            "--gadgets",
            "gadgets.toml",
            "--events",
            "jsonl",
        ];
        let place = ["--model", model, "--base-url", server.url()];
        let ended = Ended::of(&mut workshop.command(&[&args[..], &place, budget].concat()));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let events = events(&ended.stdout);
        let cost = events
            .iter()
            .find(|event| event["type"] == "model_call_end")
            .expect("a call")["cost"]
            .clone();
        (cost, events.last().expect("events")["totalCost"].clone())
    };
    let told = totals(
        "openrouter:a/b",
        &["--budget", "1"],
        Reply::Status("200 OK", body),
    );
    assert_eq!(told, (json!(0.0123), json!(0.0123)));
    let unknown = totals("openai:no-such-model", &[], Reply::says("Hi."));
    assert_eq!(unknown, (Value::Null, Value::Null));
    // A server on this machine is free, whatever its models are called.
    let local = totals("vllm:gpt-4o", &["--budget", "1"], Reply::says("Hi."));
    assert_eq!(local, (json!(0.0), json!(0.0)));
}

/// The events of a run but for its texts, pieces and counts.
fn told(server: &Server, args: &[&'static str]) -> Vec<Value> {
    let workshop = Workshop::new("");
    let args = [&["--events", "jsonl", "--save", "run.log"], args].concat();
    let ended = run(&workshop, server, &with(&args));
    ended.check(&ended.stdout, "", 0);
    let again = Ended::of(&mut workshop.command(&["replay", "run.log"]));
    again.check(&ended.stdout, "", 0);
    let mut told = events(&ended.stdout);
    told.retain(|event| event["type"] != "gadget_args_partial");
    for event in &mut told {
        let fields = event.as_object_mut().expect("an object");
        let own = [
            "v",
            "seq",
            "timeMs",
            "startMs",
            "run",
            "id",
            "durationMs",
            "usage",
            "cost",
            "totalCost",
            "parametersRaw",
            "stopReason",
            "span",
        ];
        fields.retain(|field, _| !own.contains(&field.as_str()));
    }
    told
}

#[test]
fn tools_of_the_provider_are_the_same_run() {
    let last = Reply::says("Done.");
    let block = "!!!GADGET_START:Echo:call_1\n!!!ARG:say\nhello\n!!!GADGET_END\n";
    let text = Server::start([Reply::Says(vec![block.to_owned()]), last.clone()]);
    let call = Reply::Calls("call_1", "Echo", r#"{"say":"hello"}"#);
    let native = Server::start([call, last]);
    let expected = told(&text, &[]);
    let events = told(&native, &["--tools", "native"]);
    assert_eq!(events, expected);
    let asked = native.asked();
    assert_eq!(asked[0].body["tools"][0]["function"]["name"], "Echo");
    assert!(!asked[0].body.to_string().contains("GADGET_START"));
    // After the system prompt, which says where it is.
    let messages = &asked[1].body["messages"];
    assert_eq!(messages[2]["tool_calls"][0]["id"], "call_1");
    assert_eq!(messages[3]["role"], "tool");
    assert_eq!(messages[3]["tool_call_id"], "call_1");
    assert!(text_of(&messages[3]).contains(r#"{"say":"hello"}"#));
    assert_eq!(text.asked()[0].body.get("tools"), None);
    let script = ["--model", "script:script.jsonl", "--tools", "native"];
    let error = "error: script:script.jsonl does not support native tool calls; omit --tools\n";
    run(&Workshop::new(""), &native, &script).check("", error, 2);
}

/// Servers make calls of what a model writes in its own way, whether they were given tools or not.
#[test]
fn native_calls_in_text_mode_are_executed() {
    let call = Reply::Calls("call_1", "Echo", r#"{"say":"hello"}"#);
    let server = Server::start([call, Reply::says("It said hello.")]);
    let ended = run(&Workshop::new(""), &server, &MODEL);
    assert_eq!(ended.stdout, "It said hello.\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let asked = server.asked();
    let messages = &asked[1].body["messages"];
    let block = "!!!GADGET_START:Echo:call_1\n!!!ARG:say\nhello\n!!!GADGET_END\n";
    assert_eq!(text(messages, 2), block);
    assert!(text(messages, 3).contains(r#"{"say":"hello"}"#));
    assert_eq!(asked[0].body.get("tools"), None);
    // An unknown one is answered.
    let call = Reply::Calls("call_1", "Nope", "{}");
    let server = Server::start([call, Reply::says("Sorry.")]);
    run(&Workshop::new(""), &server, &with(&["--quiet"])).check("Sorry.\n", "", 0);
    let asked = server.asked();
    assert!(text(&asked[1].body["messages"], 3).contains("Gadget 'Nope' not found"));
}

#[test]
fn an_announced_call_that_never_comes_is_no_answer() {
    for form in ["text", "native"] {
        let server = Server::start([Reply::Ends("I call it.", "tool_calls")]);
        let ended = run(
            &Workshop::new(""),
            &server,
            &with(&["--tools", form, "--quiet"]),
        );
        let error = "error: model call failed: The reply announced a call, but contained none\n";
        ended.check(&ended.stdout, error, 1);
        assert_eq!(server.asked().len(), 2, "{form}");
    }
}

/// Whether a block in this reply runs, and what the answer is.
#[track_caller]
fn check_block(args: &[&'static str], reply: &str, runs: bool, answer: &str) {
    let workshop = Workshop::new("");
    let server = Server::start([Reply::says(reply), Reply::says("Done.")]);
    let ended = run(&workshop, &server, &with(args));
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        (answer, Some(0)),
        "{args:?} {ended:?}"
    );
    assert_eq!(workshop.has("trace"), runs, "{args:?}");
}

#[test]
fn where_blocks_are_calls() {
    let block = "!!!GADGET_START:Touch:t\n!!!GADGET_END\n";
    let thought = format!("<think>{block}</think>\n\nNo need.");
    let swallowed = format!("{block}</think>No need.");
    check_block(&[], block, true, "Done.\n");
    check_block(&["--tools", "native"], block, false, block);
    check_block(&["--tools", "both"], block, true, "Done.\n");
    check_block(&[], &thought, false, "No need.\n");
    check_block(&["--tools", "native"], &thought, false, "No need.\n");
    check_block(&["--reasoning-tags", "off"], &thought, true, "Done.\n");
    check_block(
        &["--reasoning-tags", "plan"],
        &thought.replace("think", "plan"),
        false,
        "No need.\n",
    );
    check_block(&["--reasoning-open"], &swallowed, false, "No need.\n");
}

/// The form of another dialect is no answer, and is executed where that is switched on.
#[test]
fn calls_in_other_dialects() {
    let reply = "I call it.\n<tool_call>\n{\"name\": \"Touch\", \"arguments\": {}}\n</tool_call>";
    check_block(&[], reply, false, "Done.\n");
    check_block(&["--tools", "native"], reply, false, "Done.\n");
    check_block(&["--dialects", "llama,xml"], reply, false, "Done.\n");
    check_block(&["--dialects", "llama,hermes"], reply, true, "Done.\n");
    check_block(
        &["--dialects", "all", "--tools", "native"],
        reply,
        true,
        "Done.\n",
    );
    let server = Server::start([Reply::says("Done.")]);
    let ended = run(&Workshop::new(""), &server, &with(&["--dialects", "gpt"]));
    assert_eq!((ended.code, server.asked().len()), (Some(2), 0));
    assert!(
        ended.stderr.contains("unknown dialect \"gpt\""),
        "{}",
        ended.stderr
    );
}

fn text_of(message: &Value) -> &str {
    message["content"].as_str().expect("text")
}

#[test]
fn failures_that_may_pass_are_tried_again_as_often_as_wanted() {
    let check = |args: &[&'static str], asked: usize, code: i32| {
        let server = Server::start([busy(), busy(), Reply::says("Done.")]);
        let ended = run(&Workshop::new(""), &server, &with(args));
        assert_eq!(
            (server.asked().len(), ended.code),
            (asked, Some(code)),
            "{ended:?}"
        );
    };
    check(&[], 3, 0);
    check(&["--max-retries", "2"], 3, 0);
    check(&["--max-retries", "1"], 2, 1);
    check(&["--max-retries", "0"], 1, 1);
}

/// Whatever is known of the model's context window.
#[test]
fn a_conversation_that_is_too_long_is_summarised() {
    const TOO_LONG: Reply = Reply::Status(
        "400 Bad Request",
        r#"{"error":{"message":"maximum context length exceeded","code":"context_length_exceeded"}}"#,
    );
    for model in ["openai:gpt-4o", "openai:unheard-of"] {
        let call = |n| Reply::says(&block(&format!("Echo:e{n}"), &"long ".repeat(500)));
        let rest = [TOO_LONG, Reply::says("Summed up."), Reply::says("Done.")];
        let server = Server::start((0..9).map(call).chain(rest));
        let args = ["--model", model, "--max-iterations", "20", "--quiet"];
        run(&Workshop::new(""), &server, &args).check("Done.\n", "", 0);
        let last = &server.asked()[11].body["messages"];
        assert!(last.to_string().contains("Summed up."), "{last}");
    }
}

/// What a reply without a clean end has not completed is not executed, and such a reply is no answer.
#[test]
fn only_a_clean_end_completes_a_block_or_an_answer() {
    let open = block("Echo:a", "hel");
    let open = open.trim_end().trim_end_matches("!!!GADGET_END");
    let open: &'static str = Box::leak(open.to_owned().into_boxed_str());
    for (reason, how) in [
        ("abort", "the reply ended with the reason \"abort\""),
        (
            "insufficient_system_resource",
            "the reply ended with the reason \"insufficient_system_resource\"",
        ),
        ("", "the reply ended without a stop reason"),
        ("length", "the reply was cut off by the token limit"),
    ] {
        let server = Server::start([Reply::Ends(open, reason), Reply::says("Done.")]);
        let ended = run(&Workshop::new(""), &server, &MODEL);
        assert_eq!(ended.stdout, "Done.\n", "{reason}: {ended:?}");
        let asked = server.asked();
        let messages = &asked[1].body["messages"];
        let answer = text(messages, 3);
        let words = format!("The call was not executed: {how} before the block was complete");
        assert!(answer.contains(&words), "{reason}: {answer}");
    }
    for (reason, words) in [
        (
            "length",
            "the last reply was cut off at the model's token limit",
        ),
        ("content_filter", "the provider withheld the last reply"),
        (
            "weird",
            "model call failed: the reply ended with the reason \"weird\" and may be incomplete",
        ),
        (
            "",
            "model call failed: the reply ended without a stop reason and may be incomplete",
        ),
    ] {
        let server = Server::start([Reply::Ends("Half an", reason)]);
        let ended = run(&Workshop::new(""), &server, &MODEL);
        assert_eq!(
            (ended.stdout.as_str(), ended.code),
            ("Half an\n", Some(1)),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(words), "{reason}: {ended:?}");
    }
    let refusal = r#"data: {"choices":[{"delta":{"refusal":"I cannot."},"finish_reason":"stop"}]}"#;
    let refused = Reply::Stream(format!("{refusal}\n\ndata: [DONE]\n\n"));
    let ended = run(&Workshop::new(""), &Server::start([refused]), &MODEL);
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("", Some(1)),
        "{ended:?}"
    );
    assert!(
        ended
            .stderr
            .ends_with("error: the provider refused: I cannot.\n"),
        "{ended:?}"
    );
}

#[test]
fn quiet_is_quiet() {
    let server = Server::start([Reply::says(&block("Echo:a", "x")), Reply::says("Done.")]);
    run(&Workshop::new(""), &server, &with(&["--quiet"])).check("Done.\n", "", 0);
}

#[test]
fn a_budget_ends_the_run() {
    let server = Server::start([Reply::says(&block("Echo:a", "x"))]);
    let ended = run(
        &Workshop::new(""),
        &server,
        &with(&["--budget", "0.005", "-q"]),
    );
    // The first call costs 0.00334, the second one reaches the budget.
    assert_eq!(server.asked().len(), 2);
    let error = "error: budget exceeded: 0.00668 US dollars spent\n";
    ended.check("", error, 1);
}

#[test]
fn a_budget_needs_a_price() {
    let server = Server::start([Reply::says("Done.")]);
    let workshop = Workshop::new("");
    let unpriced = ["--model", "openai:nobody-knows", "--budget", "1"];
    run(&workshop, &server, &unpriced).check(
        "",
        "error: --budget needs a model with a known price, and the price of openai:nobody-knows is unknown; \
         `gadgetry models` lists known prices\n",
        2,
    );
    let bad = "error: invalid value '0' for '--budget <USD>': expected an amount of US dollars above 0, such as 0.50\n";
    run(&workshop, &server, &with(&["--budget", "0"])).check("", bad, 2);
    assert!(server.asked().is_empty());
    // What runs on this machine costs nothing.
    let local = ["--model", "ollama:small", "--budget", "1", "-q"];
    run(&workshop, &server, &local).check("Done.\n", "", 0);
}

#[test]
fn a_server_that_is_not_there() {
    let workshop = Workshop::new("");
    let args = [
        "agent",
        "Go!",
        "--gadgets",
        "gadgets.toml",
        "--model",
        "ollama:small",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--max-retries",
        "0",
        "-q",
    ];
    let ended = Ended::of(&mut workshop.command(&args));
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(1)));
    assert!(
        ended.stderr.starts_with("error: model call failed: "),
        "{ended:?}"
    );
}
