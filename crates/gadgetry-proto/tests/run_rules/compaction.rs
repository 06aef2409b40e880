//! A conversation that becomes too long is made less, once, and only if that helps.

use gadgetry_proto::convo::compaction::Compaction;
use gadgetry_proto::convo::{TokenEstimate, prompt_text};
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::{ModelError, ModelErrorKind, Overflow};
use gadgetry_proto::event::{CompactionStrategy, EventKind};
use gadgetry_proto::id::BlockId;
use gadgetry_proto::message::{Attributes, Content, CustomContentBlock, Message, Purpose, Role};
use gadgetry_proto::run::{Command, Input, Output, Question, QuestionKind, Run};
use gadgetry_proto::tags::BlockConfig;
use gadgetry_proto::time::Time;
use gadgetry_proto::usage::{Price, Usage};

use crate::support::sim::script::{Finish, Piece, Reply, Script, block, gadget};
use crate::support::sim::{Log, drain, play};

/// A gadget that says much, and a model that asks for it `times` times.
pub(crate) fn talkative(times: usize, strategy: CompactionStrategy) -> Script {
    let talk = gadget("Talk").says(&"word ".repeat(200));
    let script = Script::default().gadget(talk).with(|spec| {
        spec.max_iterations = 50;
        spec.context_window = Some(4_000);
        spec.compaction = Some(Compaction {
            strategy,
            keep_recent_turns: 2,
            ..Compaction::default()
        });
    });
    (0..times).fold(script, |script, n| {
        script.reply(block(&format!("Talk:t{n}"), &[]))
    })
}

/// What each compaction took out, and how.
fn compactions(log: &Log) -> Vec<(CompactionStrategy, u32)> {
    let events = log.events().filter_map(|event| {
        let EventKind::Compaction(done) = &event.kind else {
            return None;
        };
        assert!(done.tokens_after < done.tokens_before, "{done:?}");
        Some((done.strategy, done.removed_turns))
    });
    events.collect()
}

fn requests(log: &Log) -> Vec<(Purpose, usize)> {
    let requests = log.all().filter_map(|output| {
        let Output::Send(request) = output else {
            return None;
        };
        Some((request.purpose, request.messages.len()))
    });
    requests.collect()
}

fn task_is_kept(history: &[Message]) {
    let task = Content::Text {
        text: "Go".to_owned(),
    };
    assert!(
        history
            .iter()
            .any(|message| message.content == [task.clone()])
    );
}

#[test]
fn the_oldest_turns_slide_out_of_the_window() {
    let log = play(&talkative(20, CompactionStrategy::SlidingWindow));
    let done = compactions(&log);
    assert!(done.len() > 1, "{done:?}");
    assert!(
        done.iter()
            .all(|(strategy, turns)| *strategy == CompactionStrategy::SlidingWindow && *turns > 0)
    );
    task_is_kept(&log.history);
    // Far less than without.
    let longest = requests(&log)
        .into_iter()
        .map(|(_, messages)| messages)
        .max();
    assert!(longest < Some(35), "{longest:?}");
}

#[test]
fn the_model_summarises_and_that_costs() {
    let price = Price::default().input(1e6).output(0.0);
    let summary = Reply {
        usage: Some(Usage::default().input_tokens(3)),
        ..Reply::stop(vec![Piece::Text("All said.".to_owned())])
    };
    let mut script = talkative(16, CompactionStrategy::Summary).with(|spec| {
        spec.price = Some(price);
    });
    // Where the summary is asked for is known from a run without one.
    let asked = requests(&play(&script));
    let at = asked
        .iter()
        .position(|(purpose, _)| *purpose == Purpose::Summary);
    script.replies.insert(at.expect("a summary"), summary);
    let log = play(&script);
    assert_eq!(compactions(&log)[0].0, CompactionStrategy::Summary);
    let summaries = log.events().filter_map(|event| {
        let EventKind::ModelCallEnd {
            purpose: Purpose::Summary,
            cost,
            ..
        } = &event.kind
        else {
            return None;
        };
        Some(*cost)
    });
    let summaries: Vec<f64> = summaries.flatten().collect();
    assert!((summaries[0] - 3.0).abs() < 1e-9, "{summaries:?}");
    let told = log.history.iter().flat_map(|message| &message.content);
    let summaries = told.filter(|content| matches!(content, Content::Summary { .. }));
    assert_eq!(summaries.count(), 1);
    task_is_kept(&log.history);
}

