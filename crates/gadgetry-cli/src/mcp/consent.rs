//! Consent to servers of configuration files: none of them starts a program that the user has not seen.

use std::env;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gadgetry_mcp::ServerConfig;
use gadgetry_mcp::config::Transport;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::Configured;
use crate::config::{self, Decided, Decisions};
use crate::data_dir;
use crate::error::Error;
use crate::lines::one_line;
use crate::options::Origin;
use crate::pages::Row;

/// Decision of the user about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The server needs no decision: the user has written its address into their own file.
    NotNeeded,
    /// The server is used.
    Trusted,
    /// The server is not used, and the user is not prompted.
    Declined,
    /// The user has decided about another server of this name, or in another folder.
    Changed,
    /// The user has not decided.
    Unknown,
}

impl Consent {
    /// Returns the text that reports show.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NotNeeded => "not needed",
            Self::Trusted => "trusted",
            Self::Declined => "declined",
            Self::Changed => "not trusted as it is here",
            Self::Unknown => "not trusted",
        }
    }
}

/// Subject of a decision of the user.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    name: String,
    sha256: String,
    /// First line of the display; `lines` has those about it.
    head: String,
    lines: Vec<String>,
    is_program: bool,
    /// The user's file that has the server, unless it is the usual one.
    file: Option<Arc<str>>,
}

impl Subject {
    /// Returns the subject of the decision about a server; `None` if it needs no decision.
    pub(crate) fn of(configured: &Configured<'_>) -> Result<Option<Self>, Error> {
        let Configured { server, config } = configured;
        let is_program = matches!(config.transport, Transport::Stdio(_));
        if !is_program && server.origin != Origin::Project {
            return Ok(None);
        }
        let folder = env::current_dir().and_then(|it| it.canonicalize());
        let folder = folder.map_err(|error| Error::machine(&error))?;
        let kind = if is_program {
            "a program"
        } else {
            "an address"
        };
        let (name, place) = (&server.name, &server.item.place);
        Ok(Some(Self {
            name: name.clone(),
            sha256: digest(config, &folder),
            head: one_line(&format!("MCP server {name} of {place} is {kind}:")),
            // The folder of a project is named by its file.
            lines: described(
                config,
                (server.origin != Origin::Project).then_some(&folder),
            ),
            is_program,
            file: (server.origin != Origin::Project && !is_usual(&server.item.place.file))
                .then(|| Arc::clone(&server.item.place.file)),
        }))
    }

    /// The command that shows the server and trusts it.
    pub(crate) fn trust_command(&self) -> String {
        let config = self.file.as_deref();
        let config = config.map(|file| format!(" --config {}", shell_words::quote(file)));
        one_line(&format!(
            "gadgetry mcp trust{} {}",
            config.unwrap_or_default(),
            shell_words::quote(&self.name)
        ))
    }

    /// The first line of what the server is.
    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// Describes the server: a program or an address, and the names of variables and headers without their values.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.lines
            .iter()
            .flat_map(|line| Row::items(line))
            .collect()
    }

    /// The question whether it is used.
    pub(crate) fn question(&self) -> &'static str {
        if self.is_program {
            "Start it from now on? [y/N]"
        } else {
            "Send requests to it from now on? [y/N]"
        }
    }
}

/// Returns whether this is the file that is read without `--config`.
fn is_usual(file: &str) -> bool {
    let usual = data_dir::config().map(|it| it.join(config::USER_FILE));
    usual.is_some_and(|usual| usual == Path::new(file))
}

fn described(config: &ServerConfig, folder: Option<&PathBuf>) -> Vec<String> {
    // Invisible characters are written out in it, so it is one line.
    let mut lines = vec![config.command_line()];
    let (what, names) = match &config.transport {
        Transport::Stdio(stdio) => {
            if let Some(cwd) = &stdio.cwd {
                lines.push(format!("in the folder {}", cwd.display()));
            }
            ("with the variables", stdio.env.keys())
        }
        Transport::Http(http) => ("with the headers", http.headers.keys()),
    };
    let names: Vec<&str> = names.map(String::as_str).collect();
    if !names.is_empty() {
        lines.push(format!("{what} {}", names.join(", ")));
    }
    let read: Vec<String> = config.variables().into_iter().collect();
    if !read.is_empty() {
        let read = read.join(", ");
        lines.push(format!("it receives {read} of your environment"));
    }
    if let Some(folder) = folder {
        lines.push(format!("if it is used in {}", folder.display()));
    }
    lines
}

/// The SHA-256 of what was agreed to: all of the server but its limits, and the folder.
///
/// What runs may depend on the folder in more ways than its command line shows: a module that an interpreter looks for there, a
/// package of a launcher, a file of a build tool, a variable. So each folder has a decision of its own. The values of `env` and
/// `headers` decide what a program does, and which key is sent.
fn digest(config: &ServerConfig, folder: &Path) -> String {
    let agreed = match &config.transport {
        Transport::Stdio(stdio) => {
            json!({
                "command": stdio.command,
                "args": stdio.args,
                "cwd": stdio.cwd,
                "env": stdio.env,
            })
        }
        Transport::Http(http) => {
            json!({
                "url": http.url,
                "headers": http.headers,
                "oauth": http.oauth,
            })
        }
    };
    let mut hasher = Sha256::new();
    hasher.update(agreed.to_string());
    // No JSON object is continued by this.
    hasher.update(b"\0");
    hasher.update(folder.as_os_str().as_encoded_bytes());
    let mut digits = String::new();
    for byte in hasher.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// The decisions of the user about servers.
#[derive(Debug)]
pub(crate) struct Consents(Decisions<Server>);

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    name: String,
    sha256: String,
    trusted: bool,
}

impl Decided for Server {
    const FILE: &str = "trusted-servers.json";
    const LIST: &str = "servers";
}

impl Consents {
    /// Reads the decisions.
    pub(crate) fn load() -> Result<Self, Error> {
        Decisions::load(data_dir::config().as_deref()).map(Self)
    }

    /// Returns the decision about a server.
    pub(crate) fn about(&self, subject: Option<&Subject>) -> Consent {
        let Some(subject) = subject else {
            return Consent::NotNeeded;
        };
        match self.0.iter().find(|it| it.sha256 == subject.sha256) {
            Some(server) if server.trusted => Consent::Trusted,
            Some(_) => Consent::Declined,
            None if self.0.iter().any(|it| it.name == subject.name) => Consent::Changed,
            None => Consent::Unknown,
        }
    }

    /// Remembers a decision; `None` forgets it.
    pub(crate) fn decide(&mut self, subject: &Subject, trusted: Option<bool>) -> io::Result<()> {
        let new = trusted.map(|trusted| Server {
            name: subject.name.clone(),
            sha256: subject.sha256.clone(),
            trusted,
        });
        self.0.replace(|it| it.sha256 == subject.sha256, new)
    }
}
