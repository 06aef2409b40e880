//! Options of sessions of `gadgetry acp`, the configuration of their folders, and their end.

use serde_json::{Value, json};

use super::acp::{AGENT, Editor, folder, prompt, texts, updates};
use super::doctor::NO_SERVERS;
use super::server::{Reply, Server};
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

/// The models that can be used now are offered, and those of `--base-url` alone if it is given.
#[test]
fn models_that_can_be_used_are_offered() {
    let workshop = Workshop::new("");
    let start = |args: &[&str], variables: &[(&str, &str)]| {
        let usual = ["acp", "--no-config", "--data-dir", "data"];
        let mut command = workshop.command(&[&usual, args].concat());
        command.envs(NO_SERVERS).envs(variables.iter().copied());
        let mut editor = Editor::of(command);
        let (session, options) = begun(&mut editor, &workshop);
        (editor, session, option(&options, "model"))
    };
    let check = |choices: &[String], offered: &[&str], others: &[&str]| {
        let has = |name: &&&str| choices.iter().any(|it| it.starts_with(**name));
        assert_eq!(offered.iter().find(|it| !has(it)), None, "{choices:?}");
        assert_eq!(others.iter().find(|it| has(it)), None, "{choices:?}");
    };
    let models = r#"{ "data": [{ "id": "smaller" }] }"#.to_owned();
    let server = Server::start([Reply::Gets("/v1/models", "200 OK", models)]);
    let keys = [("ANTHROPIC_API_KEY", "k"), ("MISTRAL_API_KEY", "k")];
    let variables = [&keys[..], &[("VLLM_BASE_URL", server.url())]].concat();
    let (mut editor, session, (current, choices)) = start(&["--model", "haiku"], &variables);
    assert_eq!(current, "haiku");
    let offered = [
        "haiku",
        "sonnet",
        "anthropic:claude-",
        "mistral:",
        "vllm:smaller",
    ];
    check(&choices, &offered, &["openai:", "gpt5"]);
    let mistral = choices.iter().find(|it| it.starts_with("mistral:"));
    let mistral = mistral.expect("a model of Mistral");
    let options = set(&mut editor, &session, "model", mistral);
    let (current, choices) = option(&options, "model");
    assert_eq!(current, *mistral);
    check(&choices, &offered, &["openai:"]);
    editor.leave().check("", "", 0);

    // The key of the provider is in a variable that only the options name.
    let args = ["--model", "haiku", "--api-key-env", "OTHER"];
    let (editor, _, (_, choices)) = start(&args, &[("OTHER", "k")]);
    check(&choices, &["haiku", "anthropic:claude-"], &["mistral:"]);
    editor.leave().check("", "", 0);

    let args = ["--model", "larger", "--base-url", server.url()];
    let (editor, _, (current, choices)) = start(&args, &keys);
    assert_eq!(current, "larger");
    assert_eq!(choices, ["larger", "smaller"]);
    editor.leave().check("", "", 0);
}

/// An editor knows beforehand that a model reads no images, or its user reads that one was not sent.
#[test]
fn images_that_are_not_read() {
    let workshop = Workshop::new("");
    let start = |args: &[&str], takes_images: bool| {
        let usual = ["acp", "--no-config", "--data-dir", "data", "--model"];
        let mut command = workshop.command(&[&usual, args].concat());
        command.env("OPENAI_API_KEY", "k");
        let mut editor = Editor::of(command);
        let (_, answer) = editor.ask("initialize", json!({ "protocolVersion": 1 }));
        let abilities = &answer["result"]["agentCapabilities"]["promptCapabilities"];
        assert_eq!(abilities["image"], takes_images, "{args:?}: {answer}");
        editor
    };
    start(&["openai:gpt-3.5-turbo"], false).leave();
    start(&["openai:gpt-4o"], true).leave();
    let said = |model: &str| {
        let server = Server::start([Reply::says("One.")]);
        let mut editor = start(&[model, "--base-url", server.url()], true);
        let (session, _) = begun(&mut editor, &workshop);
        let blocks = json!([
            { "type": "text", "text": "What is it?" },
            { "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" },
        ]);
        let params = json!({ "sessionId": session, "prompt": blocks });
        let (shown, answer) = editor.ask("session/prompt", params);
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
        editor.leave().check("", "", 0);
        let asked = server.asked();
        let request = asked.last().expect("a request").body.to_string();
        let is_sent = request.contains("data:image/png;base64,iVBORw0KGgo=");
        (is_sent, texts(&updates(&shown), "agent_message_chunk"))
    };
    let (is_sent, words) = said("openai:gpt-3.5-turbo");
    let (note, reply) = words.split_once("\n\n").expect("a note");
    assert!(
        note.starts_with("*[image") && note.contains("was not sent: the model is not known"),
        "{words}"
    );
    assert_eq!((is_sent, reply), (false, "One."));
    // The server of a model that is in no table decides.
    assert_eq!(said("any"), (true, "One.".to_owned()));
}

