//! Calls of built-in gadgets for the user.

use gadgetry_acp::{CallDescription, CallKind, Change, Step, StepProgress};
use gadgetry_builtins::{TodoStatus, TodoStep};
use serde_json::Value;

use crate::calls;

/// Describes a call, or a gadget if the parameters are not known yet. A gadget that is not built in shows its name.
pub(super) fn describe(gadget: &str, parameters: Option<&Value>) -> CallDescription {
    let kind = match gadget {
        "ReadFile" | "ListDirectory" | "LoadSkill" => CallKind::Read,
        "WriteFile" | "EditFile" => CallKind::Edit,
        "DeleteFile" => CallKind::Delete,
        "Search" => CallKind::Search,
        "RunCommand" => CallKind::Execute,
        "HttpFetch" => CallKind::Fetch,
        "TodoWrite" => CallKind::Think,
        _ => CallKind::Other,
    };
    let Some(parameters) = parameters else {
        return CallDescription::new(kind, gadget);
    };
    let text = |name: &str| parameters[name].as_str().unwrap_or_default();
    let path = calls::path(gadget, parameters);
    let title = match calls::title(gadget, parameters) {
        // An editor shows by the kind of the call that it is a command.
        Some(("$", command)) => command,
        Some((verb, about)) => format!("{verb} {about}"),
        None => gadget.to_owned(),
    };
    let mut call = CallDescription::new(kind, title);
    if !path.is_empty() && kind != CallKind::Other {
        let line = parameters["startLine"].as_u64();
        let line = line.and_then(|line| u32::try_from(line).ok());
        call.files.push((path.to_owned(), line));
    }
    match gadget {
        "WriteFile" => {
            // What was in the file before is not among the parameters.
            call.changes = vec![Change::new(path, None, text("content"))];
        }
        "EditFile" => {
            let before = text("search").to_owned();
            call.changes = vec![Change::new(path, Some(before), text("replace"))];
        }
        "TodoWrite" => call.steps = steps(parameters),
        _ => {}
    }
    call
}

fn steps(parameters: &Value) -> Vec<Step> {
    let steps = TodoStep::of_call(parameters).into_iter();
    let steps = steps.map(|step| {
        let progress = match step.status {
            TodoStatus::InProgress => StepProgress::InProgress,
            TodoStatus::Completed | TodoStatus::Cancelled => StepProgress::Completed,
            TodoStatus::Pending | _ => StepProgress::Pending,
        };
        Step::new(step.text, progress)
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_described() {
        let check = |gadget: &str, parameters: Value, kind: CallKind, title: &str| {
            let found = describe(gadget, Some(&parameters));
            assert_eq!(
                (found.kind, &*found.title),
                (kind, title),
                "{gadget} {parameters}"
            );
        };
        check(
            "ReadFile",
            json!({ "filePath": "a" }),
            CallKind::Read,
            "Read a",
        );
        check(
            "ReadFile",
            json!({ "filePath": "a", "startLine": 3, "endLine": 9 }),
            CallKind::Read,
            "Read a:3-9",
        );
        check(
            "Search",
            json!({ "pattern": "x", "path": "." }),
            CallKind::Search,
            "Search \"x\"",
        );
        check(
            "RunCommand",
            json!({ "command": "make" }),
            CallKind::Execute,
            "make",
        );
        check(
            "LoadSkill",
            json!({ "skill": "release-notes" }),
            CallKind::Read,
            "Skill release-notes",
        );
        // Whatever a model writes.
        for wrong in [json!(null), json!([]), json!({ "filePath": 1 }), json!("x")] {
            check("EditFile", wrong.clone(), CallKind::Edit, "Edit ");
            check(
                "TodoWrite",
                wrong.clone(),
                CallKind::Think,
                "Update the steps",
            );
            check("Other", wrong, CallKind::Other, "Other");
        }
    }

    #[test]
    fn changes_and_steps() {
        let edit = json!({ "filePath": "a", "search": "x", "replace": "y" });
        let found = describe("EditFile", Some(&edit));
        let expected = Change::new("a", Some("x".to_owned()), "y");
        assert_eq!(found.changes, [expected]);
        assert_eq!(found.files, [("a".to_owned(), None)]);
        let todos =
            json!({ "todos": [{ "content": "a", "status": "completed" }, { "content": "b" }, 1] });
        let expected = [
            Step::new("a", StepProgress::Completed),
            Step::new("b", StepProgress::Pending),
            Step::new("", StepProgress::Pending),
        ];
        assert_eq!(describe("TodoWrite", Some(&todos)).steps, expected);
        let plan = json!({ "plan": [{ "step": "a", "status": "in_progress" }] });
        let expected = [Step::new("a", StepProgress::InProgress)];
        assert_eq!(describe("TodoWrite", Some(&plan)).steps, expected);
    }
}
