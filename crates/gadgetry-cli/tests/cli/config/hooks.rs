//! Commands of `[[hooks]]` decide about calls, and add to their results.

use serde_json::{Value, json};

use super::super::workshop::{Ended, call, reply};
use super::Configured;

const WRITE: &str = "!!!ARG:filePath\nnew.txt\n!!!ARG:content\nx\n";

/// A reply to a request that contains these texts.
fn expecting(texts: &[&str]) -> String {
    serde_json::json!({"text": "Done.", "expect": {"contains": texts}}).to_string() + "\n"
}

/// Runs an agent that writes a file, with these tables in the user's file.
fn run(configured: &Configured, hooks: &str, next: &[&str]) -> Ended {
    configured.user(hooks);
    let script = reply(&call("WriteFile:w", WRITE)) + &expecting(next);
    configured.0.write("script.jsonl", &script);
    drop(std::fs::remove_file(configured.0.path("new.txt")));
    let agent = ["agent", "Go!", "--model", "script:script.jsonl"];
    let allowed = ["--no-session", "--approval", "allow *"];
    configured.ended(&[&agent[..], &allowed].concat())
}

/// What the file contains at the end, if it was written, and what the model has read.
#[track_caller]
fn check(table: &str, written: Option<&str>, read: &[&str]) {
    let configured = Configured::new("");
    let ended = run(&configured, &format!("[[hooks]]\n{table}\n"), read);
    assert_eq!(ended.stdout, "Done.\n", "{table}: {ended:?}");
    let is_there = configured.0.has("new.txt");
    let content = is_there.then(|| configured.0.read("new.txt"));
    assert_eq!(content.as_deref(), written, "{table}: {ended:?}");
}

