//! Plans: configurations are data that can be stored, and mistakes are found once.

use std::sync::Arc;

use gadgetry_proto::block::Markers;
use gadgetry_proto::convo::compaction::Compaction;
use gadgetry_proto::dialect::Dialect;
use gadgetry_proto::event::{Event, EventKind, RunInfo};
use gadgetry_proto::grammar::ModelSize;
use gadgetry_proto::message::ToolChoice;
use gadgetry_proto::run::{
    Code, Command, EphemeralMessage, HintTiming, Input, OnTextOnlyReply, Output, Plan, PlanError,
    Retry, Run, RunConfig, RunOptions, Tools, UnmetDependencyPolicy,
};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use gadgetry_proto::tags::{BlockCode, BlockConfig, BlockMode};
use gadgetry_proto::time::Time;
use gadgetry_proto::usage::Price;
use serde_json::{Value, json};

/// Nothing in it is as by default.
fn full() -> RunConfig {
    let mut config = RunConfig {
        system: Some("Be brief.".to_owned()),
        tools: Tools::Both,
        model_size: ModelSize::Small,
        tool_choice: ToolChoice::Gadget("Bell".to_owned()),
        custom_blocks: vec![BlockConfig {
            tag: Some("thinking-aloud".to_owned()),
            mode: BlockMode::Suppress,
            ..BlockConfig::new("aloud")
        }],
        reasoning_tags: vec!["think".to_owned()],
        reasoning_open: true,
        dialects: [Dialect::Hermes].into_iter().collect(),
        max_iterations: 3,
        default_timeout_ms: Some(1_000),
        text_only: OnTextOnlyReply::Remind("Use a gadget.".to_owned()),
        on_unmet: UnmetDependencyPolicy::Fallback("nothing".to_owned()),
        price: Some(Price::default().input(1.5)),
        retry: Some(Retry::default()),
        budget: Some(0.25),
        output_limit: Some(1_000),
        context_window: Some(8_000),
        compaction: Some(Compaction::default()),
        trailing: vec![
            EphemeralMessage::Text("Hurry.".to_owned()),
            EphemeralMessage::Iterations(HintTiming::Urgent),
        ],
        stop_on_gadget_error: true,
        ..RunConfig::default()
    };
    config.schedule.max_concurrent = Some(2);
    config.limits.calls_per_reply = 7;
    config.asks.before_gadget = true;
    config
}

fn bell() -> Registry {
    let bell = GadgetSpec {
        name: "Bell".to_owned(),
        ..GadgetSpec::default()
    };
    Registry::new([bell]).expect("a good gadget")
}

#[test]
fn configurations_are_read_as_they_were_written() {
    for config in [RunConfig::default(), full()] {
        let text = serde_json::to_string(&config).expect("plain data");
        assert_eq!(
            serde_json::from_str::<RunConfig>(&text).expect("it was written"),
            config
        );
        // Formats that have no null, as TOML, read it too.
        let without_null = without_null(serde_json::to_value(&config).expect("plain data"));
        assert_eq!(
            serde_json::from_value::<RunConfig>(without_null).expect("it was written"),
            config
        );
    }
    let nothing = serde_json::to_value(RunConfig::default()).expect("plain data");
    assert_eq!(nothing, json!({}), "defaults are left out");
}

fn without_null(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_null(value)))
            .collect(),
        Value::Array(values) => values.into_iter().map(without_null).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[test]
