//! A key that was configured for one server does not reach another one.

use super::super::server::{Reply, Server};
use super::Configured;

const OF_A: &str = "base-url = 'http://127.0.0.1:1/v1'\nheader = ['X-Key: s3cret']\nextra-body = { key = 's3cret' }\n\
    api-key-env = 'MY_KEY'\n";
const KEYS: [&str; 3] = ["api-key-env", "extra-body", "header"];

/// Which of the options that may hold a key are in effect for `complete`.
#[track_caller]
fn check(user: &str, project: &str, variables: &[(&str, &str)], args: &[&str], expected: &[&str]) {
    let configured = Configured::new(user);
    if !project.is_empty() {
        configured.project(project);
    }
    let kept = KEYS.into_iter();
    let kept = kept.filter(|key| configured.value("complete", key, variables, args) != "unset");
    assert_eq!(
        kept.collect::<Vec<_>>(),
        expected,
        "{user}{project}{args:?}"
    );
}

#[test]
fn a_stronger_base_url_has_its_own_keys() {
    let other = "base-url = 'http://127.0.0.1:2/v1'\n";
    check(OF_A, "", &[], &[], &KEYS);
    check(OF_A, other, &[], &[], &[]);
    check(
        OF_A,
        &format!("{other}header = ['X-Own: 1']\n"),
        &[],
        &[],
        &["header"],
    );
    check(
        OF_A,
        "",
        &[("GADGETRY_BASE_URL", "http://127.0.0.1:2/v1")],
        &[],
        &[],
    );
    // The same one is no other one.
    check(
        OF_A,
        "",
        &[("GADGETRY_BASE_URL", "http://127.0.0.1:1/v1")],
        &[],
        &KEYS,
    );
    check(&format!("{OF_A}[complete]\n{other}"), "", &[], &[], &[]);
    check(&format!("{OF_A}[agent]\n{other}"), "", &[], &[], &KEYS);
    check(
        &format!("{OF_A}[profiles.p]\n{other}"),
        "",
        &[],
        &["p"],
        &[],
    );
    let child = format!("[profiles.a]\n{OF_A}[profiles.b]\ninherits = 'a'\n{other}");
    check(&child, "", &[], &["a"], &KEYS);
    check(&child, "", &[], &["b"], &[]);
    // Also where the parent has its keys in the table of the verb.
    let of_verb = OF_A.replacen("header", "[profiles.a.complete]\nheader", 1);
    let child = format!("[profiles.a]\n{of_verb}[profiles.b]\ninherits = 'a'\n{other}");
    check(&child, "", &[], &["a"], &KEYS);
    check(&child, "", &[], &["b"], &[]);
    check(
        &format!("[profiles.a]\n{of_verb}"),
        &format!("profile = 'b'\n[profiles.b]\ninherits = 'a'\n{other}"),
        &[],
        &[],
        &[],
    );
    // Keys without a server, and a server that a weaker place chooses.
    check("header = ['X-Key: s3cret']\n", other, &[], &[], &[]);
    check(other, "header = ['X-Key: s3cret']\n", &[], &[], &["header"]);
}

#[test]
fn so_does_a_model_of_another_provider() {
    let keys = "header = ['X-Key: s3cret']\n";
    let of_anthropic = format!("model = 'haiku'\n{keys}");
    check(
        &of_anthropic,
        "model = 'anthropic:claude-opus-4-5'\n",
        &[],
        &[],
        &["header"],
    );
    check(&of_anthropic, "model = 'openai:gpt-4o'\n", &[], &[], &[]);
    check(&of_anthropic, "model = 'xai::grok-4'\n", &[], &[], &[]);
    // Without a model, headers are for all of them; at a base URL is every model.
    check(keys, "model = 'openai:gpt-4o'\n", &[], &[], &["header"]);
    check(
        &format!("{OF_A}model = 'haiku'\n"),
        "model = 'openai:gpt-4o'\n",
        &[],
        &[],
        &KEYS,
    );
}

