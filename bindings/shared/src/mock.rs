//! The rules of the mock model.

use gadgetry::{ModelErrorKind, Request, StopReason};
use gadgetry_testing::{Cut, Matcher, MockModel, MockModelBuilder, Reply, Then, call, reply};
use serde_json::{Map, Value};

use crate::Problem;
use crate::fields::Fields;
use crate::options::per_million;

/// Decides whether a rule answers a request.
pub type Predicate = Box<dyn Fn(&Request) -> bool + Send + Sync>;

/// Begins a model of the options `name`, `is_strict`, `price` and `context_window`.
pub fn builder(mut options: Fields) -> Result<MockModelBuilder, Problem> {
    let name: Option<String> = options.take("name")?;
    let mut builder = MockModel::builder()
        .name(name.unwrap_or_else(|| "mock".to_owned()))
        .silent();
    if options.take::<bool>("is_strict")? == Some(false) {
        builder = builder.lenient();
    }
    if let Some(price) = options.take("price")? {
        builder = builder.price(per_million(price));
    }
    if let Some(tokens) = options.take("context_window")? {
        builder = builder.context_window(tokens);
    }
    options.end("a mock model")?;
    Ok(builder)
}

/// Adds a rule: its conditions, and its replies.
pub fn with_rule(
    builder: MockModelBuilder,
    mut rule: Fields,
    predicate: Option<Predicate>,
) -> Result<MockModelBuilder, Problem> {
    let contains: Option<String> = rule.take("contains")?;
    let anywhere: Option<String> = rule.take("anywhere")?;
    let has_result: Option<String> = rule.take("has_result")?;
    let iteration: Option<u32> = rule.take("iteration")?;
    let matching = move |mut matcher: Matcher| {
        if let Some(text) = contains {
            matcher = matcher.last_message_contains(text);
        }
        if let Some(text) = anywhere {
            matcher = matcher.message_contains(text);
        }
        if let Some(id) = has_result {
            matcher = matcher.has_result(id);
        }
        if let Some(number) = iteration {
            matcher = matcher.iteration(number);
        }
        if let Some(predicate) = predicate {
            matcher = matcher.is("the predicate", predicate);
        }
        matcher
    };
    let mut made = builder.when(matching);
    if let Some(times) = rule.take("times")? {
        made = made.times(times);
    }
    if rule.is_set("is_optional")? {
        made = made.optional();
    }
    if let Some(label) = rule.take::<String>("label")? {
        made = made.label(label);
    }
    let replies: Vec<Map<String, Value>> = rule.take("replies")?.unwrap_or_default();
    let replies = replies.into_iter().map(|it| read_reply(Fields::new(it)));
    let replies: Vec<Reply> = replies.collect::<Result<_, _>>()?;
    let then: Option<String> = rule.take("then")?;
    let then = match then.as_deref() {
        Some("cycle") => Then::Cycle,
        Some("repeat") => Then::RepeatLast,
        _ => Then::Refuse,
    };
    rule.end("a rule")?;
    Ok(made.replies_in_order_then(replies, then))
}

fn read_reply(mut from: Fields) -> Result<Reply, Problem> {
    let mut made = reply();
    let parts: Vec<Map<String, Value>> = from.take("parts")?.unwrap_or_default();
    for part in parts {
        let mut part = Fields::new(part);
        if let Some(text) = part.take::<String>("text")? {
            made = made.text(text);
        } else if let Some(text) = part.take::<String>("reasoning")? {
            made = made.reasoning(text);
        } else if let Some(name) = part.take::<String>("call")? {
            let mut one = call(name);
            if let Some(arguments) = part.take::<Value>("arguments")? {
                if !arguments.is_object() {
                    return Err(Problem::wrong_type("the arguments of a call are an object"));
                }
                one = one.args(arguments);
            }
            if let Some(id) = part.take::<String>("id")? {
                one = one.id(id);
            }
            for id in part.take::<Vec<String>>("after")?.unwrap_or_default() {
                one = one.after(id);
            }
            made = made.call(one);
        }
    }
    if let Some((input, output)) = from.take::<(u64, u64)>("tokens")? {
        made = made.tokens(input, output);
    }
    if let Some(size) = from.take::<usize>("chunk")? {
        made = made.chunks(Cut::Every(size));
    }
    if let Some(delay) = from.seconds("delay")? {
        made = made.delay(delay);
    }
    if let Some(delay) = from.seconds("chunk_delay")? {
        made = made.chunk_delay(delay);
    }
    if from.is_set("is_cut_off")? {
        made = made.stop_reason(StopReason::MaxTokens);
    }
    let kind: Option<ModelErrorKind> = from.take("error_kind")?;
    if let Some(error) = from.take::<String>("error")? {
        made = made.fails_as(kind.unwrap_or_default(), error);
    }
    from.end("a reply")?;
    Ok(made)
}
