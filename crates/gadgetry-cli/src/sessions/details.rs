//! What a session keeps of the command line, to repeat it.

use std::path::{Path, PathBuf};
use std::{env, io, mem};

use reqwest::Url;
use serde::{Deserialize, Serialize};

#[cfg(feature = "chat")]
use crate::args::option_name;
use crate::args::{Typed, TypedOption, is_url, name_and_target};
use crate::config::CONFIGURED_APPROVAL;
#[cfg(feature = "chat")]
use crate::config::is_of_server;
use crate::connect;
use crate::error::Error;

/// Options of one invocation, not of the session. What a file allows is what it says now.
const OF_ONE_RUN: [&str; 13] = [
    CONFIGURED_APPROVAL,
    "yes",
    "dangerously-without-sandbox",
    "dry-run",
    "session",
    "no-session",
    "continue",
    "force",
    "save",
    "events",
    "quiet",
    "data-dir",
    "timeout",
];
/// Options that may hold keys.
const SECRET: [&str; 2] = ["header", "extra-body"];
const BASE_URL: &str = "base-url";
/// An MCP server, which may be a URL.
const MCP: &str = "mcp";

/// The document that is stored with each run of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    /// The options, each as one word. None of them is a key.
    pub(crate) options: Vec<String>,
    /// The names of options that are not kept because they may hold keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<String>,
    /// The working directory.
    pub(crate) folder: String,
    /// The prompts that were added to the run after its first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) added: Vec<String>,
    /// Changes of files that the user has undone, about which the model has not read yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) undone: Vec<String>,
}

impl Details {
    /// What is kept of the options, in the current working directory.
    pub(crate) fn of(typed: &Typed) -> io::Result<Self> {
        let folder = env::current_dir()?.into_os_string();
        let folder = folder.into_string().map_err(|_| not_unicode())?;
        let mut details = Self {
            options: Vec::new(),
            left_out: Vec::new(),
            folder,
            added: Vec::new(),
            undone: Vec::new(),
        };
        for option in &typed.options {
            let name = option.name.as_str();
            if OF_ONE_RUN.contains(&name) {
            } else if is_secret(option) {
                details.leave_out(name);
            } else {
                details.options.push(word(option)?);
            }
        }
        Ok(details)
    }

    /// Replaces the options by those that were typed, in the present working directory.
    #[cfg(feature = "chat")]
    pub(crate) fn set_options(&mut self, typed: &Typed) -> io::Result<()> {
        let new = Self::of(typed)?;
        self.options = new.options;
        for name in &new.left_out {
            self.leave_out(name);
        }
        Ok(())
    }

    /// Takes note that an option is not kept.
    pub(crate) fn leave_out(&mut self, name: &str) {
        if !self.left_out.iter().any(|it| it == name) {
            self.left_out.push(name.to_owned());
        }
    }

    /// A message with a note about the changes that were undone since the one before, so that the model does not rely on them.
    pub(crate) fn with_undone(&mut self, message: String) -> String {
        let undone = mem::take(&mut self.undone);
        if undone.is_empty() {
            return message;
        }
        let undone = undone.join(", ");
        format!(
            "[The user has undone changes of files: {undone}. Read a file again before you use it.]\n\n{message}"
        )
    }

    /// The options that were not kept and are not `typed` again.
    pub(crate) fn missing<'a>(&'a self, typed: &Typed) -> Vec<&'a str> {
        let is_given = |name: &&String| typed.options.iter().any(|it| it.name == **name);
        let missing = self.left_out.iter().filter(|it| !is_given(it));
        missing.map(String::as_str).collect()
    }

    /// Replaces the value of an option, in the form in which it is kept.
    #[cfg(feature = "chat")]
    pub(crate) fn set_option(&mut self, name: &str, value: &str) -> io::Result<()> {
        let option = TypedOption {
            name: name.to_owned(),
            value: Some(value.into()),
        };
        let word = word(&option)?;
        self.options.retain(|it| option_name(it) != name);
        self.options.push(word);
        Ok(())
    }

    /// Forgets options that may hold a key of a model's server.
    #[cfg(feature = "chat")]
    pub(crate) fn leave_server(&mut self) {
        self.options.retain(|it| !is_of_server(option_name(it)));
        self.left_out.retain(|name| !is_of_server(name));
    }

    /// The value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        let mut values = self.options.iter().filter_map(|it| it.split_once('='));
        let found = values.find(|(option, _)| option.strip_prefix("--") == Some(name));
        found.map(|(_, value)| value)
    }
}

