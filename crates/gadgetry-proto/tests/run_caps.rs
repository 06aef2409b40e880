//! The caps on sums: what a run keeps of a reply and of results stays within `limits`, whatever comes.

use std::sync::Arc;

use allocation_counter::measure;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::event::EventKind;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::message::{Content, Message};
use gadgetry_proto::reply::StopEarly;
use gadgetry_proto::run::{Close, Input, Output, Plan, Run, RunConfig, Tools};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use gadgetry_proto::tags::BlockConfig;
use gadgetry_proto::time::Time;
use gadgetry_proto::usage::{Price, Usage};
use serde_json::json;

const MIB: usize = 1 << 20;

/// A reply, delta by delta.
type Endless = Box<dyn Fn(usize) -> Delta>;
/// The same, borrowed.
type Piece<'a> = &'a dyn Fn(usize) -> Delta;
/// A reply with so many calls.
type Reply<'a> = &'a dyn Fn(usize) -> Vec<Delta>;

fn config(limits: Limits, tools: Tools) -> RunConfig {
    RunConfig {
        custom_blocks: vec![BlockConfig::new("a")],
        max_iterations: 2,
        limits,
        tools,
        // Replies of these tests repeat themselves, because only their size matters.
        stop_early: StopEarly::NEVER,
        ..RunConfig::default()
    }
}

fn plan(config: RunConfig) -> Arc<Plan> {
    let echo = GadgetSpec {
        name: "Echo".to_owned(),
        parameters: json!({ "type": "object", "properties": { "list": { "type": "array" }, "text": {} } }),
        ..GadgetSpec::default()
    };
    let registry = Registry::new([echo]).expect("it is a gadget");
    config.plan(registry).expect("the tag is one")
}

/// What came of one reply.
#[derive(Default)]
struct Played {
    /// Ids of the gadgets that were started.
    started: Vec<String>,
    diagnostics: Vec<String>,
    /// Why the model stopped, by the event at the end of the call.
    stops: Vec<StopReason>,
    /// How often the stream was closed by the run.
    closed: usize,
    /// What the model reads next.
    told: Vec<String>,
    /// Deltas that were read before the run closed the stream.
    read: usize,
}

/// Plays one reply, in which every gadget gives `result`, up to the next request.
#[expect(clippy::wildcard_enum_match_arm, reason = "only some outputs matter")]
fn play(config: RunConfig, reply: impl IntoIterator<Item = Delta>, result: &str) -> Played {
    let mut run = Run::ask(&plan(config), "go");
    let mut played = Played::default();
    let end = Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: None,
    };
    let mut inputs = reply.into_iter().chain([end]).map(Input::Delta);
    let mut closing = Some(Input::ModelClosed(Close::Ended));
    let mut done = Vec::new();
    let mut requests = 0;
    loop {
        match run.poll() {
            Output::Send(request) => {
                requests += 1;
                if requests == 2 {
                    played.told = request.messages.last().map(texts).unwrap_or_default();
                    return played;
                }
            }
            Output::CloseModel => {
                played.closed += 1;
                closing = None;
            }
            Output::Start(start) => {
                played.started.push(start.invocation_id.as_str().to_owned());
                done.push(Input::Done(start.id, Outcome::ok(result)));
            }
            Output::Event(event) => match event.kind {
                EventKind::Diagnostic(diagnostic) => played.diagnostics.push(diagnostic.message),
                EventKind::ModelCallEnd { stop_reason, .. } => played.stops.push(stop_reason),
                _ => {}
            },
            Output::Finished(_) => return played,
            Output::Wait(_) => {
                let reading = closing.is_some();
                let next = if reading { inputs.next() } else { None };
                played.read += usize::from(next.is_some());
                let next = next.or_else(|| closing.take()).or_else(|| done.pop());
                run.handle(Time(0), next.expect("there is more to come"))
                    .expect("inputs make sense");
            }
            _ => {}
        }
    }
}

fn texts(message: &Message) -> Vec<String> {
    let each = message.content.iter();
    each.filter_map(|content| {
        if let Content::Text { text } | Content::GadgetResult { text, .. } = content {
            Some(text.clone())
        } else {
            None
        }
    })
    .collect()
}

fn reasoning(text: &str) -> Delta {
    Delta::Reasoning {
        delta: text.to_owned(),
        metadata: None,
    }
}

