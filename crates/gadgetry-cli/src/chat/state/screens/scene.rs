//! A conversation on the screen of a terminal.

use std::num::NonZeroU16;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use super::svg::Palette;
use crate::approvals::Approval;
use crate::chat::commands::Entered;
use crate::chat::editor::{History, Names};
use crate::chat::report::{Report, Tone};
use crate::chat::screen::{Colors, Region};
use crate::chat::state::{App, Effect, Facts, Message};
use crate::modes::Mode;

/// A conversation and the terminal that it is painted to.
pub(super) struct Scene {
    pub(super) app: App,
    now: Duration,
    region: Region,
    pub(super) terminal: vt100::Parser,
    seq: u64,
}

impl Scene {
    pub(super) fn new((columns, rows): (u16, u16), palette: Palette) -> Self {
        let facts = Facts {
            name: "haiku".to_owned(),
            window: Some(200_000),
            reads_images: true,
            server: None,
            place: "~/src/shop (main)".to_owned(),
            mode: "asks".to_owned(),
            approval: Mode::Ask,
            names: Names {
                models: ["haiku", "opus", "ollama:qwen3"]
                    .map(str::to_owned)
                    .to_vec(),
                profiles: Vec::new(),
                named: vec![(
                    "/review".to_owned(),
                    "reviews the changes of the branch".to_owned(),
                )],
                ..Names::default()
            },
        };
        let history = ["cargo test fails, why?", "rename Cart to Basket"];
        let colors = match palette {
            Palette::Dark => Colors::Dark,
            Palette::Light => Colors::Light,
            Palette::Plain => Colors::None,
        };
        let size = |it| NonZeroU16::new(it).expect("a size");
        let mut scene = Self {
            app: App::new(
                facts,
                History::new(history.map(|it| it.to_owned().into()).to_vec()),
            ),
            now: Duration::ZERO,
            region: Region::new(colors, true),
            terminal: vt100::Parser::new(size(rows), size(columns), 0),
            seq: 0,
        };
        scene.paint();
        scene
    }

    fn paint(&mut self) {
        let (rows, columns) = self.terminal.screen().size();
        let (rows, columns) = (rows.get(), columns.get());
        if let Some(view) = self.app.overlay(columns, rows) {
            self.terminal.process(self.region.overlay(view).as_bytes());
            return;
        }
        self.app.resize(columns, rows);
        let settled = self.app.take_settled(columns - 1);
        let view = self.app.view(columns, rows);
        let frame = self.region.paint(columns, &settled, view);
        self.terminal.process(frame.as_bytes());
    }

    pub(super) fn step(&mut self, after_ms: u64, message: Message) -> &mut Self {
        self.now += Duration::from_millis(after_ms);
        for effect in self.app.update(self.now, message) {
            if let Effect::Send(text) = effect {
                self.app.update(self.now, Message::Began(text));
            } else if let Effect::Perform(
                Entered::Invalid(problem) | Entered::Unknown(_, problem),
            ) = effect
            {
                let note = Report::Note(Tone::Bad, problem);
                self.app.update(self.now, Message::Report(note));
            }
        }
        self.paint();
        self
    }

    pub(super) fn key(&mut self, code: KeyCode) -> &mut Self {
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        self.step(10, Message::Key(key))
    }

    pub(super) fn control(&mut self, key: char) -> &mut Self {
        let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL);
        self.step(10, Message::Key(key))
    }

    pub(super) fn types(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.key(if c == '\n' {
                KeyCode::Enter
            } else {
                KeyCode::Char(c)
            });
        }
        self
    }

    pub(super) fn event(&mut self, kind: &str, fields: Value) -> &mut Self {
        let mut event =
            json!({ "v": 1, "seq": self.seq, "timeMs": 0, "run": "s.1.x", "type": kind });
        self.seq += 1;
        if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
            event.extend(fields);
        }
        let event = serde_json::from_value(event).expect("an event");
        self.step(300, Message::Run(Box::new(event)))
    }

    pub(super) fn says(&mut self, text: &str) -> &mut Self {
        self.event("text", json!({ "text": text }))
    }

    /// A call that runs.
    pub(super) fn calls(&mut self, call: u32, gadget: &str, parameters: &Value) -> &mut Self {
        self.has_replied();
        let id = format!("c{call}");
        let fields = json!({ "call": call, "invocationId": id, "gadgetName": gadget, "parameters": parameters });
        self.event("gadget_start", fields)
    }

    /// The result of a call. An error begins with `error: `.
    pub(super) fn returns(&mut self, call: u32, gadget: &str, text: &str) -> &mut Self {
        let id = format!("c{call}");
        let (key, text) = match text.strip_prefix("error: ") {
            Some(error) => ("error", error),
            None => ("result", text),
        };
        let fields = json!({
            "call": call, "invocationId": id, "gadgetName": gadget, key: text, "durationMs": 2300,
        });
        self.event("gadget_result", fields)
    }

    fn has_replied(&mut self) -> &mut Self {
        let usage = json!({ "inputTokens": 5200, "outputTokens": 310 });
        let fields = json!({ "iteration": 1, "stopReason": "stop", "usage": usage });
        self.event("model_call_end", fields)
    }

    pub(super) fn ends(&mut self) -> &mut Self {
        self.has_replied().step(10, Message::Ended(Ok(())))
    }

    pub(super) fn asks(&mut self, approval: Approval) -> &mut Self {
        self.step(10, Message::Approval(1, approval));
        self.step(400, Message::Tick)
    }
}
