//! A driver in virtual time: a scripted model, gadgets that take as long as they say, and a log of everything.
//!
//! Nothing sleeps. What will happen stands in a queue ordered by time and then by the order of asking; the clock jumps
//! from one entry to the next. Every log is checked by [`invariants`] before a test sees it.

mod call_costs;
mod call_numbers;
mod decisions;
pub mod invariants;
mod messages;
pub mod random;
pub mod script;
pub mod transcript;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::event::{Event, EventKind};
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::{Content, Message, Request};
use gadgetry_proto::run::{Close, Input, Output, Plan, Report, Run, Start, Summary};
use gadgetry_proto::time::Time;
use gadgetry_proto::usage::Usage;

use script::{Finish, Piece, Reply, Script};

/// A run that takes more inputs than this goes round in circles.
const INPUTS: usize = 100_000;

/// Everything that went into a run and came out of it.
#[derive(Debug)]
pub struct Log {
    pub plan: Arc<Plan>,
    /// Messages before the first request.
    pub opening: Vec<Message>,
    pub inputs: Vec<(Time, Input)>,
    /// What was drained before the first input, and behind each.
    pub outputs: Vec<Vec<Output>>,
    pub history: Vec<Message>,
    pub summary: Summary,
}

impl Log {
    /// All outputs in order.
    pub fn all(&self) -> impl Iterator<Item = &Output> {
        self.outputs.iter().flatten()
    }

    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.all().filter_map(|output| {
            let Output::Event(event) = output else {
                return None;
            };
            Some(event)
        })
    }

    pub fn requests(&self) -> Vec<&Request> {
        let requests = self.all().filter_map(|output| {
            let Output::Send(request) = output else {
                return None;
            };
            Some(request)
        });
        requests.collect()
    }

    /// How many diagnostics of this kind there were.
    pub fn diagnostics(&self, code: DiagnosticCode) -> usize {
        let is_one = |event: &&Event| matches!(&event.kind, EventKind::Diagnostic(diagnostic) if diagnostic.code == code);
        self.events().filter(is_one).count()
    }

    /// The results that the model was told, with the ids of their calls.
    pub fn told(&self) -> Vec<(&str, &str)> {
        let content = self.history.iter().flat_map(|message| &message.content);
        let results = content.filter_map(|content| {
            let Content::GadgetResult {
                invocation_id,
                text,
                ..
            } = content
            else {
                return None;
            };
            Some((invocation_id.as_str(), text.as_str()))
        });
        results.collect()
    }
}

/// Plays the script to its end and checks what came of it.
pub fn play(script: &Script) -> Log {
    let run = Run::new(&script.plan(), script.conversation.clone());
    let log = Sim::new(script, run).play();
    invariants::check(&log);
    log
}

/// Plays `log`, the script's own, up to `step` inputs; then the process ends, and another one continues from what was
/// saved. The outputs of both processes.
pub fn interrupt(script: &Script, log: &Log, step: usize) -> Vec<Output> {
    let mut run = Run::new(&script.plan(), script.conversation.clone());
    let mut outputs = drain(&mut run);
    for (time, input) in &log.inputs[..step] {
        run.handle(*time, input.clone())
            .expect("it was taken before");
        outputs.extend(drain(&mut run));
    }
    let saved = serde_json::to_string(&run.save()).expect("a snapshot is JSON");
    let saved = serde_json::from_str(&saved).expect("what was written");
    let run = Run::load(&script.plan(), saved).expect("its own version");
    let mut sim = Sim::new(script, run);
    sim.now = sim.run.now().0;
    let sent = outputs.iter().filter(|it| matches!(it, Output::Send(_)));
    sim.replies = script.replies[sent.count().min(script.replies.len())..].iter();
    sim.put(sim.now, Due::Somebody(Input::Interrupted));
    let rest = sim.play();
    outputs.extend(rest.outputs.into_iter().flatten());
    outputs
}

