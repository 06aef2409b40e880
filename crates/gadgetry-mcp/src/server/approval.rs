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
    /// By a request of the server, until 2025-11-25.
    Request(Peer<RoleServer>),
    /// By an answer that requires input, since 2026-07-28.
    Input,
    /// The client has answered that, since 2026-07-28.
    Replied(Reply),
}

/// What a client has sent about an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Approved,
    /// The user has decided against the call.
    Denied,
    /// The user has not decided.
    Missing,
    /// It is not valid for this call, or not any more.
    Invalid,
}

impl Reply {
    fn of(result: &ElicitResult) -> Self {
        let approve = result.content.as_ref().map(|content| &content["approve"]);
        match (&result.action, approve) {
            (ElicitationAction::Accept, Some(Value::Bool(true))) => Self::Approved,
            (ElicitationAction::Accept, Some(Value::Bool(false)))
            | (ElicitationAction::Decline, _) => Self::Denied,
            _ => Self::Missing,
        }
    }
}

/// The approver of one call.
#[derive(Clone)]
pub(super) struct OfClient(Arc<Inner>);

struct Inner {
    way: Way,
    /// What has to be sent to the client instead of the result.
    open: Mutex<Option<Open>>,
}

/// Why there is no decision of the user.
enum Open {
    /// This question has to be sent to the client before the call can run.
    Question(String),
    /// The client has sent no decision of the user, for this reason.
    Unanswered(&'static str),
}

/// What the client receives instead of a result.
pub(super) enum Instead {
    /// The user's consent is required.
    Required(InputRequiredResult),
    /// The user has not decided, for this reason.
    Unanswered(&'static str),
}

impl OfClient {
    pub(super) fn new(way: Way) -> Self {
        Self(Arc::new(Inner {
            way,
            open: Mutex::default(),
        }))
    }

    /// What the client receives instead of a result, if the call needs approval and the user has not decided.
    pub(super) fn instead(
        &self,
        seals: &Seals,
        request: &CallToolRequestParams,
    ) -> Option<Instead> {
        let open = {
            let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.take()?
        };
        let question = match open {
            Open::Question(question) => question,
            Open::Unanswered(reason) => return Some(Instead::Unanswered(reason)),
        };
        let Some(state) = seals.seal(&identity(request)) else {
            return Some(Instead::Unanswered("the system gives no random numbers"));
        };
        let form = ElicitRequest::new(form(question));
        let input = [(INPUT.to_owned(), InputRequest::Elicitation(form))];
        let required = InputRequiredResult::new(Some(input.into()), Some(state));
        Some(Instead::Required(required))
    }

    fn answer(&self, reply: Reply) -> Answer {
        match reply {
            Reply::Approved => Answer::Once,
            Reply::Denied => Answer::No(None),
            Reply::Missing => self.open(Open::Unanswered("the client's user gave no answer")),
            Reply::Invalid => self.open(Open::Unanswered(
                "the answer is for another call, was used before, or has expired",
            )),
        }
    }

    /// The call does not run, and the client receives something else than that the user has denied it.
    fn open(&self, open: Open) -> Answer {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
        Answer::No(None)
    }
}

impl Approver for OfClient {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        let question = question(&request);
        Box::pin(async move {
            match &self.0.way {
                Way::None => self.open(Open::Unanswered("this client cannot ask its user")),
                Way::Replied(reply) => self.answer(*reply),
                Way::Input => self.open(Open::Question(question)),
                Way::Request(peer) => {
                    match timeout(ANSWER_TIMEOUT, peer.create_elicitation(form(question))).await {
                        Ok(Ok(result)) => self.answer(Reply::of(&result)),
                        Ok(Err(_)) => {
                            self.open(Open::Unanswered("this client could not ask its user"))
                        }
                        Err(_) => {
                            self.open(Open::Unanswered("the client's user gave no answer in time"))
                        }
                    }
                }
            }
        })
    }
}

/// What the client has sent back about this call. `None` if it has sent nothing.
pub(super) fn reply(seals: &Seals, request: &CallToolRequestParams) -> Option<Reply> {
    let answer = request.input_responses.as_ref()?.get(INPUT)?;
    let state = request.request_state.as_deref().unwrap_or_default();
    // The state is used up, whatever the answer.
    if !seals.accept(state, &identity(request)) {
        return Some(Reply::Invalid);
    }
    let answer = serde_json::from_value::<ElicitResult>(answer.clone());
    Some(answer.map_or(Reply::Missing, |answer| Reply::of(&answer)))
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
    use super::{Reply, Seals, reply};
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
        let check = |name: &str, state: Option<&str>, answer: Value, expected: Reply| {
            assert_eq!(reply(&seals, &call(name, state, answer)), Some(expected));
        };
        let state = sealed();
        check("Write", Some(&state), yes(), Reply::Approved);
        check("Write", Some(&state), yes(), Reply::Invalid);
        check("Delete", Some(&sealed()), yes(), Reply::Invalid);
        check("Write", None, yes(), Reply::Invalid);
        check("Write", Some("forged"), yes(), Reply::Invalid);
        check(
            "Write",
            Some(&Seals::new().unwrap().seal(b"").unwrap()),
            yes(),
            Reply::Invalid,
        );
        check(
            "Write",
            Some(&sealed()),
            json!({ "action": "decline" }),
            Reply::Denied,
        );
        check(
            "Write",
            Some(&sealed()),
            json!({ "action": "accept", "content": { "approve": false } }),
            Reply::Denied,
        );
        for missing in [
            json!("yes"),
            json!({ "action": "accept" }),
            json!({ "action": "accept", "content": { "approve": "yes" } }),
            json!({ "action": "ignore" }),
        ] {
            check("Write", Some(&sealed()), missing, Reply::Missing);
        }
        let cancelled = sealed();
        check(
            "Write",
            Some(&cancelled),
            json!({ "action": "cancel" }),
            Reply::Missing,
        );
        check("Write", Some(&cancelled), yes(), Reply::Invalid);
        assert_eq!(reply(&seals, &CallToolRequestParams::new("Write")), None);
    }
}
