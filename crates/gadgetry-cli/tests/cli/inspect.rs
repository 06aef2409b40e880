//! `gadgetry inspect`: files that it writes, and its page in a real browser.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use serde_json::{Value, json};

use super::workshop::{Ended, Workshop, block, call, reply};
use super::{GADGETRY, found};

/// The script that opens pages.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/inspect.mjs");

/// A workshop in which this run was saved as `run.jsonl`.
fn saved(script: &str) -> Workshop {
    let workshop = Workshop::new(script);
    let ended = Ended::of(&mut workshop.agent(&["--no-config", "--save", "run.jsonl"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    workshop
}

/// Two calls, of which one waits for the other.
fn finished() -> Workshop {
    let calls = [block("Echo:a", "one"), block("Echo:b:a", "two")].concat();
    saved(&[reply(&calls), reply("Both are done.")].concat())
}

/// A call that fails, and one that is skipped because of it.
fn failed() -> Workshop {
    let calls = [block("Fail:a", ""), block("Echo:b:a", "two")].concat();
    saved(&[reply(&calls), reply("Nothing is done.")].concat())
}

/// A server of the page. It ends with the test.
struct Page {
    server: Child,
    url: String,
}

impl Page {
    fn of(workshop: &Workshop, args: &[&str]) -> Self {
        let mut server = workshop
            .command(&[&["inspect"], args].concat())
            .spawn()
            .expect("it starts");
        let stdout = server.stdout.take().expect("a pipe");
        let mut url = String::new();
        BufReader::new(stdout).read_line(&mut url).expect("a line");
        let url = url.trim().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self { server, url }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn exports_are_new_files_without_keys() {
    let key = "sk-test-0123456789abcdef0123456789";
    let command = "curl -u ada:pa55 https://hooks.slack.com/services/T0/B0/h00k 'https://x/?key=k7xq&sig=s8zw'";
    let calls = [
        block("Echo:a", key),
        block("Echo:b", "my-own-secret-word"),
        block("Echo:c", command),
    ];
    let calls = calls.concat();
    let workshop = saved(&[reply(&calls), reply("Done.")].concat());
    let mut command = workshop.command(&[
        "inspect",
        "run.jsonl",
        "--html",
        "run.html",
        "--perfetto",
        "run.json",
    ]);
    command.env("SHOP_TOKEN", "my-own-secret-word");
    Ended::of(&mut command).check("", "", 0);
    let (page, trace) = (workshop.read("run.html"), workshop.read("run.json"));
    for text in [&page, &trace] {
        for secret in [key, "my-own-secret-word", "pa55", "h00k", "k7xq", "s8zw"] {
            assert!(!text.contains(secret), "{secret}");
        }
        assert!(text.contains("Echo") && text.contains("***"));
    }
    let trace: Value = serde_json::from_str(&trace).expect("JSON");
    assert!(
        trace["traceEvents"]
            .as_array()
            .is_some_and(|it| it.len() > 5)
    );
    let again = "error: run.html exists already; remove it or name another file\n";
    Ended::of(&mut command).check("", again, 2);
}

#[test]
fn what_cannot_be_shown_is_an_error() {
    let workshop = Workshop::new("");
    workshop.write("empty.jsonl", "");
    workshop.write("other.jsonl", "{\"a\": 1}\n");
    let check = |args: &[&str], words: &str| {
        let ended = Ended::of(&mut workshop.command(&[&["inspect"], args].concat()));
        assert!(ended.stderr.contains(words), "{args:?}: {ended:?}");
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
    };
    check(&["--html", "a.html"], "name a session or a file to export");
    check(&["empty.jsonl"], "the log is empty");
    check(&["other.jsonl"], "line 1: not a line of a gadgetry log");
    check(&["gone.jsonl"], "neither a file nor the name of a session");
    check(&["gone"], "there is no session gone");
    check(
        &[".", "--html", "a.html"],
        "neither a file nor the name of a session",
    );
}

#[test]
fn only_verbs_with_runs_have_a_page() {
    let workshop = Workshop::new("");
    let words = "error: --inspect is an option of verbs that run agents, and of `serve`; `gadgetry inspect` shows sessions and logs\n";
    for args in [&["--inspect", "models"][..], &["demo", "--inspect"]] {
        Ended::of(&mut workshop.command(args)).check("", words, 2);
    }
}

#[test]
fn two_hundred_calls_fit_into_a_megabyte() {
    let workshop = Workshop::new("");
    workshop.write(
        "events.jsonl",
        &events(200, &"A result of some length. ".repeat(400)),
    );
    let mut command = workshop.command(&["inspect", "events.jsonl", "--html", "a.html"]);
    Ended::of(&mut command).check("", "", 0);
    let page = workshop.read("a.html");
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert!(page.contains("characters left out"));
}

/// Events of replies with one call each.
fn events(calls: usize, result: &str) -> String {
    let mut lines = String::new();
    let mut seq = 0;
    let mut line = |time: usize, mut fields: Value| {
        fields["v"] = 1.into();
        fields["seq"] = seq.into();
        fields["timeMs"] = time.into();
        seq += 1;
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{fields}");
    };
    for call in 0..calls {
        let time = call * 10;
        let id = format!("c{call}");
        line(
            time,
            json!({ "type": "model_call_start", "iteration": call + 1 }),
        );
        line(
            time + 2,
            json!({ "type": "gadget_call", "call": call, "gadgetName": "Echo", "invocationId": id, "dependencies": [],
            "parametersRaw": "", "parameters": { "number": call }, "terminatedBy": "endMarker", "span": { "start": 0, "end": 0 } }),
        );
        line(
            time + 3,
            json!({ "type": "model_call_end", "iteration": call + 1, "stopReason": "stop", "usage": {}, "cost": 0.001 }),
        );
        line(
            time + 9,
            json!({ "type": "gadget_result", "call": call, "gadgetName": "Echo", "invocationId": id, "result": result, "durationMs": 5 }),
        );
    }
    lines
}

/// A call with a subagent that has a call of its own.
fn nested() -> String {
    let path = json!([{ "call": 0, "invocationId": "a", "agent": 0 }]);
    let call = json!({ "type": "gadget_call", "call": 0, "gadgetName": "Ask", "invocationId": "a", "dependencies": [], "parametersRaw": "",
        "parameters": {}, "terminatedBy": "endMarker", "span": { "start": 0, "end": 0 } });
    let result = json!({ "type": "gadget_result", "call": 0, "gadgetName": "Ask", "invocationId": "a", "result": "done", "durationMs": 1 });
    let begin = json!({ "type": "model_call_start", "iteration": 1 });
    let end = json!({ "type": "model_call_end", "iteration": 1, "stopReason": "stop", "usage": {}, "cost": 0.25 });
    let start = json!({ "type": "run_start", "id": "r/0.0", "agent": "clerk", "model": "small" });
    let last = json!({ "type": "run_finished", "reason": "completed", "iterations": 1, "totalCost": 0.25, "answer": "yes" });
    let own = [&begin, &call, &end].map(|it| (it, false));
    let inner = [&start, &begin, &call, &end, &result, &last].map(|it| (it, true));
    let events = own
        .into_iter()
        .chain(inner)
        .chain([(&result, false), (&last, false)]);
    let lines = events.enumerate().map(|(seq, (event, is_inner))| {
        let mut event = event.clone();
        event["v"] = 1.into();
        event["seq"] = seq.into();
        event["timeMs"] = (seq * 10).into();
        if is_inner {
            event["path"] = path.clone();
            event["run"] = "r/0.0".into();
        }
        format!("{event}\n")
    });
    lines.collect()
}

/// Events with markup, controls and a megabyte in every text.
fn hostile() -> String {
    let attacks = [
        "<img src=x onerror=\"globalThis.owned=1;alert(1)\">",
        "</script><script>globalThis.owned=1;alert(1)</script>",
        "\"><svg onload=alert(1)><iframe srcdoc='<script>parent.owned=1</script>'>",
        "javascript:alert(1)//<a href=javascript:alert(1)>x</a><base href=//example.com>",
        "\u{202e}gpj.exe\u{2066} \u{1b}[2J\u{0} \u{e0041} <!--<script>",
        "__proto__",
        "constructor",
    ];
    let long = "<b>A</b>\u{202e}".repeat(100_000);
    let mut lines = String::new();
    let mut seq = 0;
    let mut line = |mut fields: Value| {
        fields["v"] = 1.into();
        fields["seq"] = seq.into();
        fields["timeMs"] = seq.into();
        seq += 1;
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{fields}");
    };
    for (call, attack) in attacks.iter().enumerate() {
        let path = json!([{ "call": 0, "invocationId": attack, "agent": call }]);
        let path = if call % 2 == 1 { path } else { json!([]) };
        line(
            json!({ "type": "run_start", "path": path, "run": attack, "id": attack, "agent": attack, "model": attack, "metadata": { *attack: attack } }),
        );
        line(json!({ "type": "model_call_start", "path": path, "run": attack, "iteration": 1 }));
        line(json!({ "type": "text", "path": path, "text": long }));
        line(json!({ "type": "reasoning", "path": path, "text": attack }));
        line(
            json!({ "type": "custom_block", "path": path, "blockId": "block_1", "tag": attack, "content": long, "attrs": { *attack: attack } }),
        );
        line(
            json!({ "type": "gadget_call", "path": path, "call": call, "gadgetName": attack, "invocationId": attack, "dependencies": [attack, "a"],
            "parametersRaw": attack, "parameters": { *attack: long }, "terminatedBy": "endMarker", "span": { "start": 0, "end": 0 } }),
        );
        line(
            json!({ "type": "approval_required", "path": path, "call": call, "invocationId": attack, "approval": format!("{call}-{:032x}", 7), "gadgetName": attack,
            "parameters": {}, "subject": { "kind": "command", "text": attack }, "diff": attack, "notes": [attack] }),
        );
        line(
            json!({ "type": "gadget_progress", "path": path, "call": call, "invocationId": attack, "gadgetName": attack, "message": attack }),
        );
        line(
            json!({ "type": "human_input_required", "path": path, "call": call, "invocationId": attack, "question": attack }),
        );
        line(
            json!({ "type": "gadget_result", "path": path, "call": call, "gadgetName": attack, "invocationId": attack, "error": attack, "durationMs": 99 }),
        );
        line(
            json!({ "type": "model_call_end", "path": path, "iteration": 1, "stopReason": attack, "usage": {}, "cost": null, "kind": "other", "error": attack }),
        );
    }
    line(
        json!({ "type": "run_finished", "reason": "completed", "iterations": 1, "totalCost": null, "answer": long }),
    );
    lines
}

/// Everything that the script checks, in one browser, because it takes longer to start than to look.
#[test]
fn pages_in_a_browser() {
    let (Some(modules), Some(browser)) =
        (found::installed("playwright"), found::installed("chromium"))
    else {
        return;
    };
    let (finished, failed) = (finished(), failed());
    let other = Workshop::new("");
    other.write("long.jsonl", &events(2_500, "done"));
    other.write("hostile.jsonl", &hostile());
    other.write("nested.jsonl", &nested());
    let export = |workshop: &Workshop, file: &str| {
        let mut command = workshop.command(&["inspect", file, "--html", "page.html"]);
        Ended::of(&mut command).check("", "", 0);
        file_url(&workshop.path("page.html"))
    };
    let exported = export(&finished, "run.jsonl");
    let hostile_file = export(&other, "hostile.jsonl");
    fs::copy(failed.path("run.jsonl"), finished.path("failed.jsonl")).expect("a copy");
    let run = ["run.jsonl"];
    let pages = [
        ("finished", Page::of(&finished, &run)),
        ("keyboard", Page::of(&finished, &run)),
        ("failed", Page::of(&failed, &run)),
        ("long", Page::of(&other, &["long.jsonl"])),
        ("nested", Page::of(&other, &["nested.jsonl"])),
        ("hostile", Page::of(&other, &["hostile.jsonl"])),
        (
            "compared",
            Page::of(&finished, &["failed.jsonl", "run.jsonl"]),
        ),
    ];
    let waiting = Waiting::new();
    let urls = pages.iter().map(|(name, page)| (*name, page.url.clone()));
    let answer = waiting.workshop.path("answer").display().to_string();
    let files = [
        ("exported", exported),
        ("hostileFile", hostile_file),
        ("waiting", waiting.url.clone()),
        ("answer", answer),
    ];
    let urls: Value = urls
        .chain(files)
        .map(|(name, url)| (name.to_owned(), url.into()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mut node = Command::new("node");
    node.args([SCRIPT, &modules, &browser, &urls.to_string()]);
    waiting.answer_when_looked_at();
    let output = node.output().expect("node starts");
    let [out, error] =
        [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    assert!(output.status.success(), "{out}\n{error}");
    assert_eq!(
        out.lines().filter(|line| line.ends_with(" ms")).count(),
        10,
        "{out}"
    );
}

/// Takes the pictures of `docs/guide/inspect.md` if the variable is set.
#[test]
fn pictures_of_the_page() {
    if env::var_os("GADGETRY_WRITE_PICTURE").is_none() {
        return;
    }
    let (Some(modules), Some(browser)) =
        (found::installed("playwright"), found::installed("chromium"))
    else {
        return;
    };
    let calls = [
        block("Left:orders", ""),
        block("Right:stock", ""),
        block("Fail:prices", ""),
        block("Echo:merge:orders,stock", "Orders that can be delivered"),
        block("Echo:offer:prices", "An offer"),
    ];
    let first = format!(
        "I read three sources, and merge two of them.\n{}",
        calls.concat()
    );
    let workshop = saved(
        &[
            reply(&first),
            reply("The orders are merged. The prices cannot be read."),
        ]
        .concat(),
    );
    let finished = finished();
    fs::copy(finished.path("run.jsonl"), workshop.path("before.jsonl")).expect("a copy");
    let page = Page::of(&workshop, &["before.jsonl", "run.jsonl"]);
    let waiting = Waiting::new();
    let urls = json!({
        "pictures": page.url,
        "waitingPicture": waiting.url,
        "answer": waiting.workshop.path("answer"),
        "folder": concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/inspector"),
    });
    waiting.answer_when_looked_at();
    let mut node = Command::new("node");
    let ended = node
        .args([SCRIPT, &modules, &browser, &urls.to_string()])
        .status();
    assert!(ended.expect("node starts").success());
}

/// A run whose call waits for the user at a terminal.
struct Waiting {
    workshop: Workshop,
    url: String,
    agent: Child,
}

impl Waiting {
    fn new() -> Self {
        let call = call(
            "WriteFile:a",
            "!!!ARG:filePath\none\n!!!ARG:content\ntext\n",
        );
        let workshop = Workshop::new(&[reply(&call), reply("Done.")].concat());
        // The user's answer is what the pipe has.
        workshop.pipe("answer");
        let agent = format!(
            "{GADGETRY} agent Go! --no-config --no-session --inspect --model script:script.jsonl"
        );
        let mut script = workshop.run("script", &["-qfec", &agent, "/dev/null"]);
        let script = script.env("TERM", "xterm").stdin(Stdio::piped());
        let mut agent = script.spawn().expect("it starts");
        let mut screen = BufReader::new(agent.stdout.take().expect("a pipe"));
        let mut url = String::new();
        while !url.contains("inspect http://") {
            url.clear();
            assert!(
                screen.read_line(&mut url).expect("a line") > 0,
                "no address"
            );
        }
        // The terminal is read until it is closed.
        std::thread::spawn(move || screen.read_to_end(&mut Vec::new()));
        let url = url.split_whitespace().last().expect("a word").to_owned();
        Self {
            workshop,
            url,
            agent,
        }
    }

    /// The script of the browser opens the pipe when it has seen the question.
    fn answer_when_looked_at(mut self) {
        let mut keys = self.agent.stdin.take().expect("a pipe");
        std::thread::spawn(move || {
            let looked_at = fs::read(self.workshop.path("answer"));
            looked_at.expect("the pipe");
            keys.write_all(b"y\n").expect("it reads");
            let _ = self.agent.wait();
        });
    }
}

fn file_url(path: &Path) -> String {
    format!("file://{}", path.display())
}