/// Plays the script; after each of these numbers of inputs the process ends, and another one continues from what was
/// saved. Commands and other inputs from outside still come.
pub fn play_with_interruptions(script: &Script, kills: &[usize]) -> Log {
    let run = Run::new(&script.plan(), script.conversation.clone());
    let mut sim = Sim::new(script, run);
    sim.kills = kills.iter().copied().collect();
    let log = sim.play();
    invariants::check(&log);
    log
}

/// What comes of a poll until there is nothing to do, and whether the run is over.
pub fn drain(run: &mut Run) -> Vec<Output> {
    let mut outputs = Vec::new();
    loop {
        let output = run.poll();
        let idle = matches!(output, Output::Wait(_) | Output::Finished(_));
        outputs.push(output);
        if idle {
            return outputs;
        }
    }
}

struct Sim<'a> {
    opening: Vec<Message>,
    script: &'a Script,
    run: Run,
    queue: BTreeMap<(u64, u64), Due>,
    /// Counts what was put into the queue.
    asked: u64,
    now: u64,
    alarm: Option<u64>,
    replies: std::slice::Iter<'a, Reply>,
    /// How often each gadget has failed.
    failures: BTreeMap<String, u32>,
    inputs: Vec<(Time, Input)>,
    outputs: Vec<Vec<Output>>,
    summary: Option<Summary>,
    /// The numbers of inputs after which the process ends.
    kills: BTreeSet<usize>,
}

enum Due {
    Model(Input),
    Gadget(CallId, Outcome),
    Report(CallId, Report),
    Decision(Input),
    Somebody(Input),
}

impl<'a> Sim<'a> {
    fn new(script: &'a Script, run: Run) -> Self {
        Self {
            opening: run.history().to_vec(),
            script,
            run,
            queue: BTreeMap::new(),
            asked: 0,
            now: 0,
            alarm: None,
            replies: script.replies.iter(),
            failures: BTreeMap::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            summary: None,
            kills: BTreeSet::new(),
        }
    }

    fn play(mut self) -> Log {
        for (time, input) in &self.script.inputs {
            self.put((*time).max(self.now), Due::Somebody(input.clone()));
        }
        self.drain();
        while self.summary.is_none() {
            let input = if self.kills.remove(&self.inputs.len()) {
                self.restart();
                Input::Interrupted
            } else {
                self.next()
            };
            assert!(self.inputs.len() < INPUTS, "the run does not end");
            self.inputs.push((Time(self.now), input.clone()));
            self.run
                .handle(Time(self.now), input.clone())
                .unwrap_or_else(|misuse| panic!("{misuse}: {input:?}"));
            self.drain();
        }
        Log {
            plan: self.script.plan(),
            opening: self.opening,
            inputs: self.inputs,
            outputs: self.outputs,
            history: self.run.history().to_vec(),
            summary: self.summary.expect("it was there"),
        }
    }

    /// Waits for what comes first. What comes at the time of the alarm comes before it.
    fn next(&mut self) -> Input {
        let first = self.queue.first_key_value().map(|((time, _), _)| *time);
        if let Some(alarm) = self.alarm
            && first.is_none_or(|first| alarm < first)
        {
            self.now = self.now.max(alarm);
            return Input::Tick;
        }
        let Some(((time, _), due)) = self.queue.pop_first() else {
            panic!("the run waits for nothing: {:#?}", self.outputs);
        };
        self.now = time;
        match due {
            Due::Model(input) | Due::Decision(input) | Due::Somebody(input) => input,
            Due::Report(id, report) => Input::Report(id, report),
            Due::Gadget(id, outcome) => Input::Done(id, outcome),
        }
    }

