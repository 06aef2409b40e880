//! Changes of the state by the events of a run.

use std::mem;
use std::time::Duration;

use gadgetry::proto::event::{CallAnswer, Event, EventKind};

use super::call::CallItem;
use super::dialog::Dialog;
use super::run::{Activity, Run};
use super::transcript::Item;
use super::{App, Effect, Failure, Said, Tone};
use crate::lines::{longer, short};
use crate::live_output::SHELL;
use crate::modes::{Mode, has_plan};

impl App {
    pub(super) fn begin(&mut self, prompt: &str) {
        if self.resent.take().as_deref() == Some(prompt) {
            self.note(
                Tone::Plain,
                "the run had ended; the message begins another one",
            );
        }
        if !prompt.is_empty() {
            self.transcript.add(Item::Prompt(prompt.to_owned(), false));
        }
        self.seen.clear();
        // The answer to a plan, whatever it is.
        self.dialogs.clear();
        self.has_plan = false;
        self.run = Some(Run {
            activity: Activity::Calling,
            since: self.now,
            has_cancelled_gadgets: false,
            is_cancelled: false,
        });
    }

    /// Shows runs again, of which the last one may continue. They count for no totals of this program.
    pub(super) fn replay(&mut self, said: Vec<Said>) {
        let (now, totals) = (self.now, self.totals.clone());
        for said in said {
            match said {
                Said::Prompt(text) => self.transcript.add(Item::Prompt(text, false)),
                Said::Added(text) => self.transcript.add(Item::Prompt(text, true)),
                Said::Event(event) => {
                    self.now = event.time.into();
                    self.event(&event);
                }
                Said::Answer(text) => self.transcript.text(&text),
                Said::Ended(problem) => {
                    self.end_calls();
                    if let Some(words) = problem {
                        self.note(Tone::Bad, words);
                    }
                }
            }
        }
        (self.now, self.totals) = (now, totals);
    }

