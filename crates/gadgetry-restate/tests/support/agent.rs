//! The agent of all tests. What its model replies depends on the prompt and the number of its replies alone, so any
//! worker can continue any run.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _};

use gadgetry::proto::call::Outcome;
use gadgetry::proto::message::{Request, Role};
use gadgetry::proto::usage::Price;
use gadgetry::{
    Agent, Delta, ExecutionContext, GadgetError, GadgetSpec, IntoGadget, Model, ModelInfo, from_fn,
    gadgets, prompt_text,
};
use gadgetry_restate::Spread;
use gadgetry_testing::{MockCall, MockModel, Reply, call, reply};

use super::gate;

/// The agent, whose gadgets write into `folder` and wait at the gate.
pub(crate) fn agent(folder: &Path, gate: &str) -> (Agent, Spread) {
    let mut spread = Spread::default();
    let gadgets = Arc::new(Effects {
        folder: folder.to_owned(),
        gate: gate.to_owned(),
    });
    let gadgets = gadgets.gadgets().into_iter();
    let gadgets = gadgets.map(|gadget| match gadget.spec().name.as_str() {
        "Far" => spread.gadget(gadget),
        _ => gadget,
    });
    let gadgets: Vec<_> = gadgets.collect();
    let agent = Agent::builder()
        .model(Gated {
            model: Arc::new(model()),
            gate: gate.to_owned(),
        })
        .gadgets(gadgets)
        .gadget(ask(folder))
        .max_iterations(10_000)
        .max_gadgets_per_reply(100)
        .build()
        .expect("a valid agent");
    (agent, spread)
}

/// What the gadgets of a run have done, sorted.
pub(crate) fn effects(folder: &Path, run: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(format!("{run}.effects")));
    let text = text.unwrap_or_default();
    let mut effects: Vec<String> = text.lines().map(str::to_owned).collect();
    effects.sort();
    effects
}

/// Asks the user; the answer is its result.
fn ask(folder: &Path) -> impl IntoGadget + use<> {
    let text = serde_json::json!({"type": "string"});
    let properties = serde_json::json!({"run": text, "key": text});
    let spec = GadgetSpec {
        name: "Ask".to_owned(),
        parameters: serde_json::json!({"type": "object", "properties": properties}),
        ..GadgetSpec::default()
    };
    let effects = Effects {
        folder: folder.to_owned(),
        gate: String::new(),
    };
    from_fn(spec, move |parameters: serde_json::Value, _| {
        let text = |name: &str| parameters[name].as_str().unwrap_or_default().to_owned();
        let (run, key) = (text("run"), text("key"));
        let done = effects.effect(&run, &key);
        async move {
            let asks_human = Some(format!("{key}?"));
            match done {
                Ok(()) => Outcome {
                    asks_human,
                    ..Outcome::ok("no user")
                },
                Err(error) => Outcome::error(error.to_string()),
            }
        }
    })
}

/// The gadgets of the tests.
struct Effects {
    folder: PathBuf,
    gate: String,
}

#[gadgets]
impl Effects {
    /// Does something that must be done once.
    fn append(
        &self,
        run: String,
        key: String,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        self.effect(&run, &key)?;
        self.effect("processes", &std::process::id().to_string())?;
        context.report_cost(0.01)?;
        Ok(format!("appended {key}"))
    }

    /// Does something after it was let through the gate.
    #[gadget(on_interrupt = "rerun")]
    async fn hold(
        &self,
        run: String,
        key: String,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let name = format!("{run}/{key}");
        tokio::select! {
            () = gate::wait(&self.gate, &name) => {}
            () = context.cancellation().cancelled() => {
                self.effect(&run, &format!("{key} cancelled"))?;
                return Err("cancelled".into());
            }
        }
        self.effect(&run, &key)?;
        context.report_cost(0.01)?;
        Ok(format!("held {key}"))
    }

    /// Does the same on any worker.
    async fn far(
        &self,
        run: String,
        key: String,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        self.effect("processes", &std::process::id().to_string())?;
        self.effect("keys", &context.idempotency_key())?;
        self.hold(run, key, context).await
    }

    /// Asks the user in the middle of its work.
    #[gadget(on_interrupt = "rerun")]
    async fn wonder(
        &self,
        run: String,
        key: String,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let process = std::process::id().to_string();
        self.effect(&format!("{run}-asks"), &process)?;
        let answer = context.ask_human(format!("{key}?")).await;
        let answer = answer.map_err(|error| error.to_string())?;
        self.effect(&run, &key)?;
        Ok(format!("the user says {answer}"))
    }

    /// Always fails.
    fn fail(&self, run: String, key: String) -> Result<String, GadgetError> {
        self.effect(&run, &key)?;
        Err(format!("{key} is broken").into())
    }

    /// Returns a text of this length.
    fn large(&self, run: String, bytes: usize) -> Result<String, GadgetError> {
        self.effect(&run, "large")?;
        Ok("x".repeat(bytes))
    }
}

impl Effects {
    fn effect(&self, run: &str, key: &str) -> Result<(), GadgetError> {
        let path = self.folder.join(format!("{run}.effects"));
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        let written = file.and_then(|mut file| file.write_all(format!("{key}\n").as_bytes()));
        written.map_err(|error| error.to_string().into())
    }
}

