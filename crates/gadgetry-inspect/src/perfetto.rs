//! A recording as a trace, in the JSON that Perfetto and Chrome read.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use crate::recording::Recording;
use crate::redact::{Redaction, each_string};

/// Characters of a text in the arguments of a slice.
const TEXT: usize = 2_000;

/// Lanes of an agent. More calls at once share the last one.
const LANES: usize = 1_000;

/// Arrows. A call may name as many dependencies as a reply has room for.
const ARROWS: usize = 20_000;

/// Makes a trace of a recording, for <https://ui.perfetto.dev> and `chrome://tracing`.
///
/// Times are those since 1970 if the recording has its start, so that traces of several runs are in order. A process is an agent; its
/// first thread has the replies, the others the calls, each on the first one that is free. Arrows are dependencies.
///
/// ```
/// use gadgetry_inspect::{Recording, Redaction, perfetto};
///
/// let events = r#"{"v":1,"seq":0,"timeMs":0,"type":"model_call_start","iteration":1}"#;
/// let trace = perfetto(&Recording::read(events.as_bytes())?, &Redaction::default());
/// let trace: serde_json::Value = serde_json::from_str(&trace)?;
/// assert_eq!(trace["displayTimeUnit"], "ms");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn perfetto(recording: &Recording, redaction: &Redaction) -> String {
    let mut trace = Trace::default();
    let redaction = redaction.learning(recording.values());
    for mut event in recording.values() {
        redaction.clean(&mut event);
        each_string(&mut event, &|text| {
            if let Some((end, _)) = text.char_indices().nth(TEXT) {
                text.truncate(end);
            }
        });
        trace.event(&event);
    }
    trace.end();
    trace.begin_at_start();
    json!({ "traceEvents": trace.out, "displayTimeUnit": "ms" }).to_string()
}

#[derive(Default)]
struct Trace {
    out: Vec<Value>,
    agents: BTreeMap<String, Agent>,
    /// Time of the latest event, in milliseconds.
    now: u64,
    cost: f64,
    arrows: usize,
    /// Milliseconds since 1970 at which the run began, if they are known.
    start: u64,
}

#[derive(Default)]
struct Agent {
    pid: usize,
    reply: Option<(String, u64)>,
    /// Microseconds at which each lane is free.
    lanes: Vec<u64>,
    calls: HashMap<u64, Call>,
    /// The last call with an id, as its lane and its end.
    ended: HashMap<String, (usize, u64)>,
}

struct Call {
    name: String,
    id: String,
    dependencies: Vec<String>,
    parameters: Value,
    start: u64,
}

impl Trace {
    fn event(&mut self, event: &Value) {
        let text = |name: &str| event[name].as_str().unwrap_or_default();
        let kind = text("type");
        if kind == "inspect_limit" {
            let name = text("message");
            let missing = json!({ "ph": "i", "s": "g", "name": name, "pid": 1, "tid": 1, "ts": micros(self.now) });
            self.out.push(missing);
        }
        if kind.starts_with("inspect_") {
            return;
        }
        let number = |name: &str| event[name].as_u64().unwrap_or_default();
        if kind == "run_start" && event.get("path").is_none() {
            self.start = number("startMs");
        }
        self.now = self.now.max(number("timeMs"));
        let now = self.now;
        let path = event.get("path").map(Value::to_string).unwrap_or_default();
        let call = number("call");
        let agent = self.agent(path);
        match kind {
            "run_start" => {
                let name = [text("agent"), text("model")].join(" ");
                let name = format!("gadgetry {}", name.trim());
                let named = metadata(agent.pid, 0, "process_name", &name);
                self.out.push(named);
            }
            "model_call_start" => {
                agent.reply = Some((format!("reply {}", number("iteration")), now));
            }
            "model_call_end" => {
                let (name, start) = agent.reply.take().unwrap_or(("reply".to_owned(), now));
                let arguments = json!({ "usage": event["usage"], "stopReason": event["stopReason"], "error": event.get("error") });
                let slice = slice((agent.pid, 1), &name, (start, now), &arguments);
                self.out.push(slice);
            }
            "gadget_call" => {
                let dependencies = event["dependencies"].as_array().into_iter().flatten();
                let dependencies = dependencies.filter_map(|it| it.as_str().map(str::to_owned));
                let written = Call {
                    name: text("gadgetName").to_owned(),
                    id: text("invocationId").to_owned(),
                    dependencies: dependencies.collect(),
                    parameters: event["parameters"].clone(),
                    start: now,
                };
                agent.calls.insert(call, written);
            }
            "gadget_start" => {
                if let Some(call) = agent.calls.get_mut(&call) {
                    call.start = now;
                }
            }
            "gadget_result" => self.result(event, now),
            "gadget_skipped" => {
                let name = format!("skipped: {}", text("gadgetName"));
                let skip = json!({ "ph": "i", "s": "t", "name": name, "pid": agent.pid, "tid": 1, "ts": micros(now), "args": { "error": text("error") } });
                self.out.push(skip);
            }
            _ => {}
        }
        let cost = event["cost"].as_f64().unwrap_or_default();
        if cost > 0.0 {
            self.cost += cost;
            let counter = json!({ "ph": "C", "name": "cost", "pid": 1, "ts": micros(now), "args": { "usd": self.cost } });
            self.out.push(counter);
        }
    }

