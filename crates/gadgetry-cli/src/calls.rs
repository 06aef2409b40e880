//! Descriptions of calls of built-in gadgets for the user: the same in a conversation, in lines and in editors.

use gadgetry_builtins::AFTER_EDIT;
#[cfg(any(feature = "acp", feature = "chat"))]
use serde_json::Value;

use crate::lines::{counted, short};

/// Built-in gadgets whose results are for the model alone. Of them, the number of lines is shown.
pub(crate) const READING: [&str; 4] = ["ReadFile", "ListDirectory", "Search", "LoadSkill"];
/// Built-in gadgets whose results end with the change of a file.
pub(crate) const EDITING: [&str; 3] = ["WriteFile", "EditFile", "DeleteFile"];

/// Returns what a call does, as a verb and what it is about; `None` for a gadget that is not built in. Of a command, the verb is the
/// `$` of a shell.
#[cfg(any(feature = "acp", feature = "chat"))]
pub(crate) fn title(gadget: &str, parameters: &Value) -> Option<(&'static str, String)> {
    let text = |name: &str| parameters[name].as_str().unwrap_or_default();
    let path = path(gadget, parameters);
    Some(match gadget {
        "ReadFile" => ("Read", format!("{path}{}", lines(parameters))),
        "ListDirectory" => ("List", path.to_owned()),
        "LoadSkill" => ("Skill", text("skill").to_owned()),
        "WriteFile" => ("Write", path.to_owned()),
        "EditFile" => ("Edit", path.to_owned()),
        "DeleteFile" => ("Delete", path.to_owned()),
        "Search" if path.is_empty() || path == "." => ("Search", format!("{:?}", text("pattern"))),
        "Search" => ("Search", format!("{:?} in {path}", text("pattern"))),
        "RunCommand" => ("$", text("command").to_owned()),
        "HttpFetch" => ("Fetch", text("url").to_owned()),
        "TodoWrite" => ("Update", "the steps".to_owned()),
        "RunAgent" => ("Agent", format!("{}: {}", text("agent"), text("prompt"))),
        _ => return None,
    })
}

/// Returns the path that a call of a built-in gadget is about; empty without one.
#[cfg(any(feature = "acp", feature = "chat"))]
pub(crate) fn path<'v>(gadget: &str, parameters: &'v Value) -> &'v str {
    let name = match gadget {
        "ListDirectory" => "directoryPath",
        "Search" => "path",
        _ => "filePath",
    };
    parameters[name].as_str().unwrap_or_default()
}

/// The lines that a file is read from.
#[cfg(any(feature = "acp", feature = "chat"))]
fn lines(parameters: &Value) -> String {
    match (
        parameters["startLine"].as_u64(),
        parameters["endLine"].as_u64(),
    ) {
        (None, None) => String::new(),
        (Some(first), None) => format!(":{first}-"),
        (first, Some(last)) => format!(":{}-{last}", first.unwrap_or(1)),
    }
}

/// Returns the error of a call as the user reads it, who does not need the names of all gadgets.
pub(crate) fn error_of(text: &str) -> &str {
    const NAMES: &str = "\n\nAvailable gadgets: ";
    let is_unknown = text.starts_with("Error: Gadget '");
    let (error, _) = text
        .split_once(NAMES)
        .filter(|_| is_unknown)
        .unwrap_or((text, ""));
    error
}

/// Returns the name of a gadget in a few words, also of a call that has none.
pub(crate) fn name_of(gadget: &str) -> String {
    match short(gadget) {
        name if name.is_empty() => "(no name)".to_owned(),
        name => name,
    }
}

/// Returns how a command ended that did not succeed, such as `exit 3`, if this is the result of one.
pub(crate) fn failure(gadget: &str, result: &str) -> Option<String> {
    if gadget != "RunCommand" {
        return None;
    }
    let status = result.lines().next()?.strip_prefix("status=")?;
    match status.split_once(' ').unwrap_or((status, "")) {
        ("0", _) => None,
        ("timeout", _) => Some("timeout".to_owned()),
        ("killed", how) => Some(format!("killed {how}")),
        (code, _) => Some(format!("exit {code}")),
    }
}

