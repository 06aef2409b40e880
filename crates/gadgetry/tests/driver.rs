//! The driver under tokio's paused clock: what happens, when, and that the log plays it again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the transcript has the events that matter"
)]

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::StreamExt as _;
use gadgetry::log::{LogHeader, LogWriter, replay};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::event::{Event, EventKind, FinishReason};
use gadgetry::proto::message::{Message, Request, Role};
use gadgetry::proto::run::{Command, Input, Retry, Run, RunConfig, Summary};
use gadgetry::proto::schema::{GadgetSpec, Registry};
use gadgetry::proto::time::Time;
use gadgetry::{Model, Observer, ScriptedModel, Services, Toolbox, drive, from_fn};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::sleep;

fn panics(words: &str) -> Outcome {
    panic!("{words}")
}

/// `Wait {ms}`: waits and says so. `Fail`: fails. `Panic`. `Stubborn {ms}`: ignores its cancellation.
fn toolbox(running: &Arc<AtomicUsize>) -> Toolbox {
    let mut toolbox = Toolbox::default();
    let spec = |name: &str, timeout_ms| GadgetSpec {
        name: name.to_owned(),
        parameters: json!({ "type": "object", "properties": { "ms": { "type": "integer" } } }),
        timeout_ms,
        ..GadgetSpec::default()
    };
    let running = Arc::clone(running);
    let wait = from_fn(spec("Wait", Some(1000)), move |parameters, context| {
        let running = Arc::clone(&running);
        async move {
            running.fetch_add(1, Ordering::SeqCst);
            let ms = parameters["ms"].as_u64().unwrap_or(10);
            context.report_cost(0.25).unwrap();
            let outcome = tokio::select! {
                () = sleep(Duration::from_millis(ms)) => Outcome::ok(format!("waited {ms}")),
                () = context.cancellation().cancelled() => Outcome::error("stopped"),
            };
            running.fetch_sub(1, Ordering::SeqCst);
            outcome
        }
    });
    toolbox.add(wait).unwrap();
    toolbox
        .add(from_fn(spec("Fail", None), |_, _| async {
            Outcome::error("no luck")
        }))
        .unwrap();
    toolbox
        .add(from_fn(spec("Panic", None), |_, _| async {
            panics("oh no")
        }))
        .unwrap();
    toolbox
        .add(from_fn(
            spec("Stubborn", Some(100)),
            |_, context| async move {
                let _token = context.cancellation().clone();
                std::future::pending::<()>().await;
                Outcome::ok("never")
            },
        ))
        .unwrap();
    toolbox
}

/// Keeps a readable line an event, and the log.
struct Keeper {
    lines: Vec<String>,
    events: Vec<Event>,
    log: LogWriter<SharedFile>,
}

impl Observer for Keeper {
    fn event(&mut self, event: &Event) {
        let at = event.time.0;
        self.events.push(event.clone());
        let line = match &event.kind {
            EventKind::Text { text } => format!("{at} text {text:?}"),
            EventKind::GadgetStart { invocation_id, .. } => format!("{at} start {invocation_id}"),
            EventKind::GadgetResult {
                invocation_id,
                answer,
                ..
            } => format!("{at} {invocation_id}: {answer:?}"),
            EventKind::GadgetSkipped { invocation_id, .. } => format!("{at} skip {invocation_id}"),
            EventKind::RunFinished {
                reason, total_cost, ..
            } => {
                // The models here have no price, so only what gadgets cost is known.
                assert_eq!(*total_cost, None);
                let costs = self.events.iter().map(|event| match &event.kind {
                    EventKind::GadgetResult { cost, .. } | EventKind::GadgetCost { cost, .. } => {
                        *cost
                    }
                    _ => 0.0,
                });
                format!("{at} {reason:?} {}", costs.sum::<f64>())
            }
            _ => return,
        };
        self.lines.push(line);
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.log.input(time, input);
    }
}

