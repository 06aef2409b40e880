//! `TodoWrite`.

use std::fmt::Write as _;

use gadgetry::proto::schema::OnInterrupt;
use gadgetry::{Example, ExecutionContext, Gadget, GadgetError, GadgetInfo};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Items of a list.
const ITEMS: usize = 100;

/// Keeps the list of steps. The list is in the conversation, so it has no state of its own.
#[derive(Debug)]
pub(crate) struct TodoWrite;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TodoWriteParams {
    /// the whole list each time
    #[schemars(length(max = 100))]
    todos: Vec<Todo>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Todo {
    content: String,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[default]
    Pending,
    InProgress,
    Completed,
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
        params: TodoWriteParams,
        _context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let todos = &params.todos;
        if todos.len() > ITEMS {
            return Err(GadgetError::new(format_args!(
                "more than {ITEMS} steps; combine some"
            )));
        }
        let done = todos.iter().filter(|it| it.status == Status::Completed);
        let mut text = format!("{} of {} done\n", done.count(), todos.len());
        for Todo { content, status } in todos {
            let mark = match status {
                Status::Pending => ' ',
                Status::InProgress => '>',
                Status::Completed => 'x',
            };
            let content = content.split_whitespace().collect::<Vec<_>>().join(" ");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "[{mark}] {content}");
        }
        Ok(text)
    }
}
