//! MCP servers that are added to a configuration file.

use std::path::Path;

use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use super::end_of_file::EndOfFile;
use super::rewrite::{read, rewrite};

/// A server that is to be added.
pub(crate) struct NewServer {
    pub(crate) name: String,
    /// Table of the server, an object of texts, truths, lists of texts, and objects of texts.
    pub(crate) table: Json,
}

/// Adds servers to `[mcp.servers]` of a file, which is created if it is not there. Everything else in the file stays as it is,
/// servers of the same names included. Returns for each server whether it was added, or with `is_dry` would be.
///
/// `Err` is what is wrong, in one line.
pub(crate) fn add_servers(
    path: &Path,
    servers: &[NewServer],
    is_dry: bool,
) -> Result<Vec<bool>, String> {
    if is_dry {
        let added = with_servers(&read(path)?, servers);
        let added = added.map_err(|error| format!("{}: {error}", path.display()))?;
        return Ok(added.1);
    }
    rewrite(path, |text| with_servers(text, servers))
}

/// Returns whether others than its owner can read a file.
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata(path).is_ok_and(|file| file.mode() & 0o044 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

fn with_servers(text: &str, servers: &[NewServer]) -> Result<(String, Vec<bool>), String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let mut end = EndOfFile::of(&document);
    let mcp = table(document.as_table_mut(), "mcp").ok_or("mcp is not a table")?;
    let known = table(mcp, "servers").ok_or("mcp.servers is not a table")?;
    let mut added = Vec::new();
    for server in servers {
        let is_new = !known.contains_key(&server.name);
        if is_new {
            known.insert(&server.name, Item::Table(table_of(&server.table)));
            // In an inline table it is inline.
            let table = known.get_mut(&server.name).and_then(Item::as_table_mut);
            if let Some(table) = table {
                end.append(table);
            }
        }
        added.push(is_new);
    }
    Ok((end.written(document), added))
}

/// The table of this name, which is added without a header of its own.
fn table<'t>(parent: &'t mut dyn TableLike, name: &str) -> Option<&'t mut dyn TableLike> {
    let table = parent.entry(name).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    table.as_table_like_mut()
}

fn table_of(server: &Json) -> Table {
    let mut table = Table::new();
    for (key, json) in server.as_object().into_iter().flatten() {
        if let Some(written) = written(json) {
            table.insert(key, value(written));
        }
    }
    table
}

/// Converts a value to TOML; `None` for null, which TOML lacks.
fn written(json: &Json) -> Option<Value> {
    match json {
        Json::Null => None,
        Json::Bool(truth) => Some((*truth).into()),
        Json::Number(number) => Some(match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or_default().into(),
        }),
        Json::String(text) => Some(text.as_str().into()),
        Json::Array(items) => {
            let items: Array = items.iter().filter_map(written).collect();
            Some(items.into())
        }
        Json::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.filter_map(|(key, json)| Some((key.as_str(), written(json)?)));
            let table: InlineTable = fields.collect();
            Some(table.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_are_added() {
        let servers = [
            NewServer {
                name: "files".to_owned(),
                table: json!({ "command": "npx", "args": ["-y", "it's"], "env": { "KEY": "k" } }),
            },
            NewServer {
                name: "a b".to_owned(),
                table: json!({ "url": "https://h/", "enabled": false }),
            },
        ];
        let check = |before: &str, expected: Result<(&str, &[bool]), &str>| {
            let changed = with_servers(before, &servers);
            let changed = changed.as_ref().map(|(text, added)| (&**text, &**added));
            assert_eq!(changed.map_err(String::as_str), expected, "{before}");
        };
        let files = "[mcp.servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"it's\"]\nenv = { KEY = \"k\" }\n";
        let other = "[mcp.servers.\"a b\"]\nurl = \"https://h/\"\nenabled = false\n";
        check("", Ok((&format!("{files}\n{other}"), &[true, true])));
        let mine = "# Mine.\nmodel = 'x' # fast\n\n[mcp.servers.files] # old\ncommand = 'y'\n";
        check(mine, Ok((&format!("{mine}\n{other}"), &[false, true])));
        // Comments stay where they are.
        for before in ["# model = 'x'\n", "model = 'x'\n\n# quiet = true\n"] {
            let expected = format!("{before}\n{files}\n{other}");
            check(before, Ok((&expected, &[true, true])));
        }
        let mine = "[mcp.servers.files]\ncommand = 'y'\n# cwd = ''\n\n[agent]\n# quiet = true\n";
        check(mine, Ok((&format!("{mine}\n{other}"), &[false, true])));
        check("mcp = 1", Err("mcp is not a table"));
        check("[mcp]\nservers = 1", Err("mcp.servers is not a table"));
        assert!(with_servers("[", &servers).is_err());
    }
}
