//! Command gadgets with real processes.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use gadgetry::CancellationToken;
use gadgetry::Invocation;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::media::{Media, MediaData, MediaKind};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::{CommandGadget, DynGadget as _, ExecutionContext, ResultForm};
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use crate::support::own_process::runs_alone;

/// Far beyond what anything here takes, and far below the 3,000 s that some processes would sleep.
const SOON: Duration = Duration::from_mins(5);

fn spec() -> GadgetSpec {
    GadgetSpec {
        name: "Test".to_owned(),
        ..GadgetSpec::default()
    }
}

fn shell(script: &str) -> CommandGadget {
    CommandGadget::new(spec(), "sh", ["-c", script])
}

fn context(cancellation: CancellationToken) -> ExecutionContext {
    let invocation = Invocation {
        gadget_name: "Test".to_owned(),
        invocation_id: "t".into(),
        parameters: Value::Null,
        dependencies: BTreeMap::new(),
    };
    ExecutionContext::new(&invocation, cancellation)
}

async fn run(gadget: &CommandGadget, parameters: Value) -> Outcome {
    let outcome = gadget.execute(parameters, context(CancellationToken::new()));
    tokio::time::timeout(SOON, outcome)
        .await
        .expect("the call ends")
}

async fn check(script: &str, expected: Outcome) {
    assert_eq!(run(&shell(script), json!({})).await, expected, "{script}");
}

#[tokio::test]
async fn stdout_is_the_result() {
    check("echo hello", Outcome::ok("hello")).await;
    check("printf hello", Outcome::ok("hello")).await;
    check("printf 'a\\n\\n'", Outcome::ok("a\n")).await;
    check("printf ' a\\r\\n'", Outcome::ok(" a")).await;
    check("printf '\\r'", Outcome::ok("\r")).await;
    check("true", Outcome::ok("")).await;
    check("echo warning >&2; echo hello", Outcome::ok("hello")).await;
    check("printf 'a\\377b'", Outcome::ok("a\u{fffd}b")).await;
}

/// A key of its own for each call.
#[tokio::test]
async fn a_program_has_the_idempotency_key_of_its_call() {
    let gadget = shell("printf %s \"$GADGETRY_IDEMPOTENCY_KEY\"");
    let mut keys = Vec::new();
    for _ in 0..2 {
        let context = context(CancellationToken::new());
        let outcome = gadget.execute(json!({}), context.clone()).await;
        assert_eq!(outcome, Outcome::ok(context.idempotency_key()));
        keys.push(outcome.result);
    }
    assert_ne!(keys[0], keys[1]);
}

/// What a program with JSON Lines on stdout comes to, and what was reported until then.
async fn run_lines(script: &str, cancelled: bool) -> (Outcome, f64) {
    let token = CancellationToken::new();
    let context = context(token.clone());
    let gadget = shell(script).result(ResultForm::JsonLines);
    let running = gadget.execute(json!({}), context.clone());
    let cancel = async {
        if cancelled {
            while context.reported_cost() == 0.0 {
                tokio::task::yield_now().await;
            }
            token.cancel();
        }
    };
    let (outcome, ()) = tokio::time::timeout(SOON, async { tokio::join!(running, cancel) })
        .await
        .expect("the call ends");
    (outcome, context.reported_cost())
}

