//! Random scripts: gadgets that fail, wait, ask and run out of time; replies honest, hostile and cut off; limits;
//! commands; decisions, retries, interceptors and subagents.

use std::sync::Arc;

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::convo::viewer;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::event::{Ancestor, Approval, ApprovalAnswer, Event, EventKind};
use gadgetry_proto::id::{ApprovalId, CallId};
use gadgetry_proto::media::{Media, MediaData, MediaKind};
use gadgetry_proto::message::ToolChoice;
use gadgetry_proto::run::{
    AboutCall, Asks, Code, Command, EphemeralMessage, Input, Interceptor, MakeEphemeralMessage,
    OnTextOnlyReply, Report, Retry, RunConfig, UnmetDependencyPolicy,
};
use gadgetry_proto::schema::OnInterrupt;
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::time::Time;
use gadgetry_proto::transform::DeltaTransform;
use gadgetry_proto::usage::{Price, Usage};
use serde_json::{Value, json};

use super::script::{Behaviour, Finish, Piece, Reply, Script, block, gadget, open_block};
use crate::support::generate::{self, Random};
use gadgetry_proto::reply::Format;

const NAMES: [&str; 4] = ["Alpha", "Beta", "Gamma", "Delta"];
const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The script of a seed. Without `pauses`, every reply comes at once.
pub(crate) fn script(seed: u64, pauses: bool) -> Script {
    let random = &mut Random::new(seed);
    let stubborn = random.one_in(3);
    let (base, code) = config(random);
    let mut script = Script {
        stubborn,
        base,
        code,
        gadgets: NAMES.iter().map(|name| behaviour(random, name)).collect(),
        ..Script::default()
    };
    for _ in 0..random.below(4) {
        script.replies.push(reply(random, pauses));
    }
    if random.one_in(4) {
        script = script.at(
            random.next() % 40,
            Command::Inject("And !!!ARG:x".to_owned()),
        );
    }
    if random.one_in(4) {
        script = script.at(random.next() % 40, Command::Cancel);
    }
    for _ in 0..random.below(4) {
        let input = input(random);
        script = script.input_at(1 + random.next() % 9, input);
    }
    script.decide = Arc::new(move |question| super::decisions::decide(seed, question));
    script
}

/// What else may come at any time, whether it makes sense or not.
fn input(random: &mut Random) -> Input {
    let call = CallId(*random.pick(&[0, 0, 1, 2]));
    let cost = *random.pick(&[0.1, 0.3, -1.0, f64::NAN]);
    match random.below(6) {
        0 => Input::ExternalSpend(cost),
        1 => Input::RateLimited(3),
        2 if cost > 0.2 => Input::Report(call, Report::Cost(cost)),
        2 => Input::Report(call, Report::Progress("half".to_owned())),
        3 if random.one_in(2) => Input::Report(call, approval(call, cost > 0.2)),
        3 => Input::Report(call, well(call)),
        _ => {
            let kind = EventKind::GadgetCost {
                call: CallId(7),
                invocation_id: "x".into(),
                gadget_name: "X".to_owned(),
                cost: if cost > 0.0 { cost } else { 0.0 },
            };
            let mut event = Box::new(Event::new(9, Time(3), kind));
            if random.one_in(2) {
                event.path.push(Ancestor::new(CallId(0), "inner", 0));
            }
            Input::Report(call, Report::Child { agent: 1, event })
        }
    }
}

fn approval(call: CallId, is_answered: bool) -> Report {
    let id = ApprovalId { call, shown: 1 };
    if is_answered {
        let answer = ApprovalAnswer::Allowed;
        return Report::ApprovalAnswered {
            approval: id,
            answer,
        };
    }
    Report::ApprovalRequired(Arc::new(Approval::new(id, "Alpha", json!({}))))
}

fn well(call: CallId) -> Report {
    Report::HumanQuestion {
        number: call.0,
        question: "Well?".to_owned(),
    }
}

