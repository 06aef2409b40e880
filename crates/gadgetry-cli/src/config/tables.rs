//! Tables that set no options: approvals, MCP servers, skills.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gadgetry::Permission;
use gadgetry::approval::Rule;
use gadgetry_builtins::AfterEdit;

use super::after_edit::AfterEditCommand;
use super::form;
use super::hooks::HookCommand;
use super::layer::unknown;
use super::value::{Entry, Item, Value};
use crate::error::Error;
use crate::options::{Origin, Place};

/// Permissions that a rule may give.
const PERMISSIONS: [Permission; 3] = [Permission::Allow, Permission::Deny, Permission::Ask];

/// A rule of `[approvals]`, such as `{ allow = "RunCommand(cargo test*)" }`.
#[derive(Clone, Debug)]
pub(crate) struct ApprovalRule {
    pub(crate) rule: Rule,
    /// The position of the pattern.
    pub(crate) place: Place,
}

/// A table `[mcp.servers.NAME]`. Only that it is a table is checked here.
#[derive(Clone, Debug)]
pub(crate) struct McpServer {
    pub(crate) name: String,
    /// The table.
    pub(crate) item: Item,
    /// Origin of the file: the user or a project.
    #[cfg_attr(
        not(any(feature = "acp", feature = "mcp")),
        expect(dead_code, reason = "only consent reads it")
    )]
    pub(crate) origin: Origin,
}

impl McpServer {
    fn resolve_cwd(&mut self, folder: &Path) {
        if let Value::Table(entries) = &mut self.item.value
            && let Some(cwd) = entries.iter_mut().find(|entry| entry.key == "cwd")
            && let Value::Text(text) = &mut cwd.item.value
            // A variable may be an absolute path.
            && !text.starts_with("${")
        {
            *text = form::path(text, folder);
        }
    }

    /// Returns the program and its arguments, and the folder that it runs in; for a server with a URL, nothing.
    pub(crate) fn program(&self) -> (Vec<&str>, Option<&str>) {
        let (mut words, mut cwd) = (Vec::new(), None);
        let Value::Table(entries) = &self.item.value else {
            return (words, cwd);
        };
        for entry in entries {
            match (entry.key.as_str(), &entry.item.value) {
                ("command", Value::Text(text)) => words.push(text.as_str()),
                ("args", Value::List(items)) => {
                    let texts = items.iter().map(|item| item.text("args"));
                    words.extend(texts.filter_map(Result::ok));
                }
                ("cwd", Value::Text(text)) => cwd = Some(text.as_str()),
                _ => {}
            }
        }
        (words, cwd)
    }

    /// Returns whether the table does not switch it off.
    pub(crate) fn is_enabled(&self) -> bool {
        let Value::Table(entries) = &self.item.value else {
            return true;
        };
        let enabled = entries.iter().find(|entry| entry.key == "enabled");
        !enabled.is_some_and(|entry| matches!(entry.item.value, Value::Truth(false)))
    }
}

/// Declarations of files for every agent that no option contains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    /// The rules of approvals in their order: the user's before the project's.
    pub(crate) approvals: Vec<ApprovalRule>,
    /// The commands of `[[hooks]]` in their order: the project's before the user's.
    pub(crate) hooks: Vec<HookCommand>,
    /// The commands of `after-edit` in their order: the user's before the project's.
    pub(crate) after_edit: Vec<AfterEditCommand>,
    /// MCP servers by name. The project's replace the user's.
    pub(crate) servers: BTreeMap<String, McpServer>,
    /// The files that all this is from.
    pub(crate) files: Vec<PathBuf>,
    /// The data folder, if one is configured.
    pub(crate) data: Option<PathBuf>,
}

impl Declared {
    /// Returns the commands that run after a file was changed.
    pub(crate) fn after_edit(&self) -> Vec<AfterEdit> {
        let commands = self.after_edit.iter();
        commands.map(|it| it.command.clone()).collect()
    }
}

/// Reads `[approvals]`.
pub(crate) fn approvals(item: &Item) -> Result<Vec<ApprovalRule>, Error> {
    const FORM: &str =
        "a table such as { allow = \"RunCommand(cargo test*)\" }, with allow, deny or ask";
    let mut rules = Vec::new();
    for entry in item.table("approvals")? {
        if entry.key != "rules" {
            return Err(unknown(entry, ["rules"]));
        }
        let Value::List(items) = &entry.item.value else {
            return Err(entry.item.wrong_type("rules", "a list of rules"));
        };
        for item in items {
            let [entry] = item.table("a rule")? else {
                return Err(item.place.error(format_args!("a rule is {FORM}")));
            };
            let permission = entry.key.parse();
            let permission =
                permission.map_err(|_| unknown(entry, PERMISSIONS.map(Permission::as_str)))?;
            let place = entry.item.place.clone();
            let rule = Rule::new(permission, entry.item.text(&entry.key)?);
            let rule = rule.map_err(|problem| place.error(problem))?;
            rules.push(ApprovalRule { rule, place });
        }
    }
    Ok(rules)
}

/// Reads `[mcp]`. A relative `cwd` is resolved from `folder`.
pub(crate) fn servers(item: &Item, origin: Origin, folder: &Path) -> Result<Vec<McpServer>, Error> {
    let mut servers = Vec::new();
    for entry in item.table("mcp")? {
        if entry.key != "servers" {
            return Err(unknown(entry, ["servers"]));
        }
        for Entry { key, item, .. } in entry.item.table("mcp.servers")? {
            item.table(&format!("mcp.servers.{key}"))?;
            let mut server = McpServer {
                name: key.clone(),
                item: item.clone(),
                origin,
            };
            server.resolve_cwd(folder);
            servers.push(server);
        }
    }
    Ok(servers)
}

/// Reads `[skills]`: folders as written, with their positions.
pub(crate) fn skills(item: &Item) -> Result<Vec<(String, Place)>, Error> {
    let mut folders = Vec::new();
    for entry in item.table("skills")? {
        if entry.key != "folders" {
            return Err(unknown(entry, ["folders"]));
        }
        folders.extend(entry.item.texts("folders")?);
    }
    Ok(folders)
}
