//! What a run is loaded with: replies with calls of one small gadget, no gadget and no model that takes any time.

use std::fmt::Write as _;
use std::hint::black_box;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::event::FinishReason;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Summary;
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_proto::usage::Usage;
use serde_json::{Value, json};

/// The gadget that is called.
pub const GADGET: &str = "Fetch";
/// What it returns.
pub const RESULT: &str = "200 OK, 14 items";

/// One run.
#[derive(Clone, Copy)]
pub struct Load {
    pub name: &'static str,
    /// Replies with calls; one more, without, ends the run.
    pub iterations: u32,
    /// Calls in each of them.
    pub calls: u32,
    /// Whether a call waits for the one before it in its reply.
    pub chained: bool,
    /// The most microseconds a call.
    pub limit: f64,
}

/// One call a reply.
pub const ITERATIONS: Load = Load {
    name: "100 iterations, a call each",
    iterations: 100,
    calls: 1,
    chained: false,
    limit: 20.0,
};

/// The same, ten times as long.
pub const MORE_ITERATIONS: Load = Load {
    name: "1,000 iterations, a call each",
    iterations: 1_000,
    ..ITERATIONS
};

/// Many calls at once.
pub const PARALLEL: Load = Load {
    name: "1,000 parallel calls in one reply",
    iterations: 1,
    calls: 1_000,
    chained: false,
    limit: 8.0,
};

/// Calls in a row.
pub const CHAIN: Load = Load {
    name: "a chain of 800 calls in one reply",
    iterations: 1,
    calls: 800,
    chained: true,
    limit: 8.0,
};

/// All of them.
pub const LOADS: [Load; 4] = [ITERATIONS, MORE_ITERATIONS, PARALLEL, CHAIN];

impl Load {
    /// Calls in the whole run.
    pub fn all_calls(&self) -> u32 {
        self.iterations * self.calls
    }

    /// The same with so many calls in the whole run.
    pub fn of_calls(self, calls: u32) -> Self {
        if self.calls == 1 {
            Self {
                iterations: calls,
                ..self
            }
        } else {
            Self { calls, ..self }
        }
    }

    /// The replies of the model, the last one without calls, in pieces of `size` bytes.
    pub fn replies(&self, size: usize) -> Vec<Vec<Delta>> {
        self.texts().iter().map(|text| reply(text, size)).collect()
    }

    /// The texts of the replies.
    pub fn texts(&self) -> Vec<String> {
        let calling = (0..self.iterations).map(|iteration| self.reply(iteration));
        calling
            .chain(["All of them are there.".to_owned()])
            .collect()
    }

    fn reply(&self, iteration: u32) -> String {
        let mut text = format!("Step {iteration}: I fetch what is missing.\n\n");
        for call in 0..self.calls {
            let _ = write!(text, "!!!GADGET_START:{GADGET}:c{call}");
            if self.chained && call > 0 {
                let _ = write!(text, ":c{}", call - 1);
            }
            let _ = write!(
                text,
                "\n!!!ARG:url\nhttps://example.com/{iteration}/{call}\n!!!ARG:limit\n{call}\n!!!GADGET_END\n"
            );
        }
        text
    }

    /// Whether the run did all that it was to do.
    pub fn check(&self, summary: &Summary) {
        assert_eq!(summary.reason, FinishReason::Completed);
        assert_eq!(summary.iterations, self.iterations + 1);
    }
}

fn reply(text: &str, size: usize) -> Vec<Delta> {
    let pieces = super::texts::chunks(text, size);
    let mut deltas: Vec<Delta> = pieces.into_iter().map(Delta::text).collect();
    deltas.push(Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage: Some(Usage::default()),
    });
    deltas
}

/// What the model is told about the gadget.
pub fn spec() -> GadgetSpec {
    GadgetSpec {
        name: GADGET.to_owned(),
        description: "Fetches a page".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "url": { "type": "string", "minLength": 1 },
                "limit": { "type": "integer", "minimum": 0 },
                "follow": { "type": "boolean", "default": true }
            },
            "required": ["url"]
        }),
        ..GadgetSpec::default()
    }
}

/// What the gadget does.
pub fn fetch(parameters: &Value) -> Outcome {
    black_box(parameters);
    Outcome::ok(RESULT)
}

/// What the model does with a request. It is dropped here, so that the history is not copied.
pub fn look_at(request: Request) {
    black_box(&request.messages.len());
    drop(request);
}
