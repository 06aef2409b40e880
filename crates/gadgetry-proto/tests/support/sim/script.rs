//! What a simulated run is made of: replies, gadgets, commands.

use std::sync::Arc;

use gadgetry_proto::call::Outcome;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::media::Media;
use gadgetry_proto::message::{Message, Role};
use gadgetry_proto::run::{
    Code, Command, Decision, Input, Plan, PlanError, QuestionKind, RunConfig, Start,
};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::usage::Usage;
use serde_json::{Value, json};

/// A decision, and how many milliseconds it takes.
pub type Decide = Arc<dyn Fn(&QuestionKind) -> (u64, Decision) + Send + Sync>;

/// Everything that happens to a run.
#[derive(Clone)]
pub struct Script {
    pub base: RunConfig,
    pub code: Code,
    pub conversation: Vec<Message>,
    pub gadgets: Vec<Behaviour>,
    pub replies: Vec<Reply>,
    /// What else happens, at these times.
    pub inputs: Vec<(u64, Input)>,
    /// What is decided, and how long that takes.
    pub decide: Decide,
    /// Whether gadgets go on after they were cancelled.
    pub stubborn: bool,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            base: RunConfig::default(),
            code: Code::default(),
            conversation: vec![Message::text(Role::User, "Go")],
            gadgets: Vec::new(),
            replies: Vec::new(),
            inputs: Vec::new(),
            decide: Arc::new(|_| (0, Decision::Proceed)),
            stubborn: false,
        }
    }
}

impl Script {
    /// What its run is made from.
    pub fn plan(&self) -> Arc<Plan> {
        Arc::new(self.try_plan().expect("a good configuration"))
    }

    pub fn try_plan(&self) -> Result<Plan, PlanError> {
        let specs = self.gadgets.iter().map(|gadget| gadget.spec.clone());
        let registry = Registry::new(specs).expect("good gadgets");
        Plan::new(self.base.clone(), registry, self.code.clone())
    }

    pub fn behaviour(&self, name: &str) -> Option<&Behaviour> {
        self.gadgets.iter().find(|gadget| gadget.spec.name == name)
    }

    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut RunConfig)) -> Self {
        change(&mut self.base);
        self
    }

    #[must_use]
    pub fn with_code(mut self, change: impl FnOnce(&mut Code)) -> Self {
        change(&mut self.code);
        self
    }

    #[must_use]
    pub fn custom_block(mut self, block: CustomBlock) -> Self {
        let (config, code) = block.into_parts();
        let tag = config.xml_tag().to_owned();
        self.code.blocks.insert(tag, code);
        self.base.custom_blocks.push(config);
        self
    }

    #[must_use]
    pub fn gadget(mut self, gadget: Behaviour) -> Self {
        self.gadgets.push(gadget);
        self
    }

    /// A reply that comes at once and stops by itself.
    #[must_use]
    pub fn reply(self, text: impl Into<String>) -> Self {
        self.replies(Reply::stop(vec![Piece::Text(text.into())]))
    }

    /// A reply that comes at once and ends in some way.
    #[must_use]
    pub fn reply_cut(self, text: impl Into<String>, finish: Finish) -> Self {
        let reply = Reply::stop(vec![Piece::Text(text.into())]);
        self.replies(Reply { finish, ..reply })
    }

    #[must_use]
    pub fn replies(mut self, reply: Reply) -> Self {
        self.replies.push(reply);
        self
    }

    #[must_use]
    pub fn at(self, time: u64, command: Command) -> Self {
        self.input_at(time, Input::Command(command))
    }

    #[must_use]
    pub fn input_at(mut self, time: u64, input: Input) -> Self {
        self.inputs.push((time, input));
        self
    }

    /// Decides at once what `decide` knows about, and lets the rest proceed.
    #[must_use]
    pub fn decides(
        self,
        decide: impl Fn(&QuestionKind) -> Option<Decision> + Send + Sync + 'static,
    ) -> Self {
        let decide = move |question: &QuestionKind| decide(question).unwrap_or(Decision::Proceed);
        self.decides_after(0, decide)
    }

    #[must_use]
    pub fn decides_after(
        mut self,
        delay_ms: u64,
        decide: impl Fn(&QuestionKind) -> Decision + Send + Sync + 'static,
    ) -> Self {
        self.decide = Arc::new(move |question| (delay_ms, decide(question)));
        self
    }
}

