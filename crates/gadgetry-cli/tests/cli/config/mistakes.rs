//! What can be wrong in a file: line, column, and what to do.

use super::Configured;

/// Runs `complete` with this file of the user, which is `@` in the problem.
#[track_caller]
fn check(toml: &str, problem: &str) {
    let configured = Configured::new(toml);
    let path = configured.0.path("home/gadgetry/config.toml");
    let path = path.display().to_string();
    let error = format!("error: {path}:{}\n", problem.replace('@', &path));
    let complete = ["complete", "Hello", "--model", "script:script.jsonl"];
    configured.ended(&complete).check("", &error, 2);
    configured.ended(&["config"]).check("", &error, 2);
    // Verbs without a configuration do not read it, and help is there in any case.
    for args in [
        &["events", "--schema"][..],
        &["--help"],
        &["help"],
        &["agent", "--help"],
    ] {
        let ended = configured.ended(args);
        assert_eq!((&*ended.stderr, ended.code), ("", Some(0)), "{args:?}");
    }
}

#[test]
fn syntax_keys_types_and_values() {
    check(
        "model = ",
        "1:9: string values must be quoted, expected literal string",
    );
    check("model = 'a'\nmodel = 'b'", "2:1: duplicate key");
    check(
        "\n  modle = 'a'",
        "2:3: unknown key modle; did you mean model?",
    );
    check("[agnet]\n", "1:2: unknown key agnet; did you mean agent?");
    check(
        "[agent]\nmax-iteration = 1",
        "2:1: unknown key max-iteration; did you mean max-iterations?",
    );
    check(
        "zzzzzzzz = 1",
        "1:1: unknown key zzzzzzzz; the keys are the options that `gadgetry agent --help` lists",
    );
    // Of one invocation only, and of another verb.
    check(
        "continue = true",
        "1:1: unknown key continue; the keys are the options that `gadgetry agent --help` lists",
    );
    check(
        "[complete]\nbudget = 1",
        "2:1: unknown key budget; the keys are the options that `gadgetry agent --help` lists",
    );
    check("model = 5", "1:9: model is a number; expected a text");
    check(
        "workspace = ''",
        "1:13: a value is required for workspace but none was supplied",
    );
    check("agent = 5", "1:9: agent is a number; expected a table");
    check(
        "quiet = 'yes'",
        "1:9: quiet is a text; expected true or false",
    );
    check(
        "max-tokens = '5'",
        "1:14: max-tokens is a text; expected a number",
    );
    check(
        "header = [1]",
        "1:11: an item of header is a number; expected a text",
    );
    check(
        "header = 1",
        "1:10: header is a number; expected a text, or a list of texts",
    );
    check(
        "data-dir = true",
        "1:12: data-dir is a boolean; expected a text, the path of a file",
    );
    check(
        "extra-body = []",
        "1:14: extra-body is a list; expected a table, or a text with a JSON object",
    );
    check(
        "output-limit = true",
        "1:16: output-limit is a boolean; expected a number or a text",
    );
    check(
        "model = 1979-05-27",
        "1:9: model is a date; expected a text",
    );
    // By the code that checks the option.
    check(
        "max-iterations = 0",
        "1:18: invalid value '0' for max-iterations: expected a whole number of at least 1",
    );
    check(
        "[agent]\nbudget = -1",
        "2:10: invalid value '-1' for budget: expected an amount of US dollars above 0, such as 0.50",
    );
    check(
        "[agent]\ntools = 'txt'",
        "2:9: invalid value 'txt' for tools [possible values: text, native, both]; tip: a similar value exists: 'text'",
    );
    check(
        "connect-timeout = 'soon'",
        "1:19: invalid value 'soon' for connect-timeout: expected a number and a unit, such as 500ms, 90s, 1.5m or 1h",
    );
    check(
        "[agent]\ntokens-per-minute = 0",
        "2:21: invalid value '0' for tokens-per-minute: expected a whole number of at least 1",
    );
    check(
        "[agent]\nrate-limit-margin = 2",
        "2:21: invalid value '2' for rate-limit-margin: expected a number above 0 and up to 1",
    );
    check(
        "[serve]\nrepairs = 1.5",
        "2:11: invalid value '1.5' for repairs: invalid digit found in string",
    );
    check(
        "[agent]\nmarkers = 'plain'\nstart = '<<'",
        "3:1: start cannot be used together with markers (@:2)",
    );
}

