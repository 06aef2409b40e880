//! Failed model calls keep what is known of them: through retries, subagents and journals.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each test picks the events with an error"
)]

use gadgetry::journal::MemoryJournal;
use gadgetry::proto::error::Overflow;
use gadgetry::{
    Agent, AgentError, Classified as _, EventKind, Fault, FinishReason, ModelError, ModelErrorKind,
    RunError,
};

use super::subagents::delegate;
use super::support::{Mock, call, ended, failing};

/// An error with every field.
fn refused(kind: ModelErrorKind) -> ModelError {
    let overflow = Overflow {
        prompt_tokens: Some(9),
        context_window: Some(8),
    };
    ModelError::new(kind, "no")
        .with_status(429)
        .with_code("quota")
        .with_retry_after_ms(1)
        .with_request_id("req_1")
        .with_overflow(overflow)
}

#[tokio::test(start_paused = true)]
async fn retries_and_the_end_have_all_fields() {
    let error = refused(ModelErrorKind::RateLimit);
    let model = Mock::new(vec![failing(error.clone()); 4]);
    let agent = Agent::builder().model(model).build().unwrap();
    let mut seen = Vec::new();
    let run = agent.ask("?").on_event(|event| match &event.kind {
        EventKind::ModelRetry { error, .. } => seen.push(("retry", error.clone())),
        EventKind::ModelCallEnd { error, .. } => {
            seen.push(("end", error.clone().expect("it failed")));
        }
        EventKind::RunFinished { error, .. } => {
            seen.push(("finished", error.clone().expect("it failed")));
        }
        _ => {}
    });
    let failed = run.await.unwrap_err();
    assert_eq!(failed.model_error(), Some(&error));
    let kinds: Vec<_> = seen.iter().map(|(kind, _)| *kind).collect();
    let expected = [
        "end", "retry", "end", "retry", "end", "retry", "end", "finished",
    ];
    assert_eq!(kinds, expected);
    assert!(seen.iter().all(|(_, it)| *it == error), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_subagent_is_in_its_events() {
    let error = refused(ModelErrorKind::BadRequest);
    let model = Mock::new([
        call("Delegate", "d", &[]).into(),
        failing(error.clone()),
        "Done.".into(),
    ]);
    let gadget = delegate("Delegate", |it| it);
    let agent = Agent::builder().model(model).gadget(gadget);
    let mut seen = Vec::new();
    let run = agent.ask("?").unwrap().on_event(|event| {
        if let EventKind::RunFinished { error, .. } = &event.kind {
            seen.push((event.depth(), error.clone()));
        }
    });
    let finished = run.await.unwrap();
    assert_eq!(finished.summary.error, None);
    assert_eq!(seen, [(1, Some(error)), (0, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_journal_keeps_the_error() {
    let error = refused(ModelErrorKind::Authentication);
    let model = Mock::new([failing(error.clone())]);
    let agent = Agent::builder().model(model.clone()).build().unwrap();
    let journal = MemoryJournal::default();
    for _ in 0..2 {
        let run = agent.durable(&journal).run_id("r").ask("?").await.unwrap();
        let failed = run.text().await.unwrap_err();
        assert_eq!(failed.model_error(), Some(&error));
    }
    assert_eq!(model.asked().len(), 1, "the second one was read");
}

/// Whose fault each end of a run is, and whether the same may succeed later.
#[tokio::test(start_paused = true)]
async fn every_end_has_a_fault() {
    use ModelErrorKind as Kind;
    let fails = |kind| vec![failing(refused(kind))];
    let check = async |replies: Vec<super::support::Reply>, fault: Fault, is_retryable: bool| {
        let builder = Agent::builder().model(Mock::new(replies)).max_iterations(1);
        let agent = builder.gadget(super::support::echo()).without_retry();
        let failed: RunError = agent.ask("?").unwrap().text().await.unwrap_err();
        assert_eq!(failed.fault(), fault, "{failed}");
        assert_eq!(failed.is_retryable(), is_retryable, "{failed}");
        failed.reason()
    };
    for (kind, fault, is_retryable) in [
        (Kind::Authentication, Fault::Program, false),
        (Kind::BadRequest, Fault::Program, false),
        (Kind::RateLimit, Fault::Provider, true),
        (Kind::Overloaded, Fault::Provider, true),
        (Kind::Transport, Fault::Provider, true),
        (Kind::Truncated, Fault::Provider, true),
        (Kind::Other, Fault::Provider, false),
        (Kind::ContextOverflow, Fault::Caller, false),
        (Kind::ContentFilter, Fault::Model, false),
    ] {
        let reason = check(fails(kind), fault, is_retryable).await;
        assert_eq!(reason, FinishReason::ModelError);
    }
    let cut = ended("Once", gadgetry::StopReason::MaxTokens);
    let reason = check(vec![cut], Fault::Program, false).await;
    assert_eq!(reason, FinishReason::Truncated);
    let calls = call("Echo", "e", &[("text", "hi")]);
    let reason = check(vec![calls.into()], Fault::Program, false).await;
    assert_eq!(reason, FinishReason::MaxIterations);

    let agent = Agent::builder().model(Mock::new(["4"])).build().unwrap();
    let run = agent.ask("?");
    run.handle().cancel();
    let cancelled = run.text().await.unwrap_err();
    assert_eq!(
        (cancelled.fault(), cancelled.model_error()),
        (Fault::Caller, None)
    );
    assert_eq!(AgentError::NoModel.fault(), Fault::Program);
}