/// Returns what the user reads about the result of a built-in gadget in place of it: the number of lines that were read or changed.
pub(crate) fn remark(gadget: &str, result: &str) -> Option<String> {
    let body = body(result);
    let result = of_edit(result);
    if READING.contains(&gadget) {
        return Some(counted(body.lines().count(), "line"));
    }
    if !EDITING.contains(&gadget) {
        return None;
    }
    let Some(diff) = change(result) else {
        return Some(short(body.lines().next().unwrap_or_default()));
    };
    let with = |mark: char| diff.lines().filter(|it| it.starts_with(mark)).count();
    Some(format!("+{} -{}", with('+'), with('-')))
}

/// Returns the result of an edit without those of the commands that ran after it.
fn of_edit(result: &str) -> &str {
    result
        .split_once(AFTER_EDIT)
        .map_or(result, |(edit, _)| edit)
}

/// A command that ran after an edit and failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FailedCheck<'r> {
    pub(crate) command: &'r str,
    /// How it ended, such as `exit 1`.
    pub(crate) how: String,
    pub(crate) output: &'r str,
}

/// Returns the first command that ran after an edit and failed.
pub(crate) fn failed_check<'r>(gadget: &str, result: &'r str) -> Option<FailedCheck<'r>> {
    if !EDITING.contains(&gadget) {
        return None;
    }
    let (_, checks) = result.split_once(AFTER_EDIT)?;
    checks.split(AFTER_EDIT).find_map(|check| {
        // The lines of the command are the user's.
        let Some(status) = check.find("\nstatus=") else {
            let (command, output) = check.split_once('\n').unwrap_or((check, ""));
            let how = "not run".to_owned();
            return Some(FailedCheck {
                command,
                how,
                output,
            });
        };
        let (command, ended) = (&check[..status], &check[status + 1..]);
        let how = failure("RunCommand", ended)?;
        let output = body(ended);
        Some(FailedCheck {
            command,
            how,
            output,
        })
    })
}

/// Returns the change of a file in a result.
pub(crate) fn change(result: &str) -> Option<&str> {
    let result = of_edit(result);
    let hunk = if result.starts_with("@@ ") {
        0
    } else {
        result.find("\n@@ ")? + 1
    };
    Some(&result[hunk..])
}

/// Returns the result of a built-in gadget without its first lines, which are for the model.
pub(crate) fn body(result: &str) -> &str {
    result.split_once("\n\n").map_or("", |(_, body)| body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_checks_are_known() {
        let check = |result: &str, expected: Option<(&str, &str, &str)>| {
            let result = format!("path=a.rs\n\nWrote 8 bytes (new file){result}");
            let found = failed_check("WriteFile", &result);
            let found = found.as_ref();
            let found = found.map(|it| (it.command, it.how.as_str(), it.output));
            assert_eq!(found, expected, "{result}");
            assert_eq!(failed_check("Other", &result), None);
            let remark = remark("WriteFile", &result);
            assert_eq!(remark.as_deref(), Some("Wrote 8 bytes (new file)"));
        };
        let ran = |command: &str, said: &str| format!("\n\nafter the edit: {command}\n{said}");
        check("", None);
        check(&ran("cargo check", "status=0\n\nfine\n"), None);
        let failed = ran("cargo check", "status=1\n\nno\nstatus=0\n");
        check(&failed, Some(("cargo check", "exit 1", "no\nstatus=0\n")));
        let second = ran("true", "status=0") + &ran("a\nb", "status=2\n\n");
        check(&second, Some(("a\nb", "exit 2", "")));
        check(
            &ran("a", "no sandbox\n"),
            Some(("a", "not run", "no sandbox\n")),
        );
    }

    #[test]
    fn failed_commands_are_known() {
        let check = |gadget: &str, result: &str, expected: Option<&str>| {
            assert_eq!(failure(gadget, result).as_deref(), expected, "{result}");
        };
        check("RunCommand", "status=0\n\nfine\n", None);
        check("RunCommand", "status=3\n\nno\n", Some("exit 3"));
        check("RunCommand", "status=3", Some("exit 3"));
        check(
            "RunCommand",
            "status=timeout (ended after 5 ms)\n\n",
            Some("timeout"),
        );
        check(
            "RunCommand",
            "status=killed (signal: 9)\n\n",
            Some("killed (signal: 9)"),
        );
        check("Other", "status=3\n\n", None);
        check("RunCommand", "", None);
    }
}
