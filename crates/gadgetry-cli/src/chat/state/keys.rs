//! Keys: what they mean depends on what is open.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use std::time::Duration;
use std::{iter, mem};

use super::pager::Pager;
use super::run::UserCommand;
use super::transcript::Item;
use super::{App, Effect, Tone};
use crate::chat::commands::Entered;
use crate::chat::editor::{Edited, LONGEST, Typed};
use crate::chat::report::Report;

/// Time after the first Ctrl-C in which a second one leaves.
const AGAIN: Duration = Duration::from_secs(3);

/// The message of `/init`.
const INIT: &str = "Look at this project, and write AGENTS.md in its root: what it is, how to build it and how to run its tests, where things are, \
                    and which rules its code follows. At most 60 lines, and only what you have seen. If the file exists, correct it.";

const KEYS: [(&str, &str); 14] = [
    (
        "Enter",
        "sends; while a run is in progress, adds the message to it",
    ),
    (
        "!COMMAND",
        "runs a command; the model reads its output with the next message",
    ),
    ("Alt+Enter, \\ Enter", "begins a new line"),
    (
        "Up, Down",
        "recall earlier messages on the first and last line; Up takes back messages that wait for the run",
    ),
    ("Ctrl-R", "searches earlier messages"),
    (
        "Ctrl-T",
        "shows the whole conversation, to scroll and to search; r shows reasoning",
    ),
    ("Ctrl-O", "shows the whole of the latest result"),
    ("Ctrl-V", "attaches the image in the clipboard"),
    (
        "Tab",
        "completes a command and its argument, or a file after @",
    ),
    (
        "Shift+Tab",
        "switches the mode: asks, accepts edits, plans (read only)",
    ),
    (
        "Esc",
        "refuses an open question; interrupts the run, and what was received is kept",
    ),
    (
        "Ctrl-C",
        "cancels the gadgets in flight, then the reply, also while a question is open; twice in a row leaves",
    ),
    ("Ctrl-D", "leaves if the input line is empty"),
    ("Ctrl-Z", "suspends the program"),
];

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        // Tab of a dialog was not typed for something else, and the next key may follow at once.
        let is_of_dialog = key.code == KeyCode::Tab && self.has_ready_dialog();
        let effects = self.pressed(key);
        if !is_of_dialog {
            self.last_key = self.now;
        }
        effects
    }

    /// Does what the key of each character does.
    pub(super) fn text(&mut self, text: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for (index, c) in text.char_indices() {
            if self.pager.is_none() && !self.editor.is_empty() {
                // No dialog answers to a character now.
                self.leaving = None;
                self.last_key = self.now;
                let edited = self.editor.text(&text[index..]);
                effects.extend(self.edited(edited));
                break;
            }
            effects.extend(self.key(KeyCode::Char(c).into()));
        }
        effects
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other keys have no meaning of their own"
    )]
    fn pressed(&mut self, key: KeyEvent) -> Vec<Effect> {
        if let Some(pager) = &mut self.pager {
            if !pager.key(key) {
                self.pager = None;
            }
            return Vec::new();
        }
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if has_control => return self.interrupt(),
            KeyCode::Char('t') if has_control => {
                self.pager = Some(Pager::default());
                return Vec::new();
            }
            KeyCode::Char('o') if has_control => {
                let lines = self.folded.result_lines(self.transcript.output_so_far());
                self.transcript.print(lines);
                return Vec::new();
            }
            KeyCode::Char('z') if has_control => return vec![Effect::Suspend],
            KeyCode::Char('d') if has_control && self.editor.is_empty() => {
                return vec![Effect::Leave];
            }
            _ => self.leaving = None,
        }
        if key.code == KeyCode::BackTab {
            return vec![Effect::Mode(self.facts.approval.next())];
        }
        self.is_taken_back &= !self.editor.is_empty();
        if key.code == KeyCode::Up
            && (self.editor.is_empty() || self.is_taken_back && self.editor.is_on_row(0))
            && let Some(latest) = self.added.last()
        {
            return vec![Effect::Retract(latest.clone())];
        }
        if let Some(effects) = self.answer(key) {
            return effects;
        }
        if key.code == KeyCode::Esc && !self.editor.has_popup() && self.shell.is_some() {
            return vec![Effect::CancelShell];
        }
        if key.code == KeyCode::Esc
            && !self.editor.has_popup()
            && let Some(run) = &mut self.run
            && !mem::replace(&mut run.is_cancelled, true)
        {
            return vec![Effect::CancelRun];
        }
        if has_control && key.code == KeyCode::Char('v') {
            return self.paste_image();
        }
        let edited = self.editor.key(key);
        self.edited(edited)
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        if let Some(pager) = &mut self.pager {
            pager.paste(text);
            return Vec::new();
        }
        self.leaving = None;
        self.unselect();
        if text.is_empty() {
            // Terminals send this for a clipboard without text.
            return self.paste_image();
        }
        // A paste is typing, and it never answers a dialog by itself.
        self.activate();
        let edited = self.editor.paste(text);
        self.last_key = self.now;
        self.edited(edited)
    }

    fn paste_image(&mut self) -> Vec<Effect> {
        if self.dialogs.is_empty() {
            return vec![Effect::PasteImage];
        }
        self.note(Tone::Plain, "an answer has no images");
        Vec::new()
    }

    /// One step of Ctrl-C: the gadgets in flight, then the reply; the conversation if it is pressed again after a warning.
    pub(super) fn interrupt(&mut self) -> Vec<Effect> {
        if let Some(run) = self.run.as_mut().filter(|_| !self.dialogs.is_empty())
            && !mem::replace(&mut run.is_cancelled, true)
        {
            return vec![Effect::CancelRun];
        }
        if let Some(effects) = self.refuse() {
            return effects;
        }
        if self.shell.is_some() {
            return vec![Effect::CancelShell];
        }
        let has_gadgets = self
            .transcript
            .open_calls()
            .any(super::call::CallItem::is_running);
        match &mut self.run {
            Some(run) if has_gadgets && !run.has_cancelled_gadgets && !run.is_cancelled => {
                run.has_cancelled_gadgets = true;
                vec![Effect::CancelGadgets]
            }
            Some(run) if !run.is_cancelled => {
                run.is_cancelled = true;
                vec![Effect::CancelRun]
            }
            None if !self.editor.is_empty() => {
                self.editor.clear();
                Vec::new()
            }
            // An impatient second press is meant for the run, and what is typed next must not reach the shell.
            Some(_) | None => {
                let is_recent = |first: Duration| self.now.saturating_sub(first) < AGAIN;
                if self.leaving.is_some_and(is_recent) {
                    return vec![Effect::Leave];
                }
                self.leaving = Some(self.now);
                self.note(Tone::Plain, "Ctrl-C again leaves");
                Vec::new()
            }
        }
    }

    fn edited(&mut self, edited: Edited) -> Vec<Effect> {
        match edited {
            Edited::Nothing => Vec::new(),
            Edited::NeedsFiles => iter::once(Effect::ListFiles)
                .chain(self.list_folder())
                .collect(),
            Edited::NeedsFolder => self.list_folder().into_iter().collect(),
            Edited::NeedsModels => vec![Effect::ListModels],
            Edited::NeedsSessions => vec![Effect::ListSessions],
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

    fn list_folder(&self) -> Option<Effect> {
        let folder = self.editor.folder();
        (!folder.is_empty()).then(|| Effect::ListFolder(folder.to_owned()))
    }

    fn submit(&mut self) -> Vec<Effect> {
        if self.editor.is_blank() {
            self.editor.clear();
            return Vec::new();
        }
        let typed = self.editor.take();
        let text = typed.full();
        if let Some(line) = text.trim().strip_prefix('!').map(str::trim)
            && !line.is_empty()
        {
            return self.shell(typed, line);
        }
        let mut effects = vec![Effect::Remember(typed)];
        match Entered::of(&text, &self.facts.names.named) {
            None | Some(Entered::Skill(..)) => effects.push(self.say(text)),
            Some(command) => effects.extend(self.command(command)),
        }
        effects
    }

    /// Runs a command line of the user, one at a time.
    fn shell(&mut self, typed: Typed, line: &str) -> Vec<Effect> {
        let mut effects = vec![Effect::Remember(typed)];
        if self.shell.is_some() {
            self.note(Tone::Bad, "a command is running; Esc ends it");
        } else {
            self.shell = Some(UserCommand {
                line: line.to_owned(),
                since: self.now,
                output: String::new(),
            });
            effects.push(Effect::Shell(line.to_owned()));
        }
        effects
    }

    /// Sends a message, or adds it to the run in progress.
    fn say(&self, text: String) -> Effect {
        if self.run.is_some() {
            Effect::Inject(text)
        } else {
            Effect::Send(text)
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other commands are carried out by who has the session"
    )]
    fn command(&mut self, command: Entered) -> Option<Effect> {
        match command {
            Entered::Help => {
                let keys = KEYS.iter();
                let keys = keys.map(|(key, summary)| ((*key).to_owned(), (*summary).to_owned()));
                let named = self.facts.names.named.iter().cloned();
                let rows = Report::commands().into_iter().chain(named);
                let rows = rows.chain(keys).collect();
                self.transcript.add(Item::Report(Report::Table(rows)));
                None
            }
            Entered::Cost => {
                let words = self.totals.words();
                self.note(Tone::Plain, words);
                None
            }
            Entered::Transcript => {
                self.pager = Some(Pager::default());
                None
            }
            Entered::Quit => Some(Effect::Leave),
            Entered::Init => Some(self.say(INIT.to_owned())),
            command => {
                if matches!(command, Entered::New | Entered::Rewind(Some(_))) && self.run.is_none()
                {
                    // The next request says how much is left.
                    self.context = 0;
                }
                Some(Effect::Perform(command))
            }
        }
    }
}