/// A table of few keys lists them.
#[test]
fn keys_that_others_have() {
    check(
        "[approvals]\nrules = [{ permit = 'RunCommand' }]",
        "2:12: unknown key permit; the keys are allow, deny, ask",
    );
    check(
        "api-key = 'x'",
        "1:1: unknown key api-key; keys are read from variables: api-key-env names one",
    );
}

#[test]
fn profiles() {
    check(
        "profile = 'a'",
        "1:11: there is no profile \"a\"; add a table [profiles.a]",
    );
    check(
        "profile = 'wrok'\n[profiles.work]",
        "1:11: there is no profile \"wrok\"; did you mean \"work\"?",
    );
    check(
        "[profiles]\na = 1",
        "2:5: profiles.a is a number; expected a table",
    );
    check(
        "[profiles.a]\ninherits = 1",
        "2:12: inherits is a number; expected a text, or a list of texts",
    );
    check(
        "[profiles.a]\ninherit = 'b'",
        "2:1: unknown key inherit; did you mean inherits?",
    );
    check(
        "[profiles.a]\ninherits = ['b']",
        "2:13: there is no profile \"b\"; there are a",
    );
    check(
        "[profiles.a]\ninherits = 'b'\n[profiles.b]\ninherits = ['c']\n[profiles.c]\ninherits = 'a'",
        "6:12: profiles inherit from each other: a -> b -> c -> a",
    );
    check(
        "[profiles.a]\ninherits = 'a'",
        "2:12: profiles inherit from each other: a -> a",
    );
}

#[test]
fn tables_that_set_no_option() {
    check(
        "approvals = 1",
        "1:13: approvals is a number; expected a table",
    );
    check(
        "[approvals]\nrule = []",
        "2:1: unknown key rule; did you mean rules?",
    );
    check(
        "[approvals]\nrules = 'x'",
        "2:9: rules is a text; expected a list of rules",
    );
    check(
        "[approvals]\nrules = ['x']",
        "2:10: a rule is a text; expected a table",
    );
    check(
        "[approvals]\nrules = [{ alow = 'x' }]",
        "2:12: unknown key alow; did you mean allow?",
    );
    check(
        "[approvals]\nrules = [{ allow = 1 }]",
        "2:20: allow is a number; expected a text",
    );
    check(
        "[approvals]\nrules = [{ allow = ' ' }]",
        "2:20: invalid rule ``: the name of a gadget is missing; `*` means all of them; write `Gadget` or `Gadget(pattern)`",
    );
    check(
        "[approvals]\nrules = [{ ask = '*' }, { deny = 'RunCommand(rm *' }]",
        "2:34: invalid rule `RunCommand(rm *`: the closing parenthesis is missing; write `Gadget` or `Gadget(pattern)`",
    );
    check(
        "[approvals]\nrules = [{ allow = 'x', deny = 'y' }]",
        "2:10: a rule is a table such as { allow = \"RunCommand(cargo test*)\" }, with allow, deny or ask",
    );
    check(
        "[mcp]\nserver = 1",
        "2:1: unknown key server; did you mean servers?",
    );
    check(
        "[mcp.servers]\na = 1",
        "2:5: mcp.servers.a is a number; expected a table",
    );
    check(
        "[skills]\nfolder = 'x'",
        "2:1: unknown key folder; did you mean folders?",
    );
    check(
        "[skills]\nfolders = 1",
        "2:11: folders is a number; expected a text, or a list of texts",
    );
}

