//! The rules that decide which calls run, in their order, and what holds without one.

use std::fmt::Write as _;

use gadgetry::Permission;
use gadgetry::approval::Rule;
use gadgetry::proto::schema::RegisteredGadget;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::approvals::Names;
use crate::cli::{ApprovalOptions, ApprovalsArgs};
use crate::config::Config;
use crate::error::Error;
use crate::lines::{one_line, short};
use crate::options::Source;
use crate::printer::Printer;

/// Shows the rules, and the permissions of the gadgets.
pub(super) fn run(config: &Config, args: &ApprovalsArgs, printer: &Printer) -> Result<(), Error> {
    let typed = |rule: &Rule| ShownRule::new(rule, Source::Flag.to_string());
    let mut rules: Vec<ShownRule> = args.approval.iter().map(typed).collect();
    rules.extend(of_files(config));
    if args.yes {
        let all = Rule::new(Permission::Allow, "*").map_err(Error::input)?;
        rules.push(typed(&all));
    }
    let toolbox = args.source.toolbox(&config.declared, None, &[])?;
    let gadgets = toolbox.registry().iter().filter_map(|gadget| {
        let permission = toolbox.get(gadget.name())?.permission();
        Some(Default {
            gadget: gadget.name().to_owned(),
            permission: permission.as_str(),
        })
    });
    let servers = config.declared.servers.values();
    let servers = servers.filter(|it| it.is_enabled() && !args.source.no_mcp);
    let shown = Shown {
        rules,
        defaults: gadgets.collect(),
        mcp_servers: servers.map(|it| it.name.clone()).collect(),
    };
    if args.json {
        printer.json(&shown)?;
    } else {
        printer.text(&shown.text());
    }
    // A run refuses a rule with a misspelt name, too.
    let gadgets = toolbox.registry().iter().map(RegisteredGadget::name);
    let names = Names {
        gadgets: gadgets.collect(),
        source: &args.source,
        declared: &config.declared,
        servers: None,
    };
    let options = ApprovalOptions {
        approval: args.approval.clone(),
        ..ApprovalOptions::default()
    };
    for note in names.check(&options)? {
        printer.progress(&format!("{note}\n"));
    }
    Ok(())
}

/// The rules of files, in their order.
pub(super) fn of_files(config: &Config) -> impl Iterator<Item = ShownRule> {
    let rules = config.declared.approvals.iter();
    rules.map(|it| ShownRule::new(&it.rule, it.place.to_string()))
}

/// A rule, and where it is from.
pub(super) struct ShownRule {
    permission: &'static str,
    calls: String,
    source: String,
}

impl ShownRule {
    fn new(rule: &Rule, source: String) -> Self {
        Self {
            permission: rule.permission().as_str(),
            calls: rule.calls().to_owned(),
            source,
        }
    }

    /// The rule as one line.
    pub(super) fn line(&self) -> String {
        let (calls, source) = (short(&self.calls), one_line(&self.source));
        format!("{:5}  {calls}  {source}", self.permission)
    }

    /// `{ "allow": "RunCommand(cargo test*)", "source": "config.toml:3:4" }`.
    pub(super) fn json(&self) -> Value {
        let entries = [(self.permission, &self.calls), ("source", &self.source)];
        let entries = entries.map(|(key, value)| (key.to_owned(), value.clone().into()));
        Value::Object(Map::from_iter(entries))
    }
}

impl Serialize for ShownRule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

/// Output of the command.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    /// The first one that matches a call decides.
    rules: Vec<ShownRule>,
    /// Permissions of calls without a rule.
    defaults: Vec<Default>,
    /// Servers whose tools need approval without a rule.
    mcp_servers: Vec<String>,
}

/// Permission of the calls of a gadget without a rule.
#[derive(Serialize)]
struct Default {
    gadget: String,
    permission: &'static str,
}

impl Shown {
    fn text(&self) -> String {
        let mut text = String::from("[rules]\n");
        for rule in &self.rules {
            let _ = writeln!(text, "{}", rule.line());
        }
        text.push_str("\n[without a rule]\n");
        for permission in [Permission::Allow, Permission::Ask, Permission::Deny] {
            let permission = permission.as_str();
            let of_permission = |it: &&Default| it.permission == permission;
            let names = self.defaults.iter().filter(of_permission);
            for name in names.map(|it| one_line(&it.gadget)) {
                let _ = writeln!(text, "{permission:5}  {name}");
            }
        }
        for server in &self.mcp_servers {
            let server = one_line(server);
            let _ = writeln!(text, "ask    all tools of the MCP server {server}");
        }
        text
    }
}