fn native_start(n: usize) -> Delta {
    Delta::ToolCallStart {
        id: format!("c{n}"),
        name: "Echo".to_owned(),
    }
}

/// Replies without an end. Each is cut, the stream is closed, an open block is not executed.
#[test]
fn an_endless_reply_is_cut() {
    let limits = Limits {
        reply: 100_000,
        ..Limits::default()
    };
    let whole = "!!!GADGET_START:Echo:whole\n!!!GADGET_END\n";
    let open = "!!!GADGET_START:Echo:open\n!!!ARG:text\n";
    let piece = "one two three four five ".repeat(40);
    let more = piece.clone();
    let arguments = move |n: usize| Delta::ToolCallDelta {
        id: "c0".to_owned(),
        delta: if n == 1 {
            "{\"text\":\"".to_owned()
        } else {
            more.clone()
        },
    };
    let rows: Vec<(&str, Tools, Endless, &[&str])> = vec![
        (
            "prose",
            Tools::Text,
            Box::new(|_| Delta::text("one two three four five ".repeat(40))),
            &[],
        ),
        (
            "one byte a delta",
            Tools::Text,
            Box::new(|_| Delta::text("x")),
            &[],
        ),
        (
            "whitespace",
            Tools::Text,
            Box::new(|_| Delta::text("\n".repeat(900))),
            &[],
        ),
        (
            "reasoning",
            Tools::Text,
            Box::new(|_| reasoning(&"one two three four five ".repeat(40))),
            &[],
        ),
        (
            "both by turns",
            Tools::Text,
            Box::new(|n| {
                if n % 2 == 0 {
                    reasoning("h")
                } else {
                    Delta::text("t")
                }
            }),
            &[],
        ),
        ("tags", Tools::Text, Box::new(|_| Delta::text("<a/>")), &[]),
        (
            "errors",
            Tools::Text,
            Box::new(|_| Delta::error("again")),
            &[],
        ),
        (
            "an open block",
            Tools::Text,
            {
                let (whole, open) = (whole.to_owned(), open.to_owned());
                let piece = piece.clone();
                Box::new(move |n| {
                    Delta::text(match n {
                        0 => whole.as_str(),
                        1 => open.as_str(),
                        _ => piece.as_str(),
                    })
                })
            },
            &["whole"],
        ),
        (
            "native arguments",
            Tools::Native,
            {
                Box::new(move |n| {
                    if n == 0 {
                        native_start(0)
                    } else {
                        arguments(n)
                    }
                })
            },
            &[],
        ),
        ("native calls", Tools::Native, Box::new(native_start), &[]),
    ];
    for (name, tools, delta, started) in rows {
        let reply = (0..1_000_000).map(delta);
        let played = play(config(limits.clone(), tools), reply, "ok");
        assert_eq!(played.closed, 1, "{name}");
        assert!(played.read < 110_000, "{name}: {}", played.read);
        assert_eq!(played.started, started, "{name}");
        let message = "Limit exceeded: a reply may have at most 100000 bytes";
        assert!(played.diagnostics.iter().any(|it| it == message), "{name}");
        let not_executed = played.told.iter().filter(|it| it.contains("not executed"));
        if name.contains("open") || name.contains("arguments") {
            assert_eq!(not_executed.count(), 1, "{name}: {:?}", played.told);
        }
    }
}

/// The cap is a number of bytes, wherever the reply is cut into deltas.
#[test]
fn where_a_reply_is_cut_does_not_depend_on_the_deltas() {
    let limits = Limits {
        reply: 1_000,
        ..Limits::default()
    };
    let text = "aé€😀".repeat(400);
    let answer = |size: usize| {
        let pieces = text.as_bytes().chunks(size * 10);
        let deltas = pieces.map(|piece| Delta::text(String::from_utf8_lossy(piece)));
        let mut run = Run::ask(&plan(config(limits.clone(), Tools::Text)), "go");
        for delta in deltas {
            if run.handle(Time(0), Input::Delta(delta)).is_err() {
                break;
            }
            while !matches!(run.poll(), Output::Wait(_) | Output::Finished(_)) {}
        }
        run.history()
            .last()
            .and_then(|it| it.raw.clone())
            .unwrap_or_default()
    };
    let whole = answer(1_000);
    assert_eq!(whole.len(), 1_000);
    for size in [1, 7, 50, 99] {
        assert_eq!(answer(size), whole, "{size}");
    }
}

