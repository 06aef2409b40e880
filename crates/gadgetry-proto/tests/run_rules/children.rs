//! What gadgets tell while they run, and what their subagents cost.

use gadgetry_proto::delta::StopReason;
use gadgetry_proto::event::{Ancestor, CallAnswer, Event, EventKind};
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::Purpose;
use gadgetry_proto::run::{Command, Input, Report};
use gadgetry_proto::time::Time;
use gadgetry_proto::usage::Usage;

use crate::support::sim::play;
use crate::support::sim::script::{Script, block, gadget};
use crate::support::sim::transcript::check;

fn event(kind: EventKind) -> Event {
    Event::new(77, Time(1234), kind)
}

/// A subagent of call `call` tells this.
fn child(call: u32, agent: u32, event: Event) -> Input {
    let event = Box::new(event);
    Input::Report(CallId(call), Report::Child { agent, event })
}

fn model_call(cost: f64) -> Event {
    event(EventKind::ModelCallEnd {
        iteration: 1,
        purpose: Purpose::Reply,
        stop_reason: StopReason::Stop,
        usage: Usage::default(),
        cost: Some(cost),
        error: None,
    })
}

fn result(id: &str, cost: f64) -> Event {
    event(EventKind::GadgetResult {
        call: CallId(0),
        invocation_id: id.into(),
        gadget_name: "Inner".to_owned(),
        answer: CallAnswer::Result("ok".to_owned()),
        duration_ms: 3,
        cost,
        media: Vec::new(),
        completes_run: false,
    })
}

/// An event of a subagent's subagent.
fn deeper(mut event: Event) -> Event {
    event.path.push(Ancestor::new(CallId(4), "x", 1));
    event
}

fn parent() -> Script {
    let agent = gadget("Agent").takes(20).costs(1.0);
    Script::default().gadget(agent).reply(block("Agent:a", &[]))
}

#[test]
fn the_events_of_subagents_are_events_of_the_run_and_their_costs_count_once() {
    let script = parent()
        .input_at(
            1,
            child(
                0,
                0,
                event(EventKind::Text {
                    text: "hm".to_owned(),
                }),
            ),
        )
        .input_at(2, child(0, 0, model_call(0.25)))
        .input_at(3, child(0, 1, result("x", 0.5)))
        .input_at(4, child(0, 0, deeper(model_call(2.0))))
        .input_at(5, child(0, 0, deeper(result("y", 4.0))))
        .input_at(
            6,
            child(
                0,
                0,
                event(EventKind::GadgetCost {
                    call: CallId(0),
                    invocation_id: "z".into(),
                    gadget_name: "Inner".to_owned(),
                    cost: 8.0,
                }),
            ),
        )
        // The subagent's sum says nothing new.
        .input_at(
            7,
            child(
                0,
                0,
                event(EventKind::RunFinished {
                    reason: gadgetry_proto::event::FinishReason::Completed,
                    iterations: 1,
                    total_cost: Some(100.0),
                    answer: String::new(),
                    error: None,
                }),
            ),
        );
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Agent",
            "0 start a {}",
            "1 [a/0] text hm",
            "2 [a/0] reply stop $0.25",
            "3 [a/1] ok x $0.5: ok",
            "4 [a/0 x/1] reply stop $2",
            "5 [a/0 x/1] ok y $4: ok",
            "6 [a/0] late z $8",
            "20 ok a $1: ok Agent",
            "  told Result (a): ok Agent",
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2 $15.75: fin",
        ],
    );
    // They have the run's own order and time.
    let log = play(&script);
    let children: Vec<&Event> = log.events().filter(|event| event.depth() > 0).collect();
    let times: Vec<u64> = children.iter().map(|event| event.time.0).collect();
    assert_eq!(times, [1, 2, 3, 4, 5, 6, 7]);
    let outermost = |event: &&Event| {
        event.path[0].call == CallId(0) && event.path[0].invocation_id.as_str() == "a"
    };
    assert!(children.iter().all(outermost));
}

