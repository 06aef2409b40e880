//! Every mistake of a configuration is found before any model is asked, and says what to do.

use std::time::Duration;

use gadgetry::proto::convo::compaction::Compaction;
use gadgetry::proto::run::OnTextOnlyReply;
use gadgetry::proto::tags::CustomBlock;
use gadgetry::proto::usage::Price;
use gadgetry::{
    Agent, AgentBuilder, CancellationToken, ExecutionContext, Invocation, ModelInfo, RateLimits,
    ToolChoice,
};
use serde_json::json;

use super::support::{Mock, echo, gadget, price};

fn refused(options: impl FnOnce(AgentBuilder) -> AgentBuilder) -> String {
    let model = Mock::new(["."]);
    let builder = options(Agent::builder().model(model.clone()).gadget(echo()));
    let error = builder.ask("?").unwrap_err();
    assert!(model.asked().is_empty());
    error.to_string()
}

#[test]
fn all_of_them() {
    let check = |options: fn(AgentBuilder) -> AgentBuilder, words: &str| {
        assert_eq!(refused(options), words);
    };
    check(
        |it| it.gadget(echo()),
        "Gadget 'Echo' is already registered",
    );
    check(
        |it| {
            it.named_model("a", Mock::new(["."]))
                .named_model("a", Mock::new(["."]))
        },
        "two models are named \"a\"; names must be unique",
    );
    check(
        |it| it.max_iterations(0),
        "`.max_iterations(0)` allows no reply; allow at least 1",
    );
    check(
        |it| it.output_limit_percent(0.0),
        "`.output_limit_percent(…)` must be above 0 and at most 100 percent, got 0",
    );
    check(
        |it| {
            it.compaction(Compaction {
                target_percent: f64::NAN,
                ..Compaction::default()
            })
        },
        "`target_percent` must be above 0 and at most 100 percent, got NaN",
    );
    check(
        |it| {
            it.rate_limits(RateLimits {
                requests_per_minute: Some(0),
                ..RateLimits::default()
            })
        },
        "requests_per_minute is 0, which would block every request; omit it for no limit",
    );
    check(
        |it| it.tool_choice(ToolChoice::Gadget("Ecko".to_owned())),
        "the tool choice names the gadget \"Ecko\", which the run does not have; add the gadget, or name another one",
    );
    check(
        |it| it.text_only(OnTextOnlyReply::WaitForInput),
        "`OnTextOnlyReply::WaitForInput` needs human input; add `.on_human_input(…)`",
    );
    check(
        |it| it.synthetic_call("Ecko", json!({}), "", "s"),
        "the synthetic call \"s\": Error: Gadget 'Ecko' not found. Did you mean 'Echo'?\n\nAvailable gadgets: Echo",
    );
    assert!(
        refused(|it| it.synthetic_call("Echo", json!([]), "", "s"))
            .starts_with("the synthetic call \"s\" cannot be written: ")
    );
    assert!(refused(|it| it.synthetic_call("Echo", json!({}), "", "a:b")).contains("a:b"));
    assert!(refused(|it| it.custom_block(CustomBlock::new("no tag"))).contains("no tag"));
    let viewer = || {
        gadget("GadgetOutputViewer", |_| async {
            gadgetry::proto::call::Outcome::ok("")
        })
    };
    assert!(refused(|it| it.gadget(viewer())).contains("GadgetOutputViewer"));
    let builder = Agent::builder().model(Mock::new(["."])).gadget(viewer());
    builder.without_output_limit().build().unwrap();
    assert_eq!(
        Agent::builder().build().unwrap_err().to_string(),
        "the agent has no model; add one with `.model(…)`"
    );
}

#[test]
fn budgets() {
    let check = |info: ModelInfo, dollars: f64, words: &str| {
        let builder = Agent::builder()
            .model(Mock::new(["."]).info(info))
            .budget(dollars);
        let error = builder.build().err().map(|error| error.to_string());
        assert_eq!(error.unwrap_or_default(), words);
    };
    let priced = |price: Option<Price>| ModelInfo::default().price(price);
    let unknown = "the price of the model \"mock\" is not known, so a budget cannot be enforced; give the model a price in \
                   its `ModelInfo`, or omit `.budget(…)`";
    check(priced(Some(price())), 0.5, "");
    check(priced(None), 0.5, unknown);
    check(priced(Some(Price::default())), 0.5, unknown);
    let local = priced(Some(Price::default())).is_local(true);
    check(local, 0.5, "");
    for (dollars, words) in [(0.0, "0"), (-1.0, "-1"), (f64::INFINITY, "inf")] {
        let words = format!("a budget must be a finite amount of US dollars above 0, got {words}");
        check(priced(Some(price())), dollars, &words);
    }
    // What gadgets may ask has to have a price, too.
    let named = Mock::new(["."]).named("free").info(ModelInfo::default());
    let words = refused(|it| it.budget(1.0).named_model("free", named));
    assert_eq!(words, unknown.replace("mock", "free"));
}

#[test]
fn a_context_without_a_run_has_no_subagents() {
    let invocation = Invocation {
        gadget_name: "Test".to_owned(),
        invocation_id: "t".into(),
        parameters: json!({}),
        dependencies: std::collections::BTreeMap::new(),
    };
    let context = ExecutionContext::new(&invocation, CancellationToken::new());
    let builder = Agent::builder().model(Mock::new(["."]));
    let error = context.spawn_agent(builder).unwrap_err().to_string();
    assert_eq!(
        error,
        "this context has no run, so no subagent can be started from it; in a test, build the agent without \
         `.parent(…)`"
    );
}

/// What is given too much is cut, not refused.
#[tokio::test]
async fn endless_timeouts() {
    let builder = Agent::builder()
        .model(Mock::new(["."]))
        .default_timeout(Duration::MAX);
    builder.ask("?").unwrap().text().await.unwrap();
}
