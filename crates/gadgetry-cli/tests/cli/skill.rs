//! `gadgetry skill`, and skills of an agent.

use serde_json::json;

use super::workshop::{Ended, Workshop, block, call, reply};

const NOTES: &str = "---\ndescription: Writes release notes\nargument-hint: VERSION\nversion: '2'\n\
                     allowed-tools: ReadFile, Search\nteam: docs\n---\nWrite notes for $1.\n";

/// A folder with one skill and a file of it.
fn workshop() -> Workshop {
    let workshop = Workshop::new("");
    skill(&workshop, "skills/notes", NOTES);
    workshop.write("skills/notes/tone.md", "Short.\n");
    workshop
}

fn skill(workshop: &Workshop, folder: &str, text: &str) {
    std::fs::create_dir_all(workshop.path(folder)).expect("a folder");
    workshop.write(&format!("{folder}/SKILL.md"), text);
}

#[track_caller]
fn check(workshop: &Workshop, args: &[&str], stdout: &str, stderr: &str, code: i32) {
    let mut command = workshop.command(&[&["skill"], args].concat());
    command.env("XDG_CONFIG_HOME", workshop.path("config"));
    Ended::of(&mut command).check(stdout, stderr, code);
}

#[test]
fn skills_are_listed_and_shown() {
    let workshop = workshop();
    let hidden =
        "---\nname: by-hand\ndescription: For users\ndisable-model-invocation: true\n---\n";
    skill(&workshop, "more/x", hidden);
    let both = ["--skills", "skills", "--skills", "more/x"];
    let list = [&["list"][..], &both].concat();
    check(
        &workshop,
        &list,
        "by-hand  For users\nnotes    Writes release notes\n",
        "",
        0,
    );
    // A folder that is named twice counts once.
    let twice = ["list", "--skills", "skills", "--skills", "./more/../skills"];
    check(&workshop, &twice, "notes  Writes release notes\n", "", 0);
    let folder = |name: &str| {
        let folder = workshop.path(name).canonicalize().expect("a folder");
        folder.display().to_string()
    };
    let by_hand = json!({
        "name": "by-hand", "description": "For users", "modelInvocable": false, "userInvocable": true,
        "folder": folder("more/x"),
    });
    let notes = json!({
        "name": "notes", "description": "Writes release notes", "argumentHint": "VERSION",
        "modelInvocable": true, "userInvocable": true, "folder": folder("skills/notes"),
    });
    let ended = Ended::of(&mut workshop.command(&[&["skill"], &list[..], &["--json"]].concat()));
    let lines = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    assert_eq!(
        lines.collect::<Vec<serde_json::Value>>(),
        [by_hand, notes.clone()]
    );
    let info = ["info", "notes", "--skills", "skills"];
    let folder = folder("skills/notes");
    check(
        &workshop,
        &info,
        &format!(
            "name           notes\ndescription    Writes release notes\narguments      VERSION\n\
             invoked by     the model, the user\nversion        2\nallowed tools  ReadFile, Search\n\
             team           \"docs\"\nfolder         {folder}\nfile           tone.md (7 bytes)\n\n\
             Write notes for $1.\n"
        ),
        "",
        0,
    );
    let ended = Ended::of(&mut workshop.command(&[&["skill"], &info[..], &["--json"]].concat()));
    let mut expected = notes;
    let more = json!({
        "version": "2", "allowedTools": ["ReadFile", "Search"], "other": { "team": "docs" },
        "files": [{ "path": "tone.md", "bytes": 7 }], "text": "Write notes for $1.",
    });
    let more = more.as_object().expect("an object").clone();
    expected.as_object_mut().expect("an object").extend(more);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&ended.stdout).expect("JSON"),
        expected
    );
    check(&workshop, &["list"], "no skills\n", "", 0);
}

#[test]
fn mistakes_have_a_position() {
    let workshop = workshop();
    let list = |folder: &'static str| ["list", "--skills", folder];
    check(
        &workshop,
        &list("nonesuch"),
        "",
        "error: cannot read nonesuch: No such file or directory (os error 2)\n",
        2,
    );
    check(
        &workshop,
        &["info", "note", "--skills", "skills"],
        "",
        "error: there is no skill \"note\"; did you mean notes?\n",
        2,
    );
    check(
        &workshop,
        &["info", "x"],
        "",
        "error: there is no skill \"x\"; there are no skills: name their folder with --skills DIR, or in [skills] of the configuration\n",
        2,
    );
    skill(
        &workshop,
        "broken/b",
        "---\nname: b\ndescription: [x]\n---\n",
    );
    let problem = "error: broken/b/SKILL.md:3:14: description must be a text\n";
    check(&workshop, &list("broken"), "", problem, 2);
    // An agent does not start, either.
    workshop.write("script.jsonl", &reply("Hi."));
    let ended = Ended::of(&mut workshop.agent(&["--skills", "broken"]));
    ended.check("", problem, 2);
    skill(&workshop, "twice/n", NOTES);
    workshop.write(
        "twice/n/SKILL.md",
        &NOTES.replace("---\nd", "---\nname: notes\nd"),
    );
    let args = ["list", "--skills", "skills", "--skills", "twice"];
    let mut command = workshop.command(&[&["skill"], &args[..]].concat());
    let ended = Ended::of(&mut command);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let words = "are both named \"notes\"; rename one of them\n";
    assert!(ended.stderr.ends_with(words), "{ended:?}");
}