fn config(random: &mut Random) -> (RunConfig, Code) {
    let mut code = Code::default();
    let mut spec = RunConfig {
        max_iterations: *random.pick(&[1, 2, 5]),
        default_timeout_ms: *random.pick(&[None, None, Some(8)]),
        text_only: random
            .pick(&[
                OnTextOnlyReply::Terminate,
                OnTextOnlyReply::Acknowledge,
                OnTextOnlyReply::WaitForInput,
            ])
            .clone(),
        on_unmet: random
            .pick(&[
                UnmetDependencyPolicy::Skip,
                UnmetDependencyPolicy::Execute,
                UnmetDependencyPolicy::Fallback("{\"n\":1}".to_owned()),
            ])
            .clone(),
        anchoring: *random.pick(&[
            Anchoring::Anywhere,
            Anchoring::Anywhere,
            Anchoring::LineStart,
        ]),
        ..RunConfig::default()
    };
    decided(random, &mut spec, &mut code);
    spec.schedule.sequential = random.one_in(5);
    // No choice of its own: the runs of a seed stay what they are.
    if spec.schedule.sequential {
        spec.tool_choice = ToolChoice::Required;
    }
    spec.schedule.max_concurrent = *random.pick(&[None, None, Some(1), Some(2)]);
    spec.schedule.max_per_reply = *random.pick(&[None, None, Some(1), Some(3)]);
    if random.one_in(2) {
        spec.price = Some(Price::default().input(0.1).output(0.7));
    }
    if random.one_in(2) {
        let note = CustomBlock::new("note").map(|block| {
            let text = Delta::text(format!("[{}]", block.content));
            (!block.content.is_empty()).then(|| vec![text])
        });
        for block in [
            CustomBlock::new("think"),
            CustomBlock::new("done").suppress(),
            note,
        ] {
            let (block, map) = block.into_parts();
            code.blocks.insert(block.key.clone(), map);
            spec.custom_blocks.push(block);
        }
    }
    if random.one_in(2) {
        code.transforms
            .push(Arc::new(|| Box::new(Lines(String::new()))));
    }
    (spec, code)
}

/// What others decide, and what is done about failures and lengths.
fn decided(random: &mut Random, spec: &mut RunConfig, code: &mut Code) {
    let mut often = || random.one_in(2);
    if often() {
        spec.asks = Asks {
            before_model_call: often(),
            after_model_call: often(),
            model_error: often(),
            before_gadget: often(),
            after_gadget: often(),
            dependency_skipped: often(),
            human: often(),
            // Their conversations are short.
            before_compaction: false,
        };
    }
    if often() {
        spec.retry = Some(Retry {
            retries: 2,
            min_ms: 4,
            max_ms: 12,
            ..Retry::default()
        });
    }
    spec.budget = *random.pick(&[None, None, None, Some(0.5), Some(0.0)]);
    spec.output_limit = *random.pick(&[None, None, Some(0), Some(5), Some(40)]);
    if random.one_in(4) {
        code.interceptors = vec![Arc::new(Rewrite)];
    }
    if random.one_in(4) {
        spec.trailing = vec![EphemeralMessage::Code("standing".to_owned())];
        let make: MakeEphemeralMessage =
            Arc::new(|standing| (standing.iteration > 1).then(|| format!("{standing:?}")));
        code.trailing.insert("standing".to_owned(), make);
    }
    spec.stop_on_gadget_error = random.one_in(6);
}

/// Rewrites a little of all, wherever the text is cut.
struct Rewrite;

impl Interceptor for Rewrite {
    fn delta(&self, delta: Delta) -> Option<Delta> {
        (!matches!(delta, Delta::Reasoning { .. })).then_some(delta)
    }

    fn text(&self, text: String) -> Option<String> {
        Some(text.replace('e', "E").replace('L', ""))
    }

    fn reply(&self, text: String) -> String {
        if text.contains("Gong") {
            String::new()
        } else {
            text + "!"
        }
    }

    fn parameters(&self, call: &AboutCall, mut parameters: Value) -> Value {
        if call.gadget_name == "Beta" {
            parameters["n"] = json!(call.id.0);
        }
        parameters
    }

    fn result(&self, call: &AboutCall, text: String) -> String {
        format!("{text} of {}", call.invocation_id)
    }
}

fn behaviour(random: &mut Random, name: &str) -> Behaviour {
    let costs = [0.0, 0.1, 0.3, 1e-9, -1.0, f64::NAN];
    let mut gadget = gadget(name)
        .takes(*random.pick(&[0, 0, 1, 5, 20]))
        .costs(*random.pick(&costs))
        .with(|spec| {
            spec.timeout_ms = *random.pick(&[None, None, None, Some(3), Some(20)]);
            spec.max_concurrent = *random.pick(&[None, None, None, Some(1)]);
            spec.exclusive = random.one_in(8);
            // No choice of its own, as above.
            spec.on_interrupt = match name {
                "Beta" => OnInterrupt::Rerun,
                "Gamma" => OnInterrupt::Ask,
                _ => OnInterrupt::Fail,
            };
            if random.one_in(2) {
                let n = json!({ "type": "integer", "default": 4 });
                spec.parameters = json!({ "type": "object", "properties": { "n": n } });
            }
        });
    if random.one_in(6) {
        gadget = gadget.asks("Which?");
    }
    if random.one_in(6) {
        gadget = gadget.shows(Media {
            kind: MediaKind::File,
            mime_type: "text/plain".to_owned(),
            data: MediaData::Url("https://example.com/x".to_owned()),
            name: None,
        });
    }
    gadget = match random.below(8) {
        0 => gadget.fails("it !!!GADGET_END broke"),
        1 => gadget.fails_times("not yet", 1),
        2 if random.one_in(3) => gadget.finishes("all done"),
        3 => gadget.says("{\"n\":0.1,\"list\":[1,2.5e-7]}"),
        4 => gadget.answers(|start| start.parameters.to_string()),
        _ => gadget.says("12"),
    };
    gadget
}

