//! The options of agents, models and custom blocks.

use std::sync::Arc;

use gadgetry::approval::{Approvals, Rules};
use gadgetry::proto::message::CustomContentBlock;
use gadgetry::proto::tags::{BlockMode, CustomBlock};
use gadgetry::provider::resolve::Resolver;
use gadgetry::{AgentBuilder, Classified, Delta, Model, OnTextOnlyReply, Price, Retry, Tools};
use serde_json::{Map, Value};

use crate::Problem;
use crate::fields::Fields;
use crate::format::{MarkerTexts, anchoring, form, markers};

/// Applies the options; an absent one leaves the default of the crate.
pub fn agent(mut builder: AgentBuilder, mut options: Fields) -> Result<AgentBuilder, Problem> {
    macro_rules! plain {
        ($($name:ident: $type:ty),* $(,)?) => {
            $(if let Some(value) = options.take::<$type>(stringify!($name))? {
                builder = builder.$name(value);
            })*
        };
    }
    plain! {
        name: String,
        system: String,
        max_iterations: u32,
        budget: f64,
        temperature: f64,
        max_tokens: u64,
        stop: Vec<String>,
        max_concurrent: u32,
        max_gadgets_per_reply: u32,
        max_depth: u32,
        reasoning_tags: Vec<String>,
        examples: usize,
        trailing: String,
    }
    if let Some(timeout) = options.seconds("timeout")? {
        builder = builder.default_timeout(timeout);
    }
    if let Some(grace) = options.seconds("grace")? {
        builder = builder.grace(grace);
    }
    if options.is_set("sequential")? {
        builder = builder.sequential();
    }
    if options.is_set("stop_on_gadget_error")? {
        builder = builder.stop_on_gadget_error();
    }
    if options.take::<bool>("compaction")? == Some(false) {
        builder = builder.without_compaction();
    }
    if let Some(retries) = options.take::<u32>("retries")? {
        builder = if retries == 0 {
            builder.without_retry()
        } else {
            builder.retry(Retry {
                retries,
                ..Retry::default()
            })
        };
    }
    if let Some(tools) = options.take::<String>("tools")? {
        builder = builder.tools(match tools.as_str() {
            "text" => Tools::Text,
            "native" => Tools::Native,
            "both" => Tools::Both,
            other => {
                let admitted = "`text`, `native` or `both`";
                return Err(Problem::choice("tools", other, admitted));
            }
        });
    }
    if let Some(word) = options.take::<String>("form")? {
        builder = builder.form(form(&word)?);
    }
    if let Some(own) = options.take::<MarkerTexts>("markers")? {
        builder = builder.markers(markers(Some(own))?);
    }
    if let Some(word) = options.take::<String>("anchoring")? {
        builder = builder.anchoring(anchoring(&word)?);
    }
    if let Some(reminder) = options.take::<String>("remind")? {
        builder = builder.text_only(OnTextOnlyReply::Remind(reminder));
    }
    builder = approving(builder, &mut options)?;
    options.end("an agent")?;
    Ok(builder)
}

/// Sets which calls need the user. Approvals are always left open: the package answers them, or the holder of their ids.
fn approving(builder: AgentBuilder, options: &mut Fields) -> Result<AgentBuilder, Problem> {
    let mode = options.take::<String>("approvals")?;
    let rules: Vec<String> = options.take("rules")?.unwrap_or_default();
    let unattended = options.take::<String>("unattended")?;
    let Some(mode) = mode else {
        return Ok(builder);
    };
    if mode == "off" {
        return Ok(builder.without_approvals());
    }
    let rules = Rules::parse(rules).map_err(|error| Problem::classified("ConfigError", &error))?;
    let mut approvals = Approvals::new(rules);
    if mode == "ask" {
        approvals = approvals.in_stream();
    }
    if let Some(reason) = unattended {
        approvals = approvals.unattended(reason);
    }
    Ok(builder.approvals(approvals))
}

/// Function that returns the text to put in the place of a block; `None` leaves the block.
pub type Transform = Box<dyn Fn(&CustomContentBlock) -> Option<String> + Send + Sync>;

/// Makes a custom block of its fields `key`, `tag`, `description`, `instructions` and `mode`; `transform` is that of the mode `map`.
pub fn custom_block(
    mut block: Fields,
    transform: Option<Transform>,
) -> Result<CustomBlock, Problem> {
    let mut made = CustomBlock::new(block.need::<String>("key")?);
    if let Some(tag) = block.take::<String>("tag")? {
        made = made.tag(tag);
    }
    if let Some(description) = block.take::<String>("description")? {
        made = made.description(description);
    }
    if let Some(instructions) = block.take::<String>("instructions")? {
        made = made.instructions(instructions);
    }
    let mode: String = block.take("mode")?.unwrap_or_else(|| "keep".to_owned());
    made = match (mode.as_str(), transform) {
        ("keep", _) => made,
        ("suppress", _) => made.suppress(),
        ("reasoning", _) => {
            let (mut config, code) = made.into_parts();
            config.mode = BlockMode::Reasoning;
            CustomBlock::from_parts(config, code)
                .ok_or_else(|| Problem::wrong_type("a block of reasoning maps nothing"))?
        }
        ("map", Some(transform)) => {
            made.map(move |block| transform(block).map(|text| vec![Delta::text(text)]))
        }
        (other, _) => return Err(Problem::wrong_type(format!("mode: {other}"))),
    };
    block.end("a custom block")?;
    Ok(made)
}

/// Finds the model of a name such as `ollama:llama3.2`. The first one reads the certificates of the machine, which takes a while.
pub fn model(name: &str, mut options: Fields) -> Result<Arc<dyn Model>, Problem> {
    let mut resolver = Resolver::from_env();
    if let Some(url) = options.take::<String>("base_url")? {
        resolver = resolver.base_url(url);
    }
    if let Some(key) = options.take::<String>("api_key")? {
        resolver = resolver.api_key(key);
    }
    if let Some(temperature) = options.take::<f64>("temperature")? {
        resolver = resolver.temperature(temperature);
    }
    if let Some(tokens) = options.take::<u64>("max_tokens")? {
        resolver = resolver.max_tokens(tokens);
    }
    if let Some(effort) = options.take::<String>("reasoning_effort")? {
        resolver = resolver.reasoning_effort(effort);
    }
    let extra: Option<Map<String, Value>> = options.take("extra")?;
    for (field, value) in extra.into_iter().flatten() {
        resolver = resolver.option(field, value);
    }
    let price: Option<(f64, f64)> = options.take("price")?;
    let context_window: Option<u64> = options.take("context_window")?;
    if price.is_some() || context_window.is_some() {
        let mut info = resolver
            .describe(name)
            .map_err(|it| config(&it))?
            .unwrap_or_default();
        info.price = price.map(per_million).or(info.price);
        info.context_window = context_window.or(info.context_window);
        resolver = resolver.info(move |_| Some(info.clone()));
    }
    options.end("a model")?;
    resolver.resolve(name).map_err(|error| config(&error))
}

fn config(error: &(impl Classified + std::fmt::Display)) -> Problem {
    Problem::classified("ConfigError", error)
}

/// A price in US dollars for a million tokens of input and of output.
pub fn per_million((input, output): (f64, f64)) -> Price {
    let mut price = Price::default();
    (price.input, price.output) = (input, output);
    price
}