#[test]
fn calls_past_the_cap_are_answered_in_one_line() {
    let limits = Limits {
        calls_per_reply: 2,
        ..Limits::default()
    };
    let note = |count: &str| {
        format!(
            "Error: {count} not executed. Limit exceeded: a reply may have at most 2 gadget calls"
        )
    };
    let blocks = |count: usize| {
        vec![Delta::text(
            "!!!GADGET_START:Echo\n!!!GADGET_END\n".repeat(count),
        )]
    };
    let native = |count: usize| {
        let calls = (0..count).flat_map(|n| {
            let id = format!("c{n}");
            [native_start(n), Delta::ToolCallEnd { id, input: None }]
        });
        calls.collect()
    };
    for (tools, reply) in [
        (Tools::Text, &blocks as Reply<'_>),
        (Tools::Native, &native),
    ] {
        for (count, more) in [
            (2, None),
            (3, Some("1 further call was")),
            (5_000, Some("4998 further calls were")),
        ] {
            let played = play(config(limits.clone(), tools), reply(count), "ok");
            assert_eq!(played.started.len(), 2, "{tools:?} {count}");
            let expected: Vec<String> = ["ok", "ok"]
                .map(str::to_owned)
                .into_iter()
                .chain(more.map(note))
                .collect();
            assert_eq!(played.told, expected, "{tools:?} {count}");
            assert_eq!(played.diagnostics.len(), usize::from(more.is_some()));
        }
    }
}

#[test]
fn json_values_are_counted_across_the_calls_of_a_reply() {
    let limits = Limits {
        json_values: 50,
        ..Limits::default()
    };
    let list = format!("[{}0]", "0,".repeat(29));
    let block =
        |id: &str| format!("!!!GADGET_START:Echo:{id}\n!!!ARG:list\n{list}\n!!!GADGET_END\n");
    let blocks = vec![Delta::text(block("c0") + &block("c1"))];
    let native = |n: usize| {
        let input = Some(json!({ "list": vec![0; 30] }));
        [
            native_start(n),
            Delta::ToolCallEnd {
                id: format!("c{n}"),
                input,
            },
        ]
    };
    let native = native(0).into_iter().chain(native(1)).collect();
    for (tools, reply) in [(Tools::Text, blocks), (Tools::Native, native)] {
        let played = play(config(limits.clone(), tools), reply, "ok");
        assert_eq!(played.started, ["c0"], "{tools:?}");
        let told = &played.told[1];
        let words = "Limit exceeded: the parameters of a reply may have at most 50 JSON values";
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn results_are_counted_across_the_calls_of_a_reply() {
    let block = |id: &str, value: &str| {
        format!("!!!GADGET_START:Echo:{id}:e\n!!!ARG:text\n{value}\n!!!GADGET_END\n")
    };
    let result = "x".repeat(40_000);
    // What is put into parameters.
    let reply = block("e", "").replace(":e:e", ":e")
        + &(0..5)
            .map(|n| block(&format!("d{n}"), "${e}"))
            .collect::<String>();
    let limits = Limits {
        references: 100_000,
        ..Limits::default()
    };
    let played = play(config(limits, Tools::Text), [Delta::text(&reply)], &result);
    assert_eq!(played.started, ["e", "d0", "d1"]);
    let words = "Error: Limit exceeded: the results in the parameters of a reply may have at most 100000 bytes";
    assert_eq!(played.told[3..], [words; 3]);
    // What comes back.
    let reply = "!!!GADGET_START:Echo\n!!!GADGET_END\n".repeat(5);
    let limits = Limits {
        results: 100_000,
        ..Limits::default()
    };
    let played = play(
        config(limits.clone(), Tools::Text),
        [Delta::text(&reply)],
        &result,
    );
    assert_eq!(played.started.len(), 5);
    let dropped = played.told.iter().filter(|it| {
        it.as_str()
            == "Error: The gadget ran, but its result of 40000 bytes was dropped. \
                Limit exceeded: the results of a run may have at most 100000 bytes"
    });
    assert_eq!(dropped.count(), 3, "{:?}", played.told);
}

/// Memory for replies of any length is that for the cap.
#[test]
fn an_endless_reply_takes_no_more_memory_than_the_cap() {
    let limits = Limits {
        reply: MIB,
        ..Limits::default()
    };
    let tool_delta = |_| Delta::ToolCallDelta {
        id: "c0".to_owned(),
        delta: "x".repeat(1 << 10),
    };
    let rows: [(&str, Tools, Piece<'_>); 6] = [
        ("prose", Tools::Text, &|_| {
            Delta::text("one two three four five ".repeat(1 << 10))
        }),
        ("reasoning", Tools::Text, &|_| {
            reasoning(&"one two three four five ".repeat(512))
        }),
        ("tags", Tools::Text, &|_| {
            Delta::text("<a/>".repeat(4 << 10))
        }),
        ("by turns", Tools::Text, &|n| {
            if n % 2 == 0 {
                reasoning("h")
            } else {
                Delta::text("t")
            }
        }),
        ("calls", Tools::Text, &|_| {
            Delta::text("!!!GADGET_START:E\n!!!GADGET_END\n".repeat(1 << 10))
        }),
        ("arguments", Tools::Native, &|n| {
            if n == 0 {
                native_start(0)
            } else {
                tool_delta(n)
            }
        }),
    ];
    for (name, tools, delta) in rows {
        let config = config(limits.clone(), tools);
        let info = measure(|| {
            play(config.clone(), (0..20_000).map(delta), "ok");
        });
        assert!(
            info.bytes_max < 40 * MIB as u64,
            "{name}: {} MiB",
            info.bytes_max / MIB as u64
        );
    }
}

/// A server that reports one token for any reply does not make it cheap; a report that is plausible is believed.
#[test]
#[expect(clippy::wildcard_enum_match_arm, reason = "only some outputs matter")]
fn a_usage_report_with_too_few_tokens_is_replaced_by_an_estimate() {
    let text = "x".repeat(40_000);
    for (reported, counted) in [(1, 10_000), (311, 10_000), (313, 313), (20_000, 20_000)] {
        let mut config = config(Limits::default(), Tools::Text);
        config.price = Some(Price::default().output(1.0));
        let usage = Usage::default().input_tokens(7).output_tokens(reported);
        let mut run = Run::ask(&plan(config), "go");
        let end = Delta::MessageEnd {
            stop_reason: StopReason::Stop,
            usage: Some(usage),
        };
        let mut used = None;
        let inputs = [
            Input::Delta(Delta::text(&text)),
            Input::Delta(end),
            Input::ModelClosed(Close::Ended),
        ];
        for input in inputs {
            while !matches!(run.poll(), Output::Wait(_)) {}
            run.handle(Time(0), input).expect("the reply is being read");
        }
        loop {
            match run.poll() {
                Output::Event(event) => {
                    if let EventKind::ModelCallEnd { usage, .. } = event.kind {
                        used = Some(usage);
                    }
                }
                Output::Finished(_) => break,
                _ => {}
            }
        }
        let used = used.expect("the call ended");
        let found = (used.input_tokens, used.output_tokens, used.estimated);
        assert_eq!(found, (7, counted, counted != reported), "{reported}");
        assert!(!used.estimated || used.total_tokens == 7 + counted);
    }
}

/// A server that reports nothing about a reply with text is not believed either; about an empty reply it may be right.
#[test]
#[expect(clippy::wildcard_enum_match_arm, reason = "only some outputs matter")]
fn a_missing_usage_report_is_estimated() {
    for (text, output) in [("x".repeat(40_000), 10_000), (String::new(), 0)] {
        let mut config = config(Limits::default(), Tools::Text);
        config.price = Some(Price::default());
        let mut run = Run::ask(&plan(config), &"go ".repeat(100));
        let mut input = 0;
        let mut used = None;
        let inputs = [
            Input::Delta(Delta::text(&text)),
            Input::ModelClosed(Close::Ended),
        ];
        let mut inputs = inputs.into_iter();
        loop {
            match run.poll() {
                Output::Send(request) => input = TokenEstimate::of(&request.messages).tokens(),
                Output::Event(event) => {
                    if let EventKind::ModelCallEnd { usage, .. } = event.kind {
                        used = Some((usage.input_tokens, usage.output_tokens));
                    }
                }
                Output::Wait(_) => {
                    let next = inputs.next().expect("the reply ends");
                    run.handle(Time(0), next).expect("the reply is being read");
                }
                Output::Finished(_) => break,
                _ => {}
            }
        }
        let input = if output > 0 { input } else { 0 };
        assert_eq!(used, Some((input, output)), "{} bytes", text.len());
    }
}