#[tokio::test]
async fn json_lines_say_more_than_a_text() {
    let picture = Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: MediaData::Base64("AAEC".to_owned()),
        name: None,
    };
    let unanswered = "The question has no answer: no user is available in this run, or they declined. The question was: Which?";
    let none = |problem: &str| Outcome::error(format!("line 1 of stdout: {problem}"));
    for (script, outcome, cost) in [
        ("echo '{\"text\":\"hi\"}'", Outcome::ok("hi"), 0.0),
        ("printf '{\"text\":\"hi\"}'", Outcome::ok("hi"), 0.0),
        ("true", Outcome::ok(""), 0.0),
        (
            "echo '{\"cost\":0.25}'; echo; echo '{\"text\":\"a\",\"cost\":0.5}'; echo '{\"text\":\"b\"}'",
            Outcome::ok("b"),
            0.75,
        ),
        (
            "echo '{\"text\":\"done\",\"completesRun\":true}'",
            Outcome {
                completes_run: true,
                ..Outcome::ok("done")
            },
            0.0,
        ),
        (
            "echo '{\"asksHuman\":\"Which?\"}'",
            Outcome {
                asks_human: Some("Which?".to_owned()),
                ..Outcome::error(unanswered)
            },
            0.0,
        ),
        (
            "echo '{\"asksHuman\":\"Which?\",\"text\":\"any\"}'",
            Outcome {
                asks_human: Some("Which?".to_owned()),
                ..Outcome::ok("any")
            },
            0.0,
        ),
        (
            "echo '{\"text\":\"x\",\"media\":[{\"kind\":\"image\",\"mimeType\":\"image/png\",\"data\":{\"base64\":\"AAEC\"}}]}'",
            Outcome {
                media: vec![picture],
                ..Outcome::ok("x")
            },
            0.0,
        ),
        // Costs count however the call ends.
        (
            "echo '{\"cost\":0.5}'; echo no >&2; exit 1",
            Outcome::error("no"),
            0.5,
        ),
        (
            "echo '{\"cost\":0.5,\"text\":\"no luck\"}'; exit 1",
            Outcome::error("no luck"),
            0.5,
        ),
        (
            "echo '{\"cost\":-1}'; echo '{\"cost\":0.5}'",
            none("a cost must be a finite amount of US dollars, 0 or more, got -1"),
            0.5,
        ),
    ] {
        assert_eq!(run_lines(script, false).await, (outcome, cost), "{script}");
    }
    for script in [
        "echo hello",
        "echo '{\"txt\":\"x\"}'",
        "echo '[1]'",
        "echo '{\"cost\":1e999}'",
        "echo '{\"media\":[{\"kind\":\"image\",\"mimeType\":\"image/png\",\"data\":{\"base64\":\"A\"}}]}'",
    ] {
        let (outcome, cost) = run_lines(script, false).await;
        let error = outcome.result.unwrap_err();
        assert!(error.starts_with("line 1 of stdout: "), "{script}: {error}");
        assert!(cost.abs() < f64::EPSILON);
    }
    let (outcome, cost) = run_lines("echo '{\"cost\":0.5}'; sleep 3000", true).await;
    assert_eq!((outcome, cost), (Outcome::error("cancelled"), 0.5));
}

#[tokio::test]
async fn a_text_that_looks_like_json_lines_stays_text() {
    let line = "{\"text\":\"x\",\"completesRun\":true}";
    check(&format!("echo '{line}'"), Outcome::ok(line)).await;
}

#[tokio::test]
async fn a_failure_says_why() {
    check(
        "echo partial; echo ' oh no ' >&2; exit 3",
        Outcome::error("oh no"),
    )
    .await;
    check("echo partial; exit 3", Outcome::error("exited with code 3")).await;
    check("kill -9 $$", Outcome::error("killed by signal 9")).await;
    check("printf 'a\\377b' >&2; exit 1", Outcome::error("a\u{fffd}b")).await;
}

#[tokio::test]
async fn parameters_are_one_line_of_json_on_stdin() {
    let parameters = json!({ "b": "two\nlines, ü", "a": [1, null, 2.5] });
    let cat = CommandGadget::new(spec(), "cat", [] as [&str; 0]);
    let outcome = run(&cat, parameters).await;
    assert_eq!(
        outcome,
        Outcome::ok(r#"{"b":"two\nlines, ü","a":[1,null,2.5]}"#)
    );
    check("wc -l | tr -d ' '", Outcome::ok("1")).await;
}

#[tokio::test]
async fn parameters_need_not_be_read() {
    let parameters = json!({ "text": "x".repeat(4 << 20) });
    for script in ["echo done", "exec <&-; echo done", "head -c 1; echo"] {
        let outcome = run(&shell(script), parameters.clone()).await;
        let expected = if script.starts_with("head") {
            "{"
        } else {
            "done"
        };
        assert_eq!(outcome, Outcome::ok(expected), "{script}");
    }
    // Neither does somebody who only keeps them open hold up the call.
    let outcome = run(&shell("sleep 3000 >&- 2>&- & echo done"), parameters).await;
    assert_eq!(outcome, Outcome::ok("done"));
}

#[tokio::test]
async fn big_streams_do_not_block_each_other() {
    let bytes = 10 << 20;
    let script = format!("x() {{ yes | tr -d '\\n' | head -c {bytes}; }}; x >&2; x");
    let result = run(&shell(&script), json!({})).await.result;
    assert_eq!(result.map(|it| it.len()), Ok(bytes));
    let echo = CommandGadget::new(spec(), "cat", [] as [&str; 0]);
    let result = run(&echo, json!("x".repeat(bytes))).await.result;
    assert_eq!(result.map(|it| it.len()), Ok(bytes + 2));
}

#[tokio::test]
async fn endless_output_is_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!("{} yes", save_pid(&folder.path().join("pid"), "$$"));
    let outcome = run(&shell(&script), json!({})).await;
    let message = "wrote more than 64 MiB to stdout and was stopped; ask it for less";
    assert_eq!(outcome, Outcome::error(message));
    ends(&folder.path().join("pid")).await;
}

