//! `gadgetry complete` against a server on loopback: what is asked, what comes out, and how it fails.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::slice::from_ref;

use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop, reply};

const KEY: &str = "sk-1234567890abcdefghij";

/// A model on this server, and these arguments besides.
fn ask(workshop: &Workshop, server: &Server, args: &[&str]) -> Ended {
    Ended::of(
        workshop
            .command(&of(server, args))
            .env("OPENAI_API_KEY", KEY),
    )
}

fn of<'a>(server: &'a Server, args: &[&'a str]) -> Vec<&'a str> {
    let usual = ["complete", "--model", "openai:small", "--base-url"];
    [&usual, [server.url()].as_slice(), args].concat()
}

fn said(role: &str, content: impl Into<Value>) -> Value {
    json!({ "role": role, "content": content.into() })
}

#[test]
fn the_answer_goes_to_stdout() {
    let rows = [
        ("One two three.", "One two three.\n"),
        ("Two\nlines\n", "Two\nlines\n"),
        // Nothing is executed here.
        (
            "!!!GADGET_START:Touch\n!!!GADGET_END",
            "!!!GADGET_START:Touch\n!!!GADGET_END\n",
        ),
    ];
    for (text, stdout) in rows {
        let server = Server::start([Reply::says(text)]);
        let ended = ask(&Workshop::new(""), &server, &["Hi!"]);
        ended.check(stdout, "", 0);
        let asked = server.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].line, "POST /v1/chat/completions");
        assert!(asked[0].headers.contains(&format!("bearer {KEY}")));
        assert_eq!(asked[0].body["model"], "small");
        assert_eq!(asked[0].body["messages"], json!([said("user", "Hi!")]));
    }
}

#[test]
fn reasoning_in_tags_is_no_answer() {
    let rows: [(&[&str], &str, &str); 5] = [
        (&[], "<think>Hm.</think>\n\nYes.", "Yes.\n"),
        (&[], "It is `<think>`.", "It is `<think>`.\n"),
        (&[], "1 < 2 <thi", "1 < 2 <thi\n"),
        (
            &["--reasoning-tags", "off"],
            "<think>Hm.</think>Yes.",
            "<think>Hm.</think>Yes.\n",
        ),
        (&["--reasoning-open"], "Hm.</think> Yes.", "Yes.\n"),
    ];
    for (args, text, stdout) in rows {
        let server = Server::start([Reply::says(text)]);
        let args = [&["Hi!"], args].concat();
        ask(&Workshop::new(""), &server, &args).check(stdout, "", 0);
    }
    let server = Server::start([Reply::says("Yes.")]);
    let ended = ask(
        &Workshop::new(""),
        &server,
        &["Hi!", "--reasoning-tags", "a b"],
    );
    assert_eq!(
        (ended.code, server.asked().len()),
        (Some(2), 0),
        "{ended:?}"
    );
}

#[test]
fn options_reach_the_model() {
    let server = Server::start([Reply::says("Yes.")]);
    let args = [
        "Hi!",
        "--system",
        "Be brief.",
        "--reasoning",
        "high",
        "--max-tokens",
        "99",
        "--temperature",
        "0.5",
    ];
    ask(&Workshop::new(""), &server, &args).check("Yes.\n", "", 0);
    let body = &server.asked()[0].body;
    assert_eq!(
        body["messages"],
        json!([said("system", "Be brief."), said("user", "Hi!")])
    );
    assert_eq!(body["reasoning_effort"], "high");
    assert_eq!(body["max_tokens"], 99);
    assert_eq!(body["temperature"], 0.5);
}

