//! Approval of calls by the client's user, in both revisions of the protocol.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approver};
use gadgetry::proto::visible::visible;
use rmcp::model::{
    BooleanSchema, CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult,
    PrimitiveSchemaDefinition, RequestStateCodec, SealOptions,
};
use rmcp::service::{Peer, RoleServer};
use rustls::crypto::ring;
use serde_json::Value;
use tokio::time::{Instant, timeout};

/// The time that the user has for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);

/// The name of the only input that a call requires.
const INPUT: &str = "approval";

/// Approvals that were used and not yet expired.
const USED: usize = 10_000;

/// Characters of the parameters that the user is shown.
const SHOWN: usize = 2_000;

/// Seals the state of approvals that clients return, so that none can be forged or used twice.
pub(super) struct Seals {
    codec: RequestStateCodec,
    used: Mutex<BTreeMap<Vec<u8>, Instant>>,
}

impl Seals {
    /// Seals with a random key. `None` if the system gives no random numbers.
    pub(super) fn new() -> Option<Self> {
        let codec = RequestStateCodec::try_new(random::<32>()?).ok()?;
        Some(Self {
            codec,
            used: Mutex::default(),
        })
    }

    /// What the client must send back with the user's answer.
    fn seal(&self, call: &[u8]) -> Option<String> {
        let options = SealOptions::new().associated_data(call).ttl(ANSWER_TIMEOUT);
        Some(self.codec.seal_with(&random::<16>()?, &options))
    }

    /// Whether `state` was sealed for this call, and is used for the first time.
    fn accept(&self, state: &str, call: &[u8]) -> bool {
        let Ok(number) = self.codec.open_with(state, call) else {
            return false;
        };
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        used.retain(|_, until| *until > now);
        used.len() < USED && used.insert(number, now + ANSWER_TIMEOUT).is_none()
    }
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let provider = ring::default_provider();
    provider.secure_random.fill(&mut bytes).ok()?;
    Some(bytes)
}

/// How the user of a client approves a call.
pub(super) enum Way {
    /// The client cannot ask its user.
    None,
    /// The user has refused, since 2026-07-28.
    Refused,
    /// By a request of the server, until 2025-11-25.
    Request(Peer<RoleServer>),
    /// By an answer that requires input, since 2026-07-28. `granted`: the client has sent the user's consent.
    Input { granted: bool },
}

/// The approver of one call.
#[derive(Clone)]
pub(super) struct OfClient(Arc<Inner>);

struct Inner {
    way: Way,
    /// The question that has to be sent to the client before the call can run.
    open: Mutex<Option<String>>,
}

impl OfClient {
    pub(super) fn new(way: Way) -> Self {
        Self(Arc::new(Inner {
            way,
            open: Mutex::default(),
        }))
    }

    /// The answer that requires the user's consent, if the call has to wait for it.
    pub(super) fn required(
        &self,
        seals: &Seals,
        request: &CallToolRequestParams,
    ) -> Option<InputRequiredResult> {
        let question = {
            let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.take()?
        };
        let state = seals.seal(&identity(request))?;
        let form = ElicitRequest::new(form(question));
        let input = [(INPUT.to_owned(), InputRequest::Elicitation(form))];
        Some(InputRequiredResult::new(Some(input.into()), Some(state)))
    }
}

impl Approver for OfClient {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        let question = question(&request);
        Box::pin(async move {
            match &self.0.way {
                Way::None => no("this client cannot ask its user for approval"),
                Way::Refused => Answer::No(None),
                Way::Input { granted: true } => Answer::Once,
                Way::Input { granted: false } => {
                    let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
                    *open = Some(question);
                    no("it needs the user's approval")
                }
                Way::Request(peer) => {
                    match timeout(ANSWER_TIMEOUT, peer.create_elicitation(form(question))).await {
                        Ok(Ok(answer)) if is_consent(&answer) => Answer::Once,
                        Ok(Ok(_)) => Answer::No(None),
                        Ok(Err(_)) => no("this client could not ask its user for approval"),
                        Err(_) => no("the user gave no answer in time"),
                    }
                }
            }
        })
    }
}