/// Adds a skill to the project's, and removes it.
#[track_caller]
fn workspace_changed(workshop: &Workshop) {
    skill(workshop, "own/new", "---\ndescription: New\n---\n");
    let changed = "gadgetry.toml is not used: it has changed since you decided about it; `gadgetry config trust` shows it and trusts it\n";
    let list = "notes  Writes release notes\n";
    check(workshop, &["list"], list, changed, 0);
    std::fs::remove_dir_all(workshop.path("own/new")).expect("a folder");
    check(
        workshop,
        &["list"],
        &format!("build  Builds\n{list}"),
        "",
        0,
    );
}

#[test]
fn folders_of_the_configuration_count() {
    let workshop = workshop();
    let folder = workshop.path("skills").display().to_string();
    std::fs::create_dir_all(workshop.path("config/gadgetry")).expect("a folder");
    let config = format!("[skills]\nfolders = ['{folder}']\n");
    workshop.write("config/gadgetry/config.toml", &config);
    // A project's folders only after consent.
    skill(&workshop, "own/build", "---\ndescription: Builds\n---\n");
    workshop.write("gadgetry.toml", "[skills]\nfolders = ['own']\n");
    let untrusted = "gadgetry.toml is not used: you have not trusted it; `gadgetry config trust` shows it and trusts it\n";
    check(
        &workshop,
        &["list"],
        "notes  Writes release notes\n",
        untrusted,
        0,
    );
    let mut trust = workshop.command(&["config", "trust"]);
    trust.env("XDG_CONFIG_HOME", workshop.path("config"));
    assert_eq!(Ended::of(&mut trust).code, Some(0));
    check(
        &workshop,
        &["list"],
        "build  Builds\nnotes  Writes release notes\n",
        "",
        0,
    );
    // A change of one of its skills needs another decision.
    workspace_changed(&workshop);
    // An agent has both, and a continued session keeps them.
    let load = |name: &str| call("LoadSkill:l", &format!("!!!ARG:skill\n{name}\n"));
    workshop.write("script.jsonl", &(reply(&load("build")) + &reply("Loaded.")));
    let agent = |args: &[&str]| {
        let mut command = workshop.agent(args);
        command.env("XDG_CONFIG_HOME", workshop.path("config"));
        Ended::of(&mut command)
    };
    let ended = agent(&["--session", "both"]);
    assert!(ended.stderr.contains(": Skill build\n"), "{ended:?}");
    workshop.write("script.jsonl", &(reply(&load("notes")) + &reply("Loaded.")));
    workshop.write("gadgetry.toml", "");
    let mut command = workshop.command(&["agent", "--continue", "both", "Again!"]);
    let ended = Ended::of(&mut command);
    assert!(ended.stderr.contains(": Skill notes Write"), "{ended:?}");
}

#[test]
fn an_agent_loads_a_skill() {
    let workshop = workshop();
    let load = call(
        "LoadSkill:l",
        "!!!ARG:skill\nnotes\n!!!ARG:arguments\n2.0\n",
    );
    let read = call(
        "LoadSkill:r:l",
        "!!!ARG:skill\nnotes\n!!!ARG:resource\ntone.md\n",
    );
    let answer = json!({
        "text": "Version 2.0 is out.",
        "expect": { "contains": ["Write notes for 2.0.", "- tone.md (7 bytes)", "Short."] },
    });
    let script = reply(&(load + &read)) + &format!("{answer}\n");
    workshop.write("script.jsonl", &script);
    let ended = Ended::of(&mut workshop.agent(&["--skills", "skills"]));
    assert_eq!(
        (ended.stdout.as_str(), ended.code),
        ("Version 2.0 is out.\n", Some(0)),
        "{ended:?}"
    );
    // A name of a gadget that is taken is a mistake, and skills for users only are no gadget.
    skill(
        &workshop,
        "mine/a",
        "---\ndescription: A\ndisable-model-invocation: true\n---\n",
    );
    workshop.write(
        "script.jsonl",
        &(reply(&block("LoadSkill:x", "")) + &reply("So.")),
    );
    let ended = Ended::of(&mut workshop.agent(&["--skills", "mine"]));
    assert!(ended.stderr.contains("LoadSkill"), "{ended:?}");
    assert_eq!(ended.stdout, "So.\n");
}
