//! Approvals: rules and a user that decide which calls run.
//!
//! ```text
//! call ─► preview of its gadget ─► rules, the first that matches ─► allow | deny
//!                                        └─ no rule: permission of the gadget ─► ask ─► Approver ─► once | session | always | no
//! ```
//!
//! [`DynGadget::permission`] is the decision about a gadget without a rule, and [`DynGadget::preview`] describes the effects of a
//! call. A denied call fails: the model reads the reason, and its dependents are skipped. Calls that need the user wait in a
//! queue. Meanwhile, other gadgets continue to run, and an answer that also covers a waiting call decides that call.
//!
//! What was approved is what runs. The preview that the user sees is made when the question opens, after the changes of the calls
//! before it. When the call executes, its gadget compares its effects with that preview
//! ([`ExecutionContext::check_approved`](crate::ExecutionContext::check_approved)); if a file, a link, a definition or the
//! parameters have changed, the call needs a new decision.
//!
//! ```
//! use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Rules};
//! use gadgetry::{Agent, ScriptedModel};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = Rules::parse(["allow ReadFile", "deny *(.git/**)", "allow RunCommand(cargo test *) in **", "ask *"])?;
//! let approvals = Approvals::new(rules).approver(async |request: ApprovalRequest| {
//!     println!("{} wants to run", request.gadget);
//!     Answer::Once
//! });
//! let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
//! let agent = Agent::builder().model(model).approvals(approvals);
//! # let _ = agent;
//! # Ok(())
//! # }
//! ```

mod approver;
mod binding;
mod decided;
mod open;
mod pattern;
mod rule;
mod rules;

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use gadgetry_proto::run::{Asks, Decision, QuestionKind, Report, Start};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::coop::unconstrained;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::control::{BeforeGadget, DynHook, RunContext};
#[cfg(doc)]
use crate::gadget::DynGadget;
use crate::gadget::{Approved, CallPreview, Permission, Subject};
use crate::toolbox::Toolbox;

use decided::Decided;
use open::OpenAnswer;

pub use approver::{Answer, ApprovalRequest, Approver, ShownLine};
pub(crate) use binding::Binding;
#[doc(no_inline)]
pub use gadgetry_proto::event::{Approval, ApprovalAnswer, ApprovalSubject, SubjectKind};
#[doc(no_inline)]
pub use gadgetry_proto::id::{ApprovalId, InvalidApprovalId};
pub use open::NotAnswered;
pub(crate) use open::OpenApprovals;
pub use rule::{InvalidRule, Named, Rule};
pub use rules::Rules;

/// Maximum wait for approved changes of files before the next question shows files.
const SETTLING: Duration = Duration::from_secs(1);

/// Decides about each call before it runs; see the [module](self). Clones share their rules.
///
/// Add it with [`AgentBuilder::approvals`](crate::AgentBuilder::approvals). If other hooks change the parameters of a call
/// afterwards, it needs a new decision when it starts.
#[derive(Clone)]
pub struct Approvals(Arc<Inner>);

struct Inner {
    rules: RwLock<Rules>,
    approver: Option<Arc<dyn Approver>>,
    /// Reason for denying a call that needs the user if there is no approver.
    unattended: String,
    /// Whether a rule about a misspelt gadget is an error.
    checks_names: bool,
    /// Held while the approver decides, about one call of all runs at a time.
    turn: Arc<Mutex<()>>,
    decided: StdMutex<Decided>,
    /// Approved changes of files that may not have been made yet.
    changes: StdMutex<Vec<CancellationToken>>,
}

impl Inner {
    fn rules(&self) -> Rules {
        let rules = self.rules.read();
        rules.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn decided(&self) -> MutexGuard<'_, Decided> {
        self.decided.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> MutexGuard<'_, Vec<CancellationToken>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the changes that were approved earlier; returns whether there were any.
    async fn settle(&self) -> bool {
        let changes = std::mem::take(&mut *self.changes());
        let open = changes.iter().filter(|change| !change.is_cancelled());
        let all = futures_util::future::join_all(open.map(CancellationToken::cancelled));
        // A call may never start, and its change never be made.
        let _ = timeout(SETTLING, all).await;
        !changes.is_empty()
    }
}

impl Approvals {
    /// Makes approvals by these rules. Calls that need the user are denied unless there is an [`approver`](Self::approver).
    pub fn new(rules: Rules) -> Self {
        Self(Arc::new(Inner {
            rules: RwLock::new(rules),
            approver: None,
            unattended: "no user is available to approve it".to_owned(),
            checks_names: true,
            turn: Arc::default(),
            decided: StdMutex::default(),
            changes: StdMutex::default(),
        }))
    }

