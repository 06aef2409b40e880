//! Approval of calls by the client's user, in both revisions of the protocol.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry::approval::{Answer, ApprovalRequest, Approver};
use rmcp::model::{
    BooleanSchema, CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult,
    PrimitiveSchemaDefinition, RequestStateCodec, SealOptions,
};
use rmcp::service::{Peer, RoleServer};
use rustls::crypto::ring;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout};

use super::question::questions;
use super::sessions::Client;

/// The time that the user has for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);

/// The name of the first input that a call requires.
const INPUT: &str = "approval";

/// Approvals of one client that were used and have not yet expired. At the limit, further ones of that client fail.
const USED: usize = 10_000;

/// Bytes of the random number in a state.
const NUMBER: usize = 16;

/// Seals the state of approvals that clients return, so that none can be forged or used twice.
pub(super) struct Seals {
    codec: RequestStateCodec,
    used: Mutex<BTreeMap<Client, BTreeMap<Vec<u8>, Instant>>>,
}

impl Seals {
    /// Seals with a random key. `None` if the system has no source of randomness.
    pub(super) fn new() -> Option<Self> {
        let codec = RequestStateCodec::try_new(random::<32>()?).ok()?;
        Some(Self {
            codec,
            used: Mutex::default(),
        })
    }

    /// State that the client must send back with the user's answers to these questions.
    fn seal(&self, call: &Call<'_>, asked: &Asked) -> Option<String> {
        let call = call.identity();
        let options = SealOptions::new()
            .associated_data(&call)
            .ttl(ANSWER_TIMEOUT);
        let mut state = random::<NUMBER>()?.to_vec();
        state.extend(asked.digest());
        Some(self.codec.seal_with(&state, &options))
    }

    /// The digest of the questions, if `state` was sealed for this call and is used for the first time.
    fn accept(&self, state: &str, call: &Call<'_>) -> Option<Vec<u8>> {
        let state = self.codec.open_with(state, &call.identity()).ok()?;
        let digest = state.get(NUMBER..)?.to_vec();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = used.entry(call.client).or_default();
        let now = Instant::now();
        if used.len() >= USED {
            used.retain(|_, until| *until > now);
        }
        let is_new = used.len() < USED && used.insert(state, now + ANSWER_TIMEOUT).is_none();
        is_new.then_some(digest)
    }
}

/// A question, and what the answer to it holds for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Asked {
    /// The pages of the question.
    questions: Vec<String>,
    /// Bindings of the call by the gadget, of which the question need not show all: hashes of files, the definition of a tool.
    bound: String,
}

impl Asked {
    fn digest(&self) -> Vec<u8> {
        let mut hasher = Sha256::new();
        for part in self.questions.iter().chain([&self.bound]) {
            // With the length, so that no two lists have the same input.
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().to_vec()
    }
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let provider = ring::default_provider();
    provider.secure_random.fill(&mut bytes).ok()?;
    Some(bytes)
}

/// Way in which the user of a client approves a call.
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

/// Answer of a client about an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The answers of its user, by the names of the inputs, and the digest of the questions.
    Answers(BTreeMap<String, Answered>, Vec<u8>),
    /// Not valid for this call, or not any more.
    Invalid,
}

/// Answer of the client's user about a page of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    Approved,
    /// The user has decided against the call.
    Denied,
    /// The user has not decided.
    Missing,
}

impl Answered {
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
    client: Client,
    /// Answer to the client in place of the result.
    open: Mutex<Option<Open>>,
}

/// Reason that there is no decision of the user.
enum Open {
    /// These questions, the pages of one, have to be sent to the client before the call can run.
    Questions(Asked),
    /// The client has sent no decision of the user, for this reason.
    Unanswered(&'static str),
}

/// Answer that the client receives in place of a result.
pub(super) enum Instead {
    /// The user's consent is required.
    Required(InputRequiredResult),
    /// The user has not decided, for this reason.
    Unanswered(&'static str),
}

impl OfClient {
    pub(super) fn new(way: Way, client: Client) -> Self {
        Self(Arc::new(Inner {
            way,
            client,
            open: Mutex::default(),
        }))
    }

    /// Returns the answer that the client receives in place of a result, if the call needs approval and the user has not decided.
    pub(super) fn instead(
        &self,
        seals: &Seals,
        request: &CallToolRequestParams,
    ) -> Option<Instead> {
        let open = {
            let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.take()?
        };
        let asked = match open {
            Open::Questions(asked) => asked,
            Open::Unanswered(reason) => return Some(Instead::Unanswered(reason)),
        };
        let client = self.0.client;
        let Some(state) = seals.seal(&Call { client, request }, &asked) else {
            return Some(Instead::Unanswered("no source of randomness available"));
        };
        let inputs = asked
            .questions
            .into_iter()
            .enumerate()
            .map(|(page, question)| {
                let form = ElicitRequest::new(form(question));
                (input_name(page), InputRequest::Elicitation(form))
            });
        let required = InputRequiredResult::new(Some(inputs.collect()), Some(state));
        Some(Instead::Required(required))
    }

