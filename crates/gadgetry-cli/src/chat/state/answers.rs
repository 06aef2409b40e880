//! Approvals and questions, one after the other, and the keys that answer them.
//!
//! A key counts as an answer only if nothing is in the input line and no key was pressed for a while, so that what is being
//! typed when a dialog opens never approves anything. An answer that lasts needs a second key, Enter, because a message may begin with
//! its letter.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::dialog::{Dialog, Kind, Lasting, RequestId};
use super::{App, Effect};
use crate::approvals::{Choice, Verdict};
use crate::modes::Mode;

/// The message that accepts a plan.
const CARRY_OUT: &str = "Carry out the plan.";

impl App {
    pub(super) fn open(&mut self, dialog: Dialog) {
        self.dialogs.push_back(dialog);
        self.show_first();
    }

    pub(super) fn close(&mut self, id: RequestId) {
        if self
            .dialogs
            .front()
            .is_some_and(|it| it.id == id && it.has_input)
        {
            self.editor.clear();
        }
        self.dialogs.retain(|it| it.id != id);
        self.show_first();
    }

    /// Shows the first dialog, once.
    fn show_first(&mut self) {
        if let Some(dialog) = self.dialogs.front_mut()
            && dialog.shown.is_none()
        {
            dialog.shown = Some(self.now);
            if matches!(dialog.kind, Kind::Plan) {
                // The plan is on the screen.
                return;
            }
            self.transcript.print(dialog.begin(self.screen));
        }
    }

    /// Takes note of the size of the screen.
    pub(crate) fn resize(&mut self, columns: u16, height: u16) {
        self.screen = (columns, height);
        let dialog = self.dialogs.front_mut();
        let paged = dialog.and_then(|it| it.paged.as_mut());
        if paged.is_some_and(|it| !it.resize(self.screen)) {
            self.print_pages();
        }
    }

    /// Prints all pages of the first dialog. Then they are seen.
    fn print_pages(&mut self) {
        let dialog = self.dialogs.front_mut();
        if let Some(paged) = dialog.and_then(|it| it.paged.take()) {
            self.transcript.print(paged.into_lines());
        }
    }

    /// Returns whether keys answer the first dialog now, and none of them has selected an answer that lasts.
    pub(super) fn has_ready_dialog(&self) -> bool {
        let is_ready = |it: &Dialog| it.selected.is_none() && it.is_ready(self.now, self.last_key);
        self.editor.is_empty() && self.dialogs.front().is_some_and(is_ready)
    }

    /// Returns whether a key that is pressed now answers the first dialog. A question keeps the input line from then on.
    pub(super) fn activate(&mut self) -> bool {
        let is_empty = self.editor.is_empty();
        let Some(dialog) = self.dialogs.front_mut() else {
            return false;
        };
        let is_ready = is_empty && dialog.is_ready(self.now, self.last_key);
        match &dialog.kind {
            Kind::Question => {
                dialog.has_input |= is_ready;
                dialog.has_input
            }
            Kind::Approval { .. } => is_ready || dialog.has_input,
            Kind::Plan => is_ready,
        }
    }

