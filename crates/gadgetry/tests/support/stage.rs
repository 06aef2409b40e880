//! A run on a scripted model, and what is seen of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the lines have the events that matter"
)]

use std::sync::Arc;
use std::time::Duration;

use gadgetry::proto::call::Outcome;
use gadgetry::proto::event::{Event, EventKind};
use gadgetry::proto::run::{Command, Input, Output, Plan, Run, RunConfig};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::proto::time::Time;
use gadgetry::proto::usage::Price;
use gadgetry::{
    DynGadget, ExecutionContext, IntoGadget as _, Model, ModelInfo, Observer, RunResult,
    ScriptedModel, Services, Toolbox, drive, from_fn,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;

/// A script with these replies, each a text, or the rest of a line as JSON.
pub(crate) fn script(replies: &[Value]) -> ScriptedModel {
    let lines: Vec<String> = replies
        .iter()
        .map(|reply| match reply {
            Value::String(text) => json!({ "text": text }).to_string(),
            line => line.to_string(),
        })
        .collect();
    lines.join("\n").parse().unwrap()
}

/// A block without arguments.
pub(crate) fn call(header: &str) -> String {
    format!("!!!GADGET_START:{header}\n!!!GADGET_END\n")
}

/// A gadget without parameters in its schema.
pub(crate) fn gadget<R>(
    name: &str,
    work: impl Fn(ExecutionContext) -> R + Send + Sync + 'static,
) -> Arc<dyn DynGadget>
where
    R: Future<Output = Outcome> + Send + 'static,
{
    let spec = GadgetSpec {
        name: name.to_owned(),
        ..GadgetSpec::default()
    };
    from_fn(spec, move |_, context| work(context)).into_gadget()
}

/// Answers at once, with the id of its call.
pub(crate) fn echo() -> Arc<dyn DynGadget> {
    gadget("Echo", |context| async move {
        Outcome::ok(context.invocation_id().as_str())
    })
}

/// Takes a second.
pub(crate) fn slow() -> Arc<dyn DynGadget> {
    gadget("Slow", |_| async {
        sleep(Duration::from_secs(1)).await;
        Outcome::ok("slow")
    })
}

/// A model with a price of 1 dollar a token either way.
pub(crate) struct Priced(pub(crate) ScriptedModel);

/// A dollar a token.
pub(crate) fn price() -> Price {
    Price::default().input(1e6).output(1e6)
}

impl Model for Priced {
    fn stream(
        &self,
        request: gadgetry::proto::message::Request,
    ) -> futures_core::stream::BoxStream<'static, gadgetry::proto::delta::Delta> {
        self.0.stream(request)
    }

    fn name(&self) -> &'static str {
        "priced"
    }

    fn info(&self) -> ModelInfo {
        ModelInfo::default().price(price())
    }
}

/// Services with these replies and gadgets.
pub(crate) fn services(replies: &[Value], gadgets: &[Arc<dyn DynGadget>]) -> Services {
    let mut toolbox = Toolbox::default();
    for gadget in gadgets {
        toolbox.add(Arc::clone(gadget)).unwrap();
    }
    Services::new(Arc::new(script(replies)), toolbox)
}

/// The plan of a run with the gadgets of these services.
pub(crate) fn plan(services: &Services, config: RunConfig) -> Arc<Plan> {
    config
        .plan(Arc::clone(services.toolbox.registry()))
        .unwrap()
}

/// Runs to the end, cancelled at some time.
pub(crate) async fn play_until(
    services: &Services,
    config: RunConfig,
    cancel_at: Option<u64>,
) -> Seen {
    let config = RunConfig {
        asks: services.asks(),
        // Free, so that what a run comes to is known.
        price: config.price.clone().or(Some(Price::default())),
        ..config
    };
    let plan = plan(services, config);
    let run = Run::ask(&plan, "go");
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        if let Some(at) = cancel_at {
            sleep(Duration::from_millis(at)).await;
            sender.send(Command::Cancel).await.unwrap();
        }
    });
    let mut keeper = Keeper::default();
    let ended = drive(run, services, receiver, &mut keeper).await;
    assert_eq!(replay(&plan, &keeper.inputs), keeper.events);
    Seen {
        lines: keeper.lines,
        events: keeper.events,
        inputs: keeper.inputs.into_iter().map(|(_, input)| input).collect(),
        ended,
    }
}

/// What the same inputs at the same times give once more.
fn replay(plan: &Arc<Plan>, inputs: &[(Time, Input)]) -> Vec<Event> {
    let mut run = Run::ask(plan, "go");
    let mut events = Vec::new();
    let mut drain = |run: &mut Run| loop {
        match run.poll() {
            Output::Event(event) => events.push(event),
            Output::Wait(_) | Output::Finished(_) => break,
            _ => {}
        }
    };
    drain(&mut run);
    for (time, input) in inputs {
        run.handle(*time, input.clone()).unwrap_or_default();
        drain(&mut run);
    }
    events
}

/// Runs to the end.
pub(crate) async fn play(services: &Services) -> Seen {
    play_until(services, RunConfig::default(), None).await
}

/// What was seen of a run.
pub(crate) struct Seen {
    /// A readable line an event.
    pub(crate) lines: Vec<String>,
    /// The events.
    pub(crate) events: Vec<Event>,
    /// What the run was told.
    pub(crate) inputs: Vec<Input>,
    /// How it ended.
    pub(crate) ended: RunResult,
}

#[derive(Default)]
struct Keeper {
    lines: Vec<String>,
    events: Vec<Event>,
    inputs: Vec<(Time, Input)>,
}

impl Observer for Keeper {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
        let words = match &event.kind {
            EventKind::Text { text } if text.trim().is_empty() => return,
            EventKind::Text { text } => format!(" {text:?}"),
            EventKind::GadgetStart { invocation_id, .. } => format!(" start {invocation_id}"),
            EventKind::GadgetResult {
                invocation_id,
                answer,
                ..
            } => format!(" {invocation_id}: {answer:?}"),
            EventKind::GadgetSkipped { invocation_id, .. } => format!(" skip {invocation_id}"),
            EventKind::GadgetProgress {
                invocation_id,
                message,
                ..
            } => format!(" {invocation_id} at {message}"),
            EventKind::HumanInputRequired { question, .. } => format!(" asks {question}"),
            EventKind::HumanInputReceived { answered, .. } => format!(" answered {answered}"),
            EventKind::RateLimited { delay_ms } => format!(" limited {delay_ms}"),
            EventKind::RunFinished {
                reason, total_cost, ..
            } => format!(" {reason:?} {}", total_cost.unwrap_or_default()),
            _ => return,
        };
        let mut place = event.time.0.to_string();
        for ancestor in &event.path {
            place.push(' ');
            place.push_str(ancestor.invocation_id.as_str());
            place.push('.');
            place.push_str(&ancestor.agent.to_string());
        }
        self.lines.push(place + &words);
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.inputs.push((time, input.clone()));
    }
}
