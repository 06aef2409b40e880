//! What the owner of a run can read from it.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test is about a few variants of many"
)]

use gadgetry_proto::call::Outcome;
use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::{Message, Role};
use gadgetry_proto::run::{Close, Input, Interceptor, Output, PendingWork, QuestionId, Run};
use gadgetry_proto::time::Time;

use crate::support::sim::drain;
use crate::support::sim::script::{Script, block, gadget};

/// A run of the script that has read `reply`, a whole reply.
fn after(script: &Script, reply: &str) -> (Run, Vec<Output>) {
    let mut run = Run::new(&script.plan(), script.conversation.clone());
    drain(&mut run);
    let end = Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: None,
    };
    let inputs = [
        Input::Delta(Delta::text(reply)),
        Input::Delta(end),
        Input::ModelClosed(Close::Ended),
    ];
    for input in inputs {
        run.handle(Time(1), input).expect("a reply is open");
    }
    let outputs = drain(&mut run);
    (run, outputs)
}

fn outcome(result: &str, cost: f64) -> Outcome {
    let mut outcome = Outcome::ok(result);
    outcome.cost = cost;
    outcome
}

fn bells(count: usize) -> String {
    let bells = (0..count).map(|number| block(&format!("Bell:b{number}"), &[]));
    bells.collect()
}

fn started(outputs: &[Output]) -> Vec<CallId> {
    let starts = outputs.iter().filter_map(|output| match output {
        Output::Start(start) => Some(start.id),
        _ => None,
    });
    starts.collect()
}

#[test]
fn the_time_is_that_of_the_last_input() {
    let script = Script::default().gadget(gadget("Bell"));
    let (mut run, outputs) = after(&script, &bells(2));
    assert_eq!(run.now(), Time(1));
    assert!(!run.plan().has_viewer(), "results are not limited");
    let calls = started(&outputs);
    for (call, at, now) in [(calls[0], 7, 7), (calls[1], 3, 7)] {
        let done = Input::Done(call, outcome("ok", 0.0));
        run.handle(Time(at), done).expect("it runs");
        assert_eq!(run.now(), Time(now), "time never goes backwards");
    }
}

#[test]
fn costs_are_known_as_soon_as_they_arise() {
    let script = Script::default().gadget(gadget("Bell"));
    let (mut run, outputs) = after(&script, &bells(2));
    assert_eq!(run.total_cost().to_bits(), 0.0_f64.to_bits());
    for (call, total) in started(&outputs).into_iter().zip([0.25, 0.5]) {
        run.handle(Time(2), Input::Done(call, outcome("ok", 0.25)))
            .expect("it runs");
        assert_eq!(run.total_cost().to_bits(), f64::to_bits(total));
    }
}

#[test]
fn the_conversation_and_its_long_results_can_be_kept() {
    let script = Script::default()
        .gadget(gadget("Bell"))
        .with(|config| config.output_limit = Some(100));
    let (mut run, outputs) = after(&script, &bells(1));
    let long = "x".repeat(101);
    let done = Input::Done(started(&outputs)[0], outcome(&long, 0.0));
    run.handle(Time(2), done).expect("it runs");
    drain(&mut run);
    assert_eq!(run.markers(), &script.base.markers);
    assert!(run.plan().has_viewer(), "results are limited");
    let outputs: OutputStore = run.outputs().clone();
    assert_eq!(*outputs.outputs()[0].content, *long);
    let history: Vec<Message> = run.history().to_vec();
    let roles: Vec<Role> = history.iter().map(|message| message.role).collect();
    assert_eq!(
        roles,
        [Role::System, Role::User, Role::Assistant, Role::User]
    );
    assert_eq!(run.into_history(), (history, outputs));
}

#[test]
fn nothing_is_pending_only_if_no_kind_of_work_is() {
    let reply = |work: &mut PendingWork| work.reply = true;
    let gadget = |work: &mut PendingWork| work.gadgets.push(CallId(0));
    let question = |work: &mut PendingWork| work.questions.push(QuestionId(0));
    let kinds: [&dyn Fn(&mut PendingWork); 3] = [&reply, &gadget, &question];
    assert!(PendingWork::default().is_empty());
    for kind in kinds {
        let mut work = PendingWork::default();
        kind(&mut work);
        assert!(!work.is_empty(), "{work:?}");
    }
}

#[test]
fn an_interceptor_without_methods_changes_nothing() {
    struct Nothing;
    impl Interceptor for Nothing {}
    assert_eq!(Nothing.delta(Delta::text("a")), Some(Delta::text("a")));
    assert_eq!(Nothing.text("a".to_owned()).as_deref(), Some("a"));
    assert_eq!(Nothing.reply("a".to_owned()), "a");
}
