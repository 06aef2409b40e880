//! What must hold for every run, whatever the model, the gadgets and the user do.

use std::collections::{BTreeMap, BTreeSet};

use gadgetry_proto::block::Markers;
use gadgetry_proto::convo::{escape_markers, prompt_text};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::event::{CallAnswer, Event, EventKind};
use gadgetry_proto::id::{CallId, InvocationId};
use gadgetry_proto::message::{Content, Message, Purpose, Request, Role};
use gadgetry_proto::run::{
    Asks, Command, Decision, Input, Output, Question, QuestionId, QuestionKind, Report,
};

use super::Log;
use super::call_costs::CallCosts;
use super::call_numbers::CallNumbers;
use super::messages::{announced_bytes, calls, ids, is_result, tells_skip, tool_uses};

/// Panics with what does not hold.
pub fn check(log: &Log) {
    let mut watch = Watch {
        rewritten: !log.plan.code().interceptors.is_empty(),
        limit: log.plan.config().output_limit,
        asks: log.plan.config().asks,
        sent: log.opening.clone(),
        ..Watch::default()
    };
    assert_eq!(log.outputs.len(), log.inputs.len() + 1);
    for (step, outputs) in log.outputs.iter().enumerate() {
        if let Some((_, input)) = step.checked_sub(1).and_then(|at| log.inputs.get(at)) {
            watch.input(input);
        }
        for output in outputs {
            watch.output(output);
        }
    }
    watch.end(log);
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Watch {
    seq: u64,
    /// Whether `run_finished` was told.
    over: bool,
    reading: bool,
    /// Whether the reply was interrupted, and nothing else was read yet.
    lost: bool,
    /// Replies that no request has carried yet, with what became of their calls.
    rounds: Vec<Round>,
    /// Whether a reply was taken back since the last request that was compared.
    abandoned: bool,
    started: BTreeSet<CallId>,
    /// Calls of interrupted gadgets, between the event and the start.
    restarted: BTreeSet<CallId>,
    running: BTreeSet<CallId>,
    cancelled: BTreeSet<CallId>,
    /// Messages that requests have carried.
    sent: Vec<Message>,
    last_request: Request,
    iteration: u32,
    /// Whether the next reply takes the place of one that failed.
    again: bool,
    /// Whether a summary is being read.
    summarising: bool,
    /// Whether the past was changed.
    compacted: bool,
    /// Whether the next request is another than the conversation.
    changed: bool,
    /// The reply that somebody gave in place of the model.
    given: Option<String>,
    /// What the user said during the run, as the model reads it.
    injected: Vec<String>,
    questions: u64,
    open: BTreeMap<QuestionId, QuestionKind>,
    numbers: CallNumbers,
    costs: CallCosts,
    /// What all events together say was spent.
    spent: f64,
    /// Whether a model call has cost what nobody knows.
    unpriced: bool,
    /// Whether interceptors change texts.
    rewritten: bool,
    limit: Option<usize>,
    asks: Asks,
}

/// A reply.
#[derive(Default)]
struct Round {
    /// As the model wrote it.
    written: String,
    /// Whether it was ended before the model had ended it.
    stopped: bool,
    /// Whether anything of it was told.
    told: bool,
    /// Whether a decision gave it, and not the model.
    is_given: bool,
    /// What somebody has put in its place.
    instead: Option<String>,
    /// What somebody has put behind its results.
    append: Vec<Message>,
    announced: Vec<InvocationId>,
    /// What was told of each call, in any order.
    answers: BTreeMap<InvocationId, Vec<(String, bool)>>,
}

impl Round {
    /// Whether the conversation keeps anything of it.
    fn is_said(&self) -> bool {
        self.told || !self.written.trim().is_empty() || self.instead.is_some()
    }
}

impl Watch {
    fn input(&mut self, input: &Input) {
        match input {
            Input::Delta(_) if self.summarising => {}
            Input::Delta(Delta::Text { delta, .. }) => self.round().written.push_str(delta),
            Input::Delta(Delta::ToolCallStart { .. } | Delta::ToolCall { .. }) => {
                self.round().told = true;
            }
            Input::ModelClosed(_) => self.reading = false,
            Input::Done(id, outcome) => {
                self.running.remove(id);
                self.costs.done(*id, outcome.cost);
            }
            Input::Report(id, Report::Cost(dollars)) => {
                if self.running.contains(id) {
                    self.costs.report(*id, *dollars);
                }
            }
            Input::Interrupted => {
                self.lost = std::mem::take(&mut self.reading) && !self.summarising;
                self.costs.interrupt();
                self.running.clear();
            }
            Input::Decision(id, decision) => {
                if let Some(question) = self.open.remove(id) {
                    if matches!(question, QuestionKind::ModelError { .. }) {
                        self.again = matches!(decision, Decision::Reply(_));
                    }
                    self.decision(decision);
                }
            }
            Input::Command(Command::Inject(text)) => {
                self.injected
                    .push(escape_markers(text, &Markers::default()).into_owned());
                let input =
                    |question: &QuestionKind| matches!(question, QuestionKind::Input { .. });
                self.open.retain(|_, question| !input(question));
            }
            // Nobody needs an answer any more, and a late decision changes nothing.
            Input::Command(Command::Cancel) => self.open.clear(),
            Input::Delta(_)
            | Input::Command(Command::Compact | Command::Retract(_))
            | Input::Report(..)
            | Input::RateLimited(_)
            | Input::ExternalSpend(_)
            | Input::Tick => {}
        }
    }

    fn decision(&mut self, decision: &Decision) {
        match decision {
            Decision::Request(_) => self.changed = true,
            Decision::Reply(text) => self.given = Some(text.clone()),
            Decision::AfterReply { text, append, .. } => {
                let round = self.round();
                round.instead.clone_from(text);
                round.append.clone_from(append);
            }
            Decision::StopAfter(rewrite) => self.decision(rewrite),
            Decision::Proceed
            | Decision::Parameters(_)
            | Decision::Result(_)
            | Decision::Deny(_)
            | Decision::Execute
            | Decision::Stop => {}
        }
    }

    fn round(&mut self) -> &mut Round {
        self.rounds.last_mut().expect("a reply")
    }

    fn output(&mut self, output: &Output) {
        assert!(
            !self.over || matches!(output, Output::Finished(_)),
            "behind run_finished: {output:?}"
        );
        match output {
            Output::Send(request) => self.request(request),
            Output::CloseModel => {
                assert!(self.reading, "no model to close");
                self.reading = false;
                if !self.round().stopped {
                    // Nothing waits for an answer any more.
                    self.open.clear();
                }
            }
            Output::Start(start) => {
                let is_again = self.restarted.remove(&start.id);
                let is_new = self.started.insert(start.id);
                assert!(is_new != is_again, "{} starts twice", start.id);
                self.running.insert(start.id);
                let held = |question: &QuestionKind| matches!(question, QuestionKind::BeforeGadget { start: it } if it.id == start.id);
                assert!(
                    !self.open.values().any(held),
                    "{} starts without a decision",
                    start.id
                );
            }
            Output::Cancel(id) => {
                assert!(
                    self.running.contains(id),
                    "{id} is cancelled but not running"
                );
                assert!(self.cancelled.insert(*id), "{id} is cancelled twice");
            }
            Output::Ask(question) => self.question(question),
            Output::Event(event) => self.event(event),
            Output::Wait(_) => {}
            Output::Finished(_) => assert!(self.over, "finished without run_finished"),
        }
    }

    fn request(&mut self, request: &Request) {
        assert!(!self.reading, "a request while a reply is read");
        let early = u32::from(self.summarising);
        assert!(
            (self.iteration..=self.iteration + early).contains(&request.iteration),
            "the number of a request"
        );
        let open = self.open.values().next();
        assert_eq!(open, None, "a request in spite of a question");
        self.reading = true;
        if request.purpose == Purpose::Summary {
            return;
        }
        // The reply to this request is the last round.
        let reply = self.rounds.pop().expect("the model call has started");
        if std::mem::take(&mut self.again) {
            assert_eq!(
                request.messages, self.last_request.messages,
                "another request instead of a retry"
            );
        } else if !std::mem::take(&mut self.changed) {
            self.conversation(&request.messages);
        }
        self.rounds.push(reply);
        self.last_request = request.clone();
    }

    fn question(&mut self, question: &Question) {
        if let Some(open) = self.open.get(&question.id) {
            return assert_eq!(*open, question.kind, "repeated because of an interruption");
        }
        assert_eq!(question.id.0, self.questions, "the number of a question");
        self.questions += 1;
        let asked = match &question.kind {
            QuestionKind::BeforeModelCall { .. } => self.asks.before_model_call,
            QuestionKind::BeforeCompaction { .. } => self.asks.before_compaction,
            QuestionKind::AfterModelCall { .. } => self.asks.after_model_call,
            QuestionKind::ModelError { .. } => {
                self.again = true;
                self.abandon();
                self.asks.model_error
            }
            QuestionKind::BeforeGadget { .. } => self.asks.before_gadget,
            QuestionKind::AfterGadget { .. } => self.asks.after_gadget,
            QuestionKind::DependencySkipped { .. } => self.asks.dependency_skipped,
            QuestionKind::Human { .. }
            | QuestionKind::Interrupted { .. }
            | QuestionKind::Input { .. } => self.asks.human,
        };
        assert!(asked, "nobody wants to be asked {question:?}");
        self.open.insert(question.id, question.kind.clone());
    }

    /// The reply is as if it had never been: nothing may have come of it.
    fn abandon(&mut self) {
        let round = self.rounds.pop().expect("a reply has failed");
        self.abandoned = true;
        assert_eq!(round.announced, [], "calls of a reply that is taken back");
    }

    fn event(&mut self, event: &Event) {
        assert_eq!(event.seq, self.seq, "the number of an event");
        self.seq += 1;
        let cost = event.kind.own_cost();
        self.unpriced |= cost.is_none();
        self.spent = (self.spent + cost.unwrap_or_default()).min(f64::MAX);
        if event.depth() > 0 {
            return;
        }
        self.numbers.event(event);
        self.costs.event(&event.kind);
        if let EventKind::Text { text } | EventKind::Reasoning { text } = &event.kind {
            let reasoning = matches!(event.kind, EventKind::Reasoning { .. });
            self.round().told |= reasoning || !text.trim().is_empty();
        }
        match &event.kind {
            EventKind::ModelCallStart {
                purpose: Purpose::Summary,
                ..
            } => self.summarising = true,
            EventKind::ModelCallEnd {
                purpose: Purpose::Summary,
                ..
            } => self.summarising = false,
            EventKind::Compaction(done) => {
                assert!(done.removed_turns + done.cut_texts > 0);
                assert!(done.tokens_after < done.tokens_before);
                self.compacted = true;
            }
            EventKind::ModelCallStart { iteration, .. } => {
                if std::mem::take(&mut self.lost) && *iteration == self.iteration {
                    // Nothing of the interrupted reply was used.
                    self.abandon();
                    self.again = true;
                }
                if self.compacted && !self.again && *iteration == self.iteration {
                    // The conversation was too long for the model.
                    self.abandon();
                } else {
                    self.iteration += u32::from(!self.again);
                }
                assert_eq!(*iteration, self.iteration, "the number of a reply");
                let given = self.given.take();
                // A reply that somebody has given takes no request.
                self.again &= given.is_none();
                self.rounds.push(Round {
                    is_given: given.is_some(),
                    written: given.unwrap_or_default(),
                    ..Round::default()
                });
            }
            // What follows was not read.
            EventKind::Diagnostic(said)
                if matches!(
                    said.code,
                    DiagnosticCode::HopelessCall | DiagnosticCode::RepeatedLines
                ) =>
            {
                let end = usize::try_from(said.span.end).expect("it is in the text");
                let rewritten = self.rewritten;
                let round = self.round();
                round.stopped = true;
                if !rewritten {
                    round.written.truncate(end);
                }
            }
            EventKind::GadgetCall { written, .. } => {
                let id = written.invocation_id.clone();
                self.round().announced.push(id);
            }
            EventKind::GadgetResult {
                invocation_id,
                answer,
                ..
            } => {
                let answer = match answer {
                    CallAnswer::Result(text) => (text.clone(), false),
                    CallAnswer::Error(text) => (text.clone(), true),
                };
                self.answer(invocation_id, answer);
            }
            EventKind::GadgetSkipped {
                invocation_id,
                error,
                ..
            } => self.answer(invocation_id, (error.clone(), true)),
            EventKind::ModelRetry { .. } => {
                self.lost = false;
                self.again = true;
                self.abandon();
            }
            EventKind::RunFinished { total_cost, .. } => {
                self.over = true;
                let (told, sum) = (total_cost.unwrap_or(self.spent), self.spent);
                let close = (told - sum).abs() <= 1e-9 * sum.max(1e-9);
                assert!(close, "{told} in all, but the events say {sum}");
                assert_eq!(total_cost.is_none(), self.unpriced, "whether it is known");
            }
            EventKind::GadgetRestarted { call, .. } => {
                assert!(self.started.contains(call), "{call} has not started");
                assert!(self.restarted.insert(*call), "{call} starts again twice");
            }
            EventKind::ModelCallEnd { .. }
            | EventKind::ReplyWithdrawn { .. }
            | EventKind::RateLimited { .. }
            | EventKind::GadgetProgress { .. }
            | EventKind::GadgetCost { .. }
            | EventKind::HumanInputRequired { .. }
            | EventKind::HumanInputReceived { .. }
            | EventKind::Text { .. }
            | EventKind::Reasoning { .. }
            | EventKind::GadgetCallStart { .. }
            | EventKind::GadgetArgsPartial { .. }
            | EventKind::GadgetStart { .. }
            | EventKind::CustomBlockStart(_)
            | EventKind::CustomBlockDelta(_)
            | EventKind::CustomBlockEnd(_)
            | EventKind::CustomBlock(_)
            | EventKind::IterationEnd { .. }
            | _ => {}
        }
    }

    fn answer(&mut self, id: &InvocationId, answer: (String, bool)) {
        let round = self.round();
        let answers = round.answers.entry(id.clone()).or_default();
        answers.push(answer);
        let announced = round.announced.iter().filter(|it| *it == id).count();
        assert!(answers.len() <= announced, "{id} is answered twice");
    }

    /// A request, or the history at the end: what went before, then each reply, the results in call order, what
    /// somebody has put behind them, the user's words.
    fn conversation(&mut self, messages: &[Message]) {
        if std::mem::take(&mut self.compacted) {
            self.rounds.clear();
            self.sent = messages.to_vec();
            return;
        }
        assert!(messages.starts_with(&self.sent), "the past has changed");
        let mut new = messages[self.sent.len()..].iter().peekable();
        let mut rounds = std::mem::take(&mut self.rounds).into_iter().peekable();
        while let Some(mut round) = rounds.next() {
            // A reply that says nothing does not part what follows it from what follows the one before.
            let silent = rounds.peek().filter(|next| !next.is_said());
            let theirs = silent.and_then(|next| next.append.first());
            // What the user said while the decision was open comes before a reply that answers no request, and before a text in place of
            // a reply of which an interceptor has left nothing.
            let mut is_late = round.is_given || self.rewritten && round.instead.is_some();
            // And what they said behind a reply that was taken back.
            is_late |= std::mem::take(&mut self.abandoned);
            while is_late && new.next_if(|it| self.is_injected(it)).is_some() {}
            let reply = new.next_if(|message| {
                // Interceptors may have made something of nothing.
                let expected =
                    round.is_said() || self.rewritten && calls(message) == round.announced;
                message.role == Role::Assistant && expected
            });
            self.reply(&round, reply);
            let results = new.next_if(|message| message.content.iter().any(is_result));
            let told = results.map_or(Vec::new(), |message| {
                ids(message, |content| {
                    let Content::GadgetResult { invocation_id, .. } = content else {
                        return None;
                    };
                    Some(invocation_id)
                })
            });
            assert_eq!(told, round.announced, "results of the reply's calls");
            for content in results.iter().flat_map(|message| &message.content) {
                self.result(&mut round, content);
            }
            let left: usize = round.answers.values().map(Vec::len).sum();
            assert_eq!(left, 0, "the model was not told {:?}", round.answers);
            let mut append = round.append.iter().peekable();
            while let Some(message) = new.next_if(|it| {
                let done = append.peek().is_none() && theirs == Some(*it);
                it.role != Role::Assistant && !done
            }) {
                assert!(!message.content.iter().any(is_result), "orphan results");
                if append.next_if_eq(&message).is_none() {
                    assert_eq!(message.role, Role::User, "behind the results");
                }
            }
            if !self.over {
                assert_eq!(append.next(), None, "it was to follow the results");
            }
        }
        for message in new {
            assert_eq!(message.role, Role::User, "behind everything");
        }
        self.abandoned = false;
        self.sent = messages.to_vec();
    }

    fn is_injected(&self, message: &Message) -> bool {
        message.role == Role::User && self.injected.contains(&prompt_text(message).to_string())
    }

    /// What the conversation keeps of a reply.
    fn reply(&self, round: &Round, reply: Option<&Message>) {
        let Some(reply) = reply else {
            let taken_away =
                self.rewritten && round.announced.is_empty() && round.instead.is_none();
            assert!(taken_away || !round.is_said(), "the reply is missing");
            return;
        };
        if let Some(instead) = &round.instead {
            assert_eq!(
                prompt_text(reply),
                instead.as_str(),
                "in place of the reply"
            );
        } else if !self.rewritten {
            let raw = reply.raw.as_deref().unwrap_or_default();
            // Whitespace alone may be left out behind reasoning.
            if !(raw.is_empty() && round.written.trim().is_empty()) {
                let rest = raw.strip_prefix(round.written.as_str());
                let rest = rest.expect("the raw reply is the reply as written");
                // A call that came through the provider's interface, though nobody offered it, follows as a block.
                let native = !tool_uses(reply).is_empty();
                assert!(rest.is_empty() || native, "{rest:?} was never written");
            }
        }
        // Tools are called when their input is complete, and stand where they began.
        let mut announced = round.announced.clone();
        let native = tool_uses(reply);
        announced.retain(|id| !native.contains(id));
        assert_eq!(calls(reply), announced, "calls of the reply");
    }

    /// What the model is told is what the event said, if that is not too long.
    fn result(&self, round: &mut Round, content: &Content) {
        let Content::GadgetResult {
            invocation_id,
            text,
            is_error,
            ..
        } = content
        else {
            return;
        };
        // What a model needs to write a call again comes behind the error, and a skipped call is told so.
        let bare = text.split_once("\n\nGadget Usage:\n");
        let text = bare.map_or(text.as_str(), |(error, _)| error);
        let answers = round.answers.entry(invocation_id.clone()).or_default();
        let same = |(said, failed): &(String, bool)| {
            let long =
                |limit| said.chars().count() > limit && announced_bytes(text) == Some(said.len());
            failed == is_error
                && (self.rewritten
                    || self.limit.is_some_and(long)
                    // What is wrong with a block is told with the right form, to be copied.
                    || said == text
                    || escape_markers(said, &Markers::default()) == text
                    || (*failed && tells_skip(text, &escape_markers(said, &Markers::default()))))
        };
        let at = answers.iter().position(same);
        let at = at.unwrap_or_else(|| panic!("{invocation_id}: no event said {text:?}"));
        answers.remove(at);
    }

    fn end(mut self, log: &Log) {
        assert!(self.over, "no run_finished");
        assert!(!self.reading, "the reply is still read");
        self.numbers.end();
        self.costs.end();
        self.conversation(&log.history);
        let last = log.outputs.last().and_then(|outputs| outputs.last());
        assert_eq!(last, Some(&Output::Finished(log.summary.clone())));
        assert_eq!(log.summary.iterations, self.iteration, "replies");
        assert!(
            self.running.is_empty(),
            "{:?} still run at the end",
            self.running
        );
    }
}