fn reply(random: &mut Random, pauses: bool) -> Reply {
    let mut pieces = Vec::new();
    for _ in 0..random.below(7) {
        pieces.push(Piece::Text(text(random)));
        if pauses && random.one_in(3) {
            pieces.push(Piece::Pause(random.next() % 12));
        }
        if random.one_in(12) {
            pieces.push(Piece::Delta(Delta::Reasoning {
                delta: "Hm.".to_owned(),
                metadata: None,
            }));
        }
    }
    if random.one_in(6) {
        use ModelErrorKind as Kind;
        pieces.push(Piece::Delta(Delta::Error(
            ModelError::new(
                *random.pick(&[Kind::Overloaded, Kind::RateLimit, Kind::BadRequest]),
                "sorry",
            )
            .with_retry_after_ms(*random.pick(&[
                None,
                Some(0),
                Some(9),
                Some(u64::MAX),
            ])),
        )));
    }
    let finish = match random.below(12) {
        0 => Finish::Length,
        1 => Finish::Filter,
        2 => Finish::Disconnect,
        3 => Finish::Error("overloaded".to_owned()),
        4 => {
            let stop_reason = StopReason::Other("paused".to_owned());
            pieces.push(Piece::Delta(Delta::MessageEnd {
                stop_reason,
                usage: None,
            }));
            Finish::Disconnect
        }
        _ => Finish::Stop,
    };
    let usage = Usage::default()
        .input_tokens(random.next() % 1000)
        .output_tokens(random.next() % 100);
    Reply {
        pieces,
        finish,
        usage: random.one_in(2).then_some(usage),
    }
}

fn text(random: &mut Random) -> String {
    match random.below(10) {
        0..6 => call(random),
        6 => (*random.pick(&["<think>so\nso</think>", "<done/>", "<note>n</note>", "<thi"]))
            .to_owned(),
        7 => (*random.pick(&["Let me see.\n", "a line", "é🙂", "\n\n"])).to_owned(),
        _ => generate::piece(random, &Format::default()),
    }
}

fn call(random: &mut Random) -> String {
    if random.one_in(6) {
        let mut store = OutputStore::default();
        let id = store.insert(random.pick::<&str>(&NAMES), "").to_owned();
        let limit = *random.pick(&["2-", "-3", "x"]);
        let header = format!("{}:{}", viewer::NAME, random.pick(&IDS));
        return block(&header, &[("id", &id), ("limit", limit)]);
    }
    let name = *random.pick(&["Alpha", "Beta", "gamma", "Delta", "Gong"]);
    let id = *random.pick(&["a", "b", "c", "d", "e", ""]);
    let mut dependencies = String::new();
    for _ in 0..random.below(3) {
        dependencies += *random.pick::<&str>(&IDS);
        dependencies.push(',');
    }
    let value = *random.pick(&["1", "${a}", "${b/n}", "${c}", "0.1", "x\ny", "${e/list/1}"]);
    let arguments = [("n", value), ("n", "2")];
    let arguments = &arguments[..*random.pick(&[0, 1, 1, 1, 2])];
    let header = format!("{name}:{id}:{dependencies}");
    if random.one_in(8) {
        open_block(&header, arguments)
    } else {
        block(&header, arguments)
    }
}

/// Holds text back until its line is complete.
struct Lines(String);

impl DeltaTransform for Lines {
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        let Delta::Text { delta: text, .. } = delta else {
            self.flush(out);
            return out.push(delta);
        };
        self.0.push_str(&text);
        if let Some(end) = self.0.rfind('\n') {
            let rest = self.0.split_off(end + 1);
            out.push(Delta::text(std::mem::replace(&mut self.0, rest)));
        }
    }

    fn flush(&mut self, out: &mut Vec<Delta>) {
        if !self.0.is_empty() {
            out.push(Delta::text(std::mem::take(&mut self.0)));
        }
    }

    fn save(&self) -> Value {
        json!(self.0)
    }

    fn load(&mut self, state: &Value) {
        state.as_str().unwrap_or_default().clone_into(&mut self.0);
    }
}
