//! Options of sessions of `gadgetry acp`, the configuration of their folders, and their end.

use serde_json::{Value, json};

use super::acp::{AGENT, Editor, folder, prompt};
use super::workshop::{Ended, Workshop, call, reply};

/// Begins a session; its id and options.
fn begun(editor: &mut Editor, workshop: &Workshop) -> (Value, Value) {
    editor.begin();
    let (_, answer) = editor.ask("session/new", folder(workshop));
    let result = &answer["result"];
    assert!(result.is_object(), "{answer}");
    let begun = (result["sessionId"].clone(), result["configOptions"].clone());
    // The commands.
    editor.receive();
    begun
}

/// The value of an option, and its choices.
fn option(options: &Value, id: &str) -> (String, Vec<String>) {
    let mut all = options.as_array().expect("options").iter();
    let found = all.find(|it| it["id"] == id);
    let found = found.unwrap_or_else(|| panic!("{id}: {options}"));
    let text = |it: &Value| it.as_str().expect("a text").to_owned();
    let choices = found["options"].as_array().expect("choices").iter();
    (
        text(&found["currentValue"]),
        choices.map(|it| text(&it["value"])).collect(),
    )
}

fn set(editor: &mut Editor, session: &Value, id: &str, value: &str) -> Value {
    let params = json!({ "sessionId": session, "configId": id, "value": value });
    let (_, answer) = editor.ask("session/set_config_option", params);
    answer["result"]["configOptions"].clone()
}

#[test]
fn a_profile_and_a_reasoning_effort() {
    let workshop = Workshop::new(&reply("From one."));
    workshop.write("two.jsonl", &reply("From two."));
    let two = workshop.path("two.jsonl").display().to_string();
    let config = format!(
        "[profiles.fast]\nreasoning = 'low'\n[profiles.other]\nmodel = 'script:{two}'\nreasoning = 'max'\n"
    );
    workshop.write("mine.toml", &config);
    let one = workshop.path("script.jsonl").display().to_string();
    workshop.write(
        "mine.toml",
        &(format!("model = 'script:{one}'\n") + &config),
    );
    let args = ["acp", "--config", "mine.toml", "--data-dir", "data"];
    let mut editor = Editor::new(&workshop, &args);
    let (session, options) = begun(&mut editor, &workshop);
    let (profile, choices) = option(&options, "profile");
    assert_eq!(
        (&*profile, choices),
        (
            "default",
            vec!["default".to_owned(), "fast".to_owned(), "other".to_owned()]
        )
    );
    let (effort, choices) = option(&options, "reasoning");
    assert_eq!(effort, "default");
    assert_eq!(choices, ["default", "minimal", "low", "medium", "high"]);
    let options = set(&mut editor, &session, "reasoning", "high");
    assert_eq!(option(&options, "reasoning").0, "high");
    let options = set(&mut editor, &session, "profile", "fast");
    assert_eq!(option(&options, "profile").0, "fast");
    assert_eq!(option(&options, "reasoning").0, "low");
    // A value that only the profile has is among the choices.
    let options = set(&mut editor, &session, "profile", "other");
    let (effort, choices) = option(&options, "reasoning");
    assert_eq!((&*effort, choices.len()), ("max", 6), "{choices:?}");
    assert!(option(&options, "model").0.ends_with("two.jsonl"));
    let (shown, _) = editor.ask("session/prompt", prompt(&session, "Who?"));
    assert!(json!(shown).to_string().contains("From two."), "{shown:?}");
    // What was chosen before is there again.
    let options = set(&mut editor, &session, "profile", "default");
    assert_eq!(option(&options, "reasoning").0, "high");
    assert!(option(&options, "model").0.ends_with("script.jsonl"));
    editor.leave().check("", "", 0);
}

