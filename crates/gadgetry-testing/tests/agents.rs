//! Whole agents on mocks, under the paused clock.

use std::time::Duration;

use gadgetry::proto::convo::compaction::Compaction;
use gadgetry::proto::error::ModelErrorKind;
use gadgetry::proto::event::FinishReason;
use gadgetry::proto::message::Purpose;
use gadgetry::proto::run::{HintTiming, Retry, RunConfig, iteration_hint};
use gadgetry_testing::{
    Cut, MockGadget, MockModel, Reply, Then, any, call, conversation, elapsed, fixtures, reply,
};

use crate::support::{play, play_on, toolbox};

fn wait(name: &str, seconds: u64) -> MockGadget {
    let gadget = MockGadget::builder(name).delay(Duration::from_secs(seconds));
    gadget.returns(format!("{name} done")).cost(0.25).build()
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side_and_one_after_the_other() {
    let (slow, fast) = (wait("Slow", 3), wait("Fast", 1));
    let toolbox = toolbox([slow.clone(), fast.clone()]);
    let model = MockModel::builder()
        .when(|m| m.last_message_contains("Go"))
        .once()
        .replies(
            reply()
                .text("On it.\n")
                .call(call("Slow").id("s"))
                .call(call("Fast").id("f"))
                .call(call("Fast").id("g").after("f"))
                .chunks(Cut::Every(5)),
        )
        .when(|m| m.has_result("g"))
        .once()
        .replies("All done.")
        .build();
    let ((summary, log), took) = Box::pin(elapsed(play(&model, &toolbox, "Go"))).await;
    assert_eq!(summary.answer, "All done.");
    assert_eq!(took, Duration::from_secs(3));
    assert_eq!(
        log.render_with_times(),
        "     0 model_call 1
     0 text \"On it.\\n\"
     0 call s Slow {}
     0 start s Slow
     0 call f Fast {}
     0 start f Fast
     0 call g Fast after f {}
     0 model_call_end 1 stop
  1000 result f \"Fast done\" 1000ms $0.25
  1000 start g Fast
  2000 result g \"Fast done\" 1000ms $0.25
  3000 result s \"Slow done\" 3000ms $0.25
  3000 iteration_end 1
  3000 model_call 2
  3000 text \"All done.\"
  3000 model_call_end 2 stop
  3000 iteration_end 2
  3000 finished completed 2
"
    );
    assert_eq!((slow.call_count(), fast.call_count()), (1, 2));
    model.verify();
}

/// How a run ends if the model's first reply is this.
async fn check(first: Reply, reason: FinishReason, error: Option<&str>) {
    let toolbox = toolbox([wait("Fast", 1)]);
    let model = MockModel::builder()
        .when(|m| m.iteration(1))
        .replies(first)
        .when(any())
        .optional()
        .replies("done")
        .build();
    let (summary, _) = play(&model, &toolbox, "Go").await;
    assert_eq!(
        (
            summary.reason,
            summary.error.as_ref().map(|it| it.message.as_str())
        ),
        (reason, error)
    );
    model.verify();
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_as_its_last_reply_does() {
    check(reply().text("Hi."), FinishReason::Completed, None).await;
    check(call("Fast").into(), FinishReason::Completed, None).await;
    check(
        reply().fails("no luck"),
        FinishReason::ModelError,
        Some("no luck"),
    )
    .await;
    let cut = "the connection ended before the model had finished its reply";
    check(
        reply().text("H").disconnects(),
        FinishReason::ModelError,
        Some(cut),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn skipped_and_failed_calls_are_answered() {
    let fail = MockGadget::builder("Fail").fails("no luck").build();
    let toolbox = toolbox([fail, wait("Fast", 1)]);
    let calls = [call("Fail").id("a"), call("Fast").id("b").after("a")];
    let model = MockModel::builder()
        .when(|m| m.iteration(1))
        .replies_with_calls(calls)
        .when(|m| m.has_result("a").has_result("b"))
        .replies("I see.")
        .build();
    let (_, log) = play(&model, &toolbox, "Go").await;
    assert_eq!(log.expect_error("a"), "no luck");
    assert_eq!(log.skipped(), ["b"]);
    log.assert_order(["error a", "skip b because a", "model_call 2"]);
    model.verify();
}

#[tokio::test(start_paused = true)]
async fn a_model_without_end_meets_the_limit() {
    let toolbox = toolbox([wait("Fast", 1)]);
    let model = MockModel::builder()
        .when(any())
        .replies_in_order_then([call("Fast"), call("Fast").id("again")], Then::Cycle)
        .build();
    let (summary, log) = play(&model, &toolbox, "Go").await;
    assert_eq!(summary.reason, FinishReason::MaxIterations);
    assert_eq!(log.started().len(), 10);
    assert_eq!(model.call_count(), 10);
    model.verify();
}

#[tokio::test(start_paused = true)]
async fn every_cut_gives_the_same_run() {
    let said = reply()
        .text("Hi.\n")
        .call(call("Fast").id("f").arg("a", "ä\nb"));
    let mut logs = Vec::new();
    for cut in [
        Cut::Whole,
        Cut::Every(1),
        Cut::Every(7),
        Cut::Seeded(1),
        Cut::Seeded(2),
    ] {
        let toolbox = toolbox([wait("Fast", 1)]);
        let model = MockModel::in_order([said.clone().chunks(cut), "Bye.".into()]);
        logs.push(play(&model, &toolbox, "Go").await.1.render_with_times());
        model.verify();
    }
    assert!(logs.iter().all(|log| *log == logs[0]), "{logs:#?}");
}

#[tokio::test(start_paused = true)]
async fn an_unmatched_request_ends_the_run_with_the_report() {
    let model = MockModel::builder()
        .when(|m| m.last_message_contains("Stay"))
        .optional()
        .replies("x")
        .build();
    let (summary, _) = play(&model, &toolbox([wait("Fast", 1)]), "Go").await;
    assert_eq!(summary.reason, FinishReason::ModelError);
    let error = summary.error.unwrap().message;
    assert!(
        error.contains("the last message contains \"Stay\": it is of the user and reads \"Go\""),
        "{error}"
    );
    assert_eq!(
        model
            .check()
            .unwrap_err()
            .to_string()
            .matches("request 1")
            .count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_as_long_as_the_model_asks() {
    let busy = reply().fails_as(ModelErrorKind::RateLimit, "slow down");
    let busy = busy.retry_after(Duration::from_secs(7));
    let model = MockModel::in_order([busy, "Hello.".into()]);
    let spec = RunConfig {
        retry: Some(Retry {
            jitter: false,
            ..Retry::default()
        }),
        ..RunConfig::default()
    };
    let history = conversation().user("Hi").build();
    let toolbox = toolbox([wait("Fast", 1)]);
    let ((summary, log), took) = Box::pin(elapsed(play_on(spec, history, &model, &toolbox))).await;
    assert_eq!(
        (summary.answer.as_str(), took),
        ("Hello.", Duration::from_secs(7))
    );
    log.assert_order(["retry 1 after 7000ms because rateLimit", "text"]);
    model.verify();
}

#[tokio::test(start_paused = true)]
async fn compaction_requests_a_summary_and_the_run_continues() {
    let model = MockModel::builder()
        .when(|m| m.purpose(Purpose::Summary))
        .once()
        .label("summary")
        .replies_text("Steps were gone through.")
        .when(|m| m.message_contains("Steps were gone through."))
        .label("answer")
        .once()
        .replies_text("All done.")
        .build();
    let spec = RunConfig {
        context_window: Some(2000),
        compaction: Some(Compaction::default()),
        ..RunConfig::default()
    };
    let toolbox = toolbox([MockGadget::builder("Step").build()]);
    let (summary, log) = play_on(spec, fixtures::long(20, 400), &model, &toolbox).await;
    assert_eq!(summary.answer, "All done.");
    log.assert_order([
        "model_call 1 summary",
        "compaction summary",
        "model_call 1",
        "text",
    ]);
    let by: Vec<_> = model.answered_by().into_iter().flatten().collect();
    assert_eq!(by, ["summary", "answer"]);
    model.verify();
}

#[tokio::test(start_paused = true)]
async fn hints_follow_the_last_message() {
    let model = MockModel::builder()
        .when(|m| {
            m.last_message_contains("Go")
                .message_contains("[Reply 1 of 10")
        })
        .replies(call("Fast").id("f"))
        .when(|m| m.has_result("f").message_contains("[Reply 2 of 10"))
        .replies("Bye.")
        .build();
    let spec = RunConfig {
        trailing: vec![iteration_hint(HintTiming::Always)],
        ..RunConfig::default()
    };
    let history = conversation().user("Go").build();
    let (summary, _) = play_on(spec, history, &model, &toolbox([wait("Fast", 1)])).await;
    assert_eq!(summary.answer, "Bye.");
    model.verify();
}
