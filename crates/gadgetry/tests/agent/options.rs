//! What each option changes. Every check fails without its option.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks at the events that matter"
)]

use std::time::Duration;

use gadgetry::proto::block::{Anchoring, Markers};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::event::{Event, EventKind};
use gadgetry::proto::limits::Limits;
use gadgetry::proto::message::{Constraint, Content, Message, Role, Sampling};
use gadgetry::proto::prompt::PromptTemplate;
use gadgetry::proto::run::{HintTiming, UnmetDependencyPolicy};
use gadgetry::proto::tags::CustomBlock;
use gadgetry::proto::transform::DeltaTransform;
use gadgetry::proto::tree::NodeId;
use gadgetry::{
    Agent, AgentBuilder, ConstraintField, Media, MediaData, MediaKind, ModelInfo, Skills,
};
use serde_json::json;
use tokio::time::Instant;

use super::support::{Mock, Sleepers, broken, call, echo, gadget, spec, story};

/// The model is asked by an agent with the options, and answers with `replies`.
async fn asked(replies: &[&str], options: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Mock {
    let model = Mock::new(replies.iter().copied());
    let builder = Agent::builder().model(model.clone()).gadget(echo());
    options(builder)
        .ask("Question?")
        .unwrap()
        .finish()
        .await
        .unwrap();
    model
}

/// The story of a run with the options.
async fn told(model: Mock, options: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Vec<String> {
    let builder = Agent::builder()
        .model(model)
        .gadget(echo())
        .gadget(broken());
    let mut events = Vec::new();
    let run = options(builder).ask("Question?").unwrap();
    let _ = run.on_event(|event| events.push(event.clone())).await;
    story(&events)
}

#[tokio::test]
async fn calls_whose_dependency_failed() {
    for (policy, expected) in [
        (UnmetDependencyPolicy::Skip, "skipped b"),
        (UnmetDependencyPolicy::Execute, "b: nothing"),
        (
            UnmetDependencyPolicy::Fallback("none".to_owned()),
            "b: none",
        ),
    ] {
        let calls = call("Broken", "a", &[]) + &call("Echo", "b:a", &[]);
        let model = Mock::new([calls.as_str(), "Done."]);
        let story = told(model, |it| it.on_unmet(policy)).await;
        assert!(story.contains(&expected.to_owned()), "{story:#?}");
    }
}

#[tokio::test]
async fn caps_on_a_reply() {
    let few = Limits {
        calls_per_reply: 1,
        ..Limits::default()
    };
    for (limits, started) in [(Limits::default(), true), (few, false)] {
        let calls = call("Echo", "a", &[]) + &call("Echo", "b", &[]);
        let model = Mock::new([calls.as_str(), "Done."]);
        let story = told(model, |it| it.limits(limits)).await;
        assert_eq!(story.contains(&"start b".to_owned()), started, "{story:#?}");
    }
}

#[tokio::test]
async fn system_and_prompt() {
    let model = asked(&["."], |it| it.system("Be brief.")).await;
    assert!(
        model.system().starts_with("Be brief.\n\n"),
        "{}",
        model.system()
    );

    let template = PromptTemplate {
        intro: Some("Use what you have.".into()),
        ..PromptTemplate::default()
    };
    let model = asked(&["."], |it| it.prompt_template(template)).await;
    assert!(model.system().contains("Use what you have."));
}

#[tokio::test]
async fn markers_and_anchoring() {
    let markers = Markers::new("<<<CALL ", "<<<END", "@").unwrap();
    let block = "<<<CALL Echo:e\n@text\nhi\n<<<END\n";
    let lines = told(Mock::new([block, "."]), |it| it.markers(markers)).await;
    assert_eq!(lines[1], "e: hi");

    let inside = format!("Like {}", call("Echo", "e", &[("text", "hi")]));
    let lines = told(Mock::new([inside.as_str(), "."]), |it| {
        it.anchoring(Anchoring::LineStart)
    })
    .await;
    assert_eq!(lines.last().unwrap(), "Completed");
    assert!(!lines.contains(&"start e".to_owned()), "{lines:?}");
}

#[tokio::test]
async fn what_came_before() {
    let history = [
        Message::text(Role::User, "My name is Ada."),
        Message::text(Role::Assistant, "Hello, Ada."),
    ];
    let model = asked(&["."], |it| {
        it.synthetic_call(
            "echo",
            json!({ "text": "a !!!ARG:b\nc" }),
            "a b c",
            "before",
        )
        .history(history)
    })
    .await;
    let block = "!!!GADGET_START:Echo:before\n";
    let request = &model.asked()[0];
    assert_eq!(request[1..3], ["My name is Ada.", "Hello, Ada."]);
    assert!(request[3].starts_with(block), "{}", request[3]);
    assert!(request[3].ends_with("\n!!!GADGET_END"), "{}", request[3]);
    assert_eq!(request[4..], ["Result (before): a b c", "Question?"]);
}

/// A synthetic call is kept as a real one is.
#[tokio::test]
async fn synthetic_calls_look_real() {
    let block = call("Echo", "e", &[("text", "hi")]);
    let real = Mock::new([block.trim_end(), "."]);
    let agent = |model| Agent::builder().model(model).gadget(echo());
    let real = agent(real)
        .ask("?")
        .unwrap()
        .finish()
        .await
        .unwrap()
        .history;
    let synthetic =
        agent(Mock::new(["."])).synthetic_call("Echo", json!({ "text": "hi" }), "hi", "e");
    let synthetic = synthetic.ask("?").unwrap().finish().await.unwrap().history;
    assert_eq!(synthetic[..2], real[1..3]);
}

#[tokio::test]
async fn messages_with_more_than_text() {
    let model = Mock::new(["A cat."]);
    let picture = Media {
        kind: MediaKind::Image,
        mime_type: "image/png".into(),
        data: MediaData::Base64("AAAA".into()),
        name: Some("cat.png".into()),
    };
    let text = "What is this?".to_owned();
    let content = vec![Content::Text { text }, Content::Media(picture)];
    let run = Agent::builder()
        .model(model.clone())
        .ask_with(content.clone())
        .unwrap();
    let finished = run.finish().await.unwrap();
    assert_eq!(finished.history[0].content, content);
    assert_eq!(
        model.last(),
        "What is this?\n\n[image: cat.png (image/png)]"
    );
}

#[tokio::test]
async fn trailing_messages_and_hints() {
    let block = call("Echo", "e", &[("text", "hi")]);
    let model = asked(&[&block, "."], |it| {
        it.max_iterations(2)
            .trailing("Hurry.")
            .trailing_with(|standing| (standing.iteration == 2).then(|| "Last one.".to_owned()))
            .iteration_hint(HintTiming::Urgent)
            .parallel_hint(2)
    })
    .await;
    let asked = model.asked();
    assert_eq!(asked[0][1..], ["Question?", "Hurry."]);
    assert_eq!(asked[1][3], "Result (e): hi");
    assert_eq!(asked[1][4..6], ["Hurry.", "Last one."]);
    assert!(asked[1][6].starts_with("[Reply 2 of 2"), "{asked:?}");
    assert!(
        asked[1][7].starts_with("[Calls that do not need"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn custom_blocks_and_transforms() {
    #[derive(Default)]
    struct Loud;
    impl DeltaTransform for Loud {
        fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
            out.push(match delta {
                Delta::Text { delta, metadata } => Delta::Text {
                    delta: delta.to_uppercase(),
                    metadata,
                },
                other => other,
            });
        }

        fn flush(&mut self, _: &mut Vec<Delta>) {}
    }
    let mut plans = 0;
    let builder = Agent::builder().model(Mock::new(["<plan>first</plan>and so on"]));
    let builder = builder
        .custom_block(CustomBlock::new("plan"))
        .transform(Loud::default);
    let run = builder.ask("?").unwrap();
    let finished = run.on_event(|event| {
        plans += usize::from(
            matches!(&event.kind, EventKind::CustomBlock(block) if block.content == "first"),
        );
    });
    assert_eq!(finished.await.unwrap().summary.answer, "AND SO ON");
    assert_eq!(plans, 1);
}

#[tokio::test(start_paused = true)]
async fn how_gadgets_are_scheduled() {
    let blocks: String = ["a", "b", "c"]
        .iter()
        .map(|id| call("Sleep", id, &[]))
        .collect();
    let check = async |options: fn(AgentBuilder) -> AgentBuilder, most: usize, ms: u64| {
        let sleepers = Sleepers::default();
        let model = Mock::new([blocks.as_str(), "."]);
        let builder = Agent::builder().model(model).gadget(sleepers.gadget());
        let began = Instant::now();
        options(builder).ask("?").unwrap().text().await.unwrap();
        assert_eq!(
            (sleepers.most(), began.elapsed().as_millis()),
            (most, u128::from(ms))
        );
    };
    check(|it| it, 3, 100).await;
    check(AgentBuilder::sequential, 1, 300).await;
    check(|it| it.max_concurrent(2), 2, 200).await;
    check(|it| it.max_gadgets_per_reply(1), 1, 100).await;
}

#[tokio::test(start_paused = true)]
async fn a_timeout_for_gadgets_without_one() {
    let model = Mock::new([call("Sleep", "s", &[("ms", "60000")]), ".".into()]);
    let sleepers = Sleepers::default();
    let lines = told(model, |it| {
        it.gadget(sleepers.gadget())
            .default_timeout(Duration::from_millis(50))
    })
    .await;
    assert!(lines[1].starts_with("s failed: "), "{lines:?}");
}

#[tokio::test]
async fn how_much_of_a_result_is_shown() {
    let long = "x".repeat(20_000);
    let check = async |window, options: fn(AgentBuilder) -> AgentBuilder, shown: bool| {
        let text = long.clone();
        let big = move |_| {
            let text = text.clone();
            async { gadgetry::proto::call::Outcome::ok(text) }
        };
        let context_window = window;
        let model = Mock::new([call("Big", "b", &[]), ".".into()])
            .info(ModelInfo::default().context_window(context_window));
        let builder = Agent::builder()
            .model(model.clone())
            .gadget(gadget("Big", big));
        options(builder).ask("?").unwrap().text().await.unwrap();
        let viewer = model.system().contains("GadgetOutputViewer");
        assert_eq!(model.last().contains(&long), shown);
        (viewer, model.last().contains("returned too much data"))
    };
    // 15 % of 10,000 tokens are 6,000 characters; of the usual window, 76,800.
    assert_eq!(check(Some(10_000), |it| it, false).await, (true, true));
    assert_eq!(check(None, |it| it, true).await, (true, false));
    let half: fn(AgentBuilder) -> AgentBuilder = |it| it.output_limit_percent(50.0);
    assert_eq!(check(Some(10_000), half, true).await, (true, false));
    let off = AgentBuilder::without_output_limit;
    assert_eq!(check(Some(10_000), off, true).await, (false, false));
}

#[tokio::test]
async fn when_a_gadget_fails() {
    let blocks = || Mock::new([call("Broken", "b", &[]), "Too bad.".into()]);
    let lines = told(blocks(), |it| it).await;
    assert_eq!(lines[2..], ["text \"Too bad.\"", "Completed"]);
    let lines = told(blocks(), AgentBuilder::stop_on_gadget_error).await;
    assert_eq!(lines[1..], ["b failed: no luck", "GadgetError"]);
}

#[tokio::test]
async fn skills() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("greet")).unwrap();
    let text = "---\ndescription: How to greet\n---\nSay hello.\n";
    std::fs::write(folder.path().join("greet/SKILL.md"), text).unwrap();
    let skills = Skills::from_dir(folder.path()).unwrap();
    let block = call("LoadSkill", "s", &[("skill", "greet")]);
    let model = asked(&[&block, "."], |it| it.skills(&skills)).await;
    assert!(model.system().contains("How to greet"));
    assert!(model.last().contains("Say hello."), "{}", model.last());
    let model = asked(&["."], |it| it.skills(&Skills::new())).await;
    assert!(!model.system().contains("LoadSkill"));
}

#[tokio::test]
async fn models_for_gadgets() {
    let ask = |context: gadgetry::ExecutionContext| async move {
        let client = context.model().expect("a run");
        let named = client.named("small").expect("a model of this name");
        match named.complete("?", ()).await {
            Ok(text) => gadgetry::proto::call::Outcome::ok(text),
            Err(error) => gadgetry::proto::call::Outcome::error(error.to_string()),
        }
    };
    let model = Mock::new([call("Ask", "a", &[]), ".".into()]);
    let small = Mock::new(["I am small."]).named("small one");
    let builder = Agent::builder().model(model).named_model("small", small);
    let mut events: Vec<Event> = Vec::new();
    let run = builder.gadget(gadget("Ask", ask)).ask("?").unwrap();
    let finished = run
        .on_event(|event| events.push(event.clone()))
        .await
        .unwrap();
    assert_eq!(story(&events)[1], "a: I am small.");
    // Two replies of the model and one of the small one.
    let known = finished.costs.subtotal(NodeId::ROOT).known;
    assert!((known - 0.6).abs() < 1e-9);
    assert!(
        (finished.summary.known_cost - 0.6).abs() < 1e-9,
        "{}",
        finished.summary.known_cost
    );
}

#[tokio::test]
async fn gadgets_of_one_type() {
    let gadgets =
        ["One", "Two"].map(|name| gadgetry::from_fn(spec(name), |_, _| async { Outcome::ok("") }));
    let model = asked(&["."], |it| it.gadgets(gadgets)).await;
    assert!(model.system().contains("One") && model.system().contains("Two"));
}

/// Open strings of a small model take all the tokens of a reply, whether or not its prompt shows worked turns.
#[tokio::test]
async fn strings_of_small_models_are_bounded() {
    let (small, large) = (Some(135_000_000), Some(8_000_000_000));
    for (parameters, examples, is_bounded) in [
        (small, None, true),
        (small, Some(2), true),
        (small, Some(0), true),
        (large, None, false),
        (large, Some(2), false),
        (None, None, false),
        // Worked turns are for small models.
        (None, Some(2), true),
    ] {
        let info = ModelInfo::default()
            .parameters(parameters)
            .constraint(ConstraintField::LlamaCpp);
        let model = Mock::new(["Done."]).info(info);
        let mut weather = spec("Weather");
        weather.parameters =
            json!({ "type": "object", "properties": { "city": { "type": "string" } } });
        let mut agent = Agent::builder()
            .model(model.clone())
            .gadget(gadgetry::from_fn(weather, |_, _| async { Outcome::ok("") }));
        if let Some(count) = examples {
            agent = agent.examples(count);
        }
        agent.ask("?").unwrap().finish().await.unwrap();
        let Some(Constraint::Gbnf(grammar)) = model.constraint() else {
            panic!("there is no grammar");
        };
        // Without its first character in a block, which begins no marker.
        let has_bound = ["{0,200}", "{0,199}"]
            .iter()
            .any(|bound| grammar.contains(bound));
        assert_eq!(
            has_bound, is_bounded,
            "{parameters:?} {examples:?}: {grammar}"
        );
    }
}

#[tokio::test]
async fn settings_of_replies() {
    let block = call("Echo", "e", &[("text", "hi")]);
    let model = asked(&[&block, "."], |it| {
        it.temperature(0.25).max_tokens(9).stop(["END"])
    })
    .await;
    let expected = Sampling::default()
        .temperature(0.25)
        .max_tokens(9)
        .stop(["END"]);
    assert_eq!(model.samplings(), [expected.clone(), expected]);
    let model = asked(&["."], |it| it).await;
    assert_eq!(model.samplings(), [Sampling::default()]);
}
