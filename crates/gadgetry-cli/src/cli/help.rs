//! Help: which options are shown first, and in which groups.

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, ArgAction, Command};

/// The verbs whose options are grouped here: their arguments, and options of other groups that matter first.
const VERBS: [(&str, &str, &[&str]); 5] = [
    ("acp", "", &[]),
    ("agent", " [PROMPT]", &[]),
    ("chat", " [PROMPT]", &[]),
    (
        "complete",
        " [PROMPT] [-]",
        &[
            "system",
            "reasoning",
            "max-tokens",
            "temperature",
            "image",
            "audio",
        ],
    ),
    ("worker", "", &["restate", "listen", "advertise", "spread"]),
];

/// Heading of the options that matter first. The others are in `--help-all`.
const FIRST: &str = "Options";

/// The groups, in their order, with the options in theirs. A test fails for an option that is in none.
const GROUPS: &[(&str, &[&str])] = &[
    (
        FIRST,
        &[
            "model",
            "print",
            "output-format",
            "continue",
            "yes",
            "sandbox",
            "approval",
            "workspace",
            "mcp",
            "budget",
            "help",
            "help-all",
        ],
    ),
    (
        "Model",
        &[
            "system",
            "reasoning",
            "max-tokens",
            "temperature",
            "reasoning-tags",
            "reasoning-open",
            "base-url",
            "api-key-env",
            "header",
            "extra-body",
            "no-proxy",
            "connect-timeout",
            "model-timeout",
        ],
    ),
    ("Input", &["image", "audio"]),
    (
        "Worker",
        &[
            "restate",
            "restate-admin",
            "listen",
            "advertise",
            "own-url",
            "identity-key",
            "spread",
        ],
    ),
    ("Session", &["session", "no-session", "force", "save"]),
    ("Gadgets", &["builtins", "gadgets", "no-mcp", "skills"]),
    (
        "Project",
        &[
            "worktree",
            "no-environment",
            "no-instructions",
            "no-discovery",
        ],
    ),
    (
        "Approvals",
        &["approval-mode", "dry-run", "dangerously-without-sandbox"],
    ),
    (
        "Limits",
        &[
            "max-iterations",
            "timeout",
            "max-concurrent",
            "max-gadgets-per-response",
            "output-limit",
            "requests-per-minute",
            "tokens-per-minute",
            "tokens-per-day",
            "rate-limit-margin",
            "max-retries",
            "retry-min-delay",
            "retry-max-delay",
        ],
    ),
    (
        "How the model calls gadgets",
        &[
            "tools",
            "form",
            "examples",
            "constrain",
            "dialects",
            "gadget-search",
            "unterminated",
            "no-stop-early",
            "tag",
            "markers",
            "start",
            "end",
            "arg",
            "line-start",
        ],
    ),
    (
        "Output, configuration",
        &[
            "theme",
            "quiet",
            "verbose",
            "events",
            "config",
            "no-config",
            "profile",
            "data-dir",
            "otel-content",
            "inspect",
        ],
    ),
];

/// The group of an option, and its position in all groups.
fn place(name: &str) -> Option<(&'static str, usize)> {
    let all = GROUPS.iter().flat_map(|(group, names)| {
        let names = names.iter();
        names.map(move |name| (*group, *name))
    });
    let mut all = all.zip(0..);
    let ((group, _), order) = all.find(|((_, other), _)| *other == name)?;
    Some((group, order))
}

/// Groups the options of the verbs, and leaves those that matter first in `--help`.
pub(super) fn grouped(root: Command) -> Command {
    let mut verbs = VERBS.to_vec();
    verbs.retain(|(name, ..)| root.find_subcommand(name).is_some());
    verbs.into_iter().fold(root, |root, (name, rest, first)| {
        root.mut_subcommand(name, |verb| {
            let usage = format!("gadgetry {name} [OPTIONS] --model <MODEL>{rest}");
            let all = Arg::new("help-all")
                .long("help-all")
                .action(ArgAction::HelpLong)
                .help("Print help with all options");
            let verb = verb.arg(all).override_usage(usage);
            verb.mut_args(|option| {
                let Some((group, order)) = option.get_long().and_then(place) else {
                    return option;
                };
                let name = option.get_long().unwrap_or_default();
                let is_first = group == FIRST || first.contains(&name);
                let heading = if is_first {
                    Resettable::Reset
                } else {
                    Resettable::Value(group.into())
                };
                option
                    .help_heading(heading)
                    .display_order(order)
                    .hide_short_help(!is_first)
                    .hide_long_help(!is_first)
            })
        })
    })
}

/// The help of a verb with all of its options.
pub(crate) fn all(mut root: Command, verb: &str) -> Option<StyledStr> {
    root.build();
    let verb = root.find_subcommand(verb)?.clone();
    let mut verb = verb.mut_args(|option| option.hide_short_help(false).hide_long_help(false));
    Some(verb.render_long_help())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    /// An option without a group would be below the last heading, whatever that is.
    #[test]
    fn every_option_has_a_group() {
        let root = cli::command();
        for (name, ..) in VERBS {
            let Some(verb) = root.find_subcommand(name) else {
                continue;
            };
            let options = verb.get_arguments().filter(|it| !it.is_hide_set());
            let names: Vec<&str> = options.filter_map(Arg::get_long).collect();
            let missing: Vec<&&str> = names.iter().filter(|it| place(it).is_none()).collect();
            assert!(missing.is_empty(), "{name}: {missing:?}");
        }
        for (name, _, first) in VERBS {
            let unknown: Vec<_> = first.iter().filter(|it| place(it).is_none()).collect();
            assert!(unknown.is_empty(), "{name}: {unknown:?}");
        }
        let first = GROUPS[0].1.iter().filter(|it| !it.starts_with("help"));
        assert_eq!(first.count(), 10);
    }
}
