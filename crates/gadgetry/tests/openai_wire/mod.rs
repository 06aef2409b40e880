//! Chat Completions: what is sent, and what is made of everything that servers answer.

#![cfg(feature = "providers")]
#![allow(
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests panic like tests themselves, and take what is easiest to write in a table"
)]

mod calls;
mod errors;
mod http;
mod kept;
mod keys;
mod media;
mod mutations;
mod replies;
mod requests;
mod server;
mod show;

use crate::support::wire;

/// Pieces of JSON and of streams that a provider might have in mind.
const PIECES: [&str; 26] = [
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
    "{\"error\":{\"message\":\"m\"}}",
    "{\"usage\":{\"prompt_tokens\":1}}",
    "null",
    " ",
    "\u{FEFF}",
    "<html>",
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
