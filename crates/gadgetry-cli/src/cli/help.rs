//! Help: which options are shown first, and in which groups.

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, ArgAction, Command};

/// The verbs whose options are grouped here.
const VERBS: [&str; 2] = ["agent", "chat"];

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
    ("Session", &["session", "no-session", "force", "save"]),
    ("Gadgets", &["builtins", "gadgets", "no-mcp", "skills"]),
    (
        "Project",
        &["no-environment", "no-instructions", "no-discovery"],
    ),
    ("Approvals", &["dry-run", "dangerously-without-sandbox"]),
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
            "quiet",
            "verbose",
            "events",
            "config",
            "no-config",
            "profile",
            "data-dir",
            "otel-content",
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
    let verbs = VERBS.into_iter();
    let verbs = verbs.filter(|it| root.find_subcommand(it).is_some());
    let verbs: Vec<&str> = verbs.collect();
    verbs.into_iter().fold(root, |root, name| {
        root.mut_subcommand(name, |verb| {
            let usage = format!("gadgetry {name} [OPTIONS] --model <MODEL> [PROMPT]");
            let all = Arg::new("help-all")
                .long("help-all")
                .action(ArgAction::HelpLong)
                .help("Print help with all options");
            let verb = verb.arg(all).override_usage(usage);
            verb.mut_args(|option| {
                let Some((group, order)) = option.get_long().and_then(place) else {
                    return option;
                };
                let is_first = group == FIRST;
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
        for name in VERBS {
            let Some(verb) = root.find_subcommand(name) else {
                continue;
            };
            let options = verb.get_arguments().filter(|it| !it.is_hide_set());
            let names: Vec<&str> = options.filter_map(Arg::get_long).collect();
            let missing: Vec<&&str> = names.iter().filter(|it| place(it).is_none()).collect();
            assert!(missing.is_empty(), "{name}: {missing:?}");
        }
        let first = GROUPS[0].1.iter().filter(|it| !it.starts_with("help"));
        assert_eq!(first.count(), 10);
    }
}
