//! What the replies of a run are held to.

use std::sync::OnceLock;

use crate::grammar::{ConstrainedReply, ModelSize};
use crate::message::{Constraint, Notation, ToolChoice};
use crate::run::config::RunConfig;
use crate::run::ephemeral::RunStatus;
use crate::schema::Registry;

/// Returns the choice of the next request: whether its reply must call a gadget.
///
/// A forced choice ends with the first call of the run: a model that must call a gadget each time could never answer. It can where
/// the answer is a call, too, and there text is a reply for nothing. A large model may still think aloud in its first one. Without a
/// constraint nothing is demanded: providers differ in what else a demanded call switches off.
///
/// ```text
/// answer_gadget FinalAnswer, at most three replies     1 text      2 Search    3
/// large model                                          Auto        Required    FinalAnswer
/// small model                                          Required    Required    FinalAnswer
/// ```
pub(super) fn tool_choice(status: &RunStatus, has_called: bool, config: &RunConfig) -> ToolChoice {
    let choice = &config.tool_choice;
    if *choice == ToolChoice::None || choice.is_forced() && !has_called {
        return choice.clone();
    }
    let Some(answer) = config.constrain.and(config.answer_gadget.as_ref()) else {
        return ToolChoice::Auto;
    };
    if status.iteration >= status.max_iterations {
        ToolChoice::Gadget(answer.clone())
    } else if config.model_size == ModelSize::Small || status.calls_before == Some(0) {
        ToolChoice::Required
    } else {
        ToolChoice::Auto
    }
}

/// The constraints of one plan. They depend on its gadgets and markers, and are the same for all requests with one choice.
#[derive(Debug, Default)]
pub(super) struct Constraints {
    whole: ByChoice,
    without_one: ByChoice,
}

/// The constraints for some gadgets.
#[derive(Debug, Default)]
struct ByChoice {
    auto: OnceLock<Option<Constraint>>,
    required: OnceLock<Option<Constraint>>,
    chosen: OnceLock<Option<Constraint>>,
}

impl Constraints {
    /// What a reply is held to. Nothing, if the run constrains none, or its gadgets have no grammar within the limits: calls are
    /// checked all the same.
    ///
    /// A gadget that has no use yet is left out, `without`: a small model calls what it may.
    pub(super) fn of(
        &self,
        choice: &ToolChoice,
        without: Option<&str>,
        config: &RunConfig,
        registry: &Registry,
    ) -> Option<Constraint> {
        let notation = config.constrain?;
        if !config.tools.reads_blocks() || registry.is_empty() {
            return None;
        }
        let make = || made(notation, choice, without, config, registry);
        let by_choice = match without {
            None => &self.whole,
            Some(_) => &self.without_one,
        };
        if choice.is_auto() {
            by_choice.auto.get_or_init(make).clone()
        } else if *choice == ToolChoice::Required {
            by_choice.required.get_or_init(make).clone()
        } else if *choice == config.tool_choice {
            by_choice.chosen.get_or_init(make).clone()
        } else {
            make()
        }
    }
}

fn made(
    notation: Notation,
    choice: &ToolChoice,
    without: Option<&str>,
    config: &RunConfig,
    registry: &Registry,
) -> Option<Constraint> {
    let tools = registry.iter();
    let tools = tools.filter(|gadget| without != Some(gadget.name()));
    let tools = tools.map(|gadget| (gadget.name(), gadget.shown_parameters()));
    let tools: Vec<_> = tools.collect();
    // A second answer says nothing, and a small model would write it.
    let answers = |name: &str| config.answer_gadget.as_deref() == Some(name);
    let is_answer = match choice {
        ToolChoice::Gadget(name) => answers(name),
        ToolChoice::Required => tools.iter().all(|(name, _)| answers(name)),
        ToolChoice::Auto | ToolChoice::None => false,
    };
    let reply = ConstrainedReply {
        size: config.model_size,
        form: config.form,
        markers: &config.markers,
        choice,
        is_single: is_answer,
        has_ids: true,
        max_tokens: None,
    };
    reply.constraint(tools, notation).ok()
}