/// A model whose replies wait at the gate where the prompt says so.
struct Gated {
    model: Arc<MockModel>,
    gate: String,
}

impl Model for Gated {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let asked = Asked::of(&request);
        let gate = self.gate.clone();
        let is_held = asked.prompt["gate"].as_u64() == Some(asked.replies);
        let name = format!("{}/reply", asked.run());
        let model = Arc::clone(&self.model);
        let replying = async move {
            let reply = model.stream(request);
            if !is_held {
                return reply;
            }
            // Half of the first text comes before the gate.
            let head = futures_util::stream::once(async { Delta::text("Well… ") });
            let held = async move {
                gate::wait(&gate, &name).await;
                reply
            };
            head.chain(held.flatten_stream()).boxed()
        };
        replying.flatten_stream().boxed()
    }

    fn name(&self) -> &'static str {
        "gated"
    }

    fn info(&self) -> ModelInfo {
        let price = Price::default().input(1.0).output(2.0);
        ModelInfo::default().price(price)
    }
}

/// What a request asks: the prompt is JSON, such as `{"run":"a","steps":3}`.
struct Asked {
    prompt: serde_json::Value,
    /// How many replies came before.
    replies: u64,
}

impl Asked {
    fn of(request: &Request) -> Self {
        let prompt = request
            .messages
            .iter()
            .find(|message| message.role == Role::User);
        let prompt = prompt.map(prompt_text).unwrap_or_default();
        let replies = request
            .messages
            .iter()
            .filter(|message| message.role == Role::Assistant);
        Self {
            prompt: serde_json::from_str(&prompt).expect("the prompt is JSON"),
            replies: replies.count() as u64,
        }
    }

    fn run(&self) -> String {
        self.prompt["run"].as_str().expect("a run").to_owned()
    }
}

fn model() -> MockModel {
    let any = MockModel::builder().unchecked().when(|request| request);
    any.replies_by(|request| {
        let asked = Asked::of(request);
        let run = asked.run();
        let steps = asked.prompt["steps"].as_u64();
        let reply = match (steps, asked.prompt["scenario"].as_str()) {
            (Some(steps), _) if asked.replies < steps => {
                let size = asked.prompt["size"].as_u64();
                match size {
                    Some(size) => {
                        reply().call(call("Large").arg("run", run.as_str()).arg("bytes", size))
                    }
                    None => reply().call(append(
                        "Append",
                        &run,
                        &format!("step {:05}", asked.replies),
                    )),
                }
            }
            (None, Some("chain")) => chain(&run, asked.replies, asked.prompt["calls"].as_u64()),
            (None, Some(gadget @ ("Ask" | "Wonder"))) if asked.replies == 0 => {
                reply().call(append(gadget, &run, "pay"))
            }
            (None, Some("far")) if asked.replies == 0 => {
                reply().calls([append("Far", &run, "f1"), append("Far", &run, "f2")])
            }
            (None, Some("proof")) => proof(&run, asked.replies, "Wonder"),
            (None, Some("quiet")) => proof(&run, asked.replies, "Append"),
            _ => reply().text("All done."),
        };
        reply.tokens(1000, 100)
    })
    .build()
}

fn append(gadget: &str, run: &str, key: &str) -> MockCall {
    call(gadget).arg("run", run).arg("key", key)
}

/// Twelve calls in three replies: in parallel, in order, one that fails, one that waits at the gate, and one of the gadget
/// `last`, which may ask.
fn proof(run: &str, replies: u64, last: &str) -> Reply {
    let one = |gadget: &str, id: &str, after: &[&str]| {
        let made = append(gadget, run, id).id(id);
        after.iter().fold(made, |made, id| made.after(*id))
    };
    match replies {
        0 => reply().text("First.").calls([
            one("Append", "a1", &[]),
            one("Append", "a2", &[]),
            one("Append", "a3", &["a1", "a2"]),
            one("Append", "a4", &["a3"]),
        ]),
        1 => reply().text("Second.").calls([
            one("Append", "b1", &[]),
            one("Fail", "b2", &[]),
            one("Append", "b3", &["b1"]),
            one("Hold", "b4", &["b3"]),
            one("Append", "b5", &["b4"]),
        ]),
        2 => reply().text("Third.").calls([
            one("Append", "c1", &[]),
            one(last, "c2", &["c1"]),
            one("Append", "c3", &["c2"]),
        ]),
        _ => reply().text("All done."),
    }
}

/// Calls that follow each other, a hundred in a reply.
fn chain(run: &str, replies: u64, calls: Option<u64>) -> Reply {
    let first = replies * 100;
    let calls = calls.unwrap_or_default();
    if first >= calls {
        return reply().text("All done.");
    }
    let last = calls.min(first + 100);
    reply().calls((first..last).map(|number| {
        let made = append("Append", run, &format!("{number:06}")).id(format!("c{number}"));
        match number {
            number if number == first => made,
            number => made.after(format!("c{}", number - 1)),
        }
    }))
}

/// Counts lines that are the same.
pub(crate) fn repeated(effects: &[String]) -> Vec<(&str, usize)> {
    let mut counts = BTreeMap::new();
    for effect in effects {
        *counts.entry(effect.as_str()).or_insert(0) += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 1).collect()
}
