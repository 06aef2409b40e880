//! `TodoWrite`.

use std::borrow::Cow;
use std::fmt::Write as _;

use gadgetry::proto::schema::OnInterrupt;
use gadgetry::{Example, ExecutionContext, Gadget, GadgetError, GadgetInfo};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};

/// Items of a list.
const ITEMS: usize = 100;

/// Names of the list of steps, and of the text of a step, by the programs that models were trained in.
const LISTS: [&str; 3] = ["todos", "plan", "todoList"];
const TEXTS: [&str; 4] = ["content", "step", "title", "description"];

/// A step of a task, as a call of `TodoWrite` has it.
///
/// ```
/// use gadgetry_builtins::{TodoStatus, TodoStep};
/// use serde_json::json;
/// let call = json!({ "plan": [{ "step": "Fix the parser", "status": "in_progress" }] });
/// let steps = TodoStep::of_call(&call);
/// assert_eq!((&*steps[0].text, steps[0].status), ("Fix the parser", TodoStatus::InProgress));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TodoStep {
    /// The text, in one line.
    pub text: String,
    /// The progress.
    pub status: TodoStatus,
}

/// Progress of a [`TodoStep`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TodoStatus {
    /// It has not begun.
    #[default]
    Pending,
    /// It is in progress.
    InProgress,
    /// The step is complete.
    Completed,
    /// It will not be done.
    Cancelled,
}

impl TodoStatus {
    const NAMES: [&str; 4] = ["pending", "in_progress", "completed", "cancelled"];

    /// The status of this name, also as other programs write it: `in-progress`, `done`. Any other word means that the step has not begun.
    fn named(name: &str) -> Self {
        match name.to_lowercase().replace(['-', ' '], "_").as_str() {
            "in_progress" | "active" | "doing" => Self::InProgress,
            "completed" | "complete" | "done" => Self::Completed,
            "cancelled" | "canceled" => Self::Cancelled,
            _ => Self::Pending,
        }
    }
}

impl TodoStep {
    /// Returns the steps in the parameters of a call; none if they are not those of `TodoWrite`. The list is `todos`, `plan` as in
    /// `update_plan` of Codex, or `todoList` as in Copilot, and a step is a text, or has it as its `content`, `step`, `title` or
    /// `description`.
    pub fn of_call(parameters: &Value) -> Vec<Self> {
        let list = list(parameters).into_iter().flatten();
        list.map(Self::of).collect()
    }

    fn of(step: &Value) -> Self {
        let text = TEXTS.iter().find_map(|name| step[*name].as_str());
        let text = text.or(step.as_str()).unwrap_or_default();
        Self {
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            status: TodoStatus::named(step["status"].as_str().unwrap_or_default()),
        }
    }
}

fn list(parameters: &Value) -> Option<&Vec<Value>> {
    LISTS.iter().find_map(|name| parameters[*name].as_array())
}

/// Keeps the list of steps. The list is in the conversation, so it has no state of its own.
#[derive(Debug)]
pub(crate) struct TodoWrite;

/// What is in them is checked by their schema.
#[derive(Debug, Deserialize)]
pub(crate) struct TodoWriteParams(Value);

/// Models are shown what is not deprecated.
impl JsonSchema for TodoWriteParams {
    fn schema_name() -> Cow<'static, str> {
        "TodoWriteParams".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let other = json!({ "deprecated": true });
        let other_text = json!({ "type": "string", "deprecated": true });
        let step = json!({
            "type": "object",
            "minProperties": 1,
            "properties": {
                "content": { "type": "string" },
                "status": { "anyOf": [{ "enum": TodoStatus::NAMES }, other_text], "default": "pending" },
                "step": other_text,
                "title": other_text,
                "description": other_text,
                "activeForm": other,
                "id": other,
                "priority": other,
            },
        });
        let steps = json!({ "anyOf": [step, other_text] });
        json_schema!({
            "type": "object",
            "minProperties": 1,
            "properties": {
                "todos": { "type": "array", "description": "the whole list each time", "items": steps, "maxItems": ITEMS },
                "plan": { "type": "array", "items": steps, "maxItems": ITEMS, "deprecated": true },
                "todoList": { "type": "array", "items": steps, "maxItems": ITEMS, "deprecated": true },
                "operation": other,
                "explanation": other,
            },
        })
    }
}

impl Gadget for TodoWrite {
    type Params = TodoWriteParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new(
            "TodoWrite",
            "Shows the user the steps of a task of three steps or more. Write it again when a step begins or is done.",
        )
        .example(
            Example::new(json!({ "todos": [
                { "content": "Find the failing test", "status": "completed" },
                { "content": "Fix the parser", "status": "in_progress" },
                { "content": "Run all tests", "status": "pending" },
            ] }))
            .comment("The second of three steps begins"),
        )
        .sticky_result()
        .on_interrupt(OnInterrupt::Rerun)
    }

    async fn execute(
        &self,
        TodoWriteParams(parameters): TodoWriteParams,
        _context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        if list(&parameters).is_none() {
            return Err("todos: the list of all steps is missing".into());
        }
        let steps = TodoStep::of_call(&parameters);
        if steps.len() > ITEMS {
            return Err(GadgetError::new(format_args!(
                "more than {ITEMS} steps; combine some"
            )));
        }
        if let Some(at) = steps.iter().position(|it| it.text.is_empty()) {
            return Err(GadgetError::new(format_args!(
                "todos.{at}.content: the text of the step is missing"
            )));
        }
        let done = steps.iter().filter(|it| it.status == TodoStatus::Completed);
        let mut shown = format!("{} of {} done\n", done.count(), steps.len());
        for TodoStep { text, status } in &steps {
            let mark = match status {
                TodoStatus::Pending => ' ',
                TodoStatus::InProgress => '>',
                TodoStatus::Completed => 'x',
                TodoStatus::Cancelled => '-',
            };
            // Writing to a string cannot fail.
            let _ = writeln!(shown, "[{mark}] {text}");
        }
        Ok(shown)
    }
}