fn no(reason: &str) -> Answer {
    Answer::No(Some(reason.to_owned()))
}

/// Whether the client has sent back the user's consent to this call. `None` if it has sent no answer at all.
pub(super) fn granted(seals: &Seals, request: &CallToolRequestParams) -> Option<bool> {
    let answer = request.input_responses.as_ref()?.get(INPUT)?;
    let answer = serde_json::from_value::<ElicitResult>(answer.clone()).ok();
    let consents = answer.is_some_and(|answer| is_consent(&answer));
    let state = request.request_state.as_deref().unwrap_or_default();
    // The state is used up, whatever the answer.
    Some(seals.accept(state, &identity(request)) && consents)
}

fn is_consent(answer: &ElicitResult) -> bool {
    let approves = answer.content.as_ref().map(|content| &content["approve"]);
    answer.action == ElicitationAction::Accept && approves == Some(&Value::Bool(true))
}

/// Identifies the call, so that consent to one is not valid for another.
fn identity(request: &CallToolRequestParams) -> Vec<u8> {
    serde_json::to_vec(&(&request.name, &request.arguments)).unwrap_or_default()
}

fn form(message: String) -> ElicitRequestParams {
    let approve = BooleanSchema::new()
        .title("Approve")
        .description("Whether the call may run");
    let fields = [(
        "approve".to_owned(),
        PrimitiveSchemaDefinition::Boolean(approve),
    )];
    let schema = ElicitationSchema::new(fields.into());
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: schema.with_required(vec!["approve".to_owned()]),
    }
}

fn question(request: &ApprovalRequest) -> String {
    let preview = &request.preview;
    let mut lines = vec![format!("May the gadget {} run?", request.gadget)];
    match &preview.subject {
        Some(subject) => lines.push(subject.text().to_owned()),
        None => lines.push(request.parameters.to_string()),
    }
    lines.extend(preview.notes.iter().cloned());
    lines.extend(preview.diff.iter().cloned());
    let text = lines.join("\n");
    let shown: String = text.chars().take(SHOWN).collect();
    let rest = if shown.len() < text.len() {
        "\n…"
    } else {
        ""
    };
    format!("{}{rest}", visible(&shown))
}

#[cfg(test)]
mod tests {
    use super::{Seals, granted};
    use rmcp::model::CallToolRequestParams;
    use serde_json::{Value, json};

    #[test]
    fn consent_is_for_one_call_once() {
        let seals = Seals::new().unwrap();
        let call = |name: &str, state: Option<&str>, answer: Value| {
            let request = json!({ "name": name, "arguments": { "a": 1 }, "requestState": state, "inputResponses": { "approval": answer } });
            serde_json::from_value::<CallToolRequestParams>(request).unwrap()
        };
        let yes = || json!({ "action": "accept", "content": { "approve": true } });
        let sealed = || {
            let call = call("Write", None, Value::Null);
            seals.seal(&super::identity(&call)).unwrap()
        };
        let check = |name: &str, state: Option<&str>, answer: Value, expected: bool| {
            assert_eq!(granted(&seals, &call(name, state, answer)), Some(expected));
        };
        let state = sealed();
        check("Write", Some(&state), yes(), true);
        check("Write", Some(&state), yes(), false);
        check("Delete", Some(&sealed()), yes(), false);
        check("Write", None, yes(), false);
        check("Write", Some("forged"), yes(), false);
        check(
            "Write",
            Some(&Seals::new().unwrap().seal(b"").unwrap()),
            yes(),
            false,
        );
        check(
            "Write",
            Some(&sealed()),
            json!({ "action": "decline" }),
            false,
        );
        check(
            "Write",
            Some(&sealed()),
            json!({ "action": "accept", "content": { "approve": false } }),
            false,
        );
        check("Write", Some(&sealed()), json!("yes"), false);
        let declined = sealed();
        check(
            "Write",
            Some(&declined),
            json!({ "action": "cancel" }),
            false,
        );
        check("Write", Some(&declined), yes(), false);
        assert_eq!(granted(&seals, &CallToolRequestParams::new("Write")), None);
    }
}