#[tokio::test]
async fn of_a_long_message_the_end_counts() {
    let script = "yes x | tr -d '\\n' | head -c 5000000 >&2; echo reason >&2; exit 1";
    let message = run(&shell(script), json!({})).await.result.unwrap_err();
    assert!(message.starts_with("[only the end of stderr is kept]\nxxx"));
    assert!(message.ends_with("xreason"));
    assert!(message.len() <= (1 << 20) + 64, "{}", message.len());
}

#[tokio::test]
async fn a_program_that_cannot_start_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = CommandGadget::new(spec(), "no-such-program-here", [] as [&str; 0]);
    assert_eq!(
        run(&missing, json!({})).await,
        Outcome::error(
            "cannot start no-such-program-here: there is no such program, \
             or the interpreter in its first line is missing"
        )
    );
    let plain = folder.path().join("plain.txt");
    std::fs::write(&plain, "text").expect("a file");
    let gadget = CommandGadget::new(spec(), &plain, [] as [&str; 0]);
    let message = format!(
        "cannot start {}: it is not an executable file (chmod +x)",
        plain.display()
    );
    assert_eq!(run(&gadget, json!({})).await, Outcome::error(message));
}

#[tokio::test]
async fn a_cancelled_call_does_not_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace");
    let cancellation = CancellationToken::new();
    cancellation.cancel();
    let gadget = shell(&format!("touch '{}'", trace.display()));
    let outcome = gadget.execute(json!({}), context(cancellation)).await;
    assert_eq!(outcome, Outcome::error("cancelled"));
    assert!(!trace.exists());
}

#[tokio::test]
async fn a_cancellation_ends_the_whole_group() {
    // The second script does not obey SIGTERM, and neither does what it starts.
    for trap in ["", "trap '' TERM;"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (child, leader) = (folder.path().join("child"), folder.path().join("leader"));
        let gadget = shell(&format!(
            "{trap} sleep 3000 & {} {} wait; sleep 3000",
            save_pid(&child, "$!"),
            save_pid(&leader, "$$"),
        ));
        let cancellation = CancellationToken::new();
        let call = tokio::spawn(gadget.execute(json!({}), context(cancellation.clone())));
        appears(&leader).await;
        cancellation.cancel();
        let outcome = tokio::time::timeout(SOON, call).await.expect("it ends");
        assert_eq!(
            outcome.expect("no panic"),
            Outcome::error("cancelled"),
            "{trap}"
        );
        ends(&child).await;
        ends(&leader).await;
    }
}

#[tokio::test]
async fn a_program_may_tidy_up_when_it_is_cancelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ready, tidy) = (folder.path().join("ready"), folder.path().join("tidy"));
    let gadget = shell(&format!(
        "trap 'echo > \"{}\"; exit' TERM; {} while :; do sleep 0.01; done",
        tidy.display(),
        save_pid(&ready, "$$"),
    ))
    .grace(SOON);
    let cancellation = CancellationToken::new();
    let call = tokio::spawn(gadget.execute(json!({}), context(cancellation.clone())));
    appears(&ready).await;
    cancellation.cancel();
    call.await.expect("no panic").result.expect_err("cancelled");
    assert!(tidy.exists());
}