#[test]
fn stdin_is_read_when_it_is_asked_for() {
    let note = "  note: stdin is not read; add - after the prompt to send it as well\n";
    let check = |args: &[&str], stdin: &str, ends: bool, stderr: &str, expected: &str| {
        let server = Server::start([Reply::says("Yes.")]);
        let workshop = Workshop::new("");
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(stdin.as_bytes()).expect("it has room");
        // Whoever has started the program may keep the other end open.
        let writer = (!ends).then_some(writer);
        let child = workshop
            .command(&of(&server, args))
            .stdin(reader)
            .spawn()
            .expect("it starts");
        Ended::wait(child).check("Yes.\n", stderr, 0);
        drop(writer);
        assert_eq!(
            server.asked()[0].body["messages"],
            json!([said("user", expected)])
        );
    };
    let both = "a poem\n\nWhat is it?";
    check(&["What is it?", "-"], "a poem\n", true, "", both);
    check(&["What is it?", "-"], "", true, "", "What is it?");
    check(&["-"], "a poem\n", true, "", "a poem");
    check(&["-", "-"], "a poem\n", true, "", "a poem");
    check(&[], "a poem", true, "", "a poem");
    check(&["What is it?"], "", true, "", "What is it?");
    check(&["What is it?"], "", false, "", "What is it?");
    check(&["What is it?"], "a poem\n", false, note, "What is it?");
    check(&["-q", "What is it?"], "a poem\n", true, "", "What is it?");
}

#[test]
fn images_and_audio_are_sent_as_parts_of_the_message() {
    let server = Server::start([Reply::says("A cat.")]);
    let workshop = Workshop::new("");
    std::fs::write(workshop.path("cat.png"), b"\x89PNG\r\n\x1a\nmeow").expect("a file");
    std::fs::write(workshop.path("cat.wav"), b"RIFF\0\0\0\0WAVEmeow").expect("a file");
    let args = [
        "What is it?",
        "--image",
        "cat.png",
        "--image",
        "https://example.com/cat.jpg",
        "--audio",
        "cat.wav",
    ];
    ask(&workshop, &server, &args).check("A cat.\n", "", 0);
    let content = &server.asked()[0].body["messages"][0]["content"];
    let types: Vec<&str> = content
        .as_array()
        .expect("parts")
        .iter()
        .filter_map(|part| part["type"].as_str())
        .collect();
    assert_eq!(types, ["image_url", "image_url", "input_audio", "text"]);
    assert_eq!(
        content[0]["image_url"]["url"],
        "data:image/png;base64,iVBORw0KGgptZW93"
    );
    assert_eq!(
        content[1]["image_url"]["url"],
        "https://example.com/cat.jpg"
    );
    assert_eq!(content[2]["input_audio"]["format"], "wav");
}

/// How many requests are sent, and what comes out.
#[track_caller]
fn check_failure(
    replies: &[Reply],
    args: &[&str],
    asked: usize,
    stdout: &str,
    stderr: &str,
    code: i32,
) {
    let server = Server::start(replies.iter().cloned());
    let ended = ask(&Workshop::new(""), &server, &[&["Hi!"], args].concat());
    assert_eq!(server.asked().len(), asked, "{replies:?}");
    assert_eq!(ended.stdout, stdout, "{replies:?}");
    assert!(ended.stderr.contains(stderr), "{}", ended.stderr);
    assert_eq!(ended.code, Some(code), "{replies:?}");
    assert!(!ended.stderr.contains(&KEY[..12]), "{}", ended.stderr);
}

