//! The events of `gadgetry agent --events jsonl`: what documentation says, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::workshop::{Ended, Workshop, block, reply};

/// Type; fields that are always there; those of which there is exactly one, or those that may be there.
const EVENTS: [(&str, &str, Rest); 17] = [
    ("run_start", "id model startMs", Rest::Maybe("")),
    ("model_call_start", "iteration", Rest::Maybe("")),
    ("text", "text", Rest::Maybe("")),
    (
        "gadget_call_start",
        "call gadgetName invocationId dependencies",
        Rest::Maybe(""),
    ),
    (
        "gadget_args_partial",
        "call invocationId gadgetName fieldPath delta isFieldComplete",
        Rest::Maybe(""),
    ),
    (
        "gadget_call",
        "call gadgetName invocationId dependencies parametersRaw terminatedBy span",
        Rest::OneOf("parameters parseError"),
    ),
    (
        "gadget_start",
        "call invocationId gadgetName parameters",
        Rest::Maybe(""),
    ),
    (
        "gadget_result",
        "call invocationId gadgetName durationMs cost",
        Rest::OneOf("result error"),
    ),
    (
        "gadget_skipped",
        "call invocationId gadgetName failedDependency error",
        Rest::Maybe(""),
    ),
    ("custom_block_start", "blockId tag attrs", Rest::Maybe("")),
    ("custom_block_delta", "blockId tag delta", Rest::Maybe("")),
    ("custom_block_end", "blockId tag reason", Rest::Maybe("")),
    (
        "custom_block",
        "blockId tag content attrs",
        Rest::Maybe("selfClosing"),
    ),
    ("diagnostic", "code message span", Rest::Maybe("")),
    (
        "model_call_end",
        "iteration stopReason usage cost",
        Rest::Maybe("error kind code"),
    ),
    ("iteration_end", "iteration", Rest::Maybe("")),
    (
        "run_finished",
        "reason iterations totalCost answer",
        Rest::Maybe("error kind code"),
    ),
];

/// Fields that are not in every event of a type.
#[derive(Clone, Copy)]
enum Rest {
    OneOf(&'static str),
    Maybe(&'static str),
}

impl Rest {
    fn names(self) -> BTreeSet<&'static str> {
        let (Self::OneOf(names) | Self::Maybe(names)) = self;
        names.split_whitespace().collect()
    }
}

/// A run in which everything happens.
fn workshop() -> Workshop {
    let text = format!(
        "<note mood=\"calm\">Careful.</note><br/>Look:\n{}{}{}{}!!GADGET_START:Oops\n",
        block("Echo:a", "x"),
        block("Fail:b", ""),
        block("Echo:c:b", "y"),
        "!!!GADGET_START:Echo:d\n!!!ARG:say z\n!!!GADGET_END\n",
    );
    let error = "{\"text\":\"Oh\",\"finish\":\"error\",\"usage\":{\"inputTokens\":7}}\n";
    Workshop::new(&(reply(&text) + error))
}

const TAGS: [&str; 4] = ["--tag", "note", "--tag", "br"];

#[test]
fn every_event_has_the_fields_of_the_table() {
    let (events, ended) = workshop().events(&TAGS);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let mut seen = BTreeSet::new();
    for event in &events {
        check_fields(event, &mut seen);
    }
    for (kind, _, rest) in EVENTS {
        assert!(seen.contains(kind), "no {kind} came");
        for field in rest.names() {
            let field = format!("{kind} {field}");
            assert!(seen.contains(&field), "no {field} came");
        }
    }
}

#[track_caller]
fn check_fields(event: &Value, seen: &mut BTreeSet<String>) {
    let kind = event["type"].as_str().expect("a type");
    let row = EVENTS.iter().find(|(name, _, _)| *name == kind);
    let Some((_, always, rest)) = row else {
        panic!("{event} is not in the table");
    };
    let mut expected: BTreeSet<&str> = always.split_whitespace().collect();
    expected.extend(["v", "seq", "timeMs", "run", "type"]);
    let fields: BTreeSet<&str> = event
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let more: Vec<&str> = fields.difference(&expected).copied().collect();
    assert!(expected.is_subset(&fields), "{event}");
    assert!(
        more.iter().all(|field| rest.names().contains(field)),
        "{event}"
    );
    if let Rest::OneOf(_) = rest {
        assert_eq!(more.len(), 1, "{event}");
    }
    seen.insert(kind.to_owned());
    seen.extend(more.iter().map(|field| format!("{kind} {field}")));
}

#[test]
fn the_table_is_in_the_documentation() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let section = |page: &str, title: &str| {
        let page = fs::read_to_string(docs.join(page)).expect("a page");
        let after = page.split(title).nth(1).expect("a section");
        after.split("\n## ").next().expect("an end").to_owned()
    };
    let parse = section("cli.md", "### Events\n");
    let run = section("cli/agent.md", "## Events of a run\n");
    let tables = format!("{parse}\n{run}");
    for said in ["`call`, its number", "`span`, its position"] {
        assert!(run.contains(said), "{said}");
    }
    for (kind, always, rest) in EVENTS {
        let rows = |part: &str| -> Vec<String> {
            let row = format!("| `{kind}` |");
            let rows = part.lines().filter(|line| line.starts_with(&row));
            rows.map(str::to_owned).collect()
        };
        let rows = rows(&tables);
        assert_eq!(rows.len(), 1, "{kind}: {rows:?}");
        // What a run adds to the rows of `parse` is said once.
        let fields = always
            .split_whitespace()
            .filter(|field| !["call", "span"].contains(field));
        for field in fields.chain(rest.names()) {
            let quoted = [format!("`{field}`"), format!("`{field}: ")];
            let told = quoted.iter().any(|name| rows[0].contains(name));
            assert!(told, "{field} in {}", rows[0]);
        }
    }
}

