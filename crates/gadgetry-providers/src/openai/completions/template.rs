//! A conversation as one text, with turns that nothing in a message can begin.

use std::borrow::Cow;
use std::fmt::Write as _;

use gadgetry_proto::message::{Constraint, Message, Request, Role};
use gadgetry_proto::visible::is_invisible;

use crate::options::ModelOptions;

/// The words after `### ` in the lines that begin turns.
const USER: &str = "User";
const ASSISTANT: &str = "Assistant";

/// The words that no line of a message begins with after `#`: those of the turns, and one that a model may take for one.
const NAMES: [&str; 3] = [USER, ASSISTANT, "System"];

/// Breaks a line that would begin a turn.
const BREAKER: char = '\u{200B}';

/// Stop sequences of a reply: the next turn, with or without the blank line before it, or another turn of its own. The longest one is first,
/// because some servers cut at the first that they find. OpenAI takes four, so there is room for one of the user's.
pub(super) const STOPS: [&str; 3] = ["\n\n### User\n", "\n### User\n", "\n\n### Assistant\n"];

/// The conversation, and the beginning of the reply. Where the last message is the model's own, the reply continues it.
///
/// The prompt of a turn is a prefix of that of the next, so a server's cache keeps its value.
pub(super) fn prompt(options: &ModelOptions, request: &Request) -> String {
    let mut system = String::new();
    let mut turns = String::new();
    let mut before = None;
    for message in request.all_messages() {
        let text = options.text(message);
        let text = neutral(text.trim_matches('\n'));
        if text.is_empty() {
            continue;
        }
        if message.role == Role::System {
            add(&mut system, &text);
        } else if before == Some(message.role) {
            add(&mut turns, &text);
        } else {
            begin(&mut turns, message);
            turns.push_str(&text);
            before = Some(message.role);
        }
    }
    if before != Some(Role::Assistant) {
        begin(&mut turns, &Message::text(Role::Assistant, ""));
    }
    add(&mut system, &turns);
    system
}

/// Begins the turn of a message.
fn begin(out: &mut String, message: &Message) {
    let name = match message.role {
        Role::Assistant => ASSISTANT,
        Role::User | Role::System | _ => USER,
    };
    add(out, "### ");
    // Writing to a string cannot fail.
    _ = writeln!(out, "{name}");
}

/// Adds a text after a blank line.
fn add(out: &mut String, text: &str) {
    if !out.is_empty() {
        out.push_str("\n\n");
    }
    out.push_str(text);
}

/// `text` without lines that begin a turn, or look as if they did. Doing it twice changes nothing more.
fn neutral(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut done, mut from) = (0, 0);
    for line in text.split_inclusive(is_line_break) {
        if begins_turn(line) {
            let after = from + line.find('#').map_or(0, |at| at + 1);
            out.push_str(&text[done..after]);
            out.push(BREAKER);
            done = after;
        }
        from += line.len();
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// All that a model may read as the end of a line.
fn is_line_break(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Returns whether a line is a heading whose first word is one of [`NAMES`], in any case, and after anything invisible.
fn begins_turn(line: &str) -> bool {
    let is_blank = |c: char| c.is_whitespace() || is_invisible(c, None);
    let line = line.trim_start_matches(is_blank);
    let heading = line.trim_start_matches('#');
    if heading.len() == line.len() {
        return false;
    }
    let heading = heading.trim_start();
    NAMES.iter().any(|name| {
        let (Some(word), Some(rest)) = (heading.get(..name.len()), heading.get(name.len()..))
        else {
            return false;
        };
        word.eq_ignore_ascii_case(name) && !rest.starts_with(char::is_alphanumeric)
    })
}

/// The constraint of a reply that may end with the next turn: without that, a model could not end it, because it has no other
/// end.
pub(super) fn constraint(constraint: &Constraint) -> Constraint {
    const ROOT: &str = "root ::= ";
    if let Constraint::Gbnf(text) = constraint
        && let Some(rest) = text.strip_prefix(ROOT)
    {
        let turn = STOPS[0].replace('\n', "\\n");
        let text = format!("{ROOT}reply (\"{turn}\")?\nreply ::= {rest}");
        return Constraint::Gbnf(text.into());
    }
    constraint.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_begin_turns() {
        for (text, expected) in [
            ("### User", "#\u{200B}## User"),
            ("a\n### User\nb", "a\n#\u{200B}## User\nb"),
            ("a\r### Assistant\r\nb", "a\r#\u{200B}## Assistant\r\nb"),
            ("a\u{2028}### User", "a\u{2028}#\u{200B}## User"),
            ("\u{85}###User:", "\u{85}#\u{200B}##User:"),
            (
                " \t\u{FEFF}\u{200B}### USER",
                " \t\u{FEFF}\u{200B}#\u{200B}## USER",
            ),
            (
                "# system\n## assistant",
                "#\u{200B} system\n#\u{200B}# assistant",
            ),
            ("### User guide", "#\u{200B}## User guide"),
            ("### Users", "### Users"),
            ("### Userä", "### Userä"),
            ("### Usé", "### Usé"),
            ("User", "User"),
            ("a ### User", "a ### User"),
            ("#", "#"),
            ("", ""),
            (
                "\u{AD}\u{180E}\u{200C}\u{202E}\u{2065}\u{206F}\0# User",
                "\u{AD}\u{180E}\u{200C}\u{202E}\u{2065}\u{206F}\0#\u{200B} User",
            ),
        ] {
            let once = neutral(text);
            assert_eq!(once, expected, "{text:?}");
            assert_eq!(neutral(&once), expected, "{text:?}, twice");
        }
    }

    #[test]
    fn grammars_admit_the_next_turn() {
        let gbnf = |text: &str| Constraint::Gbnf(text.into());
        for (text, expected) in [
            (
                "root ::= call\ncall ::= \"x\"\n",
                "root ::= reply (\"\\n\\n### User\\n\")?\nreply ::= call\ncall ::= \"x\"\n",
            ),
            ("other ::= \"x\"\n", "other ::= \"x\"\n"),
        ] {
            assert_eq!(constraint(&gbnf(text)), gbnf(expected));
        }
    }
}
