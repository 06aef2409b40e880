//! Custom commands and prompts.

use std::process::Stdio;

use super::super::workshop::{Ended, block, reply};
use super::{Configured, expecting};

const COMMANDS: &str = r#"
model = 'script:../../script.jsonl'
[prompts]
brief = "Be brief.{% include 'today' %}"
today = " Today is {{ date }}; {{ env.USER | default('someone') }}."
long = { file = "long.md" }
key = "{{ env.OPENAI_API_KEY }}"
loop = "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}"
[profiles.hot]
temperature = 1.5
[commands.review]
type = "complete"
description = "Reviews a change"
prompt = "Review {{ args }}:\n{{ stdin }}"
system-prompt = "brief"
profile = "hot"
[commands.count]
description = "Counts"
gadgets = "../../gadgets.toml"
[commands.fixed]
type = "complete"
prompt = "The same"
[commands.long]
type = "complete"
prompt = "{% include 'long' %}"
[commands.secret]
type = "complete"
system-prompt = "key"
prompt = "x"
[commands.unset]
type = "complete"
prompt = "{{ nothing }}"
[commands.loop]
type = "complete"
prompt = "{% include 'loop' %}"
"#;

fn check(configured: &Configured, args: &[&str], stdin: &str, contains: &str) {
    configured.0.write("script.jsonl", &expecting(contains));
    configured.0.write("stdin", stdin);
    let stdin = std::fs::File::open(configured.0.path("stdin")).expect("a file");
    let mut command = configured.command(args);
    let ended = Ended::of(command.env("USER", "ada").stdin(Stdio::from(stdin)));
    assert_eq!(
        (&*ended.stdout, ended.code),
        ("Hi.\n", Some(0)),
        "{args:?}: {ended:?}"
    );
}

fn mistake(configured: &Configured, args: &[&str], problem: &str) {
    let ended = configured.ended(args);
    let path = configured.0.path("home/gadgetry/config.toml");
    let problem = problem.replace('@', &path.display().to_string());
    ended.check("", &format!("error: {problem}\n"), 2);
}

