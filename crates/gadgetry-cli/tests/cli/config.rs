//! Configuration: keys in files and in the environment as options.

mod after_edit;
mod approvals;
mod commands;
mod hooks;
mod mistakes;
mod servers;
mod sessions;
mod trust;
mod verbs;

use std::process::Command;

use serde_json::Value;

use super::doctor::NO_SERVERS;
use super::workshop::{Ended, Workshop, reply};

/// A folder with a script, in which the user's configuration is `home/gadgetry/config.toml`.
pub(crate) struct Configured(pub(crate) Workshop);

impl Configured {
    pub(crate) fn new(config: &str) -> Self {
        let workshop = Workshop::new(&reply("Hi."));
        std::fs::create_dir_all(workshop.path("home/gadgetry")).expect("a folder");
        let configured = Self(workshop);
        if !config.is_empty() {
            configured.user(config);
        }
        configured
    }

    pub(crate) fn user(&self, text: &str) {
        self.0.write("home/gadgetry/config.toml", text);
    }

    /// A project's file, which is trusted.
    pub(crate) fn project(&self, text: &str) {
        self.0.write("gadgetry.toml", text);
        let ended = self.ended(&["config", "trust"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.0.command(args);
        command.env("XDG_CONFIG_HOME", self.0.path("home"));
        command
    }

    pub(crate) fn ended(&self, args: &[&str]) -> Ended {
        Ended::of(&mut self.command(args))
    }

    /// The effective value of a key of `verb` and where it is from, as `gadgetry config --json` shows them.
    #[track_caller]
    fn value(&self, verb: &str, key: &str, environment: &[(&str, &str)], args: &[&str]) -> String {
        let mut command = self.command(&[&["config", "--json"], args].concat());
        command.envs(environment.iter().copied());
        let ended = Ended::of(&mut command);
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
        let shown: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let verbs = shown["verbs"].as_array().expect("verbs");
        let verb = verbs.iter().find(|it| it["verb"] == verb).expect("a verb");
        let values = verb["values"].as_array().expect("values");
        match values.iter().find(|it| it["key"] == key) {
            Some(it) => format!("{} from {}", it["value"], it["source"]["from"]),
            None => "unset".to_owned(),
        }
    }
}

#[test]
fn each_layer_takes_precedence_over_the_one_below() {
    let configured = Configured::new(
        "model = 'user'\nmax-tokens = 1\nsystem = 'user'\nreasoning = 'user'\nquiet = true\n\
         [agent]\nmax-tokens = 2\n[complete]\ntemperature = 0.5\n\
         [profiles.p]\nmax-tokens = 3\nreasoning = 'profile'\nsystem = 'profile'\n",
    );
    let check = |verb: &str, key: &str, env: &[(&str, &str)], args: &[&str], expected: &str| {
        let value = configured.value(verb, key, env, args);
        assert_eq!(value, expected, "{verb} {key} {env:?} {args:?}");
    };
    check("agent", "model", &[], &[], r#""user" from "user""#);
    check("complete", "model", &[], &[], r#""user" from "user""#);
    // The table of a verb is more specific.
    check("agent", "max-tokens", &[], &[], r#"2 from "user""#);
    check("complete", "max-tokens", &[], &[], r#"1 from "user""#);
    check("complete", "temperature", &[], &[], r#"0.5 from "user""#);
    check("agent", "output-limit", &[], &[], r#""15" from "default""#);
    check("agent", "save", &[], &[], "unset");
    // A layer is stronger than tables of the one below.
    check("agent", "max-tokens", &[], &["p"], r#"3 from "profile""#);
    check(
        "agent",
        "max-tokens",
        &[],
        &["--profile", "p"],
        r#"3 from "profile""#,
    );
    check(
        "agent",
        "max-tokens",
        &[("GADGETRY_PROFILE", "p")],
        &[],
        r#"3 from "profile""#,
    );
    check("agent", "model", &[], &["p"], r#""user" from "user""#);
    configured.project("profile = 'p'\nreasoning = 'project'\n[agent]\nmax-iterations = 7\n");
    check("agent", "max-tokens", &[], &[], r#"3 from "profile""#);
    check("agent", "system", &[], &[], r#""profile" from "profile""#);
    check(
        "agent",
        "reasoning",
        &[],
        &[],
        r#""project" from "project""#,
    );
    check("agent", "max-iterations", &[], &[], r#"7 from "project""#);
    let env = [
        ("GADGETRY_REASONING", "environment"),
        ("GADGETRY_QUIET", "false"),
    ];
    check(
        "agent",
        "reasoning",
        &env,
        &[],
        r#""environment" from "environment""#,
    );
    check("agent", "quiet", &env, &[], r#""false" from "environment""#);
    check(
        "agent",
        "quiet",
        &[("GADGETRY_QUIET", "")],
        &[],
        r#"true from "user""#,
    );
    check(
        "complete",
        "reasoning",
        &env,
        &["--no-config"],
        r#""environment" from "environment""#,
    );
    check("complete", "model", &[], &["--no-config"], "unset");
    configured
        .0
        .write("other.toml", "model = 'other'\n[profiles.p]\n");
    check(
        "agent",
        "model",
        &[],
        &["--config", "other.toml"],
        r#""other" from "user""#,
    );
    check(
        "agent",
        "model",
        &[("GADGETRY_CONFIG", "other.toml")],
        &[],
        r#""other" from "user""#,
    );
    check(
        "agent",
        "reasoning",
        &[],
        &["--config", "other.toml"],
        r#""project" from "project""#,
    );
}

#[test]
fn the_files_are_shown() {
    let configured = Configured::new("");
    let path = configured.0.path("home/gadgetry/config.toml");
    let path = path.display();
    let check = |args: &[&str], user: &str, project: &str| {
        let ended = configured.ended(&[&["config"], args].concat());
        let expected = format!("user file     {user}\nproject file  gadgetry.toml ({project})\n");
        assert!(ended.stdout.starts_with(&expected), "{ended:?}");
    };
    check(&[], &format!("{path} (absent)"), "absent");
    check(&["--no-config"], "none (absent)", "not read");
    configured.user("");
    configured.0.write("gadgetry.toml", "");
    check(&[], &path.to_string(), "not trusted");
    configured.project("profile = 'p'\n[profiles.p]\n");
    check(&[], &path.to_string(), "trusted");
    let profile = "\nprofile       p (gadgetry.toml:1)\n";
    assert!(configured.ended(&["config"]).stdout.contains(profile));
    let profile = "\nprofile       p (command line)\n";
    assert!(configured.ended(&["config", "p"]).stdout.contains(profile));
    configured.0.write("gadgetry.toml", "# changed");
    check(&[], &path.to_string(), "changed, so not trusted");
}

/// The script must contain what the request contains.
fn expecting(text: &str) -> String {
    serde_json::json!({ "text": "Hi.", "expect": { "contains": [text] } }).to_string()
}

#[test]
fn keys_are_options_unless_they_are_typed() {
    let configured = Configured::new(
        "model = 'script:../../script.jsonl'\nsystem = 'from the file'\nquiet = true\n\
         [agent]\ngadgets = '../../gadgets.toml'\n",
    );
    let check = |expected: &str, args: &[&str]| {
        configured.0.write("script.jsonl", &expecting(expected));
        let ended = configured.ended(args);
        assert_eq!(
            (&*ended.stdout, ended.code),
            ("Hi.\n", Some(0)),
            "{ended:?}"
        );
    };
    check("from the file", &["complete", "Hello"]);
    check("from the file", &["agent", "Hello"]);
    check("typed", &["complete", "Hello", "--system", "typed"]);
    check("typed", &["agent", "Hello", "--system=typed"]);
    check(
        "Hello",
        &["complete", "--model", "script:script.jsonl", "Hello"],
    );
    let mut command = configured.command(&["complete", "Hello"]);
    configured.0.write("script.jsonl", &expecting("variable"));
    let ended = Ended::of(command.env("GADGETRY_SYSTEM", "variable"));
    assert_eq!(
        (&*ended.stdout, ended.code),
        ("Hi.\n", Some(0)),
        "{ended:?}"
    );
    // Before the verb, and after it.
    configured.0.write(
        "other.toml",
        "model = 'script:script.jsonl'\nsystem = 'other'\n",
    );
    check("other", &["--config", "other.toml", "complete", "Hello"]);
    check("other", &["complete", "--config=other.toml", "Hello"]);
    let none = super::options::NO_MODEL;
    for args in [
        ["complete", "--no-config", "Hello"],
        ["--no-config", "complete", "Hello"],
    ] {
        let mut command = configured.command(&args);
        Ended::of(command.envs(NO_SERVERS)).check("", none, 2);
    }
}

/// What is configured gives way to what is typed, also if the two are different options.
#[test]
fn configured_options_do_not_conflict_with_typed_ones() {
    let configured = Configured::new(
        "model = 'script:../../script.jsonl'\n[agent]\nmarkers = 'plain'\nno-session = true\n\
         gadgets = '../../gadgets.toml'\n[serve]\nupstream = 'http://127.0.0.1:1'\nupstream-api = 'messages'\n",
    );
    let ended = configured.ended(&[
        "agent", "Hello", "--start", "<<", "--end", ">>", "--arg", "$",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = configured.ended(&["agent", "Hello", "--session", "a"]);
    assert!(ended.stderr.starts_with("session a\n"), "{ended:?}");
    let serve = configured.ended(&["serve", "--config", "missing.toml"]);
    let missing = "error: cannot read missing.toml: No such file or directory (os error 2)\n";
    serve.check("", missing, 2);
}

#[test]
fn lists_flags_and_tables_become_options() {
    let configured = Configured::new(
        "header = ['X-A: 1', 'X-B: 2']\nextra-body = { top_p = 0.9 }\nreasoning-tags = ['a', 'b']\nreasoning-open = true\n\
         base-url = 'http://user:secret@127.0.0.1:1/v1?key=secret'\nmodel = 'x'\n[agent]\ntag = 'note'\ndialects = ['xml', 'llama']\n",
    );
    let check = |key: &str, expected: &str| {
        assert_eq!(configured.value("agent", key, &[], &[]), expected, "{key}");
    };
    // What could be a key is not shown.
    check("header", r#"["X-A: ***","X-B: ***"] from "user""#);
    check("extra-body", r#"{"top_p":"***"} from "user""#);
    check("base-url", r#""http://127.0.0.1:1/v1" from "user""#);
    check("reasoning-tags", r#"["a","b"] from "user""#);
    check("tag", r#""note" from "user""#);
    check("dialects", r#"["xml","llama"] from "user""#);
}

#[test]
fn a_dialect_is_defined_in_a_table() {
    let form = "[agent]\ndialects = ['xml', { name = 'mine', before = '<c>', after = '</c>' }]\n";
    let configured = Configured::new(form);
    assert_eq!(
        configured.value("agent", "dialects", &[], &[]),
        r#"["xml",{"name":"mine","before":"<c>","after":"</c>"}] from "user""#
    );
}

#[test]
fn the_data_directory_concerns_every_verb() {
    let configured =
        Configured::new("data-dir = '../../data'\nmodel = 'script:../../script.jsonl'\n");
    let agent = [
        "agent",
        "Go!",
        "--gadgets",
        "gadgets.toml",
        "--session",
        "kept",
    ];
    assert_eq!(configured.ended(&agent).code, Some(0));
    assert!(configured.0.has("data/sessions/sessions.db"));
    let check = |args: &[&str], text: &str| {
        let ended = configured.ended(args);
        assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
        assert!(ended.stdout.contains(text), "{args:?}: {ended:?}");
    };
    check(&["sessions", "list"], "kept");
    check(&["sessions", "show", "kept"], "kept");
    check(&["sessions", "resume", "kept"], "Hi.");
    check(&["agent", "--continue"], "Hi.");
    check(&["models", "gpt-4o", "--all"], "gpt-4o");
    let elsewhere = configured.ended(&["sessions", "list", "--data-dir", "elsewhere"]);
    elsewhere.check("", "no sessions\n", 0);
}

/// What `gadgetry init` writes is accepted, as it is and with all comments removed.
#[test]
fn the_starter_is_accepted() {
    let configured = Configured::new("");
    let path = configured.0.path("home/gadgetry/config.toml");
    let wrote = format!("wrote {}\n", path.display());
    configured.ended(&["init"]).check(&wrote, "", 0);
    let there = format!(
        "error: {} is there already; --force overwrites it\n",
        path.display()
    );
    configured.ended(&["init"]).check("", &there, 2);
    configured.ended(&["init", "--force"]).check(&wrote, "", 0);
    assert_eq!(configured.value("agent", "model", &[], &[]), "unset");
    let starter = configured.0.read("home/gadgetry/config.toml");
    let is_toml = |line: &&str| line.contains(" = ") || line.starts_with("# [");
    let (toml, prose): (Vec<&str>, Vec<&str>) = starter.lines().partition(is_toml);
    assert!(toml.len() > 30 && prose.len() > 10, "{starter}");
    let toml: Vec<&str> = toml
        .iter()
        .filter_map(|line| line.strip_prefix("# "))
        .collect();
    configured.user(&toml.join("\n"));
    assert_eq!(
        configured.value("agent", "max-iterations", &[], &[]),
        r#"5 from "profile""#
    );
    assert_eq!(
        configured.value("agent", "budget", &[], &[]),
        r#"0.5 from "user""#
    );
    let text = configured.ended(&["config", "careful"]).stdout;
    for part in [
        "reasoning ",
        "careful (command line)",
        "[approvals]",
        "files",
        "review",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    configured
        .ended(&["init", "--project"])
        .check("wrote gadgetry.toml\n", "", 0);
    assert_eq!(configured.0.read("gadgetry.toml"), starter);
}

#[test]
fn completions_and_manual_pages() {
    let configured = Configured::new("broken");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ended = configured.ended(&["completions", shell]);
        assert_eq!((&*ended.stderr, ended.code), ("", Some(0)), "{shell}");
        assert!(ended.stdout.contains("GADGETRY_COMPLETE"), "{shell}");
    }
    let page = configured.ended(&["man"]);
    assert_eq!(page.code, Some(0));
    assert!(page.stdout.contains(".TH gadgetry 1"), "{}", page.stdout);
    configured.ended(&["man", "pages"]).check("", "", 0);
    configured.0.write("file", "");
    let problem = "error: cannot write to file: it is not a folder\n";
    configured.ended(&["man", "file"]).check("", problem, 2);
    assert!(configured.0.has("pages/gadgetry.1"));
    assert!(
        configured
            .0
            .read("pages/gadgetry-agent.1")
            .contains("max\\-iterations")
    );
}

#[test]
fn a_variable_that_is_nearly_ours_is_noted() {
    let configured = Configured::new("");
    let run = |variable: &str, value: &str| {
        let args = ["complete", "Hi", "--model", "script:script.jsonl"];
        let mut command = configured.command(&args);
        Ended::of(command.env(variable, value))
    };
    let note = "the variable GADGETRY_MODLE means nothing; did you mean GADGETRY_MODEL?\n";
    run("GADGETRY_MODLE", "x").check("Hi.\n", note, 0);
    run("GADGETRY_OF_MINE", "x").check("Hi.\n", "", 0);
    run("GADGETRY_QUIET", "true").check("Hi.\n", "", 0);
}
