//! What happens in the pictures.

use crossterm::event::KeyCode;
use serde_json::json;

use super::scene::Scene;
use super::svg::Palette;
use crate::approvals::Approval;
use crate::chat::report::{Report, Tone};
use crate::chat::state::{Failure, Message};
use crate::modes::Mode;

const REPLY: &str = "\
## What the tests say

Two of **31** fail, both in `cart::total`:

| test | expected | found |
|---|---|---|
| rounds_half_up | 10.13 | 10.12 |
| empty_cart | 0.00 | NaN |

1. The sum divides by the number of items, which is 0 for an empty cart.
2. `round()` is called before the tax is added.

```rust
fn total(&self) -> Money {
    // Taxes first, then one rounding.
    self.items.iter().map(Item::with_tax).sum::<Money>().round(2)
}
```
";

const DIFF: &str = "\
@@ -12,5 +12,5 @@
 impl Cart {
     pub fn total(&self) -> Money {
-        self.sum().round(2) * self.tax
+        (self.sum() * self.tax).round(2)
     }
";

fn edit() -> Approval {
    Approval {
        gadget: "EditFile".to_owned(),
        subject: "src/cart.rs".to_owned(),
        is_line: true,
        diff: Some(DIFF.to_owned()),
        rules: vec![
            "EditFile(src/cart.rs)".to_owned(),
            "EditFile(src/**)".to_owned(),
        ],
        ..Approval::default()
    }
}

fn command() -> Approval {
    Approval {
        gadget: "RunCommand".to_owned(),
        subject: "git push --force origin main".to_owned(),
        rules: vec!["this command".to_owned()],
        ..Approval::default()
    }
}

fn start(_: &mut Scene) {}

fn reply(scene: &mut Scene) {
    scene.types("why do the tests fail?\n").says(REPLY).ends();
}

fn writing(scene: &mut Scene) {
    scene.types("explain the cart\n");
    scene.says("The cart is a list of items.\nIts total is a sum,\nand then a");
}

fn commands(scene: &mut Scene) {
    scene.types("/re");
}

fn mistyped(scene: &mut Scene) {
    scene.types("/rewnd\n");
}

fn models(scene: &mut Scene) {
    scene.types("/model\n");
    scene.step(20, Message::Draft("/model ".to_owned()));
}

fn files(scene: &mut Scene) {
    scene.types("look at @car");
    let names = [
        "src/cart.rs",
        "src/cart/tests.rs",
        "tests/cart.rs",
        "docs/",
        "Cargo.toml",
    ];
    scene.step(20, Message::Files(names.map(str::to_owned).to_vec()));
}

fn search(scene: &mut Scene) {
    scene.control('r').types("basket");
}

fn read(scene: &mut Scene) {
    scene.types("what does the cart do?\n");
    let path = json!({ "filePath": "src/cart.rs" });
    let file = "path=src/cart.rs lines=1-3\n\nuse money;\n\nstruct Cart;\n";
    scene
        .calls(0, "ReadFile", &path)
        .returns(0, "ReadFile", file);
    let pattern = json!({ "pattern": "total" });
    let found = "found=2\n\nsrc/cart.rs:12: fn total\nsrc/main.rs:3: total()\n";
    scene
        .calls(1, "Search", &pattern)
        .returns(1, "Search", found);
    scene.says("It adds the prices of its items.\n").ends();
}

fn approves_command(scene: &mut Scene) {
    scene.types("push it\n");
    scene.asks(command());
}

fn approves_edit(scene: &mut Scene) {
    scene.types("round once, after the tax\n");
    scene.says("I round after the tax.\n\n").asks(edit());
}

fn edited(scene: &mut Scene) {
    scene.types("round once, after the tax\n");
    let result = format!("path=src/cart.rs status=success\n\n{DIFF}");
    let path = json!({ "filePath": "src/cart.rs", "search": "a", "replace": "b" });
    scene
        .calls(0, "EditFile", &path)
        .returns(0, "EditFile", &result);
    scene.says("The total is rounded once now.\n").ends();
}

fn running(scene: &mut Scene) {
    scene.types("run the tests\n");
    scene.calls(0, "RunCommand", &json!({ "command": "cargo test" }));
    let tests = [
        "adds",
        "removes",
        "is_empty",
        "rounds_half_up",
        "taxes",
        "currencies",
        "sorts",
    ];
    let lines: String = tests.map(|it| format!("test cart::{it} ... ok\n")).concat();
    scene.step(1200, Message::Output("s.1.x/0".to_owned(), lines));
}

fn failed(scene: &mut Scene) {
    running(scene);
    let output = "status=101\n\nrunning 31 tests\ntest cart::empty_cart ... FAILED\n\nfailures:\n    cart::empty_cart\n\n\
                  test result: FAILED. 30 passed; 1 failed\n";
    scene.returns(0, "RunCommand", output);
    scene.says("One test still fails.\n").ends();
}

fn unsent(scene: &mut Scene) {
    scene.types("hello\n");
    let retry = json!({
        "iteration": 1, "attempt": 1, "left": 1, "delayMs": 2000, "kind": "overloaded", "error": "overloaded (HTTP 529)",
    });
    scene.event("model_retry", retry);
    let words = "model call failed: overloaded (HTTP 529)".to_owned();
    scene.step(2000, Message::Ended(Err(Failure::Model(words))));
}

fn reasoning(scene: &mut Scene) {
    scene.types("which test is slow?\n");
    let text =
        "The tests print their times.\nThe slowest is cart::currencies, which asks a server.\n";
    scene.event("reasoning", json!({ "text": text }));
    scene
        .says("`cart::currencies`: it asks a server for rates.\n")
        .ends();
    scene.control('t').key(KeyCode::Char('r'));
}

fn waiting(scene: &mut Scene) {
    scene.types("run the tests\n");
    scene.calls(
        0,
        "RunCommand",
        &json!({ "command": "cargo test --workspace" }),
    );
    for text in ["then commit it", "and push the branch"] {
        scene.types(&format!("{text}\n"));
        scene.step(10, Message::Added(text.to_owned()));
    }
    scene.types("also upd");
}

fn question(scene: &mut Scene) {
    scene.types("add a currency\n");
    let words = "Which currency shall I add: EUR, or USD?".to_owned();
    scene.step(10, Message::Question(2, words));
    scene.step(400, Message::Tick);
    scene.types("EUR");
}

fn plan(scene: &mut Scene) {
    let mut facts = scene.app.facts.clone();
    facts.approval = Mode::Plan;
    facts.mode = "plans (read only)".to_owned();
    scene.step(0, Message::Facts(facts));
    scene.types("make the cart generic\n");
    let plan = "## Plan\n\n1. Add a type parameter to `Cart`.\n2. Move taxes to a trait.\n3. Update the tests.\n";
    scene.says(plan);
    let ended =
        json!({ "reason": "completed", "iterations": 1, "totalCost": null, "answer": plan });
    scene.event("run_finished", ended);
    scene.ends().step(400, Message::Tick);
}

fn own_command(scene: &mut Scene) {
    scene.types("!git status --short\n");
    let line = "$ git status --short · exit 0".to_owned();
    let output = " M src/cart.rs\n?? notes.md".to_owned();
    let reports = vec![Report::Note(Tone::Plain, line), Report::Output(output)];
    scene.step(40, Message::ShellEnded(reports));
}

fn help(scene: &mut Scene) {
    scene.types("/help\n");
}

const NARROW: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (120, 40);

/// Name, title, size, colours, and what happens.
type Picture = (
    &'static str,
    &'static str,
    (u16, u16),
    Palette,
    fn(&mut Scene),
);

/// The pictures.
pub(super) const SCENES: &[Picture] = &[
    ("start", "The start", NARROW, Palette::Dark, start),
    (
        "start-light",
        "The start on a light terminal",
        NARROW,
        Palette::Light,
        start,
    ),
    (
        "writing",
        "A reply while it is written",
        NARROW,
        Palette::Dark,
        writing,
    ),
    (
        "reply",
        "A reply with a table and code",
        WIDE,
        Palette::Dark,
        reply,
    ),
    (
        "reply-light",
        "The same on a light terminal",
        NARROW,
        Palette::Light,
        reply,
    ),
    (
        "reply-plain",
        "The same without colours",
        NARROW,
        Palette::Plain,
        reply,
    ),
    (
        "commands",
        "Completion of slash commands",
        NARROW,
        Palette::Dark,
        commands,
    ),
    (
        "mistyped",
        "A command that does not exist",
        NARROW,
        Palette::Light,
        mistyped,
    ),
    (
        "models",
        "The choice of a model",
        NARROW,
        Palette::Dark,
        models,
    ),
    ("files", "Completion of files", NARROW, Palette::Dark, files),
    (
        "search",
        "Search in earlier messages",
        NARROW,
        Palette::Dark,
        search,
    ),
    (
        "read",
        "Files that the model reads",
        NARROW,
        Palette::Dark,
        read,
    ),
    (
        "approve-command",
        "A command that needs approval",
        NARROW,
        Palette::Dark,
        approves_command,
    ),
    (
        "approve-edit",
        "A change that needs approval",
        NARROW,
        Palette::Dark,
        approves_edit,
    ),
    (
        "approve-edit-light",
        "The same on a light terminal",
        WIDE,
        Palette::Light,
        approves_edit,
    ),
    (
        "approve-edit-plain",
        "The same without colours",
        NARROW,
        Palette::Plain,
        approves_edit,
    ),
    (
        "edited",
        "A change that was made",
        NARROW,
        Palette::Light,
        edited,
    ),
    (
        "running",
        "A command while it runs",
        NARROW,
        Palette::Dark,
        running,
    ),
    (
        "failed",
        "A command that has failed",
        NARROW,
        Palette::Dark,
        failed,
    ),
    (
        "unsent",
        "A request that has failed",
        NARROW,
        Palette::Dark,
        unsent,
    ),
    (
        "reasoning",
        "The transcript, with reasoning",
        NARROW,
        Palette::Dark,
        reasoning,
    ),
    (
        "waiting",
        "Messages that wait for the run",
        NARROW,
        Palette::Dark,
        waiting,
    ),
    (
        "question",
        "A question of the model",
        NARROW,
        Palette::Dark,
        question,
    ),
    ("plan", "A plan to accept", NARROW, Palette::Dark, plan),
    (
        "own-command",
        "A command of the user",
        NARROW,
        Palette::Light,
        own_command,
    ),
    ("help", "The help", WIDE, Palette::Dark, help),
];
