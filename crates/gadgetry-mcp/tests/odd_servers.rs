//! Servers that misbehave: each fails alone, with a clear error, and no process of it stays.

use std::sync::Arc;
use std::time::Duration;

use gadgetry::CancellationToken;
use gadgetry_mcp::{RestartPolicy, ServerConfig, Servers};
use serde_json::{Value, json};

use crate::support::{Run, call, call_in, connect, ended, gadget, is_running, names, odd};

#[tokio::test]
async fn what_is_wrong_with_a_server_concerns_no_other() {
    let mut slow = odd(&["silent"]);
    slow.startup_timeout = Duration::from_secs(1);
    slow.protocol = gadgetry_mcp::Protocol::V2025_11_25;
    let mut variable = odd(&["ok"]);
    if let gadgetry_mcp::config::Transport::Stdio(stdio) = &mut variable.transport {
        stdio
            .env
            .insert("A".to_owned(), "${GADGETRY_NO_SUCH_VARIABLE}".to_owned());
    }
    let configs = [
        ("ends", odd(&["ends"])),
        ("fine", odd(&["ok"])),
        ("missing", ServerConfig::stdio("/no/such/program", [""])),
        ("nowhere", ServerConfig::http("http://127.0.0.1:9/mcp")),
        ("off", odd(&["ends"]).enabled(false)),
        ("silent", slow),
        ("strange", ServerConfig::http("ftp://example.com")),
        ("variable", variable),
    ];
    let configs = configs.map(|(name, config)| (name.to_owned(), config));
    let servers = Servers::connect(configs).await;
    let failures: Vec<String> = servers.failures().iter().map(ToString::to_string).collect();
    let expected = [
        "MCP server \"ends\": it ended before it was ready; its stderr ends with:\n| no licence",
        "MCP server \"missing\": cannot start \"/no/such/program\": there is no such program",
        "MCP server \"nowhere\": ",
        "MCP server \"silent\": not ready after 1s; increase `startup-timeout`",
        "MCP server \"strange\": `url` must be an address",
        "MCP server \"variable\": the environment variable GADGETRY_NO_SUCH_VARIABLE is not set",
    ];
    assert_eq!(failures.len(), expected.len(), "{failures:#?}");
    for (failure, expected) in failures.iter().zip(expected) {
        assert!(failure.starts_with(expected), "{failure}");
    }
    assert_eq!(names(&servers, &[]), ["Call", "Pid"]);
    assert_eq!(
        call(&servers, "Call", json!({})).await.as_deref(),
        Ok("done")
    );
    servers.close().await;
}

#[tokio::test]
async fn tools_with_odd_schemas() {
    let servers = connect(&[("odd", odd(&["schemas"]))]).await;
    let offered = [
        "Plain",
        "Refers",
        "Untyped",
        "Text",
        "Missing",
        "Null",
        "True",
        "two_words_x",
    ];
    assert_eq!(names(&servers, &[]), offered);
    let warnings = servers.gadgets(&[]).warnings;
    let warnings: Vec<(&str, &str)> = warnings
        .iter()
        .map(|warning| (warning.tool.as_str(), warning.reason.as_str()))
        .collect();
    let starts = [
        (
            "Invalid",
            "the parameters of gadget 'Invalid': invalid schema",
        ),
        ("Remote", "the parameters of gadget 'Remote': "),
        ("", "it has no name"),
        ("", "it has no name"),
        ("", "it has no name"),
        ("plain", "the name \"plain\" is already taken"),
    ];
    assert_eq!(warnings.len(), starts.len(), "{warnings:#?}");
    for ((tool, reason), (expected, start)) in warnings.iter().zip(starts) {
        assert_eq!(*tool, expected);
        assert!(reason.starts_with(start), "{reason}");
    }
    for name in offered {
        let done = call(&servers, name, json!({})).await;
        assert_eq!(done.as_deref(), Ok("done"), "{name}");
    }
    let node = json!({ "node": { "next": { "next": {} } } });
    assert_eq!(call(&servers, "Refers", node).await.as_deref(), Ok("done"));
    servers.close().await;
}

/// A tool that would cost minutes costs nothing but itself.
#[tokio::test]
async fn absurd_schemas() {
    let servers = connect(&[("s", odd(&["wide"]))]).await;
    let offer = servers.gadgets(&[]);
    let offered: Vec<&str> = offer.gadgets.iter().map(|it| &*it.spec().name).collect();
    assert_eq!(offered, ["Wide", "Call"]);
    let warnings: Vec<String> = offer.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("TooWide") && warnings[0].contains("more than 5000 values"),
        "{warnings:?}"
    );
    servers.close().await;
}

