//! Three ways to consume a run, and what reaches into it.

use std::time::UNIX_EPOCH;

use futures_util::StreamExt as _;
use gadgetry::proto::event::{Event, EventKind, FinishReason};
use gadgetry::proto::message::Role;
use gadgetry::{Agent, NotInjected};
use tokio::time::{Duration, Instant, timeout};

use super::support::{Mock, Sleepers, after, call, echo, story};

fn model() -> Mock {
    Mock::new([call("Echo", "e", &[("text", "hi")]), "It says hi.".into()])
}

fn agent() -> Agent {
    let builder = Agent::builder().model(model()).gadget(echo());
    builder.build().unwrap()
}

const STORY: [&str; 4] = ["start e", "e: hi", "text \"It says hi.\"", "Completed"];

#[tokio::test(start_paused = true)]
async fn three_ways_are_one_path() {
    assert_eq!(agent().ask("?").text().await.unwrap(), "It says hi.");

    let mut handled = Vec::new();
    let keep = |event: &Event| handled.push(event.clone());
    let run = agent().ask("?").run_id("r").start_time(UNIX_EPOCH);
    let finished = run.on_event(keep).await.unwrap();
    assert_eq!(story(&handled), STORY);

    let mut run = agent().ask("?").run_id("r").start_time(UNIX_EPOCH);
    let mut streamed = Vec::new();
    while run.finished().is_none() {
        streamed.push(run.next().await.unwrap());
    }
    assert!(run.next().await.is_none());
    assert!(run.next().await.is_none(), "a stream that ended stays so");
    let kinds = |events: &[Event]| events.iter().map(|it| it.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&streamed), kinds(&handled));
    assert_eq!(run.finished(), Some(&finished));
    assert_eq!(finished.summary.answer, "It says hi.");
    assert_eq!(finished.summary.iterations, 2);
}

#[tokio::test]
async fn a_stream_can_be_read_in_part() {
    let mut run = agent().ask("?");
    let first = run.next().await.unwrap();
    assert_eq!(first.seq, 0);
    let mut next = first.seq + 1;
    let finished = run.on_event(|event| {
        assert_eq!(event.seq, next);
        next += 1;
    });
    assert_eq!(finished.await.unwrap().summary.answer, "It says hi.");

    let mut run = agent().ask("?");
    run.next().await.unwrap();
    assert_eq!(run.text().await.unwrap(), "It says hi.");
}

#[tokio::test(start_paused = true)]
async fn nothing_happens_before_the_first_poll() {
    let model = model();
    let run = Agent::builder().model(model.clone()).ask("?").unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(model.asked().len(), 0);
    drop(run);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(model.asked().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_it_drops_its_gadgets() {
    let sleepers = Sleepers::default();
    let blocks = call("Sleep", "a", &[]) + &call("Sleep", "b", &[]);
    let agent = Agent::builder().gadget(sleepers.gadget());
    let agent = agent
        .model(Mock::new([blocks.clone(), blocks]))
        .build()
        .unwrap();

    let mut run = agent.ask("?");
    while sleepers.now() < 2 {
        run.next().await.unwrap();
        tokio::task::yield_now().await;
    }
    drop(run);
    tokio::task::yield_now().await;
    assert_eq!(sleepers.now(), 0);

    let text = agent.ask("?").text();
    timeout(Duration::from_millis(50), text).await.unwrap_err();
    tokio::task::yield_now().await;
    assert_eq!((sleepers.now(), sleepers.most()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn messages_are_injected() {
    let model = Mock::new([after(10, "One."), after(10, "Two.")]);
    let run = Agent::builder().model(model.clone()).ask("Count.").unwrap();
    let handle = run.handle();
    let mut said = false;
    let finished = run.on_event(|event| {
        if let EventKind::Text { .. } = event.kind
            && !said
        {
            handle.inject("Go on.").unwrap();
            said = true;
        }
    });
    assert_eq!(finished.await.unwrap().summary.answer, "Two.");
    assert_eq!(model.asked()[1], ["Count.", "One.", "Go on."]);
    assert_eq!(handle.inject("More."), Err(NotInjected::Over));

    let run = Agent::builder().model(Mock::new(["."])).ask("?").unwrap();
    let handle = run.handle();
    while handle.inject("x").is_ok() {}
    assert_eq!(handle.inject("x"), Err(NotInjected::TooMany));
    drop(run);
    assert_eq!(handle.inject("x"), Err(NotInjected::Over));
}

#[tokio::test(start_paused = true)]
async fn a_handle_cancels_from_anywhere() {
    let sleepers = Sleepers::default();
    let model = Mock::new([format!("Wait. {}", call("Sleep", "s", &[("ms", "5000")]))]);
    let agent = Agent::builder().model(model).gadget(sleepers.gadget());
    let run = agent.ask("?").unwrap();
    let handle = run.handle();
    let began = Instant::now();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        handle.cancel();
    });
    let error = run.text().await.unwrap_err();
    assert_eq!(error.reason(), FinishReason::Cancelled);
    assert_eq!(error.to_string(), "the run was cancelled");
    assert_eq!(error.finished().summary.answer, "Wait. ");
    assert!(began.elapsed() < Duration::from_secs(4));
    assert_eq!(sleepers.now(), 0);
}

#[tokio::test(start_paused = true)]
async fn agents_run_in_parallel() {
    let agent = |name| {
        let replies = [
            after(1_000, call("Echo", "e", &[("text", name)])),
            after(1_000, name),
        ];
        let agent = Agent::builder().model(Mock::new(replies)).gadget(echo());
        agent.build().unwrap()
    };
    let (one, two) = (agent("one"), agent("two"));
    let began = Instant::now();
    let (first, second) = tokio::join!(one.ask("?").text(), two.ask("?").text());
    assert_eq!(
        (first.unwrap(), second.unwrap()),
        ("one".to_owned(), "two".to_owned())
    );
    assert_eq!(began.elapsed(), Duration::from_secs(2));
}

#[tokio::test]
async fn a_finished_run_continues_its_conversation() {
    let model = Mock::new([
        call("Echo", "e", &[("text", "hi")]),
        "One.".into(),
        "Two.".into(),
    ]);
    let agent = || {
        Agent::builder()
            .model(model.clone())
            .gadget(echo())
            .system("Be brief.")
    };
    let finished = agent().ask("First?").unwrap().finish().await.unwrap();
    let roles: Vec<Role> = finished
        .history
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::User, Role::Assistant]
    );

    let second = agent().continue_from(&finished).ask("Second?").unwrap();
    assert_eq!(second.text().await.unwrap(), "Two.");
    let asked = model.asked();
    assert_eq!(asked[2][0], asked[0][0], "the same instructions, once");
    assert_eq!(asked[2][1..4], asked[1][1..4]);
    assert_eq!(asked[2][4..], ["One.", "Second?"]);

    // What somebody else has told the model stays as it was.
    let system = gadgetry::proto::message::Message::text(Role::System, "Be polite.");
    let model = Mock::new(["."]);
    let run = Agent::builder()
        .model(model.clone())
        .gadget(echo())
        .history([system.clone()]);
    let finished = run.ask("?").unwrap().finish().await.unwrap();
    assert!(model.system().contains("Be polite.") && model.system().contains("Echo"));
    assert_eq!(finished.history[0], system);
}