#[test]
fn commands_and_prompts() {
    check(
        "[commands.agent]",
        "1:11: gadgetry has a verb agent; choose another name for the command",
    );
    check(
        "[commands.help]",
        "1:11: gadgetry has a verb help; choose another name for the command",
    );
    check(
        "[commands.'a b']",
        "1:11: invalid command name \"a b\"; expected ASCII letters, digits, hyphens and underscores, the first one not a hyphen",
    );
    check(
        "[commands.a]\ntype = 'serve'",
        "2:8: unknown type of a command; expected \"agent\", \"chat\" or \"complete\"",
    );
    check(
        "[commands.a]\npromt = 'x'",
        "2:1: unknown key promt; did you mean prompt?",
    );
    check(
        "[commands.a]\ntype = 'complete'\nbudget = 1",
        "3:1: unknown key budget; the keys are the options that `gadgetry agent --help` lists",
    );
    check(
        "[commands.a]\nprofile = 'x'",
        "2:11: there is no profile \"x\"; add a table [profiles.x]",
    );
    check(
        "[commands.a]\nprompt = '{{ x'",
        "2:10: prompt \"commands.a\", line 1: syntax error: unexpected end of input, expected end of variable block",
    );
    check(
        "system-prompt = 'a'",
        "1:1: there is no prompt \"a\"; add it to [prompts]",
    );
    check(
        "[prompts]\nbrief = 'x'\n[agent]\nsystem-prompt = 'breif'",
        "4:1: there is no prompt \"breif\"; did you mean \"brief\"?",
    );
    check(
        "[agent]\nsystem = 'x'\nsystem-prompt = 'a'\n[prompts]\na = ''",
        "3:1: system-prompt cannot be used together with system (@:2)",
    );
    check(
        "[prompts]\na = 1",
        "2:5: a is a number; expected a text, or a table { file = \"PATH\" }",
    );
    check(
        "[prompts]\na = {}",
        "2:5: the prompt a has no text; expected a text, or a table { file = \"PATH\" }",
    );
    check(
        "[prompts]\na = '{% if %}'",
        "2:5: prompt \"a\", line 1: syntax error: unexpected end of block",
    );
    check(
        "[prompts]\na = '{% include \"b\" %}'\nb = '{%- include \"c\" -%}'\nc = \"{% include 'a' %}\"",
        "4:5: circular include of prompts: a -> b -> c -> a",
    );
    check(
        "[prompts]\na = '{% include \"b\" %}'",
        "2:5: there is no prompt \"b\"; add it to [prompts]",
    );
}

/// A hostile file costs no time and no stack.
#[test]
fn limits() {
    let many = |table: &str| {
        let tables: Vec<String> = (0..501).map(|n| format!("[{table}.x{n}]")).collect();
        tables.join("\n")
    };
    check(
        &many("profiles"),
        "501:11: there are more than 500 profiles",
    );
    check(
        &many("commands"),
        "501:11: there are more than 500 commands",
    );
    let chain: Vec<String> = (0..40)
        .map(|n| format!("[profiles.p{n}]\ninherits = 'p{}'", n + 1))
        .collect();
    check(
        &chain.join("\n"),
        "64:12: more than 32 profiles inherit from each other",
    );
    let chain: Vec<String> = (0..40)
        .map(|n| format!("p{n:02} = '{{% include \"p{:02}\" %}}'", n + 1))
        .collect();
    check(
        &format!("[prompts]\n{}", chain.join("\n")),
        "33:7: more than 32 prompts include each other",
    );
    let deep = format!("tag = {}", "[".repeat(100_000));
    check(
        &deep,
        "1:87: cannot recurse further; max recursion depth met",
    );
}

/// In the environment.
#[test]
fn variables() {
    let configured = Configured::new("");
    let check = |variable: &str, value: &str, problem: &str| {
        let mut command = configured.command(&["complete", "Hello"]);
        let ended = super::Ended::of(command.env(variable, value));
        ended.check("", &format!("error: {problem}\n"), 2);
    };
    check(
        "GADGETRY_MAX_TOKENS",
        "many",
        "GADGETRY_MAX_TOKENS: invalid value 'many' for max-tokens: expected a whole number of at least 1",
    );
    check(
        "GADGETRY_QUIET",
        "yes",
        "GADGETRY_QUIET: expected true or false, not \"yes\"",
    );
    check(
        "GADGETRY_PROFILE",
        "x",
        "GADGETRY_PROFILE: there is no profile \"x\"; add a table [profiles.x]",
    );
    check(
        "GADGETRY_CONFIG",
        "x",
        "cannot read x: No such file or directory (os error 2)",
    );
}