#[test]
fn what_goes_wrong_on_the_way_is_exit_code_1() {
    let refused = Reply::Status(
        "401 Unauthorized",
        r#"{"error":{"message":"Incorrect API key provided: sk-1234567890abcdefghij"}}"#,
    );
    let words = "Incorrect API key provided: ***; check the key, and what it may use (HTTP 401); the key comes from OPENAI_API_KEY\n";
    check_failure(&[refused], &[], 1, "", words, 1);
    let unknown = Reply::Status("404 Not Found", r#"{"error":{"message":"no model small"}}"#);
    check_failure(&[unknown], &[], 1, "", "no model small", 1);
    let cut = Reply::Ends("Half an", "length");
    let words = "error: the answer was cut off at the token limit; raise it with --max-tokens\n";
    check_failure(&[cut], &[], 1, "Half an\n", words, 1);
    let withheld = Reply::Ends("Well,", "content_filter");
    let words = "error: the provider withheld the rest of the answer\n";
    check_failure(&[withheld], &[], 1, "Well,\n", words, 1);
    let aborted = Reply::Ends("Half an", "abort");
    let words = "error: the reply ended with the reason \"abort\" and may be incomplete\n";
    check_failure(&[aborted], &[], 1, "Half an\n", words, 1);
    let done = r#"data: {"choices":[{"delta":{"content":"Half an"}}]}"#;
    let done = Reply::Stream(format!("{done}\n\ndata: [DONE]\n\n"));
    let words = "error: the reply ended without a stop reason and may be incomplete\n";
    check_failure(&[done], &[], 1, "Half an\n", words, 1);
    let refusal = r#"data: {"choices":[{"delta":{"refusal":"I cannot."},"finish_reason":"stop"}]}"#;
    let refused = Reply::Stream(format!("{refusal}\n\ndata: [DONE]\n\n"));
    check_failure(
        &[refused],
        &[],
        1,
        "",
        "error: the provider refused: I cannot.\n",
        1,
    );
    // What was handed on is not asked for again.
    check_failure(
        &[Reply::BreaksOff("Half")],
        &[],
        1,
        "Half\n",
        "error: model call failed: ",
        1,
    );
}

#[test]
fn what_may_pass_is_asked_again() {
    let busy = Reply::Status("429 Too Many Requests\r\nretry-after: 0", "{}");
    let replies = [busy.clone(), busy.clone(), Reply::says("At last.")];
    // At least a quarter of the usual delay.
    check_failure(&replies, &[], 3, "At last.\n", "retrying in 0.", 0);
    check_failure(
        &replies,
        &["--max-retries", "2", "--quiet"],
        3,
        "At last.\n",
        "",
        0,
    );
    check_failure(
        from_ref(&busy),
        &["--max-retries", "1"],
        2,
        "",
        "error: model call failed: ",
        1,
    );
    check_failure(
        &[busy],
        &["--max-retries", "0"],
        1,
        "",
        "error: model call failed: ",
        1,
    );
}

#[test]
fn progress_is_not_printed_without_a_terminal() {
    let server = Server::start([Reply::says("Yes.")]);
    ask(&Workshop::new(""), &server, &["Hi!"]).check("Yes.\n", "", 0);
}

/// The prefix chooses the API; the key and the name of the model are the same.
#[test]
fn the_responses_api() {
    let frames = [
        json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Yes." }),
        json!({ "type": "response.completed", "response": { "status": "completed", "output": [] } }),
    ];
    let stream = frames.map(|frame| format!("data: {frame}\n\n")).concat();
    let server = Server::start([Reply::Stream(stream)]);
    let args = [
        "complete",
        "Hi!",
        "--model",
        "responses:openai:small",
        "--system",
        "Be brief.",
        "--reasoning",
        "low",
        "--max-tokens",
        "9",
        "--base-url",
        server.url(),
    ];
    let workshop = Workshop::new("");
    Ended::of(workshop.command(&args).env("OPENAI_API_KEY", KEY)).check("Yes.\n", "", 0);
    let content = json!([{ "type": "input_text", "text": "Hi!" }]);
    let expected = json!({
        "model": "small",
        "instructions": "Be brief.",
        "input": [{ "type": "message", "role": "user", "content": content }],
        "stream": true,
        "store": false,
        "max_output_tokens": 9,
        "reasoning": { "effort": "low" },
    });
    let asked = server.asked();
    let [asked] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!(
        (asked.line.as_str(), &asked.body),
        ("POST /v1/responses", &expected)
    );
}

#[test]
fn mistakes_are_exit_code_2_and_nothing_is_sent() {
    let server = Server::start([Reply::says("Yes.")]);
    let workshop = Workshop::new(&reply("Hi."));
    workshop.write("note.txt", "text");
    let check = |args: &[&str], stderr: &str| {
        let ended = Ended::of(&mut workshop.command(&[&["complete"], args].concat()));
        ended.check("", &format!("error: {stderr}\n"), 2);
    };
    let openai = ["Hi!", "--model", "openai:small"];
    let here = "ollama, lmstudio, llamacpp, vllm, sglang, tgi, jan, llamafile, litellm";
    let configured =
        format!("Configured: nothing. Servers on this machine need no key, if one runs: {here}");
    let no_key = format!("no key for openai: set OPENAI_API_KEY. {configured}");
    check(&openai, &no_key);
    let no_key = format!(
        "no key for anthropic: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN. {configured}"
    );
    check(&["Hi!", "--model", "haiku"], &no_key);
    let unknown = format!(
        "no provider is known for the model \"deepsek:x\" (did you mean deepseek:x?); write it as provider:model, or give a \
         base URL. Providers: openai, anthropic, openrouter, groq, gemini, deepseek, mistral, xai, together, fireworks, \
         cerebras, moonshot, zai, minimax, perplexity, nvidia, huggingface, github, cohere, azure, {here}. Configured: nothing"
    );
    check(&["Hi!", "--model", "deepsek:x"], &unknown);
    let with =
        |args: &[&'static str]| [&openai, ["--base-url", server.url()].as_slice(), args].concat();
    let missing = "cannot read cat.png: No such file or directory (os error 2)";
    check(&with(&["--image", "cat.png"]), missing);
    check(
        &with(&["--image", "note.txt"]),
        "note.txt: not a PNG, JPEG, GIF or WebP picture",
    );
    check(
        &with(&["--audio", "note.txt"]),
        "note.txt: not a WAV or MP3 file",
    );
    check(
        &with(&["--temperature", "9"]),
        "invalid value '9' for '--temperature <NUMBER>': expected a number from 0 to 2",
    );
    let nothing = "the prompt is empty: write one, or pipe a text into stdin";
    check(&["--model", "script:script.jsonl"], nothing);
    let no_variable = "no key: the environment variable NOWHERE is not set";
    check(&with(&["--api-key-env", "NOWHERE"]), no_variable);
    // What may be a key is not shown.
    check(
        &with(&["--header", "authorization sk-123"]),
        "a --header is written NAME: VALUE",
    );
    check(
        &with(&["--extra-body", "[\"sk-123\"]"]),
        "--extra-body is not a JSON object: invalid type: sequence, expected a map at line 1 column 0",
    );
    check(
        &with(&["--model-timeout", "5"]),
        "invalid value '5' for '--model-timeout <DURATION>': expected a number and a unit, such as 500ms, 90s, 1.5m or 1h",
    );
    check(
        &[&openai[..], &["--base-url", "nowhere"]].concat(),
        "invalid base URL: relative URL without a base; expected a form like https://host/v1",
    );
    assert!(server.asked().is_empty());
}

#[test]
fn a_name_with_two_colons_is_refused() {
    let server = Server::start([]);
    let workshop = Workshop::new("");
    let url = format!("{}/", server.url());
    let args = [
        "complete",
        "Hi!",
        "--model",
        "deepseek::small",
        "--base-url",
        &url,
    ];
    let ended = Ended::of(workshop.command(&args).env("DEEPSEEK_API_KEY", KEY));
    let error = "error: two colons in deepseek::small: write deepseek:small\n";
    ended.check("", error, 2);
    assert!(server.asked().is_empty());
}

/// Two colons in the middle of OpenAI's own names of fine-tuned models are part of the name.
#[test]
fn fine_tuned_models() {
    let server = Server::start([Reply::says("Yes.")]);
    let workshop = Workshop::new("");
    let model = "openai:ft:gpt-4o-2024-08-06:acme::abc";
    let args = [
        "complete",
        "Hi!",
        "--model",
        model,
        "--base-url",
        server.url(),
    ];
    Ended::of(&mut workshop.command(&args)).check("Yes.\n", "", 0);
    let asked = &server.asked()[0];
    assert_eq!(asked.body["model"], "ft:gpt-4o-2024-08-06:acme::abc");
}

/// What the options about a server make of a request.
#[test]
fn keys_headers_and_fields() {
    let refusal =
        r#"{"error":{"message":"I know gate-3141592653 and tenant-2718281828, my title"}}"#;
    let server = Server::start([Reply::says("Yes."), Reply::Status("403 Forbidden", refusal)]);
    let workshop = Workshop::new("");
    let args = [
        "complete",
        "Hi!",
        "--model",
        "small",
        "--base-url",
        server.url(),
        "--api-key-env",
        "GATE",
        "--header",
        "x-tenant-key: tenant-2718281828",
        "--header",
        "X-Title: my title",
        "--extra-body",
        r#"{"top_p":0.5,"stream_options":null}"#,
        "--model-timeout",
        "2m",
        "--connect-timeout",
        "30s",
    ];
    let run = || Ended::of(workshop.command(&args).env("GATE", "gate-3141592653"));
    run().check("Yes.\n", "", 0);
    // What the server repeats of it is not shown.
    let error = "error: model call failed: I know *** and ***, my title; check the key, and what it may use (HTTP 403); \
        the key comes from GATE\n";
    run().check("", error, 1);
    let asked = &server.asked()[0];
    for header in [
        "authorization: bearer gate-3141592653",
        "x-tenant-key: tenant-2718281828",
        "x-title: my title",
    ] {
        assert!(asked.headers.to_lowercase().contains(header), "{asked:?}");
    }
    assert_eq!(asked.body["top_p"], 0.5);
    assert_eq!(asked.body.get("stream_options"), None);
}

/// A server on this machine is reached directly, another one through the proxy of the environment.
#[test]
fn proxies_of_the_environment() {
    let server = Server::start([Reply::says("Direct."), Reply::says("Through.")]);
    let proxy = server.url().trim_end_matches("/v1").to_owned();
    let workshop = Workshop::new("");
    let ask = |url: &str, option: &[&str], proxy: &str| {
        let args = [
            "complete",
            "Hi!",
            "--max-retries",
            "0",
            "--model",
            "small",
            "--base-url",
            url,
        ];
        let args = [&args[..], option].concat();
        Ended::of(
            workshop
                .command(&args)
                .env("HTTP_PROXY", proxy)
                .env("http_proxy", proxy),
        )
    };
    ask(server.url(), &[], "http://127.0.0.1:9").check("Direct.\n", "", 0);
    ask("http://model.invalid/v1", &[], &proxy).check("Through.\n", "", 0);
    let asked = server.asked();
    assert_eq!(
        asked[1].line,
        "POST http://model.invalid/v1/chat/completions"
    );
    let direct = ask("http://model.invalid/v1", &["--no-proxy"], &proxy);
    assert_eq!(direct.code, Some(1), "{direct:?}");
    assert_eq!(server.asked().len(), 2);
}

/// A key goes nowhere unless its provider is named.
#[test]
fn an_address_alone_gets_no_key() {
    let refused = Reply::Status(
        "401 Unauthorized",
        r#"{"error":{"message":"Who are you?"}}"#,
    );
    let server = Server::start([refused]);
    let workshop = Workshop::new("");
    let args = [
        "complete",
        "Hi!",
        "--model",
        "small",
        "--base-url",
        server.url(),
    ];
    let ended = Ended::of(workshop.command(&args).env("OPENAI_API_KEY", KEY));
    let error = "error: model call failed: Who are you? check the key, and what it may use (HTTP 401); \
        no key was sent: set its environment variable with --api-key-env\n";
    ended.check("", error, 1);
    assert!(!server.asked()[0].headers.contains("authorization"));
}

/// A script that stops in the middle of its reply.
const SLOW: &str = r#"{"chunks":["Wait",{"delayMs":3600000},"never"]}"#;

#[test]
fn a_signal_ends_it() {
    let workshop = Workshop::new(SLOW);
    let (mut child, line) = start(&workshop);
    assert_eq!(line, *b"Wait");
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &pid]).status();
    assert!(sent.expect("kill").success());
    let mut stderr = String::new();
    let mut pipe = child.stderr.take().expect("a pipe");
    pipe.read_to_string(&mut stderr).expect("UTF-8");
    let code = child.wait().expect("it ends").code();
    assert_eq!((stderr.as_str(), code), ("error: cancelled\n", Some(1)));
}

#[test]
fn a_reader_who_goes_ends_it() {
    let workshop = Workshop::new(SLOW);
    let (mut child, _) = start(&workshop);
    drop(child.stdout.take());
    let ended = Ended::wait(child);
    ended.check("", "", 0);
}

/// What it says first.
fn start(workshop: &Workshop) -> (Child, [u8; 4]) {
    let args = ["complete", "Hello", "--model", "script:script.jsonl"];
    let mut child = workshop.command(&args).spawn().expect("it starts");
    let mut line = [0; 4];
    let stdout = child.stdout.as_mut().expect("a pipe");
    stdout.read_exact(&mut line).expect("text");
    (child, line)
}

#[test]
fn a_script_answers_too() {
    let workshop = Workshop::new(&reply("Hi."));
    let args = ["complete", "Hello", "--model", "script:script.jsonl"];
    Ended::of(&mut workshop.command(&args)).check("Hi.\n", "", 0);
}
