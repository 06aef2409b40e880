//! `gadgetry mcp import`: server lists of other programs, added to the user's configuration file.

use std::collections::HashMap;
use std::env;
use std::io;
use std::path::{Path, PathBuf};

use gadgetry_files as files;
use gadgetry_mcp::ServerConfig;
use gadgetry_mcp::config::Transport;
use gadgetry_mcp::import::{ImportError, Imported, Source, parse, places};
use serde_json::Value as Json;

use super::configuration::config;
use crate::cli::{ConfigArgs, ImportSource, McpImportArgs};
use crate::config::{Asking, NewServer, add_servers, is_open_to_others, redact};
use crate::error::Error;
use crate::input::unreadable;
use crate::lines::one_line;
use crate::mcp::check_address;
use crate::printer::Printer;

/// Bytes of a list; that of Claude Code has its history as well.
const LIMIT: u64 = 64 << 20;

const ALL: [Source; 3] = [Source::ClaudeCode, Source::ClaudeDesktop, Source::Cursor];

pub(super) fn run(
    args: &McpImportArgs,
    chosen: &ConfigArgs,
    printer: &Printer,
) -> Result<(), Error> {
    let config = config(chosen, Asking::Silent, printer)?;
    let path = config.user_path.as_deref().ok_or_else(|| {
        Error::input("there is no configuration file of the user: it is not read, or there is no home directory")
    })?;
    let lists = match &args.file {
        Some(file) => vec![given(file, args.from)?],
        None => found(args, printer)?,
    };
    let mut servers: Vec<NewServer> = Vec::new();
    // What each is, by its name.
    let mut configs: HashMap<&str, &ServerConfig> = HashMap::new();
    for List { file, imported, .. } in &lists {
        for warning in &imported.warnings {
            printer.progress(&format!("{}: {warning}\n", file.display()));
        }
        for (name, server) in &imported.servers {
            if let Err(problem) = check_address(server) {
                printer.progress(&format!(
                    "{}: server {name:?}: left out: {problem}\n",
                    file.display()
                ));
                continue;
            }
            if configs.contains_key(name.as_str()) {
                printer.progress(&format!(
                    "{}: server {name:?}: left out: another list has one of this name\n",
                    file.display()
                ));
                continue;
            }
            let table = serde_json::to_value(server);
            let table = table.map_err(|error| Error::input(format_args!("{name}: {error}")))?;
            configs.insert(name, server);
            servers.push(NewServer {
                name: name.clone(),
                table,
            });
        }
    }
    let added = add_servers(path, &servers, args.dry_run).map_err(Error::input)?;
    report(&configs, &servers, &added, args.dry_run, printer);
    for (server, _) in servers.iter().zip(&added).filter(|(_, added)| **added) {
        if let Some(config) = configs.get(server.name.as_str()).filter(|it| !it.enabled) {
            printer.progress(&disabled(&server.name, config, path));
        }
    }
    if !added.contains(&true) || args.dry_run {
        return Ok(());
    }
    printer.text(&format!("wrote {}\n", path.display()));
    if is_open_to_others(path) {
        printer.progress(&format!(
            "other users can read {}, and it may have keys now: chmod 600\n",
            path.display()
        ));
    }
    printer.progress("programs are started after `gadgetry mcp trust NAME`, or when you agree\n");
    Ok(())
}

/// The list of a file.
struct List {
    file: PathBuf,
    imported: Imported,
}

impl List {
    /// An address in the user's configuration needs no consent. That in a list of others, as of a cloned project, must not
    /// receive requests, headers and variables of the user before they agree, so such servers are disabled.
    fn new(file: PathBuf, mut imported: Imported, is_own: bool) -> Self {
        for (_, server) in &mut imported.servers {
            server.enabled &= is_own || !matches!(server.transport, Transport::Http(_));
        }
        Self { file, imported }
    }
}

/// Explains why a server is not used, what it would receive, and how it is enabled.
fn disabled(name: &str, config: &ServerConfig, path: &Path) -> String {
    let mut receives = Vec::new();
    if let Transport::Http(http) = &config.transport
        && !http.headers.is_empty()
    {
        let names: Vec<&str> = http.headers.keys().map(String::as_str).collect();
        receives.push(format!("the headers {}", names.join(", ")));
    }
    let variables = config.variables();
    if !variables.is_empty() {
        let names: Vec<&str> = variables.iter().map(String::as_str).collect();
        receives.push(format!("{} of your environment", names.join(", ")));
    }
    let receives = if receives.is_empty() {
        String::new()
    } else {
        format!(" it would receive {};", receives.join(" and "))
    };
    let words = format!(
        "server {name:?} is disabled:{receives} to use it, remove `enabled = false` from its table in {}",
        path.display()
    );
    format!("{}\n", one_line(&words))
}

