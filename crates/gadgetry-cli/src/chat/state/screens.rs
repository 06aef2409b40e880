//! Pictures of the conversation, in `docs/guide/screens`: painted into a terminal, and drawn from its cells.
//!
//! With `GADGETRY_WRITE_PICTURE` the pictures are written, as `cargo xtask picture` does; without it they are compared.

mod scenes;
mod svg;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::num::NonZeroU16;
use std::path::Path;

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::{Value, json};

use super::*;
use crate::chat::screen::{Colors, Region};
use scenes::SCENES;
use svg::Palette;

/// Set by `cargo xtask picture`.
const WRITE: &str = "GADGETRY_WRITE_PICTURE";
/// Bytes of all pictures at most.
const ALL: u64 = 400_000;

/// A conversation and the terminal that it is painted to.
struct Scene {
    app: App,
    now: Duration,
    region: Region,
    terminal: vt100::Parser,
    seq: u64,
}

impl Scene {
    fn new((columns, rows): (u16, u16), palette: Palette) -> Self {
        let facts = Facts {
            name: "haiku".to_owned(),
            window: Some(200_000),
            place: "~/src/shop (main)".to_owned(),
            mode: "asks".to_owned(),
            approval: Mode::Ask,
            names: Names {
                models: ["haiku", "opus", "ollama:qwen3"]
                    .map(str::to_owned)
                    .to_vec(),
                profiles: ["careful", "fast"].map(str::to_owned).to_vec(),
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
            app: App::new(facts, History::new(history.map(str::to_owned).to_vec())),
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
        let settled = self.app.take_settled(columns - 1);
        let view = self.app.view(columns, rows);
        let frame = self.region.paint(columns, &settled, view);
        self.terminal.process(frame.as_bytes());
    }

    fn step(&mut self, after_ms: u64, message: Message) -> &mut Self {
        self.now += Duration::from_millis(after_ms);
        for effect in self.app.update(self.now, message) {
            if let Effect::Send(text) = effect {
                self.app.update(self.now, Message::Began(text));
            } else if let Effect::Perform(Entered::Invalid(problem)) = effect {
                let note = Report::Note(Tone::Bad, problem);
                self.app.update(self.now, Message::Report(note));
            }
        }
        self.paint();
        self
    }

    fn key(&mut self, code: KeyCode) -> &mut Self {
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        self.step(10, Message::Key(key))
    }

    fn control(&mut self, key: char) -> &mut Self {
        let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL);
        self.step(10, Message::Key(key))
    }

    fn types(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.key(if c == '\n' {
                KeyCode::Enter
            } else {
                KeyCode::Char(c)
            });
        }
        self
    }

    fn event(&mut self, kind: &str, fields: Value) -> &mut Self {
        let mut event =
            json!({ "v": 1, "seq": self.seq, "timeMs": 0, "run": "s.1.x", "type": kind });
        self.seq += 1;
        if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
            event.extend(fields);
        }
        let event = serde_json::from_value(event).expect("an event");
        self.step(300, Message::Run(Box::new(event)))
    }

    fn says(&mut self, text: &str) -> &mut Self {
        self.event("text", json!({ "text": text }))
    }

    /// A call that runs.
    fn calls(&mut self, call: u32, gadget: &str, parameters: &Value) -> &mut Self {
        self.has_replied();
        let id = format!("c{call}");
        let fields = json!({ "call": call, "invocationId": id, "gadgetName": gadget, "parameters": parameters });
        self.event("gadget_start", fields)
    }

    /// The result of a call. An error begins with `error: `.
    fn returns(&mut self, call: u32, gadget: &str, text: &str) -> &mut Self {
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

    fn ends(&mut self) -> &mut Self {
        self.has_replied().step(10, Message::Ended(Ok(())))
    }

    fn asks(&mut self, approval: Approval) -> &mut Self {
        self.step(10, Message::Approval(1, approval));
        self.step(400, Message::Tick)
    }
}

#[test]
fn the_pictures_show_the_conversation_of_today() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let folder = guide.join("screens");
    let page = fs::read_to_string(guide.join("chat-screens.md")).expect("the page");
    let mut known = BTreeSet::new();
    let mut stale = Vec::new();
    for (name, title, size, palette, play) in SCENES {
        let mut scene = Scene::new(*size, *palette);
        play(&mut scene);
        let picture = svg::draw(scene.terminal.screen(), title, *palette);
        let file = format!("{name}.svg");
        if env::var_os(WRITE).is_some() {
            fs::write(folder.join(&file), picture).expect("the picture is written");
        } else if fs::read_to_string(folder.join(&file)).ok() != Some(picture) {
            stale.push(*name);
        }
        let shown = format!("![{title}](screens/{file})");
        assert!(
            page.contains(&shown),
            "docs/guide/chat-screens.md lacks {shown}"
        );
        known.insert(file);
    }
    assert!(
        stale.is_empty(),
        "{stale:?} look otherwise: look at them after `cargo xtask picture`"
    );
    let mut bytes = 0;
    for entry in fs::read_dir(folder).expect("the pictures").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(
            known.contains(&name),
            "no scene draws docs/guide/screens/{name}"
        );
        bytes += entry.metadata().expect("a file").len();
    }
    assert!(bytes < ALL, "the pictures have {bytes} bytes");
}