#[test]
fn a_failed_summary_removes_the_turns_without_one() {
    for finish in [
        Finish::Error("no".to_owned()),
        Finish::Disconnect,
        Finish::Length,
    ] {
        let mut script = talkative(16, CompactionStrategy::Summary);
        let asked = requests(&play(&script));
        let at = asked
            .iter()
            .position(|(purpose, _)| *purpose == Purpose::Summary);
        let summary = Reply::stop(vec![Piece::Text("Half a".to_owned())]);
        let summary = Reply { finish, ..summary };
        script.replies.insert(at.expect("a summary"), summary);
        let log = play(&script);
        assert_eq!(compactions(&log)[0].0, CompactionStrategy::SlidingWindow);
    }
}

#[test]
fn a_run_cancelled_during_a_summary_closes_the_model() {
    let mut script = talkative(16, CompactionStrategy::Summary);
    let asked = requests(&play(&script));
    let at = asked
        .iter()
        .position(|(purpose, _)| *purpose == Purpose::Summary);
    let slow = Reply::stop(vec![Piece::Pause(50), Piece::Text("Late".to_owned())]);
    script.replies.insert(at.expect("a summary"), slow);
    let log = play(&script.at(20, Command::Cancel));
    assert!(log.all().any(|output| *output == Output::CloseModel));
    assert!(compactions(&log).is_empty());
}

/// A reply that says that the conversation is too long.
fn overflow() -> Reply {
    refusal(None)
}

fn refusal(overflow: Option<Overflow>) -> Reply {
    let error = Delta::Error(
        ModelError::new(ModelErrorKind::ContextOverflow, "too long").with_overflow(overflow),
    );
    Reply {
        finish: Finish::Disconnect,
        ..Reply::stop(vec![Piece::Delta(error)])
    }
}

/// However often the model finds it too long, the conversation becomes shorter, until nothing more can go.
#[test]
fn an_overflow_is_recovered_from() {
    let no_window =
        || talkative(6, CompactionStrategy::SlidingWindow).with(|spec| spec.context_window = None);
    for (overflows, compacted) in [(1, 1), (2, 2), (3, 3)] {
        let script = (0..overflows).fold(no_window(), |script, _| script.replies(overflow()));
        let log = play(&script.reply("done"));
        assert_eq!(compactions(&log).len(), compacted, "{overflows}");
        assert_eq!(log.summary.answer, "done", "{overflows}");
    }
    // A server that refuses everything is believed in the end.
    let script = (0..30).fold(no_window(), |script, _| script.replies(overflow()));
    let log = play(&script);
    assert!(compactions(&log).len() < 10, "{:?}", compactions(&log));
    let error = log.summary.error.expect("it failed").message;
    let words = "too long; the conversation has about ";
    assert!(error.starts_with(words), "{error}");
}

/// What the model says of its window is kept: later requests fit it without another error.
#[test]
fn the_window_is_learned() {
    let mut script = talkative(1, CompactionStrategy::SlidingWindow).with(|spec| {
        spec.context_window = None;
    });
    for n in 0..4 {
        script = script.reply(block(&format!("Talk:u{n}"), &[]));
    }
    let overflow = Overflow {
        prompt_tokens: Some(1_200),
        context_window: Some(1_100),
    };
    script = script.replies(refusal(Some(overflow)));
    for n in 0..20 {
        script = script.reply(block(&format!("Talk:v{n}"), &[]));
    }
    let log = play(&script.reply("done"));
    assert_eq!(log.summary.answer, "done");
    assert!(compactions(&log).len() > 3, "{:?}", compactions(&log));
    let requests = log.requests();
    let longest = requests.iter().skip(6).map(|request| {
        let tokens = TokenEstimate::of(&request.messages).tokens();
        assert!(tokens < 1_100, "{tokens}");
        tokens
    });
    assert!(longest.max() > Some(300));
}

/// Any other error is left alone, whatever its words.
#[test]
fn other_errors_are_not_overflows() {
    let error = Delta::Error(ModelError::new(
        ModelErrorKind::BadRequest,
        "400: maximum context length",
    ));
    let reply = Reply {
        finish: Finish::Disconnect,
        ..Reply::stop(vec![Piece::Delta(error)])
    };
    let log = play(&talkative(6, CompactionStrategy::SlidingWindow).replies(reply));
    assert!(compactions(&log).is_empty());
}

