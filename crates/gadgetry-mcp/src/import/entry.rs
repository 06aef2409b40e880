//! One server of a list.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::imported::{Imported, Source};
use crate::config::{Http, ServerConfig, Stdio, Transport};

/// Fields that are read, whatever the program.
const KNOWN: [&str; 10] = [
    "args", "command", "cwd", "disabled", "enabled", "env", "headers", "timeout", "type", "url",
];

/// The configuration of an entry; `None` if it cannot be used, which a warning explains.
pub(super) fn read(
    source: Source,
    name: &str,
    entry: &Value,
    imported: &mut Imported,
) -> Option<ServerConfig> {
    let Some(fields) = entry.as_object() else {
        imported.warn(name, "left out: it is not an object");
        return None;
    };
    let mut reader = Reader {
        source,
        name,
        fields,
        imported,
    };
    let transport = reader.transport()?;
    let mut config = ServerConfig::new(transport);
    let is = |key: &str, value: bool| fields.get(key) == Some(&Value::Bool(value));
    config.enabled = !is("disabled", true) && !is("enabled", false);
    if let Some(timeout) = fields.get("timeout") {
        match timeout.as_u64().filter(|ms| *ms > 0) {
            Some(ms) => config.timeout = Duration::from_millis(ms),
            None => reader.warn("`timeout` is not a number of milliseconds; the default is used"),
        }
    }
    for key in fields.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
        reader.warn(format!("`{key}` has no counterpart and is left out"));
    }
    Some(config)
}

struct Reader<'a> {
    source: Source,
    name: &'a str,
    fields: &'a Map<String, Value>,
    imported: &'a mut Imported,
}

