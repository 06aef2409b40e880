//! Traces of runs, sent to a collector: one of our own that looks for names in the bytes.

#[cfg(all(feature = "mcp", target_os = "linux"))]
use serde_json::json;

#[cfg(all(feature = "acp", target_os = "linux"))]
use super::acp::{AGENT, Editor, folder, prompt};
#[cfg(all(feature = "mcp", target_os = "linux"))]
use super::mcp::serve::{Client, SERVE};
#[cfg(unix)]
use super::serve::Serving;
use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop, block, reply};

const SCRIPT: [&str; 2] = ["The private plan.", "The private answer."];

fn workshop() -> Workshop {
    let call = block("Echo:a", "the private word");
    let first = format!("{}\n{call}", SCRIPT[0]);
    Workshop::new(&format!("{}{}", reply(&first), reply(SCRIPT[1])))
}

/// A collector, the value of the variable that names it, and what it was sent.
fn collector() -> (Server, String) {
    let server = Server::start([Reply::says("")]);
    let url = server.url().trim_end_matches("/v1").to_owned();
    (server, url)
}

#[track_caller]
fn fails(ended: &Ended, code: i32, reason: &str) {
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    assert!(ended.stderr.contains(reason), "{ended:#?}");
}

fn sent(server: &Server) -> String {
    let asked = server.asked();
    let spans = asked.iter().filter(|it| it.line == "POST /v1/traces");
    let bodies = spans.map(|it| it.body.as_str().expect("bytes"));
    bodies.collect::<Vec<_>>().concat()
}

/// Runs a program with one variable more, and checks the names of the spans that it sent: those that it must send, and those that it
/// must not.
fn sends(names: &[&str], others: &[&str], run: impl FnOnce(&Workshop, (&str, &str))) {
    let (server, url) = collector();
    run(&workshop(), ("OTEL_EXPORTER_OTLP_ENDPOINT", &url));
    let sent = sent(&server);
    for name in names {
        assert!(sent.contains(name), "{name}: {sent:?}");
    }
    for name in others {
        assert!(!sent.contains(name), "{name}: {sent:?}");
    }
}

/// The spans of a run that calls a gadget.
const RUN: [&str; 3] = ["invoke_agent", "script.jsonl", "execute_tool Echo"];

/// One variable is all that each program needs. That of Restate is in `restate`, because it needs a server.
#[test]
fn each_program_sends_spans() {
    sends(&RUN, &[], |workshop, (name, url)| {
        Ended::of(workshop.agent(&["--quiet"]).env(name, url)).check(
            "The private answer.\n",
            "",
            0,
        );
    });
    #[cfg(all(feature = "chat", target_os = "linux"))]
    sends(&RUN, &[], |workshop, (name, url)| {
        let args = [
            "chat",
            "--model",
            "script:script.jsonl",
            "--gadgets",
            "gadgets.toml",
            "--quiet",
        ];
        workshop.write("input", "Go!\n");
        let input = std::fs::File::open(workshop.path("input")).expect("a file");
        let mut command = workshop.command(&args);
        let ended = Ended::of(command.env(name, url).stdin(input));
        assert!(ended.stdout.contains("The private answer."), "{ended:?}");
    });
    #[cfg(all(feature = "acp", target_os = "linux"))]
    sends(&RUN, &[], |workshop, (name, url)| {
        let args = [&AGENT[..], &["--gadgets", "gadgets.toml"]].concat();
        let mut command = workshop.command(&args);
        command.env("HOME", workshop.path("home")).env(name, url);
        let mut editor = Editor::of(command);
        editor.begin();
        let (_, session) = editor.ask("session/new", folder(workshop));
        let session = &session["result"]["sessionId"];
        let (_, answer) = editor.ask("session/prompt", prompt(session, "Go!"));
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
        editor.leave().check("", "", 0);
    });
    // No model has written the call of a client, which is in the trace of that client.
    #[cfg(all(feature = "mcp", target_os = "linux"))]
    {
        let (trace, span) = ("0123456789abcdef", "parent01");
        let hex = |text: &str| {
            let bytes = text.bytes().map(|it| format!("{it:02x}"));
            bytes.collect::<Vec<_>>().concat()
        };
        let meta = json!({ "traceparent": format!("00-{}-{}-01", hex(trace), hex(span)) });
        let ours = [
            "execute_tool Echo",
            "execute_tool Fail",
            trace,
            span,
            "gadget_error",
        ];
        sends(
            &ours,
            &["invoke_agent", "chat", "script"],
            |workshop, (name, url)| {
                let mut command = workshop.command(&SERVE);
                let mut client = Client::start(command.env(name, url));
                for (gadget, is_error) in [("Echo", false), ("Fail", true)] {
                    let params =
                        json!({ "name": gadget, "arguments": { "say": "hi" }, "_meta": meta });
                    let params = if is_error {
                        json!({ "name": gadget, "_meta": meta })
                    } else {
                        params
                    };
                    let result = client.ask("tools/call", &params);
                    assert_eq!(result["isError"] == true, is_error, "{result}");
                }
                assert_eq!(client.end(), (String::new(), Some(0)));
            },
        );
    }
}

