//! The constraints of replies, kept for the next request of a conversation: making a grammar is slow, and tools, markers and
//! choice repeat.

use std::sync::{Mutex, PoisonError};

use gadgetry_proto::grammar::{ConstrainedReply, GrammarError, ModelSize};
use gadgetry_proto::message::{Constraint, Notation, ToolChoice};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::job::Job;
use crate::api::Refusal;
use crate::exchange::{Constrain, ModelRules, PreparedRequest, Tool};
use crate::memory::{Memory, weight};

/// Maximum number of bytes of all constraints.
const BYTES: usize = 32 << 20;

/// Constraints by the hash of their inputs.
#[derive(Debug)]
pub(super) struct Constraints(Mutex<Memory<[u8; 32], Result<Constraint, GrammarError>>>);

impl Default for Constraints {
    fn default() -> Self {
        Self(Mutex::new(Memory::new(BYTES)))
    }
}

impl Constraints {
    /// Returns the constraint of the reply to a request; `None` if the rules have no constraint.
    ///
    /// # Errors
    ///
    /// If the tools have no grammar within the limits, and the configuration of the gateway demands one.
    pub(super) fn of(
        &self,
        job: &Job,
        rules: &ModelRules,
        size: ModelSize,
    ) -> Result<Option<Constraint>, Refusal> {
        let Some(notation) = rules.constraint().notation() else {
            return Ok(None);
        };
        match self.kept(job, rules, size, notation) {
            Ok(constraint) => Ok(Some(constraint)),
            // Calls are checked all the same.
            Err(_) if job.destination.rules.constrain == Constrain::Auto => Ok(None),
            Err(error) => Err(Refusal::new(
                "tools",
                format!("the model is constrained by a grammar: {error}"),
            )),
        }
    }

    fn kept(
        &self,
        job: &Job,
        rules: &ModelRules,
        size: ModelSize,
        notation: Notation,
    ) -> Result<Constraint, GrammarError> {
        let request = &*job.request;
        let client = &request.client;
        // Tools that the choice does not name are left out, and it has the client's name of the tool.
        let choice = match &client.choice.kind {
            ToolChoice::Gadget(_) => &ToolChoice::Required,
            kind => kind,
        };
        let reply = ConstrainedReply {
            size,
            form: rules.call_form(),
            markers: &request.secrets.markers,
            choice,
            is_single: !client.is_parallel,
            // Clients match results to calls by ids of their own.
            has_ids: rules.run_dependencies,
            max_tokens: client.options.max_tokens,
        };
        let key = Sha256::new()
            .chain_update(job.fingerprint)
            .chain_update(format!("{notation:?} {reply:?} {:?}", client.choice))
            .finalize()
            .into();
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(job.owner, key) {
            return known.clone();
        }
        let tools = request.tools.iter();
        let tools = tools.filter(|(_, tool)| client.choice.allows(&tool.full_name()));
        let tools = tools.map(|(name, tool)| (name, schema(request, name, tool)));
        let made = reply.constraint(tools, notation);
        lock().keep(job.owner, key, made.clone(), bytes(&made));
        made
    }
}

/// Returns the schema that calls of a tool are checked against.
fn schema<'a>(request: &'a PreparedRequest, name: &str, tool: &'a Tool) -> &'a Value {
    let gadget = request.tools.registry().get(name);
    gadget.map_or(&tool.schema, |gadget| gadget.schema().value())
}

fn bytes(made: &Result<Constraint, GrammarError>) -> usize {
    match made {
        Ok(Constraint::Gbnf(text)) => text.len(),
        Ok(Constraint::StructuralTag(tag)) => weight(tag),
        // A name of a tool at most.
        Ok(_) | Err(_) => 1_024,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gadgetry_proto::message::ToolChoice;
    use serde_json::json;

    use super::*;
    use crate::api::ClientApi;
    use crate::exchange::{ClientRequest, Secrets, Toolset};
    use crate::memory::Owner;
    use crate::server::fingerprint;
    use crate::settings::Destination;

    fn rules() -> ModelRules {
        ModelRules {
            constrain: Constrain::LlamaCpp,
            ..ModelRules::default()
        }
    }

    /// A request with a tool of this name, after a change.
    fn job(owner: &str, tool: &str, change: impl FnOnce(&mut ClientRequest)) -> Job {
        let mut client = ClientRequest {
            tools: vec![Tool::function(tool, "", json!({"type": "object"}))],
            is_parallel: true,
            ..ClientRequest::default()
        };
        change(&mut client);
        Job {
            api: ClientApi::Chat,
            owner: Owner::of("key", owner.as_bytes()),
            fingerprint: fingerprint(&client.tools),
            destination: Destination {
                upstreams: Vec::new(),
                model: String::new(),
                rules: Arc::new(rules()),
            },
            request: Arc::new(PreparedRequest {
                tools: Arc::new(Toolset::new(client.tools.clone()).expect("valid schemas")),
                client: Arc::new(client),
                secrets: Secrets::new(rules().markers, 1),
                id_prefix: "call_",
                owner: None,
                held: Arc::default(),
                reply_bytes: 0,
            }),
            id: String::new(),
            client: String::new(),
            trace: None,
            watched: crate::trace::Watched::default(),
        }
    }

    #[test]
    fn a_grammar_is_made_once_for_an_owner() {
        let constraints = Constraints::default();
        let made = |job: &Job, size| match constraints.of(job, &rules(), size) {
            Ok(Some(Constraint::Gbnf(text))) => text,
            other => panic!("{other:?}"),
        };
        let first = made(&job("a", "T", |_| ()), ModelSize::Large);
        let check = |job: &Job, size, is_kept: bool| {
            let again = made(job, size);
            assert_eq!(Arc::ptr_eq(&first, &again), is_kept, "{job:?} {size:?}");
        };
        let large = ModelSize::Large;
        check(&job("a", "T", |_| ()), large, true);
        check(&job("a", "T", |it| it.messages.clear()), large, true);
        check(&job("b", "T", |_| ()), large, false);
        check(&job("a", "U", |_| ()), large, false);
        check(&job("a", "T", |_| ()), ModelSize::Small, false);
        check(&job("a", "T", |it| it.is_parallel = false), large, false);
        let required = |it: &mut ClientRequest| it.choice = ToolChoice::Required.into();
        check(&job("a", "T", required), large, false);
        let limited = |it: &mut ClientRequest| it.options.max_tokens = Some(9);
        check(&job("a", "T", limited), large, false);
        check(&job("a", "T", |_| ()), large, true);
    }

    /// An attempt that fails takes as long as one that succeeds.
    #[test]
    fn errors_are_kept_as_well() {
        let constraints = Constraints::default();
        let impossible = |it: &mut ClientRequest| {
            let schema =
                json!({"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]});
            it.tools[0].schema = schema;
            it.choice = ToolChoice::Required.into();
        };
        let job = job("a", "T", impossible);
        for _ in 0..2 {
            let refused = constraints.of(&job, &rules(), ModelSize::Large);
            assert_eq!(
                refused.err().and_then(|it| it.field).as_deref(),
                Some("tools")
            );
        }
        let kept = constraints.0.lock().expect("no panic within").len();
        assert_eq!(kept, 1);
    }
}
