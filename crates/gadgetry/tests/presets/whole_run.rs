//! A real run, watched.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::presets::{
    FileLogging, Monitoring, Progress, ProgressTracking, Shared, StripInvisible, merge,
};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::FinishReason;
use gadgetry::proto::run::{Command, Run, RunConfig};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::proto::tree::NodeId;
use gadgetry::proto::usage::Price;
use gadgetry::{Agent, Observer, RunResult, ScriptedModel, Services, Toolbox, drive, from_fn};
use gadgetry_testing::{EventLog, MockModel, call, reply};
use tokio::sync::mpsc;

/// `Pay {}`: waits 20 ms, costs half a dollar. `Slow {}`: reports a quarter, and is too late after 50 ms.
fn toolbox() -> Toolbox {
    let spec = |name: &str, timeout_ms| GadgetSpec {
        name: name.to_owned(),
        timeout_ms,
        ..GadgetSpec::default()
    };
    let mut toolbox = Toolbox::default();
    let pay = from_fn(spec("Pay", None), |_, context| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        context.report_cost(0.5).unwrap();
        Outcome::ok("paid")
    });
    let slow = from_fn(spec("Slow", Some(50)), |_, context| async move {
        context.report_cost(0.25).unwrap();
        context.cancellation().cancelled().await;
        Outcome::ok("too late")
    });
    toolbox.add(pay).unwrap();
    toolbox.add(slow).unwrap();
    toolbox
}

async fn run(script: &str, observer: &mut dyn Observer) -> RunResult {
    let model: ScriptedModel = script.parse().unwrap();
    let toolbox = toolbox();
    let config = RunConfig {
        price: Some(Price::default().input(1e6 / 8.0).output(1e6 / 4.0)),
        ..RunConfig::default()
    };
    let services = Services::new(Arc::new(model), toolbox);
    let (_commands, receiver) = mpsc::channel::<Command>(1);
    let plan = config
        .plan(Arc::clone(services.toolbox.registry()))
        .unwrap();
    let run = Run::ask(&plan, "Go");
    drive(run, &services, receiver, observer).await
}

#[tokio::test(start_paused = true)]
async fn a_real_run_is_watched_by_all() {
    let script = [
        r#"{"text": "!!!GADGET_START:Pay:p\n!!!GADGET_END\n!!!GADGET_START:Slow:s\n!!!GADGET_END\n", "usage": {"inputTokens": 8, "outputTokens": 4}}"#,
        r#"{"chunks": ["All ", {"delayMs": 30}, "done."], "usage": {"inputTokens": 16, "outputTokens": 2}}"#,
    ];
    let folder = tempfile::tempdir().unwrap();
    let monitoring = Shared::new(Monitoring::default());
    let files = Shared::new(FileLogging::new(folder.path()));
    let (mut last, mut finished) = ((None, 0.0), 0);
    let progress = ProgressTracking::new(|progress: &Progress| {
        last = (progress.total_cost, progress.known_cost);
        finished += u32::from(progress.finished);
    });
    let mut observers = merge(vec![
        Box::new(monitoring.clone()),
        Box::new(files.clone()),
        Box::new(progress),
    ]);
    let ended = run(&script.join("\n"), &mut observers).await;
    drop(observers);

    assert_eq!(ended.summary.reason, FinishReason::Completed);
    // Replies 2 + 2.5, Pay 0.5, and Slow's 0.25 although it was too late.
    assert_eq!(ended.summary.known_cost, 5.25);
    assert_eq!((last, finished), ((ended.summary.total_cost, 5.25), 1));
    monitoring.with(|monitoring| {
        assert_eq!(monitoring.costs().total(), ended.summary.total_cost);
        let all = monitoring.costs().subtotal(NodeId::ROOT);
        assert_eq!((all.gadgets, all.unattributed), (0.75, 0.0));
        assert_eq!(monitoring.tokens().all.input_tokens, 24);
        let timing = monitoring.timing();
        assert_eq!(timing.gadgets["Pay"].total_ms, 20);
        assert_eq!(timing.gadgets["Slow"].total_ms, 50);
        assert_eq!(timing.model_calls.longest_ms, 30);
        assert_eq!(timing.run_ms, Some(80));
        let failures: Vec<String> = monitoring
            .failures()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            failures,
            ["50 ms: Slow s failed: Gadget 'Slow' execution exceeded timeout of 50ms"]
        );
    });
    files.with(FileLogging::finish).unwrap();
    let reply = fs::read_to_string(folder.path().join("0002.response")).unwrap();
    assert_eq!(
        reply,
        "All done.\n---\nStop, 16 tokens in, 2 out, $2.500000\n"
    );
    let raw = fs::read_to_string(folder.path().join("0001.response")).unwrap();
    assert!(
        raw.starts_with("!!!GADGET_START:Pay:p\n!!!GADGET_END\n"),
        "{raw}"
    );
}

/// The model reads a result without what a person does not see; the event has the result as it was.
#[tokio::test]
async fn invisible_characters_of_results_are_taken_out() {
    let hidden: String = ('a'..='z')
        .filter_map(|c| char::from_u32(0xe0000 + u32::from(c)))
        .collect();
    for (strips, read) in [(true, "Sunny."), (false, &*format!("Sunny{hidden}."))] {
        let text = format!("Sunny{hidden}.");
        let page = text.clone();
        let spec = GadgetSpec {
            name: "Page".to_owned(),
            ..GadgetSpec::default()
        };
        let log = EventLog::default();
        let model = MockModel::builder()
            .when(|m| m.iteration(1))
            .replies(reply().call(call("Page").id("p")))
            .when(move |m| m.iteration(2).last_message_contains(read))
            .replies(reply().text("Done."))
            .build();
        let mut agent = Agent::builder()
            .model(model)
            .gadget(from_fn(spec, move |_, _| {
                let page = page.clone();
                async move { Outcome::ok(page) }
            }))
            .observer(log.clone());
        if strips {
            agent = agent.interceptor(StripInvisible);
        }
        let answer = agent.ask("Go").unwrap().text().await.unwrap();
        assert_eq!(answer, "Done.", "{strips}");
        assert_eq!(log.expect_result("p"), text, "{strips}");
    }
}
