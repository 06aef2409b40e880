//! Slash commands that do not exist, in a conversation and in an editor.

use gadgetry::proto::schema::closest;

/// Returns whether a text that begins with this name, its slash included, is a message if there is no such command: it begins with a
/// path, as `/etc/hosts is wrong` does, or has several lines.
pub(crate) fn is_message(name: &str, text: &str) -> bool {
    name[1..].contains('/') || text.trim().contains('\n')
}

/// The words about a command that does not exist; `hint` if no name is close to it.
pub(crate) fn unknown<'n>(
    name: &str,
    names: impl IntoIterator<Item = &'n str>,
    hint: &str,
) -> String {
    match closest(name, names).first() {
        Some(near) => format!("unknown command {name}; did you mean {near}?"),
        None => format!("unknown command {name}; {hint}"),
    }
}