/// One line for each server.
fn report(
    configs: &HashMap<&str, &ServerConfig>,
    servers: &[NewServer],
    added: &[bool],
    is_dry: bool,
    printer: &Printer,
) {
    for (server, is_added) in servers.iter().zip(added) {
        let name = one_line(&server.name);
        if !is_added {
            printer.text(&format!(
                "kept {name}: the file has a server of this name already\n"
            ));
            continue;
        }
        let what = if is_dry { "would add" } else { "added" };
        let config = configs.get(server.name.as_str());
        let target = config.map_or_else(String::new, |it| target(it));
        printer.text(&format!("{what} {name}: {}\n", one_line(&target)));
    }
}

/// The command line, or the URL without keys.
fn target(config: &ServerConfig) -> String {
    match &config.transport {
        Transport::Stdio(_) => config.command_line(),
        Transport::Http(http) => {
            let shown = redact("base-url", &Json::String(http.url.clone()));
            shown.as_str().unwrap_or_default().to_owned()
        }
    }
}

/// The list in a file that was named.
fn given(file: &Path, from: Option<ImportSource>) -> Result<List, Error> {
    let text = files::text(file, LIMIT).map_err(|error| unreadable(file.display(), &error))?;
    let source = from.map_or_else(|| guessed(file), source);
    let imported = parse(source, &text, None);
    let imported = imported.map_err(|error| Error::at(file.display(), error))?;
    let home = env::home_dir().filter(|it| it.is_absolute());
    let of_home = home.map_or_else(Vec::new, |home| places(source, &home, &home));
    let place = file.canonicalize().ok();
    let is_own = place.is_some_and(|place| {
        let mut own = of_home.iter().filter_map(|it| it.canonicalize().ok());
        own.any(|it| it == place)
    });
    Ok(List::new(file.to_owned(), imported, is_own))
}

fn source(from: ImportSource) -> Source {
    match from {
        ImportSource::ClaudeCode => Source::ClaudeCode,
        ImportSource::ClaudeDesktop => Source::ClaudeDesktop,
        ImportSource::Cursor => Source::Cursor,
    }
}

/// Whose list a file is, by its name.
fn guessed(file: &Path) -> Source {
    let mut parts = file.components();
    if parts.any(|part| part.as_os_str() == ".cursor") {
        return Source::Cursor;
    }
    let name = file.file_name().unwrap_or_default();
    if name == "claude_desktop_config.json" {
        Source::ClaudeDesktop
    } else {
        Source::ClaudeCode
    }
}

/// The lists where they usually are.
fn found(args: &McpImportArgs, printer: &Printer) -> Result<Vec<List>, Error> {
    let home = env::home_dir().filter(|it| it.is_absolute());
    let home = home.ok_or_else(|| Error::input("no home directory in the environment"))?;
    let project = env::current_dir().map_err(|error| Error::machine(&error))?;
    let sources = args.from.map_or(ALL.to_vec(), |from| vec![source(from)]);
    let mut lists = Vec::new();
    let mut looked = Vec::new();
    for source in sources {
        for file in places(source, &home, &project) {
            // Of the two folders, the one of the project may be below the other one.
            let of_home = places(source, &home, &home).contains(&file);
            if !of_home && !args.project {
                continue;
            }
            looked.push(file.display().to_string());
            let text = match files::text(&file, LIMIT) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    printer.progress(&format!("cannot read {}: {error}\n", file.display()));
                    continue;
                }
            };
            let own = args.project.then_some(project.as_path());
            match parse(source, &text, own) {
                Ok(imported) => lists.push(List::new(file, imported, of_home)),
                // Such a file has other settings as well.
                Err(ImportError::NoServers) => {}
                Err(error) => printer.progress(&format!("{}: {error}\n", file.display())),
            }
        }
    }
    if lists.is_empty() {
        return Err(Error::input(format_args!(
            "found no list of servers; looked at {}",
            looked.join(", ")
        )));
    }
    Ok(lists)
}