#[test]
#[cfg(unix)]
fn configuration_that_is_not_a_readable_file_is_refused() {
    use std::os::unix::fs::symlink;

    let configured = Configured::new("");
    let path = configured.0.path("home/gadgetry/config.toml");
    let check = |problem: &str| {
        let error = format!("error: cannot read {}: {problem}\n", path.display());
        configured
            .ended(&["complete", "Hello"])
            .check("", &error, 2);
    };
    configured.0.pipe("pipe");
    symlink(configured.0.path("pipe"), &path).expect("a link");
    check("it is not a regular file");
    std::fs::remove_file(&path).expect("a link");
    std::fs::create_dir(&path).expect("a folder");
    check("Is a directory (os error 21)");
    std::fs::remove_dir(&path).expect("a folder");
    let large = std::fs::File::create(&path).expect("a file");
    large.set_len(100 << 20).expect("a length");
    check("it is larger than 1 MiB");
    std::fs::write(&path, b"\xff").expect("a file");
    check("it is not UTF-8 text");
    let missing = "error: cannot read missing.toml: No such file or directory (os error 2)\n";
    let args = ["complete", "Hello", "--config", "missing.toml"];
    configured.ended(&args).check("", missing, 2);
    let profile = "error: there is no profile \"x\"; add a table [profiles.x]\n";
    std::fs::remove_file(&path).expect("a file");
    configured
        .ended(&["complete", "Hello", "--profile", "x"])
        .check("", profile, 2);
}

#[test]
fn hooks_that_would_not_run() {
    let check = |table: &str, words: &str| {
        let configured = Configured::new(&format!("[[hooks]]\n{table}\n"));
        let ended = configured.ended(&["agent", "Go!", "--model", "script:script.jsonl"]);
        assert_eq!(ended.code, Some(2), "{table}: {ended:?}");
        assert!(ended.stderr.contains(words), "{table}: {ended:?}");
    };
    check("command = 'x'", "a hook needs an event");
    check("event = 'PreToolUse'", "a hook needs a command");
    check(
        "event = 'PreTool'\ncommand = 'x'",
        "config.toml:2:9: there is no event \"PreTool\"; there are PreToolUse, PostToolUse, PostToolUseFailure, UserPromptSubmit, Stop",
    );
    check(
        "event = 'PreToolUse'\ncommand = 'x'\nmatcher = '('",
        "is not a regular expression",
    );
    check(
        "event = 'PreToolUse'\ncommand = 'x'\ntimeout = 'soon'",
        "is not a duration",
    );
    check(
        "event = 'PreToolUse'\ncomand = 'x'",
        "did you mean command?",
    );
    for (event, matcher, words) in [
        (
            "Stop",
            "x",
            "Stop is about nothing that a matcher could match",
        ),
        ("PreCompact", "always", "manual, auto"),
        ("SessionStart", "start", "startup, resume, clear, compact"),
        ("Notification", "Bash", "permission_prompt, idle_prompt"),
        (
            "PreToolUse",
            "Write|mcp__files__.*",
            "write TOOL, or SERVER__TOOL",
        ),
    ] {
        let table = format!("event = '{event}'\nmatcher = '{matcher}'\ncommand = 'x'");
        check(&table, words);
    }
    // A guard that would never run.
    for (name, near) in [
        ("RunComand", "RunCommand"),
        ("WriteFle", "WriteFile"),
        ("Bassh", "Bash"),
        ("Edit|Wriet", "Write"),
    ] {
        check(
            &format!("event = 'PreToolUse'\ncommand = 'exit 2'\nmatcher = '{name}'"),
            &format!("did you mean {near}?"),
        );
    }
    // The program of whatever folder it is.
    for command in ["./check.sh", " ../check.sh x"] {
        check(
            &format!("event = 'PreToolUse'\ncommand = '{command}'"),
            "write its whole path",
        );
    }
}