#[tokio::test]
async fn dropping_the_future_ends_the_whole_group() {
    for trap in ["", "trap '' TERM;"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (child, leader) = (folder.path().join("child"), folder.path().join("leader"));
        let gadget = shell(&format!(
            "{trap} sleep 3000 & {} {} wait; sleep 3000",
            save_pid(&child, "$!"),
            save_pid(&leader, "$$"),
        ));
        let call = tokio::spawn(gadget.execute(json!({}), context(CancellationToken::new())));
        appears(&leader).await;
        call.abort();
        ends(&child).await;
        ends(&leader).await;
    }
}

#[test]
fn the_end_of_the_runtime_ends_the_whole_group() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child, leader) = (folder.path().join("child"), folder.path().join("leader"));
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    };
    let first = runtime();
    first.block_on(async {
        let gadget = shell(&format!(
            "trap '' TERM; sleep 3000 & {} {} wait; sleep 3000",
            save_pid(&child, "$!"),
            save_pid(&leader, "$$"),
        ));
        tokio::spawn(gadget.execute(json!({}), context(CancellationToken::new())));
        appears(&leader).await;
    });
    drop(first);
    runtime().block_on(async {
        ends(&child).await;
        ends(&leader).await;
    });
}

#[tokio::test]
async fn no_process_outlives_its_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = folder.path().join("child");
    for redirect in ["", ">/dev/null 2>&1 </dev/null"] {
        let start = Instant::now();
        let script = format!(
            "sleep 3000 {redirect} & {} echo done",
            save_pid(&child, "$!")
        );
        check(&script, Outcome::ok("done")).await;
        assert!(start.elapsed() < SOON);
        ends(&child).await;
    }
}

#[tokio::test]
async fn what_children_write_soon_after_the_end_counts() {
    let gadget = shell("(sleep 0.02; echo late) & echo early").grace(SOON);
    assert_eq!(run(&gadget, json!({})).await, Outcome::ok("early\nlate"));
}

/// A piece of script that puts a process id into a file that appears whole.
fn save_pid(path: &Path, pid: &str) -> String {
    let path = path.display();
    format!("echo {pid} > '{path}.new'; mv '{path}.new' '{path}';")
}

async fn appears(path: &Path) {
    eventually(&format!("{} appears", path.display()), || path.exists()).await;
}

/// Waits until the process whose id the file holds is no more.
async fn ends(path: &Path) {
    let number = std::fs::read_to_string(path).expect("a process id");
    let pid = number.trim().parse().ok().and_then(Pid::from_raw);
    let pid = pid.expect("a process id");
    eventually(&format!("process {number} ends"), || {
        test_kill_process(pid).is_err() || is_zombie(pid)
    })
    .await;
}

/// Whether only its entry is left, which is for its new parent to remove.
fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| {
        stat.rsplit(')')
            .next()
            .is_some_and(|it| it.starts_with(" Z"))
    })
}

async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < SOON, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What a program prints goes to the model, so it gets no keys of providers but those that it is said to need.
#[tokio::test]
async fn keys_of_providers_stay_out_of_the_environment() {
    let script =
        "echo ${OPENAI_API_KEY-none} ${GITHUB_TOKEN-none} ${GATE-none} ${GADGETRY_TEST_PLAIN-none}";
    // The variables of this process must not change, so another one has them.
    let variables = [
        ("OPENAI_API_KEY", "one"),
        ("GITHUB_TOKEN", "two"),
        ("GATE", "three"),
        ("GADGETRY_TEST_PLAIN", "plain"),
    ];
    if !runs_alone(keys_of_providers_stay_out_of_the_environment, &variables) {
        return;
    }
    check(script, Outcome::ok("none none three plain")).await;
    let keyless = shell(script).without_env(["GATE"]);
    let expected = Outcome::ok("none none none plain");
    assert_eq!(run(&keyless, json!({})).await, expected);
    let trusted = keyless.env(["GITHUB_TOKEN", "GATE"]);
    let expected = Outcome::ok("none two three plain");
    assert_eq!(run(&trusted, json!({})).await, expected);
}