#[tokio::test]
async fn names_of_several_servers() {
    let servers = connect(&[
        ("a", odd(&["ok"])),
        ("b b", odd(&["ok"])),
        ("c", odd(&["pages"])),
        ("d", odd(&["impostor"])),
    ])
    .await;
    let mut all = names(&servers, &["tool3"]);
    all.sort();
    let expected = [
        "All___",
        "Tool0",
        "Tool1",
        "Tool2",
        "Tool4",
        "Tool5",
        "a__Call",
        "a__Pid",
        "b_b__Call",
        "b_b__Pid",
        "c__Tool3",
        "d__b_b__New",
    ];
    assert_eq!(all, expected);
    servers.close().await;
}

/// The outcome of a call, and whether the same server answers afterwards.
#[tokio::test]
async fn calls_that_fail() {
    async fn check(mode: &str, expected: Result<&str, &str>, survives: bool) {
        let servers = connect(&[("s", odd(&[mode]))]).await;
        let pid = call(&servers, "Pid", json!({})).await.unwrap();
        let found = call(&servers, "Call", json!({})).await;
        match expected {
            Ok(text) => assert_eq!(found.as_deref(), Ok(text), "{mode}"),
            Err(part) => assert!(
                found.as_ref().is_err_and(|error| error.contains(part)),
                "{mode}: {found:?}"
            ),
        }
        let again = call(&servers, "Pid", json!({})).await.unwrap();
        assert_eq!(again == pid, survives, "{mode}");
        servers.close().await;
        ended(&pid).await;
        ended(&again).await;
    }
    check("ok", Ok("done"), true).await;
    let died = "the server ended during the call, which may have had an effect and was not repeated; its stderr ends with:\n| out of luck";
    check("die", Err(died), false).await;
    check("huge", Err("the answer has more than 16 MiB"), true).await;
    check("flood", Ok("done"), true).await;
    check(
        "unknown",
        Ok("{\"type\":\"hologram\",\"depth\":3}\nand a text"),
        true,
    )
    .await;
    check("garbage", Ok(""), true).await;
    check("deaf", Ok("done"), true).await;
}

/// Each question is kept in the run, so 5,000 held it up for minutes.
#[tokio::test]
async fn a_call_asks_the_user_a_few_times() {
    let servers = connect(&[("s", odd(&["asks"]))]).await;
    let call = async |(forms, fields): (usize, usize), answers: &[&str], asked, expected: &str| {
        let run = Arc::new(Run::with_answers(answers));
        let token = CancellationToken::new();
        let parameters = json!({ "forms": forms, "fields": fields });
        let outcome = call_in(&run, &gadget(&servers, "Call"), parameters, token).await;
        assert_eq!(outcome.result.as_deref(), Ok(expected));
        let questions = run.questions.lock().unwrap().len();
        assert_eq!(questions, asked, "{forms} of {fields}");
    };
    call((16, 1), &["x"; 16], 16, "16 accepted, 0 cancelled").await;
    let many = "16 accepted, 184 cancelled";
    call((200, 1), &["x"; 200], 16, many).await;
    let refused = "0 accepted, 200 cancelled";
    call((200, 1), &[], 16, refused).await;
    let one = ["1 accepted, 0 cancelled", "0 accepted, 1 cancelled"];
    call((1, 3), &["x"; 3], 3, one[0]).await;
    call((1, 51), &["x"; 51], 0, one[1]).await;
    call((1, 30_000), &[], 0, one[1]).await;
    servers.close().await;
}

#[tokio::test]
async fn a_call_without_an_answer_is_cancelled_at_the_server() {
    async fn check(by_timeout: bool) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut config = odd(&["hang", log.to_str().unwrap()]);
        if by_timeout {
            config.timeout = Duration::from_millis(500);
        }
        let servers = connect(&[("s", config)]).await;
        let token = CancellationToken::new();
        let run = Arc::new(Run::default());
        let hanging = gadget(&servers, "Call");
        let calling = call_in(&run, &hanging, json!({}), token.clone());
        let received = |method: &'static str| {
            let log = log.clone();
            async move {
                while !std::fs::read_to_string(&log).is_ok_and(|text| text.contains(method)) {
                    tokio::task::yield_now().await;
                }
            }
        };
        let cancel = async {
            received("tools/call").await;
            if !by_timeout {
                token.cancel();
            }
        };
        let (outcome, ()) = tokio::join!(calling, cancel);
        let expected = if by_timeout {
            "no answer after 500ms; the call was cancelled"
        } else {
            "cancelled"
        };
        assert!(outcome.result.unwrap_err().starts_with(expected));
        tokio::time::timeout(crate::support::LONG, received("notifications/cancelled"))
            .await
            .unwrap();
        assert!(call(&servers, "Pid", json!({})).await.is_ok());
        servers.close().await;
    }
    check(true).await;
    check(false).await;
}

