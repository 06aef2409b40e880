//! Server lists of other programs, as configurations of ours.
//!
//! | program | files |
//! |---|---|
//! | Claude Code | `.mcp.json` in the project, `~/.claude.json` |
//! | Claude Desktop | `claude_desktop_config.json` in its folder |
//! | Cursor | `.cursor/mcp.json` in the project and in the home folder |
//!
//! Nothing here reads or writes a file: [`places`] says where the files usually are, [`parse`] reads their text.

mod entry;
mod imported;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use gadgetry::{Classified, Fault};
use serde_json::{Map, Value};

pub use imported::{ImportWarning, Imported, Source};

/// Error of a file without a list of servers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Not JSON. The message has line and column.
    #[error("not valid JSON: {0}")]
    Json(serde_json::Error),
    /// No servers.
    #[error("there is no list of servers: `mcpServers` is missing or not an object")]
    NoServers,
}

impl From<serde_json::Error> for ImportError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

impl Classified for ImportError {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

/// Lists the usual paths of a program's files, the most specific first. Not all of them exist.
///
/// ```
/// use gadgetry_mcp::import::{Source, places};
/// use std::path::Path;
///
/// let files = places(Source::ClaudeCode, Path::new("/home/me"), Path::new("/work/app"));
/// assert_eq!(files, [Path::new("/work/app/.mcp.json"), Path::new("/home/me/.claude.json")]);
/// ```
pub fn places(source: Source, home: &Path, project: &Path) -> Vec<PathBuf> {
    match source {
        Source::ClaudeCode => vec![project.join(".mcp.json"), home.join(".claude.json")],
        Source::Cursor => vec![
            project.join(".cursor/mcp.json"),
            home.join(".cursor/mcp.json"),
        ],
        Source::ClaudeDesktop => {
            let folder = if cfg!(target_os = "macos") {
                "Library/Application Support/Claude"
            } else if cfg!(windows) {
                "AppData/Roaming/Claude"
            } else {
                ".config/Claude"
            };
            vec![home.join(folder).join("claude_desktop_config.json")]
        }
    }
}

/// Reads the servers in the text of a file.
///
/// `project` is the folder whose own servers count as well, where a file has servers for several projects.
///
/// # Errors
///
/// [`ImportError`] if the text is not a list of servers. What is wrong with one server is a warning.
///
/// ```
/// use gadgetry_mcp::import::{Source, parse};
///
/// let text = r#"{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "server-files"] } } }"#;
/// let imported = parse(Source::Cursor, text, None)?;
/// assert_eq!(imported.servers[0].0, "files");
/// assert_eq!(imported.servers[0].1.command_line(), "npx -y server-files");
/// # Ok::<(), gadgetry_mcp::import::ImportError>(())
/// ```
pub fn parse(source: Source, text: &str, project: Option<&Path>) -> Result<Imported, ImportError> {
    let file: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))?;
    let all = servers(&file);
    let own = project.and_then(|project| {
        let project = file.get("projects")?.get(project.to_str()?)?;
        servers(project)
    });
    if all.is_none() && own.is_none() {
        return Err(ImportError::NoServers);
    }
    let mut imported = Imported::default();
    let mut known = HashSet::new();
    // The project's own ones first: they have precedence.
    for (name, entry) in own.into_iter().chain(all).flatten() {
        if known.contains(name) {
            imported.warn(
                name,
                "a server of the project has the same name; that one is used",
            );
            continue;
        }
        if let Some(config) = entry::read(source, name, entry, &mut imported) {
            known.insert(name);
            imported.servers.push((name.clone(), config));
        }
    }
    Ok(imported)
}

fn servers(file: &Value) -> Option<&Map<String, Value>> {
    file.get("mcpServers")?.as_object()
}