#[test]
fn the_schema_of_events_is_printed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/events.schema.json");
    let page = fs::read_to_string(page).expect("a file");
    super::check(&["events", "--schema"], "", &page, "", 0);
    let output = super::run(&["events"], b"");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_saved_run_plays_again_to_the_same_bytes() {
    let workshop = workshop();
    let (_, first) = workshop.events(&[&TAGS[..], &["--save", "run.log"]].concat());
    // Neither is needed any more.
    workshop.write("gadgets.toml", "");
    workshop.write("script.jsonl", "");
    let again = Ended::of(&mut workshop.command(&["replay", "run.log"]));
    again.check(&first.stdout, "", 0);
}

#[test]
fn progress_can_be_saved_too() {
    let workshop = Workshop::new(&(reply(&block("Echo:a", "x")) + &reply("Done.")));
    let ended = Ended::of(&mut workshop.agent(&["--save", "run.log"]));
    ended.check("Done.\n", &ended.stderr, 0);
    let again = Ended::of(&mut workshop.command(&["replay", "run.log"]));
    let events = super::workshop::events(&again.stdout);
    again.check(&again.stdout, "", 0);
    assert_eq!(events.last().expect("events")["type"], "run_finished");
}

#[test]
fn logs_that_cannot_be_played() {
    let workshop = Workshop::new(&(reply(&block("Echo:a", "ü")) + &reply("Done.")));
    let (_, whole) = workshop.events(&["--save", "run.log"]);
    let log = workshop.read("run.log").into_bytes();
    let replay = |bytes: &[u8]| {
        fs::write(workshop.path("cut.log"), bytes).expect("a file");
        Ended::of(&mut workshop.command(&["replay", "cut.log"]))
    };
    let check = |bytes: &[u8], stderr: &str, code: i32| {
        let ended = replay(bytes);
        assert!(whole.stdout.starts_with(&ended.stdout), "{ended:?}");
        ended.check(&ended.stdout, stderr, code);
    };
    let short = "error: cut.log: the log ends before the run\n";
    let header = log.iter().position(|byte| *byte == b'\n').expect("a line");
    let umlaut = log.iter().rposition(|byte| *byte == 0xC3).expect("an ü");
    // A crash cuts a log anywhere, in the middle of a character too.
    for cut in [header, header + 1, header + 9, umlaut + 1, log.len() - 3] {
        check(&log[..cut], short, 1);
    }
    check(&log[..log.len() - 1], "", 0);
    check(b"", "error: cut.log: the log is empty\n", 2);
    let not = "error: cut.log: line 1: not a line of a gadgetry log:";
    check(
        b"nonsense",
        &format!("{not} expected ident at column 2\n"),
        2,
    );
    check(
        &log[..5],
        &format!("{not} EOF while parsing a string at column 5\n"),
        2,
    );
    check(
        b"{\"version\":99}",
        "error: cut.log: the log has format version 99; this gadgetry reads version 3\n",
        2,
    );
    let second = [&log[..=header], b"{\"timeMs\":0}\n"].concat();
    check(
        &second,
        "error: cut.log: line 2: not a line of a gadgetry log: missing field `input` at column 12\n",
        2,
    );
    let stray = [
        &log[..=header],
        b"{\"timeMs\":0,\"input\":{\"done\":[7,{\"result\":{\"Ok\":\"\"}}]}}\n",
    ]
    .concat();
    let ended = replay(&stray);
    assert!(
        ended.stderr.starts_with("error: cut.log: line 2: ")
            && ended.stderr.contains("is not running"),
        "{ended:?}"
    );
    assert_eq!(ended.code, Some(2));
    let missing = Ended::of(&mut workshop.command(&["replay", "missing.log"]));
    missing.check(
        "",
        "error: cannot read missing.log: No such file or directory (os error 2)\n",
        2,
    );
}