    fn agent(&mut self, path: String) -> &mut Agent {
        let pid = self.agents.len() + 1;
        self.agents.entry(path).or_insert_with(|| {
            let name = if pid == 1 { "gadgetry run" } else { "subagent" };
            self.out.push(metadata(pid, 0, "process_name", name));
            self.out.push(metadata(pid, 1, "thread_name", "replies"));
            Agent {
                pid,
                ..Agent::default()
            }
        })
    }

    fn result(&mut self, event: &Value, now: u64) {
        let path = event.get("path").map(Value::to_string).unwrap_or_default();
        let Some(agent) = self.agents.get_mut(&path) else {
            return;
        };
        let number = event["call"].as_u64().unwrap_or_default();
        let Some(call) = agent.calls.remove(&number) else {
            return;
        };
        let start = micros(call.start);
        let end = micros(now).max(start.saturating_add(1));
        let free = agent.lanes.iter().position(|until| *until <= start);
        let lane = free.unwrap_or(agent.lanes.len().min(LANES));
        if lane == agent.lanes.len() {
            agent.lanes.push(0);
            let name = format!("calls {}", lane + 1);
            self.out
                .push(metadata(agent.pid, lane + 2, "thread_name", &name));
        }
        if let Some(until) = agent.lanes.get_mut(lane) {
            *until = end;
        }
        let name = format!("{} {}", call.name, call.id);
        let arguments = json!({ "parameters": call.parameters, "result": event.get("result"), "error": event.get("error") });
        let place = (agent.pid, lane + 2);
        self.out
            .push(slice(place, &name, (call.start, now), &arguments));
        for dependency in &call.dependencies {
            if self.arrows == ARROWS {
                break;
            }
            if let Some((other, ended)) = agent.ended.get(dependency) {
                self.arrows += 1;
                let id = format!("{} {dependency}>{} {number}", agent.pid, call.id);
                let arrow = |phase: &str, tid: usize, time: u64| json!({ "ph": phase, "cat": "dep", "name": "dep", "id": id, "pid": agent.pid, "tid": tid, "ts": time });
                self.out.push(arrow("s", *other, ended.saturating_sub(1)));
                let mut head = arrow("f", lane + 2, start);
                head["bp"] = "e".into();
                self.out.push(head);
            }
        }
        agent.ended.insert(call.id, (lane + 2, end));
    }

    /// Moves all times to the time at which the run began.
    fn begin_at_start(&mut self) {
        let start = micros(self.start);
        for event in &mut self.out {
            if let Some(time) = event["ts"].as_u64() {
                event["ts"] = time.saturating_add(start).into();
            }
        }
    }

    /// Ends replies that are open.
    fn end(&mut self) {
        for agent in self.agents.values_mut() {
            if let Some((name, start)) = agent.reply.take() {
                let slice = slice((agent.pid, 1), &name, (start, self.now), &Value::Null);
                self.out.push(slice);
            }
        }
    }
}

fn metadata(pid: usize, tid: usize, kind: &str, name: &str) -> Value {
    json!({ "ph": "M", "pid": pid, "tid": tid, "name": kind, "args": { "name": name } })
}

/// Microseconds of milliseconds; a time that a file makes up may be any.
fn micros(milliseconds: u64) -> u64 {
    milliseconds.saturating_mul(1000)
}

