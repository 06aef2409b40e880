//! Gadgets of functions and methods that need approval, and their previews.

#![deny(missing_docs, unreachable_pub, unused, clippy::pedantic)]
#![expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self,
    reason = "previews read all arguments by reference; a gadget of a value need not read it"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Rules};
use gadgetry::gadget::DynGadget;
use gadgetry::{
    Agent, AgentError, CallPreview, ExecutionContext, IntoGadget as _, Permission, Subject, gadget,
    gadgets, tool,
};
use gadgetry_testing::{EventLog, MockModel, call, reply};
use serde_json::{Value, json};

fn deletion(path: &str, _force: &bool) -> Result<Subject, &'static str> {
    if path.starts_with('/') {
        return Err("the path is outside the workspace");
    }
    Ok(Subject::Path(path.to_owned()))
}

/// Deletes a file
#[gadget(permission = "ask", preview = deletion)]
fn delete(path: String, #[gadget(default)] force: bool, _context: ExecutionContext) -> String {
    format!("deleted {path} {force}")
}

/// Formats the disk
#[tool(permission = "deny")]
fn format_disk() {}

/// Reads a file
#[gadget(permission = "allow", preview = previews::reading)]
async fn read(path: String) -> String {
    std::future::ready(path).await
}

mod previews {
    pub(super) fn reading(path: &str) -> String {
        format!("reads {path}")
    }
}

#[derive(Default)]
struct Account {
    /// Dollars, and how often a preview was made.
    balance: Mutex<i64>,
    previews: AtomicU32,
}

impl Account {
    fn preview_of_transfer(&self, to: &str, amount: &i64) -> CallPreview {
        // Someone else changes the account after the user was shown it.
        let drift = i64::from(self.previews.fetch_add(1, Ordering::Relaxed) == 1);
        let balance = self.balance.lock().map_or(0, |mut balance| {
            *balance -= drift;
            *balance
        });
        CallPreview::from(format!("{amount} of {balance} dollars to {to}"))
    }
}

#[gadgets]
impl Account {
    /// Transfers money
    #[gadget(permission = "ask", preview = Self::preview_of_transfer)]
    fn transfer(&self, to: String, amount: i64) -> String {
        format!("{amount} dollars for {to}")
    }
}

#[tokio::test]
async fn a_preview_is_of_the_arguments() {
    let account = Arc::new(Account::default());
    let transfer = account.gadgets().remove(0);
    let subject = |path: &str| Ok(CallPreview::of(Subject::Path(path.to_owned())));
    let note = |line: &str| Ok(CallPreview::default().note(line));
    let empty = Ok(CallPreview::default());
    let table: [(Arc<dyn DynGadget>, Permission, Value, Result<_, _>); 5] = [
        (
            Delete.into_gadget(),
            Permission::Ask,
            json!({ "path": "a.txt" }),
            subject("a.txt"),
        ),
        (
            Delete.into_gadget(),
            Permission::Ask,
            json!({ "path": "/etc" }),
            Err("the path is outside the workspace".to_owned()),
        ),
        (FormatDisk.into_gadget(), Permission::Deny, json!({}), empty),
        (
            Read.into_gadget(),
            Permission::Allow,
            json!({ "path": "b" }),
            note("reads b"),
        ),
        (
            transfer,
            Permission::Ask,
            json!({ "to": "Ada", "amount": 5 }),
            note("5 of 0 dollars to Ada"),
        ),
    ];
    for (gadget, permission, parameters, preview) in table {
        assert_eq!(gadget.permission(), permission, "{parameters}");
        assert_eq!(gadget.preview(&parameters).await, preview, "{parameters}");
    }
}

#[tokio::test]
async fn only_what_was_approved_runs() {
    let account = Arc::new(Account::default());
    let shown = Arc::new(Mutex::new(Vec::new()));
    let approver = {
        let shown = Arc::clone(&shown);
        move |request: ApprovalRequest| {
            let notes = request.preview.notes.join(" ");
            shown.lock().expect("a list").push(notes);
            std::future::ready(Answer::Once)
        }
    };
    let log = EventLog::default();
    let model = MockModel::in_order([
        reply().calls([call("Transfer").id("t").arg("to", "Ada").arg("amount", 5)]),
        reply().text("Done."),
    ]);
    let agent = Agent::builder()
        .model(model)
        .gadgets(account.gadgets())
        .observer(log.clone());
    let unguarded = agent.clone().build();
    assert!(matches!(unguarded, Err(AgentError::NoApprovals { .. })));
    let agent = agent.approvals(Approvals::new(Rules::default()).approver(approver));
    let run = agent.ask("Pay Ada").expect("an agent");
    assert_eq!(run.text().await.expect("an answer"), "Done.");
    assert_eq!(log.expect_result("t"), "5 dollars for Ada");
    // The second is of the balance that had changed until the call ran.
    let shown = shown.lock().expect("a list").clone();
    assert_eq!(shown, ["5 of 0 dollars to Ada", "5 of -1 dollars to Ada"]);
}
