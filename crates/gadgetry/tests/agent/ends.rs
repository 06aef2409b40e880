//! What ends a run, and what keeps it going. Every check fails without its option.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks at the events that matter"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gadgetry::human::HumanQuestion;
use gadgetry::proto::convo::compaction::Compaction;
use gadgetry::proto::delta::StopReason;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::event::{CompactionStrategy, EventKind, FinishReason};
use gadgetry::proto::run::{OnTextOnlyReply, Retry};
use gadgetry::{Agent, AgentBuilder, CancellationToken, ModelInfo, RateLimiter, RateLimits};
use tokio::time::{Instant, sleep};

use super::support::{Mock, after, broken, call, echo, ended, failed, finish, story};

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
async fn iterations_and_replies_without_calls() {
    let blocks = || Mock::new([call("Echo", "a", &[]), call("Echo", "b", &[])]);
    let lines = told(blocks(), |it| it.max_iterations(1)).await;
    assert_eq!(lines[2..], ["MaxIterations"]);

    let talk = || Mock::new(["One.", "Two.", "Three."]);
    let lines = told(talk(), |it| {
        it.text_only(OnTextOnlyReply::Acknowledge).max_iterations(3)
    })
    .await;
    assert_eq!(lines[2..], ["text \"Three.\"", "MaxIterations"]);

    let said = Arc::new(Mutex::new(Vec::new()));
    let human = {
        let said = Arc::clone(&said);
        move |question: HumanQuestion| {
            let text = question.text;
            said.lock().unwrap().push(text.clone());
            async move { (text == "One.").then(|| "Go on.".to_owned()) }
        }
    };
    let model = talk();
    let lines = told(model.clone(), |it| {
        it.text_only(OnTextOnlyReply::WaitForInput)
            .on_human_input(human)
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
    let cost = error.finished().summary.known_cost;
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
    assert!(!check(4, |it| it).await.0);
    let once: fn(AgentBuilder) -> AgentBuilder = |it| {
        it.retry(Retry {
            retries: 1,
            min_ms: 7,
            jitter: false,
            ..Retry::default()
        })
    };
    assert_eq!(check(1, once).await, (true, 2, Duration::from_millis(7)));
    assert!(!check(2, once).await.0);
    let none = AgentBuilder::without_retry;
    assert_eq!(check(1, none).await, (false, 1, Duration::ZERO));
}

/// Runs that failed together do not come back together, unless they are told when.
#[tokio::test(start_paused = true)]
async fn retries_vary() {
    let delays = async |seed| {
        let retry = Retry {
            seed,
            ..Retry::default()
        };
        let model = Mock::new(vec![failed(ModelErrorKind::Overloaded); 4]);
        let run = Agent::builder().model(model).retry(retry).ask("?").unwrap();
        let mut delays = Vec::new();
        let ended = run.on_event(|event| {
            if let EventKind::ModelRetry { delay_ms, .. } = event.kind {
                delays.push(delay_ms);
            }
        });
        ended.await.unwrap_err();
        delays
    };
    assert_eq!(delays(0).await.len(), 3);
    assert_ne!(delays(0).await, delays(0).await);
    assert_eq!(delays(7).await, delays(7).await);
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
        let info = ModelInfo::default().context_window(2_500);
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
        let info = ModelInfo::default().context_window(window);
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
                handle.compact().unwrap();
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
async fn every_end() {
    let check = async |reply: super::support::Reply, reason, words: &str, said: &str| {
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
        "the last reply was cut off at the token limit",
        "Once upon",
    )
    .await;
    let error = "model call failed: out of order";
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
