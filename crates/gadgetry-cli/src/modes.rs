//! Modes of approval: which calls run without a question, and which do not run at all. The same in `agent`, `chat` and `acp`.

use std::collections::BTreeSet;
use std::mem;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::ValueEnum;
use gadgetry::control::{BeforeGadget, Hook, RunContext, Start};
use gadgetry::proto::call::Outcome;
use gadgetry::{DynGadget, Permission};
use gadgetry_builtins::{ReadOnly, has_sandbox};
use tokio::task::spawn_blocking;

use crate::wrapped::wrapped;

/// The built-in gadget that runs commands.
pub(crate) const RUN_COMMAND: &str = "RunCommand";

/// Note for the model in the first message of plan mode.
const PLANS: &str = "[Plan mode: gadgets that change something are denied, and commands can write nothing. Look into the task, and end with a plan of what to change: \
                     a line `## Plan`, and a short list below it. The user decides whether it is carried out. Answer a question without \
                     such a line.]";
/// Note for the model in the first message after it.
const PLANS_NO_MORE: &str = "[Plan mode is over: gadgets that change something may be called.]";

/// Returns whether an answer has a plan, as the note demands: a line with nothing but `Plan`, whatever its Markdown.
#[cfg(feature = "chat")]
pub(crate) fn has_plan(answer: &str) -> bool {
    let is_mark = |it: char| it.is_whitespace() || matches!(it, '#' | '*' | '_' | ':');
    let mut lines = answer.lines();
    lines.any(|line| line.trim_matches(is_mark).eq_ignore_ascii_case("plan"))
}

/// A mode of approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Rules decide, and the user about the rest.
    #[default]
    Ask,
    /// The same, but built-in gadgets write and edit files of the workspace without a question.
    AcceptEdits,
    /// Gadgets that change anything do not run, and commands run where they can change nothing: the model reads, and plans.
    Plan,
}

impl Mode {
    /// All modes, in the order in which a key switches them.
    pub(crate) const ALL: [Self; 3] = [Self::Ask, Self::AcceptEdits, Self::Plan];

    /// Returns the id, which `--approval-mode` and editors use.
    #[cfg(feature = "acp")]
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Plan => "plan",
        }
    }

    /// The mode of this id.
    #[cfg(feature = "acp")]
    pub(crate) fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.id() == id)
    }

    /// Returns the next mode, for a key that switches them.
    #[cfg(feature = "chat")]
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Ask => Self::AcceptEdits,
            Self::AcceptEdits => Self::Plan,
            Self::Plan => Self::Ask,
        }
    }
}

/// The mode of a conversation, which the user may change while a run is in progress. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentMode(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Index in [`Mode::ALL`].
    mode: AtomicU8,
    /// Whether commands may change nothing.
    read_only: ReadOnly,
    gadgets: Mutex<Gadgets>,
}

#[derive(Debug, Default)]
struct Gadgets {
    /// Those that may change something: that need approval unless a rule says otherwise.
    changing: BTreeSet<String>,
    /// Built-in ones that edit files.
    edits: BTreeSet<String>,
    /// Whether commands are run by the built-in one, in the sandbox if they may change nothing.
    has_commands: bool,
    /// Whether the model knows that it is to plan.
    plans: bool,
}

impl CurrentMode {
    /// Begins in this mode.
    pub(crate) fn new(mode: Mode) -> Self {
        let current = Self::default();
        current.set(mode);
        current
    }

    /// Returns the mode.
    pub(crate) fn get(&self) -> Mode {
        let index = usize::from(self.0.mode.load(Ordering::Relaxed));
        Mode::ALL.get(index).copied().unwrap_or(Mode::Plan)
    }

    /// Sets the mode, also for a run in progress.
    pub(crate) fn set(&self, mode: Mode) {
        let index = Mode::ALL.iter().position(|it| *it == mode);
        let index = index.and_then(|it| u8::try_from(it).ok());
        self.0
            .mode
            .store(index.unwrap_or_default(), Ordering::Relaxed);
        self.0.read_only.set(mode == Mode::Plan);
    }

    /// Returns what is on while commands may change nothing.
    pub(crate) fn read_only(&self) -> ReadOnly {
        self.0.read_only.clone()
    }

