//! Verbs that read the configuration as `agent` does: `gadget`, and with Restate `worker`, `submit` and `remote`. The rules of
//! `config approvals`, and the names that completions know.

use serde_json::Value;

use super::Configured;

const NOTE: &str = "gadgetry.toml is not used: you have not trusted it; `gadgetry config trust` shows it and trusts it\n";

/// A gadget file.
fn gadget(name: &str) -> String {
    format!(
        "[[gadget]]\nname = {name:?}\ndescription = \"Touches\"\ncommand = [\"touch\", \"trace\"]\n"
    )
}

#[test]
fn gadgets_are_those_of_an_agent() {
    let configured = Configured::new(
        "[agent]\ngadgets = '../../mine.toml'\n[gadget]\nbuiltins = 'Finish'\n\
         [profiles.p.agent]\ngadgets = '../../other.toml'\n",
    );
    configured.0.write("mine.toml", &gadget("Mine"));
    configured.0.write("other.toml", &gadget("Other"));
    let check = |args: &[&str], expected: &[&str]| {
        let ended = configured.ended(&[&["gadget"], args].concat());
        assert_eq!((&*ended.stderr, ended.code), ("", Some(0)), "{args:?}");
        let lines = ended.stdout.lines();
        let names: Vec<&str> = lines.filter_map(|it| it.split(' ').next()).collect();
        assert_eq!(names, expected, "{args:?}");
    };
    check(&["list"], &["Finish", "Mine"]);
    check(&["list", "--profile", "p"], &["Finish", "Other"]);
    check(&["list", "--gadgets", "other.toml"], &["Finish", "Other"]);
    check(&["list", "--builtins=none"], &["Mine"]);
    check(&["validate"], &["Finish:", "Mine:"]);
    check(&["run", "mine"], &[]);
    assert!(configured.0.has("trace"));
    let builtins = ["list", "--no-config", "--builtins", "Finish"];
    check(&builtins, &["Finish"]);
    configured
        .0
        .write("one.toml", "[gadget]\nbuiltins = 'AskUser'\n");
    check(&["list", "--config", "one.toml"], &["AskUser"]);
    let before = ["--config", "one.toml", "gadget", "list"];
    assert!(configured.ended(&before).stdout.starts_with("AskUser "));
    // Help needs no gadget.
    for args in [
        &["gadget", "help", "list"][..],
        &["gadget", "list", "--help"],
    ] {
        let ended = configured.ended(args);
        assert!(
            ended.stdout.contains("--profile") && ended.code == Some(0),
            "{ended:?}"
        );
    }
    let values = configured.value("gadget", "builtins", &[], &[]);
    assert_eq!(values, r#""Finish" from "user""#);
    let wrong = configured.ended(&["gadget", "list", "--budget", "1"]);
    let unexpected = "error: unexpected argument '--budget' found";
    assert!(wrong.stderr.starts_with(unexpected), "{wrong:?}");
    assert_eq!(wrong.code, Some(2));
}

/// A repository starts nothing before its file is trusted.
#[test]
fn a_project_brings_no_gadget_before_it_is_trusted() {
    let configured = Configured::new("");
    configured.0.write("evil.toml", &gadget("Evil"));
    configured.0.write(
        "gadgetry.toml",
        "[agent]\ngadgets = 'evil.toml'\n[gadget]\nbuiltins = 'none'\n",
    );
    for args in [["run", "Evil"], ["info", "Evil"]] {
        let ended = configured.ended(&[&["gadget"], &args[..]].concat());
        let error = format!("{NOTE}error: Gadget 'Evil' not found.");
        assert!(
            ended.stderr.starts_with(&error) && ended.code == Some(2),
            "{ended:?}"
        );
    }
    assert!(!configured.0.has("trace"));
    assert_eq!(configured.ended(&["config", "trust"]).code, Some(0));
    configured
        .ended(&["gadget", "run", "Evil"])
        .check("", "", 0);
    assert!(configured.0.has("trace"));
}

/// Without the feature, a table of its verbs is a mistake that says what to do.
#[cfg(not(feature = "restate"))]
#[test]
fn verbs_of_another_build() {
    let configured = Configured::new("[worker]\nlisten = '127.0.0.1:1'\n");
    let path = configured.0.path("home/gadgetry/config.toml");
    let error = format!(
        "error: {}:1:2: [worker] needs gadgetry built with `--features restate`\n",
        path.display()
    );
    configured.ended(&["config"]).check("", &error, 2);
}

#[cfg(feature = "restate")]
#[test]
fn verbs_that_use_restate() {
    let configured = Configured::new(
        "restate = 'http://127.0.0.1:1'\nmodel = 'script:../../script.jsonl'\n[agent]\nbudget = 1\n\
         [worker]\nlisten = '127.0.0.1:0'\nspread = ['Missing']\n[profiles.p]\nrestate = 'nonsense'\n",
    );
    let check = |verb: &str, key: &str, expected: &str| {
        assert_eq!(configured.value(verb, key, &[], &[]), expected, "{key}");
    };
    check("worker", "listen", r#""127.0.0.1:0" from "user""#);
    check("worker", "restate", r#""http://127.0.0.1:1" from "user""#);
    check("worker", "budget", r#"1 from "user""#);
    check("submit", "restate", r#""http://127.0.0.1:1" from "user""#);
    check("serve", "listen", "unset");
    let missing = "error: --spread Missing: there is no such gadget\n";
    let priced = ["worker", "--builtins", "none"];
    configured.user("model = 'script:../../script.jsonl'\n[worker]\nspread = ['Missing']\n[profiles.p]\nrestate = 'nonsense'\n");
    configured.ended(&priced).check("", missing, 2);
    for args in [
        &["submit", "Hi", "--profile", "p"][..],
        &["--profile", "p", "remote", "status", "r"],
    ] {
        let ended = configured.ended(args);
        assert!(
            ended.stderr.contains("nonsense") && ended.code == Some(2),
            "{ended:?}"
        );
    }
    let typed = [
        "submit",
        "Hi",
        "--profile",
        "p",
        "--restate",
        "http://127.0.0.1:1",
    ];
    assert_eq!(configured.ended(&typed).code, Some(1));
}

#[test]
fn approvals_in_their_order() {
    let configured = Configured::new(
        "[approvals]\nrules = [{ deny = 'RunCommand(rm*)' }]\n[agent]\nbuiltins = 'ReadFile,WriteFile'\n\
         [mcp.servers.files]\ncommand = 'mcp-files'\n",
    );
    configured.project("[approvals]\nrules = [{ allow = '*' }]\n");
    let path = configured.0.path("home/gadgetry/config.toml");
    let path = path.display();
    let approvals = ["config", "approvals", "--approval", "ask WriteFile(src/*)"];
    let text = format!(
        "[rules]\nask    WriteFile(src/*)  command line\ndeny   RunCommand(rm*)  {path}:2:19\n\
         allow  *  gadgetry.toml:2:20\n\n[without a rule]\nallow  ReadFile\nask    WriteFile\n\
         ask    all tools of the MCP server files\n"
    );
    configured.ended(&approvals).check(&text, "", 0);
    let ended = configured.ended(&[&approvals[..], &["--yes", "--json"]].concat());
    let shown: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let rules = shown["rules"].as_array().expect("rules");
    assert_eq!(rules[0]["ask"], "WriteFile(src/*)");
    assert_eq!(rules[2]["source"], "gadgetry.toml:2:20");
    assert_eq!(
        rules[3].to_string(),
        r#"{"allow":"*","source":"command line"}"#
    );
    assert_eq!(
        shown["defaults"][1].to_string(),
        r#"{"gadget":"WriteFile","permission":"ask"}"#
    );
    assert_eq!(shown["mcpServers"][0], "files");
    // `config` shows those of files with the same words.
    let config = configured.ended(&["config"]).stdout;
    let section = format!(
        "\n[approvals]\ndeny   RunCommand(rm*)  {path}:2:19\nallow  *  gadgetry.toml:2:20\n"
    );
    assert!(config.contains(&section), "{config}");
    // A file that is not trusted has no rules.
    configured.0.write(
        "gadgetry.toml",
        "[approvals]\nrules = [{ allow = 'ReadFile' }]\n",
    );
    let none = configured.ended(&["config", "approvals", "--no-config", "--builtins", "Finish"]);
    none.check("[rules]\n\n[without a rule]\nallow  Finish\n", "", 0);
    let ended = configured.ended(&["config", "approvals"]);
    assert!(!ended.stdout.contains("gadgetry.toml"), "{ended:?}");
    let misspelt = ["config", "approvals", "--approval", "deny RunComand(rm *)"];
    let misspelt = configured.ended(&misspelt).stderr;
    assert!(
        misspelt.contains("no gadget of this run; did you mean RunCommand?"),
        "{misspelt}"
    );
    let invalid = configured.ended(&["config", "approvals", "--approval", "perhaps"]);
    assert_eq!(invalid.code, Some(2), "{invalid:?}");
}

#[test]
fn completions_know_commands_and_profiles() {
    let configured = Configured::new(
        "[profiles.fast]\n[profiles.'a$(touch trace)']\n[commands.review]\n\
         description = \"Reviews `touch trace` 'it'\\n$(touch trace)\"\n",
    );
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ended = configured.ended(&["completions", shell]);
        assert_eq!((&*ended.stderr, ended.code), ("", Some(0)), "{shell}");
        // Nothing of the configuration is in the script.
        assert!(!ended.stdout.contains("review"), "{shell}");
        assert!(!ended.stdout.contains("$(touch"), "{shell}");
    }
    let bash = configured.ended(&["completions", "bash"]).stdout;
    configured.0.write("gadgetry.bash", &bash);
    let completed = |words: &str| {
        let line = format!(
            "source ./gadgetry.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_TYPE=9; \
             _clap_complete_gadgetry gadgetry \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             echo \"${{COMPREPLY[@]}}\""
        );
        let mut command = configured.0.run("bash", &["-c", &line]);
        let ended = super::super::workshop::Ended::of(
            command.env("XDG_CONFIG_HOME", configured.0.path("home")),
        );
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout.trim().to_owned()
    };
    assert_eq!(completed("gadgetry rev"), "review");
    assert_eq!(completed("gadgetry --profile fa"), "fast");
    assert_eq!(completed("gadgetry agent --profile fa"), "fast");
    assert_eq!(completed("gadgetry review --max-it"), "--max-iterations");
    // The shell parts words at colons.
    let model = completed("gadgetry agent --model anthropic : claude-haiku-4-5-2");
    assert!(model.starts_with("claude-haiku-4-5-2"), "{model}");
    assert!(!configured.0.has("trace"));
}