/// A slice with its times in milliseconds. One without a duration would be invisible.
fn slice(
    (pid, tid): (usize, usize),
    name: &str,
    (start, end): (u64, u64),
    arguments: &Value,
) -> Value {
    let duration = micros(end.saturating_sub(start)).max(1);
    json!({ "ph": "X", "name": name, "pid": pid, "tid": tid, "ts": micros(start), "dur": duration, "args": arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call must not hide from a file.
    #[test]
    fn records_that_cannot_be_read_are_reported() {
        let start = json!({ "v": 1, "seq": 0, "timeMs": 0, "type": "gadget_start", "call": 0, "invocationId": "x", "gadgetName": "Run" });
        let mut event: gadgetry::Event = serde_json::from_value(start).expect("an event");
        if let gadgetry::EventKind::GadgetStart { parameters, .. } = &mut event.kind {
            *parameters = std::sync::Arc::new(json!({ "$serde_json::private::RawValue": "no" }));
        }
        let mut recorder = crate::Recorder::default();
        gadgetry::Observer::event(&mut recorder, &event);
        let recording = recorder.finish();
        let redaction = Redaction::default();
        for text in [
            crate::html::html(std::slice::from_ref(&recording), &redaction),
            perfetto(&recording, &redaction),
        ] {
            assert!(text.contains("A record cannot be read"), "{text}");
        }
    }

    #[test]
    fn calls_have_lanes_and_arrows() {
        let call = |time: u64, number: u64, id: &str, dependencies: &[&str]| {
            json!({ "v": 1, "seq": 0, "timeMs": time, "type": "gadget_call", "call": number, "gadgetName": "Run", "invocationId": id,
                "dependencies": dependencies, "parametersRaw": "", "parameters": {}, "terminatedBy": "endMarker", "span": { "start": 0, "end": 0 } })
        };
        let start = |time: u64, number: u64, id: &str| json!({ "v": 1, "seq": 0, "timeMs": time, "type": "gadget_start", "call": number, "gadgetName": "Run", "invocationId": id });
        let result = |time: u64, number: u64, id: &str| json!({ "v": 1, "seq": 0, "timeMs": time, "type": "gadget_result", "call": number, "gadgetName": "Run", "invocationId": id, "result": "", "durationMs": 5, "cost": 0.5 });
        let events = [
            call(0, 0, "a", &[]),
            call(0, 1, "b", &[]),
            call(0, 2, "c", &["a"]),
            start(0, 0, "a"),
            start(0, 1, "b"),
            result(10, 0, "a"),
            start(10, 2, "c"),
            result(12, 1, "b"),
            result(15, 2, "c"),
        ];
        let lines: Vec<String> = events.iter().map(Value::to_string).collect();
        let recording = Recording::read(lines.join("\n").as_bytes()).expect("events");
        let trace = perfetto(&recording, &Redaction::default());
        let trace: Value = serde_json::from_str(&trace).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("a list");
        let of = |phase: &'static str| events.iter().filter(move |it| it["ph"] == phase);
        let slices: Vec<_> = of("X")
            .map(|it| (it["tid"].as_u64(), it["ts"].as_u64(), it["dur"].as_u64()))
            .collect();
        let slice = |tid, ts, dur| (Some(tid), Some(ts), Some(dur));
        assert_eq!(
            slices,
            [
                slice(2, 0, 10_000),
                slice(3, 0, 12_000),
                slice(2, 10_000, 5_000)
            ]
        );
        let arrows: Vec<_> = of("s")
            .chain(of("f"))
            .map(|it| (it["id"].clone(), it["ts"].as_u64()))
            .collect();
        assert_eq!(
            arrows,
            [
                ("1 a>c 2".into(), Some(9_999)),
                ("1 a>c 2".into(), Some(10_000))
            ]
        );
        // Times that a file makes up, and more dependencies than there is room for.
        let many = vec!["a"; ARROWS + 1];
        let most = u64::MAX;
        let events = [
            call(0, 0, "a", &[]),
            result(0, 0, "a"),
            call(most, 1, "b", &many),
            start(most, 1, "b"),
            result(most, 1, "b"),
        ];
        let lines: Vec<String> = events.iter().map(Value::to_string).collect();
        let recording = Recording::read(lines.join("\n").as_bytes()).expect("events");
        let long: Value =
            serde_json::from_str(&perfetto(&recording, &Redaction::default())).expect("JSON");
        let arrows = long["traceEvents"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|it| it["ph"] == "s");
        assert_eq!(arrows.count(), ARROWS);
        let times = |trace: &Value| {
            let events = trace["traceEvents"].as_array().into_iter().flatten();
            let replies = events.filter(|it| it["ph"] == "X");
            replies.map(|it| it["ts"].clone()).collect::<Vec<_>>()
        };
        let start = json!({ "v": 1, "seq": 0, "timeMs": 0, "type": "run_start", "id": "r", "model": "m", "startMs": 1_700_000_000_000_u64 });
        let lines = [start, call(1, 0, "a", &[]), result(2, 0, "a")];
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let recording = Recording::read(lines.join("\n").as_bytes()).expect("events");
        let known: Value =
            serde_json::from_str(&perfetto(&recording, &Redaction::default())).expect("JSON");
        assert_eq!(times(&known), [json!(1_700_000_000_001_000_u64)]);
        assert_eq!(of("C").next_back().expect("a counter")["args"]["usd"], 1.5);
    }
}
