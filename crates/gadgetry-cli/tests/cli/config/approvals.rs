//! Rules of files decide about the calls of agents.

use super::super::workshop::{call, reply};
use super::Configured;

const WRITE: &str = "!!!ARG:filePath\nnew.txt\n!!!ARG:content\nx\n";

/// Whether an agent with these rules writes a file.
#[track_caller]
fn check(user: &str, project: &str, options: &[&str], expected: bool) {
    let rules = |rules: &str| format!("[approvals]\nrules = [{rules}]\n");
    let configured = Configured::new(&rules(user));
    if !project.is_empty() {
        configured.project(&rules(project));
    }
    let script = reply(&call("WriteFile:w", WRITE)) + &reply("Done.");
    configured.0.write("script.jsonl", &script);
    let agent = [
        "agent",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--no-session",
    ];
    let ended = configured.ended(&[&agent, options].concat());
    // 3: denied, because no user was there.
    let is_denied = ended.stderr.contains("but no user is at a terminal");
    let code = if is_denied { 3 } else { 0 };
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert_eq!(configured.0.has("new.txt"), expected, "{ended:?}");
}

#[test]
fn the_first_rule_of_all_that_matches_decides() {
    check("", "", &[], false);
    check("{ allow = 'WriteFile(*.txt)' }", "", &[], true);
    check("{ deny = 'WriteFile' }, { allow = '*' }", "", &[], false);
    check("", "{ allow = '*' }", &[], true);
    // The user's rules are before those of a project, and what was typed is before both.
    check("{ deny = 'WriteFile' }", "{ allow = '*' }", &[], false);
    check(
        "{ deny = '*' }",
        "",
        &["--approval", "allow WriteFile"],
        true,
    );
    check(
        "{ allow = '*' }",
        "",
        &["--approval", "deny WriteFile"],
        false,
    );
}

/// A session keeps its options, but not what a file allowed when it began: the user may have thought better of it.
#[test]
fn a_session_obeys_the_present_rules() {
    let allow = "[approvals]\nrules = [{ allow = 'WriteFile' }]\n";
    let calls = |id: &str| reply(&call(&format!("WriteFile:{id}"), WRITE)) + &reply("Done.");
    let check = |before: &str, now: &str, is_executed: bool| {
        let configured = Configured::new(before);
        configured.0.write("script.jsonl", &calls("a"));
        let agent = [
            "agent",
            "Go!",
            "--model",
            "script:script.jsonl",
            "--session",
            "k",
        ];
        configured.ended(&agent);
        drop(std::fs::remove_file(configured.0.path("new.txt")));
        configured.user(now);
        let ended = configured.ended(&["agent", "--continue", "k", "Again!"]);
        assert_eq!(configured.0.has("new.txt"), is_executed, "{ended:?}");
    };
    check(allow, allow, true);
    check(allow, "", false);
    check(allow, "[approvals]\nrules = [{ deny = '*' }]\n", false);
    check("", allow, true);
}

/// A file cannot approve everything at once, as a flag can.
#[test]
fn what_is_of_one_invocation_is_not_a_key() {
    for key in [
        "yes",
        "dangerously-without-sandbox",
        "dry-run",
        "configured-approval",
        "approval",
    ] {
        let configured = Configured::new(&format!("{key} = true\n"));
        let ended = configured.ended(&["agent", "Go!", "--model", "script:script.jsonl"]);
        assert_eq!(ended.code, Some(2), "{key}: {ended:?}");
        assert!(ended.stderr.contains("unknown key"), "{key}: {ended:?}");
    }
}