#[test]
fn content_of_runs_is_asked_for() {
    let check = |args: &[&str], private: bool| {
        let (server, url) = collector();
        let workshop = workshop();
        let mut command = workshop.agent(args);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", url);
        Ended::of(command.arg("--quiet")).check("The private answer.\n", "", 0);
        let sent = sent(&server);
        for name in ["service.name", "gadgetry"].iter().chain(&RUN) {
            assert!(sent.contains(name), "{name}");
        }
        for text in [
            "The private plan.",
            "the private word",
            "The private answer.",
            "Go!",
        ] {
            assert_eq!(sent.contains(text), private, "{text}");
        }
    };
    check(&[], false);
    check(&["--otel-content"], true);
}

/// The gateway is a part of its client's trace, and its upstream a part of the gateway's.
#[cfg(unix)]
#[test]
fn requests_to_the_gateway_are_part_of_a_trace() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    let client = format!("00-{TRACE}-b7ad6b7169203331-01");
    let check = |is_traced: bool| {
        let (collector, url) = collector();
        let upstream = Server::start([Reply::says("The private answer.")]);
        let url = is_traced.then_some(("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()));
        let mut serving = Serving::with(url, &[], &["--upstream", upstream.url()]);
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\ntraceparent: {client}\r\ntracestate: a=1"
        );
        let body =
            r#"{"model": "m", "messages": [{"role": "user", "content": "The private question"}]}"#;
        let answer = serving.send(&head, body);
        assert!(answer.contains("The private answer."), "{answer}");
        serving.end();
        let asked = upstream.asked();
        let headers = &asked.last().unwrap().headers;
        assert!(headers.contains("tracestate: a=1\r\n"), "{headers}");
        assert!(
            headers.contains(&format!("traceparent: 00-{TRACE}-")),
            "{headers}"
        );
        let is_ours = !headers.contains(&client);
        assert_eq!(is_ours, is_traced, "{headers}");
        let sent = sent(&collector);
        for name in [
            "POST /chat/completions",
            "chat m",
            "http.response.status_code",
        ] {
            assert_eq!(sent.contains(name), is_traced, "{name}");
        }
        assert!(!sent.contains("private"));
    };
    check(true);
    check(false);
}

#[test]
fn a_saved_run_is_exported() {
    let workshop = workshop();
    let ended = Ended::of(&mut workshop.agent(&["--save", "log", "--quiet"]));
    ended.check("The private answer.\n", "", 0);
    let (server, url) = collector();
    let export = |url: Option<&str>| {
        let mut command = workshop.command(&["export", "--otlp", "log"]);
        if let Some(url) = url {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", url);
        }
        Ended::of(&mut command)
    };
    export(Some(&url)).check("", "", 0);
    let sent = sent(&server);
    for name in ["invoke_agent", "execute_tool Echo", "gadgetry.replay"] {
        assert!(sent.contains(name), "{name}");
    }
    assert!(!sent.contains("private"));
    fails(&export(None), 2, "OTEL_EXPORTER_OTLP_ENDPOINT");
    fails(&export(Some("http://127.0.0.1:1")), 1, "not delivered");
}

#[test]
fn a_collector_that_is_not_there_stops_nothing() {
    let workshop = workshop();
    let mut command = workshop.agent(&[]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    let ended = Ended::of(&mut command);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(0), "The private answer.\n")
    );
    let about = ended
        .stderr
        .matches("OpenTelemetry: some spans were not delivered")
        .count();
    assert_eq!(about, 1, "{}", ended.stderr);
    // One that accepts everything and answers nothing costs little more.
    let silent = Server::start([Reply::Hangs]);
    let mut command = workshop.agent(&[]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", silent.url());
    let ended = Ended::of(&mut command);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(0), "The private answer.\n")
    );
    let line =
        "OpenTelemetry: some spans were not delivered: the collector did not answer within 500ms\n";
    assert_eq!(ended.stderr.matches(line).count(), 1, "{}", ended.stderr);
    // A variable that cannot be used is a mistake of the user, before anything is done.
    let mut command = workshop.agent(&[]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "not a URL");
    fails(&Ended::of(&mut command), 2, "OTEL_");
}
