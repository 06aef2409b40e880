//! The user at a terminal, who answers in lines.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approver};

use super::question::{Approval, Verdict};
use crate::lines::one_line;
use crate::pages::{Row, exact, pages};
use crate::printer::Prompter;

/// Characters of a path or URL that are in the first line of a question.
const HEAD_CHARS: usize = 400;

/// The user at the terminal.
pub(crate) struct TerminalApprover {
    prompter: Mutex<Option<Arc<Prompter>>>,
    /// File where rules are kept.
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
        let (mut head, pages) = described(&approval);
        let answers = approval.answers();
        let is_answer = |line: &str| Verdict::read(line, rules.len()).is_some();
        loop {
            let line = prompter.approve(&head, &pages, &answers, &is_answer).await;
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

/// The call in one line, and the pages about it.
fn described(approval: &Approval) -> (String, Vec<Vec<Row>>) {
    let subject = exact(&approval.subject);
    // A long one is below, in pages.
    let in_head = approval.is_line && subject.chars().count() <= HEAD_CHARS;
    let subject = if in_head {
        format!(" {subject}")
    } else {
        String::new()
    };
    let head = format!("{}{subject} needs approval", approval.gadget);
    (head, pages(approval.rows(!in_head)))
}

/// The approver of a run.
pub(super) struct ByTerminal(pub(super) Arc<TerminalApprover>);

impl Approver for ByTerminal {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        Box::pin(self.0.answer(request))
    }
}