fn an_unknown_field_is_refused_with_its_name() {
    for (text, name) in [
        (json!({ "sytem": "Be brief." }), "sytem"),
        (json!({ "limits": { "calsPerReply": 3 } }), "calsPerReply"),
        (json!({ "retry": { "retrys": 3 } }), "retrys"),
        (
            json!({ "compaction": { "triggerPercents": 3.0 } }),
            "triggerPercents",
        ),
        (json!({ "schedule": { "max": 3 } }), "max"),
        (json!({ "asks": { "everything": true } }), "everything"),
        (json!({ "prompt": { "outro": "." } }), "outro"),
        (json!({ "customBlocks": [{ "key": "a", "map": 1 }] }), "map"),
    ] {
        let error = serde_json::from_value::<RunConfig>(text).expect_err("a slip");
        let expected = format!("unknown field `{name}`");
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

#[test]
fn code_and_configuration_name_the_same() {
    let check = |config: RunConfig, code: Code, expected: &str| {
        let error = Plan::new(config, Registry::default(), code).err();
        assert_eq!(
            error.map(|error| error.to_string()).as_deref(),
            Some(expected)
        );
    };
    let map = || BlockCode {
        map: Some(Arc::new(|_| None)),
        on_start: None,
    };
    let block = |mode| RunConfig {
        custom_blocks: vec![BlockConfig {
            mode,
            ..BlockConfig::new("note")
        }],
        ..RunConfig::default()
    };
    let with_map = |tag: &str| Code {
        blocks: [(tag.to_owned(), map())].into(),
        ..Code::default()
    };
    check(
        block(BlockMode::Map),
        Code::default(),
        "the configuration needs the code of the custom block <note>; add it to `Code`",
    );
    let unknown = |what: &str| {
        format!(
            "there is code of {what}, which the configuration does not have; remove it, or correct the name"
        )
    };
    check(
        block(BlockMode::Keep),
        with_map("note"),
        &unknown("the custom block <note>"),
    );
    check(
        block(BlockMode::Keep),
        with_map("nota"),
        &unknown("the custom block <nota>"),
    );
    let hint = RunConfig {
        trailing: vec![EphemeralMessage::Code("hint".to_owned())],
        ..RunConfig::default()
    };
    check(
        hint,
        Code::default(),
        "the configuration needs the code of the trailing message \"hint\"; add it to `Code`",
    );
    let code = Code {
        trailing: [("hint".to_owned(), Arc::new(|_: &_| None) as _)].into(),
        ..Code::default()
    };
    check(
        RunConfig::default(),
        code,
        &unknown("the trailing message \"hint\""),
    );
    assert!(Plan::new(block(BlockMode::Map), Registry::default(), with_map("note")).is_ok());
}

#[test]
fn two_blocks_with_one_tag_are_a_mistake_before_their_code_is() {
    let config = RunConfig {
        custom_blocks: vec![
            BlockConfig::new("note"),
            BlockConfig {
                mode: BlockMode::Map,
                ..BlockConfig::new("note")
            },
        ],
        ..RunConfig::default()
    };
    let error = Plan::new(config, Registry::default(), Code::default()).err();
    assert!(matches!(error, Some(PlanError::Tags(_))), "{error:?}");
}

#[test]
fn options_change_nothing_else_of_a_plan() {
    let plan = Plan::new(full(), bell(), Code::default()).expect("a good configuration");
    assert_eq!(plan.with(RunOptions::default()).config(), plan.config());
    let markers = Markers::nonce(7);
    let other = plan.with(RunOptions {
        budget: Some(9.0),
        retry_seed: Some(5),
        markers: Some(markers.clone()),
        asks: Some(gadgetry_proto::run::Asks::hooks()),
        info: None,
    });
    let expected = RunConfig {
        budget: Some(9.0),
        retry: Some(Retry {
            seed: 5,
            ..Retry::default()
        }),
        markers: markers.clone(),
        asks: gadgetry_proto::run::Asks::hooks(),
        ..full()
    };
    assert_eq!(*other.config(), expected);
    // The same run as of a plan that was made with these options at once.
    let at_once = expected.plan(bell()).expect("a good configuration");
    let other = Arc::new(other);
    let (one, other) = (Run::ask(&at_once, "Go"), Run::ask(&other, "Go"));
    assert_eq!(one.history(), other.history());
    assert!(format!("{:?}", one.history()).contains(markers.start()));
    assert_eq!(one.save(), other.save());
}

#[test]
fn an_identity_is_the_first_event_and_in_all_others() {
    let plan = Plan::new(full(), bell(), Code::default()).expect("a good configuration");
    let events = |plan: Plan| {
        let mut run = Run::ask(&Arc::new(plan), "Go");
        let mut events = Vec::new();
        while let Output::Event(event) = run.poll() {
            events.push(event);
        }
        // After it was saved, too.
        let mut run = Run::load(&run.plan().clone(), run.save()).expect("the same version");
        run.handle(Time(1), Input::Command(Command::Cancel))
            .expect("admitted at any time");
        loop {
            let output = run.poll();
            if let Output::Event(event) = output {
                events.push(event);
            } else if matches!(output, Output::Finished(_)) {
                return events;
            }
        }
    };
    let anonymous = events(plan.clone());
    assert!(anonymous.iter().all(|event| event.run.is_none()));
    let info = Arc::new(RunInfo::new("r", "smol"));
    let mut named = events(plan.with(RunOptions {
        info: Some(Arc::clone(&info)),
        ..RunOptions::default()
    }));
    assert!(named.iter().all(|event| event.run.as_deref() == Some("r")));
    assert_eq!(named.remove(0).kind, EventKind::RunStart(info));
    let kinds = |events: &[Event]| events.iter().map(|it| it.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&named), kinds(&anonymous));
}

#[test]
fn schemas_are_compiled_once() {
    let registry = Arc::new(bell());
    let config = RunConfig::default();
    let plan = config.plan(Arc::clone(&registry)).expect("no tags");
    let (one, other) = (
        Run::ask(&plan, "a"),
        Run::load(&plan, Run::ask(&plan, "b").save()),
    );
    let with = Arc::new(plan.with(RunOptions {
        markers: Some(Markers::nonce(7)),
        ..RunOptions::default()
    }));
    for run in [one, other.expect("just saved"), Run::ask(&with, "c")] {
        assert!(Arc::ptr_eq(run.plan().registry(), &registry));
    }
}

#[test]
fn the_choice_has_the_name_as_registered() {
    let config = RunConfig {
        tool_choice: ToolChoice::Gadget("bELL".to_owned()),
        ..RunConfig::default()
    };
    let plan = config.plan(bell()).expect("it is registered");
    assert_eq!(
        plan.config().tool_choice,
        ToolChoice::Gadget("Bell".to_owned())
    );
}
