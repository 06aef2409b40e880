//! What is configured is kept with a session, like what is typed.

use super::super::workshop::reply;
use super::{Configured, expecting};

const CONFIG: &str = "model = 'script:../../script.jsonl'\nsystem = 'at first'\nquiet = true\n\
    [agent]\ngadgets = '../../gadgets.toml'\n";

#[test]
fn a_session_keeps_the_configuration() {
    let configured = Configured::new(CONFIG);
    configured
        .ended(&["agent", "Go!", "--session", "s"])
        .check("Hi.\n", "", 0);
    // A later change of the file changes no session, but what concerns one invocation is read again.
    configured.user("model = 'openai:none'\nsystem = 'later'\nquiet = true\n[profiles.p]\nsystem = 'of a profile'\n");
    let check = |expected: &str, args: &[&str]| {
        configured.0.write("script.jsonl", &expecting(expected));
        let args = [&["agent", "--continue", "s", "And?"], args].concat();
        configured.ended(&args).check("Hi.\n", "", 0);
    };
    check("at first", &[]);
    check("typed", &["--system", "typed"]);
    // What was typed is kept, too.
    check("typed", &[]);
    check("of a profile", &["--profile", "p"]);
    check("of a profile", &[]);
    let mut command = configured.command(&["agent", "--continue", "s", "And?"]);
    let ended = super::Ended::of(command.env("GADGETRY_SYSTEM", "variable"));
    ended.check("Hi.\n", "", 0);
    // With options before the verb.
    configured
        .0
        .write("other.toml", "quiet = true\nsystem = 'of another file'\n");
    let before = ["--config", "other.toml", "agent", "--continue", "s", "And?"];
    configured.ended(&before).check("Hi.\n", "", 0);
    // The same through `sessions resume`.
    configured
        .ended(&["sessions", "resume", "s"])
        .check("Hi.\n", "", 0);
    configured.0.write("script.jsonl", &reply("Resumed."));
    let resumed = configured.ended(&["sessions", "resume", "s", "More"]);
    resumed.check("Resumed.\n", "", 0);
}

/// Headers may hold keys.
#[test]
fn no_configured_key_is_kept() {
    let config = format!("header = ['X-Key: s3cret-value']\n{CONFIG}");
    let configured = Configured::new(&config);
    configured
        .ended(&["agent", "Go!", "--session", "s"])
        .check("Hi.\n", "", 0);
    let folder = std::fs::read_dir(configured.0.path("gadgetry/sessions")).expect("a folder");
    let files = folder.map(|it| std::fs::read(it.expect("an entry").path()).expect("a file"));
    let stored: Vec<u8> = files.flatten().collect();
    let has = |text: &str| stored.windows(text.len()).any(|it| it == text.as_bytes());
    assert!(has("--system=at first"));
    assert!(!has("s3cret-value"));
}
