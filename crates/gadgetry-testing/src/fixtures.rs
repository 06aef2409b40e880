//! Conversations that many tests need. Each is sound, as [`RequestChecker`](crate::RequestChecker) means it.
//!
//! ```
//! use gadgetry_testing::{RequestChecker, fixtures};
//! RequestChecker::default().assert(&fixtures::parallel_calls());
//! ```

use gadgetry::proto::message::Message;

use crate::call::call;
use crate::conversation::{Conversation, conversation};

/// System, question, answer: 3 messages.
pub fn greeting() -> Vec<Message> {
    let start = conversation().system("You are a helpful assistant.");
    start
        .user("Hello")
        .assistant("Hello! How can I help?")
        .build()
}

/// A question that took one call: 5 messages. The call is `Fetch` with the id `users`.
pub fn one_call() -> Vec<Message> {
    conversation()
        .system("You are a helpful assistant.")
        .user("How many users are there?")
        .assistant_call(call("Fetch").id("users").arg("url", "/api/users"))
        .result("users", "[17, 23]")
        .assistant("There are two.")
        .build()
}

/// Two calls side by side and one that depends on both, in one reply: ids `a`, `b` and `sum`; 5 messages.
pub fn parallel_calls() -> Vec<Message> {
    conversation()
        .system("You are a helpful assistant.")
        .user("Add the readings of both meters.")
        .assistant_call(call("ReadMeter").id("a").arg("meter", "north"))
        .assistant_call(call("ReadMeter").id("b").arg("meter", "south"))
        .assistant_call(call("Add").id("sum").after("a").after("b"))
        .result("a", "40")
        .result("b", "2")
        .result("sum", "42")
        .assistant("Together they read 42.")
        .build()
}

/// A call that failed, and one more try that did not: ids `first` and `second`; 7 messages.
pub fn failed_call() -> Vec<Message> {
    conversation()
        .system("You are a helpful assistant.")
        .user("Read the notes.")
        .assistant_call(call("ReadFile").id("first").arg("path", "note.txt"))
        .error("first", "Error: note.txt does not exist")
        .assistant_call(call("ReadFile").id("second").arg("path", "notes.txt"))
        .result("second", "Buy milk.")
        .assistant("You have to buy milk.")
        .build()
}

/// A task that took `turns` calls: 2 + 2 × `turns` messages. The `n`th call, from 1, is `Step` with the id `step_n`,
/// and its result has about `result_chars` characters.
pub fn long(turns: usize, result_chars: usize) -> Vec<Message> {
    let start = conversation()
        .system("You are a helpful assistant.")
        .user("Go through all the steps.");
    let turn = |conversation: Conversation, number| {
        let id = format!("step_{number}");
        let result = format!("result {number} ").repeat(result_chars.div_ceil(10).max(1));
        conversation
            .assistant_call(call("Step").id(&id).arg("number", number))
            .result(&id, result.trim_end())
    };
    (1..=turns).fold(start, turn).build()
}
