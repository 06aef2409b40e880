//! What the owner of a run can read from it.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test is about a few variants of many"
)]

use gadgetry_proto::block::Markers;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::event::{CallAnswer, EventKind};
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::{Message, Role};
use gadgetry_proto::run::{
    Close, Input, Interceptor, Output, PendingWork, QuestionId, QuestionKind, Retry, Run,
};
use gadgetry_proto::time::Time;
use gadgetry_proto::usage::Price;
use serde_json::json;

use crate::support::sim::script::{Piece, Reply, Script, block, gadget};
use crate::support::sim::{drain, play};

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

#[test]
fn the_markers_are_those_of_its_blocks() {
    let markers = Markers::new("<<<CALL:", "<<<END", "<<<WITH:").expect("good markers");
    let script = Script::default().with(|config| config.markers = markers.clone());
    let run = Run::new(&script.plan(), script.conversation);
    assert_eq!(*run.markers(), markers);
}

/// The driver may hand a result over late. It has arrived in time if no other input came before it.
#[test]
fn a_result_that_has_arrived_is_not_late() {
    let bell = gadget("Bell").with(|spec| spec.timeout_ms = Some(5));
    for (input, answered) in [(None, true), (Some(Input::Tick), false)] {
        let (mut run, outputs) = after(&Script::default().gadget(bell.clone()), &bells(1));
        if let Some(input) = input {
            run.handle(Time(20), input).expect("it makes sense");
        }
        let done = Input::Done(started(&outputs)[0], outcome("ding", 0.0));
        run.handle(Time(20), done).expect("it runs");
        let is_answer = |output: &Output| match output {
            Output::Event(event) => matches!(
                &event.kind,
                EventKind::GadgetResult { answer: CallAnswer::Result(text), .. } if text == "ding"
            ),
            _ => false,
        };
        assert_eq!(drain(&mut run).iter().any(is_answer), answered);
    }
}

/// Work is in flight from the output that gives it to the driver, to the input that ends it.
#[test]
fn work_is_pending_once_it_was_polled() {
    fn poll_to(run: &mut Run, is_meant: impl Fn(&Output) -> bool) {
        while !is_meant(&run.poll()) {}
    }
    let script = Script::default()
        .gadget(gadget("Bell"))
        .with(|config| config.asks.before_gadget = true);
    let nothing = PendingWork::default;
    let mut run = Run::new(&script.plan(), script.conversation.clone());
    assert_eq!(run.pending(), nothing(), "the request was not polled");
    drain(&mut run);
    let mut reply = nothing();
    reply.reply = true;
    assert_eq!(run.pending(), reply);
    let end = Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: None,
    };
    run.handle(Time(1), Input::Delta(Delta::text(bells(1))))
        .expect("a reply is open");
    assert_eq!(run.pending(), reply, "the question was not polled");
    let is_question = |output: &Output| matches!(output, Output::Ask(_));
    poll_to(&mut run, is_question);
    for input in [Input::Delta(end), Input::ModelClosed(Close::Ended)] {
        run.handle(Time(1), input).expect("a reply is open");
    }
    drain(&mut run);
    let mut question = nothing();
    question.questions = vec![QuestionId(0)];
    assert_eq!(run.pending(), question, "the reply has ended");
    let proceed = Input::Decision(QuestionId(0), gadgetry_proto::run::Decision::Proceed);
    run.handle(Time(2), proceed).expect("it is open");
    assert_eq!(run.pending(), nothing(), "the start was not polled");
    drain(&mut run);
    let mut gadgets = nothing();
    gadgets.gadgets = vec![CallId(0)];
    assert_eq!(run.pending(), gadgets);
}

#[test]
fn between_two_attempts_nothing_is_pending() {
    let script = Script::default().with(|config| config.retry = Some(Retry::default()));
    let mut run = Run::new(&script.plan(), script.conversation.clone());
    drain(&mut run);
    run.handle(Time(1), Input::ModelClosed(Close::failed("no line")))
        .expect("a reply is open");
    assert!(matches!(drain(&mut run)[..], [.., Output::Wait(Some(_))]));
    assert!(run.pending().is_empty(), "{:?}", run.pending());
}

/// Parameters are shared only where something may still show them, so that a gadget can take them apart.
#[test]
fn the_parameters_of_a_start_are_its_own() {
    let bell = gadget("Bell").takes_parameters(&json!({ "n": { "default": 3 } }));
    let script = Script::default().gadget(bell);
    let reply = block("Bell:a", &[("n", "4")]);
    let (run, outputs) = after(&script, &reply);
    let is_start = |output: &Output| matches!(output, Output::Start(_));
    let start = outputs.into_iter().find(is_start).expect("it can start");
    let Output::Start(start) = start else {
        unreachable!("it was looked for")
    };
    assert!(
        std::sync::Arc::into_inner(start.parameters).is_some(),
        "{run:?}"
    );
}

/// A question about a call that has run shows its parameters as the gadget got them, with defaults.
#[test]
fn questions_show_the_parameters_of_the_start() {
    let bell = gadget("Bell")
        .takes_parameters(&json!({ "a": {}, "n": { "type": "integer", "default": 3 } }))
        .asks("Which?");
    for (after_gadget, human) in [(true, false), (false, true)] {
        let script = Script::default().gadget(bell.clone()).with(|config| {
            config.asks.after_gadget = after_gadget;
            config.asks.human = human;
        });
        // A reference is completed only when the call starts.
        let reply = block("Bell:a", &[("a", "x")]) + &block("Bell:b:a", &[("a", "${a}")]);
        let log = play(&script.reply(reply));
        let mut shown = Vec::new();
        for output in log.all() {
            if let Output::Ask(question) = output {
                match &question.kind {
                    QuestionKind::AfterGadget { about, .. } | QuestionKind::Human { about, .. } => {
                        shown.push(about.parameters.clone());
                    }
                    _ => {}
                }
            }
        }
        assert_eq!(
            shown,
            [
                json!({ "a": "x", "n": 3 }),
                json!({ "a": "ok Bell", "n": 3 })
            ]
        );
    }
}

#[test]
fn every_piece_of_an_argument_is_an_event_of_its_call() {
    let pieces = [
        "!!!GADGET_START:Bell:a\n!!!ARG:t",
        "ext\none ",
        "two\n",
        "!!!GADGET_END",
    ];
    let pieces = pieces.map(|text| Piece::Text(text.to_owned()));
    let script = Script::default().gadget(gadget("Bell"));
    let log = play(&script.replies(Reply::stop(pieces.to_vec())));
    let mut value = String::new();
    for event in log.events() {
        if let EventKind::GadgetArgsPartial { call, args } = &event.kind {
            assert_eq!((*call, args.field_path.as_str()), (CallId(0), "text"));
            value.push_str(&args.delta);
        }
    }
    assert_eq!(value, "one two");
}

/// A budget that was spent before the run began calls its first request back. Later it only counts for the next one.
#[test]
fn a_request_is_called_back_only_at_the_beginning() {
    for (before, called_back) in [(None, true), (Some(Input::Tick), false)] {
        let script = Script::default().with(|config| {
            config.budget = Some(1.0);
            config.price = Some(Price::default());
        });
        let mut run = Run::new(&script.plan(), script.conversation);
        drain(&mut run);
        if let Some(input) = before {
            run.handle(Time(1), input).expect("it makes sense");
        }
        run.handle(Time(1), Input::ExternalSpend(2.0))
            .expect("it makes sense");
        let outputs = drain(&mut run);
        let is_over = matches!(outputs.last(), Some(Output::Finished(_)));
        assert_eq!(is_over, called_back, "{outputs:?}");
    }
}
