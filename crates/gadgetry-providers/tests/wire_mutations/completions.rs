//! The legacy Completions API: how vLLM, llama.cpp, Ollama, LM Studio and TGI stream it, and what others might.

use gadgetry_proto::delta::StopReason;
use gadgetry_proto::error::ModelErrorKind as Kind;

use super::chat::sse;
use super::row::{Api, End, Row};

/// A chunk with a text.
macro_rules! text {
    ($text:literal) => {
        concat!(
            r#"{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"#,
            $text,
            r#","logprobs":null,"finish_reason":null}]}"#
        )
    };
}

/// The chunk that says why the model stopped.
macro_rules! finish {
    ($reason:literal) => {
        concat!(
            r#"{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":""#,
            $reason,
            r#""}]}"#
        )
    };
}

const HI: &str = text!(r#""hi""#);
const STOP: &str = finish!("stop");
const COUNTS: &str = r#"{"id":"cmpl-1","object":"text_completion","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#;
const DONE: &str = "[DONE]";

/// The stream as it should be.
pub(crate) const GOLDEN: [&str; 5] = [text!(r#""h""#), text!(r#""i""#), STOP, COUNTS, DONE];

/// A row that says `hi`, and has ended at the next turn.
pub(crate) fn hi(name: &'static str, frames: &[&str]) -> Row {
    Row::new(Api::Completions, name, sse(frames))
        .text("hi")
        .stops(StopReason::NextTurn)
}

pub(crate) fn whole(name: &'static str, frames: &[&str]) -> Row {
    hi(name, frames).usage(10, 5)
}

/// Other forms of the same, and what is no part of the API.
pub(crate) fn streams() -> Vec<Row> {
    const LLAMA_CPP: [&str; 3] = [
        r#"{"choices":[{"text":"hi","index":0,"logprobs":null,"finish_reason":null}],"created":1,"model":"m","system_fingerprint":"b1","object":"text_completion","id":"chatcmpl-1"}"#,
        r#"{"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"stop"}],"created":1,"model":"m","object":"text_completion","usage":{"completion_tokens":5,"prompt_tokens":10,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":0}},"id":"chatcmpl-1","timings":{"prompt_n":10}}"#,
        DONE,
    ];
    const VLLM_STOP: &str = r#"{"id":"cmpl-1","object":"text_completion","model":"m","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"stop","stop_reason":"\n\n### User\n","prompt_logprobs":null}],"usage":null}"#;
    const VLLM_END: &str = r#"{"id":"cmpl-1","object":"text_completion","model":"m","choices":[{"index":0,"text":"i","finish_reason":"stop","stop_reason":null}]}"#;
    const TGI: &str = r#"{"object":"text_completion","id":"","created":1,"model":"m","system_fingerprint":"3.3","choices":[{"index":0,"text":"hi","logprobs":null,"finish_reason":"eos_token"}]}"#;
    const CALL: &str = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    const DOCUMENT_CALL: &str = r#"{"choices":[{"index":0,"message":{"content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    vec![
        whole("as it should be", &GOLDEN),
        whole("llama.cpp", &LLAMA_CPP),
        whole(
            "vLLM says which stop sequence",
            &[HI, VLLM_STOP, COUNTS, DONE],
        ),
        whole(
            "vLLM ends with text",
            &[text!(r#""h""#), VLLM_END, COUNTS, DONE],
        ),
        hi("TGI ends by its token", &[TGI, DONE]),
        hi("a stop sequence", &[HI, finish!("stop_sequence"), DONE]),
        hi("no [DONE]", &[HI, STOP]),
        hi("the token limit", &[HI, finish!("length"), DONE]).stops(StopReason::MaxTokens),
        hi(
            "a stop, then the limit",
            &[HI, STOP, finish!("length"), DONE],
        )
        .stops(StopReason::MaxTokens),
        hi("a filter", &[HI, finish!("content_filter"), DONE]).stops(StopReason::ContentFilter),
        hi("abort", &[HI, finish!("abort"), DONE]).stops(StopReason::Other("abort".to_owned())),
        hi("no reason", &[HI, DONE]).stops(StopReason::Unspecified),
        hi("text null", &[text!("null"), HI, STOP, DONE]),
        hi(
            "a text that is no text",
            &[text!("7"), text!(r#"["no"]"#), HI, STOP, DONE],
        ),
        hi("an empty text", &[text!(r#""""#), HI, STOP, DONE]),
        hi(
            "another choice",
            &[HI, r#"{"choices":[{"index":1,"text":"no"}]}"#, STOP, DONE],
        ),
        hi(
            "a surrogate pair in two chunks",
            &[text!(r#""\ud83e""#), text!(r#""\udd80""#), STOP, DONE],
        )
        .text("🦀"),
        hi("a call that the API does not have", &[HI, CALL, STOP, DONE]),
        hi(
            "a call, and the word for it",
            &[HI, CALL, finish!("tool_calls"), DONE],
        ),
        hi("a whole reply with a call", &[DOCUMENT_CALL, DONE]),
        hi(
            "frames that nobody knows",
            &[r#"{"content":"no","stop":false}"#, HI, "17", STOP, DONE],
        ),
    ]
}

/// Streams that fail after some of their text.
pub(crate) fn broken() -> Vec<Row> {
    const BAD: &str = r#"{"choices":[{"index":0,"text":"#;
    let error = |name, frame: &str| hi(name, &[HI, frame, DONE]);
    vec![
        hi("ends without an end", &[HI]).fails(Kind::Truncated),
        hi("ends in the middle of a frame", &[HI])
            .cut_frame(BAD)
            .fails(Kind::Truncated),
        whole("ends after the counts", &[HI, COUNTS]).fails(Kind::Truncated),
        hi("the connection breaks", &[HI]).end(End::Broken).fails(Kind::Truncated),
        hi("the connection breaks after the finish", &[HI, STOP]).end(End::Broken),
        hi("silence", &[HI]).end(End::Silent).fails(Kind::Truncated),
        hi("silence after the finish", &[HI, STOP]).end(End::Silent),
        hi("a frame that is not JSON", &[HI, BAD, STOP, DONE]).fails(Kind::Transport),
        error("an error of the server", r#"{"error":{"message":"boom","type":"server_error","code":null}}"#).fails(Kind::Overloaded),
        error("an error of vLLM", r#"{"object":"error","message":"boom","type":"BadRequestError","code":400}"#).fails(Kind::BadRequest),
        error("too long a prompt", r#"{"error":{"message":"This model's maximum context length is 8 tokens.","code":"context_length_exceeded"}}"#).fails(Kind::ContextOverflow),
    ]
}