/// What was found in the folder is shown once, with the first prompt.
#[test]
fn notes_about_the_folder() {
    let workshop = Workshop::new(&(reply("One.") + &reply("Two.")));
    workshop.write("AGENTS.md", "Be brief.\n");
    std::fs::create_dir_all(workshop.path(".claude/commands")).expect("a folder");
    workshop.write(".claude/commands/fix.md", "Fix it.\n");
    workshop.write("gadgetry.toml", "max-iterations = 9\n");
    let args = [
        "acp",
        "--model",
        "script:script.jsonl",
        "--data-dir",
        "data",
    ];
    let start = || {
        let mut command = workshop.command(&args);
        command
            .env("HOME", workshop.path("home"))
            .env("XDG_CONFIG_HOME", workshop.path("config"));
        Editor::of(command)
    };
    let mut editor = start();
    let (session, _) = begun(&mut editor, &workshop);
    let mut said = |text: &str| {
        let (shown, answer) = editor.ask("session/prompt", prompt(&session, text));
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
        texts(&updates(&shown), "agent_message_chunk")
    };
    let lines = [
        "instructions: AGENTS.md (10 bytes)",
        "1 command of this project not used: you have not trusted them; `gadgetry config trust` shows and trusts them",
    ];
    let [read, untrusted] = lines;
    let trust = "shows it and trusts it";
    let config = format!(
        "gadgetry.toml is not used: you have not trusted it as it is now; `gadgetry config trust` there {trust}"
    );
    assert_eq!(
        said("First"),
        format!("*{config}*\n\n*{read}*\n\n*{untrusted}*\n\nOne.")
    );
    assert_eq!(said("Second"), "Two.");
    let ended = editor.leave();
    let lines = format!("{trust}\n{read}\n{untrusted}\n");
    assert!(ended.stderr.ends_with(&lines), "{ended:?}");
    let mut editor = start();
    editor.begin();
    let mut load = folder(&workshop);
    load["sessionId"] = session;
    let (loaded, _) = editor.ask("session/load", load);
    let said = texts(&updates(&loaded), "agent_message_chunk");
    assert_eq!(said, "One.Two.");
    editor.leave();
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
    for (removed, expected) in [(None, &all[..]), (Some(&other), &all[2..])] {
        let mut editor = Editor::new(&workshop, &AGENT);
        editor.begin();
        if let Some(removed) = removed {
            editor.ask("session/delete", json!({ "sessionId": removed }));
        }
        shows(&mut editor, &nested, expected);
        editor.leave().check("", "", 0);
    }
}

/// A fork that was not prompted is there for another program.
#[test]
fn a_fork_is_kept() {
    let next = json!({ "text": "Two.", "expect": { "contains": ["First", "One.", "Second"] } });
    let workshop = Workshop::new(&reply("One."));
    let mut editor = Editor::new(&workshop, &AGENT);
    let (session, _) = begun(&mut editor, &workshop);
    editor.ask("session/prompt", prompt(&session, "First"));
    let in_folder = |session: &Value| {
        let mut params = folder(&workshop);
        params["sessionId"] = session.clone();
        params
    };
    let (_, forked) = editor.ask("session/fork", in_folder(&session));
    let fork = forked["result"]["sessionId"].clone();
    // So is a fork of it.
    let (_, forked) = editor.ask("session/fork", in_folder(&fork));
    let nested = forked["result"]["sessionId"].clone();
    editor.leave().check("", "", 0);
    workshop.write("script.jsonl", &format!("{next}\n"));
    for (session, typed, said) in [
        (&fork, "First", "One."),
        (&nested, "First", "One."),
        (&fork, "FirstSecond", "One.Two."),
    ] {
        let mut editor = Editor::new(&workshop, &AGENT);
        editor.begin();
        let (_, listed) = editor.ask("session/list", json!({}));
        let listed = listed["result"]["sessions"].as_array().expect("sessions");
        let titles = listed.iter().map(|it| it["title"].as_str());
        assert_eq!(titles.collect::<Vec<_>>(), [Some("First"); 3]);
        let (loaded, answer) = editor.ask("session/load", in_folder(session));
        assert!(answer.get("error").is_none(), "{answer}");
        let loaded = updates(&loaded);
        assert_eq!(texts(&loaded, "user_message_chunk"), typed);
        assert_eq!(texts(&loaded, "agent_message_chunk"), said);
        let (_, answer) = editor.ask("session/prompt", prompt(session, "Second"));
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
        editor.leave().check("", "", 0);
    }
    // A program for terminals continues it, too.
    workshop.write("script.jsonl", &format!("{next}\n"));
    let name = nested.as_str().expect("a name");
    let args = [
        "agent",
        "--continue",
        name,
        "Third",
        "--data-dir",
        "data",
        "--quiet",
    ];
    Ended::of(&mut workshop.command(&args)).check("Two.\n", "", 0);
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
