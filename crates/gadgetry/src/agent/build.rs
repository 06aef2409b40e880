//! Builds an agent from its options, and reports every mistake in them.

use std::sync::Arc;

use gadgetry_proto::run::{Code, OnTextOnlyReply, Plan, Retry, RunConfig};
use gadgetry_proto::schema::RegisteredGadget;

use crate::agent::builder::{AgentBuilder, Limits, Setting};
use crate::agent::inner::{Inner, model_for};
use crate::agent::left_to_model::{LeftToModel, percentage};
use crate::agent::{Agent, AgentError};
use crate::driver::SubagentParent;
use crate::limiter::RateLimiter;
use crate::services::Services;
use crate::toolbox::Toolbox;
use gadgetry_providers::model::Model;
use gadgetry_providers::model::Models;

impl Agent {
    pub(super) fn new(builder: AgentBuilder) -> Result<Self, AgentError> {
        let parent = parent(&builder)?;
        let inherited = parent.as_ref().map(|parent| &parent.services);
        let mut services = services(&builder, inherited)?;
        let left_to_model = left_to_model(&builder);
        let plan = plan(&builder, &services, &left_to_model)?;
        let model = Arc::clone(&services.model);
        services.model = model_for(&model, &plan)?;
        let mut opening = builder.history;
        for call in &builder.synthetic {
            opening.extend(call.messages(plan.config(), services.toolbox.registry())?);
        }
        Ok(Self {
            inner: Arc::new(Inner {
                plan: Arc::new(plan),
                services,
                model,
                left_to_model,
                opening,
                outputs: builder.outputs,
                name: builder.name,
                is_single_call: builder.is_single_call,
                cancellation: builder.cancellation,
                parent,
            }),
        })
    }
}

/// Returns the services of every run of the agent, except for the scope.
fn services(builder: &AgentBuilder, parent: Option<&Services>) -> Result<Services, AgentError> {
    let model = builder.model.clone();
    let model = model.or_else(|| Some(Arc::clone(&parent?.model)));
    let mut services = Services::new(model.ok_or(AgentError::NoModel)?, toolbox(builder)?);
    services.models = match parent {
        Some(parent) if builder.models.is_empty() => parent.models.clone(),
        _ => models(builder)?,
    };
    services.human = match parent {
        Some(parent) if builder.human.is_none() => parent.human.clone(),
        _ => builder.human.clone(),
    };
    if let Some(grace) = builder.grace.or(parent.map(|parent| parent.grace)) {
        services.grace = grace;
    }
    services.limiter = match &builder.limits {
        Setting::Default => parent.and_then(|parent| parent.limiter.clone()),
        Setting::Off => None,
        Setting::On(Limits::Own(limits)) => Some(Arc::new(RateLimiter::new(*limits)?)),
        Setting::On(Limits::Shared(limiter)) => Some(Arc::new(limiter.clone())),
    };
    services.retry = match &builder.retry {
        Setting::Default => parent.map_or_else(|| Some(Retry::default()), |it| it.retry.clone()),
        Setting::Off => None,
        Setting::On(retry) => Some(retry.clone()),
    };
    (services.approvals, services.without_approvals) = match (&builder.approvals, parent) {
        (Setting::On(approvals), _) => (Some(approvals.clone()), false),
        (Setting::Off, _) => (None, true),
        (Setting::Default, Some(parent)) => (parent.approvals.clone(), parent.without_approvals),
        (Setting::Default, None) => (None, false),
    };
    need_approvals(&services)?;
    if let Setting::On(approvals) = &builder.approvals
        && approvals.checks_names()
    {
        let known = services.toolbox.registry().iter();
        let known: Vec<&str> = known.map(RegisteredGadget::name).collect();
        if let Some((rule, near)) = approvals.rules().misspelt(&known) {
            return Err(AgentError::RuleWithoutGadget {
                rule: rule.to_string(),
                near: near.to_owned(),
            });
        }
    }
    for hook in &builder.hooks {
        services.hooks.push(Arc::clone(hook));
    }
    services.hook_up();
    services.values = match parent {
        Some(parent) => builder.values.clone().within(&parent.values),
        None => builder.values.clone(),
    };
    let scope = &mut services.scope;
    if let Some(parent) = parent {
        scope.clone_from(&parent.scope);
        scope.depth += 1;
    }
    if let Some(depth) = builder.max_depth {
        let deepest = scope.depth.saturating_add(depth);
        scope.max_depth = match parent {
            Some(parent) => parent.scope.max_depth.min(deepest),
            None => deepest,
        };
    }
    Ok(services)
}

/// Checks that an agent whose gadgets need approval has approvals, or that its author has opted out.
fn need_approvals(services: &Services) -> Result<(), AgentError> {
    let gadgets = services.toolbox.registry().iter();
    let gadgets = gadgets.filter_map(|gadget| services.toolbox.get(gadget.name()));
    let unapproved = gadgets.filter(|gadget| services.denial(&***gadget).is_some());
    let names: Vec<_> = unapproved
        .map(|gadget| gadget.spec().name.clone())
        .collect();
    if names.is_empty() {
        Ok(())
    } else {
        Err(AgentError::NoApprovals { gadgets: names })
    }
}