    /// Takes note of the gadgets of an agent, of which `edits` are built in and edit files. `has_commands` says whether [`RUN_COMMAND`] is
    /// built in.
    pub(crate) fn know<'g>(
        &self,
        gadgets: impl IntoIterator<Item = &'g Arc<dyn DynGadget>>,
        edits: &[&str],
        has_commands: bool,
    ) {
        let changing = gadgets.into_iter();
        let changing = changing.filter(|it| it.permission() != Permission::Allow);
        let mut known = self.gadgets();
        known
            .changing
            .extend(changing.map(|it| it.spec().name.clone()));
        known.has_commands = has_commands;
        known.edits = edits.iter().map(|it| (*it).to_owned()).collect();
    }

    /// Returns whether the mode approves the calls of this gadget that rules leave to the user.
    #[cfg(feature = "chat")]
    pub(crate) fn approves(&self, gadget: &str) -> bool {
        self.get() == Mode::AcceptEdits && self.gadgets().edits.contains(gadget)
    }

    /// Returns what the model has to know about the mode with the next message, if that has changed since the message before.
    pub(crate) fn note(&self) -> Option<&'static str> {
        let plans = self.get() == Mode::Plan;
        match (mem::replace(&mut self.gadgets().plans, plans), plans) {
            (false, true) => Some(PLANS),
            (true, false) => Some(PLANS_NO_MORE),
            (false, false) | (true, true) => None,
        }
    }

    fn gadgets(&self) -> MutexGuard<'_, Gadgets> {
        self.0
            .gadgets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reason for the model that a call does not run.
const DENIED: &str =
    "Denied: this is plan mode, in which nothing is changed. Make it a step of your plan.";

impl CurrentMode {
    /// The same gadget, whose calls are denied if the mode has changed since a hook or the user has let them pass.
    pub(crate) fn watch(&self, gadget: Arc<dyn DynGadget>) -> Arc<dyn DynGadget> {
        let (mode, name) = (self.clone(), gadget.spec().name.clone());
        wrapped(gadget, move |work, _| {
            let (mode, name) = (mode.clone(), name.clone());
            Box::pin(async move {
                if mode.denies(&name).await {
                    return Outcome::error(DENIED);
                }
                work.await
            })
        })
    }

    /// Returns whether the calls of a gadget do not run now.
    async fn denies(&self, gadget: &str) -> bool {
        if self.get() != Mode::Plan || !self.gadgets().changing.contains(gadget) {
            return false;
        }
        let is_confined = gadget == RUN_COMMAND && self.gadgets().has_commands;
        !is_confined || !spawn_blocking(has_sandbox).await.unwrap_or(false)
    }
}

impl Hook for CurrentMode {
    async fn before_gadget(&self, _: &RunContext, start: &Start) -> BeforeGadget {
        if self.denies(&start.gadget_name).await {
            return BeforeGadget::Deny(DENIED.to_owned());
        }
        BeforeGadget::Proceed
    }
}

#[cfg(test)]
mod tests {
    use gadgetry::agent::{SingleCall, single_call};
    use gadgetry::proto::event::CallAnswer;

    use super::*;

    #[test]
    fn the_model_reads_about_plan_mode_once() {
        let mode = CurrentMode::new(Mode::Ask);
        let check = |now: Mode, expected: Option<&str>| {
            mode.set(now);
            assert_eq!(mode.note(), expected, "{now:?}");
        };
        check(Mode::Ask, None);
        check(Mode::Plan, Some(PLANS));
        check(Mode::Plan, None);
        check(Mode::AcceptEdits, Some(PLANS_NO_MORE));
        check(Mode::Ask, None);
    }

    /// A hook, or the user, may have let the call pass before.
    #[tokio::test]
    async fn a_call_that_was_let_pass_is_denied() {
        let folder = tempfile::tempdir().expect("a folder");
        let builtins = gadgetry_builtins::Builtins::in_dir(&folder).expect("a workspace");
        let gadgets = builtins.gadgets();
        let current = CurrentMode::new(Mode::Ask);
        current.know(&gadgets, &["WriteFile"], true);
        let write = gadgets.iter().find(|it| it.spec().name == "WriteFile");
        let write = current.watch(Arc::clone(write.expect("it is built in")));
        for (mode, name, expected) in [
            (Mode::Plan, "a", Some(DENIED)),
            (Mode::AcceptEdits, "b", None),
            (Mode::Ask, "c", None),
        ] {
            current.set(mode);
            let parameters = serde_json::json!({ "filePath": name, "content": "x" }).to_string();
            let agent = single_call(Arc::clone(&write), &parameters, 1).expect("an agent");
            let mut call = SingleCall::default();
            let run = agent.without_approvals().ask("").expect("a run");
            run.observe(&mut call).await.expect("it ends");
            let denied = match call.answer {
                Some(CallAnswer::Error(reason)) => Some(reason),
                Some(CallAnswer::Result(_)) | None => None,
            };
            assert_eq!(denied.as_deref(), expected, "{mode:?}");
            assert_eq!(
                folder.path().join(name).exists(),
                expected.is_none(),
                "{mode:?}"
            );
        }
    }

    #[cfg(feature = "chat")]
    #[test]
    fn a_plan_has_its_heading() {
        let check =
            |answer: &str, expected: bool| assert_eq!(has_plan(answer), expected, "{answer}");
        check("I have read it.\n\n## Plan\n\n1. Write a.txt\n", true);
        check("**Plan:**\n- Write a.txt", true);
        check("PLAN\r\n- Write a.txt", true);
        check("It has two parts:\n\n1. one\n2. two", false);
        check("The plan is\nto wait.", false);
        check("", false);
    }
}
