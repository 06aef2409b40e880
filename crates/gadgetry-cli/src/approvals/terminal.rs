//! The user at a terminal, who answers in lines.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approver};

use super::question::{Approval, Verdict};
use crate::lines::one_line;
use crate::printer::{Prompter, Shade};

/// The user at the terminal.
pub(crate) struct TerminalApprover {
    prompter: Mutex<Option<Arc<Prompter>>>,
    /// Where rules are kept.
    user_file: Option<PathBuf>,
}

impl TerminalApprover {
    /// Without a file, no rule is kept for longer than the program runs.
    pub(crate) fn new(user_file: Option<PathBuf>) -> Self {
        Self {
            prompter: Mutex::default(),
            user_file,
        }
    }

    /// Says where the user is during the next run. Until then, nothing is approved.
    pub(crate) fn begin(&self, prompter: Option<Prompter>) {
        *self.lock() = prompter.map(Arc::new);
    }

    /// The user, if there is one.
    pub(crate) fn prompter(&self) -> Option<Arc<Prompter>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Prompter>>> {
        self.prompter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, request: ApprovalRequest) -> Answer {
        let Some(prompter) = self.prompter() else {
            return Answer::No(Some("no user is at the terminal".to_owned()));
        };
        let rules = request.suggestions();
        let approval = Approval::of(&request, &rules);
        let (mut head, details) = described(&approval);
        let answers = approval.answers();
        loop {
            let line = prompter.approve(&head, &details, &answers).await;
            let Some(line) = line else {
                return Answer::No(None);
            };
            let Some(verdict) = Verdict::read(&line, rules.len()) else {
                continue;
            };
            match verdict.carry_out(&request, &rules, self.user_file.as_deref()) {
                (answer, None) => return answer,
                // The question is repeated, with what is wrong.
                (_, Some(problem)) => head = one_line(&problem),
            }
        }
    }
}

/// The call in one line, and the lines about it.
fn described(approval: &Approval) -> (String, Vec<(Shade, String)>) {
    let mut lines = Vec::new();
    let subject = if approval.is_line {
        format!(" {}", one_line(&approval.subject))
    } else {
        let all = approval.subject.lines();
        lines.extend(all.map(|line| (Shade::Plain, line.to_owned())));
        String::new()
    };
    let head = format!("{}{subject} needs approval", approval.gadget);
    for line in approval.diff.as_deref().unwrap_or_default().lines() {
        let shade = match line.as_bytes().first() {
            Some(b'+') => Shade::Added,
            Some(b'-') => Shade::Removed,
            _ => Shade::Plain,
        };
        lines.push((shade, line.to_owned()));
    }
    let notes = approval.notes.iter();
    lines.extend(notes.map(|note| (Shade::Plain, format!("({note})"))));
    (head, lines)
}

/// The approver of a run.
pub(super) struct ByTerminal(pub(super) Arc<TerminalApprover>);

impl Approver for ByTerminal {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        Box::pin(self.0.answer(request))
    }
}