impl Reader<'_> {
    fn warn(&mut self, reason: impl Into<String>) {
        self.imported.warn(self.name, reason);
    }

    fn transport(&mut self) -> Option<Transport> {
        let kind = self.fields.get("type").and_then(Value::as_str);
        match kind {
            None | Some("stdio" | "http" | "streamable-http" | "streamableHttp") => {}
            Some("sse") => {
                self.warn("left out: HTTP with SSE is obsolete; import it with the address of its streamable HTTP endpoint");
                return None;
            }
            Some(other) => {
                self.warn(format!(
                    "left out: the transport {other:?} is not supported"
                ));
                return None;
            }
        }
        match (self.text("command"), self.text("url")) {
            (Some(command), None) => Some(Transport::Stdio(Stdio {
                command,
                args: self.args(),
                env: self.table("env"),
                cwd: self.text("cwd").map(Into::into),
            })),
            (None, Some(url)) => {
                if url.trim_end_matches('/').ends_with("/sse") {
                    self.warn("the address looks like one of HTTP with SSE, which is obsolete; replace it by that of the streamable HTTP endpoint");
                }
                Some(Transport::Http(Http {
                    url,
                    headers: self.table("headers"),
                    ..Http::default()
                }))
            }
            (Some(_), Some(_)) => {
                self.warn("left out: it has both `command` and `url`");
                None
            }
            (None, None) => {
                self.warn("left out: it has neither `command` nor `url`");
                None
            }
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        let text = self.fields.get(key)?.as_str();
        let text = text.filter(|text| !text.trim().is_empty());
        if text.is_none() {
            self.warn(format!("`{key}` is not a text"));
        }
        text.map(|text| self.variables(text))
    }

    fn args(&mut self) -> Vec<String> {
        let Some(args) = self.fields.get("args") else {
            return Vec::new();
        };
        let mut texts = Vec::new();
        for arg in args.as_array().into_iter().flatten() {
            match arg {
                Value::String(text) => texts.push(self.variables(text)),
                Value::Number(_) | Value::Bool(_) => texts.push(arg.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    self.warn(format!("the argument {arg} is not a text and is left out"));
                }
            }
        }
        if !args.is_array() {
            self.warn("`args` is not a list");
        }
        texts
    }

    fn table(&mut self, key: &str) -> BTreeMap<String, String> {
        let mut table = BTreeMap::new();
        let Some(value) = self.fields.get(key) else {
            return table;
        };
        for (name, value) in value.as_object().into_iter().flatten() {
            match value {
                Value::String(text) => {
                    let text = self.variables(text);
                    table.insert(name.clone(), text);
                }
                Value::Number(_) | Value::Bool(_) => {
                    table.insert(name.clone(), value.to_string());
                }
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    self.warn(format!("`{key}.{name}` is not a text and is left out"));
                }
            }
        }
        if !value.is_object() {
            self.warn(format!("`{key}` is not an object"));
        }
        table
    }

    /// The text with variables as we write them.
    fn variables(&mut self, text: &str) -> String {
        if self.source != Source::Cursor {
            return text.to_owned();
        }
        let text = text
            .replace("${env:", "${")
            .replace("${userHome}", "${HOME}")
            .replace("${/}", std::path::MAIN_SEPARATOR_STR)
            .replace("${pathSeparator}", std::path::MAIN_SEPARATOR_STR);
        if text.contains("${workspaceFolder") {
            self.warn("`${workspaceFolder}` is not known here; write the path of the folder");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use crate::config::ServerConfig;
    use crate::import::{Source, parse};

    /// The servers as tables of our file, and the warnings.
    fn check(source: Source, file: &Value, expected: &Value, warnings: &[&str]) {
        let imported = parse(source, &file.to_string(), Some(Path::new("/work/app"))).unwrap();
        let servers = imported.servers.iter();
        let tables: serde_json::Map<String, Value> = servers
            .map(|(name, config)| {
                let table = serde_json::to_value(config).unwrap();
                let again: ServerConfig = serde_json::from_value(table.clone()).unwrap();
                assert_eq!(again, *config, "the table is read as it was written");
                (name.clone(), table)
            })
            .collect();
        assert_eq!(Value::Object(tables), *expected);
        let found: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), warnings.len(), "{found:#?}");
        for (found, part) in found.iter().zip(warnings) {
            assert!(found.contains(part), "{found}");
        }
    }

    #[test]
    fn claude_code() {
        let file = json!({ "mcpServers": {
            "files": { "type": "stdio", "command": "npx", "args": ["-y", "files", 3], "env": { "KEY": "${KEY:-x}", "N": 1 } },
            "web": { "type": "http", "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${KEY}" }, "timeout": 30_000 },
            "old": { "type": "sse", "url": "https://example.com/sse" },
            "socket": { "type": "ws", "url": "wss://example.com" },
            "odd": { "command": "x", "headersHelper": "y", "args": "z" },
            "none": {},
            "both": { "command": "x", "url": "https://example.com" },
            "text": "npx",
            "off": { "command": "x", "disabled": true, "timeout": "soon" },
        } });
        let expected = json!({
            "files": { "command": "npx", "args": ["-y", "files", "3"], "env": { "KEY": "${KEY:-x}", "N": "1" } },
            "web": { "url": "https://example.com/mcp", "timeout": "30s", "headers": { "Authorization": "Bearer ${KEY}" } },
            "odd": { "command": "x" },
            "off": { "command": "x", "enabled": false },
        });
        let warnings = [
            "server \"old\": left out: HTTP with SSE is obsolete",
            "server \"socket\": left out: the transport \"ws\"",
            "`args` is not a list",
            "`headersHelper` has no counterpart",
            "server \"none\": left out: it has neither",
            "server \"both\": left out: it has both",
            "server \"text\": left out: it is not an object",
            "`timeout` is not a number",
        ];
        check(Source::ClaudeCode, &file, &expected, &warnings);
    }

    #[test]
    fn projects_of_claude_code() {
        let file = json!({
            "numStartups": 3,
            "mcpServers": { "a": { "command": "all" }, "b": { "command": "all" } },
            "projects": {
                "/work/app": { "mcpServers": { "a": { "command": "own" } } },
                "/work/other": { "mcpServers": { "c": { "command": "other" } } },
            },
        });
        let expected = json!({ "a": { "command": "own" }, "b": { "command": "all" } });
        let warnings = ["server \"a\": a server of the project has the same name"];
        check(Source::ClaudeCode, &file, &expected, &warnings);
    }

    #[test]
    fn cursor() {
        let file = json!({ "mcpServers": {
            "a": { "command": "${userHome}/bin/x", "args": ["${env:TOKEN}", "${workspaceFolder}"], "envFile": ".env" },
            "b": { "url": "https://example.com/sse" },
        } });
        let expected = json!({
            "a": { "command": "${HOME}/bin/x", "args": ["${TOKEN}", "${workspaceFolder}"] },
            "b": { "url": "https://example.com/sse" },
        });
        let warnings = [
            "workspaceFolder",
            "`envFile`",
            "looks like one of HTTP with SSE",
        ];
        check(Source::Cursor, &file, &expected, &warnings);
    }

    #[test]
    fn claude_desktop() {
        let file = json!({ "mcpServers": { "a": { "command": "x" } }, "globalShortcut": "" });
        let expected = json!({ "a": { "command": "x" } });
        check(Source::ClaudeDesktop, &file, &expected, &[]);
    }

    #[test]
    fn files_without_servers() {
        let check = |text: &str, expected: &str| {
            let error = parse(Source::Cursor, text, None).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(
            "{",
            "not valid JSON: EOF while parsing an object at line 1 column 1",
        );
        for text in ["{}", "[]", "null", r#"{ "mcpServers": [] }"#] {
            check(text, "there is no list of servers");
        }
        assert_eq!(
            parse(Source::Cursor, "\u{feff}{ \"mcpServers\": {} }", None).unwrap(),
            crate::import::Imported::default()
        );
    }
}
