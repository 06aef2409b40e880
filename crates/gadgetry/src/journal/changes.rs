//! Comparison of an agent with the one that began a run.

use gadgetry_proto::run::{Asks, RunConfig};

use crate::log::LogHeader;

/// Returns the differences between the agent that began a run and the one that is to resume it, as text. Only what the model has
/// seen is compared: gadgets, markers, prompts and the conversation before the run.
///
/// Random markers belong to the run, not to the agent, so they do not count; nor do limits, budgets and retries, which the
/// resuming agent sets.
pub fn changes(began: &LogHeader, now: &LogHeader) -> Vec<String> {
    let mut changes = Vec::new();
    gadgets(began, now, &mut changes);
    config(&began.config, &now.config, &mut changes);
    if began.code != now.code {
        changes.push("its transforms, interceptors or other code".to_owned());
    }
    if began.conversation != now.conversation {
        changes.push("the conversation and the question before the run".to_owned());
    }
    changes
}

fn gadgets(began: &LogHeader, now: &LogHeader, changes: &mut Vec<String>) {
    for gadget in &began.gadgets {
        let name = &gadget.name;
        match now.gadgets.iter().find(|other| other.name == *name) {
            None => changes.push(format!("the gadget {name} is missing")),
            Some(other) if other.parameters != gadget.parameters => {
                changes.push(format!("the schema of the gadget {name}"));
            }
            Some(other) if other != gadget => {
                changes.push(format!("the description or policy of the gadget {name}"));
            }
            Some(_) => {}
        }
    }
    for gadget in &now.gadgets {
        if !began.gadgets.iter().any(|other| other.name == gadget.name) {
            changes.push(format!("the gadget {} is new", gadget.name));
        }
    }
}

fn config(began: &RunConfig, now: &RunConfig, changes: &mut Vec<String>) {
    let are_random = began.markers.is_nonce() && now.markers.is_nonce();
    let parts = [
        ("the system prompt", began.system != now.system),
        ("the prompt template", began.prompt != now.prompt),
        (
            "the form of calls",
            began.tools != now.tools || began.form != now.form || began.dialects != now.dialects,
        ),
        ("the markers", began.markers != now.markers && !are_random),
        ("where markers count", began.anchoring != now.anchoring),
        (
            "the custom blocks",
            began.custom_blocks != now.custom_blocks,
        ),
        (
            "the reasoning tags",
            began.reasoning_tags != now.reasoning_tags
                || began.reasoning_open != now.reasoning_open,
        ),
        (
            "the messages that follow a request",
            began.trailing != now.trailing,
        ),
        (
            "the decisions that its hooks make: a run asks what it asked when it began",
            asks_more(began.asks, now.asks),
        ),
        // It brings a gadget of its own.
        (
            "whether there is an output limit",
            began.output_limit.is_some() != now.output_limit.is_some(),
        ),
    ];
    let changed = parts.into_iter().filter(|(_, differs)| *differs);
    changes.extend(changed.map(|(part, _)| part.to_owned()));
}

/// Returns whether there is a question that only `now` asks. The user is always asked.
fn asks_more(began: Asks, now: Asks) -> bool {
    let pairs = [
        (began.before_model_call, now.before_model_call),
        (began.before_compaction, now.before_compaction),
        (began.after_model_call, now.after_model_call),
        (began.model_error, now.model_error),
        (began.before_gadget, now.before_gadget),
        (began.after_gadget, now.after_gadget),
        (began.dependency_skipped, now.dependency_skipped),
    ];
    pairs.iter().any(|(began, now)| *now && !*began)
}
