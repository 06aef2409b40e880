//! Commands of `after-edit` run after a file was changed.

use super::super::workshop::{call, events, reply};
use super::Configured;

const WRITE: &str = "!!!ARG:filePath\nnew.rs\n!!!ARG:content\nx\n";

/// What the model reads of the change, and what not.
#[track_caller]
fn check(configured: &Configured, options: &[&str], read: &[&str], not: &[&str]) {
    let script = reply(&call("WriteFile:w", WRITE)) + &reply("Done.");
    configured.0.write("script.jsonl", &script);
    drop(std::fs::remove_file(configured.0.path("new.rs")));
    let agent = [
        "agent",
        "Go!",
        "--model",
        "script:script.jsonl",
        "--no-session",
        "--events",
        "jsonl",
    ];
    let ended = configured.ended(&[&agent[..], options].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let events = events(&ended.stdout);
    let mut results = events
        .iter()
        .filter_map(|it| it["result"].as_str().or(it["error"].as_str()));
    let result = results.next().expect("a result");
    for text in read {
        assert!(result.contains(text), "{text}: {result}");
    }
    for text in not {
        assert!(!result.contains(text), "{text}: {result}");
    }
}

#[test]
fn commands_run_after_changes_of_their_files() {
    let allowed = ["--approval", "allow WriteFile"];
    let configured = Configured::new(
        "after-edit = ['echo all $GADGETRY_FILE', { files = ['*.rs', '*.toml'], command = 'echo rust; exit 1', timeout = '1m' }, \
         { files = '*.py', command = 'echo python' }]\n",
    );
    let read = [
        "after the edit: echo all $GADGETRY_FILE\nstatus=0\n\nall ./new.rs",
        "after the edit: echo rust; exit 1\nstatus=1\n\nrust",
    ];
    check(&configured, &allowed, &read, &["python"]);
    // Without a change there is none.
    check(
        &configured,
        &["--dry-run"],
        &["Dry run"],
        &["after the edit"],
    );
}

#[test]
fn those_of_a_project_need_consent() {
    let configured = Configured::new("after-edit = ['echo of the user']\n");
    let allowed = ["--approval", "allow WriteFile"];
    let of_project = "after-edit = [{ files = ['*.rs'], command = 'echo of the project' }]\n";
    configured.0.write("gadgetry.toml", of_project);
    check(
        &configured,
        &allowed,
        &["\nof the user"],
        &["of the project"],
    );
    configured.project(of_project);
    let shown = configured.ended(&["config", "trust"]).stdout;
    let line = "after-edit [\"*.rs\"] = \"echo of the project\"";
    assert!(shown.contains(line), "{shown}");
    check(
        &configured,
        &allowed,
        &["\nof the user", "\nof the project"],
        &[],
    );
}

#[test]
fn invalid_commands_after_edits_are_refused() {
    let check = |text: &str, problem: &str| {
        let ended = Configured::new(text).ended(&["config"]);
        assert!(ended.stderr.contains(problem), "{text}: {ended:?}");
        assert_eq!(ended.code, Some(2), "{text}: {ended:?}");
    };
    check(
        "after-edit = 'x'",
        "after-edit is a text; expected a list of commands",
    );
    check("after-edit = [1]", "after-edit");
    check(
        "after-edit = [{ files = '*.rs' }]",
        "after-edit needs a command",
    );
    check("after-edit = [{ comand = 'x' }]", "did you mean command?");
    check(
        "after-edit = [{ command = 'x', timeout = 'soon' }]",
        "\"soon\" is not a duration such as 30s",
    );
    check(
        "after-edit = [{ command = 'x', files = '[' }]",
        "invalid glob",
    );
    check("after-edt = ['x']", "did you mean after-edit?");
}

#[test]
fn they_are_listed_with_the_hooks() {
    let configured = Configured::new(
        "after-edit = ['make check']\n[[hooks]]\nevent = 'PreToolUse'\nmatcher = 'WriteFile'\ncommand = 'exit 2'\n",
    );
    let shown = configured.ended(&["config"]).stdout;
    let file = configured.0.path("home/gadgetry/config.toml");
    let place = |position: &str| format!("{}:{position}", file.display());
    for line in [
        format!(
            "\n[hooks]\nPreToolUse matcher \"WriteFile\" command \"exit 2\"  {}\n",
            place("2:1")
        ),
        format!(
            "\n[after-edit]\ncommand \"make check\"  {}\n",
            place("1:15")
        ),
    ] {
        assert!(shown.contains(&line), "{line}{shown}");
    }
    let json = configured.ended(&["config", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["hooks"][0]["matcher"], "WriteFile");
    assert_eq!(json["afterEdit"][0]["command"], "make check");
}