    fn answer(&self, answered: Answered) -> Answer {
        match answered {
            Answered::Approved => Answer::Once,
            Answered::Denied => Answer::No(None),
            Answered::Missing => self.open(Open::Unanswered("the client's user gave no answer")),
        }
    }

    /// The answer to all pages: the first one that is not a yes.
    fn replied(&self, reply: &Reply, asked: Asked) -> Answer {
        let Reply::Answers(answers, digest_of) = reply else {
            return self.open(Open::Unanswered(
                "the answer is for another call, was used before, or has expired",
            ));
        };
        // What the user has seen is not what would run now.
        if *digest_of != asked.digest() {
            return self.open(Open::Questions(asked));
        }
        let pages = (0..asked.questions.len()).map(input_name);
        let mut answers = pages.map(|page| answers.get(&page).copied());
        let other = answers.find(|it| *it != Some(Answered::Approved));
        self.answer(other.map_or(Answered::Approved, |it| it.unwrap_or(Answered::Missing)))
    }

    /// Asks the client's user page by page.
    async fn request(&self, peer: &Peer<RoleServer>, questions: Vec<String>) -> Answer {
        for question in questions {
            let asked = timeout(ANSWER_TIMEOUT, peer.create_elicitation(form(question))).await;
            let answered = match asked {
                Ok(Ok(result)) => Answered::of(&result),
                Ok(Err(_)) => {
                    return self.open(Open::Unanswered("this client could not ask its user"));
                }
                Err(_) => {
                    return self.open(Open::Unanswered("the client's user gave no answer in time"));
                }
            };
            if answered != Answered::Approved {
                return self.answer(answered);
            }
        }
        Answer::Once
    }

    /// The call does not run, and the client receives something else than that the user has denied it.
    fn open(&self, open: Open) -> Answer {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
        Answer::No(None)
    }
}

impl Approver for OfClient {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        let preview = &request.preview;
        let questions = questions(&request.gadget, &request.parameters, preview);
        let bound = format!("{:?}", (&preview.subject, &preview.bound, &preview.origin));
        Box::pin(async move {
            let Some(questions) = questions else {
                return self.open(Open::Unanswered(
                    "it has too much text to be shown to the client's user",
                ));
            };
            match &self.0.way {
                Way::None => self.open(Open::Unanswered("this client cannot ask its user")),
                Way::Replied(reply) => self.replied(reply, Asked { questions, bound }),
                Way::Input => self.open(Open::Questions(Asked { questions, bound })),
                Way::Request(peer) => self.request(peer, questions).await,
            }
        })
    }
}

/// Returns the answer of the client about this call. `None` if it has sent nothing.
pub(super) fn reply(
    seals: &Seals,
    request: &CallToolRequestParams,
    client: Client,
) -> Option<Reply> {
    let responses = request.input_responses.as_ref()?;
    responses.get(INPUT)?;
    let state = request.request_state.as_deref().unwrap_or_default();
    // The state is used up, whatever the answer.
    let Some(digest) = seals.accept(state, &Call { client, request }) else {
        return Some(Reply::Invalid);
    };
    let answers = responses.iter().map(|(name, answer)| {
        let answer = serde_json::from_value::<ElicitResult>(answer.clone());
        let answer = answer.map_or(Answered::Missing, |answer| Answered::of(&answer));
        (name.clone(), answer)
    });
    Some(Reply::Answers(answers.collect(), digest))
}

/// The name of the input for a page, in the order of pages.
fn input_name(page: usize) -> String {
    match page {
        0 => INPUT.to_owned(),
        page => format!("{INPUT}-{:02}", page + 1),
    }
}

/// A call of a client.
struct Call<'r> {
    client: Client,
    request: &'r CallToolRequestParams,
}

impl Call<'_> {
    /// Identifies the call, so that consent to one is valid neither for another nor for another client.
    fn identity(&self) -> Vec<u8> {
        let Self { client, request } = self;
        serde_json::to_vec(&(client.0, &request.name, &request.arguments)).unwrap_or_default()
    }
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