#[tokio::test]
async fn a_server_that_ends_again_and_again_is_given_up() {
    let policy = RestartPolicy {
        times: 2,
        delay: Duration::from_millis(1),
        ..RestartPolicy::default()
    };
    let servers = Servers::connect_with([("s".to_owned(), odd(&["die"]))], policy).await;
    let error = async |expected: &str| {
        let error = call(&servers, "Call", json!({})).await.unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    let died = "ended during the call";
    for _ in 0..3 {
        error(died).await;
    }
    error("it ended 3 times in a row and is not started again").await;
    error("it ended 3 times in a row and is not started again").await;
    // A successful call in between is a new beginning, and so is the wish of the user.
    servers.reconnect("s").await.unwrap();
    for _ in 0..4 {
        error(died).await;
        assert!(call(&servers, "Pid", json!({})).await.is_ok());
    }
    servers.close().await;
}

#[tokio::test]
async fn a_list_that_changes() {
    let servers = connect(&[("s", odd(&["change"]))]).await;
    let mut changes = servers.changes();
    assert_eq!(names(&servers, &[]), ["Change"]);
    assert_eq!(
        call(&servers, "Change", json!({})).await.as_deref(),
        Ok("changed")
    );
    tokio::time::timeout(crate::support::LONG, changes.changed())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(names(&servers, &[]), ["Change", "New"]);
    servers.close().await;
}

#[tokio::test]
async fn no_process_stays() {
    // A child of the server, whether the servers are closed or dropped.
    for is_closed in [true, false] {
        let servers = connect(&[("s", odd(&["children"]))]).await;
        let server = call(&servers, "Pid", json!({})).await.unwrap();
        let child = call(&servers, "Call", json!({})).await.unwrap();
        assert!(is_running(&server) && is_running(&child));
        if is_closed {
            servers.close().await;
            assert!(!is_running(&server) && !is_running(&child));
        } else {
            drop(servers);
            ended(&server).await;
            ended(&child).await;
        }
    }
    // A child of a server that never becomes ready.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let mut config = odd(&["children-at-start", file.to_str().unwrap()]);
    config.startup_timeout = Duration::from_secs(1);
    config.protocol = gadgetry_mcp::Protocol::V2026_07_28;
    let servers = Servers::connect([("s".to_owned(), config)]).await;
    assert_eq!(servers.failures().len(), 1);
    ended(&std::fs::read_to_string(file).unwrap()).await;
}

#[tokio::test]
async fn a_server_that_ends_at_the_first_question_is_asked_the_old_way() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let servers = connect(&[("s", odd(&["picky", log.to_str().unwrap()]))]).await;
    assert_eq!(servers.protocol("s").await.as_deref(), Some("2025-11-25"));
    servers.close().await;
    // From now on it is known.
    let before = std::fs::read_to_string(&log).unwrap();
    let servers = connect(&[("s", odd(&["picky", log.to_str().unwrap()]))]).await;
    let after = std::fs::read_to_string(&log).unwrap();
    assert!(before.contains("server/discover"));
    assert!(
        !after[before.len()..].contains("server/discover"),
        "{after}"
    );
    servers.close().await;
}

/// A server may take longer than the ten seconds after which it is taken for an old one that does not answer.
#[tokio::test]
async fn a_server_that_answers_the_first_question_late_is_connected_again() {
    let folder = tempfile::tempdir().unwrap();
    let late = |answer: &str| {
        let seen = folder.path().join(answer);
        odd(&["late", answer, seen.to_str().unwrap()])
    };
    let servers = connect(&[("old", late("old")), ("new", late("new"))]).await;
    for (server, revision) in [("old", "2025-11-25"), ("new", "2026-07-28")] {
        let spoken = servers.protocol(server).await;
        assert_eq!(spoken.as_deref(), Some(revision), "{server}");
    }
    servers.close().await;
}

#[tokio::test]
async fn the_environment_is_what_the_file_names() {
    let mut config = odd(&["environment"]);
    if let gadgetry_mcp::config::Transport::Stdio(stdio) = &mut config.transport {
        stdio
            .env
            .insert("TOKEN".to_owned(), "for ${USER:-me}".to_owned());
    }
    let servers = connect(&[("s", config)]).await;
    let environment = call(&servers, "Call", json!({})).await.unwrap();
    let environment: serde_json::Map<String, Value> = serde_json::from_str(&environment).unwrap();
    assert!(environment["TOKEN"].as_str().unwrap().starts_with("for "));
    for name in environment.keys() {
        assert!(
            !name.starts_with("CARGO") && !name.ends_with("_KEY"),
            "{name}"
        );
    }
    assert!(environment.contains_key("PATH"));
    // Cargo sets it for the tests.
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
    servers.close().await;
}

#[tokio::test]
async fn tools_need_approval() {
    let servers = connect(&[("s", odd(&["ok"]))]).await;
    let gadget = gadget(&servers, "Call");
    assert_eq!(gadget.permission(), gadgetry::Permission::Ask);
    let preview = gadget.preview(&json!({})).await.unwrap();
    assert_eq!(preview.notes, ["tool \"Call\" of the MCP server \"s\""]);
    servers.close().await;
}
