//! Runs whose process ends while a gadget is running, and which another one continues.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry::HumanQuestion;
use gadgetry::journal::{
    Durability, Journal, JournalError, MemoryJournal, Opened, Recorder, RunId, RunProgress,
};
use gadgetry::log::LogHeader;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::{CallAnswer, Event, EventKind};
use gadgetry::proto::run::{Input, Output, Report, Run, RunConfig};
use gadgetry::proto::schema::{GadgetSpec, OnInterrupt};
use gadgetry::proto::time::Time;
use gadgetry::{
    Agent, CancellationToken, DynGadget, ExecutionContext, IntoGadget as _, Invocation, Observer,
    Services, drive, from_fn,
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::support::stage::{Priced, call, gadget, plan, script, services};

/// Keeps inputs as a log does, and the events that matter.
#[derive(Default)]
struct Kept {
    inputs: Vec<(Time, Input)>,
    lines: Vec<String>,
}

impl Observer for Kept {
    fn event(&mut self, event: &Event) {
        if let Some(line) = line(event) {
            self.lines.push(line);
        }
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.inputs.push((time, input.clone()));
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the others do not matter")]
fn line(event: &Event) -> Option<String> {
    Some(match &event.kind {
        EventKind::GadgetRestarted { gadget_name, .. } => format!("{gadget_name} again"),
        EventKind::GadgetResult { answer, cost, .. } => {
            let (CallAnswer::Result(text) | CallAnswer::Error(text)) = answer;
            format!("${cost} {text}")
        }
        EventKind::HumanInputRequired { .. } => "question".to_owned(),
        EventKind::HumanInputReceived { answered, .. } => format!("answered {answered}"),
        _ => return None,
    })
}

/// Drives a run until each of these seconds, when the process ends, and then to its end. Returns what was seen, a process
/// a list, and the total cost.
async fn play(services: &Services, kills: &[u64]) -> (Vec<Vec<String>>, f64) {
    let config = RunConfig {
        asks: services.asks(),
        ..RunConfig::default()
    };
    let plan = plan(services, config);
    let mut log = Vec::new();
    let mut seen = Vec::new();
    for kill in kills.iter().copied().map(Some).chain([None]) {
        let mut run = Run::ask(&plan, "Go");
        drain(&mut run);
        let begins = log.is_empty();
        for (time, input) in &log {
            run.handle(*time, Input::clone(input)).unwrap();
            drain(&mut run);
        }
        if begins {
            run = Run::ask(&plan, "Go");
        }
        let mut kept = Kept::default();
        let driving = drive(run, services, mpsc::channel(1).1, &mut kept);
        let within = Duration::from_secs(kill.unwrap_or(3600));
        let ended = timeout(within, driving).await.ok();
        assert_eq!(ended.is_none(), kill.is_some(), "{:?}", kept.lines);
        log.append(&mut kept.inputs);
        seen.push(kept.lines);
        if let Some(ended) = ended {
            return (seen, ended.summary.known_cost);
        }
    }
    unreachable!("the last process is not killed");
}

fn drain(run: &mut Run) {
    while !matches!(run.poll(), Output::Wait(_) | Output::Finished(_)) {}
}

/// Costs 50 cents, asks which, takes ten seconds, and says what it was told, its reply and its key.
fn worker(on_interrupt: OnInterrupt) -> Arc<dyn DynGadget> {
    let spec = GadgetSpec {
        name: "Work".to_owned(),
        on_interrupt,
        ..GadgetSpec::default()
    };
    let work = |_, context: ExecutionContext| async move {
        context.report_cost(0.5).unwrap();
        let answer = match context.ask_human("Which?").await {
            Ok(answer) => answer,
            Err(error) => error.to_string(),
        };
        sleep(Duration::from_secs(10)).await;
        let key = context.idempotency_key();
        Outcome::ok(format!("{answer} {} {key}", context.iteration()))
    };
    from_fn(spec, work).into_gadget()
}

/// Services with this gadget and a user who gives these answers; asked more, there is none.
fn worked(
    on_interrupt: OnInterrupt,
    answers: &'static [&'static str],
) -> (Services, Arc<Mutex<Vec<String>>>) {
    let replies = [json!(call("Work:w")), json!("Done."), json!("Done.")];
    let mut services = services(&replies, &[worker(on_interrupt)]);
    services.scope.run_id = Some("a b/ü".into());
    let questions: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked = Arc::clone(&questions);
    services.human = Some(Arc::new(move |question: HumanQuestion| {
        let mut asked = asked.lock().unwrap();
        let answer = answers.get(asked.len()).map(|it| (*it).to_owned());
        asked.push(question.text);
        async { answer }
    }));
    (services, questions)
}

const KEY: &str = "a%20b%2F%C3%BC/0";

#[tokio::test(start_paused = true)]
async fn a_rerun_has_the_answers_and_the_key_of_the_first_execution() {
    let (services, questions) = worked(OnInterrupt::Rerun, &["This."]);
    let (seen, cost) = play(&services, &[5, 5]).await;
    let result = format!("$1.5 This. 1 {KEY}");
    let expected: [&[&str]; 3] = [
        &["question", "answered true"],
        &["Work again"],
        &["Work again", &result],
    ];
    assert_eq!(seen, expected);
    assert_eq!(*questions.lock().unwrap(), ["Which?"]);
    assert!((cost - 1.5).abs() < 1e-9, "{cost}");
}

#[tokio::test(start_paused = true)]
async fn the_user_lets_an_interrupted_gadget_run_again() {
    for (answers, expected) in [
        (
            &["This.", "Yes "] as &[&str],
            [
                "question",
                "answered true",
                "Work again",
                &format!("$1 This. 1 {KEY}"),
            ] as [&str; 4],
        ),
        (
            &["This.", "no, I did it"],
            [
                "question",
                "answered true",
                "$0.5 interrupted: the program ended while this gadget was running. Whether it took effect is unknown. \
                 The user did not let it run again and answered: no, I did it",
                "",
            ],
        ),
        (
            &["This."],
            [
                "question",
                "answered false",
                "$0.5 interrupted: the program ended while this gadget was running. Whether it took effect is unknown; \
                 check before you call it again",
                "",
            ],
        ),
    ] {
        let answers: &'static [&'static str] = answers.to_vec().leak();
        let (services, questions) = worked(OnInterrupt::Ask, answers);
        let (seen, _) = play(&services, &[5]).await;
        let expected: Vec<&str> = expected.into_iter().filter(|it| !it.is_empty()).collect();
        assert_eq!(seen[1], expected);
        let questions = questions.lock().unwrap();
        assert_eq!(questions.len(), 2);
        assert!(questions[1].starts_with("Gadget 'Work' (call w) was interrupted"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_gadget_without_a_declaration_fails_and_keeps_its_cost() {
    let (services, _) = worked(OnInterrupt::Fail, &["This."]);
    let (seen, cost) = play(&services, &[5]).await;
    assert!(seen[1][0].starts_with("$0.5 interrupted: "), "{seen:?}");
    assert!((cost - 0.5).abs() < 1e-9, "{cost}");
}

/// A gadget that keeps the keys of its calls.
fn keyed(keys: &Arc<Mutex<Vec<String>>>) -> Arc<dyn DynGadget> {
    let keys = Arc::clone(keys);
    gadget("Key", move |context| {
        let key = context.idempotency_key();
        assert_eq!(context.clone().idempotency_key(), key);
        keys.lock().unwrap().push(key);
        async { Outcome::ok("") }
    })
}

/// Ids may be repeated by later replies, by subagents and by other runs; keys are not.
#[tokio::test]
async fn calls_with_the_same_id_have_different_keys() {
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let inner = keyed(&keys);
    let twice = gadget("Twice", move |context| {
        let inner = Arc::clone(&inner);
        async move {
            for _ in 0..2 {
                let agent = context.spawn_agent(Agent::builder().gadget(Arc::clone(&inner)));
                agent.unwrap().ask("Go").text().await.unwrap();
            }
            Outcome::ok("")
        }
    });
    let replies = || {
        let key = || json!(call("Key:a"));
        let twice = json!(call("Twice:a"));
        let done = || json!("Done.");
        // The second and the third are those of the subagents.
        [
            key(),
            key(),
            twice,
            key(),
            key(),
            done(),
            key(),
            done(),
            done(),
        ]
    };
    let mut services = services(&replies(), &[keyed(&keys), twice]);
    services.scope.run_id = Some("run".into());
    crate::support::stage::play(&services).await;
    let found = std::mem::take(&mut *keys.lock().unwrap());
    let expected = ["run/0", "run/1", "run/2.0/0", "run/2.0/1", "run/2.1/0"];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn runs_without_an_id_have_keys_of_their_own() {
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let key = || json!(call("Key:a"));
    let replies = [key(), json!("Done."), key(), json!("Done.")];
    let services = services(&replies, &[keyed(&keys)]);
    crate::support::stage::play(&services).await;
    crate::support::stage::play(&services).await;
    let invocation = Invocation {
        gadget_name: "Key".to_owned(),
        invocation_id: "a".into(),
        parameters: json!({}),
        dependencies: std::collections::BTreeMap::new(),
    };
    for _ in 0..2 {
        let alone = ExecutionContext::new(&invocation, CancellationToken::new());
        keys.lock().unwrap().push(alone.idempotency_key());
        let token = CancellationToken::new();
        let hosted = ExecutionContext::with_services(&invocation, token, services.clone());
        keys.lock().unwrap().push(hosted.idempotency_key());
    }
    let keys = keys.lock().unwrap();
    let mut unique = keys.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((keys.len(), unique.len()), (6, 6), "{keys:?}");
    for key in &*keys {
        let id = key.strip_suffix("/0").unwrap_or(key);
        assert!(
            id.len() == 32 && id.bytes().all(|it| it.is_ascii_hexdigit()),
            "{key}"
        );
    }
}

/// A question that the same gadget puts differently is asked.
#[tokio::test(start_paused = true)]
async fn only_the_same_question_has_its_answer() {
    let executions = Arc::new(AtomicU32::default());
    let spec = GadgetSpec {
        name: "Work".to_owned(),
        on_interrupt: OnInterrupt::Rerun,
        ..GadgetSpec::default()
    };
    let count = Arc::clone(&executions);
    let work = move |_, context: ExecutionContext| {
        let execution = count.fetch_add(1, Ordering::Relaxed);
        async move {
            let first = context.ask_human(format!("Which {execution}?")).await;
            let second = context.ask_human("When?").await;
            sleep(Duration::from_secs(10)).await;
            Outcome::ok(format!("{} {}", first.unwrap(), second.unwrap()))
        }
    };
    let replies = [json!(call("Work:w")), json!("Done.")];
    let mut services = services(&replies, &[from_fn(spec, work).into_gadget()]);
    services.human = Some(Arc::new(|question: HumanQuestion| async move {
        Some(question.text)
    }));
    let (seen, _) = play(&services, &[5]).await;
    let expected = [
        "Work again",
        "question",
        "answered true",
        "$0 Which 1? When?",
    ];
    assert_eq!(seen[1], expected);
}

/// A journal of a process that dies before it has kept what subagents report to their parents.
struct Late(MemoryJournal);

struct LateRecorder(Box<dyn Recorder>);

impl Journal for Late {
    fn open<'a>(
        &'a self,
        id: &'a RunId,
        header: Option<&'a LogHeader>,
    ) -> BoxFuture<'a, Result<Opened, JournalError>> {
        Box::pin(async move {
            let mut opened = self.0.open(id, header).await?;
            opened.recorder = Box::new(LateRecorder(opened.recorder));
            Ok(opened)
        })
    }

    fn forget<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>> {
        self.0.forget(id)
    }
}

impl Recorder for LateRecorder {
    fn record(&mut self, time: Time, input: &Input) {
        if !matches!(input, Input::Report(_, Report::Child { .. })) {
            self.0.record(time, input);
        }
    }

    fn took(&mut self, message: u64) {
        self.0.took(message);
    }

    fn progress(&mut self, progress: RunProgress) {
        self.0.progress(progress);
    }

    fn commit(&mut self, durability: Durability) -> BoxFuture<'static, Result<(), JournalError>> {
        self.0.commit(durability)
    }
}

/// A journal keeps what a subagent has cost, that of its parent may not: it counts all the same, and once.
#[tokio::test(start_paused = true)]
async fn costs_of_subagents_that_only_their_own_journal_knows_count_once() {
    let costs =
        |text: String, tokens: u64| json!({ "text": text, "usage": { "inputTokens": tokens } });
    let replies = [
        costs(call("Ask:a"), 1),
        costs(call("Slow:s"), 2),
        costs(call("Slow:s"), 4),
        costs("So.".to_owned(), 8),
        costs("Done.".to_owned(), 16),
    ];
    let rerun = |name: &str| GadgetSpec {
        name: name.to_owned(),
        on_interrupt: OnInterrupt::Rerun,
        ..GadgetSpec::default()
    };
    let slow = from_fn(rerun("Slow"), |_, _| async {
        sleep(Duration::from_secs(10)).await;
        Outcome::ok("slow")
    })
    .into_gadget();
    let ask = from_fn(rerun("Ask"), move |_, context: ExecutionContext| {
        let slow = Arc::clone(&slow);
        async move {
            let agent = context.spawn_agent(Agent::builder().gadget(slow)).unwrap();
            Outcome::ok(agent.ask("Which?").text().await.unwrap())
        }
    });
    let agent = Agent::builder()
        .model(Priced(script(&replies)))
        .gadget(ask)
        .budget(100.0)
        .build()
        .unwrap();
    let journal = Arc::new(Late(MemoryJournal::default()));
    for seconds in [5, 5, 7] {
        let run = agent
            .durable(&journal)
            .run_id("one")
            .ask("Go")
            .await
            .unwrap();
        let killed = timeout(Duration::from_secs(seconds), run).await;
        assert!(killed.is_err(), "{killed:?}");
    }
    let run = agent
        .durable(&journal)
        .run_id("one")
        .ask("Go")
        .await
        .unwrap();
    let finished = run.await.unwrap();
    assert_eq!(finished.summary.answer, "Done.");
    let cost = finished.summary.known_cost;
    assert!((cost - 31.0).abs() < 1e-9, "{cost}");
}
