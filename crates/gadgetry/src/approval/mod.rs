//! Approvals: rules and a user that decide which calls run.
//!
//! ```text
//! call ─► preview of its gadget ─► rules, the first that matches ─► allow | deny
//!                                        └─ no rule: permission of the gadget ─► ask ─► Approver ─► once | session | always | no
//! ```
//!
//! A gadget says by [`DynGadget::permission`] what holds without a rule, and by [`DynGadget::preview`] what a call would touch.
//! A denied call fails: the model reads why, and its dependents are skipped. Calls that need the user wait in a queue; while
//! one is open, other gadgets run on, and an answer that also covers a waiting call decides that call.
//!
//! ```
//! use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Rules};
//! use gadgetry::{Agent, ScriptedModel};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = Rules::parse(["allow ReadFile", "deny *(.git/**)", "allow RunCommand(cargo test *)", "ask *"])?;
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
mod pattern;
mod rule;
mod rules;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use gadgetry_proto::run::{Asks, Decision, QuestionKind, Start};
use tokio::sync::Mutex;
use tokio::task::coop::unconstrained;

use crate::control::{BeforeGadget, DynController};
#[cfg(doc)]
use crate::gadget::DynGadget;
use crate::gadget::{CallPreview, Permission};
use crate::toolbox::Toolbox;

pub use approver::{Answer, ApprovalRequest, Approver};
pub use rule::{InvalidRule, Rule};
pub use rules::Rules;

/// Decides about each call before it runs; see the [module](self). Clones share their rules.
///
/// Add it with [`AgentBuilder::approvals`](crate::AgentBuilder::approvals). It decides before every other controller, so what a
/// program's own controllers change afterwards is not approved again.
#[derive(Clone)]
pub struct Approvals(Arc<Inner>);

struct Inner {
    rules: RwLock<Rules>,
    approver: Option<Arc<dyn Approver>>,
    /// Why a call that needs the user is denied if there is no approver.
    unattended: String,
    /// The one request that is open.
    turn: Arc<Mutex<()>>,
}

impl Approvals {
    /// Approvals by these rules. Calls that need the user are denied until there is an [`approver`](Self::approver).
    pub fn new(rules: Rules) -> Self {
        Self(Arc::new(Inner {
            rules: RwLock::new(rules),
            approver: None,
            unattended: "no user is available to approve it".to_owned(),
            turn: Arc::default(),
        }))
    }

    /// Sets who approves. Anything that clones of these approvals share until now is copied.
    #[must_use]
    pub fn approver(self, approver: impl Approver + 'static) -> Self {
        self.with(|inner| inner.approver = Some(Arc::new(approver)))
    }

    /// Sets why calls are denied without an approver, as the model reads it after `… needs approval, but `.
    #[must_use]
    pub fn unattended(self, reason: impl Into<String>) -> Self {
        self.with(|inner| inner.unattended = reason.into())
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Inner {
            rules: RwLock::new(self.rules()),
            approver: self.0.approver.clone(),
            unattended: self.0.unattended.clone(),
            turn: Arc::default(),
        };
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// Returns the rules, with those that the user has added.
    pub fn rules(&self) -> Rules {
        let rules = self.0.rules.read();
        rules.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Decides about a call of a gadget in `toolbox`. A gadget that is not there is denied.
    ///
    /// Cancel safety: dropping the future withdraws the request to the user.
    pub async fn decide(&self, toolbox: &Toolbox, start: &Start) -> BeforeGadget {
        let name = start.gadget_name.as_str();
        let Some(gadget) = toolbox.get(name) else {
            return BeforeGadget::Deny(format!("Denied: there is no gadget {name}"));
        };
        // Joins the queue before anything is waited for, so that calls are shown in their order.
        let mut turn = Box::pin(Arc::clone(&self.0.turn).lock_owned());
        let taken = unconstrained(&mut turn).now_or_never();
        // What the gadget cannot preview it cannot do either, and its own words say why.
        let preview = match gadget.preview(&start.parameters).await {
            Ok(preview) => preview,
            Err(reason) => return BeforeGadget::Deny(reason),
        };
        let permission = gadget.permission();
        if let Some(decision) = self.by_rules(start, permission, &preview) {
            return decision;
        }
        let Some(approver) = &self.0.approver else {
            return BeforeGadget::Deny(format!(
                "Denied: {name} needs approval, but {}",
                self.0.unattended
            ));
        };
        let _turn = match taken {
            Some(taken) => taken,
            None => turn.await,
        };
        // The answer to the request before this one may have been about this call as well.
        if let Some(decision) = self.by_rules(start, permission, &preview) {
            return decision;
        }
        let request = ApprovalRequest {
            gadget: name.to_owned(),
            invocation_id: start.invocation_id.clone(),
            parameters: Arc::clone(&start.parameters),
            preview: preview.clone(),
        };
        match approver.approve(request).await {
            Answer::Once => BeforeGadget::Proceed,
            Answer::Session(rule) => {
                let mut rules = self.0.rules.write().unwrap_or_else(PoisonError::into_inner);
                rules.insert_for(name, &start.parameters, preview.subject.as_ref(), rule);
                BeforeGadget::Proceed
            }
            Answer::No(reason) => {
                let reason = reason.map(|reason| reason.trim().to_owned());
                BeforeGadget::Deny(match reason.filter(|reason| !reason.is_empty()) {
                    Some(reason) => format!("Denied by the user: {reason}"),
                    None => "Denied by the user".to_owned(),
                })
            }
        }
    }

    /// The decision, unless it is the user's.
    fn by_rules(
        &self,
        start: &Start,
        permission: Permission,
        preview: &CallPreview,
    ) -> Option<BeforeGadget> {
        let rules = self.0.rules.read().unwrap_or_else(PoisonError::into_inner);
        let rule = rules.decide(
            &start.gadget_name,
            &start.parameters,
            preview.subject.as_ref(),
        );
        let permission = rule.map_or(permission, Rule::permission);
        match permission {
            Permission::Allow => Some(BeforeGadget::Proceed),
            Permission::Ask => None,
            Permission::Deny => Some(BeforeGadget::Deny(match rule {
                Some(rule) => format!("Denied by the rule `{rule}`"),
                None => format!("Denied: {} needs a rule that allows it", start.gadget_name),
            })),
        }
    }

    /// The controller of an agent with these gadgets.
    pub(crate) fn controller(self, toolbox: Arc<Toolbox>) -> Arc<dyn DynController> {
        Arc::new(OfToolbox {
            approvals: self,
            toolbox,
        })
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

impl DynController for OfToolbox {
    fn questions(&self) -> Asks {
        Asks {
            before_gadget: true,
            ..Asks::default()
        }
    }

    fn decide<'a>(&'a self, question: &'a QuestionKind) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match question {
                QuestionKind::BeforeGadget { start } => {
                    self.approvals.decide(&self.toolbox, start).await.into()
                }
                QuestionKind::BeforeModelCall { .. }
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
