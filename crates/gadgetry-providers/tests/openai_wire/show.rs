//! Deltas as short text, so that a case of a table is one line.

use std::fmt::Write as _;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::ModelError;
use gadgetry_proto::usage::Usage;
use gadgetry_providers::{Decode, FrameLimits, ResponseDecoder, openai};

/// Deltas, one after the other, neighbours of a kind joined: `start m | text Hi | stop stop 3+2`.
pub(crate) fn show(deltas: &[Delta]) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut before = String::new();
    for delta in deltas {
        let (kind, text) = one(delta);
        match shown.last_mut().filter(|_| joins(&kind) && kind == before) {
            Some(last) => last.push_str(&text),
            None => shown.push(format!("{kind}{text}")),
        }
        before = kind;
    }
    shown.join(" | ")
}

fn joins(kind: &str) -> bool {
    ["text ", "think ", "args "]
        .iter()
        .any(|it| kind.starts_with(it))
}

fn one(delta: &Delta) -> (String, String) {
    let (kind, text) = match delta {
        Delta::Text { delta, .. } => ("text ".to_owned(), delta.clone()),
        Delta::Reasoning { delta, .. } => ("think ".to_owned(), delta.clone()),
        Delta::ToolCallStart { id, name } => (format!("call {id} {name}"), String::new()),
        Delta::ToolCallDelta { id, delta } => (format!("args {id} "), delta.clone()),
        Delta::ToolCallEnd { id, input } => {
            assert_eq!(*input, None);
            (format!("end {id}"), String::new())
        }
        Delta::MessageStart { model } => (
            "start".to_owned(),
            model.as_ref().map_or(String::new(), |it| format!(" {it}")),
        ),
        Delta::MessageEnd { stop_reason, usage } => {
            let word = match stop_reason {
                StopReason::Other(word) => format!("other({word})"),
                known => serde_json::to_value(known)
                    .unwrap()
                    .as_str()
                    .unwrap()
                    .to_owned(),
            };
            (
                format!("stop {word}"),
                usage.map_or(String::new(), |it| format!(" {}", counts(&it))),
            )
        }
        Delta::Usage { usage } => (format!("usage {}", counts(usage)), String::new()),
        Delta::Error(ModelError {
            message: error,
            kind,
            ..
        }) => (format!("error {kind:?}: "), error.clone()),
        Delta::Raw { data } => (format!("raw {data}"), String::new()),
        other => (serde_json::to_string(other).unwrap(), String::new()),
    };
    (kind, text)
}

/// `input+output`, then what else there is.
pub(crate) fn counts(usage: &Usage) -> String {
    let mut text = format!("{}+{}", usage.input_tokens, usage.output_tokens);
    if usage.total_tokens != usage.input_tokens + usage.output_tokens {
        _ = write!(text, "={}", usage.total_tokens);
    }
    for (name, count) in [
        ("cached", usage.cached_input_tokens),
        ("written", usage.cache_creation_tokens),
        ("reasoning", usage.reasoning_tokens),
    ] {
        if count > 0 {
            _ = write!(text, " {name} {count}");
        }
    }
    if let Some(dollars) = usage.cost {
        _ = write!(text, " ${dollars}");
    }
    text
}

/// What is read of a body in pieces of the sizes that `sizes` gives.
pub(crate) fn read(body: &[u8], raw: bool, sizes: impl FnMut() -> usize) -> Vec<Delta> {
    read_by(Box::new(openai::Decoder::new()), body, raw, sizes)
}

fn read_by(
    decoder: Box<dyn Decode>,
    body: &[u8],
    raw: bool,
    mut sizes: impl FnMut() -> usize,
) -> Vec<Delta> {
    let mut answer = ResponseDecoder::new(decoder).frames(FrameLimits {
        raw,
        ..FrameLimits::default()
    });
    let mut deltas = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(sizes().clamp(1, rest.len()));
        answer.feed(piece, &mut deltas);
        rest = after;
    }
    answer.end(None, &mut deltas);
    assert!(answer.is_over());
    deltas
}

/// Holds what `body` gives against `expected`, on many cuts.
#[track_caller]
pub(crate) fn check(name: &str, body: impl AsRef<[u8]>, expected: &str) {
    check_by(
        || Box::new(openai::Decoder::new()),
        name,
        body.as_ref(),
        expected,
    );
}

/// [`check`] with the decoder of any API.
#[track_caller]
pub(crate) fn check_by(decoder: fn() -> Box<dyn Decode>, name: &str, body: &[u8], expected: &str) {
    for size in [usize::MAX, 1, 7] {
        assert_eq!(
            show(&read_by(decoder(), body, false, || size)),
            expected,
            "{name}, pieces of {size}"
        );
    }
    for seed in 1..6_u64 {
        let mut state = seed;
        let sizes = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(state >> 59).unwrap()
        };
        assert_eq!(
            show(&read_by(decoder(), body, false, sizes)),
            expected,
            "{name}, seed {seed}"
        );
    }
}

/// An event stream with these frames.
pub(crate) fn sse(frames: &[&str]) -> String {
    let frames = frames.iter();
    frames.flat_map(|frame| ["data: ", frame, "\n\n"]).collect()
}
