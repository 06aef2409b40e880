//! Facts about the words that are needed before they can be parsed.

use std::ffi::{OsStr, OsString};

use crate::cli::ConfigArgs;
use crate::config::{Asking, Config, Keys};
use crate::error::Error;
use crate::printer::Printer;

/// Finds the verb.
pub(super) fn verb(words: &[OsString]) -> Option<usize> {
    let mut words = words.iter().enumerate().skip(1);
    while let Some((at, word)) = words.next() {
        if word == "--config" || word == "--profile" {
            words.next();
        } else if word == "--" {
            return None;
        } else if !is_option(word) {
            return Some(at);
        }
    }
    None
}

/// Returns whether all options are to be explained.
pub(super) fn wants_all_help(words: &[OsString]) -> bool {
    let mut words = words.iter().take_while(|it| *it != "--");
    words.any(|it| it == "--help-all")
}

fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// Replaces `sessions resume NAME` by `agent --continue NAME`, and returns whether it was there.
pub(super) fn resumed(mut words: Vec<OsString>) -> (Vec<OsString>, bool) {
    let is_verbose =
        |it: &&OsString| *it == "--verbose" || it.as_encoded_bytes().starts_with(b"-v");
    let is = |at: usize, word: &str| words.get(at).is_some_and(|it| it == word);
    let found = verb(&words)
        .filter(|at| is(*at, "sessions"))
        .and_then(|at| {
            let between = words.iter().skip(at + 1).take_while(is_verbose).count();
            let resume = at + 1 + between;
            let has_name = words.get(resume + 1).is_some_and(|it| !is_option(it));
            (is(resume, "resume") && has_name).then_some((at, resume))
        });
    let Some((at, resume)) = found else {
        return (words, false);
    };
    words[at] = "agent".into();
    words[resume] = "--continue".into();
    (words, true)
}

/// The configuration that defines what a verb which the program does not have means. For help, it counts as far as it can be read.
pub(super) fn config(
    words: &[OsString],
    verb: Option<usize>,
    keys: &Keys,
    printer: &Printer,
) -> Result<Config, Error> {
    match verb {
        Some(at) if words[at] != "help" => {
            let chosen = scanned(&words[at + 1..]).or(scanned(&words[1..at]));
            Config::load(&chosen, keys, Asking::Prompt, printer)
        }
        _ => {
            let chosen = scanned(words.get(1..).unwrap_or_default());
            let config = Config::load(&chosen, keys, Asking::Silent, printer);
            Ok(config.unwrap_or_default())
        }
    }
}

/// Finds the options about configuration.
fn scanned(words: &[OsString]) -> ConfigArgs {
    let mut found = ConfigArgs::default();
    let mut words = words.iter().take_while(|it| *it != "--");
    while let Some(word) = words.next() {
        let Some(word) = word.to_str() else {
            continue;
        };
        match word.split_once('=') {
            Some(("--config", value)) => found.config = Some(value.into()),
            Some(("--profile", value)) => found.profile = Some(value.to_owned()),
            None if word == "--no-config" => found.no_config = true,
            None if word == "--config" => found.config = words.next().map(Into::into),
            None if word == "--profile" => {
                let name = words.next().and_then(|it| it.to_str());
                found.profile = name.map(str::to_owned);
            }
            Some(_) | None => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_verb_is_the_first_word_that_is_no_option() {
        let check = |line: &str, expected: Option<usize>| {
            assert_eq!(verb(&words(line)), expected, "{line}");
        };
        check("gadgetry", None);
        check("gadgetry -v --no-config", None);
        check("gadgetry agent", Some(1));
        check(
            "gadgetry -v --profile p --config=f agent --config x",
            Some(5),
        );
        check("gadgetry --config agent", None);
        check("gadgetry -- agent", None);
    }

    #[test]
    fn options_of_verbs_that_are_not_known_yet() {
        let check = |line: &str, config: Option<&str>, no_config: bool, profile: Option<&str>| {
            let found = scanned(&words(line));
            assert_eq!(found.config.as_deref(), config.map(std::path::Path::new));
            assert_eq!(
                (found.no_config, found.profile.as_deref()),
                (no_config, profile),
                "{line}"
            );
        };
        check("", None, false, None);
        check(
            "x --config f --profile=p -- --no-config",
            Some("f"),
            false,
            Some("p"),
        );
        check("--no-config --config", None, true, None);
        check("--configs=a --profiles b", None, false, None);
    }

    #[test]
    fn a_session_is_resumed_by_the_agent() {
        let check = |line: &str, expected: &str, is_resumed: bool| {
            assert_eq!(
                resumed(words(line)),
                (words(expected), is_resumed),
                "{line}"
            );
        };
        let again = "gadgetry -v agent --continue s --budget 1";
        check("gadgetry -v sessions resume s --budget 1", again, true);
        check(
            "gadgetry sessions -vv resume s",
            "gadgetry agent -vv --continue s",
            true,
        );
        for line in [
            "gadgetry sessions resume",
            "gadgetry sessions resume --help",
            "gadgetry sessions list",
            "gadgetry agent sessions resume s",
        ] {
            check(line, line, false);
        }
    }
}
