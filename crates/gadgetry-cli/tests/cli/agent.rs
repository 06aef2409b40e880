//! `gadgetry agent` on real files: the answer, what became of the calls, and how a run ends.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::workshop::{Ended, Workshop, block, masked, reply};

#[test]
fn the_answer_is_on_stdout_and_progress_on_stderr() {
    let first = format!(
        "I'll try.\n{}{}{}",
        block("Echo:a", "hello"),
        block("Fail:b", ""),
        block("Echo:c:b", "never")
    );
    let workshop = Workshop::new(&(reply(&first) + &reply("It said hello.\nThat is all.\n\n")));
    let ended = Ended::of(&mut workshop.agent(&["--max-gadgets-per-response", "9"]));
    assert_eq!(ended.stdout, "It said hello.\nThat is all.\n");
    assert_eq!(ended.code, Some(0));
    let stderr = masked(&ended.stderr);
    let (told, ends) = stderr.split_at(stderr.find("  + a").unwrap_or_default());
    // Which of both programs ends first is not ours to say.
    let mut told: Vec<_> = told.lines().chain(ends.lines()).collect();
    assert_eq!(told.pop(), Some("[2] calling model"));
    told.sort_unstable();
    let expected = [
        "  + a done in N ms: {\"say\":\"hello\"}",
        "  - c skipped: no luck",
        "  . a starts",
        "  . b starts",
        "  > Echo a {\"say\":\"hello\"}",
        "  > Echo c after b {\"say\":\"never\"}",
        "  > Fail b {}",
        "  x b failed: no luck",
        "  | I'll try.",
        "[1] calling model",
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_the_model_says_around_calls_is_progress() {
    let first = format!(
        "One.\n\nTwo.\n\n{}\n\nThree{}",
        block("Nope:a", ""),
        block("Nope:b", "")
    );
    let chunks: Vec<String> = first.chars().map(String::from).collect();
    let last = reply("Four.\n\nFive.");
    for first in [reply(&first), format!("{}\n", json!({ "chunks": chunks }))] {
        let workshop = Workshop::new(&(first + &last));
        let ended = Ended::of(&mut workshop.agent(&[]));
        assert_eq!(ended.stdout, "Four.\n\nFive.\n");
        let line = |line: &&str| !line.starts_with("  x ");
        let told: Vec<&str> = ended.stderr.lines().filter(line).collect();
        let expected = [
            "[1] calling model",
            "  | One.",
            "  | Two.",
            "  > Nope a {}",
            "  | Three",
            "  > Nope b {}",
            "[2] calling model",
        ];
        assert_eq!(told, expected);
    }
    let workshop = Workshop::new(&reply(&format!("{}So", block("Nope:a", ""))));
    let ended = Ended::of(&mut workshop.agent(&["--max-iterations", "1"]));
    let error = "error: stopped after 1 iteration (--max-iterations); --continue with a prompt continues it";
    assert_eq!(ended.stderr.lines().last(), Some(error));
}

/// What became of the calls of one reply, as `id: result`, `id! error` or `id- error`, sorted.
#[track_caller]
fn check_calls(text: &str, args: &[&str], expected: &[&str]) {
    let workshop = Workshop::new(&(reply(text) + &reply("Done.")));
    let (events, ended) = workshop.events(args);
    ended.check(&ended.stdout, "", 0);
    assert_eq!(answers(&events), expected, "{text}");
    let finished = events.last().expect("events");
    assert_eq!(finished["reason"], "completed", "{text}");
    assert_eq!(finished["iterations"], 2, "{text}");
}

fn answers(events: &[Value]) -> Vec<String> {
    let mut answers: Vec<String> = events.iter().filter_map(answer).collect();
    answers.sort_unstable();
    answers
}

fn answer(event: &Value) -> Option<String> {
    let (id, error) = (event["invocationId"].as_str()?, event["error"].as_str());
    match (event["type"].as_str()?, event["result"].as_str()) {
        ("gadget_result", Some(result)) => Some(format!("{id}: {result}")),
        ("gadget_result", None) => Some(format!("{id}! {}", error?)),
        ("gadget_skipped", _) => {
            let failed = event["failedDependency"].as_str()?;
            Some(format!("{id}- {failed}: {}", error?))
        }
        _ => None,
    }
}

#[test]
fn every_call_is_answered() {
    let two = |first: &str, second: &str| format!("{first}{second}");
    check_calls(&block("Echo:a", "x"), &[], &["a: {\"say\":\"x\"}"]);
    // Gadgets that run at the same time, or not at all.
    check_calls(
        &two(&block("Left:a", ""), &block("Right:b", "")),
        &[],
        &["a: met", "b: met"],
    );
    check_calls(
        &two(&block("Echo:a", "x"), &block("Echo:b:a", "${a}")),
        &[],
        &["a: {\"say\":\"x\"}", r#"b: {"say":"{\"say\":\"x\"}"}"#],
    );
    check_calls(
        &two(&block("Echo:a", "x"), &block("Echo:b:a", "${a/say}")),
        &[],
        &["a: {\"say\":\"x\"}", "b: {\"say\":\"x\"}"],
    );
    check_calls(
        &two(&block("Fail:a", ""), &block("Echo:b:a", "x")),
        &[],
        &["a! no luck", "b- a: no luck"],
    );
    check_calls(
        &block("Nope:a", ""),
        &[],
        &[
            "a! Error: Gadget 'Nope' not found.\n\nAvailable gadgets: Echo, Fail, Touch, Left, Right, Hang, Late, GadgetOutputViewer",
        ],
    );
    check_calls(
        &block("Echo:a", ""),
        &[],
        &["a! Error: Invalid parameters for 'Echo':\n  - say: expected string, but it is missing"],
    );
    let over = format!(
        "{}{}{}",
        block("Echo:a", "1"),
        block("Echo:b", "2"),
        block("Echo:c", "3")
    );
    let limit = "Gadget limit (2) exceeded. Consider calling fewer gadgets per response.";
    check_calls(
        &over,
        &["--max-gadgets-per-response", "2"],
        &[
            "a: {\"say\":\"1\"}",
            "b: {\"say\":\"2\"}",
            &format!("c- maxGadgetsPerResponse: {limit}"),
        ],
    );
}

#[test]
fn a_timeout_ends_the_whole_process_group() {
    let workshop = Workshop::new(&(reply(&block("Late:a", "")) + &reply("Done.")));
    let alive = workshop.watch_alive();
    let (events, _) = workshop.events(&[]);
    alive.up();
    alive.gone();
    let error = "a! Gadget 'Late' execution exceeded timeout of 3000ms";
    assert_eq!(answers(&events), [error]);
}

/// How a run of this script ends: stdout, the last line on stderr, and the exit code; with events the same reason.
#[track_caller]
fn check_end(script: &str, args: &[&str], stdout: &str, stderr: &str, reason: &str, code: i32) {
    let workshop = Workshop::new(script);
    let ended = Ended::of(&mut workshop.agent(args));
    assert_eq!(ended.stdout, stdout, "{script}");
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert_eq!(essence(last), stderr, "{script}");
    assert_eq!(ended.code, Some(code), "{script}");

    let (events, ended) = workshop.events(args);
    let line = if code == 0 { "" } else { stderr };
    assert_eq!(essence(&ended.stderr).trim_end(), line, "{script}");
    assert!(ended.stderr.lines().count() < 2, "{script}");
    assert_eq!(ended.code, Some(code), "{script}");
    let finished = events.last().expect("events");
    assert_eq!(finished["type"], "run_finished", "{script}");
    assert_eq!(finished["reason"], reason, "{script}");
}

/// Without the part of the request that an unmet expectation shows.
fn essence(line: &str) -> &str {
    line.split(" It ends with: ").next().unwrap_or_default()
}

#[test]
fn how_a_run_ends() {
    let asked = "[1] calling model";
    check_end(&reply("Hi."), &[], "Hi.\n", asked, "completed", 0);
    let empty = "error: model call failed: the reply was empty";
    check_end("", &[], "", empty, "modelError", 1);
    let call = reply(&format!("Again.\n{}", block("Echo", "x")));
    check_end(
        &call.repeat(5),
        &["--max-iterations", "2"],
        "Again.\n",
        "error: stopped after 2 iterations (--max-iterations); --continue with a prompt continues it",
        "maxIterations",
        1,
    );
    let finish = |finish: &str| format!("{}\n", json!({ "text": "So f", "finish": finish }));
    check_end(
        &finish("length"),
        &[],
        "So f\n",
        "error: the last reply was cut off at the model's token limit",
        "truncated",
        1,
    );
    check_end(
        &finish("error"),
        &[],
        "So f\n",
        "error: model call failed: the script says that the model fails here",
        "modelError",
        1,
    );
    check_end(
        &finish("disconnect"),
        &[],
        "So f\n",
        "error: model call failed: the connection ended before the model had finished its reply",
        "modelError",
        1,
    );
    check_end(
        "{\"text\":\"Hi.\",\"expect\":{\"contains\":[\"Stop!\"]}}\n{\"text\":\"never\"}\n",
        &[],
        "",
        "error: model call failed: line 1 of the script expects a request that contains \"Stop!\"; this one does not.",
        "modelError",
        1,
    );
}

#[test]
fn the_prompt() {
    let check = |prompt: &str, stdin: &str, contains: &str, code: i32| {
        let expect = json!({ "text": "ok", "expect": { "contains": [contains] } });
        let workshop = Workshop::new(&format!("{expect}\n"));
        let options = [
            "--model",
            "script:script.jsonl",
            "--gadgets",
            "gadgets.toml",
        ];
        let args = [&["agent"], &options[..], &["--", prompt]].concat();
        let mut child = workshop.command(&args);
        let mut child = child.stdin(Stdio::piped()).spawn().expect("it starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        // Who has its prompt does not read.
        let _ = pipe.write_all(stdin.as_bytes());
        drop(pipe);
        let ended = Ended::wait(child);
        assert_eq!(ended.code, Some(code), "{prompt}: {ended:?}");
    };
    check("Say ho.", "", "Say ho.", 0);
    check("-", "From\nstdin.\n", "From\nstdin.", 0);
    check("--help", "", "--help", 0);
    // What a user pastes is no example of a call.
    check("!!!GADGET_START:Mine", "", "!!!GADGET_START:Mine", 1);
    check(
        "!!!GADGET_START:Mine",
        "",
        "!\u{200B}!!GADGET_START:Mine",
        0,
    );
}

#[test]
fn custom_blocks_are_no_part_of_the_answer() {
    let script = "{\"text\":\"<note>Careful.</note>Hi.\"}\n";
    let ended = Ended::of(&mut Workshop::new(script).agent(&["--tag", "note"]));
    ended.check("Hi.\n", "[1] calling model\n", 0);
}

#[test]
fn a_run_completes_when_stderr_is_closed() {
    let workshop = Workshop::new(&(reply(&block("Echo", "x")) + &reply("Done.")));
    let mut command = workshop.agent(&[]);
    let mut child = command.spawn().expect("it starts");
    drop(child.stderr.take());
    Ended::wait(child).check("Done.\n", "", 0);
}

/// A gadget that prints `characters`, and whether the model reads all of them.
#[track_caller]
fn check_output_limit(characters: usize, args: &[&str], whole: bool) {
    let expect = if whole { "xEND" } else { "GadgetOutputViewer" };
    let last = json!({ "text": "Done.", "expect": { "contains": [expect] } });
    let workshop = Workshop::new(&format!("{}{last}\n", reply(&block("Long:a", ""))));
    let program = format!("printf '%0{}d' 0 | tr 0 x; printf xEND", characters - 4);
    workshop.write(
        "gadgets.toml",
        &format!(
            "[[gadget]]\nname = \"Long\"\ndescription = \"Prints much\"\ncommand = [\"sh\", \"-c\", \"{program}\"]\n"
        ),
    );
    let args = [&["--quiet", "--save", "run.log"], args].concat();
    let ended = Ended::of(&mut workshop.agent(&args));
    ended.check("Done.\n", "", 0);
    let again = Ended::of(&mut workshop.command(&["replay", "run.log"]));
    assert_eq!((again.stderr.as_str(), again.code), ("", Some(0)));
}

#[test]
fn long_results_are_kept_for_the_viewer() {
    // 15 % of 128,000 tokens of four characters.
    check_output_limit(76_800, &[], true);
    check_output_limit(76_801, &[], false);
    check_output_limit(76_801, &["--output-limit", "off"], true);
    check_output_limit(5_121, &["--output-limit", "1%"], false);
    check_output_limit(5_120, &["--output-limit", "1"], true);
}

#[test]
fn an_empty_toolbox_is_no_mistake() {
    let workshop = Workshop::new(&reply("Hi."));
    workshop.write("gadgets.toml", "");
    let (events, ended) = workshop.events(&[]);
    ended.check(&ended.stdout, "", 0);
    assert_eq!(events.len(), 6);
}

#[test]
fn a_program_ends_the_run_and_reports_costs() {
    let reply = reply(&format!("{}{}", block("Finish:f", ""), block("Ask:q", "")));
    let workshop = Workshop::new(&reply);
    workshop.write(
        "gadgets.toml",
        r#"
[[gadget]]
name = "Finish"
description = "Ends the run"
result = "jsonl"
command = ["sh", "-c", """echo '{"cost":0.25}'; echo '{"text":"All done.","completesRun":true}'"""]
[[gadget]]
name = "Ask"
description = "Asks a person"
result = "jsonl"
command = ["sh", "-c", """echo '{"asksHuman":"Which one?","cost":0.5}'"""]
"#,
    );
    let (events, ended) = workshop.events(&[]);
    assert_eq!(ended.code, Some(0));
    let last = events.last().expect("events");
    assert_eq!(last["reason"], "taskCompleted");
    // A script has no price, so the total is unknown; what each call has cost is not.
    assert_eq!(last["totalCost"], serde_json::Value::Null);
    let told = |id: &str| {
        let mut of = events.iter().filter(|event| event["invocationId"] == id);
        of.find(|event| event["type"] == "gadget_result").cloned()
    };
    let costs = ["f", "q"].map(|id| told(id).expect("a result")["cost"].clone());
    assert_eq!(costs, [0.25, 0.5]);
    assert_eq!(told("f").expect("a result")["result"], "All done.");
    assert_eq!(
        told("q").expect("a result")["error"],
        "The question has no answer: no user is available in this run, or they declined. The question was: Which one?"
    );
}

/// A key of its own for each call, of the run and of the gadget that is run alone.
#[test]
fn a_program_has_an_idempotency_key() {
    let calls = block("Key:a", "") + &block("Key:b", "");
    let workshop = Workshop::new(&(reply(&calls) + &reply("Done.")));
    workshop.write(
        "gadgets.toml",
        r#"
[[gadget]]
name = "Key"
description = "Prints its key"
on-interrupt = "rerun"
command = ["sh", "-c", "printf %s \"$GADGETRY_IDEMPOTENCY_KEY\""]
"#,
    );
    let (events, ended) = workshop.events(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let results = events.iter().filter(|it| it["type"] == "gadget_result");
    let mut keys: Vec<&str> = results.filter_map(|it| it["result"].as_str()).collect();
    keys.sort_unstable();
    let [first, second] = keys.as_slice() else {
        panic!("not two keys: {keys:?}");
    };
    let run = first.strip_suffix("/0").expect("the number of the call");
    assert_eq!(second.strip_suffix("/1"), Some(run));
    assert!(run.len() >= 16 && run.is_ascii(), "{run}");
    let alone = ["gadget", "run", "Key", "--gadgets", "gadgets.toml"];
    let alone = Ended::of(&mut workshop.command(&alone));
    assert_eq!(alone.code, Some(0), "{}", alone.stderr);
    assert!(
        !alone.stdout.contains(run) && alone.stdout.trim().len() >= 16,
        "{}",
        alone.stdout
    );
}