/// A file that the test can read while it is written.
#[derive(Clone, Default)]
struct SharedFile(Arc<Mutex<Vec<u8>>>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The header of a run with these gadgets, and the defaults for everything else.
fn header(toolbox: &Toolbox) -> LogHeader {
    let plan = RunConfig::default().plan(Arc::clone(toolbox.registry()));
    LogHeader::of(&plan.unwrap(), vec![Message::text(Role::User, "go")])
}

/// Runs a script, cancelled at some time; also checks that the log replays, and that no gadget is left running.
async fn check(replies: &str, cancel_at: Option<u64>, expected: &[&str]) -> Summary {
    let running = Arc::new(AtomicUsize::new(0));
    let toolbox = toolbox(&running);
    let model: ScriptedModel = replies.parse().unwrap();
    let header = header(&toolbox);
    let file = SharedFile::default();
    let log = LogWriter::new(file.clone(), &header).unwrap();
    let mut keeper = Keeper {
        lines: Vec::new(),
        events: Vec::new(),
        log,
    };
    let (commands, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        if let Some(at) = cancel_at {
            sleep(Duration::from_millis(at)).await;
            commands.send(Command::Cancel).await.unwrap();
        }
    });
    let services = Services::new(Arc::new(model), toolbox);
    let run = header.run().unwrap();
    let summary = drive(run, &services, receiver, &mut keeper).await.summary;
    assert_eq!(keeper.lines, expected);
    assert_eq!(
        running.load(Ordering::SeqCst),
        0,
        "no gadget is left running"
    );
    let mut again = Vec::new();
    let log = file.0.lock().unwrap().clone();
    let replayed = replay(log.as_slice(), &mut |event: &Event| {
        again.push(event.clone());
    })
    .unwrap();
    assert_eq!(again, keeper.events, "a replay gives the same events");
    assert_eq!(replayed.as_ref(), Some(&summary));
    summary
}

/// A block without its end line.
macro_rules! call {
    ($header:literal) => {
        concat!("!!!GADGET_START:", $header, "\\n!!!GADGET_END\\n")
    };
    ($header:literal, $ms:literal) => {
        concat!(
            "!!!GADGET_START:",
            $header,
            "\\n!!!ARG:ms\\n",
            $ms,
            "\\n!!!GADGET_END\\n"
        )
    };
}

#[tokio::test(start_paused = true)]
async fn gadgets_start_while_the_reply_streams() {
    let replies = concat!(
        r#"{"chunks": [""#,
        call!("Wait:a", 50),
        r#"", {"delayMs": 20}, ""#,
        call!("Wait:b", 50),
        call!("Wait:c:a,b", 5),
        r#"", {"delayMs": 200}, "late"]}"#,
        "\n",
        r#"{"text": "done"}"#
    );
    let expected = [
        "0 start a",
        "20 start b",
        "50 a: Result(\"waited 50\")",
        "70 b: Result(\"waited 50\")",
        "70 start c",
        "75 c: Result(\"waited 5\")",
        "220 text \"\\n\"",
        "220 text \"late\"",
        "220 text \"done\"",
        "220 Completed 0.75",
    ];
    let summary = check(replies, None, &expected).await;
    assert_eq!((summary.iterations, summary.answer.as_str()), (2, "done"));
}

