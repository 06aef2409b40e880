//! What is true of any bytes that a provider may send. The fuzz target `sse` runs the same.

use gadgetry_proto::delta::Delta;
use gadgetry_providers::openai::{completions, responses};
use gadgetry_providers::{Decode, ResponseDecoder, anthropic, openai, sse};

/// Cutting a stream elsewhere changes neither its events nor its deltas, and a reply always ends, once.
///
/// The first byte seeds the cuts; the rest is the stream.
///
/// # Panics
///
/// If one of it is not so.
pub(crate) fn check(data: &[u8]) {
    let (seed, bytes) = data
        .split_first()
        .map_or((0, data), |(seed, rest)| (*seed, rest));
    assert_eq!(events(bytes, cuts(seed)), events(bytes, |_| usize::MAX));
    let decoders: [fn() -> Box<dyn Decode>; 4] = [
        || Box::new(openai::Decoder::new()),
        || Box::new(completions::Decoder::new()),
        || Box::new(anthropic::Decoder::new()),
        || Box::new(responses::Decoder::new()),
    ];
    for decoder in decoders {
        let whole = deltas(decoder(), bytes, |_| usize::MAX);
        let is_end = |delta: &Delta| matches!(delta, Delta::MessageEnd { .. } | Delta::Error(_));
        assert_eq!(
            whole.iter().filter(|delta| is_end(delta)).count(),
            1,
            "{whole:?}"
        );
        assert!(whole.last().is_some_and(is_end), "{whole:?}");
        assert_eq!(deltas(decoder(), bytes, cuts(seed)), whole);
    }
}

/// Sizes of pieces that a small generator gives.
fn cuts(seed: u8) -> impl FnMut(usize) -> usize {
    let mut state = u32::from(seed) + 1;
    move |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 28) as usize + 1
    }
}

fn pieces(bytes: &[u8], mut size: impl FnMut(usize) -> usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(size(rest.len()).min(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn events(
    bytes: &[u8],
    size: impl FnMut(usize) -> usize,
) -> (Vec<sse::SseEvent>, Option<sse::SseEvent>) {
    let mut decoder = sse::Decoder::new();
    let mut events = Vec::new();
    for piece in pieces(bytes, size) {
        decoder
            .feed(piece, &mut events)
            .expect("far below the limit");
    }
    let open = decoder.finish().expect("far below the limit");
    (events, open)
}

fn deltas(decoder: Box<dyn Decode>, bytes: &[u8], size: impl FnMut(usize) -> usize) -> Vec<Delta> {
    let mut answer = ResponseDecoder::new(decoder);
    let mut deltas = Vec::new();
    for piece in pieces(bytes, size) {
        answer.feed(piece, &mut deltas);
    }
    answer.end(None, &mut deltas);
    deltas
}