/// The file of a session's folder counts if the user has trusted it there, wherever the program was started.
#[test]
fn the_configuration_of_the_folder() {
    let home = Workshop::new("");
    std::fs::create_dir_all(home.path("config/gadgetry")).expect("a folder");
    let project = Workshop::new(&reply(&call(
        "WriteFile:w",
        "!!!ARG:filePath\nnew.txt\n!!!ARG:content\nx\n",
    )));
    let more = project.read("script.jsonl") + &reply("Done.");
    project.write("script.jsonl", &more);
    project.write(
        "gadgetry.toml",
        "model = 'script:script.jsonl'\nafter-edit = ['pwd -P > checked']\n[[hooks]]\nevent = 'PreToolUse'\ncommand = 'pwd -P > hooked'\n\
         [approvals]\nrules = [{ allow = 'WriteFile' }]\n[mcp.servers.own]\ncommand = 'no-such-server'\n",
    );
    let args = ["acp", "--data-dir", "data"];
    let start = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("XDG_CONFIG_HOME", home.path("config"));
        command
    };
    let mut editor = Editor::of(start(&args));
    editor.begin();
    let (_, answer) = editor.ask("session/new", folder(&project));
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    let ended = editor.leave();
    let file = project.path("gadgetry.toml").display().to_string();
    let note = format!(
        "{file} is not used: you have not trusted it; `gadgetry config trust` there shows it and trusts it\n"
    );
    ended.check("", &note, 0);
    let mut trust = project.command(&["config", "trust"]);
    trust.env("XDG_CONFIG_HOME", home.path("config"));
    assert_eq!(Ended::of(&mut trust).code, Some(0));
    let mut editor = Editor::of(start(&args));
    let (session, _) = begun(&mut editor, &project);
    let (_, answer) = editor.ask("session/prompt", prompt(&session, "Write it."));
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let root = project.path("").canonicalize().expect("a folder");
    let root = root.display().to_string();
    assert_eq!(project.read("hooked").trim(), root);
    assert_eq!(project.read("checked").trim(), root);
    let ended = editor.leave();
    let note = "is not the folder that `gadgetry acp` runs in, so MCP servers of its gadgetry.toml are not used: own\n";
    assert!(ended.stderr.ends_with(note), "{ended:?}");
    assert_eq!((ended.code, &*ended.stdout), (Some(0), ""), "{ended:?}");
}

