//! A server that was typed.

use std::path::Path;
use std::str::FromStr;

use gadgetry_mcp::ServerConfig;
use reqwest::Url;

use super::target::{is_url, name_and_target};

/// Programs that fetch and start the package that their first argument names.
const LAUNCHERS: [&str; 5] = ["bunx", "npx", "pipx", "pnpx", "uvx"];

/// A server that was typed, to which the user has agreed by typing it.
#[derive(Clone, Debug)]
pub(crate) struct TypedServer {
    pub(crate) name: String,
    pub(crate) config: ServerConfig,
}

impl TypedServer {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for TypedServer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, target) = name_and_target(text);
        let (default, config) = if is_url(target) {
            let url = Url::parse(target).map_err(|error| format!("invalid URL: {error}"))?;
            let host = url.host_str().unwrap_or("server");
            (host.to_owned(), ServerConfig::http(target))
        } else {
            let words = shell_words::split(target).map_err(|error| error.to_string())?;
            let Some((program, arguments)) = words.split_first().filter(|it| !it.0.is_empty())
            else {
                return Err("expected a command line or a URL".to_owned());
            };
            let name = name_of(program, arguments);
            (name, ServerConfig::stdio(program, arguments))
        };
        Ok(Self {
            name: name.map_or(default, str::to_owned),
            config,
        })
    }
}

/// The name of a program without folders, or that of the package which a launcher starts.
fn name_of(program: &str, arguments: &[String]) -> String {
    let stem = |path: &str| {
        let stem = Path::new(path).file_stem();
        stem.map_or_else(|| path.to_owned(), |it| it.to_string_lossy().into_owned())
    };
    let name = stem(program);
    if LAUNCHERS.contains(&name.as_str()) {
        let package = arguments.iter().find(|it| !it.starts_with('-'));
        let package = package.and_then(|it| it.rsplit('/').next());
        let package = package.and_then(|it| it.split('@').next());
        if let Some(package) = package.filter(|it| !it.is_empty()) {
            return package.to_owned();
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::TypedServer;

    #[test]
    fn servers_are_read() {
        let check = |text: &str, expected: Result<(&str, &str), &str>| {
            let found = text.parse::<TypedServer>();
            let found = found.map(|it| (it.name, it.config.command_line()));
            let found = found.as_ref().map(|(name, line)| (&**name, &**line));
            assert_eq!(found.map_err(String::as_str), expected, "{text}");
        };
        check("/usr/bin/files.py .", Ok(("files", "/usr/bin/files.py .")));
        check(
            "npx -y @modelcontextprotocol/server-filesystem@1.2 'my files'",
            Ok((
                "server-filesystem",
                "npx -y @modelcontextprotocol/server-filesystem@1.2 'my files'",
            )),
        );
        check("npx", Ok(("npx", "npx")));
        check("mine=python3 -m server", Ok(("mine", "python3 -m server")));
        check(
            "https://example.com/mcp",
            Ok(("example.com", "https://example.com/mcp")),
        );
        check("a='b c' d", Ok(("a", "'b c' d")));
        check("", Err("expected a command line or a URL"));
        check("x=", Err("expected a command line or a URL"));
        check("'' a", Err("expected a command line or a URL"));
        check("a 'b", Err("missing closing quote"));
        check("http://", Err("invalid URL: empty host"));
    }
}