    /// Sets the approver. State that clones of these approvals share so far is copied.
    #[must_use]
    pub fn approver(self, approver: impl Approver + 'static) -> Self {
        self.with(|inner| inner.approver = Some(Arc::new(approver)))
    }

    /// Leaves every question open: it is an event [`approval_required`](gadgetry_proto::event::EventKind::ApprovalRequired) of
    /// the run, and [`AgentHandle::answer`](crate::AgentHandle::answer) answers it, or another process does so through the
    /// journal.
    ///
    /// ```
    /// use futures_util::StreamExt as _;
    /// use gadgetry::approval::{Answer, Approvals, Rules};
    /// use gadgetry::{Agent, Event, EventKind, ScriptedModel, gadget};
    ///
    /// /// Deploys the service.
    /// #[gadget]
    /// fn deploy() -> String {
    ///     "deployed".to_owned()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model: ScriptedModel = concat!(
    ///     r#"{"text": "!!!GADGET_START:Deploy\n!!!GADGET_END"}"#, "\n",
    ///     r#"{"text": "It is deployed."}"#,
    /// ).parse()?;
    /// let approvals = Approvals::new(Rules::parse(["ask *"])?).in_stream();
    /// let agent = Agent::builder().model(model).gadget(Deploy).approvals(approvals).build()?;
    /// let mut run = agent.ask("Deploy.");
    /// let handle = run.handle();
    /// while let Some(event) = run.next().await {
    ///     if let EventKind::ApprovalRequired { approval, .. } = event.kind {
    ///         handle.answer(approval.id, Answer::Once)?; // here, in a handler of HTTP, or days later
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn in_stream(self) -> Self {
        self.approver(async |_| Answer::Pending)
    }

    /// Sets the reason for denials without an approver, which the model reads after `… needs approval, but `.
    #[must_use]
    pub fn unattended(self, reason: impl Into<String>) -> Self {
        self.with(|inner| inner.unattended = reason.into())
    }

    /// Accepts rules about gadgets that the agent does not have, whatever their names: the caller has checked them. By default, a
    /// rule that misspells the name of a gadget is an error when the agent is built
    /// ([`AgentError::RuleWithoutGadget`](crate::AgentError::RuleWithoutGadget)).
    #[must_use]
    pub fn any_names(self) -> Self {
        self.with(|inner| inner.checks_names = false)
    }