/// Whether an option applies to one invocation, and is not kept with a session.
pub(crate) fn is_of_one_run(name: &str) -> bool {
    OF_ONE_RUN.contains(&name)
}

/// Fails if an option without which the session would send requests elsewhere is `missing`.
pub(crate) fn refuse_without(missing: &[&str]) -> Result<(), Error> {
    if missing.contains(&BASE_URL) {
        return Err(Error::input(
            "the session did not keep its --base-url, because it contains a password or a query; add --base-url URL",
        ));
    }
    Ok(())
}

fn is_secret(option: &TypedOption) -> bool {
    if SECRET.contains(&option.name.as_str()) {
        return true;
    }
    let value = option.value.as_deref();
    match option.name.as_str() {
        BASE_URL => value.is_some_and(|url| url.to_str().is_none_or(may_hold_key)),
        MCP => value.is_some_and(|server| {
            let server = server.to_str().map(name_and_target);
            server.is_some_and(|(_, target)| is_url(target) && may_hold_key(target))
        }),
        _ => false,
    }
}

fn may_hold_key(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return true;
    };
    !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
}

/// Options of the conversation as words, with absolute paths; not those that choose the session.
#[cfg(feature = "chat")]
pub(crate) fn words_of_talk<'a>(
    options: impl IntoIterator<Item = &'a TypedOption>,
) -> io::Result<Vec<String>> {
    const OF_SESSION: [&str; 3] = ["session", "continue", "force"];
    let options = options.into_iter();
    let options = options.filter(|it| !OF_SESSION.contains(&it.name.as_str()));
    options.map(word).collect()
}

/// The option as one word, with an absolute path if it names a file.
fn word(option: &TypedOption) -> io::Result<String> {
    let name = &option.name;
    let Some(value) = &option.value else {
        return Ok(format!("--{name}"));
    };
    let value = value.to_str().ok_or_else(not_unicode)?;
    Ok(format!(
        "--{name}={}",
        in_folder(name, value, Path::new(""))?
    ))
}

/// Options as words, whose relative paths are resolved from a folder.
#[cfg(feature = "chat")]
pub(crate) fn words_in(folder: &Path, words: Vec<String>) -> io::Result<Vec<String>> {
    let words = words.into_iter().map(|word| match word.split_once('=') {
        Some((option, value)) => {
            let value = in_folder(option_name(option), value, folder)?;
            Ok(format!("{option}={value}"))
        }
        None => Ok(word),
    });
    words.collect()
}

/// The value of an option, with an absolute path if it names a file.
fn in_folder(name: &str, value: &str, folder: &Path) -> io::Result<String> {
    match name {
        "gadgets" | "workspace" | "skills" | "configured-skills" => absolute(&folder.join(value)),
        "model" => match connect::script(value) {
            Some(file) if !file.as_os_str().is_empty() => {
                Ok(format!("script:{}", absolute(&folder.join(file))?))
            }
            _ => Ok(value.to_owned()),
        },
        _ => Ok(value.to_owned()),
    }
}

fn absolute(path: &Path) -> io::Result<String> {
    let path: PathBuf = std::path::absolute(path)?;
    path.into_os_string()
        .into_string()
        .map_err(|_| not_unicode())
}

fn not_unicode() -> io::Error {
    io::Error::other("the name of a file, a folder or an option is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_with_keys_are_not_kept() {
        let check = |url: &str, expected: bool| {
            let option = TypedOption {
                name: BASE_URL.to_owned(),
                value: Some(url.into()),
            };
            assert_eq!(is_secret(&option), expected, "{url}");
        };
        check("http://localhost:8000/v1", false);
        check("https://example.com/@cf/v1", false);
        check("https://user@example.com/v1", true);
        check("https://:key@example.com/v1", true);
        check("https://example.com/v1?key=k", true);
        check("https://example.com/v1#key", true);
        check("not a URL", true);
    }
}
