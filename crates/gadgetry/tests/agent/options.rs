//! What each option changes. Every check fails without its option.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks at the events that matter"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gadgetry::model_client::ModelOptions;
use gadgetry::proto::block::{Anchoring, Markers};
use gadgetry::proto::convo::compaction::Compaction;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::event::{CompactionStrategy, Event, EventKind, FinishReason};
use gadgetry::proto::message::{Content, Message, Role};
use gadgetry::proto::prompt::PromptTemplate;
use gadgetry::proto::run::{HintTiming, Retry, TextOnly};
use gadgetry::proto::tags::CustomBlock;
use gadgetry::proto::transform::DeltaTransform;
use gadgetry::{
    Agent, AgentBuilder, CancellationToken, Media, MediaData, MediaKind, ModelInfo, RateLimiter,
    RateLimits, Skills,
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{
    Mock, Sleepers, after, broken, call, echo, ended, failed, finish, gadget, spec, story,
};

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
        let model = Mock::new([call("Big", "b", &[]), ".".into()]).info(ModelInfo {
            context_window,
            ..ModelInfo::default()
        });
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
async fn iterations_and_replies_without_calls() {
    let blocks = || Mock::new([call("Echo", "a", &[]), call("Echo", "b", &[])]);
    let lines = told(blocks(), |it| it.max_iterations(1)).await;
    assert_eq!(lines[2..], ["MaxIterations"]);

    let talk = || Mock::new(["One.", "Two.", "Three."]);
    let lines = told(talk(), |it| {
        it.text_only(TextOnly::Acknowledge).max_iterations(3)
    })
    .await;
    assert_eq!(lines[2..], ["text \"Three.\"", "MaxIterations"]);

    let said = Arc::new(Mutex::new(Vec::new()));
    let human = {
        let said = Arc::clone(&said);
        move |text: String| {
            said.lock().unwrap().push(text.clone());
            async move { (text == "One.").then(|| "Go on.".to_owned()) }
        }
    };
    let model = talk();
    let lines = told(model.clone(), |it| {
        it.text_only(TextOnly::WaitForInput).on_human_input(human)
    })
    .await;
    assert_eq!(lines[1..], ["text \"Two.\"", "Completed"]);
    assert_eq!(*said.lock().unwrap(), ["One.", "Two."]);
    assert_eq!(model.asked()[1].last().unwrap(), "Go on.");
}

#[tokio::test]
async fn a_budget() {
    let replies = || Mock::new((0..9).map(|n| call("Echo", &format!("e{n}"), &[])));
    // 0.2 dollars a reply: the third is the first that is not asked for.
    let run = Agent::builder().model(replies()).gadget(echo()).budget(0.3);
    let error = run.ask("?").unwrap().text().await.unwrap_err();
    assert_eq!(error.reason(), FinishReason::BudgetExceeded);
    assert_eq!(error.finished().summary.iterations, 2);
    let cost = error.finished().summary.total_cost;
    assert!((cost - 0.4).abs() < 1e-9, "{cost}");
}

#[tokio::test(start_paused = true)]
async fn retries() {
    let overloaded = || failed(ModelErrorKind::Overloaded);
    let check = async |failures: usize, options: fn(AgentBuilder) -> AgentBuilder| {
        let mut replies = vec![overloaded(); failures];
        replies.push("Here.".into());
        let model = Mock::new(replies);
        let began = Instant::now();
        let run = options(Agent::builder().model(model.clone()))
            .ask("?")
            .unwrap();
        let ok = run.text().await.is_ok();
        (ok, model.asked().len(), began.elapsed())
    };
    let (ok, requests, waited) = check(3, |it| it).await;
    assert!(
        ok && requests == 4 && waited >= Duration::from_millis(3_500),
        "{waited:?}"
    );
    assert_eq!(check(4, |it| it).await.0, false);
    let once: fn(AgentBuilder) -> AgentBuilder = |it| {
        it.retry(Retry {
            retries: 1,
            min_ms: 7,
            jitter: false,
            ..Retry::default()
        })
    };
    assert_eq!(check(1, once).await, (true, 2, Duration::from_millis(7)));
    assert_eq!(check(2, once).await.0, false);
    let none = AgentBuilder::without_retry;
    assert_eq!(check(1, none).await, (false, 1, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn rate_limits() {
    let limits = RateLimits {
        requests_per_minute: Some(1),
        safety_margin: 1.0,
        ..RateLimits::default()
    };
    let agent = Agent::builder()
        .model(Mock::new([".", "."]))
        .rate_limits(limits);
    let agent = agent.build().unwrap();
    let began = Instant::now();
    agent.ask("?").text().await.unwrap();
    let mut waited = 0;
    let second = agent.ask("?").on_event(|event| {
        if let EventKind::RateLimited { delay_ms } = event.kind {
            waited += delay_ms;
        }
    });
    second.await.unwrap();
    assert_eq!((began.elapsed().as_secs(), waited), (60, 60_000));

    let limiter = RateLimiter::new(limits).unwrap();
    let agent = || {
        Agent::builder()
            .model(Mock::new(["."]))
            .rate_limiter(limiter.clone())
    };
    agent().ask("?").unwrap().text().await.unwrap();
    agent().ask("?").unwrap().text().await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 120);
}

/// What replies have used counts, and what is not known of them is estimated.
#[tokio::test(start_paused = true)]
async fn token_limits() {
    let limits = RateLimits {
        tokens_per_minute: Some(200),
        safety_margin: 1.0,
        ..RateLimits::default()
    };
    let agent = Agent::builder()
        .model(Mock::new(["."; 3]))
        .rate_limits(limits);
    let agent = agent.build().unwrap();
    let began = Instant::now();
    // 150 tokens a reply; the first one leaves room for the second's question.
    for seconds in [0, 0, 60] {
        agent.ask("?").text().await.unwrap();
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
}

#[tokio::test]
async fn compaction() {
    let replies = || {
        let mut replies: Vec<String> = (0..9)
            .map(|n| call("Echo", &format!("e{n}"), &[("text", &"word ".repeat(200))]))
            .collect();
        replies.push("Done.".into());
        let info = ModelInfo {
            context_window: Some(2_500),
            ..ModelInfo::default()
        };
        Mock::new(replies).info(info)
    };
    let check = async |options: fn(AgentBuilder) -> AgentBuilder| {
        let builder = Agent::builder().model(replies()).gadget(echo());
        let mut compactions = Vec::new();
        let run = options(builder).without_output_limit().ask("?").unwrap();
        let finished = run.on_event(|event| {
            if let EventKind::Compaction(compacted) = &event.kind {
                compactions.push(compacted.strategy);
            }
        });
        finished.await.unwrap();
        compactions
    };
    let window: fn(AgentBuilder) -> AgentBuilder = |it| {
        it.compaction(Compaction {
            strategy: CompactionStrategy::SlidingWindow,
            keep_recent_turns: 1,
            ..Compaction::default()
        })
    };
    assert!(
        check(window)
            .await
            .contains(&CompactionStrategy::SlidingWindow)
    );
    assert_eq!(check(AgentBuilder::without_compaction).await, []);
}

/// By default long conversations are made shorter, and anybody may ask for it before that.
#[tokio::test]
async fn compaction_on_demand() {
    let check = async |window: Option<u64>, options: fn(AgentBuilder) -> AgentBuilder| {
        let info = ModelInfo {
            context_window: window,
            ..ModelInfo::default()
        };
        let words = "word ".repeat(200);
        let mut replies: Vec<String> = (0..9)
            .map(|n| call("Echo", &format!("e{n}"), &[("text", &words)]))
            .collect();
        // The last two may have to summarise.
        replies.extend(["Done.".to_owned(), "Done.".to_owned(), "Done.".to_owned()]);
        let builder = Agent::builder()
            .model(Mock::new(replies).info(info))
            .gadget(echo());
        let run = options(builder.without_output_limit()).ask("?").unwrap();
        let handle = run.handle();
        let mut compactions = 0;
        let ended = run.on_event(|event| match &event.kind {
            EventKind::Compaction(_) => compactions += 1,
            EventKind::IterationEnd { iteration: 8 } if window.is_none() => {
                handle.compact().unwrap()
            }
            _ => {}
        });
        ended.await.unwrap();
        compactions
    };
    let usual: fn(AgentBuilder) -> AgentBuilder = |it| it;
    assert!(check(Some(2_500), usual).await > 0);
    assert_eq!(check(Some(400_000), usual).await, 0);
    assert_eq!(check(None, usual).await, 1);
    assert_eq!(check(None, AgentBuilder::without_compaction).await, 0);
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

#[tokio::test(start_paused = true)]
async fn a_token_cancels_all_runs() {
    let token = CancellationToken::new();
    let model = Mock::new([after(60_000, "."), after(60_000, ".")]);
    let agent = Agent::builder()
        .model(model)
        .cancellation(token.clone())
        .build()
        .unwrap();
    let soon = async {
        sleep(Duration::from_secs(1)).await;
        token.cancel();
    };
    let (one, two, ()) = tokio::join!(agent.ask("?").text(), agent.ask("?").text(), soon);
    for ended in [one, two, agent.ask("?").text().await] {
        assert_eq!(ended.unwrap_err().reason(), FinishReason::Cancelled);
    }
    // Cancelling one run leaves the token alone.
    let token = CancellationToken::new();
    let agent = Agent::builder()
        .model(Mock::new(["."]))
        .cancellation(token.clone());
    let run = agent.ask("?").unwrap();
    run.handle().cancel();
    run.text().await.unwrap_err();
    assert!(!token.is_cancelled());
}

#[tokio::test]
async fn models_for_gadgets() {
    let ask = |context: gadgetry::ExecutionContext| async move {
        let client = context.model().expect("a run");
        let named = client.named("small").expect("a model of this name");
        match named.complete("?", ModelOptions::default()).await {
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
    assert!(
        (finished.summary.total_cost - 0.6).abs() < 1e-9,
        "{}",
        finished.summary.total_cost
    );
}

#[tokio::test]
async fn gadgets_of_one_type() {
    let gadgets = ["One", "Two"].map(|name| {
        gadgetry::from_fn(spec(name), |_, _| async {
            gadgetry::proto::call::Outcome::ok("")
        })
    });
    let model = asked(&["."], |it| it.gadgets(gadgets)).await;
    assert!(model.system().contains("One") && model.system().contains("Two"));
}

#[tokio::test]
async fn every_end() {
    let check = async |reply: crate::support::Reply, reason, words: &str, said: &str| {
        let builder = Agent::builder().model(Mock::new([reply])).without_retry();
        let error = builder.ask("?").unwrap().text().await.unwrap_err();
        assert_eq!(error.to_string(), words);
        assert_eq!(
            (error.reason(), error.finished().summary.answer.as_str()),
            (reason, said)
        );
        assert_eq!(error.clone().into_finished(), *error.finished());
    };
    let cut = ended("Once upon", StopReason::MaxTokens);
    check(
        cut,
        FinishReason::Truncated,
        "the last reply was cut off",
        "Once upon",
    )
    .await;
    let error = "the model failed: out of order";
    check(
        failed(ModelErrorKind::BadRequest),
        FinishReason::ModelError,
        error,
        "",
    )
    .await;

    let lines = told(
        Mock::new([call("Finish", "f", &[("text", "That is it.")])]),
        |it| it.gadget(finish()),
    );
    assert_eq!(lines.await[1..], ["f: That is it.", "TaskCompleted"]);
    let run = Agent::builder()
        .gadget(finish())
        .model(Mock::new([call("Finish", "f", &[])]));
    assert_eq!(run.ask("?").unwrap().text().await.unwrap(), "done");

    let words = |builder: AgentBuilder| async move {
        let error = builder.ask("?").unwrap().text().await.unwrap_err();
        error.to_string()
    };
    let model = || Mock::new([call("Broken", "b", &[])]);
    let builder = || Agent::builder().model(model()).gadget(broken());
    assert_eq!(
        words(builder().max_iterations(1)).await,
        "the model was not done after 1 reply, which is the limit"
    );
    assert_eq!(
        words(builder().stop_on_gadget_error()).await,
        "a gadget failed"
    );
    assert_eq!(words(builder().budget(0.1)).await, "the budget is spent");
}
