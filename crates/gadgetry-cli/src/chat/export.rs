//! A conversation as a file in Markdown.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use gadgetry::proto::message::Role;
use gadgetry_files as files;

/// Writes what was said to a new file, which only its owner can read.
pub(super) fn write(path: &Path, said: &[(Role, String)]) -> io::Result<()> {
    files::create_private(path)?.write_all(markdown(said).as_bytes())
}

fn markdown(said: &[(Role, String)]) -> String {
    let mut text = String::new();
    for (role, words) in said {
        let name = match role {
            Role::System => "System",
            Role::User => "User",
            Role::Assistant => "Model",
            _ => role.name(),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "## {name}\n\n{}\n\n", words.trim_end());
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