/// One reply of the model.
#[derive(Clone, Debug)]
pub struct Reply {
    pub pieces: Vec<Piece>,
    pub finish: Finish,
    pub usage: Option<Usage>,
}

impl Reply {
    pub fn stop(pieces: Vec<Piece>) -> Self {
        Self {
            pieces,
            finish: Finish::Stop,
            usage: None,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Piece {
    Text(String),
    Delta(Delta),
    /// Milliseconds.
    Pause(u64),
}

/// How a reply ends.
#[derive(Clone, Debug)]
pub enum Finish {
    Stop,
    Length,
    Filter,
    Disconnect,
    Error(String),
    Reason(StopReason),
}

/// A gadget and how it behaves.
#[derive(Clone)]
pub struct Behaviour {
    pub spec: GadgetSpec,
    pub delay_ms: u64,
    /// The error text, and how often it fails before it works.
    pub fails: Option<(String, u32)>,
    /// The result that ends the run.
    pub finish: Option<String>,
    pub answer: Arc<dyn Fn(&Start) -> String + Send + Sync>,
    pub cost: f64,
    /// What it asks a person instead of answering.
    pub asks: Option<String>,
    pub media: Vec<Media>,
}

/// A gadget that answers `ok` and its name at once.
pub fn gadget(name: &str) -> Behaviour {
    Behaviour {
        spec: GadgetSpec {
            name: name.to_owned(),
            ..GadgetSpec::default()
        },
        delay_ms: 0,
        fails: None,
        finish: None,
        answer: Arc::new(|start| format!("ok {}", start.gadget_name)),
        cost: 0.0,
        asks: None,
        media: Vec::new(),
    }
}

impl Behaviour {
    pub fn takes(self, delay_ms: u64) -> Self {
        Self { delay_ms, ..self }
    }

    pub fn costs(self, cost: f64) -> Self {
        Self { cost, ..self }
    }

    pub fn asks(self, question: &str) -> Self {
        let asks = Some(question.to_owned());
        Self { asks, ..self }
    }

    pub fn shows(mut self, medium: Media) -> Self {
        self.media.push(medium);
        self
    }

    pub fn fails(self, error: &str) -> Self {
        self.fails_times(error, u32::MAX)
    }

    pub fn fails_times(self, error: &str, times: u32) -> Self {
        let fails = Some((error.to_owned(), times));
        Self { fails, ..self }
    }

    pub fn finishes(self, result: &str) -> Self {
        let finish = Some(result.to_owned());
        Self { finish, ..self }
    }

    pub fn says(self, result: &str) -> Self {
        let result = result.to_owned();
        self.answers(move |_| result.clone())
    }

    pub fn answers(self, answer: impl Fn(&Start) -> String + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self { answer, ..self }
    }

    /// Parameters with these properties, the first one required.
    pub fn takes_parameters(self, properties: &Value) -> Self {
        let first = properties.as_object().and_then(|all| all.keys().next());
        let required: Vec<&String> = first.into_iter().collect();
        let parameters =
            json!({ "type": "object", "required": required, "properties": properties });
        self.with(|spec| spec.parameters = parameters)
    }

    pub fn with(mut self, change: impl FnOnce(&mut GadgetSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    pub(super) fn outcome(&self, start: &Start, failures: &mut u32) -> Outcome {
        let result = match &self.fails {
            Some((error, times)) if *failures < *times => {
                *failures += 1;
                Err(error.clone())
            }
            _ => Ok(self.finish.clone().unwrap_or_else(|| (self.answer)(start))),
        };
        Outcome {
            completes_run: self.finish.is_some() && result.is_ok(),
            result,
            cost: self.cost,
            asks_human: self.asks.clone(),
            media: self.media.clone(),
        }
    }
}

/// A gadget block: `Name:id:dependencies` and its arguments.
pub fn block(header: &str, arguments: &[(&str, &str)]) -> String {
    open_block(header, arguments) + "!!!GADGET_END\n"
}

/// A block that nothing ends.
pub fn open_block(header: &str, arguments: &[(&str, &str)]) -> String {
    let mut text = format!("!!!GADGET_START:{header}\n");
    for (name, value) in arguments {
        text.extend(["!!!ARG:", name, "\n", value, "\n"]);
    }
    text
}