    pub(crate) fn checks_names(&self) -> bool {
        self.0.checks_names
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Inner {
            rules: RwLock::new(self.rules()),
            approver: self.0.approver.clone(),
            unattended: self.0.unattended.clone(),
            checks_names: self.0.checks_names,
            turn: Arc::default(),
            decided: StdMutex::default(),
            changes: StdMutex::default(),
        };
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// Returns the rules, with those that the user has added.
    pub fn rules(&self) -> Rules {
        self.0.rules()
    }

    /// Decides about a call of `run` to a gadget in `toolbox`. A call to any other gadget is denied.
    ///
    /// Cancel safety: dropping the future withdraws the request to the user.
    pub async fn decide(&self, run: &RunContext, toolbox: &Toolbox, start: &Start) -> BeforeGadget {
        let name = start.gadget_name.as_str();
        let Some(gadget) = toolbox.get(name) else {
            return BeforeGadget::Deny(format!("Denied: there is no gadget {name}"));
        };
        // Joins the queue before anything is waited for, so that calls are shown in their order.
        let open: Arc<OpenApprovals> = run.shared().get();
        let mut turn = Box::pin(Arc::clone(&open.turn).lock_owned());
        let taken = unconstrained(&mut turn).now_or_never();
        let is_first =
            taken.is_some() && self.0.changes().iter().all(CancellationToken::is_cancelled);
        let permission = gadget.permission();
        let early = gadget.preview(&start.parameters).await;
        match &early {
            Ok(preview) => {
                if let Some(decision) = self.by_rules(start, permission, preview) {
                    return decision;
                }
            }
            // What the gadget cannot preview it cannot do either, and its own words say why. But the calls before it may be what
            // it needs.
            Err(reason) if is_first => return BeforeGadget::Deny(reason.clone()),
            Err(_) => {}
        }
        let Some(approver) = &self.0.approver else {
            return BeforeGadget::Deny(match early {
                Err(reason) => reason,
                Ok(preview) => {
                    let why = self.why_not_allowed(start, &preview);
                    let why = why.map(|why| format!("; {why}")).unwrap_or_default();
                    let unattended = &self.0.unattended;
                    format!("Denied: {name} needs approval, but {unattended}{why}")
                }
            });
        };
        let _turn = match taken {
            Some(taken) => taken,
            None => turn.await,
        };
        // Runs with the same approvals have one approver.
        let asking = Arc::clone(&self.0.turn).try_lock_owned();
        let is_free = asking.is_ok();
        let asking = match asking {
            Ok(asking) => asking,
            Err(_) => Arc::clone(&self.0.turn).lock_owned().await,
        };
        // The calls before it may have changed what it would do, and the answers about them the rules.
        let preview = if self.0.settle().await || !is_first || !is_free {
            gadget.preview(&start.parameters).await
        } else {
            early
        };
        let preview = match preview {
            Ok(preview) => preview,
            Err(reason) => return BeforeGadget::Deny(reason),
        };
        if let Some(decision) = self.by_rules(start, permission, &preview) {
            return decision;
        }
        let mut request = ApprovalRequest {
            run: Arc::clone(run.info()),
            gadget: name.to_owned(),
            invocation_id: start.invocation_id.clone(),
            parameters: Arc::clone(&start.parameters),
            preview: preview.clone(),
        };
        let mut approval = request.shown(start.id);
        let id = approval.id;
        // It is about the rules, so the answer is not bound to it.
        if let Some(why) = self.why_not_allowed(start, &preview) {
            approval.notes.push(why.clone());
            request.preview.notes.push(why);
        }
        let approval = Arc::new(approval);
        let mut open = open.open(Arc::clone(&approval));
        run.report(start.id, Report::ApprovalRequired(approval));
        let answer = answered(&**approver, request, &mut open, asking).await;
        // Before anyone reads that it is answered.
        drop(open);
        let report = |answer| {
            let approval = id;
            run.report(start.id, Report::ApprovalAnswered { approval, answer });
        };
        match answer {
            // `answered` never returns the latter.
            Answer::Once | Answer::Pending => {}
            Answer::Session(rule) => {
                let mut rules = self.0.rules.write().unwrap_or_else(PoisonError::into_inner);
                let subject = preview.subject.as_ref();
                rules.insert_for(named(name, &preview), &start.parameters, subject, rule);
            }
            Answer::No(reason) => {
                let reason = reason.map(|reason| reason.trim().to_owned());
                let reason = reason.filter(|reason| !reason.is_empty());
                report(ApprovalAnswer::Denied {
                    reason: reason.clone(),
                });
                return BeforeGadget::Deny(match reason {
                    Some(reason) => format!("Denied by the user: {reason}"),
                    None => "Denied by the user".to_owned(),
                });
            }
        }
        report(ApprovalAnswer::Allowed);
        self.proceed(start, permission, &preview, true)
    }

    /// Returns the decision that the call runs as previewed.
    fn proceed(
        &self,
        start: &Start,
        permission: Permission,
        preview: &CallPreview,
        is_shown: bool,
    ) -> BeforeGadget {
        let changes_files = preview.diff.is_some();
        let approved = approved(&self.0, start, permission, preview.clone(), is_shown);
        let end = self.0.decided().push(start, approved);
        if changes_files {
            let mut changes = self.0.changes();
            changes.retain(|change| !change.is_cancelled());
            changes.push(end);
        }
        BeforeGadget::Proceed
    }

    /// Returns the decision, unless it is the user's.
    fn by_rules(
        &self,
        start: &Start,
        permission: Permission,
        preview: &CallPreview,
    ) -> Option<BeforeGadget> {
        let rules = self.0.rules();
        let rule = rules.decide(
            named(&start.gadget_name, preview),
            &start.parameters,
            preview.subject.as_ref(),
        );
        match rule.map_or(permission, Rule::permission) {
            Permission::Allow => Some(self.proceed(start, permission, preview, false)),
            Permission::Ask => None,
            Permission::Deny => Some(BeforeGadget::Deny(match rule {
                Some(rule) => format!("Denied by the rule `{rule}`"),
                None => format!("Denied: {} needs a rule that allows it", start.gadget_name),
            })),
        }
    }

    /// Returns the reason why a rule that resembles a command does not allow it, in one line; `None` without such a rule.
    fn why_not_allowed(&self, start: &Start, preview: &CallPreview) -> Option<String> {
        let (gadget, subject) = (named(&start.gadget_name, preview), preview.subject.as_ref());
        self.0.rules().misses(gadget, &start.parameters, subject)
    }

    /// Returns the hook of an agent with these gadgets.
    pub(crate) fn hook(self, toolbox: Arc<Toolbox>) -> Arc<dyn DynHook> {
        Arc::new(OfToolbox {
            approvals: self,
            toolbox,
        })
    }
}

/// Waits for the answer of the approver, or of someone else to the open approval. While the approver decides, no other call is
/// shown to it.
async fn answered(
    approver: &dyn Approver,
    request: ApprovalRequest,
    open: &mut OpenAnswer,
    asking: OwnedMutexGuard<()>,
) -> Answer {
    let outside = pin!(open.wait());
    match select(outside, approver.approve(request)).await {
        Either::Right((Answer::Pending, outside)) => {
            drop(asking);
            outside.await
        }
        Either::Left((answer, _)) | Either::Right((answer, _)) => answer,
    }
}

/// Returns the part of a decision that is kept.
fn approved(
    approvals: &Arc<Inner>,
    start: &Start,
    permission: Permission,
    preview: CallPreview,
    is_shown: bool,
) -> Approved {
    // Weak, because the approvals own the decision.
    let approvals: Weak<Inner> = Arc::downgrade(approvals);
    let (gadget, parameters) = (start.gadget_name.clone(), Arc::clone(&start.parameters));
    let origin = preview.origin.clone();
    let rules = move |subject: &Subject| {
        let Some(approvals) = approvals.upgrade() else {
            return Permission::Deny;
        };
        let gadget = Named {
            name: &gadget,
            origin: origin.as_ref(),
        };
        let rules = approvals.rules();
        let rule = rules.decide(gadget, &parameters, Some(subject));
        rule.map_or(permission, Rule::permission)
    };
    Approved {
        preview,
        is_shown,
        rules: Box::new(rules),
    }
}

fn named<'g>(name: &'g str, preview: &'g CallPreview) -> Named<'g> {
    Named {
        name,
        origin: preview.origin.as_ref(),
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Approvals").field(&self.rules()).finish()
    }
}

struct OfToolbox {
    approvals: Approvals,
    toolbox: Arc<Toolbox>,
}

impl DynHook for OfToolbox {
    fn questions(&self) -> Asks {
        Asks {
            before_gadget: true,
            ..Asks::default()
        }
    }

    fn decide<'a>(
        &'a self,
        run: &'a RunContext,
        question: &'a QuestionKind,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match question {
                QuestionKind::BeforeGadget { start } => self
                    .approvals
                    .decide(run, &self.toolbox, start)
                    .await
                    .into(),
                QuestionKind::BeforeModelCall { .. }
                | QuestionKind::BeforeCompaction { .. }
                | QuestionKind::AfterModelCall { .. }
                | QuestionKind::ModelError { .. }
                | QuestionKind::AfterGadget { .. }
                | QuestionKind::DependencySkipped { .. }
                | QuestionKind::Human { .. }
                | QuestionKind::Interrupted { .. }
                | QuestionKind::Input { .. } => Decision::Proceed,
            }
        })
    }
}