/// A fork has the conversation of the session, which continues without it.
#[test]
fn sessions_are_forked() {
    let expecting = |answer: &str, texts: &[&str]| {
        json!({ "text": answer, "expect": { "contains": texts } }).to_string() + "\n"
    };
    let script = [
        expecting("One.", &["First"]),
        expecting("Forked.", &["First", "One.", "Aside"]),
        expecting("Two.", &["First", "One.", "Second"]),
        expecting("Nested.", &["First", "One.", "Aside", "Forked.", "Third"]),
    ];
    let workshop = Workshop::new(&script[0]);
    let mut editor = Editor::new(&workshop, &AGENT);
    let (_, answer) = editor.ask("initialize", json!({ "protocolVersion": 1 }));
    let abilities = &answer["result"]["agentCapabilities"]["sessionCapabilities"];
    assert!(abilities["fork"].is_object(), "{answer}");
    let (session, _) = begun(&mut editor, &workshop);
    let in_folder = |session: &Value| {
        let mut params = folder(&workshop);
        params["sessionId"] = session.clone();
        params
    };
    let fork =
        |editor: &mut Editor, session: &Value| editor.ask("session/fork", in_folder(session)).1;
    let none = fork(&mut editor, &session);
    assert_eq!(none["error"]["code"], -32002, "nothing was said: {none}");
    editor.ask("session/prompt", prompt(&session, "First"));
    workshop.write("script.jsonl", &script[1]);
    let forked = fork(&mut editor, &session);
    assert!(forked["result"]["modes"].is_object(), "{forked}");
    let other = forked["result"]["sessionId"].clone();
    assert_ne!(other, session);
    let (_, answer) = editor.ask("session/prompt", prompt(&other, "Aside"));
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    workshop.write("script.jsonl", &script[2]);
    for session in [&session, &other] {
        let params = json!({ "sessionId": session });
        editor.ask("session/close", params);
    }
    let load = |editor: &mut Editor, session: &Value| {
        let (before, answer) = editor.ask("session/load", in_folder(session));
        assert!(answer.get("error").is_none(), "{answer}");
        before.iter().map(ToString::to_string).collect::<String>()
    };
    let first = load(&mut editor, &session);
    assert!(
        first.contains("First") && !first.contains("Aside"),
        "{first}"
    );
    let (_, answer) = editor.ask("session/prompt", prompt(&session, "Second"));
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");

    // Loaded, a fork shows what it has from the others, and nothing that they have since.
    let shows = |editor: &mut Editor, session: &Value, expected: &[&str]| {
        let shown = load(editor, session);
        let words = [
            "First", "One.", "Aside", "Forked.", "Second", "Two.", "Third",
        ];
        let found = words.into_iter().filter(|it| shown.contains(it));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{shown}");
    };
    shows(&mut editor, &other, &["First", "One.", "Aside", "Forked."]);
    workshop.write("script.jsonl", &script[3]);
    let nested = fork(&mut editor, &other)["result"]["sessionId"].clone();
    let (_, answer) = editor.ask("session/prompt", prompt(&nested, "Third"));
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let all = ["First", "One.", "Aside", "Forked.", "Third"];
    shows(&mut editor, &nested, &all);
    editor.leave().check("", "", 0);
    // So it is for another program, and as far as the others are still there.
    for (removed, expected) in [(None, &all[..]), (Some(&session), &all[2..])] {
        let mut editor = Editor::new(&workshop, &AGENT);
        editor.begin();
        if let Some(removed) = removed {
            editor.ask("session/delete", json!({ "sessionId": removed }));
        }
        shows(&mut editor, &nested, expected);
        editor.leave().check("", "", 0);
    }
}

#[test]
fn sessions_are_deleted() {
    let workshop = Workshop::new(&reply("Hi."));
    let mut editor = Editor::new(&workshop, &AGENT);
    let (session, _) = begun(&mut editor, &workshop);
    editor.ask("session/prompt", prompt(&session, "Hello."));
    let this = json!({ "sessionId": session });
    let (_, open) = editor.ask("session/delete", this.clone());
    assert_eq!(open["error"]["code"], -32600, "{open}");
    editor.ask("session/close", this.clone());
    // Again, and one that never was: both are gone.
    for id in [&session, &session, &json!("no-such"), &json!("no name")] {
        let (_, deleted) = editor.ask("session/delete", json!({ "sessionId": id }));
        assert_eq!(deleted["result"], json!({}), "{deleted}");
    }
    let (_, listed) = editor.ask("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"], json!([]));
    editor.leave().check("", "", 0);
}

/// What another program has said in a session is not mixed with what the editor knows of it.
#[test]
fn a_session_that_another_program_has_continued_is_loaded_again() {
    let workshop = Workshop::new(&reply("From the editor."));
    let mut editor = Editor::new(&workshop, &AGENT);
    let (session, _) = begun(&mut editor, &workshop);
    let (_, answer) = editor.ask("session/prompt", prompt(&session, "One?"));
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    workshop.write("script.jsonl", &reply("From a command."));
    let name = session.as_str().expect("a name");
    let args = [
        "agent",
        "--continue",
        name,
        "Two?",
        "--data-dir",
        "data",
        "--quiet",
    ];
    Ended::of(&mut workshop.command(&args)).check("From a command.\n", "", 0);
    let (_, answer) = editor.ask("session/prompt", prompt(&session, "Three?"));
    let words = "another program has continued the session; load it again";
    assert!(answer["error"].to_string().contains(words), "{answer}");
    editor.leave().check("", "", 0);
}
