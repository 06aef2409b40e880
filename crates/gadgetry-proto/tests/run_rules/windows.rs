//! Runs on a server with a small window, which refuses what is too long: they go on, whatever the model and its gadgets say.

use gadgetry_proto::call::Outcome;
use gadgetry_proto::convo::compaction::Compaction;
use gadgetry_proto::convo::prompt_text;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::{ModelError, ModelErrorKind, Overflow};
use gadgetry_proto::event::{CompactionStrategy, FinishReason};
use gadgetry_proto::message::{Message, Purpose, Request, Role};
use gadgetry_proto::run::{Close, Command, Input, Output, Run, RunConfig, Summary};
use gadgetry_proto::time::Time;
use gadgetry_proto::usage::Usage;
use proptest::prelude::*;

use crate::support::sim::script::{Script, block, gadget};

/// A server that counts a token for three bytes, and five for each message.
#[derive(Clone, Debug)]
struct Server {
    window: u64,
    says: Says,
}

/// What a server says of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Nothing,
    /// The usage of a reply.
    Usage,
    /// The window, in an error.
    Window,
    /// The window and the tokens of the request, in an error.
    Both,
}

fn tokens(messages: &[Message]) -> u64 {
    let sizes = messages.iter().map(|it| prompt_text(it).len() as u64);
    sizes.map(|bytes| bytes.div_ceil(3) + 5).sum()
}

/// A turn of the model: what it says, and how long the results of its calls are. Before it, the user may say something.
#[derive(Clone, Debug)]
struct Turn {
    user: Option<String>,
    says: usize,
    results: Vec<usize>,
}

fn turn() -> impl Strategy<Value = Turn> {
    let length = || prop_oneof![4 => 0..300_usize, 1 => 0..20_000_usize];
    let user = prop::option::weighted(0.2, (1..500_usize).prop_map(|bytes| "u".repeat(bytes)));
    (user, length(), prop::collection::vec(length(), 1..4)).prop_map(|(user, says, results)| Turn {
        user,
        says,
        results,
    })
}

/// The end of a run, and how many requests were refused.
fn play(config: &RunConfig, server: &Server, turns: &[Turn]) -> (Summary, u32) {
    let script = Script::default().gadget(gadget("Read"));
    let plan = config
        .clone()
        .plan(script.plan().registry().clone())
        .expect("it is valid");
    let mut run = Run::ask(&plan, "Go");
    let (mut at, mut refused, mut results) = (0, 0, Vec::new());
    loop {
        match run.poll() {
            Output::Send(request) => {
                let summary = request.purpose == Purpose::Summary;
                let refusal = refusal(server, &request);
                refused += u32::from(refusal.is_some());
                let deltas = refusal.map_or_else(
                    || {
                        let turn = turns.get(at).filter(|_| !summary);
                        at += usize::from(!summary);
                        results = turn.map_or(Vec::new(), |turn| turn.results.clone());
                        if let Some(text) = turn.and_then(|turn| turn.user.clone()) {
                            let inject = Command::Inject(text);
                            run.handle(Time(0), Input::Command(inject)).expect("a word");
                        }
                        reply(turn, at, &request, server)
                    },
                    |error| vec![error],
                );
                for delta in deltas {
                    run.handle(Time(0), Input::Delta(delta)).expect("a reply");
                }
                let closed = Input::ModelClosed(Close::Ended);
                run.handle(Time(0), closed).expect("its end");
            }
            Output::Start(start) => {
                let length = results.pop().unwrap_or(0);
                let outcome = Outcome::ok("r".repeat(length));
                run.handle(Time(0), Input::Done(start.id, outcome))
                    .expect("a result");
            }
            Output::Finished(summary) => return (summary, refused),
            Output::Event(_) | Output::Wait(_) | Output::CloseModel | Output::Cancel(_) => {}
            Output::Ask(question) => panic!("{question:?}"),
        }
    }
}

fn refusal(server: &Server, request: &Request) -> Option<Delta> {
    let prompt_tokens = tokens(&request.messages);
    (prompt_tokens > server.window).then(|| {
        let facts = Overflow {
            prompt_tokens: Some(prompt_tokens).filter(|_| server.says == Says::Both),
            context_window: Some(server.window),
        };
        let says = matches!(server.says, Says::Window | Says::Both);
        Delta::Error(
            ModelError::new(ModelErrorKind::ContextOverflow, "too long")
                .with_overflow(says.then_some(facts)),
        )
    })
}