#[test]
fn compaction_on_request() {
    let pause = Reply::stop(vec![Piece::Pause(10), Piece::Text(block("Talk:x", &[]))]);
    let script = talkative(6, CompactionStrategy::SlidingWindow)
        .with(|spec| spec.context_window = None)
        .replies(pause)
        .at(5, Command::Compact);
    assert_eq!(compactions(&play(&script)).len(), 1);
}

/// A command before anything of the first reply was read is about the first request.
#[test]
fn compaction_before_the_first_request() {
    let mut script = talkative(0, CompactionStrategy::SlidingWindow);
    let old = (0..8).map(|n| Message::text(Role::Assistant, format!("{n} ").repeat(200)));
    script.conversation.extend(old);
    script.conversation.push(Message::text(Role::User, "Go on"));
    let check = |script: &Script, expected: &[&str]| {
        let mut run = Run::new(&script.plan(), script.conversation.clone());
        drain(&mut run);
        run.handle(Time(0), Input::Command(Command::Compact))
            .expect("a command");
        let outputs = drain(&mut run)
            .into_iter()
            .filter_map(|output| match output {
                Output::CloseModel => Some("closed".to_owned()),
                Output::Send(request) => Some(format!("{} messages", request.messages.len())),
                Output::Ask(Question {
                    kind: QuestionKind::BeforeCompaction { trigger, .. },
                    ..
                }) => Some(format!("asked: {trigger:?}")),
                Output::Event(event) => {
                    let EventKind::Compaction(done) = event.kind else {
                        return None;
                    };
                    Some(format!("{} removed", done.removed_turns))
                }
                Output::Ask(_)
                | Output::Start(_)
                | Output::Cancel(_)
                | Output::Wait(_)
                | Output::Finished(_) => None,
            });
        assert_eq!(outputs.collect::<Vec<_>>(), expected);
    };
    check(&script, &["closed", "5 removed", "7 messages"]);
    let asked = script
        .clone()
        .with(|spec| spec.asks.before_compaction = true);
    check(&asked, &["closed", "asked: Manual"]);
    // Nothing can go.
    script.conversation.truncate(1);
    check(&script, &[]);
}

#[test]
fn token_counts_of_the_provider_are_used() {
    let counted = |input_tokens| {
        let mut script = talkative(1, CompactionStrategy::SlidingWindow);
        for n in 0..6 {
            let mut reply = Reply::stop(vec![Piece::Text(block(&format!("Talk:u{n}"), &[]))]);
            reply.usage = Some(Usage::default().input_tokens(input_tokens));
            reply.pieces.push(Piece::Delta(Delta::MessageEnd {
                stop_reason: StopReason::Stop,
                usage: None,
            }));
            script = script.replies(reply);
        }
        compactions(&play(&script)).len()
    };
    assert_eq!(counted(0), 0);
    assert!(counted(3_900) > 0);
}

/// The request for a summary has the instructions and the turns that go, with custom blocks under the names of their tags.
#[test]
fn the_request_for_a_summary_has_the_turns() {
    let block = CustomContentBlock {
        block_id: BlockId(1),
        tag: "plan".to_owned(),
        content: "Paint it ".repeat(50),
        attrs: Attributes::new(),
        self_closing: false,
    };
    let mut config = BlockConfig::new("plan");
    config.tag = Some("x-plan".to_owned());
    let mut script =
        talkative(1, CompactionStrategy::Summary).with(|spec| spec.custom_blocks.push(config));
    let turn = Message::new(Role::Assistant, vec![Content::Custom(block)]);
    script.conversation.extend(vec![turn; 40]);
    script.conversation.push(Message::text(Role::User, "Go on"));
    let log = play(&script);
    let summaries: Vec<String> = log
        .requests()
        .into_iter()
        .filter(|request| request.purpose == Purpose::Summary)
        .map(|request| request.messages.iter().map(prompt_text).collect())
        .collect();
    assert!(!summaries.is_empty());
    let with_turns = summaries
        .iter()
        .filter(|text| text.contains("Assistant:\n"));
    assert_eq!(with_turns.count(), summaries.len(), "{summaries:#?}");
    assert!(
        summaries[0].contains("<x-plan>Paint it "),
        "{}",
        summaries[0]
    );
}