#[test]
fn commands_run_their_verb() {
    let configured = Configured::new(COMMANDS);
    configured
        .0
        .write("home/gadgetry/long.md", "From {{ args }} a file");
    check(
        &configured,
        &["review", "only", "the tests"],
        "diff",
        "Review only the tests:\ndiff",
    );
    check(&configured, &["review", "x"], "", "Be brief. Today is 20");
    check(&configured, &["review", "x"], "", "; ada.");
    check(
        &configured,
        &["review", "--system", "typed", "x"],
        "",
        "typed",
    );
    check(&configured, &["-v", "review", "x", "-q"], "", "Review x");
    check(&configured, &["long", "all of"], "", "From all of a file");
    check(&configured, &["fixed"], "", "The same");
    // Without a prompt of its own, the words are the prompt.
    check(&configured, &["count", "one", "two"], "", "one two");
    check(&configured, &["count", "--", "-x"], "", "-x");
    let value = configured.ended(&["config", "--json"]).stdout;
    assert!(
        value.contains(r#""name":"review","type":"complete","description":"Reviews a change""#),
        "{value}"
    );
    let help = configured.ended(&["--help"]).stdout;
    assert!(help.contains("\n  review       Reviews a change"), "{help}");
    assert!(configured.ended(&[]).stdout.contains("Reviews a change"));
    let help = configured.ended(&["review", "--help"]).stdout;
    assert!(
        help.contains("Reviews a change") && help.contains("--temperature"),
        "{help}"
    );
    assert!(
        configured
            .ended(&["help", "review"])
            .stdout
            .contains("[WORDS]...")
    );
}

#[test]
fn mistakes_in_the_use_of_commands() {
    let configured = Configured::new(COMMANDS);
    mistake(&configured, &["xyzzy"], "unrecognized subcommand 'xyzzy'");
    mistake(
        &configured,
        &["reviw"],
        "unrecognized subcommand 'reviw'; tip: a similar subcommand exists: 'review'",
    );
    mistake(
        &configured,
        &["fixed", "x"],
        "unexpected argument 'x' found; the prompt of fixed does not refer to args",
    );
    mistake(
        &configured,
        &["fixed", "--budget", "1"],
        "unexpected argument '--budget' found; tip: a similar argument exists: '--quiet'",
    );
    mistake(
        &configured,
        &["fixed", "--max-tokens", "0"],
        "invalid value '0' for '--max-tokens <N>': expected a whole number of at least 1",
    );
    mistake(
        &configured,
        &["count"],
        "the following required arguments were not provided: <PROMPT>",
    );
    mistake(
        &configured,
        &["count", "--continue"],
        "count begins sessions; continue one with `gadgetry agent --continue`",
    );
    let missing = configured.0.path("home/gadgetry/long.md");
    let missing = format!(
        "@:6:17: cannot read {}: No such file or directory (os error 2)",
        missing.display()
    );
    mistake(&configured, &["long"], &missing);
    mistake(
        &configured,
        &["secret"],
        "@:7:7: prompt \"key\", line 1: invalid operation: env.OPENAI_API_KEY is not available to prompts; available are \
         COMPUTERNAME, EDITOR, HOME, HOSTNAME, LANG, LC_ALL, LOGNAME, PWD, SHELL, TERM, TZ, USER, USERNAME, VISUAL, and GADGETRY_PROMPT_…",
    );
    mistake(
        &configured,
        &["unset"],
        "@:32:10: prompt \"commands.unset\", line 1: undefined value",
    );
    mistake(
        &configured,
        &["loop"],
        "@:8:8: prompt \"loop\", line 1: it takes too many steps",
    );
}

/// Command line > environment > command > project > profile > user.
#[test]
fn a_command_takes_precedence_over_files() {
    let configured = Configured::new(
        "model = 'script:../../script.jsonl'\nsystem = 'of the user'\n\
         [profiles.p]\nsystem = 'of a profile'\n[profiles.q]\nsystem = 'of another'\n\
         [commands.own]\ntype = 'complete'\nsystem = 'of the command'\nprofile = 'p'\n\
         [commands.none]\ntype = 'complete'\n[commands.profile]\ntype = 'complete'\nprofile = 'p'\n",
    );
    check(&configured, &["none", "x"], "", "of the user");
    check(&configured, &["profile", "x"], "", "of a profile");
    check(
        &configured,
        &["--profile", "q", "profile", "x"],
        "",
        "of another",
    );
    check(
        &configured,
        &["profile", "x", "--profile=q"],
        "",
        "of another",
    );
    check(
        &configured,
        &["none", "x", "--profile", "q"],
        "",
        "of another",
    );
    check(
        &configured,
        &["own", "x", "--profile", "q"],
        "",
        "of the command",
    );
    configured.project("system = 'of the project'\n");
    check(&configured, &["none", "x"], "", "of the project");
    check(&configured, &["profile", "x"], "", "of the project");
    check(&configured, &["own", "x"], "", "of the command");
    check(&configured, &["own", "x", "--system", "typed"], "", "typed");
    configured.0.write("script.jsonl", &expecting("variable"));
    let mut command = configured.command(&["own", "x"]);
    let ended = Ended::of(command.env("GADGETRY_SYSTEM", "variable"));
    assert_eq!(
        (&*ended.stdout, ended.code),
        ("Hi.\n", Some(0)),
        "{ended:?}"
    );
}

/// A template reads a file of at most 1 MiB.
#[test]
fn files_of_prompts_have_a_cap() {
    let configured = Configured::new(COMMANDS);
    configured
        .0
        .write("home/gadgetry/long.md", &"x".repeat((1 << 20) + 1));
    let ended = configured.ended(&["long"]);
    assert!(
        ended.stderr.ends_with("it is larger than 1 MiB\n"),
        "{ended:?}"
    );
}

/// The run of a custom command is a session that repeats what was configured.
#[test]
fn a_command_is_an_agent_with_gadgets() {
    let configured = Configured::new(COMMANDS);
    let script = reply(&block("Touch:a", "")) + &reply("Done.");
    configured.0.write("script.jsonl", &script);
    let ended = configured.ended(&["count", "x", "--quiet", "--session", "s"]);
    ended.check("Done.\n", "", 0);
    assert!(configured.0.has("trace"));
    configured.0.write("script.jsonl", &reply("More."));
    configured.user("");
    let ended = configured.ended(&["agent", "--continue", "s", "And?", "--quiet"]);
    ended.check("More.\n", "", 0);
}

/// Its prompt is the first message, and its session is one of `chat`.
#[cfg(feature = "chat")]
#[test]
fn a_command_can_be_a_conversation() {
    let configured = Configured::new(
        "[commands.talk]\ntype = 'chat'\ndescription = 'Talks'\nprompt = 'Discuss {{ args }}'\n\
         model = 'script:../../script.jsonl'\nquiet = true\n[chat]\nsystem = 'Be brief.'\n",
    );
    let second = serde_json::json!({ "text": "More.", "expect": { "contains": ["And?"] } });
    let script = format!("{}\n{second}\n", expecting("Discuss the plan"));
    configured.0.write("script.jsonl", &script);
    configured.0.write("stdin", "And?\n");
    let stdin = std::fs::File::open(configured.0.path("stdin")).expect("a file");
    let mut command = configured.command(&["talk", "the", "plan", "--session", "t"]);
    let ended = Ended::of(command.stdin(Stdio::from(stdin)));
    ended.check("Hi.\nMore.\n", "", 0);
    let shown = configured.ended(&["sessions", "show", "t"]).stdout;
    assert!(shown.contains("Discuss the plan"), "{shown}");
    let again = "talk begins sessions; continue one with `gadgetry chat --continue`";
    mistake(&configured, &["talk", "--continue"], again);
    assert!(configured.ended(&["--help"]).stdout.contains("Talks"));
}