#[cfg(test)]
mod tests {
    use super::{
        Answered, Asked, Call, Client, OfClient, Open, Reply, Seals, USED, Way, input_name, reply,
    };
    use gadgetry::approval::Answer;
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
        let asked = Asked {
            questions: vec!["May it run?".to_owned()],
            bound: String::new(),
        };
        let sealed_by = |seals: &Seals| {
            let call = call("Write", None, Value::Null);
            let client = Client::default();
            let request = &call;
            let state = seals.seal(&Call { client, request }, &asked);
            state.unwrap()
        };
        let sealed = || sealed_by(&seals);
        let answered = |answered| {
            let answers = [("approval".to_owned(), answered)].into();
            Reply::Answers(answers, asked.digest())
        };
        let check = |name: &str, state: Option<&str>, answer: Value, expected: Reply| {
            assert_eq!(
                reply(&seals, &call(name, state, answer), Client::default()),
                Some(expected)
            );
        };
        let state = sealed();
        check("Write", Some(&state), yes(), answered(Answered::Approved));
        check("Write", Some(&state), yes(), Reply::Invalid);
        check("Delete", Some(&sealed()), yes(), Reply::Invalid);
        check("Write", None, yes(), Reply::Invalid);
        check("Write", Some("forged"), yes(), Reply::Invalid);
        check(
            "Write",
            Some(&sealed_by(&Seals::new().unwrap())),
            yes(),
            Reply::Invalid,
        );
        check(
            "Write",
            Some(&sealed()),
            json!({ "action": "decline" }),
            answered(Answered::Denied),
        );
        check(
            "Write",
            Some(&sealed()),
            json!({ "action": "accept", "content": { "approve": false } }),
            answered(Answered::Denied),
        );
        for missing in [
            json!("yes"),
            json!({ "action": "accept" }),
            json!({ "action": "accept", "content": { "approve": "yes" } }),
            json!({ "action": "ignore" }),
        ] {
            check(
                "Write",
                Some(&sealed()),
                missing,
                answered(Answered::Missing),
            );
        }
        let cancelled = sealed();
        check(
            "Write",
            Some(&cancelled),
            json!({ "action": "cancel" }),
            answered(Answered::Missing),
        );
        check("Write", Some(&cancelled), yes(), Reply::Invalid);
        assert_eq!(
            reply(
                &seals,
                &CallToolRequestParams::new("Write"),
                Client::default()
            ),
            None
        );
    }

    #[test]
    fn clients_share_no_approvals() {
        let seals = Seals::new().unwrap();
        let [alice, mallory] = [1, 2].map(|key| Client(Some([key; 32])));
        let sealed = |client: Client| {
            let request = &CallToolRequestParams::new("Write");
            let state = seals.seal(&Call { client, request }, &Asked::default());
            state.unwrap()
        };
        let accepted = |state: &str, client: Client| {
            let request = &CallToolRequestParams::new("Write");
            seals.accept(state, &Call { client, request }).is_some()
        };
        let state = sealed(alice);
        assert!(!accepted(&state, mallory), "of another client");
        assert!(!accepted(&state, Client::default()), "of another client");
        assert!(accepted(&state, alice));
        for _ in 0..USED {
            assert!(accepted(&sealed(mallory), mallory));
        }
        assert!(!accepted(&sealed(mallory), mallory), "too many");
        assert!(accepted(&sealed(alice), alice));
        assert!(!accepted(&state, alice), "used before");
    }

    #[test]
    fn all_pages_of_the_same_question_must_be_approved() {
        use Answered::{Approved, Denied, Missing};

        let asked = |pages: usize, bound: &str| Asked {
            questions: (0..pages).map(|page| format!("page {page}")).collect(),
            bound: bound.to_owned(),
        };
        let now = asked(3, "hash");
        let check = |answers: &[Answered], asked: &Asked, is_run: bool, is_repeated: bool| {
            let answers = answers.iter().enumerate();
            let answers = answers.map(|(page, answer)| (input_name(page), *answer));
            let reply = Reply::Answers(answers.collect(), asked.digest());
            let client = OfClient::new(Way::None, Client::default());
            let answer = client.replied(&reply, now.clone());
            assert_eq!(matches!(answer, Answer::Once), is_run, "{reply:?}");
            let open = client.0.open.lock().unwrap();
            let repeated = matches!(&*open, Some(Open::Questions(again)) if *again == now);
            assert_eq!(repeated, is_repeated, "{reply:?}");
        };
        check(&[Approved; 3], &now, true, false);
        check(&[Approved; 2], &now, false, false);
        check(&[Approved, Denied, Approved], &now, false, false);
        check(&[Approved, Approved, Missing], &now, false, false);
        check(&[], &now, false, false);
        // The user has seen something else than what would run now.
        check(&[Approved; 3], &asked(2, "hash"), false, true);
        check(&[Approved; 3], &asked(0, ""), false, true);
        // What was shown is the same, but not all of what it was about.
        check(&[Approved; 3], &asked(3, "another"), false, true);
    }
}