    /// The process ends, and with it everything that was to come from it.
    fn restart(&mut self) {
        let saved = serde_json::to_string(&self.run.save()).expect("a snapshot is JSON");
        let saved = serde_json::from_str(&saved).expect("what was written");
        self.run = Run::load(&self.script.plan(), saved).expect("its own version");
        self.queue.retain(|_, due| matches!(due, Due::Somebody(_)));
    }

    fn drain(&mut self) {
        let outputs = drain(&mut self.run);
        for output in &outputs {
            match output {
                Output::Send(_) => self.reply(),
                Output::CloseModel => self.queue.retain(|_, due| !matches!(due, Due::Model(_))),
                Output::Start(start) => self.start(start),
                Output::Cancel(id) => self.cancel(*id),
                Output::Ask(question) => {
                    let (delay_ms, decision) = (self.script.decide)(&question.kind);
                    let decision = Input::Decision(question.id, decision);
                    self.put(self.now + delay_ms, Due::Decision(decision));
                }
                Output::Event(_) => {}
                Output::Wait(alarm) => self.alarm = alarm.map(|time| time.0),
                Output::Finished(summary) => self.summary = Some(summary.clone()),
            }
        }
        self.outputs.push(outputs);
    }

    fn put(&mut self, time: u64, due: Due) {
        self.queue.insert((time, self.asked), due);
        self.asked += 1;
    }

    /// The model answers with the next reply of the script, and when there is none, with a last word.
    fn reply(&mut self) {
        // Counted, so that nobody has to estimate what it costs.
        let last = Reply {
            usage: Some(Usage::default().total_tokens(1)),
            ..Reply::stop(vec![Piece::Text("fin".to_owned())])
        };
        let reply = self.replies.next().unwrap_or(&last);
        let mut time = self.now;
        for piece in &reply.pieces {
            match piece {
                Piece::Text(text) => self.put(time, Due::Model(Input::Delta(Delta::text(text)))),
                Piece::Delta(delta) => self.put(time, Due::Model(Input::Delta(delta.clone()))),
                Piece::Pause(pause) => time += pause,
            }
        }
        if let Some(usage) = reply.usage {
            self.put(time, Due::Model(Input::Delta(Delta::Usage { usage })));
        }
        let stop = |stop_reason| (Some(stop_reason), Close::Ended);
        let (stop_reason, close) = match &reply.finish {
            Finish::Stop => stop(StopReason::Stop),
            Finish::Length => stop(StopReason::MaxTokens),
            Finish::Filter => stop(StopReason::ContentFilter),
            Finish::Reason(reason) => stop(reason.clone()),
            Finish::Disconnect => (None, Close::Ended),
            Finish::Error(words) => (None, Close::failed(words)),
        };
        if let Some(stop_reason) = stop_reason {
            let end = Delta::MessageEnd {
                stop_reason,
                usage: None,
            };
            self.put(time, Due::Model(Input::Delta(end)));
        }
        self.put(time, Due::Model(Input::ModelClosed(close)));
    }

    fn start(&mut self, start: &Start) {
        let behaviour = self
            .script
            .behaviour(&start.gadget_name)
            .expect("a gadget of the script");
        let failures = self.failures.entry(start.gadget_name.clone()).or_default();
        let outcome = behaviour.outcome(start, failures);
        let time = self.now + behaviour.delay_ms;
        if outcome.cost > 0.0 {
            let part = Report::Cost(outcome.cost / 2.0);
            self.put(self.now, Due::Report(start.id, part));
        }
        self.put(time, Due::Gadget(start.id, outcome));
    }

    /// A gadget that was cancelled stops at once, unless it does not care.
    fn cancel(&mut self, cancelled: CallId) {
        let is_it = |due: &Due| matches!(due, Due::Gadget(id, _) if *id == cancelled);
        let found = self.queue.iter().find(|(_, due)| is_it(due));
        let key = *found.expect("it runs").0;
        if !self.script.stubborn
            && let Some(due) = self.queue.remove(&key)
        {
            self.put(self.now, due);
        }
    }
}
