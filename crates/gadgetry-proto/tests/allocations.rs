//! What streaming takes from the allocator: nothing for a piece of prose, and no more for a long reply than for a short.

use allocation_counter::{AllocationInfo, measure};
use gadgetry_proto::block::Markers;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::{Format, Pipeline, ReplyEvent, ReplyStage, Scanner};
use gadgetry_proto::run::{Input, Output, Run, RunConfig};
use gadgetry_proto::schema::Registry;
use gadgetry_proto::time::Time;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Prose with much that makes the scanner stop or hold a byte: signs that begin markers and tags, whitespace.
const PROSE: &str = "The fox, if p < q && q > r, is quick! It said:\n\n  A second \\ paragraph says <b>so</b>: \
    \u{201c}Quite so,\u{201d} and </think> `<` \u{e9}\u{6f22}\u{1f642}\n\t\nWow! < 3 ! The end. ";

fn scanner() -> Scanner {
    let format = Format {
        markers: Some(Markers::default()),
        tags: vec!["think".to_owned()],
        limits: Limits {
            block: 64 * MIB,
            value: 64 * MIB,
            tag_content: 64 * MIB,
            ..Limits::default()
        },
        ..Format::default()
    };
    Scanner::new(&format).expect("names are names")
}

fn chunks(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let at = rest
            .floor_char_boundary(size)
            .max(rest.ceil_char_boundary(1));
        let (chunk, tail) = rest.split_at(at);
        rest = tail;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// What it takes to push `text` `times` times in pieces of this size; everything must come out as streamed text.
fn stream(scanner: &mut Scanner, text: &str, size: usize, times: usize) -> AllocationInfo {
    let mut seen = 0;
    let info = measure(|| {
        let mut events = |event: ReplyEvent<'_>| match event {
            ReplyEvent::Text(delta)
            | ReplyEvent::Argument { delta, .. }
            | ReplyEvent::TagDelta { delta, .. } => {
                seen += delta.len();
            }
            ReplyEvent::CallStart(_)
            | ReplyEvent::Call(_)
            | ReplyEvent::TagStart { .. }
            | ReplyEvent::TagEnd { .. }
            | ReplyEvent::Tag { .. }
            | ReplyEvent::Diagnostic(_) => {}
        };
        for _ in 0..times {
            for chunk in chunks(text, size) {
                scanner.push(chunk, &mut events);
            }
        }
    });
    // The end may be held: it may become a marker.
    assert!(seen + 256 >= text.len() * times, "{seen} bytes");
    info
}

#[test]
fn prose_allocates_nothing_for_a_delta() {
    for text in [PROSE, "Plain words and nothing else. "] {
        let long = text.repeat(256 * KIB / text.len());
        for size in [1, 4, 7, 64, 4 * KIB, 64 * KIB] {
            let mut scanner = scanner();
            // What is held finds its room once.
            stream(&mut scanner, &long, size, 1);
            let info = stream(&mut scanner, &long, size, 1);
            assert_eq!(info.count_total, 0, "{size}-byte pieces of {text:?}");
        }
    }
}

#[test]
fn memory_is_constant_while_64_mib_stream() {
    let text = PROSE.repeat(64 * KIB / PROSE.len());
    for size in [64, 4 * KIB, 64 * KIB] {
        let mut scanner = scanner();
        let info = stream(&mut scanner, &text, size, 64 * MIB / text.len());
        assert!(info.bytes_max <= 4 * KIB as u64, "{size}: {info:?}");
        assert!(info.count_total <= 8, "{size}: {info:?}");
    }
}

/// A word that may become a marker or a tag is held, and a near miss is told with a message: that costs something for
/// the word, but nothing for the text around it, and nothing stays.
#[test]
fn near_misses_cost_only_themselves() {
    let words = [
        ("!!!GADGET_STAR", 21),
        ("!!GADGET_START:no", 8),
        ("<thin", 4),
        ("!!!", 2),
    ];
    for (word, most) in words {
        let text = format!("{word} {PROSE}");
        let long = text.repeat(100);
        for size in [1, 4, 64, 4 * KIB] {
            let mut scanner = scanner();
            stream(&mut scanner, &text, 1, 2);
            let info = stream(&mut scanner, &long, size, 1);
            // The cap on near misses is told once, with a message, too.
            let cap = 8;
            assert!(
                info.count_total <= 100 * most + cap,
                "{word}, {size}: {info:?}"
            );
            assert!(info.bytes_max <= 4 * KIB as u64, "{word}, {size}: {info:?}");
        }
    }
}

/// A value and the content of a tag are also told whole, so they are kept; their room doubles when it is full.
#[test]
fn a_delta_of_what_is_kept_allocates_only_now_and_then() {
    for opener in ["!!!GADGET_START:Write\n!!!ARG:text\n", "<think>"] {
        let text = "Plain words and nothing else. ".repeat(MIB / 30);
        for size in [4, 64, 4 * KIB] {
            let mut scanner = scanner();
            scanner.push(opener, &mut |_| {});
            let info = stream(&mut scanner, &text, size, 1);
            assert!(info.count_total <= 64, "{opener:?}, {size}: {info:?}");
            assert!(
                info.bytes_max <= 4 * MIB as u64,
                "{opener:?}, {size}: {info:?}"
            );
        }
    }
}

/// One thousand tokens of a model, in which nothing begins or ends.
fn tokens() -> Vec<Delta> {
    let words = ["one ", "two ", "three ", "four ", "five "];
    words
        .iter()
        .cycle()
        .take(1000)
        .map(|it| Delta::text(*it))
        .collect()
}

/// Without transforms a text is moved through the pipeline.
#[test]
fn a_text_passes_the_pipeline_without_a_copy() {
    let format = Format {
        markers: Some(Markers::default()),
        ..Format::default()
    };
    let stage = ReplyStage::new(format, Vec::new(), None).expect("there are no tags");
    let mut pipeline = Pipeline::new(stage, []);
    let (deltas, mut out) = (tokens(), Vec::with_capacity(2000));
    let info = measure(|| {
        for delta in deltas {
            pipeline.push(delta, &mut out);
        }
    });
    assert_eq!(out.len(), 1000);
    assert_eq!(info.count_total, 0, "{info:?}");
}

/// Of a text an event owns what the delta owned; what is kept of it is one text that grows.
#[test]
fn a_text_passes_a_run_without_a_copy() {
    let plan = RunConfig::default().plan(Registry::default());
    let mut run = Run::ask(&plan.expect("there are no tags"), "Hello");
    let drain = |run: &mut Run| {
        let mut events = 0;
        loop {
            let output = run.poll();
            if matches!(output, Output::Wait(_)) {
                return events;
            }
            events += usize::from(matches!(output, Output::Event(_)));
        }
    };
    drain(&mut run);
    let (deltas, mut texts) = (tokens(), 0);
    let info = measure(|| {
        for delta in deltas {
            run.handle(Time(0), Input::Delta(delta))
                .expect("a reply is read");
            texts += drain(&mut run);
        }
    });
    assert_eq!(texts, 1000);
    assert!(info.count_total <= 40, "{info:?}");
}