#[tokio::test(start_paused = true)]
async fn failures_panics_and_timeouts_are_answers() {
    let replies = concat!(
        r#"{"text": ""#,
        call!("Fail:f"),
        call!("Wait:w:f"),
        call!("Panic:p"),
        call!("Stubborn:s"),
        call!("Wait:long", 5000),
        r#""}"#,
        "\n",
        r#"{"text": "done"}"#
    );
    let expected = [
        "0 start f",
        "0 start p",
        "0 start s",
        "0 start long",
        "0 f: Error(\"no luck\")",
        "0 skip w",
        "0 p: Error(\"Panic panicked: oh no\")",
        "100 s: Error(\"Gadget 'Stubborn' execution exceeded timeout of 100ms\")",
        "1000 long: Error(\"Gadget 'Wait' execution exceeded timeout of 1000ms\")",
        "2100 text \"done\"",
        "2100 Completed 0.25",
    ];
    check(replies, None, &expected).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_answers_every_call_and_lets_gadgets_tidy_up() {
    let replies = concat!(
        r#"{"chunks": ["Hm.", ""#,
        call!("Wait:a", 900),
        call!("Wait:b:a"),
        r#"", {"delayMs": 500}, "never"]}"#
    );
    let words = "Error(\"Error: The run was cancelled before the call was done\")";
    let (a, b) = (format!("30 a: {words}"), format!("30 b: {words}"));
    let expected = [
        "0 text \"Hm.\"",
        "0 start a",
        a.as_str(),
        b.as_str(),
        "30 Cancelled 0.25",
    ];
    let summary = check(replies, Some(30), &expected).await;
    assert_eq!(summary.reason, FinishReason::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_ends_the_run_with_its_words() {
    let summary = check(
        r#"{"text": "Half", "finish": "error"}"#,
        None,
        &["0 text \"Half\"", "0 ModelError 0"],
    )
    .await;
    assert!(summary.error.is_some());
}

/// Panics when it is dropped before its end, as a guard in a gadget might.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn a_gadget_that_panics_when_it_is_dropped_is_answered() {
    let spec = GadgetSpec {
        name: "Guarded".to_owned(),
        timeout_ms: Some(10),
        ..GadgetSpec::default()
    };
    let mut toolbox = Toolbox::default();
    let guarded = from_fn(spec, |_, _| async {
        let _guard = Guard;
        std::future::pending::<()>().await;
        Outcome::ok("never")
    });
    toolbox.add(guarded).unwrap();
    let replies = concat!(
        r#"{"text": ""#,
        call!("Guarded:g"),
        r#""}"#,
        "\n",
        r#"{"text": "done"}"#
    );
    let model: ScriptedModel = replies.parse().unwrap();
    let header = header(&toolbox);
    let (_commands, receiver) = mpsc::channel(1);
    let run = header.run().unwrap();
    let services = Services::new(Arc::new(model), toolbox);
    let ended = drive(run, &services, receiver, &mut |_: &Event| {}).await;
    assert_eq!(ended.summary.answer, "done");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_always_ready_leaves_room_for_gadgets() {
    let mut chunks = vec![json!(call!("Wait:a", 0).replace("\\n", "\n"))];
    let words = ["one ", "two ", "three ", "four ", "five "];
    chunks.extend(words.iter().cycle().take(10_000).map(|it| json!(it)));
    let script = format!(
        "{}\n{}",
        json!({ "chunks": chunks }),
        json!({ "text": "done" })
    );
    let model: ScriptedModel = script.parse().unwrap();
    let toolbox = toolbox(&Arc::default());
    let header = header(&toolbox);
    let (_commands, receiver) = mpsc::channel(1);
    let (mut texts, mut before) = (0, None);
    let mut watch = |event: &Event| match &event.kind {
        EventKind::Text { .. } => texts += 1,
        EventKind::GadgetResult { .. } => before = Some(texts),
        _ => {}
    };
    let services = Services::new(Arc::new(model), toolbox);
    drive(header.run().unwrap(), &services, receiver, &mut watch).await;
    let before = before.unwrap();
    assert!(before < 1000, "{before} texts before the gadget was done");
}

/// Panics when it is asked, or in the middle of its reply.
struct Broken {
    at_once: bool,
}

impl Model for Broken {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        assert!(!self.at_once, "no connection");
        let pieces = [0, 1].into_iter().map(|piece| {
            assert_eq!(piece, 0, "no more");
            Delta::text("Hm.")
        });
        futures_util::stream::iter(pieces).boxed()
    }

    fn name(&self) -> &'static str {
        "broken"
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_panics_has_failed_for_good() {
    for (at_once, words) in [(true, "no connection"), (false, "no more")] {
        let services = Services::new(Arc::new(Broken { at_once }), Toolbox::default());
        let config = RunConfig {
            retry: Some(Retry::default()),
            ..RunConfig::default()
        };
        let run = Run::ask(&config.plan(Registry::default()).unwrap(), "go");
        let (_commands, receiver) = mpsc::channel(1);
        let mut asked = 0;
        let mut count = |event: &Event| {
            asked += u32::from(matches!(event.kind, EventKind::ModelCallStart { .. }));
        };
        let ended = drive(run, &services, receiver, &mut count).await;
        assert_eq!(asked, 1, "{words}: there is no retry");
        assert_eq!(ended.summary.reason, FinishReason::ModelError);
        let error = ended.summary.error.unwrap().message;
        let whose = "the code of the model \"broken\" panicked: ";
        assert!(error.contains(whose), "{error}");
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn costs_that_are_no_numbers_are_read_back() {
    let written = serde_json::to_string(&Outcome {
        cost: f64::NAN,
        ..Outcome::ok("x")
    })
    .unwrap();
    let read: Outcome = serde_json::from_str(&written).unwrap();
    assert!(read.cost.abs() < f64::EPSILON);
}

#[test]
fn invalid_logs_are_not_replayed() {
    let play = |log: &str| {
        replay(log.as_bytes(), &mut |_: &Event| {})
            .unwrap_err()
            .to_string()
    };
    let header = serde_json::to_string(&header(&Toolbox::default())).unwrap();
    assert_eq!(play(""), "the log is empty");
    assert!(play("{}").starts_with("line 1: not a line of a gadgetry log: "));
    assert_eq!(
        play(&header.replace("\"version\":3", "\"version\":9")),
        "the log has format version 9; this gadgetry reads version 3"
    );
    assert!(play(&format!("{header}\nnonsense\n{{}}")).starts_with("line 2: not a line"));
    let early = r#"{"timeMs": 1, "input": {"done": [7, {"result": {"Ok": "x"}}]}}"#;
    assert_eq!(
        play(&format!("{header}\n{early}\n")),
        "line 2: call 7 is not running, but its result was delivered"
    );
    let cut = replay(
        format!("{header}\n{{\"timeMs\": 1, \"inp").as_bytes(),
        &mut |_: &Event| {},
    );
    assert!(matches!(cut, Ok(None)), "a torn last line is left out");
}
