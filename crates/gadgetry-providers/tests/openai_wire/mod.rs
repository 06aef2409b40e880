//! Chat Completions: what is sent, and what is made of everything that servers answer.

#![cfg(feature = "http")]
#![allow(
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests panic like tests themselves, and take what is easiest to write in a table"
)]

mod calls;
mod errors;
mod failures;
mod http;
mod kept;
mod keys;
mod media;
mod mutations;
mod replies;
mod requests;
pub(crate) mod server;
pub(crate) mod show;

use crate::support::wire;

/// Pieces of JSON and of streams that a provider might have in mind.
const PIECES: [&str; 42] = [
    "data: ",
    "data:",
    "\n\n",
    "\r\n",
    "\r",
    ": c\n",
    "event: error\n",
    "[DONE]",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"choices\"",
    "\"delta\"",
    "{\"choices\":[{\"delta\":{\"content\":\"\\ud83d\"}}]}",
    "{\"choices\":[{\"delta\":{\"content\":\"\\ude00é\"},\"finish_reason\":\"stop\"}]}",
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}",
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"}\"}}]}}]}",
    "{\"choices\":[{\"text\":\"\\ud83d\"}]}",
    "{\"choices\":[{\"index\":0,\"text\":\"é\",\"finish_reason\":\"stop\"}]}",
    "{\"error\":{\"message\":\"m\"}}",
    "{\"usage\":{\"prompt_tokens\":1}}",
    "null",
    " ",
    "\u{FEFF}",
    "<html>",
    // Of the other APIs.
    "{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\"}}",
    "{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"reasoning\"}}",
    "{\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":\"{\\\"x\\\":1}\"}",
    "{\"type\":\"response.function_call_arguments.done\",\"item_id\":\"i\",\"arguments\":\"{}\"}",
    "{\"type\":\"response.output_text.delta\",\"delta\":\"\\ud83d\"}",
    "{\"type\":\"response.output_text.done\",\"text\":\"hi\"}",
    "{\"type\":\"response.refusal.delta\",\"output_index\":1,\"delta\":\"no\"}",
    "{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"name\":\"g\",\"arguments\":\"{\"}}",
    "{\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]}]}}",
    "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\"}}",
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}",
    "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"\\ud83d\"}}",
    "{\"type\":\"content_block_stop\",\"index\":0}",
    "{\"type\":\"message_stop\"}",
];

#[test]
fn whatever_a_provider_sends() {
    let mut state = 1_u64;
    let mut below = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % limit
    };
    for _ in 0..4000 {
        let mut bytes = vec![u8::try_from(below(256)).unwrap()];
        for _ in 0..below(30) {
            if below(20) == 0 {
                bytes.push(u8::try_from(below(256)).unwrap());
            } else {
                bytes.extend_from_slice(PIECES[below(PIECES.len())].as_bytes());
            }
        }
        wire::check(&bytes);
    }
}
