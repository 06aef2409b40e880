//! What a session keeps of its servers.

use std::fs;

use super::super::config::Configured;
use super::super::workshop::{block, reply};
use super::{AGENT, own, table};

/// Names are kept, and what they mean is read again: no key of a server is in a session.
#[test]
fn a_session_keeps_the_names_of_its_servers() {
    let mine = table("mine", &own()) + "env = { KEY = 's3cret' }\n";
    let configured = Configured::new(&mine);
    let script = reply(&block("Echo", "hi")) + &reply("Done.");
    configured.0.write("script.jsonl", &script);
    assert_eq!(configured.ended(&["mcp", "trust", "mine"]).code, Some(0));
    let args = [&AGENT[..], &["--session", "s", "--approval", "allow *"]].concat();
    let check = |args: &[&str], is_used: bool, note: &str| {
        let ended = configured.ended(args);
        assert_eq!(
            (&*ended.stdout, ended.code),
            ("Done.\n", Some(0)),
            "{ended:?}"
        );
        assert_eq!(ended.stderr.contains("gadget_1 done"), is_used, "{ended:?}");
        assert!(ended.stderr.contains(note), "{ended:?}");
    };
    check(&args, true, "session s\n");
    let again = ["agent", "--continue", "s", "Again"];
    // A server that was configured since is not one of the session.
    configured.user(&format!("{mine}{}", table("later", &own())));
    check(&again, true, "session s\n");
    check(&["sessions", "resume", "s", "Again"], true, "session s\n");
    configured.user("");
    let gone = "MCP server mine is not used: the configuration does not have it any more\n";
    check(&again, false, gone);
    configured.user(&mine);
    check(&[&again[..], &["--no-mcp"]].concat(), false, "session s\n");
    let files = fs::read_dir(configured.0.path("gadgetry/sessions")).expect("a folder");
    let files = files.map(|it| fs::read(it.expect("an entry").path()).expect("a file"));
    let stored: Vec<u8> = files.flatten().collect();
    let has = |text: &str| stored.windows(text.len()).any(|it| it == text.as_bytes());
    assert!(has(r#""configured-mcp":"mine""#));
    assert!(!has("s3cret"));
}

/// Custom commands use the servers as their verb does: those of `agent`, and not those of `complete`.
#[test]
fn custom_commands() {
    let commands = "[commands.act]\nmodel = 'script:script.jsonl'\nprompt = 'Go!'\nbuiltins = 'none'\n\
        [commands.say]\ntype = 'complete'\nmodel = 'script:say.jsonl'\nprompt = 'Go!'\n";
    let configured = Configured::new(&(table("mine", &own()) + commands));
    let folder = "home/gadgetry";
    let script = reply(&block("Touch", "")) + &reply("Done.");
    configured
        .0
        .write(&format!("{folder}/script.jsonl"), &script);
    configured
        .0
        .write(&format!("{folder}/say.jsonl"), &reply("Hi."));
    assert_eq!(configured.ended(&["mcp", "trust", "mine"]).code, Some(0));
    let rule = ["--approval", "allow Touch@mine"];
    let check = |args: &[&str], stdout: &str, is_used: bool| {
        drop(fs::remove_file(configured.0.path("trace")));
        let ended = configured.ended(args);
        assert_eq!((&*ended.stdout, ended.code), (stdout, Some(0)), "{ended:?}");
        assert_eq!(configured.0.has("trace"), is_used, "{ended:?}");
        assert!(!ended.stderr.contains("MCP"), "{ended:?}");
    };
    check(&[&["act"], &rule[..]].concat(), "Done.\n", true);
    check(
        &[&["act", "--no-mcp"], &rule[..]].concat(),
        "Done.\n",
        false,
    );
    configured.ended(&["mcp", "trust", "mine", "--revoke"]);
    check(&["say"], "Hi.\n", false);
}

/// The URL of a typed server may hold a key, and is not kept then.
#[test]
fn typed_servers_are_kept_without_keys() {
    let configured = Configured::new("");
    configured.0.write("script.jsonl", &reply("Done."));
    let url = "http://127.0.0.1:1/mcp?key=s3cret";
    let failed = "MCP server \"127.0.0.1\": cannot connect: Connection refused (os error 111)\n";
    let args = ["agent", "Go!", "--model", "script:script.jsonl"];
    let args = [&args[..], &["--session", "s", "--mcp", url]].concat();
    let ended = configured.ended(&args);
    ended.check(
        "Done.\n",
        &format!("{failed}session s\n[1] calling model\n"),
        0,
    );
    let again = ["agent", "--continue", "s", "Again"];
    let note = "--mcp may contain a key and was not kept; give it again if the server needs it\n";
    let ended = configured.ended(&again);
    ended.check(
        "Done.\n",
        &format!("{note}session s\n[1] calling model\n"),
        0,
    );
    let with_key = [&again[..], &["--mcp", "http://127.0.0.1:1/mcp"]].concat();
    let ended = configured.ended(&with_key);
    ended.check(
        "Done.\n",
        &format!("{failed}session s\n[1] calling model\n"),
        0,
    );
    // Without a key it is kept.
    let ended = configured.ended(&again);
    ended.check(
        "Done.\n",
        &format!("{failed}session s\n[1] calling model\n"),
        0,
    );
}