#[test]
fn invalid_costs_of_subagents_count_as_zero() {
    let mut script = parent();
    for (time, cost) in (1..).zip([-5.0, f64::NAN, f64::INFINITY, 0.5]) {
        script = script.input_at(time, child(0, 0, model_call(cost)));
    }
    assert!((play(&script).summary.known_cost - 1.5).abs() < 1e-12);
}

#[test]
fn subagents_spend_the_budget_of_the_run() {
    let script = parent()
        .with(|spec| spec.budget = Some(2.0))
        .input_at(1, child(0, 0, deeper(model_call(1.0))));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Agent",
            "0 start a {}",
            "1 [a/0 x/1] reply stop $1",
            "20 ok a $1: ok Agent",
            "  told Result (a): ok Agent",
            "20 end budgetExceeded after 1 $2: ",
        ],
    );
}

/// Cancelled subagents come to an end, too, and have cost something until then.
#[test]
fn costs_that_come_after_the_answer_count() {
    let cancelled = "Error: The run was cancelled before the call was done";
    let mut script = parent()
        .at(5, Command::Cancel)
        .input_at(10, child(0, 0, model_call(0.5)))
        .input_at(
            11,
            Input::Report(CallId(0), Report::Progress("late".to_owned())),
        );
    script.stubborn = true;
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Agent",
            "0 start a {}",
            "5 cancel a",
            &format!("5 error a: {cancelled}"),
            "10 [a/0] reply stop $0.5",
            "20 late a $1",
            &format!("  told Result (a): {cancelled}"),
            "20 end cancelled after 1 $1.5: ",
        ],
    );
    let timeout = "Gadget 'Agent' execution exceeded timeout of 7ms";
    let mut script = parent()
        .with(|spec| spec.default_timeout_ms = Some(7))
        .input_at(10, child(0, 0, model_call(0.5)));
    script.stubborn = true;
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Agent",
            "0 start a {}",
            "7 cancel a",
            &format!("7 error a: {timeout}"),
            "10 [a/0] reply stop $0.5",
            "20 late a $1",
            &format!("  told Result (a): {timeout}"),
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2 $1.5: fin",
        ],
    );
}

fn question(number: u32, question: &str) -> Report {
    let question = question.to_owned();
    Report::HumanQuestion { number, question }
}

fn answer(number: u32, answer: Option<&str>) -> Report {
    let answer = answer.map(str::to_owned);
    Report::HumanAnswer { number, answer }
}

#[test]
fn reports_of_a_running_gadget_become_events() {
    let report = |report| Input::Report(CallId(0), report);
    let script = parent()
        .input_at(1, report(Report::Progress("half".to_owned())))
        .input_at(2, report(question(0, "Which?")))
        .input_at(3, report(answer(0, Some("This."))));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Agent",
            "0 start a {}",
            "1 progress a: half",
            "2 human Which?",
            "3 human said true",
            "20 ok a $1: ok Agent",
            "  told Result (a): ok Agent",
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2 $1: fin",
        ],
    );
}

/// Of a call that is over, or never was, only costs are of interest.
#[test]
fn reports_of_calls_that_do_not_run_are_ignored() {
    let progress = |call| Input::Report(CallId(call), Report::Progress("?".to_owned()));
    let script = Script::default()
        .gadget(gadget("Slow").takes(20))
        .gadget(gadget("Bell"))
        .reply(block("Slow:a", &[]) + &block("Bell:b", &[]) + &block("Bell:c:a", &[]))
        .input_at(5, progress(1))
        .input_at(6, progress(2))
        .input_at(7, progress(9))
        .input_at(8, child(1, 0, model_call(0.5)));
    check(
        &script,
        &[
            "0 ask 1",
            "0 call a Slow",
            "0 start a {}",
            "0 call b Bell",
            "0 start b {}",
            "0 call c Bell",
            "0 ok b: ok Bell",
            "8 [b/0] reply stop $0.5",
            "20 ok a: ok Slow",
            "20 start c {}",
            "20 ok c: ok Bell",
            "  told Result (a): ok Slow",
            "  told Result (b): ok Bell",
            "  told Result (c): ok Bell",
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2 $0.5: fin",
        ],
    );
}