    /// The run has ended; the next message that waits begins another one.
    pub(super) fn end(&mut self, result: Result<(), Failure>) -> Vec<Effect> {
        self.end_calls();
        self.added.clear();
        while let Some(id) = self.dialogs.front().map(Dialog::id) {
            self.close(id);
        }
        let was_cancelled = self.run.take().is_some_and(|run| run.is_cancelled);
        match result {
            Err(_) if was_cancelled => {
                self.note(Tone::Alert, "interrupted; what was received is kept");
            }
            Err(Failure::Run(words)) => self.note(Tone::Bad, words),
            Err(Failure::Model(words)) => {
                self.note(Tone::Bad, words);
                self.note(Tone::Plain, "Up, then Enter sends the message again");
            }
            Ok(()) if self.has_plan && self.queue.is_empty() => self.open(Dialog::plan()),
            Ok(()) => {}
        }
        if was_cancelled {
            // Who interrupts wants nothing to begin. The messages are in the input again, in their order.
            for text in mem::take(&mut self.queue).iter().rev() {
                self.editor.take_back(text);
            }
        }
        let next = self.queue.pop_front();
        self.resent.clone_from(&next);
        next.map(Effect::Send).into_iter().collect()
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others change nothing that is shown"
    )]
    pub(super) fn event(&mut self, event: &Event) {
        self.totals.event(event);
        let is_own = event.path.is_empty();
        match &event.kind {
            EventKind::ModelCallStart { .. } if is_own => self.does(Activity::Calling),
            EventKind::Reasoning { text } if is_own => {
                self.does(Activity::Thinking);
                self.folded.reasons(self.now, text);
            }
            EventKind::Text { text } if is_own => {
                self.does(Activity::Writing);
                self.transcript.text(text);
            }
            EventKind::ModelCallEnd { usage, .. } if is_own => {
                self.transcript.end_reply();
                self.does(Activity::Working);
                if usage.input_tokens > 0 {
                    self.context = usage.input_tokens.saturating_add(usage.output_tokens);
                }
            }
            EventKind::RunFinished { answer, .. } if is_own => {
                self.has_plan = self.facts.approval == Mode::Plan && has_plan(answer);
            }
            EventKind::ReplyWithdrawn { .. } if is_own => {
                self.transcript.withdraw();
                self.note(Tone::Alert, "the reply so far is withdrawn");
            }
            EventKind::ModelRetry {
                delay_ms,
                error,
                attempt,
                left,
                ..
            } if is_own => {
                let delay = Duration::from_millis(*delay_ms).as_secs_f64();
                // Without a retry, the end of the run says so.
                let error = short(&error.message);
                let total = attempt.saturating_add(*left).saturating_add(1);
                let words = format!("model call failed (attempt {attempt} of {total}): {error}");
                self.note(Tone::Alert, words);
                self.does(Activity::Retrying(format!("retrying in {delay:.1} s")));
            }
            EventKind::RateLimited { delay_ms } if is_own => {
                let delay = Duration::from_millis(*delay_ms).as_secs_f64();
                self.does(Activity::Retrying(format!(
                    "rate limit: waiting {delay:.1} s"
                )));
            }
            EventKind::Compaction(compacted) if is_own => {
                let (before, after) = (compacted.tokens_before, compacted.tokens_after);
                self.note(
                    Tone::Plain,
                    format!("conversation compacted: {before} to {after} tokens"),
                );
            }
            EventKind::CustomBlock(block) if is_own => {
                let text = format!("<{}> {}", short(&block.tag), short(&block.content));
                self.note(Tone::Plain, text);
            }
            EventKind::Diagnostic(diagnostic) if is_own => {
                self.note(Tone::Alert, format!("! {}", longer(&diagnostic.message)));
            }
            _ => self.call_event(event),
        }
    }

    /// No more events come.
    fn end_calls(&mut self) {
        if let Some(output) = self.transcript.output_so_far() {
            self.folded.result(output);
        }
        self.transcript.end_run();
    }

    /// The command of a call has written more.
    pub(super) fn output(&mut self, call: &str, end: &str) {
        if let Some(command) = self.shell.as_mut().filter(|_| call == SHELL) {
            end.clone_into(&mut command.output);
        } else if let Some(call) = self.transcript.call_with_key(call) {
            call.output(end);
        }
    }

    /// An event about a call, of the run or of a subagent.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others change nothing that is shown"
    )]
    fn call_event(&mut self, event: &Event) {
        let now = self.now;
        if let EventKind::GadgetCallStart { call, start } = &event.kind {
            if event.path.is_empty() {
                self.does(Activity::Writing);
            }
            let item = CallItem::new(event.path.clone(), *call, &start.gadget_name);
            self.transcript.add_call(item);
            return;
        }
        if let EventKind::GadgetStart { .. } = &event.kind
            && let Some(run) = &mut self.run
        {
            run.has_cancelled_gadgets = false;
        }
        let Some(number) = event.kind.call() else {
            return;
        };
        if self.transcript.call(&event.path, number).is_none()
            && let Some(name) = name(&event.kind)
        {
            // Its beginning came before the run was resumed.
            let item = CallItem::new(event.path.clone(), number, name);
            self.transcript.add_call(item);
        }
        let mut seen = mem::take(&mut self.seen);
        let Some(call) = self.transcript.call(&event.path, number) else {
            self.seen = seen;
            return;
        };
        match &event.kind {
            EventKind::GadgetArgsPartial { args, .. } => {
                call.argument(&args.field_path, &args.delta);
            }
            EventKind::GadgetCall { written, .. } => call.written(&written.parameters),
            EventKind::GadgetStart { parameters, .. } => {
                let run = event.run.as_deref().unwrap_or_default();
                call.start(now, parameters, format!("{run}/{}", number.0));
            }
            EventKind::GadgetRestarted { .. } => call.restart(now),
            EventKind::GadgetProgress { message, .. } => call.report(message),
            EventKind::GadgetSkipped { error, .. } => call.skip(error),
            EventKind::GadgetResult {
                answer,
                duration_ms,
                completes_run,
                ..
            } => {
                let took = Duration::from_millis(*duration_ms);
                let (gadget, file) = call.subject();
                let shown = seen.iter().position(|it| it.0 == gadget && it.1 == file);
                let was_seen = shown.map(|index| seen.swap_remove(index)).is_some();
                match answer {
                    CallAnswer::Result(text) if *completes_run && event.path.is_empty() => {
                        call.answer(true, "", took, false);
                        self.transcript.text(text);
                        self.transcript.end_reply();
                    }
                    CallAnswer::Result(text) => {
                        call.answer(true, text, took, was_seen);
                        self.folded.result(text);
                    }
                    CallAnswer::Error(text) => {
                        call.answer(false, text, took, false);
                        self.folded.result(call.whole_text());
                    }
                }
            }
            _ => {}
        }
        self.seen = seen;
    }

    fn does(&mut self, activity: Activity) {
        if activity != Activity::Thinking
            && let Some((text, took)) = self.folded.reasoned(self.now)
        {
            self.transcript.add(Item::Reasoning(text, took));
        }
        if let Some(run) = &mut self.run {
            run.activity = activity;
        }
    }
}

/// The name of the gadget that an event is about, if it may be the first one about its call.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others come later")]
fn name(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::GadgetStart { gadget_name, .. }
        | EventKind::GadgetRestarted { gadget_name, .. }
        | EventKind::GadgetResult { gadget_name, .. }
        | EventKind::GadgetSkipped { gadget_name, .. } => Some(gadget_name),
        EventKind::GadgetCall { written, .. } => Some(&written.gadget_name),
        _ => None,
    }
}
