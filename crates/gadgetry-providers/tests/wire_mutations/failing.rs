//! What goes wrong, for both backends: streams that break, and answers that are none.

use gadgetry_proto::delta::StopReason;
use gadgetry_proto::error::ModelErrorKind as Kind;

use super::row::{Api, End, Row};
use super::{chat, messages};

/// JSON with more levels than are read.
fn deep() -> String {
    format!("{}{}", "[".repeat(200), "]".repeat(200))
}

/// Streams of Chat Completions that fail behind some of their text.
pub(crate) fn chat_streams() -> Vec<Row> {
    use chat::{DONE, F, F_1, F_2, HI, ROLE, STOP, hi};
    const BAD: &str = r#"{"choices":[{"index":0,"delta":{"content":"#;
    let error = |name, frame: &str| hi(name, &[ROLE, HI, frame, DONE]);
    let deep = format!(
        r#"{{"choices":[{{"delta":{{"content":"no","x":{}}}}}]}}"#,
        deep()
    );
    vec![
        hi("ends without an end", &[ROLE, HI]).fails(Kind::Truncated),
        hi("ends in the middle of a frame", &[ROLE, HI])
            .cut_frame(BAD)
            .fails(Kind::Truncated),
        hi("ends behind a frame that is not JSON", &[ROLE, HI, BAD]).fails(Kind::Transport),
        hi("ends in the middle of a call", &[ROLE, HI, F, F_1]).cut("f").fails(Kind::Truncated),
        hi("ends behind a whole call", &[ROLE, HI, F, F_1, F_2]).call("f", r#"{"x":1}"#).fails(Kind::Truncated),
        hi("ends behind the counts", &[ROLE, HI, chat::COUNTS]).usage(10, 5).fails(Kind::Truncated),
        hi("the connection breaks", &[ROLE, HI]).end(End::Broken).fails(Kind::Truncated),
        hi("the connection breaks behind the finish", &[HI, STOP]).end(End::Broken),
        hi("the connection breaks behind [DONE]", &[HI, STOP, DONE]).end(End::Broken),
        hi("silence", &[ROLE, HI]).end(End::Silent).fails(Kind::Truncated),
        hi("silence behind the finish", &[HI, STOP]).end(End::Silent),
        hi("silence behind [DONE]", &[HI, STOP, DONE]).end(End::Silent),
        hi("a frame that is not JSON", &[ROLE, HI, BAD, STOP, DONE]).fails(Kind::Transport),
        hi("a frame that is not JSON in the middle of a call", &[HI, F, F_1, "{malformed", F_2, STOP, DONE])
            .cut("f")
            .fails(Kind::Transport),
        error("a frame that is nested too deeply", &deep).fails(Kind::Other),
        hi("ends within a frame that is nested too deeply", &[ROLE, HI]).cut_frame(&deep).fails(Kind::Other),
        error("a frame with a number that is too large", r#"{"choices":[{"delta":{"content":"no","x":1e999}}]}"#).fails(Kind::Other),
        error("an error of the server", r#"{"error":{"message":"boom","type":"server_error","code":null}}"#).fails(Kind::Overloaded),
        error("an error with a number", r#"{"error":{"message":"slow down","code":429}}"#).fails(Kind::RateLimit),
        error("an error with a word", r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#).fails(Kind::RateLimit),
        error("an error that is a text", r#"{"error":"boom"}"#).fails(Kind::Other),
        error("an error as an object of its own", r#"{"object":"error","message":"boom","type":"BadRequestError","code":400}"#).fails(Kind::BadRequest),
        error("an error with choices", r#"{"id":"c1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"Provider disconnected"}}"#).fails(Kind::Overloaded),
        error("an error in the choice", r#"{"choices":[{"index":0,"delta":{},"error":{"code":502,"message":"Provider disconnected"}}]}"#).fails(Kind::Overloaded),
        error("too long a conversation, told in the stream", r#"{"error":{"message":"This model's maximum context length is 8 tokens.","code":"context_length_exceeded"}}"#).fails(Kind::ContextOverflow),
        hi("an event called error", &[HI]).fails(Kind::Overloaded).body(
            format!("data: {HI}\n\nevent: error\ndata: {{\"message\":\"boom\",\"type\":\"overloaded_error\"}}\n\n"),
        ),
    ]
}

/// Streams of the Messages API that fail behind some of their text.
pub(crate) fn messages_streams() -> Vec<Row> {
    use messages::{END, HI, HI_END, HI_START, START, STOP, USE_F, USE_F_1, hi};
    const BAD: &str = r#"{"type":"content_block_delta","index":0,"delta":{"#;
    let deep = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{}}}"#,
        deep()
    );
    let begun = |name, more: &[&str]| hi(name, &[&[START, HI_START, HI], more].concat());
    let error = |name, frame: &'static str| begun(name, &[frame]);
    vec![
        begun("ends without an end", &[]).usage(10, 1).fails(Kind::Truncated),
        begun("ends behind a whole block", &[HI_END]).usage(10, 1).fails(Kind::Truncated),
        begun("ends in the middle of a frame", &[])
            .cut_frame(BAD)
            .usage(10, 1)
            .fails(Kind::Truncated),
        begun("ends in the middle of a call", &[HI_END, USE_F, USE_F_1]).usage(10, 1).cut("f").fails(Kind::Truncated),
        begun("the connection breaks", &[]).end(End::Broken).usage(10, 1).fails(Kind::Truncated),
        begun("the connection breaks behind stop_reason", &[HI_END, STOP]).end(End::Broken),
        begun("the connection breaks behind message_stop", &[HI_END, STOP, END]).end(End::Broken),
        begun("silence", &[]).end(End::Silent).usage(10, 1).fails(Kind::Truncated),
        begun("silence behind stop_reason", &[HI_END, STOP]).end(End::Silent),
        begun("silence behind message_stop", &[HI_END, STOP, END]).end(End::Silent),
        begun("a frame that is not JSON", &["{malformed", HI_END, STOP, END]).usage(10, 1).fails(Kind::Transport),
        begun("a frame that is nested too deeply", &[&deep, HI_END, STOP, END]).usage(10, 1).fails(Kind::Other),
        error("overloaded", r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#).usage(10, 1).fails(Kind::Overloaded),
        error("an error of the server", r#"{"type":"error","error":{"type":"api_error","message":"boom"}}"#).usage(10, 1).fails(Kind::Overloaded),
        error("a limit", r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#).usage(10, 1).fails(Kind::RateLimit),
        error("an error without type", r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#).usage(10, 1).fails(Kind::Overloaded),
        error("an error of an OpenAI proxy", r#"{"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":"429"}}"#).usage(10, 1).fails(Kind::RateLimit),
        error("too long a conversation, told in the stream", r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#).usage(10, 1).fails(Kind::ContextOverflow),
        hi("a call is not whole because of an error", &[START, USE_F, USE_F_1, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#]).text("").cut("f").usage(10, 1).fails(Kind::Overloaded),
    ]
}

/// Answers that are no stream of the API's, alike for all.
pub(crate) fn answers(api: Api) -> Vec<Row> {
    let row = |name, status, body: &str| Row::new(api, name, body).status(status);
    let words = match api {
        Api::Chat | Api::Completions | Api::Responses => {
            r#"{"error":{"message":"no","type":"some_error","param":null,"code":null}}"#
        }
        Api::Messages => {
            r#"{"type":"error","error":{"type":"some_error","message":"no"},"request_id":"req_1"}"#
        }
    };
    let limit = |name| row(name, 429, words).fails(Kind::RateLimit);
    vec![
        row("401", 401, words).fails(Kind::Authentication),
        row("403", 403, words).fails(Kind::Authentication),
        row("400", 400, words).fails(Kind::BadRequest),
        row("404", 404, words).fails(Kind::BadRequest),
        row("404 with a web page", 404, "<!DOCTYPE html><html><body>Not found</body></html>").fails(Kind::BadRequest),
        row("408", 408, words).fails(Kind::Overloaded),
        row("413", 413, words).fails(Kind::BadRequest),
        row("422 of FastAPI", 422, r#"{"detail":[{"loc":["body","model"],"msg":"field required","type":"missing"}]}"#).fails(Kind::BadRequest),
        row("a redirect", 307, "").header("location", "https://elsewhere.example/v1").fails(Kind::BadRequest),
        limit("429"),
        limit("429 with retry-after").header("retry-after", "7").waits(7000),
        limit("429 with retry-after in parts of a second").header("retry-after", "0.5").waits(500),
        limit("429 with retry-after-ms").header("retry-after-ms", "1500").header("retry-after", "2").waits(1500),
        limit("429 with a retry-after in the past").header("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT").waits(0),
        limit("429 with a retry-after that is nonsense").header("retry-after", "soon"),
        row("429 without words", 429, "").header("retry-after", "7").fails(Kind::RateLimit).waits(7000),
        row("429 because the account is empty", 429, r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#).fails(Kind::Other),
        row("402", 402, words).fails(Kind::Other),
        row("500", 500, words).fails(Kind::Overloaded),
        row("502 with a web page", 502, "<html><body>Bad gateway</body></html>").fails(Kind::Overloaded),
        row("503 with retry-after", 503, "no healthy upstream").header("retry-after", "3").fails(Kind::Overloaded).waits(3000),
        row("529", 529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#).fails(Kind::Overloaded),
        row("too long for OpenAI", 400, r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#).fails(Kind::ContextOverflow),
        row("too long for Anthropic", 400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#).fails(Kind::ContextOverflow),
        row("too long for llama.cpp", 400, r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}"#).fails(Kind::ContextOverflow),
        row("an error with status 200", 200, r#"{"error":{"message":"boom","type":"server_error"}}"#).fails(Kind::Overloaded),
        row("an error with status 200 and a number", 200, r#"{"error":{"message":"No endpoints found","code":404}}"#).fails(Kind::BadRequest),
        row("nothing", 200, "").fails(Kind::Truncated),
        row("204", 204, "").fails(Kind::Truncated),
        row("a web page", 200, "<!doctype html><html><body>Log in</body></html>").header("content-type", "text/html").fails(Kind::BadRequest),
        row("no JSON", 200, "{malformed json: <<<chaos>>>").fails(Kind::Transport),
        row("a document that is nested too deeply", 200, &format!("{{\"choices\":{}}}", deep())).fails(Kind::Other),
        row("plain words", 200, "upstream connect error").header("content-type", "text/plain").fails(Kind::BadRequest),
        row("another document", 200, r#"{"status":"ok"}"#).fails(Kind::BadRequest),
        row("half a document", 200, r#"{"id":"x","#).end(End::Broken).fails(Kind::Truncated),
        row("no answer", 200, "").end(End::Mute).fails(Kind::Transport),
        row("no answer, and the connection breaks", 200, "").end(End::Slammed).fails(Kind::Transport),
        row("no stream, but silence", 200, "").header("content-type", "text/event-stream").end(End::Silent).fails(Kind::Truncated),
    ]
}

/// Whole replies to a request for a stream.
pub(crate) fn documents() -> Vec<Row> {
    const CHAT: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"call_b","type":"function","function":{"name":"g","arguments":"{\"y\":\"z\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#;
    const CHAT_HI: &str = r#"{"choices":[{"message":{"content":"hi","reasoning_content":"hm"},"finish_reason":"stop"}]}"#;
    const MESSAGES: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"toolu_a","name":"f","input":{"x":1}},{"type":"tool_use","id":"toolu_b","name":"g","input":{"y":"z"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":5}}"#;
    const RESPONSES: &str = r#"{"id":"resp_1","object":"response","status":"completed","model":"m","error":null,"incomplete_details":null,"output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]},{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"f","arguments":"{\"x\":1}"},{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_b","name":"g","arguments":"{\"y\":\"z\"}"}],"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15}}"#;
    const COMPLETIONS: &str = r#"{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"hi","logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#;
    let chat = |name, body: &str| {
        Row::new(Api::Chat, name, body).header("content-type", "application/json")
    };
    let completions = |name, body: &str| {
        Row::new(Api::Completions, name, body).header("content-type", "application/json")
    };
    let messages = |name, body: &str| {
        Row::new(Api::Messages, name, body).header("content-type", "application/json")
    };
    let whole = |row: Row| {
        row.text("hi")
            .call("f", r#"{"x":1}"#)
            .call("g", r#"{"y":"z"}"#)
            .usage(10, 5)
            .stops(StopReason::ToolUse)
    };
    let responses = |name, body: &str| {
        Row::new(Api::Responses, name, body).header("content-type", "application/json")
    };
    vec![
        whole(responses("a whole reply", RESPONSES)),
        whole(responses("a whole reply, called a stream", RESPONSES)).header("content-type", "text/event-stream"),
        responses("a whole reply that was cut", r#"{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]},{"type":"function_call","status":"incomplete","call_id":"a","name":"f","arguments":"{\"x\""}],"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15}}"#)
            .text("hi").cut("f").usage(10, 5).stops(StopReason::MaxTokens),
        responses("a whole reply that failed", r#"{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"boom"},"output":[]}"#)
            .fails(Kind::Overloaded),
        whole(chat("a whole reply", CHAT)),
        whole(chat("a whole reply, indented, behind blanks", &format!("\n  \n{}", CHAT.replace(',', ",\n  ")))),
        whole(chat("a whole reply, called a stream", CHAT)).header("content-type", "text/event-stream"),
        chat("a whole reply with little in it", CHAT_HI).text("hi").reasoning("hm").stops(StopReason::Stop),
        chat("a whole reply with arguments as an object", &CHAT.replace(r#""{\"x\":1}""#, r#"{"x":1}"#)).text("hi").call("f", r#"{"x":1}"#).call("g", r#"{"y":"z"}"#).usage(10, 5).stops(StopReason::ToolUse),
        chat("a whole reply in one frame", &format!("data: {CHAT}\n\n")).text("hi").call("f", r#"{"x":1}"#).call("g", r#"{"y":"z"}"#).usage(10, 5).stops(StopReason::ToolUse),
        completions("a whole reply", COMPLETIONS).text("hi").usage(10, 5).stops(StopReason::NextTurn),
        completions("a whole reply in one frame", &format!("data: {COMPLETIONS}\n\n")).text("hi").usage(10, 5).stops(StopReason::NextTurn),
        completions("a whole reply that was cut", &COMPLETIONS.replace("\"stop\"", "\"length\"")).text("hi").usage(10, 5).stops(StopReason::MaxTokens),
        whole(messages("a whole reply", MESSAGES)),
        whole(messages("a whole reply, called a stream", MESSAGES)).header("content-type", "text/event-stream"),
        messages("a whole reply with thoughts", r#"{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}"#).text("hi").reasoning("hm").usage(10, 5).stops(StopReason::Stop),
    ]
}
