//! A reply that is read, kept and sent back with the next request.

use gadgetry_proto::accumulate::Accumulator;
use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_providers::{ResponseDecoder, Wire};
use serde_json::{Value, json};

/// The message of a reply that arrives in pieces of `size`, saved and loaded once.
pub(crate) fn message(wire: &impl Wire, body: &str, size: usize) -> Message {
    let mut answer = ResponseDecoder::new(wire.decoder());
    let mut deltas = Vec::new();
    for piece in body.as_bytes().chunks(size) {
        answer.feed(piece, &mut deltas);
    }
    answer.end(None, &mut deltas);
    let mut accumulator = Accumulator::new(None);
    for delta in &deltas {
        accumulator.push(delta);
    }
    let message = accumulator.into_output().message;
    let saved = serde_json::to_value(message).expect("a message is plain data");
    serde_json::from_value(saved).expect("it was written by us")
}

/// The body of the next request: a question, the reply, and results of the calls `ids`.
pub(crate) fn next(wire: &impl Wire, reply: Message, ids: &[&str]) -> Value {
    let results = ids.iter().map(|id| {
        let part = json!({"type": "gadget_result", "invocationId": id, "gadgetName": "f", "text": "r", "isError": false});
        serde_json::from_value(part).expect("a result")
    });
    let results = Message::new(Role::User, results.collect());
    let messages = vec![Message::text(Role::User, "u"), reply, results];
    let request = Request::default().messages(messages);
    let sent = wire
        .request(&request)
        .expect("a request that the wire can carry");
    serde_json::from_slice(sent.body()).expect("a body is JSON")
}
