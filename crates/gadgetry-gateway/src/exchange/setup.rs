//! The input of an exchange.

use std::sync::Arc;

use gadgetry_proto::message::{Constraint, ToolChoice};
use gadgetry_proto::schema::coerce_json;
use serde_json::Value;

use super::held::{HeldCall, HeldCalls, ready};
use super::request::{ClientRequest, Input, Tool};
use super::rules::{ModelRules, Secrets};
use super::toolset::Toolset;
use crate::memory::Owner;

/// A client's request with everything that any upstream needs for it.
#[derive(Clone, Debug)]
pub struct PreparedRequest {
    /// The request as the client sent it.
    pub client: Arc<ClientRequest>,
    /// The tools of the request.
    pub tools: Arc<Toolset>,
    /// The secrets of the prompt.
    pub secrets: Secrets,
    /// Prefix of the ids of calls, such as `call_`.
    pub id_prefix: &'static str,
    /// Owner of the data that is kept until the next request; `None` if none may be kept.
    pub owner: Option<Owner>,
    /// Calls that wait for others, of all exchanges.
    pub held: Arc<HeldCalls>,
    /// Maximum number of bytes that the upstream may write, in all turns together.
    pub reply_bytes: usize,
}

impl PreparedRequest {
    /// Checks parameters against the schema of a tool. The case of the tool's name does not matter.
    pub(super) fn check(&self, block_name: &str, input: Value) -> Result<Value, String> {
        let registry = self.tools.registry();
        match registry.get(block_name) {
            Some(gadget) => gadget.check(input),
            None => Err(registry.unknown_gadget(block_name)),
        }
    }

    /// Returns the tool of a block, if the client admits a call of it now.
    pub(super) fn callable(&self, block_name: &str) -> Result<&Tool, String> {
        let tools = &self.tools;
        let tool = tools
            .tool(block_name)
            .ok_or_else(|| tools.registry().unknown_gadget(block_name))?;
        let choice = &self.client.choice;
        if choice.allows(&tool.full_name()) {
            Ok(tool)
        } else {
            Err(format!("this tool cannot be called now: call {choice}"))
        }
    }
}

/// The input of an [`Exchange`](super::Exchange): a request, and the treatment of the model that replies.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The request.
    pub request: Arc<PreparedRequest>,
    /// Id of the exchange, which no one can guess. The ids of its calls contain it.
    pub id: u128,
    /// The treatment of the model.
    pub rules: Arc<ModelRules>,
    /// `true` if calls use the upstream's own tool interface instead of blocks.
    pub is_native: bool,
    /// The constraint on each reply of the upstream.
    pub constraint: Option<Constraint>,
}

/// A call whose dependencies have results.
pub(super) struct ReadyCall {
    /// The model's id.
    pub(super) id: String,
    /// The name in blocks.
    pub(super) name: String,
    pub(super) input: Input,
}

impl Setup {
    pub(super) fn client(&self) -> &ClientRequest {
        &self.request.client
    }

    pub(super) fn tools(&self) -> &Toolset {
        &self.request.tools
    }

    pub(super) fn secrets(&self) -> &Secrets {
        &self.request.secrets
    }

    /// Returns `true` if calls are blocks, or other forms in the text of a reply.
    pub(super) fn reads_blocks(&self) -> bool {
        self.client().may_call() && !self.is_native
    }

    /// Returns `true` if the client demands a call.
    pub(super) fn is_forced(&self) -> bool {
        self.client().choice.kind.is_forced()
    }

    /// Returns the calls of an earlier exchange of this owner that wait for others.
    pub(super) fn held_calls(&self, exchange: u128) -> Vec<HeldCall> {
        let owner = self.request.owner;
        owner.map_or_else(Vec::new, |owner| self.request.held.of(owner, exchange))
    }

    /// Returns the calls that have waited for results of this request, with their exchange; `None` if no call is ready.
    pub(super) fn ready_calls(&self) -> Option<(u128, Vec<ReadyCall>)> {
        let (exchange, waiting) = ready(&self.client().messages, |id| self.held_calls(id))?;
        let checked = waiting.into_iter().filter_map(|(call, input)| {
            let gadget = self.tools().registered(&call.name)?;
            let input = coerce_json(input, Some(gadget.schema()));
            Some(ReadyCall {
                id: call.id,
                name: gadget.name().to_owned(),
                input: (gadget.check(input).ok()?, call.digits),
            })
        });
        let calls: Vec<ReadyCall> = checked.collect();
        (!calls.is_empty()).then_some((exchange, calls))
    }

    /// Returns the choice of tools for an upstream with its own tool interface, by its names of the tools.
    pub(super) fn native_choice(&self) -> ToolChoice {
        match &self.client().choice.kind {
            ToolChoice::Gadget(name) => {
                let name = self.tools().block_name(name).unwrap_or(name);
                ToolChoice::Gadget(name.to_owned())
            }
            other => other.clone(),
        }
    }
}
