//! Inputs that make no sense, and inputs that come too late.

use gadgetry_proto::call::Outcome;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::{Close, Command, Input, Misuse, Output, Run};
use gadgetry_proto::time::Time;

use crate::support::sim::drain;
use crate::support::sim::script::{Script, block, gadget};

fn take(run: &mut Run, time: u64, input: Input) {
    run.handle(Time(time), input).expect("it makes sense");
}

/// A run whose first reply has called `Bell` (which runs) and `Gong` (which does not exist).
fn working() -> Run {
    let script = Script::default().gadget(gadget("Bell"));
    let mut run = Run::new(&script.plan(), script.conversation);
    drain(&mut run);
    let text = block("Bell:a", &[]) + &block("Gong:b", &[]);
    take(&mut run, 1, Input::Delta(Delta::text(text)));
    let end = Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: None,
    };
    take(&mut run, 2, Input::Delta(end));
    take(&mut run, 3, Input::ModelClosed(Close::Ended));
    drain(&mut run);
    run
}

fn done(call: u32) -> Input {
    Input::Done(CallId(call), Outcome::ok("x"))
}

#[test]
fn an_input_that_does_not_fit_the_phase_changes_nothing() {
    let mut run = working();
    for (input, misuse) in [
        (Input::Delta(Delta::text("more")), Misuse::NoReply),
        (Input::ModelClosed(Close::Ended), Misuse::NoReply),
        (done(7), Misuse::NotRunning(CallId(7))),
        // It was answered, but never started.
        (done(1), Misuse::NotRunning(CallId(1))),
    ] {
        let before = run.save();
        assert_eq!(run.handle(Time(9), input), Err(misuse));
        assert_eq!(run.save(), before);
    }
}

#[test]
fn a_result_comes_once() {
    let mut run = working();
    take(&mut run, 4, done(0));
    assert!(matches!(
        drain(&mut run)[..],
        [.., Output::Send(_), Output::Wait(None)]
    ));
    let again = run.handle(Time(5), done(0));
    assert_eq!(again, Err(Misuse::NotRunning(CallId(0))));
}

#[test]
fn time_never_goes_back() {
    let mut run = working();
    take(&mut run, 0, done(0));
    let outputs = drain(&mut run);
    for output in &outputs {
        if let Output::Event(event) = output {
            assert_eq!(event.time, Time(3));
        }
    }
}

#[test]
fn a_run_that_is_over_ignores_everything() {
    let mut run = working();
    take(&mut run, 4, Input::Command(Command::Cancel));
    // The gadget that was cancelled still says what it cost.
    assert!(matches!(drain(&mut run)[..], [.., Output::Wait(None)]));
    take(&mut run, 5, done(0));
    assert!(matches!(drain(&mut run)[..], [.., Output::Finished(_)]));
    let before = run.save();
    for input in [
        Input::Delta(Delta::text("more")),
        Input::ModelClosed(Close::failed("late")),
        done(0),
        done(99),
        Input::Command(Command::Cancel),
        Input::Command(Command::Inject("late".to_owned())),
        Input::Tick,
    ] {
        take(&mut run, 5, input);
        assert!(matches!(drain(&mut run)[..], [Output::Finished(_)]));
    }
    assert_eq!(run.save(), before);
}

#[test]
fn a_tick_without_need_does_nothing() {
    let mut run = working();
    take(&mut run, 4, Input::Tick);
    assert_eq!(drain(&mut run), [Output::Wait(None)]);
}
