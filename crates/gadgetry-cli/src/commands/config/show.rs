//! The configuration as text and as JSON: every value, and where it is from.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::approvals::{self, ShownRule};
use crate::config::{Config, ConfigVerb, Keys, PROJECT_FILE, redact, redact_server};
use crate::error::Error;
use crate::lines::short;
use crate::options::{Setting, Settings, Source};
use crate::printer::Printer;

/// Shows the configuration.
pub(super) fn run(
    config: &Config,
    keys: &Keys,
    is_json: bool,
    printer: &Printer,
) -> Result<(), Error> {
    let shown = Shown::of(config, keys)?;
    if is_json {
        return printer.json(&shown);
    }
    printer.text(&shown.text());
    Ok(())
}

/// Output of the command. None of it is a key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    user_file: Option<String>,
    user_file_exists: bool,
    project_file: &'static str,
    profile: Option<ShownValue>,
    profiles: Vec<String>,
    verbs: Vec<ShownVerb>,
    commands: Vec<Value>,
    prompts: Vec<Value>,
    approvals: Vec<ShownRule>,
    hooks: Vec<Value>,
    after_edit: Vec<Value>,
    mcp_servers: Vec<Value>,
    models: Vec<Value>,
    skills: Vec<Value>,
}

/// The values of a verb.
#[derive(Serialize)]
struct ShownVerb {
    verb: &'static str,
    values: Vec<ShownValue>,
}

/// A value of the configuration, with its key and origin.
#[derive(Serialize)]
struct ShownValue {
    #[serde(skip_serializing_if = "String::is_empty")]
    key: String,
    value: Value,
    source: Value,
    #[serde(skip)]
    from: String,
}

impl ShownValue {
    fn of(key: &str, setting: &Setting) -> Self {
        Self::new(key, redact(key, &setting.written), &setting.source)
    }

    fn new(key: &str, value: Value, source: &Source) -> Self {
        Self {
            key: key.to_owned(),
            value,
            source: json_of(source),
            from: source.to_string(),
        }
    }
}

