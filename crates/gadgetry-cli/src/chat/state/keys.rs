//! Keys: what they mean depends on what is open.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use std::time::Duration;

use super::transcript::Item;
use super::{App, Effect, Tone};
use crate::chat::commands::{COMMANDS, Entered};
use crate::chat::editor::{Edited, LONGEST};
use crate::chat::text::{DIM, NAME};
use ratatui_core::text::{Line, Span};

/// How long after the end of a run Ctrl-C still means the run.
const LATE: Duration = Duration::from_millis(500);

const KEYS: [(&str, &str); 8] = [
    (
        "Enter",
        "sends; while a run is in progress, adds the message to it",
    ),
    ("Alt+Enter, \\ Enter", "begins a new line"),
    (
        "Up, Down",
        "recall earlier messages on the first and last line",
    ),
    ("Ctrl-R", "searches earlier messages"),
    ("Tab", "completes a command, or a file after @"),
    (
        "Ctrl-C",
        "cancels the gadgets in flight, then the reply, then leaves",
    ),
    ("Ctrl-D", "leaves if the input line is empty"),
    ("Ctrl-Z", "suspends the program"),
];

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let effects = self.pressed(key);
        self.last_key = self.now;
        effects
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other keys have no meaning of their own"
    )]
    fn pressed(&mut self, key: KeyEvent) -> Vec<Effect> {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if has_control => return self.interrupt(),
            KeyCode::Char('z') if has_control => return vec![Effect::Suspend],
            KeyCode::Char('d') if has_control && self.editor.is_empty() => {
                return vec![Effect::Leave];
            }
            _ => {}
        }
        if let Some(effects) = self.answer(key) {
            return effects;
        }
        let edited = self.editor.key(key);
        self.edited(edited)
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        // A paste is typing, and it never answers a dialog by itself.
        self.activate();
        let edited = self.editor.paste(text);
        self.last_key = self.now;
        self.edited(edited)
    }

    /// One step of Ctrl-C: the gadgets in flight, then the reply, then the conversation.
    pub(super) fn interrupt(&mut self) -> Vec<Effect> {
        if let Some(effect) = self.refuse() {
            return vec![effect];
        }
        let has_gadgets = self
            .transcript
            .open_calls()
            .any(super::call::CallItem::is_running);
        let Some(run) = &mut self.run else {
            if !self.editor.is_empty() {
                self.editor.clear();
                return Vec::new();
            }
            let is_late = |ended: Duration| self.now.saturating_sub(ended) < LATE;
            if self.ended.take().is_some_and(is_late) {
                self.note(Tone::Plain, "the run had ended; Ctrl-C again leaves");
                return Vec::new();
            }
            return vec![Effect::Leave];
        };
        if has_gadgets && !run.has_cancelled_gadgets && !run.is_cancelled {
            run.has_cancelled_gadgets = true;
            vec![Effect::CancelGadgets]
        } else if !run.is_cancelled {
            run.is_cancelled = true;
            vec![Effect::CancelRun]
        } else {
            vec![Effect::Leave]
        }
    }

    fn edited(&mut self, edited: Edited) -> Vec<Effect> {
        match edited {
            Edited::Nothing => Vec::new(),
            Edited::NeedsFiles => vec![Effect::ListFiles],
            Edited::Submit => self.submit(),
            Edited::Full => {
                let mebibytes = LONGEST >> 20;
                self.note(
                    Tone::Bad,
                    format!("a message has at most {mebibytes} MiB, and 64 KiB outside of pastes"),
                );
                Vec::new()
            }
        }
    }

    fn submit(&mut self) -> Vec<Effect> {
        if self.editor.is_blank() {
            self.editor.clear();
            return Vec::new();
        }
        let text = self.editor.take();
        let mut effects = vec![Effect::Remember(text.clone())];
        match Entered::of(&text) {
            Some(command) => effects.extend(self.command(command)),
            None if self.run.is_some() => {
                self.transcript.add(Item::Prompt(text.clone(), true));
                effects.push(Effect::Inject(text));
            }
            None => effects.push(Effect::Send(text)),
        }
        effects
    }

    fn command(&mut self, command: Entered) -> Option<Effect> {
        match command {
            Entered::Help => {
                self.transcript.add(Item::Lines(help()));
                None
            }
            Entered::Cost => {
                let words = self.totals.words();
                self.note(Tone::Plain, words);
                None
            }
            Entered::Model(name) => Some(Effect::UseModel(name)),
            Entered::Tools => Some(Effect::ListTools),
            Entered::Compact => Some(Effect::Compact),
            Entered::Export(file) => Some(Effect::Export(file)),
            Entered::Quit => Some(Effect::Leave),
            Entered::Invalid(problem) => {
                self.note(Tone::Bad, problem);
                None
            }
        }
    }
}

fn help() -> Vec<Line<'static>> {
    let line = |name: String, summary: &'static str| {
        Line::from(vec![
            Span::styled(format!("  {name:<18}  "), NAME),
            Span::styled(summary, DIM),
        ])
    };
    let commands = COMMANDS
        .iter()
        .map(|it| line(format!("{} {}", it.name, it.argument), it.summary));
    let keys = KEYS
        .iter()
        .map(|(key, summary)| line((*key).to_owned(), summary));
    commands.chain(keys).collect()
}
