//! Users of tests: who approves calls, and who answers questions.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approver};
use gadgetry::{Human, HumanQuestion};

/// Expected questions with their answers, and a record of those that came.
#[derive(Debug)]
struct List<A> {
    expected: VecDeque<(String, A)>,
    asked: Vec<String>,
    complaints: Vec<String>,
}

impl<A> Default for List<A> {
    fn default() -> Self {
        Self {
            expected: VecDeque::new(),
            asked: Vec::new(),
            complaints: Vec::new(),
        }
    }
}

impl<A> List<A> {
    /// The answer, if `asked` is next on the list.
    fn next(&mut self, asked: &str) -> Result<A, String> {
        self.asked.push(asked.to_owned());
        let found = match self.expected.front() {
            Some((expected, _)) if expected == asked => self.expected.pop_front(),
            Some((expected, _)) => {
                let complaint = format!("{asked:?} came, and {expected:?} is next on the list");
                return Err(self.complain(complaint));
            }
            None => None,
        };
        found.map(|(_, answer)| answer).ok_or_else(|| {
            self.complain(format!("{asked:?} came, and nothing is left on the list"))
        })
    }

    fn complain(&mut self, complaint: String) -> String {
        self.complaints.push(complaint.clone());
        complaint
    }

    /// The problems, a line each; empty if everything on the list came, and nothing else.
    fn report(&self) -> String {
        let missing = self.expected.iter();
        let missing = missing.map(|(expected, _)| format!("{expected:?} never came"));
        let all = self.complaints.iter().cloned().chain(missing);
        all.collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn verify(&self, what: &str) {
        let report = self.report();
        assert!(report.is_empty(), "{what} are not as expected:\n{report}");
    }
}

fn lock<A>(list: &Mutex<List<A>>) -> MutexGuard<'_, List<A>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An [`Approver`] that answers from a list, in its order. A call that is not next on the list is denied.
///
/// Clones share the list: one goes to the agent while the test keeps another.
///
/// ```
/// use gadgetry::approval::{Approvals, Rules};
/// use gadgetry::{Agent, GadgetSpec, Outcome, from_fn};
/// use gadgetry_testing::{MockApprover, MockModel, call, paused, reply};
///
/// let delete = from_fn(GadgetSpec { name: "Delete".into(), ..Default::default() }, |_, _| async { Outcome::ok("gone") });
/// let model = MockModel::in_order([reply().call(call("Delete").id("d")), reply().text("It is not deleted.")]);
/// let user = MockApprover::default().denies("Delete", "keep it");
/// let rules = Rules::parse(["ask Delete"])?;
/// let agent = Agent::builder().model(model).gadget(delete).approvals(Approvals::new(rules).approver(user.clone()));
/// assert_eq!(paused(agent.build()?.ask("Delete all").text())?, "It is not deleted.");
/// user.verify();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MockApprover {
    list: Arc<Mutex<List<Answer>>>,
    requests: Arc<Mutex<Vec<ApprovalRequest>>>,
}

impl MockApprover {
    /// Allows the next call, which must be of `gadget`.
    #[must_use]
    pub fn allows(self, gadget: impl Into<String>) -> Self {
        self.answers(gadget, Answer::Once)
    }

    /// Denies the next call, which must be of `gadget`. The model reads the reason.
    #[must_use]
    pub fn denies(self, gadget: impl Into<String>, reason: impl Into<String>) -> Self {
        self.answers(gadget, Answer::No(Some(reason.into())))
    }

    /// Gives this answer to the next call, which must be of `gadget`.
    #[must_use]
    pub fn answers(self, gadget: impl Into<String>, answer: Answer) -> Self {
        lock(&self.list).expected.push_back((gadget.into(), answer));
        self
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<ApprovalRequest> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Checks that everything on the list came, and nothing else.
    ///
    /// # Panics
    ///
    /// If not, with all differences.
    #[track_caller]
    pub fn verify(&self) {
        lock(&self.list).verify("approvals");
    }
}

impl Approver for MockApprover {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        let answer = lock(&self.list).next(&request.gadget);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(request);
        drop(requests);
        let answer = answer.unwrap_or_else(|complaint| Answer::No(Some(complaint)));
        Box::pin(std::future::ready(answer))
    }
}

/// A [`Human`] that answers from a list, in its order. A question that is not next on the list has no answer.
///
/// Clones share the list: one goes to the agent while the test keeps another.
///
/// ```
/// use gadgetry::{Agent, ExecutionContext, GadgetError, gadget};
/// use gadgetry_testing::{MockHuman, MockModel, call, paused, reply};
///
/// /// Asks for the city
/// #[gadget]
/// async fn city(context: ExecutionContext) -> Result<String, GadgetError> {
///     Ok(context.ask_human("Which city?").await?)
/// }
///
/// let model = MockModel::in_order([reply().call(call("City").id("c")), reply().text("Sunny.")]);
/// let user = MockHuman::default().answers("Which city?", "Paris");
/// let agent = Agent::builder().model(model).gadget(City).on_human_input(user.clone());
/// assert_eq!(paused(agent.build()?.ask("What is the weather?").text())?, "Sunny.");
/// user.verify();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MockHuman {
    list: Arc<Mutex<List<Option<String>>>>,
}

impl MockHuman {
    /// Gives this answer to the next question, which must be this one.
    #[must_use]
    pub fn answers(self, question: impl Into<String>, answer: impl Into<String>) -> Self {
        let row = (question.into(), Some(answer.into()));
        lock(&self.list).expected.push_back(row);
        self
    }

    /// Does not answer the next question, which must be this one.
    #[must_use]
    pub fn ignores(self, question: impl Into<String>) -> Self {
        lock(&self.list).expected.push_back((question.into(), None));
        self
    }

    /// Returns the questions so far.
    pub fn questions(&self) -> Vec<String> {
        lock(&self.list).asked.clone()
    }

    /// Checks that everything on the list came, and nothing else.
    ///
    /// # Panics
    ///
    /// If not, with all differences.
    #[track_caller]
    pub fn verify(&self) {
        lock(&self.list).verify("questions");
    }
}

impl Human for MockHuman {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        let answer = lock(&self.list).next(&question.text);
        Box::pin(std::future::ready(answer.unwrap_or_default()))
    }
}