/// The call whose subagents the runs are, if there is one.
fn parent(builder: &AgentBuilder) -> Result<Option<SubagentParent>, AgentError> {
    let Some(context) = &builder.parent else {
        return Ok(None);
    };
    let services = context.services().ok_or(AgentError::NoParent)?;
    let (depth, max_depth) = (services.scope.depth + 1, services.scope.max_depth);
    if depth > max_depth {
        return Err(AgentError::TooDeep { depth, max_depth });
    }
    let parent = context.subagent_parent();
    parent.map(Some).map_err(|_| AgentError::NoParent)
}

/// Returns the options that the author of the agent has set; the rest follows from the model.
fn left_to_model(builder: &AgentBuilder) -> LeftToModel {
    let config = &builder.config;
    LeftToModel {
        context_window: config.context_window,
        price: config.price.clone(),
        form: builder.form,
        dialects: config.dialects.clone(),
        examples: builder.examples,
        is_constrained: builder.is_constrained,
        constrain: config.constrain,
        anchoring: config.anchoring,
        output_limit: builder.output_limit,
    }
}

/// Returns the plan of every run of the agent.
fn plan(
    builder: &AgentBuilder,
    services: &Services,
    left_to_model: &LeftToModel,
) -> Result<Plan, AgentError> {
    let mut config = builder.config.clone();
    if config.max_iterations == 0 {
        return Err(AgentError::NoIterations);
    }
    if config.text_only == OnTextOnlyReply::WaitForInput && services.human.is_none() {
        return Err(AgentError::NobodyToAsk);
    }
    budget(config.budget, services)?;
    if let Some(compaction) = &config.compaction {
        percentage("`trigger_percent`", compaction.trigger_percent)?;
        percentage("`target_percent`", compaction.target_percent)?;
    }
    left_to_model.set(&mut config, &services.model.info())?;
    let mut code = builder.code.clone();
    add_those_of_the_model(&*services.model, &mut config, &mut code)?;
    config.asks = services.asks();
    config.retry.clone_from(&services.retry);
    let registry = Arc::clone(services.toolbox.registry());
    Ok(Plan::new(config, registry, code)?)
}

/// Adds the custom blocks and the transforms of the model. They come first, because they are closer to the model.
fn add_those_of_the_model(
    model: &dyn Model,
    config: &mut RunConfig,
    code: &mut Code,
) -> Result<(), AgentError> {
    let mut blocks = Vec::new();
    for block in model.custom_blocks() {
        let (block, of_block) = block.into_parts();
        let own = config.custom_blocks.iter();
        let mut same = own.filter(|own| own.xml_tag() == block.xml_tag() || own.key == block.key);
        if let Some(own) = same.next() {
            let name = |key: &str, tag: &str| format!("{key} (<{tag}>)");
            return Err(AgentError::CustomBlockOfModel {
                block: name(&own.key, own.xml_tag()),
                model: model.name().to_owned(),
                other: name(&block.key, block.xml_tag()),
            });
        }
        if !of_block.is_empty() {
            code.blocks.insert(block.xml_tag().to_owned(), of_block);
        }
        blocks.push(block);
    }
    blocks.append(&mut config.custom_blocks);
    config.custom_blocks = blocks;
    let mut transforms = model.transforms();
    transforms.append(&mut code.transforms);
    code.transforms = transforms;
    Ok(())
}

fn toolbox(builder: &AgentBuilder) -> Result<Toolbox, AgentError> {
    let mut toolbox = Toolbox::default();
    for gadget in &builder.gadgets {
        toolbox.add(Arc::clone(gadget))?;
    }
    Ok(toolbox)
}

fn models(builder: &AgentBuilder) -> Result<Models, AgentError> {
    let mut models = builder.models.clone();
    models.sort_by(|(one, _), (other, _)| one.cmp(other));
    if let Some(pair) = models.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(AgentError::DuplicateModel(pair[0].0.clone()));
    }
    Ok(models.into_iter().collect())
}

/// Checks that a budget is an amount, and that everything that spends it has a price.
fn budget(own: Option<f64>, services: &Services) -> Result<(), AgentError> {
    if let Some(dollars) = own.filter(|dollars| !dollars.is_finite() || *dollars <= 0.0) {
        return Err(AgentError::Budget(dollars));
    }
    if own.or(services.scope.budget).is_none() {
        return Ok(());
    }
    let named = services.models.iter().map(|(_, model)| model);
    for model in named.chain([&services.model]) {
        let info = model.info();
        let charges = info.price.is_some_and(|price| price.charges());
        if !charges && !info.is_local && !info.reports_cost {
            let model = model.name().to_owned();
            return Err(AgentError::NoPrice { model });
        }
    }
    Ok(())
}
