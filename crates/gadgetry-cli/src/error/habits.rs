//! Tips for what users of other programs type.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

const RUN_ALL: &str =
    "--yes --sandbox runs all calls without a question, and keeps commands in the workspace";
const AGENT: &str = "`gadgetry agent PROMPT --model NAME` runs an agent";
const PRINT: &str = "`gadgetry agent -p PROMPT --model NAME` prints the answer and nothing else";
const TALK: &str = "`gadgetry chat --model NAME` holds a conversation";
const EITHER: &str = "`gadgetry chat PROMPT --model NAME` begins a conversation, `gadgetry agent PROMPT --model NAME` runs one task";
const CONTINUE: &str = "`gadgetry chat --continue [NAME]` continues a session, and so does `gadgetry agent --continue [NAME] [PROMPT]`";
const ALLOW: &str = "--approval 'allow …' names calls that run without a question";
const MODE: &str = "--approval-mode ask, accept-edits or plan decides what runs without a question";
const KEYS: &str = "keys are read from the environment; `gadgetry doctor` shows which";

/// What was typed, and what does the same here; in alphabetical order.
const HABITS: &[(&str, &str)] = &[
    (
        "--add-dir",
        "--workspace DIR is the folder that gadgets work in",
    ),
    ("--allow-all-tools", RUN_ALL),
    ("--allowed-tools", ALLOW),
    ("--allowedTools", ALLOW),
    (
        "--append-system-prompt",
        "--system TEXT is the system prompt, after which instructions of the project follow",
    ),
    ("--ask-for-approval", ALLOW),
    ("--auto", RUN_ALL),
    ("--cd", "--workspace DIR is the folder that gadgets work in"),
    ("--continue", CONTINUE),
    (
        "--cwd",
        "--workspace DIR is the folder that gadgets work in",
    ),
    ("--dangerously-bypass-approvals-and-sandbox", RUN_ALL),
    ("--dangerously-skip-permissions", RUN_ALL),
    (
        "--effort",
        "--reasoning LEVEL says how much the model thinks before it answers",
    ),
    ("--full-auto", RUN_ALL),
    (
        "--json",
        "--output-format json prints one object about the run",
    ),
    ("--max-turns", "--max-iterations N limits the model replies"),
    (
        "--message",
        "the prompt is a word of its own: `gadgetry agent PROMPT`",
    ),
    ("--model", EITHER),
    ("--no-interactive", PRINT),
    (
        "--no-sandbox",
        "commands run in the sandbox only with --sandbox",
    ),
    ("--permission-mode", MODE),
    ("--plan", MODE),
    ("--print", PRINT),
    ("--prompt", PRINT),
    ("--read-only", MODE),
    ("--resume", CONTINUE),
    ("--skip-permissions", RUN_ALL),
    (
        "--stream",
        "--output-format stream-json prints events as they happen; text streams anyway",
    ),
    ("--system-prompt", "--system TEXT is the system prompt"),
    ("--trust-all-tools", RUN_ALL),
    ("--yes-always", RUN_ALL),
    ("--yolo", RUN_ALL),
    ("-C", "--workspace DIR is the folder that gadgets work in"),
    ("-c", CONTINUE),
    ("-m", EITHER),
    ("-p", PRINT),
    ("-r", CONTINUE),
    ("-y", RUN_ALL),
    ("ask", AGENT),
    ("auth", KEYS),
    ("code", TALK),
    ("exec", PRINT),
    ("login", KEYS),
    ("prompt", AGENT),
    ("resume", CONTINUE),
    (
        "run",
        "`gadgetry agent PROMPT --model NAME` runs an agent, `gadgetry gadget run NAME` a single gadget",
    ),
    (
        "setup",
        "`gadgetry` alone on a terminal helps with the first steps, `gadgetry init` writes a configuration",
    ),
    ("start", TALK),
];

/// The tip for an option or a verb that is not there.
pub(super) fn tip(error: &Error) -> Option<&'static str> {
    if error.kind() == ErrorKind::MissingSubcommand {
        // Nothing was typed: its context has the command that needs a verb.
        return None;
    }
    let typed = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(typed)) => Some(typed.as_str()),
        _ => None,
    };
    let typed = typed(ContextKind::InvalidSubcommand).or_else(|| {
        let is_unknown = error.kind() == ErrorKind::UnknownArgument;
        typed(ContextKind::InvalidArg).filter(|_| is_unknown)
    })?;
    if typed.contains(char::is_whitespace) && !typed.starts_with('-') {
        // A prompt where a verb is expected.
        return Some(EITHER);
    }
    let typed = typed.split('=').next().unwrap_or(typed);
    let found = HABITS.binary_search_by_key(&typed, |(habit, _)| habit);
    let (_, tip) = HABITS.get(found.ok()?)?;
    Some(tip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_are_in_order() {
        assert!(HABITS.is_sorted(), "{HABITS:?}");
    }
}
