//! The keys of configuration files, from the table of options.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::Command;

use super::cells::cell;
use crate::cli;
use crate::config::{ConfigVerb, Keys};
use crate::options::{Kind, SYSTEM_PROMPT, Secret};

const HEAD: &str = "\
# Configuration keys

For the user who writes a configuration file: every key, its values, and where it may be. [Configuration](../cli/configuration.md) explains the files, their order, and the tables `[profiles]`,
`[commands]`, `[prompts]`, `[approvals]`, `[skills]`, `[mcp]`, `[models]` and `[[hooks]]`. Made from the program by `cargo xtask reference`; `gadgetry config` shows the values that apply to you.

A key outside of tables concerns every verb in its row but `serve`; the key of a table concerns its verb, and that of `[agent]` also `chat`, `acp`, `gadget` and `worker`. The variable `GADGETRY_` with the key in capitals and `_` for `-` sets it, unless it
is a list. *Risky* keys of a project's file are shown last, and whole, before you trust it. *Secret* values are in no session.

| key | value | verbs | default | meaning |
|---|---|---|---|---|
";

/// Returns the page.
pub(super) fn page() -> String {
    let root = cli::command();
    let keys = Keys::new();
    let mut names = BTreeSet::new();
    for verb in ConfigVerb::ALL {
        names.extend(keys.keys(verb).map(|(name, _)| name));
    }
    let mut page = HEAD.to_owned();
    for name in names {
        let has = |verb: &ConfigVerb| keys.keys(*verb).any(|(other, _)| other == name);
        let verbs: Vec<ConfigVerb> = ConfigVerb::ALL.into_iter().filter(has).collect();
        let Some(definition) = verbs.iter().find_map(|verb| keys.of(*verb).get(name)) else {
            continue;
        };
        let mut notes = Vec::new();
        if definition.attributes.is_risky {
            notes.push("*Risky.*");
        }
        if definition.attributes.secret != Secret::Never {
            notes.push("*Secret.*");
        }
        let named: Vec<String> = verbs.iter().map(|it| format!("`{}`", it.name())).collect();
        let default = definition.default.as_deref();
        let default = default.filter(|_| definition.kind != Kind::Flag);
        // Writing to a string does not fail.
        let _ = writeln!(
            page,
            "| `{name}` | {} | {} | {} | {}{}{} |",
            value(definition.kind),
            named.join(", "),
            default.map(|it| format!("`{it}`")).unwrap_or_default(),
            help(&root, &verbs, name),
            if notes.is_empty() { "" } else { ". " },
            notes.join(" ")
        );
    }
    page
}

/// The first sentence of the option's help.
fn help(root: &Command, verbs: &[ConfigVerb], name: &str) -> String {
    if name == SYSTEM_PROMPT {
        return "The name of a prompt in `[prompts]`, in place of `system`".to_owned();
    }
    let definitions = verbs.iter().filter_map(|verb| verb.definition(root));
    let mut options = definitions.flat_map(Command::get_arguments);
    let option = options.find(|it| it.get_long() == Some(name));
    let text = option.and_then(|it| it.get_help()).map(ToString::to_string);
    cell(&text.unwrap_or_default())
}

fn value(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "`true` or `false`",
        Kind::Text => "text",
        Kind::Path => "path",
        Kind::Number => "number",
        Kind::NumberOrText => "number or text",
        Kind::List => "list of texts",
        Kind::Paths => "list of paths",
        Kind::Commas => "text, or list of texts",
        Kind::Definitions => "text, or list of texts and tables",
        Kind::Object => "table, or text with a JSON object",
    }
}
