//! Options of a session that the user can change.

use gadgetry_acp::{Choice, OptionKind, SessionOption};

use crate::cli::AgentOptions;
use crate::modes::Mode;

pub(super) const MODE: &str = "mode";
pub(super) const PROFILE: &str = "profile";
pub(super) const REASONING: &str = "reasoning";
/// The choice that leaves an option as it is without the user's choice.
pub(super) const UNSET: &str = "default";

/// Reasoning efforts that all providers with such an option have.
const EFFORTS: [&str; 4] = ["minimal", "low", "medium", "high"];

/// Values in use, and what there is to choose from.
pub(super) struct Choices<'c> {
    pub(super) mode: Mode,
    pub(super) options: &'c AgentOptions,
    pub(super) models: &'c [Choice],
    /// The profile in use, if one is.
    pub(super) profile: Option<&'c str>,
    pub(super) profiles: Vec<&'c str>,
    /// Whether the model may take a reasoning effort.
    pub(super) reasons: bool,
}

/// The modes for the user.
fn modes() -> Vec<Choice> {
    let choices = Mode::ALL.into_iter().map(|mode| {
        let (name, description) = match mode {
            Mode::Ask => ("Ask", "Asks before it writes, runs or fetches"),
            Mode::AcceptEdits => (
                "Accept edits",
                "Writes and edits files of the workspace without asking",
            ),
            Mode::Plan => ("Plan", "Reads and plans, and changes nothing"),
        };
        Choice::new(mode.id(), name).described(description)
    });
    choices.collect()
}

impl Choices<'_> {
    /// Returns the options, in the order in which clients show them.
    pub(super) fn options(&self) -> Vec<SessionOption> {
        let mode = SessionOption::new(
            OptionKind::Mode,
            Choice::new(MODE, "Mode").described("Which calls run without a question"),
            self.mode.id(),
            modes(),
        );
        let model = SessionOption::new(
            OptionKind::Model,
            Choice::new(crate::options::MODEL, "Model"),
            self.options.model.name(),
            self.models.to_vec(),
        );
        let mut all = vec![mode, model];
        let effort = self.options.model.reasoning.as_deref();
        if self.reasons || effort.is_some() {
            let about = "The effort that the model spends on reasoning";
            let choice = Choice::new(REASONING, "Reasoning").described(about);
            all.push(option(OptionKind::Reasoning, choice, effort, EFFORTS));
        }
        if !self.profiles.is_empty() {
            let choice = Choice::new(PROFILE, "Profile").described("Settings of the configuration");
            let names = self.profiles.iter().copied();
            all.push(option(OptionKind::Other, choice, self.profile, names));
        }
        all
    }
}

/// An option with the choices `known`, the one in use, and one for none.
fn option<'c>(
    kind: OptionKind,
    about: Choice,
    current: Option<&'c str>,
    known: impl IntoIterator<Item = &'c str>,
) -> SessionOption {
    let mut choices = vec![Choice::new(UNSET, "Default")];
    choices.extend(known.into_iter().map(|it| Choice::new(it, it)));
    let current = current.unwrap_or(UNSET);
    if !choices.iter().any(|it| it.id == current) {
        choices.push(Choice::new(current, current));
    }
    SessionOption::new(kind, about, current, choices)
}
