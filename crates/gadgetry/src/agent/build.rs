//! From options to an agent: every mistake is found here.

use std::sync::Arc;

use gadgetry_proto::convo::char_limit;
use gadgetry_proto::message::Message;
use gadgetry_proto::run::{Retry, Run, RunSpec, TextOnly};

use crate::agent::builder::{AgentBuilder, Limits, Setting};
use crate::agent::{Agent, AgentError, Inner};
use crate::context::CancellationToken;
use crate::control::Controllers;
use crate::family::Family;
use crate::limiter::RateLimiter;
use crate::model::Model;
use crate::services::{Limiter, Models, Services};
use crate::toolbox::Toolbox;

/// Tokens of a context window that is not known.
const USUAL_WINDOW: u64 = 128_000;

/// Where the runs of an agent stand among others.
pub(super) struct Place {
    cancellation: Option<CancellationToken>,
    budget: Option<f64>,
    max_depth: u32,
}

impl Agent {
    pub(super) fn new(builder: AgentBuilder) -> Result<Self, AgentError> {
        let model = builder.model.clone().ok_or(AgentError::NoModel)?;
        let info = model.info();
        let mut services = Services::new(Arc::clone(&model), toolbox(&builder)?);
        services.models = models(&builder)?;
        services.human.clone_from(&builder.human);
        services.limiter =
            limiter(&builder.limits)?.map(|limiter| -> Arc<dyn Limiter> { Arc::new(limiter) });
        if !builder.controllers.is_empty() {
            let mut controllers = Controllers::default();
            for controller in &builder.controllers {
                controllers.push(Arc::clone(controller));
            }
            services.controller = Some(Arc::new(controllers));
        }

        let mut spec = builder.spec;
        spec.registry = Arc::new(services.toolbox.registry().clone());
        spec.price = info.price;
        spec.asks = services.asks();
        spec.retry = match builder.retry {
            Setting::Default => Some(Retry::default()),
            Setting::Off => None,
            Setting::On(retry) => Some(retry),
        };
        spec.output_limit = match builder.output_limit {
            None => None,
            Some(percent) => {
                let percent = percentage("the output limit", percent)?;
                let window = info.context_window.unwrap_or(USUAL_WINDOW);
                Some(char_limit(window, percent))
            }
        };
        if let Some(compaction) = &builder.compaction {
            percentage(
                "`trigger_percent` of the compaction",
                compaction.trigger_percent,
            )?;
            percentage(
                "`target_percent` of the compaction",
                compaction.target_percent,
            )?;
        }
        check(&spec, &services)?;
        if let Some(dollars) = spec.budget {
            budget(dollars, model.as_ref())?;
        }

        let mut opening = builder.history;
        for call in &builder.synthetic {
            opening.extend(call.messages(&spec)?);
        }
        Run::new(spec.clone(), Vec::new())?;
        let place = Place {
            cancellation: builder.cancellation,
            budget: spec.budget,
            max_depth: builder.max_depth.unwrap_or(Family::default().max_depth),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                spec,
                services,
                opening,
                observers: builder.observers,
                place,
            }),
        })
    }
}

impl Inner {
    /// The services of one run, and what cancels it.
    pub(super) fn services(&self) -> (Services, CancellationToken) {
        let mut services = self.services.clone();
        let cancellation = match &self.place.cancellation {
            Some(token) => token.child_token(),
            None => CancellationToken::new(),
        };
        services.family = Family {
            max_depth: self.place.max_depth,
            cancellation: cancellation.clone(),
            budget: self.place.budget,
            ..Family::default()
        };
        (services, cancellation)
    }

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

fn limiter(limits: &Setting<Limits>) -> Result<Option<RateLimiter>, AgentError> {
    Ok(match limits {
        Setting::Default | Setting::Off => None,
        Setting::On(Limits::Own(limits)) => Some(RateLimiter::new(*limits)?),
        Setting::On(Limits::Shared(limiter)) => Some(limiter.clone()),
    })
}

fn check(spec: &RunSpec, services: &Services) -> Result<(), AgentError> {
    if spec.max_iterations == 0 {
        return Err(AgentError::NoIterations);
    }
    if spec.text_only == TextOnly::WaitForInput && services.human.is_none() {
        return Err(AgentError::NobodyToAsk);
    }
    Ok(())
}

fn budget(dollars: f64, model: &dyn Model) -> Result<(), AgentError> {
    if !dollars.is_finite() || dollars <= 0.0 {
        return Err(AgentError::Budget(dollars));
    }
    let info = model.info();
    let charges = info
        .price
        .is_some_and(|price| price.input > 0.0 || price.output > 0.0);
    if charges || info.is_local {
        return Ok(());
    }
    Err(AgentError::NoPrice {
        model: model.name().to_owned(),
    })
}

fn percentage(option: &'static str, percent: f64) -> Result<f64, AgentError> {
    if percent > 0.0 && percent <= 100.0 {
        Ok(percent)
    } else {
        Err(AgentError::Percent { option, percent })
    }
}