#[test]
fn a_typed_server_gets_no_configured_key() {
    let server = Server::start([Reply::says("Hi.")]);
    let configured = Configured::new(&format!(
        "model = 'x'\n{OF_A}[commands.own]\ntype = 'complete'\n"
    ));
    let path = configured.0.path("home/gadgetry/config.toml");
    let path = path.display();
    let note = format!(
        "note: configured for another server, so not used: api-key-env ({path}:5), extra-body ({path}:4), header ({path}:3)\n"
    );
    for verb in ["complete", "own"] {
        for (more, is_noted) in [(&[][..], true), (&["--quiet"], false)] {
            let typed = [verb, "Hello", "--base-url", server.url()];
            let mut command = configured.command(&[&typed, more].concat());
            let ended = super::super::workshop::Ended::of(command.env("MY_KEY", "s3cret"));
            assert_eq!(
                (&*ended.stdout, ended.code),
                ("Hi.\n", Some(0)),
                "{ended:?}"
            );
            assert_eq!(ended.stderr.contains(&note), is_noted, "{ended:?}");
        }
    }
    let typed = [
        "complete",
        "Hello",
        "--base-url",
        server.url(),
        "--header",
        "X-Typed: 1",
    ];
    let mut command = configured.command(&typed);
    let ended = super::super::workshop::Ended::of(command.env("MY_KEY", "s3cret"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let asked = server.asked();
    assert_eq!(asked.len(), 5);
    for request in &asked {
        let all = format!("{}{}", request.headers, request.body);
        assert!(!all.contains("s3cret"), "{all}");
    }
    assert!(asked[4].headers.contains("x-typed: 1"));
}

/// `/profile` and `/model` change the server of a conversation, but not whose keys they are.
#[cfg(feature = "chat")]
#[test]
fn a_conversation_takes_no_key_to_another_server() {
    let check = |user: &str, lines: &str, typed: &[&str], is_sent: bool| {
        let server = Server::start([Reply::says("Hi.")]);
        let configured = Configured::new(user);
        configured.0.write("input", lines);
        let at_url: &[&str] = if typed.is_empty() {
            &[]
        } else {
            &["--base-url", server.url()]
        };
        let args = [&["chat", "--builtins", "none"], typed, at_url].concat();
        let mut command = configured.command(&args);
        let input = std::fs::File::open(configured.0.path("input")).expect("a file");
        command.stdin(input).env("MY_KEY", "s3cret");
        command.env("OPENAI_API_KEY", "of openai");
        command.env("ANTHROPIC_API_KEY", "of anthropic");
        command.env("OPENAI_BASE_URL", server.url());
        let ended = super::super::workshop::Ended::of(&mut command);
        assert_eq!(
            (&*ended.stdout, ended.code),
            ("Hi.\n", Some(0)),
            "{ended:?}"
        );
        let asked = server.asked();
        let all = format!("{}{}", asked[0].headers, asked[0].body);
        assert_eq!(all.contains("s3cret"), is_sent, "{lines}: {all}");
    };
    let profile = format!("model = 'x'\n[profiles.b]\nmodel = 'y'\n{OF_A}");
    check(&profile, "/profile b\nHello\n", &["--model", "x"], false);
    let anthropic = "model = 'haiku'\nheader = ['X-Key: s3cret']\n";
    check(anthropic, "/model openai:gpt-4o\nHello\n", &[], false);
    // Nor does a profile bring back what was typed for the first one.
    let nothing = format!("{anthropic}[profiles.p]\nreasoning = 'low'\n");
    let lines = "/model openai:gpt-4o\n/profile p\nHello\n";
    check(&nothing, lines, &[], false);
    let openai = "model = 'openai:gpt-4o-mini'\nheader = ['X-Key: s3cret']\n";
    check(openai, "/model openai:gpt-4o\nHello\n", &[], true);
}

/// The key of a session is that of the server which it was begun with.
#[test]
fn a_continued_session_takes_no_key_to_another_server() {
    let (old, new) = (
        Server::start([Reply::says("Hi.")]),
        Server::start([Reply::says("Hi.")]),
    );
    let configured = Configured::new("");
    let run = |args: &[&str]| {
        let usual = ["--builtins", "none"];
        let mut command = configured.command(&[args, &usual].concat());
        let ended = super::super::workshop::Ended::of(command.env("MY_KEY", "s3cret"));
        assert_eq!(
            (&*ended.stdout, ended.code),
            ("Hi.\n", Some(0)),
            "{ended:?}"
        );
    };
    let key = ["--api-key-env", "MY_KEY", "--session", "s"];
    let begin = ["agent", "Hello", "--model", "x", "--base-url", old.url()];
    run(&[&begin[..], &key].concat());
    run(&["agent", "--continue", "s", "Again"]);
    run(&["agent", "--continue", "s", "Again", "--base-url", new.url()]);
    let has_key = |server: &Server| -> Vec<bool> {
        let asked = server.asked();
        let headers = asked.iter().map(|it| it.headers.contains("s3cret"));
        headers.collect()
    };
    assert_eq!(
        (has_key(&old), has_key(&new)),
        (vec![true, true], vec![false])
    );
}

/// The gateway's upstream, too.
#[test]
fn an_upstream_has_its_own_key() {
    let user = "[serve]\nupstream = 'http://127.0.0.1:1/v1'\nupstream-key-env = 'MY_KEY'\n";
    let configured = Configured::new(user);
    let key = |args: &[&str]| configured.value("serve", "upstream-key-env", &[], args);
    assert_eq!(key(&[]), r#""MY_KEY" from "user""#);
    // The variable is not set, which is a mistake only if it is used. Without keys, this address is one, too.
    let listen = ["--listen", "192.0.2.1:1"];
    let serve = [&["serve"], &listen[..]].concat();
    let upstream = ["serve", "--upstream", "http://127.0.0.1:2/v1"];
    let typed = [&upstream[..], &listen].concat();
    let note = "note: configured for another server, so not used: upstream-key-env";
    assert!(configured.ended(&typed).stderr.contains(note));
    assert!(!configured.ended(&serve).stderr.contains(note));
    configured.project("[serve]\nupstream = 'http://127.0.0.1:2/v1'\n");
    assert_eq!(key(&[]), "unset");
}