    /// The key as an answer to the first dialog; `None` if it is for the input line.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other keys have no meaning of their own"
    )]
    pub(super) fn answer(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        if let Some(effects) = self.confirm(key) {
            return Some(effects);
        }
        if self.page(key) {
            return Some(Vec::new());
        }
        // It approves nothing, so it counts at once.
        if key.code == KeyCode::Esc && !self.editor.has_popup() && !self.gives_reason() {
            return self.refuse();
        }
        let is_plain = !has_command(key);
        if !self.activate() {
            // An answer that comes too early is not the beginning of a message.
            let is_answer = key
                .code
                .as_char()
                .is_some_and(|it| Choice::of(it).is_some());
            let is_early = is_plain && is_answer && self.editor.is_empty() && self.is_approving();
            return is_early.then(Vec::new);
        }
        let dialog = self.dialogs.front_mut()?;
        let is_unseen = dialog.is_unseen();
        let id = dialog.id;
        let verdict = match &mut dialog.kind {
            Kind::Question => {
                return match key.code {
                    KeyCode::Enter if key.modifiers.is_empty() && !self.editor.is_empty() => {
                        let answer = self.editor.take_answer();
                        Some(self.reply(id, Some(answer)))
                    }
                    // Enter alone does not answer.
                    KeyCode::Enter if key.modifiers.is_empty() => Some(Vec::new()),
                    _ => None,
                };
            }
            Kind::Plan => {
                return match key.code {
                    // A message may begin with such a number.
                    KeyCode::Char(key @ ('1' | '2')) if is_plain => {
                        let asks = key == '1';
                        let lasting = if asks {
                            Lasting::Plan
                        } else {
                            Lasting::AcceptEdits
                        };
                        dialog.selected = Some((lasting, key));
                        Some(Vec::new())
                    }
                    // Any other key begins a message.
                    _ => None,
                };
            }
            Kind::Approval { .. } if dialog.has_input => match key.code {
                KeyCode::Enter if key.modifiers.is_empty() => {
                    let reason = self.editor.take_answer();
                    Verdict::No(Some(reason).filter(|it| !it.trim().is_empty()))
                }
                KeyCode::Esc => {
                    dialog.has_input = false;
                    self.editor.clear();
                    return Some(Vec::new());
                }
                _ => return None,
            },
            Kind::Approval { approval, rule } => {
                let has_rule = *rule < approval.rules.len();
                let letter = key.code.as_char().unwrap_or_default();
                let choice = match key.code {
                    // It shows the next page, if there is one, and begins no message.
                    KeyCode::Char(' ') if is_plain => return Some(Vec::new()),
                    KeyCode::Char(key) if is_plain => Choice::of(key),
                    KeyCode::Tab if has_rule => {
                        *rule = (*rule + 1) % approval.rules.len();
                        return Some(Vec::new());
                    }
                    _ => None,
                };
                match choice {
                    // What was not shown is not approved.
                    Some(Choice::Once | Choice::Session | Choice::Always) if is_unseen => {
                        return Some(Vec::new());
                    }
                    Some(Choice::Once) => Verdict::Once,
                    Some(Choice::Session) if has_rule => {
                        dialog.selected = Some((Lasting::Session, letter));
                        return Some(Vec::new());
                    }
                    Some(Choice::Always) if has_rule => {
                        dialog.selected = Some((Lasting::Always, letter));
                        return Some(Vec::new());
                    }
                    Some(Choice::No) => {
                        dialog.has_input = true;
                        return Some(Vec::new());
                    }
                    // Enter never approves. Any other key begins a message.
                    Some(Choice::Session | Choice::Always) | None => return None,
                }
            }
        };
        Some(self.decide(verdict))
    }

    /// The key as the second one of a lasting answer; `None` if no such answer is selected, or if the key belongs to a message.
    fn confirm(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        let is_empty = self.editor.is_empty();
        let dialog = self.dialogs.front_mut()?;
        let (lasting, _) = dialog.selected?;
        if key.code == KeyCode::Enter && key.modifiers.is_empty() {
            // A line that was typed at once is a message.
            if !is_empty || !dialog.is_ready(self.now, self.last_key) {
                return Some(Vec::new());
            }
            let rule = match dialog.kind {
                Kind::Approval { rule, .. } => rule,
                Kind::Question | Kind::Plan => 0,
            };
            return Some(match lasting {
                Lasting::Session => self.decide(Verdict::Session(rule)),
                Lasting::Always => self.decide(Verdict::Always(rule)),
                Lasting::Plan => self.carry_out_plan(Mode::Ask),
                Lasting::AcceptEdits => self.carry_out_plan(Mode::AcceptEdits),
            });
        }
        if matches!(key.code, KeyCode::Char(_)) && !has_command(key) {
            self.unselect();
            return None;
        }
        dialog.selected = None;
        Some(Vec::new())
    }

    /// Takes the key that has selected a lasting answer as the first one of a message.
    pub(super) fn unselect(&mut self) {
        let selected = self.dialogs.front_mut().and_then(|it| it.selected.take());
        if let Some((_, letter)) = selected {
            self.editor.key(KeyCode::Char(letter).into());
        }
    }

    /// Decides about the call of the first dialog.
    fn decide(&mut self, verdict: Verdict) -> Vec<Effect> {
        let Some(dialog) = self.dialogs.pop_front() else {
            return Vec::new();
        };
        if let Kind::Approval { approval, .. } = dialog.kind
            && approval.diff.is_some()
            // Pages leave nothing on the screen.
            && dialog.paged.is_none()
            && !matches!(verdict, Verdict::No(_))
        {
            self.seen.push((approval.gadget, approval.subject));
        }
        self.show_first();
        vec![Effect::Decide(dialog.id, verdict)]
    }

    /// Accepts the plan of the first dialog.
    fn carry_out_plan(&mut self, mode: Mode) -> Vec<Effect> {
        self.dialogs.pop_front();
        self.show_first();
        let message = CARRY_OUT.to_owned();
        vec![Effect::Mode(mode), Effect::Send(message)]
    }

    /// Shows another page of the first dialog if the key is for that, and returns whether it is.
    ///
    /// The key approves nothing, so it counts at once.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other keys are not for pages"
    )]
    fn page(&mut self, key: KeyEvent) -> bool {
        let is_empty = self.editor.is_empty();
        let dialog = self.dialogs.front_mut();
        let dialog = dialog.filter(|it| is_empty && !it.has_input && key.modifiers.is_empty());
        let Some(paged) = dialog.and_then(|it| it.paged.as_mut()) else {
            return false;
        };
        match key.code {
            KeyCode::Char(' ') | KeyCode::PageDown => paged.next(),
            KeyCode::PageUp => paged.back(),
            KeyCode::End => self.print_pages(),
            _ => return false,
        }
        true
    }

    /// Returns whether the user types the reason of a refusal.
    fn gives_reason(&self) -> bool {
        let dialog = self.dialogs.front();
        dialog.is_some_and(|it| it.has_input && matches!(it.kind, Kind::Approval { .. }))
    }

    /// Refuses the first dialog; `None` without one.
    pub(super) fn refuse(&mut self) -> Option<Vec<Effect>> {
        let dialog = self.dialogs.pop_front()?;
        if dialog.has_input {
            self.editor.clear();
        }
        self.show_first();
        Some(match dialog.kind {
            Kind::Approval { .. } => vec![Effect::Decide(dialog.id, Verdict::No(None))],
            Kind::Question => vec![Effect::Answer(dialog.id, None)],
            Kind::Plan => Vec::new(),
        })
    }

    fn is_approving(&self) -> bool {
        let first = self.dialogs.front();
        first.is_some_and(|it| matches!(it.kind, Kind::Approval { .. }))
    }

    fn reply(&mut self, id: RequestId, answer: Option<String>) -> Vec<Effect> {
        self.editor.clear();
        self.dialogs.pop_front();
        self.show_first();
        vec![Effect::Answer(id, answer)]
    }
}

/// Returns whether a letter with these modifiers is a command, and not typed.
fn has_command(key: KeyEvent) -> bool {
    let modifiers = KeyModifiers::CONTROL | KeyModifiers::ALT;
    key.modifiers.intersects(modifiers)
}
