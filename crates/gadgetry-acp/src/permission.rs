//! Approvals as requests for permission.

use std::collections::HashSet;

use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ToolCallUpdate,
};
use gadgetry::approval::{Answer, Approval, Rule};
use serde_json::Value;

use crate::blocks::one_line;
use crate::client::Client;
use crate::peer::read;

const ALLOW: &str = "allow";
const REJECT: &str = "reject";
const REJECT_ALWAYS: &str = "reject-always";
/// Before the number of a rule.
const ALLOW_ALWAYS: &str = "allow-always-";

/// Calls that the user has rejected for the rest of the session.
#[derive(Debug, Default)]
pub(crate) struct Rejected(HashSet<String>);

impl Rejected {
    /// Returns whether the user has rejected the same call for good.
    pub(crate) fn contains(&self, approval: &Approval) -> bool {
        self.0.contains(&target(approval))
    }
}

/// Target of a call: the same gadget and the same file, command or URL, or the same parameters.
fn target(approval: &Approval) -> String {
    let name = &approval.gadget_name;
    match &approval.subject {
        Some(subject) => {
            let folder = subject.folder.as_deref().unwrap_or_default();
            serde_json::json!([name, subject.text, folder]).to_string()
        }
        None => serde_json::json!([name, *approval.parameters]).to_string(),
    }
}

/// A decision of the user.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) answer: Answer,
    /// Whether the same call is rejected from now on.
    is_for_good: bool,
}

impl Decided {
    /// Takes note of a call that is rejected for good, and returns the answer.
    pub(crate) fn noted(self, approval: &Approval, rejected: &mut Rejected) -> Answer {
        if self.is_for_good {
            rejected.0.insert(target(approval));
        }
        self.answer
    }
}

/// Lets the user of a session decide about a call. Without an answer, the call does not run.
///
/// Cancel safety: a late answer of the client is ignored.
pub(crate) async fn decide(
    client: &Client,
    session: &str,
    call: ToolCallUpdate,
    rules: Vec<Rule>,
) -> Decided {
    let mut options = vec![PermissionOption::new(
        ALLOW,
        "Allow",
        PermissionOptionKind::AllowOnce,
    )];
    for (number, rule) in rules.iter().enumerate() {
        let id = format!("{ALLOW_ALWAYS}{number}");
        let name = format!("Allow {} in this session", one_line(rule.calls()));
        options.push(PermissionOption::new(
            id,
            name,
            PermissionOptionKind::AllowAlways,
        ));
    }
    for (id, name, kind) in [
        (REJECT, "Reject", PermissionOptionKind::RejectOnce),
        (
            REJECT_ALWAYS,
            "Reject this in this session",
            PermissionOptionKind::RejectAlways,
        ),
    ] {
        options.push(PermissionOption::new(id, name, kind));
    }
    let request = RequestPermissionRequest::new(session.to_owned(), call, options);
    let method = "session/request_permission";
    let answer = client.peer().request(method, request).await;
    decided(answer, &rules)
}

fn decided(answer: Option<Value>, rules: &[Rule]) -> Decided {
    let no = |reason: Option<&str>| Decided {
        answer: Answer::No(reason.map(str::to_owned)),
        is_for_good: false,
    };
    let Some(response) = read::<RequestPermissionResponse>(answer) else {
        return no(Some("the client did not answer the request for permission"));
    };
    let RequestPermissionOutcome::Selected(selected) = response.outcome else {
        return no(None);
    };
    let id = &*selected.option_id.0;
    let mut numbered = rules.iter().enumerate();
    let rule = numbered.find(|(number, _)| id == format!("{ALLOW_ALWAYS}{number}"));
    let rule = rule.map(|(_, rule)| rule);
    match (id, rule) {
        (_, Some(rule)) => Decided {
            answer: Answer::Session(rule.clone()),
            is_for_good: false,
        },
        (ALLOW, _) => Decided {
            answer: Answer::Once,
            is_for_good: false,
        },
        (REJECT_ALWAYS, _) => Decided {
            answer: Answer::No(None),
            is_for_good: true,
        },
        _ => no(None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_ids_of_options_allow() {
        let rules: Vec<Rule> = ["allow ReadFile(a)", "allow ReadFile"]
            .into_iter()
            .map(|rule| rule.parse().expect("a rule"))
            .collect();
        let check = |answer: Option<Value>, expected: &str| {
            let decided = decided(answer.clone(), &rules);
            let found = match decided.answer {
                Answer::Once => "once".to_owned(),
                Answer::Session(rule) => rule.to_string(),
                Answer::No(_) | Answer::Pending => "no".to_owned(),
            };
            assert_eq!(found, expected, "{answer:?}");
        };
        let selected =
            |id: &str| Some(json!({ "outcome": { "outcome": "selected", "optionId": id } }));
        check(selected("allow"), "once");
        check(selected("allow-always-0"), "allow ReadFile(a)");
        check(selected("allow-always-1"), "allow ReadFile");
        for id in [
            "",
            "ALLOW",
            "allow ",
            "reject",
            "reject-always",
            "allow-always",
            "allow-always-",
            "allow-always-2",
            "allow-always-+0",
            "allow-always-00",
            "allow-always--1",
        ] {
            check(selected(id), "no");
        }
        check(None, "no");
        for answer in [
            json!(null),
            json!("allow"),
            json!([]),
            json!({}),
            json!({ "outcome": "allow" }),
            json!({ "outcome": { "outcome": "cancelled", "optionId": "allow" } }),
            json!({ "optionId": "allow" }),
        ] {
            check(Some(answer), "no");
        }
    }
}
