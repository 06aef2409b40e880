//! A run without a runtime: every answer comes at once, and no clock is read.

use std::collections::VecDeque;
use std::sync::Arc;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::run::{Close, Input, Output, Plan, Run, RunConfig, Summary};
use gadgetry_proto::schema::Registry;
use gadgetry_proto::time::Time;

use super::loads::{Load, fetch, look_at, spec};

/// What a run of `load` is made of.
pub fn plan(load: &Load) -> Arc<Plan> {
    let registry = Registry::new([spec()]).expect("the gadget is well formed");
    let config = RunConfig {
        max_iterations: load.iterations + 1,
        ..RunConfig::default()
    };
    config.plan(registry).expect("there are no tags")
}

/// Does a whole run. Returns how it ended and how many events it told.
pub fn drive(plan: &Arc<Plan>, replies: Vec<Vec<Delta>>) -> (Summary, u64) {
    let mut run = Run::ask(plan, "Fetch everything.");
    let mut replies = replies.into_iter();
    let mut reply = None;
    let mut done = VecDeque::new();
    let mut events = 0;
    loop {
        let input = loop {
            match run.poll() {
                Output::Send(request) => {
                    look_at(request);
                    reply = replies.next().map(Vec::into_iter);
                }
                Output::Start(start) => {
                    done.push_back(Input::Done(start.id, fetch(&start.parameters)));
                }
                Output::Event(_) => events += 1,
                Output::Wait(_) => break next(&mut done, &mut reply),
                Output::Finished(summary) => return (summary, events),
                Output::CloseModel | Output::Cancel(_) | Output::Ask(_) => {
                    unreachable!("nobody cancels or decides")
                }
            }
        };
        run.handle(Time(0), input).expect("the driver is right");
    }
}

/// Results before more of the reply, like the driver.
fn next(done: &mut VecDeque<Input>, reply: &mut Option<std::vec::IntoIter<Delta>>) -> Input {
    if let Some(input) = done.pop_front() {
        return input;
    }
    let deltas = reply.as_mut().expect("a request was sent");
    match deltas.next() {
        Some(delta) => Input::Delta(delta),
        None => Input::ModelClosed(Close::Ended),
    }
}
