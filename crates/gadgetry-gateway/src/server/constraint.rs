//! What the replies to a request are held to.

use gadgetry_proto::grammar::{GrammarError, GrammarLimits, GrammarSpec, GrammarTool, multiline};
use gadgetry_proto::message::{Constraint, Notation, ToolChoice};
use serde_json::Value;

use super::reply::Job;
use crate::Refusal;
use crate::exchange::{Constrain, ModelRules, Tool};

/// What a reply is held to; `None` where the rules constrain nothing.
///
/// # Errors
///
/// If the tools have no grammar within the limits, and the configuration of the gateway demands one.
pub(super) fn of(job: &Job, rules: &ModelRules) -> Result<Option<Constraint>, Refusal> {
    let Some(notation) = rules.constraint().notation() else {
        return Ok(None);
    };
    match made(job, rules, notation) {
        Ok(constraint) => Ok(Some(constraint)),
        // Calls are checked all the same.
        Err(_) if job.destination.rules.constrain == Constrain::Auto => Ok(None),
        Err(error) => Err(Refusal::new(
            "tools",
            format!("the model is constrained by a grammar: {error}"),
        )),
    }
}

fn made(job: &Job, rules: &ModelRules, notation: Notation) -> Result<Constraint, GrammarError> {
    let choice = &job.request.choice;
    let is_small = rules.worked_turns() > 0;
    let tools = job
        .tools
        .iter()
        .filter(|(_, tool)| choice.allows(&tool.full_name()));
    let schemas = tools.map(|(name, tool)| (name, schema(job, name, tool)));
    let schemas: Vec<(&str, &Value)> = schemas.collect();
    let lines: Vec<Vec<&str>> = schemas
        .iter()
        .map(|(_, schema)| multiline(schema, is_small))
        .collect();
    let tools: Vec<GrammarTool<'_>> = schemas
        .iter()
        .zip(&lines)
        .map(|((name, schema), lines)| GrammarTool {
            name,
            schema,
            multiline: lines,
        })
        .collect();
    // Those that the choice does not name are left out already, and it has the client's name of the tool.
    let kind = match &choice.kind {
        ToolChoice::Gadget(_) => &ToolChoice::Required,
        kind => kind,
    };
    let limits = if is_small {
        small_limits(job.request.options.max_tokens)
    } else {
        GrammarLimits::default()
    };
    let spec = GrammarSpec {
        tools: &tools,
        form: rules.call_form(),
        markers: &job.secrets.markers,
        choice: kind,
        is_single: !job.request.is_parallel,
        limits: GrammarLimits {
            // Clients match results to calls by ids of their own.
            id: if rules.run_dependencies { limits.id } else { 0 },
            ..limits
        },
    };
    spec.constraint(notation)
}

/// The limits for a small model, whose strings end within the tokens that its reply may have: a token is a character at least, and
/// the rest of a call takes about fifty.
fn small_limits(max_tokens: Option<u64>) -> GrammarLimits {
    let limits = GrammarLimits::small();
    let room = max_tokens.map_or(u64::MAX, |most| most.saturating_sub(50).max(32));
    GrammarLimits {
        string: limits.string.min(u32::try_from(room).unwrap_or(u32::MAX)),
        ..limits
    }
}

/// The schema that calls of a tool are checked by.
fn schema<'a>(job: &'a Job, name: &str, tool: &'a Tool) -> &'a Value {
    let gadget = job.tools.registry().get(name);
    gadget.map_or(&tool.schema, |gadget| gadget.schema().value())
}