fn reply(turn: Option<&Turn>, at: usize, request: &Request, server: &Server) -> Vec<Delta> {
    let text = match turn {
        Some(turn) => {
            let calls = 0..turn.results.len();
            let calls: String = calls
                .map(|n| block(&format!("Read:t{at}_{n}"), &[]))
                .collect();
            "s".repeat(turn.says) + "\n" + &calls
        }
        None => "done".to_owned(),
    };
    let usage = (server.says != Says::Nothing)
        .then(|| Usage::default().input_tokens(tokens(&request.messages)));
    let stop_reason = StopReason::Stop;
    vec![Delta::text(text), Delta::MessageEnd { stop_reason, usage }]
}

proptest! {
    /// Any turns, any server, any window that holds the system prompt and the last message of the user.
    #[test]
    fn a_run_completes_in_every_window_that_holds_its_fixed_part(
        turns in prop::collection::vec(turn(), 1..12),
        says in prop_oneof![Just(Says::Nothing), Just(Says::Usage), Just(Says::Window), Just(Says::Both)],
        knows in any::<bool>(),
        room in 0..3_000_u64,
        system in 0..4_000_usize,
        keep_recent_turns in 0..8_u32,
        summarises in any::<bool>(),
    ) {
        let mut config = RunConfig {
            system: Some("x".repeat(system)),
            max_iterations: 40,
            ..RunConfig::default()
        };
        let registry = Script::default().gadget(gadget("Read")).plan().registry().clone();
        let plan = config.clone().plan(registry).expect("it is valid");
        let mut run = Run::ask(&plan, "Go");
        let Output::Send(first) = std::iter::repeat_with(|| run.poll())
            .find(|output| matches!(output, Output::Send(_)))
            .expect("a request")
        else { unreachable!() };
        // The system prompt, the longest message of the user, and a notice.
        let window = tokens(&first.messages) + 500 / 3 + 40 + room;
        config.context_window = knows.then_some(window);
        config.compaction = Some(Compaction {
            keep_recent_turns,
            strategy: if summarises { CompactionStrategy::Hybrid } else { CompactionStrategy::SlidingWindow },
            ..Compaction::default()
        });
        let (end, refused) = play(&config, &Server { window, says }, &turns);
        prop_assert_eq!(end.reason, FinishReason::Completed, "{:?}, {} refused", end.error, refused);
        prop_assert_eq!(end.answer, "done");
    }
}

/// Without room for the system prompt the error says so, and what helps.
#[test]
fn the_error_says_what_does_not_fit() {
    for (system, user, off, expected) in [
        (
            4_000,
            10,
            false,
            "too long; the conversation has about 1348 tokens of a context window of 700, 1340 of them in the system text; \
             offer fewer gadgets or shorten the system text, or use a larger context window",
        ),
        (
            100,
            4_000,
            false,
            "too long; the conversation has about 1378 tokens of a context window of 700, 39 of them in the system text; \
             shorten the last message, or use a larger context window",
        ),
        (
            100,
            4_000,
            true,
            "too long; the conversation has about 1378 tokens of a context window of 700, 39 of them in the system text; \
             compaction is off: enable it, or begin a new conversation",
        ),
    ] {
        let config = RunConfig {
            system: Some("x".repeat(system)),
            compaction: (!off).then(Compaction::default),
            ..RunConfig::default()
        };
        let plan = config
            .plan(gadgetry_proto::schema::Registry::default())
            .expect("valid");
        let mut run = Run::new(&plan, vec![Message::text(Role::User, "y".repeat(user))]);
        let server = Server {
            window: 700,
            says: Says::Both,
        };
        let end = loop {
            match run.poll() {
                Output::Send(request) => {
                    let error = refusal(&server, &request).expect("too long");
                    run.handle(Time(0), Input::Delta(error)).expect("an error");
                    let closed = Input::ModelClosed(Close::Ended);
                    run.handle(Time(0), closed).expect("its end");
                }
                Output::Finished(summary) => break summary,
                Output::Event(_)
                | Output::Wait(_)
                | Output::CloseModel
                | Output::Start(_)
                | Output::Cancel(_)
                | Output::Ask(_) => {}
            }
        };
        assert_eq!(end.reason, FinishReason::ModelError);
        assert_eq!(end.error.map(|it| it.message).as_deref(), Some(expected));
    }
}
