//! The log: `-v` and `GADGETRY_LOG`.

use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop, block, reply};

/// A run of `Echo` with a text that would command a terminal and forge a line of the log.
fn workshop() -> Workshop {
    let call = block("Echo:e", "\u{1b}[31mred\u{202e}\nERROR forged");
    Workshop::new(&format!("{}{}", reply(&call), reply("Done.")))
}

/// What a log at this level has, and what it has not. The answer is the same.
#[track_caller]
fn check(args: &[&str], level: Option<&str>, has: &[&str], has_not: &[&str]) {
    let workshop = workshop();
    let mut command = workshop.agent(&[&["--quiet"], args].concat());
    if let Some(level) = level {
        command.env("GADGETRY_LOG", level);
    }
    let ended = Ended::of(&mut command);
    ended.check("Done.\n", &ended.stderr, 0);
    for text in has {
        assert!(ended.stderr.contains(text), "{text}: {ended:#?}");
    }
    for text in has_not {
        assert!(!ended.stderr.contains(text), "{text}: {ended:#?}");
    }
    assert!(!ended.stderr.contains(['\u{1b}', '\u{202e}']), "{ended:?}");
    let forged = ended.stderr.lines().any(|line| line.starts_with("ERROR"));
    assert!(!forged, "{ended:#?}");
}

#[test]
fn levels() {
    let (info, debug, trace) = ("gadget finished", "gadget result", "argument delta");
    let every = [" INFO ", "DEBUG ", "TRACE "];
    check(&[], None, &[], &every);
    check(&[], Some(""), &[], &every);
    check(&[], Some("off"), &[], &every);
    check(&[], Some("error"), &[], &every);
    check(&["-v"], None, &[info, " INFO "], &[debug, trace]);
    check(&[], Some("info"), &[info], &[debug, trace]);
    check(&["-vv"], Some("error"), &[info, debug, "forged"], &[trace]);
    check(&["-vvv"], None, &[info, debug, trace], &[]);
}

#[test]
fn one_request() {
    let check = |args: &[&str], has: &[&str], has_not: &[&str]| {
        let workshop = Workshop::new(&reply("Done."));
        let usual = [
            "complete",
            "Go!",
            "--model",
            "script:script.jsonl",
            "--quiet",
        ];
        let ended = Ended::of(&mut workshop.command(&[&usual, args].concat()));
        ended.check("Done.\n", &ended.stderr, 0);
        for text in has {
            assert!(ended.stderr.contains(text), "{text}: {ended:#?}");
        }
        for text in has_not {
            assert!(!ended.stderr.contains(text), "{text}: {ended:#?}");
        }
    };
    let (info, debug, trace) = ("model call finished", "calling model", "TRACE ");
    check(&[], &[], &[info, debug, trace]);
    check(&["-v"], &[info, "output="], &[debug, trace]);
    check(&["-vv"], &[info, debug], &[trace]);
    check(&["-vvv"], &[info, debug, trace, "Done."], &[]);
}

#[test]
fn one_gadget_and_a_mistake() {
    let workshop = workshop();
    let args = ["gadget", "run", "Touch", "--gadgets", "gadgets.toml", "-v"];
    let ended = Ended::of(&mut workshop.command(&args));
    ended.check("", &ended.stderr, 0);
    assert!(ended.stderr.contains("gadget finished"), "{ended:#?}");
    // No model has written the call.
    for words in ["model", "script", "ended early"] {
        assert!(!ended.stderr.contains(words), "{words}: {ended:#?}");
    }
    let mut command = workshop.agent(&[]);
    let error =
        "error: GADGETRY_LOG: unknown level; expected error, warn, info, debug, trace or off\n";
    Ended::of(command.env("GADGETRY_LOG", "loud")).check("", error, 2);
}

#[test]
fn keys_are_not_logged() {
    let workshop = workshop();
    let server = Server::start([Reply::says("Done.")]);
    let args = [
        "agent",
        "Go!",
        "--model",
        "openai:small",
        "--base-url",
        server.url(),
        "--gadgets",
        "gadgets.toml",
        "-vvv",
    ];
    let mut command = workshop.command(&args);
    let ended = Ended::of(command.env("OPENAI_API_KEY", "sk-nobody-may-see-this"));
    ended.check("Done.\n", &ended.stderr, 0);
    assert!(ended.stderr.contains("TRACE "), "{ended:#?}");
    assert!(!ended.stderr.contains("nobody"), "{ended:#?}");
    assert!(server.asked()[0].headers.contains("nobody"));
}