impl Shown {
    fn of(config: &Config, keys: &Keys) -> Result<Self, Error> {
        let profile = config.profile.as_ref();
        let verbs = ConfigVerb::ALL.map(|verb| {
            Ok(ShownVerb {
                verb: verb.name(),
                values: values(&config.settings(verb, None, keys)?, verb, keys),
            })
        });
        let commands = config.commands.iter().map(|(name, command)| {
            let settings = command.settings.iter();
            let values = settings.map(|(key, it)| ShownValue::of(key, it));
            json!({
                "name": name,
                "type": command.verb.name(),
                "description": command.description,
                "prompt": command.prompt.as_ref().map(|it| &it.0),
                "values": values.collect::<Vec<_>>(),
                "source": command.place.to_string(),
            })
        });
        let prompts = config.prompts.0.iter();
        let servers = config.declared.servers.values().map(|server| {
            json!({
                "name": server.name,
                "table": redact_server(&server.item.json()),
                "source": server.item.place.to_string(),
            })
        });
        let hooks = config.declared.hooks.iter().map(|hook| {
            json!({
                "name": hook.event.name(),
                "matcher": hook.matcher(),
                "command": hook.command,
                "source": hook.place().to_string(),
            })
        });
        let after_edit = config.declared.after_edit.iter().map(|it| {
            let files = Some(&it.files).filter(|files| !files.is_empty());
            json!({ "files": files, "command": it.line, "source": it.place.to_string() })
        });
        let models = config.models.iter().map(|(name, settings, place)| {
            json!({ "name": name, "table": settings, "source": place.to_string() })
        });
        let skills = config.skills.iter();
        Ok(Self {
            user_file: config.user_path.as_ref().map(|it| it.display().to_string()),
            user_file_exists: config.has_user_file,
            project_file: config.project.name(),
            profile: profile.map(|(name, source)| ShownValue::new("", name.clone().into(), source)),
            profiles: config.profiles.names().map(str::to_owned).collect(),
            verbs: verbs.into_iter().collect::<Result<_, Error>>()?,
            commands: commands.collect(),
            prompts: prompts
                .map(|(name, it)| json!({ "name": name, "source": it.place().to_string() }))
                .collect(),
            approvals: approvals::of_files(config).collect(),
            hooks: hooks.collect(),
            after_edit: after_edit.collect(),
            mcp_servers: servers.collect(),
            models: models.collect(),
            skills: skills
                .map(|(it, place)| json!({ "folder": it.display().to_string(), "source": place.to_string() }))
                .collect(),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let absent = if self.user_file_exists {
            ""
        } else {
            " (absent)"
        };
        let user = self.user_file.as_deref().unwrap_or("none");
        let _ = writeln!(text, "user file     {user}{absent}");
        let _ = writeln!(text, "project file  {PROJECT_FILE} ({})", self.project_file);
        if let Some(profile) = &self.profile {
            let name = profile.value.as_str().unwrap_or_default();
            let _ = writeln!(text, "profile       {name} ({})", profile.from);
        }
        for verb in &self.verbs {
            if !verb.values.is_empty() {
                let _ = writeln!(text, "\n[{}]", verb.verb);
                rows(&mut text, &verb.values);
            }
        }
        let lines = |items: &[Value]| items.iter().map(line).collect();
        let rules: Vec<String> = self.approvals.iter().map(ShownRule::line).collect();
        let sections: [(&str, Vec<String>); 8] = [
            ("commands", lines(&self.commands)),
            ("prompts", lines(&self.prompts)),
            ("approvals", rules),
            ("hooks", lines(&self.hooks)),
            ("after-edit", lines(&self.after_edit)),
            ("mcp.servers", lines(&self.mcp_servers)),
            ("models", lines(&self.models)),
            ("skills", lines(&self.skills)),
        ];
        for (name, lines) in sections {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n[{name}]");
            }
            for line in lines {
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }
}

/// The values that are set, and the defaults of the others.
fn values(settings: &Settings, verb: ConfigVerb, keys: &Keys) -> Vec<ShownValue> {
    let all = keys.keys(verb).filter_map(|(name, default)| {
        if let Some(setting) = settings.get(name) {
            return Some(ShownValue::of(name, setting));
        }
        Some(ShownValue::new(name, default?.into(), &Source::Default))
    });
    all.collect()
}

/// Keys, values and sources in columns.
fn rows(text: &mut String, values: &[ShownValue]) {
    let rows = values.iter().map(|it| {
        let value = it.value.to_string();
        (it.key.as_str(), short(&value), it.from.as_str())
    });
    let rows: Vec<(&str, String, &str)> = rows.collect();
    let widest = |of: fn(&(&str, String, &str)) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let key_width = widest(|row| row.0.chars().count());
    let value_width = widest(|row| row.1.chars().count());
    for (key, value, from) in &rows {
        let _ = writeln!(text, "{key:key_width$}  {value:value_width$}  {from}");
    }
}

/// One line for a command, a prompt, a rule, a server or a folder.
fn line(item: &Value) -> String {
    let source = item["source"].as_str().unwrap_or_default();
    let fields = item.as_object().into_iter().flatten();
    let fields = fields.filter(|(key, value)| *key != "source" && !value.is_null());
    let words = fields.filter_map(|(key, value)| match (key.as_str(), value) {
        ("name" | "folder", Value::String(text)) => Some(text.clone()),
        ("values", Value::Array(values)) if values.is_empty() => None,
        ("values", Value::Array(values)) => {
            let pairs = values.iter();
            let pairs =
                pairs.map(|it| format!("{}={}", it["key"].as_str().unwrap_or(""), it["value"]));
            Some(pairs.collect::<Vec<_>>().join(" "))
        }
        ("table", value) => Some(value.to_string()),
        (key, value) => Some(format!("{key} {value}")),
    });
    let words: Vec<String> = words.collect();
    format!("{}  {source}", short(&words.join("  ")))
}

fn json_of(source: &Source) -> Value {
    match source {
        Source::File(origin, place) => json!({
            "from": origin.name(),
            "file": &*place.file,
            "line": place.line,
            "column": place.column,
        }),
        Source::Variable(name) => json!({ "from": "environment", "variable": name }),
        Source::Session => json!({ "from": "session" }),
        Source::Flag => json!({ "from": "commandLine" }),
        Source::Default => json!({ "from": "default" }),
    }
}
