//! How long a gadget may take to tidy up.

use std::future::pending;

use gadgetry::proto::call::Outcome;
use gadgetry::{Agent, AgentBuilder, ExecutionContext, IntoGadget};
use tokio::time::{Duration, Instant, sleep};

use super::support::{Mock, call, gadget};

/// Never ends.
fn deaf() -> impl IntoGadget {
    gadget("Wait", |_| pending())
}

/// Has taken its token, and does not obey it.
fn watching() -> impl IntoGadget {
    gadget("Wait", |context: ExecutionContext| async move {
        let _token = context.cancellation().clone();
        pending().await
    })
}

/// Needs 700 ms to tidy up.
fn tidy() -> impl IntoGadget {
    gadget("Wait", |context: ExecutionContext| async move {
        context.cancellation().cancelled().await;
        sleep(Duration::from_millis(700)).await;
        Outcome::error("tidied up")
    })
}

/// Asks a person who does not answer.
fn asking() -> impl IntoGadget {
    gadget("Wait", |context: ExecutionContext| async move {
        let _ = context.ask_human("?").await;
        pending().await
    })
}

#[tokio::test(start_paused = true)]
async fn only_a_gadget_that_can_notice_is_given_time() {
    type Options = fn(AgentBuilder) -> AgentBuilder;
    let wait = |builder: AgentBuilder| builder.on_human_input(async |_| pending().await);
    let rows: [(_, fn() -> _, Options, u64); 6] = [
        ("deaf", || deaf().into_gadget(), |it| it, 0),
        ("watching", || watching().into_gadget(), |it| it, 2_000),
        ("tidy", || tidy().into_gadget(), |it| it, 700),
        ("asking", || asking().into_gadget(), |it| it, 2_000),
        (
            "short",
            || watching().into_gadget(),
            |it| it.grace(Duration::from_millis(300)),
            300,
        ),
        (
            "none",
            || watching().into_gadget(),
            |it| it.grace(Duration::ZERO),
            0,
        ),
    ];
    for (name, make, options, took) in rows {
        // A timeout.
        let model = Mock::new([call("Wait", "w", &[]), "Done.".to_owned()]);
        let builder = options(wait(Agent::builder().model(model).gadget(make())));
        let agent = builder
            .default_timeout(Duration::from_millis(100))
            .build()
            .unwrap();
        let begin = Instant::now();
        agent.ask("?").await.unwrap();
        assert_eq!(
            begin.elapsed(),
            Duration::from_millis(100 + took),
            "timeout: {name}"
        );

        // A cancellation.
        let model = Mock::new([call("Wait", "w", &[])]);
        let builder = options(wait(Agent::builder().model(model).gadget(make())));
        let run = builder.build().unwrap().ask("?");
        let handle = run.handle();
        let cancel = async {
            sleep(Duration::from_millis(100)).await;
            handle.cancel();
        };
        let begin = Instant::now();
        let (ended, ()) = tokio::join!(run.finish(), cancel);
        ended.unwrap_err();
        assert_eq!(
            begin.elapsed(),
            Duration::from_millis(100 + took),
            "cancel: {name}"
        );
    }
}