#[test]
fn a_command_before_a_call_decides_about_it() {
    let check = |rest: &str, written: Option<&str>, read: &[&str]| {
        check(&format!("event = 'PreToolUse'\n{rest}"), written, read);
    };
    check("command = 'true'", Some("x"), &["Result (w)"]);
    check(
        "command = 'echo Not on Fridays >&2; exit 2'",
        None,
        &["Not on Fridays"],
    );
    check("command = 'exit 2'", None, &["the hook `exit 2` denied it"]);
    // What Claude Code lets pass fails closed here.
    check(
        "command = 'echo oops >&2; exit 1'",
        None,
        &["failed (exit status: 1): oops"],
    );
    check("command = 'no-such-program'", None, &["exit status: 127"]);
    check(
        "command = 'sleep 600'\ntimeout = '50ms'",
        None,
        &["has taken too long"],
    );
    check(r"command = 'echo {'", None, &["JSON that cannot be read"]);
    let json = |json: &str| format!("command = '''echo '{json}' '''");
    let own = |own: &str| json(&format!("{{\"hookSpecificOutput\": {{{own}}}}}"));
    check(
        &json(r#"{"decision": "block", "reason": "No."}"#),
        None,
        &["Denied: No."],
    );
    check(
        &own(r#""permissionDecision": "deny", "permissionDecisionReason": "Never""#),
        None,
        &["Denied: Never"],
    );
    for word in [r#""ask""#, r#""DENY""#, "null", "7"] {
        let said = own(&format!("\"permissionDecision\": {word}"));
        check(&said, None, &["hooks allow or deny"]);
    }
    check(
        &own(r#""permissionDecision": "allow""#),
        Some("x"),
        &["Result (w)"],
    );
    check(
        &own(r#""updatedInput": {"filePath": "new.txt", "content": "y"}"#),
        Some("y"),
        &["Result (w)"],
    );
    check(
        &own(r#""updatedInput": {"content": 7}"#),
        None,
        &["filePath"],
    );
    // It is about these gadgets only.
    let deny = |matcher: &str| format!("matcher = '{matcher}'\ncommand = 'exit 2'");
    check(&deny("Write."), Some("x"), &["Result (w)"]);
    check(&deny("ReadFile|server__tool"), Some("x"), &["Result (w)"]);
    check(&deny("EditFile|Write.*"), None, &["denied it"]);
    check(&deny("Write|writefile"), None, &["denied it"]);
    check(&deny("*"), None, &["denied it"]);
}

/// Commands that were written for Claude Code read its names of tools and parameters.
#[test]
fn tools_and_parameters_have_the_names_of_claude_code() {
    let configured = Configured::new("");
    let own =
        r#"{"hookSpecificOutput": {"updatedInput": {"file_path": "new.txt", "content": "y"}}}"#;
    let hooks = format!(
        "[[hooks]]\nevent = 'PreToolUse'\nmatcher = 'Edit|MultiEdit|Write'\n\
         command = \"\"\"cat > before; echo '{own}'\"\"\"\n\
         [[hooks]]\nevent = 'PreToolUse'\nmatcher = '*'\ncommand = 'cat > own'\n\
         [[hooks]]\nevent = 'PostToolUse'\nmatcher = 'Write'\ncommand = 'cat > after'\n\
         [[hooks]]\nevent = 'PreToolUse'\nmatcher = 'Bash|Task'\ncommand = 'exit 2'\n"
    );
    let ended = run(&configured, &hooks, &["Result (w)"]);
    assert_eq!(ended.stdout, "Done.\n", "{ended:?}");
    assert_eq!(configured.0.read("new.txt"), "y");
    let check = |file: &str, name: &str, input: Value| {
        let read: Value = serde_json::from_str(&configured.0.read(file)).expect("JSON");
        assert_eq!(
            (&read["tool_name"], &read["tool_input"]),
            (&json!(name), &input),
            "{file}"
        );
    };
    check(
        "before",
        "Write",
        json!({ "file_path": "new.txt", "content": "x" }),
    );
    check(
        "own",
        "WriteFile",
        json!({ "filePath": "new.txt", "content": "y" }),
    );
    check(
        "after",
        "Write",
        json!({ "file_path": "new.txt", "content": "y" }),
    );
}

/// What was meant as a denial, and is not one in our words, lets nothing pass.
#[test]
fn an_answer_that_is_not_understood_denies() {
    let check = |output: &str, said: &str| {
        // In a file, because shells differ in what they make of escapes.
        let configured = Configured::new("");
        configured.0.write("answer", output);
        let hook = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'cat answer'\n";
        let ended = run(&configured, hook, &[said]);
        assert_eq!(ended.stdout, "Done.\n", "{output}: {ended:?}");
        let passes = said == "Result (w)";
        assert_eq!(configured.0.has("new.txt"), passes, "{output}: {ended:?}");
    };
    let block = r#"{"decision": "block", "reason": "No."}"#;
    check(r#"{"decision": "deny", "reason": "No."}"#, "Denied: No.");
    check(r#"{"decision": "Block"}"#, "decided \"Block\"");
    check(r#"{"decision": 1}"#, "decided 1");
    check(r#"{"continue": false, "stopReason": "No."}"#, "Denied: No.");
    check(r#"{"continue": "no"}"#, "denied it");
    check(&format!("\u{feff}{block}"), "Denied: No.");
    check(&format!("\0{block}"), "Denied: No.");
    check(r#"{"permissionDecision": "deny"}"#, "means nothing");
    check(
        r#"{"hookSpecificOutput": {"permission_decision": "deny"}}"#,
        "means nothing",
    );
    check(&format!("Welcome!\n{block}"), "other text before its JSON");
    check(&format!("[{block}]"), "other text before its JSON");
    check(&format!("{}{block}", " ".repeat(70_000)), "Denied: ");
    check("[]", "JSON that is not an object");
    check(r#""deny""#, "JSON that is not an object");
    check(&"x".repeat(70_000), "wrote more than 64 KiB");
    // Text that decides nothing.
    for text in [
        "",
        "ok",
        "{}",
        "7",
        r#"{"decision": "approve", "systemMessage": "x"}"#,
    ] {
        check(text, "Result (w)");
    }
}

/// The last one to see a call is the user's, whatever a project's rewrites.
#[test]
fn no_rewrite_of_a_project_passes_the_users_guard_by() {
    let configured = Configured::new("");
    let rewrite = r#"echo '{"hookSpecificOutput": {"updatedInput": {"filePath": "new.txt", "content": "evil"}}}'"#;
    let project = format!(
        "[[hooks]]\nevent = 'PreToolUse'\ncommand = \"\"\"{}\"\"\"\n",
        rewrite.replace('"', "\\\"")
    );
    configured.0.write("gadgetry.toml", &project);
    configured.ended(&["config", "trust"]);
    let guard = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'grep -q evil && exit 2; exit 0'\n";
    run(&configured, guard, &["denied it"]);
    assert!(!configured.0.has("new.txt"));
}

/// `cwd` and a path of a call lead to the file that the call is about.
#[test]
fn a_command_reads_the_folder_of_the_paths() {
    let configured = Configured::new("");
    std::fs::create_dir(configured.0.path("there")).expect("a folder");
    configured.user("[[hooks]]\nevent = 'PreToolUse'\ncommand = 'cat > before.json'\n");
    let script = reply(&call("WriteFile:w", WRITE)) + &reply("Done.");
    configured.0.write("script.jsonl", &script);
    let agent = [
        "agent",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--no-session",
    ];
    let there = ["--approval", "allow *", "--workspace", "there"];
    configured.ended(&[&agent[..], &there].concat());
    let input: serde_json::Value =
        serde_json::from_str(&configured.0.read("before.json")).expect("JSON");
    let folder = input["cwd"].as_str().expect("a folder");
    assert!(
        std::path::Path::new(folder).join("new.txt").exists(),
        "{input}"
    );
}

#[test]
fn a_command_after_a_call_adds_to_its_result() {
    let after = |command: &str| format!("event = 'PostToolUse'\ncommand = '''{command}'''");
    check(&after("true"), Some("x"), &["Result (w)"]);
    check(
        &after("echo Run the linter >&2; exit 2"),
        Some("x"),
        &["Run the linter"],
    );
    check(
        &after(r#"echo '{"hookSpecificOutput": {"additionalContext": "3 warnings"}}'"#),
        Some("x"),
        &["3 warnings"],
    );
    check(&after("exit 3"), Some("x"), &["failed (exit status: 3)"]);
    check(
        &after("echo 3 errors; exit 2"),
        Some("x"),
        &["wrote nothing to stderr"],
    );
    // A call that was denied has not failed, nor succeeded.
    let both = "event = 'PreToolUse'\ncommand = 'exit 2'\n[[hooks]]\nevent = 'PostToolUse'\ncommand = 'touch after'";
    let configured = Configured::new("");
    run(&configured, &format!("[[hooks]]\n{both}\n"), &["denied"]);
    assert!(!configured.0.has("after"));
}

/// The command reads the fields by the names that others use, and no keys.
#[test]
fn a_command_reads_the_call() {
    let configured = Configured::new("");
    let keep = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'cat > before.json; env > env.txt'\n\
                [[hooks]]\nevent = 'PostToolUse'\ncommand = 'cat > after.json'\n";
    run(&configured, keep, &[]);
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_str(&configured.0.read(name)).expect("JSON")
    };
    let (before, after) = (read("before.json"), read("after.json"));
    for (input, event) in [(&before, "PreToolUse"), (&after, "PostToolUse")] {
        assert_eq!(input["hook_event_name"], event);
        assert_eq!(input["permission_mode"], "default");
        assert_eq!(input["tool_name"], "WriteFile");
        assert_eq!(input["tool_use_id"], "w");
        assert_eq!(input["tool_input"]["content"], "x");
        assert!(input["session_id"].is_string() && input["cwd"].is_string());
    }
    assert!(before.get("tool_response").is_none());
    assert!(after["tool_response"].is_string(), "{after}");
    assert!(!configured.0.read("env.txt").contains("API_KEY"));
}

/// Also not one whose variable has an ordinary name.
#[test]
fn no_key_reaches_a_command() {
    let configured = Configured::new("");
    let hook = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'env > env.txt'\n";
    configured.user(&format!("api-key-env = 'MINE'\n{hook}"));
    let script = reply(&call("WriteFile:w", WRITE)) + &reply("Done.");
    configured.0.write("script.jsonl", &script);
    let agent = [
        "agent",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--no-session",
        "--approval",
        "allow *",
    ];
    let mut command = configured.command(&agent);
    let ended = Ended::of(command.envs([
        ("MINE", "s3cret"),
        ("OPENAI_API_KEY", "s3cret"),
        ("OTHER", "kept"),
    ]));
    let env = configured.0.read("env.txt");
    assert!(
        env.contains("OTHER=kept") && !env.contains("s3cret"),
        "{env}: {ended:?}"
    );
}

/// None can approve a call: a question remains a question.
#[test]
fn a_hook_approves_nothing() {
    let configured = Configured::new("");
    let allow = r#"echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}'"#;
    configured.user(&format!(
        "[[hooks]]\nevent = 'PreToolUse'\ncommand = '''{allow}'''\n"
    ));
    let script = reply(&call("WriteFile:w", WRITE)) + &reply("Done.");
    configured.0.write("script.jsonl", &script);
    let agent = [
        "agent",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--no-session",
    ];
    assert_eq!(configured.ended(&agent).code, Some(3));
    assert!(!configured.0.has("new.txt"));
}

/// How an agent ends whose prompt is put to a command, and what the model has read.
#[track_caller]
fn check_prompt(rest: &str, code: i32, words: &str) {
    let configured = Configured::new("");
    configured.user(&format!("[[hooks]]\nevent = 'UserPromptSubmit'\n{rest}\n"));
    configured.0.write("script.jsonl", &expecting(&[words]));
    let agent = [
        "agent",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--no-session",
    ];
    let ended = configured.ended(&agent);
    assert_eq!(ended.code, Some(code), "{rest}: {ended:?}");
    if code != 0 {
        assert!(ended.stderr.contains(words), "{rest}: {ended:?}");
    }
}

#[test]
fn a_command_decides_about_a_prompt() {
    check_prompt("command = 'true'", 0, "Go!");
    check_prompt("command = 'echo It is Friday.'", 0, "It is Friday.");
    let json = |json: &str| format!("command = '''echo '{json}' '''");
    check_prompt(
        &json(r#"{"hookSpecificOutput": {"additionalContext": "Be brief."}}"#),
        0,
        "Be brief.",
    );
    let denied = "the prompt was not sent: ";
    check_prompt(
        "command = 'grep -q Go! && echo A secret >&2 && exit 2'",
        1,
        &format!("{denied}A secret"),
    );
    check_prompt(
        &json(r#"{"decision": "block", "reason": "No."}"#),
        1,
        &format!("{denied}No."),
    );
    check_prompt("command = 'exit 1'", 1, "failed (exit status: 1)");
    check_prompt("command = 'no-such-program'", 1, "exit status: 127");
    check_prompt(
        "command = 'sleep 600'\ntimeout = '50ms'",
        1,
        "has taken too long",
    );
    check_prompt(&json(r#"{"decision": "maybe"}"#), 1, "decided \"maybe\"");
}

/// The commands of an event write what they read into a file, a line each.
#[test]
fn sessions_begin_and_end() {
    let configured = Configured::new("");
    let events = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"];
    let hooks = events.map(|event| {
        format!("[[hooks]]\nevent = '{event}'\ncommand = 'cat >> seen.jsonl; echo of {event}'\n")
    });
    configured.user(&hooks.concat());
    let texts = ["of SessionStart\\n\\nof UserPromptSubmit"];
    let texts = texts.map(|it| it.replace("\\n", "\n"));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    configured.0.write("script.jsonl", &expecting(&texts));
    let model = ["--model", "script:script.jsonl"];
    let seen = |prompt: &[&str]| {
        let ended = configured.ended(&[&["agent"], prompt, &model[..]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let lines = configured.0.read("seen.jsonl");
        drop(std::fs::remove_file(configured.0.path("seen.jsonl")));
        let fields = lines.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            let own = ["source", "prompt", "last_assistant_message", "reason"];
            let own = own.map(field).concat();
            format!("{} {own}", field("hook_event_name"))
        });
        fields.collect::<Vec<_>>()
    };
    assert_eq!(
        seen(&["Go!", "--session", "day"]),
        [
            "SessionStart startup",
            "UserPromptSubmit Go!",
            "Stop Done.",
            "SessionEnd other"
        ]
    );
    assert_eq!(
        seen(&["--continue", "day", "On!"]),
        [
            "SessionStart resume",
            "UserPromptSubmit On!",
            "Stop Done.",
            "SessionEnd other"
        ]
    );
}

/// The model goes on until no command keeps it, but not without end.
#[test]
fn a_command_keeps_a_run_from_its_end() {
    let check = |command: &str, replies: usize, last: &str| {
        let configured = Configured::new("");
        configured.user(&format!(
            "[[hooks]]\nevent = 'Stop'\ncommand = '''{command}'''\n"
        ));
        let script = (1..=replies).map(|number| reply(&format!("Reply {number}.")));
        configured
            .0
            .write("script.jsonl", &script.collect::<String>());
        let agent = [
            "agent",
            "Go!",
            "--model",
            "script:script.jsonl",
            "--no-session",
        ];
        let ended = configured.ended(&agent);
        assert_eq!((&*ended.stdout, ended.code), (last, Some(0)), "{ended:?}");
    };
    check("true", 1, "Reply 1.\n");
    check(
        "test -e ran || { touch ran; echo Test it. >&2; exit 2; }",
        2,
        "Reply 2.\n",
    );
    check(
        r#"grep -q '"stop_hook_active":true' || echo '{"decision": "block", "reason": "Test it."}'"#,
        2,
        "Reply 2.\n",
    );
    // One that cannot decide keeps nothing.
    check("exit 1", 1, "Reply 1.\n");
    check(
        r#"echo '{"decision": "block", "continue": false}'"#,
        1,
        "Reply 1.\n",
    );
    check("exit 2", 11, "Reply 11.\n");
}

/// The run of a subagent is kept from its end, by its name, and that of the agent is not.
#[test]
fn a_command_keeps_a_subagent_from_its_end() {
    let check = |matcher: &str, replies: &[&str], expected: &str| {
        let configured = Configured::new("");
        let agent = "---\nname: reviewer\ndescription: Reviews\n---\nYou review.";
        std::fs::create_dir_all(configured.0.path(".claude/agents")).expect("a folder");
        configured.0.write(".claude/agents/reviewer.md", agent);
        let trusted = configured.ended(&["config", "trust"]);
        assert_eq!(trusted.code, Some(0), "{trusted:?}");
        let command = "cat >> seen; test -e ran || { touch ran; echo Look again. >&2; exit 2; }";
        configured.user(&format!(
            "[[hooks]]\nevent = 'SubagentStop'\n{matcher}command = '''{command}'''\n"
        ));
        let run = "!!!ARG:agent\nreviewer\n!!!ARG:prompt\nLook.\n";
        let script = replies.iter().map(|it| reply(it)).collect::<String>();
        let script = reply(&call("RunAgent:r", run)) + &script + &expecting(&[expected]);
        configured.0.write("script.jsonl", &script);
        let agent = ["agent", "Go!", "--model", "script:script.jsonl"];
        let ended =
            configured.ended(&[&agent[..], &["--no-session", "--approval", "allow *"]].concat());
        assert_eq!(ended.stdout, "Done.\n", "{matcher}: {ended:?}");
        configured.0.has("seen").then(|| configured.0.read("seen"))
    };
    let seen = check("", &["Fine.", "Not fine."], "Not fine.").expect("it ran");
    let seen: Vec<serde_json::Value> = seen
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let said = |at: usize| {
        let fields = ["hook_event_name", "agent_type", "last_assistant_message"];
        let text = fields.map(|name| seen[at][name].as_str().unwrap_or_default());
        (text, seen[at]["stop_hook_active"].clone())
    };
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(
        said(0),
        (["SubagentStop", "reviewer", "Fine."], false.into())
    );
    assert_eq!(
        said(1),
        (["SubagentStop", "reviewer", "Not fine."], true.into())
    );
    let id = seen[0]["agent_id"].as_str().unwrap_or_default();
    assert!(!id.is_empty() && seen[0]["session_id"] == id, "{seen:?}");
    assert!(
        check(
            "matcher = 'review.*'\n",
            &["Fine.", "Not fine."],
            "Not fine."
        )
        .is_some()
    );
    assert_eq!(check("matcher = 'writer'\n", &["Fine."], "Fine."), None);
}

/// A project's hooks run after consent alone, which shows them.
#[test]
fn hooks_of_a_project_need_consent() {
    let configured = Configured::new("");
    let hook = "[[hooks]]\nevent = 'PreToolUse'\nmatcher = 'WriteFile'\ncommand = 'touch ran'\n";
    configured.0.write("gadgetry.toml", hook);
    run(&configured, "", &["Result (w)"]);
    assert!(!configured.0.has("ran"));
    let shown = configured.ended(&["config", "trust"]).stdout;
    assert!(
        shown.contains(r#"hook PreToolUse "WriteFile" = "touch ran""#),
        "{shown}"
    );
    run(&configured, "", &["Result (w)"]);
    assert!(configured.0.has("ran"));
}
