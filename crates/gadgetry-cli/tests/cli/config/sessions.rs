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
    // Of a profile that is typed, all keys are used, also those that a variable has.
    configured
        .0
        .write("script.jsonl", &expecting("of a profile"));
    let mut command = configured.command(&["agent", "--continue", "s", "And?", "--profile", "p"]);
    let ended = super::Ended::of(command.env("GADGETRY_SYSTEM", "variable"));
    ended.check("Hi.\n", "", 0);
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

/// Earlier versions stored the options as words of the command line.
#[test]
fn a_session_of_an_earlier_version_still_opens() {
    let configured = Configured::new(CONFIG);
    let begin = ["agent", "Go!", "--session", "s", "--tag", "a"];
    configured.ended(&begin).check("Hi.\n", "", 0);
    let stored = details(&configured, |folder| {
        let script = configured.0.path("script.jsonl");
        let gadgets = configured.0.path("gadgets.toml");
        serde_json::json!({
            "options": [
                format!("--gadgets={}", gadgets.display()),
                "--sandbox",
                "--tag=a",
                "--tag=b",
                format!("--model=script:{}", script.display()),
                "--system=of words = of words",
                "--yes",
            ],
            "leftOut": ["header"],
            "folder": folder,
        })
    });
    assert!(stored.contains("--system="), "{stored}");
    let script = expecting("of words = of words");
    configured.0.write("script.jsonl", &script);
    let note =
        "--header may contain a key and was not kept; give it again if the server needs it\n";
    configured.user("");
    let ended = configured.ended(&["agent", "--continue", "s", "And?"]);
    assert_eq!(
        (&*ended.stdout, ended.code),
        ("Hi.\n", Some(0)),
        "{ended:?}"
    );
    assert!(ended.stderr.starts_with(note), "{ended:?}");
    // From now on it is written as data, without what was of one run.
    let stored = details(&configured, |_| serde_json::Value::Null);
    let stored: serde_json::Value = serde_json::from_str(&stored).expect("JSON");
    assert_eq!(stored["version"], 1, "{stored}");
    assert_eq!(stored["options"]["tag"], serde_json::json!(["a", "b"]));
    assert_eq!(stored["options"]["sandbox"], true);
    assert_eq!(stored["options"]["yes"], serde_json::Value::Null);
    assert_eq!(stored["leftOut"][0], "header");
}

/// A session of a later version is refused, and not misread.
#[test]
fn a_session_of_a_later_version_is_refused() {
    let configured = Configured::new(CONFIG);
    configured
        .ended(&["agent", "Go!", "--session", "s"])
        .check("Hi.\n", "", 0);
    details(
        &configured,
        |folder| serde_json::json!({ "version": 2, "options": {}, "folder": folder }),
    );
    let later =
        "error: the session was written by a later version (its options have version 2, not 1)\n";
    let ended = configured.ended(&["agent", "--continue", "s", "And?"]);
    ended.check("", later, 2);
}

/// Replaces what is stored with the latest run of the only session by what `change` makes of its folder, unless that is null.
/// Returns what is stored then.
fn details(
    configured: &Configured,
    change: impl Fn(&serde_json::Value) -> serde_json::Value,
) -> String {
    let path = configured.0.path("gadgetry/sessions/sessions.db");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.expect("a runtime").block_on(async {
        let journal = gadgetry_store::SqliteJournal::open(path).expect("sessions");
        let runs = journal.runs().await.expect("runs");
        let run = runs
            .into_iter()
            .max_by_key(|run| run.id.to_string())
            .expect("a run");
        let stored = run.details.expect("details");
        let read: serde_json::Value = serde_json::from_str(&stored).expect("JSON");
        let changed = change(&read["folder"]);
        if changed.is_null() {
            return stored;
        }
        let changed = changed.to_string();
        let kept = journal.set_details(&run.id, changed.clone()).await;
        kept.expect("written");
        journal.flush().await;
        changed
    })
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
    assert!(has(r#""system":"at first""#));
    assert!(!has("s3cret-value"));
}
