//! Traces of runs, sent to a collector: one of our own that looks for names in the bytes.

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

#[test]
fn the_environment_switches_traces_on() {
    let check = |args: &[&str], private: bool| {
        let (server, url) = collector();
        let workshop = workshop();
        let mut command = workshop.agent(args);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", url);
        Ended::of(command.arg("--quiet")).check("The private answer.\n", "", 0);
        let sent = sent(&server);
        for name in [
            "service.name",
            "gadgetry",
            "invoke_agent",
            "chat script",
            "execute_tool Echo",
        ] {
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
    // A variable that cannot be used is a mistake of the user, before anything is done.
    let mut command = workshop.agent(&[]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "not a URL");
    fails(&Ended::of(&mut command), 2, "OTEL_");
}
