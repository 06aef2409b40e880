//! Attributes of each option, whichever verbs have it.

use super::Kind;

/// The attributes of an option. One that has no row is risky, no key, and in no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Files and variables can set it.
    pub(crate) is_key: bool,
    /// Risky: among the last lines that the user reads before a project's file is used. It decides where requests and keys
    /// are sent, what they contain and cost, what text is a call, what runs, or what is written.
    pub(crate) is_risky: bool,
    /// Applies to one invocation, and is not kept with a session.
    pub(crate) is_once: bool,
    /// When its value may be a key, which no session keeps.
    pub(crate) secret: Secret,
    /// The option that chooses the server for which it is meant. It is sent to no other one.
    pub(crate) bound_to: Option<&'static str>,
    /// The kind of its values, if that does not follow from their type.
    pub(crate) kind: Option<Kind>,
}

/// When a value may be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secret {
    Never,
    Always,
    /// If it is a URL with a user, a password, a query or a fragment.
    InUrl,
    /// If it is an MCP server with such a URL.
    InServer,
}

impl Attributes {
    /// Returns the attributes of the option of this name, without hyphens.
    pub(crate) fn of(name: &str) -> Self {
        let found = ALL.binary_search_by_key(&name, |(name, _)| name);
        let found = found.ok().and_then(|at| ALL.get(at));
        found.map_or(INVOCATION, |(_, attributes)| *attributes)
    }

    /// Returns whether it is meant for the server of a model, and may hold its key.
    #[cfg(feature = "chat")]
    pub(crate) fn is_of_model_server(self) -> bool {
        self.bound_to == Some(MODEL)
    }

    const fn harmless(self) -> Self {
        Self {
            is_risky: false,
            ..self
        }
    }

    const fn once(self) -> Self {
        Self {
            is_once: true,
            ..self
        }
    }

    const fn secret(self, secret: Secret) -> Self {
        Self { secret, ..self }
    }

    const fn bound_to(self, server: &'static str) -> Self {
        Self {
            bound_to: Some(server),
            ..self
        }
    }

    const fn taking(self, kind: Kind) -> Self {
        Self {
            kind: Some(kind),
            ..self
        }
    }
}

/// A key of files.
const KEY: Attributes = Attributes {
    is_key: true,
    is_risky: true,
    is_once: false,
    secret: Secret::Never,
    bound_to: None,
    kind: None,
};
/// An option of the command line, which a session keeps.
const TYPED: Attributes = Attributes {
    is_key: false,
    ..KEY
};
/// An option of one invocation.
const INVOCATION: Attributes = TYPED.once();

/// The option that chooses a model.
pub(crate) const MODEL: &str = "model";
/// The option that says where a model is.
pub(crate) const BASE_URL: &str = "base-url";
/// The option that chooses the server of a gateway.
pub(crate) const UPSTREAM: &str = "upstream";
/// The option for runs without a user who answers.
pub(crate) const PRINT: &str = "print";
/// Images of the next message.
pub(crate) const IMAGE: &str = "image";
/// The system prompt.
pub(crate) const SYSTEM: &str = "system";
/// The key that names a prompt instead.
pub(crate) const SYSTEM_PROMPT: &str = "system-prompt";
/// The folder of the built-in gadgets.
pub(crate) const WORKSPACE: &str = "workspace";
/// The option that continues a session.
pub(crate) const CONTINUE: &str = "continue";
/// The data directory.
pub(crate) const DATA_DIR: &str = "data-dir";
/// The address of Restate.
pub(crate) const RESTATE: &str = "restate";
/// Rules of `[approvals]`. What a file allows is what it says now.
pub(crate) const CONFIGURED_APPROVAL: &str = "configured-approval";
/// The names of the servers in `[mcp.servers]`.
pub(crate) const CONFIGURED_MCP: &str = "configured-mcp";
/// The folders of `[skills]`.
pub(crate) const CONFIGURED_SKILLS: &str = "configured-skills";

/// All options, in alphabetical order. A test fails for one that is missing.
const ALL: &[(&str, Attributes)] = &[
    ("advertise", KEY),
    ("all", INVOCATION),
    ("api-key-env", KEY.bound_to(MODEL)),
    ("approval", TYPED),
    ("approval-mode", KEY),
    ("arg", KEY),
    ("audio", INVOCATION),
    (BASE_URL, KEY.secret(Secret::InUrl)),
    ("batch", INVOCATION),
    ("bfcl", INVOCATION),
    ("budget", KEY),
    ("builtins", KEY),
    ("cases", INVOCATION),
    ("chunk-size", INVOCATION),
    ("class", INVOCATION),
    ("config", KEY.once()),
    (CONFIGURED_APPROVAL, INVOCATION),
    (CONFIGURED_MCP, TYPED),
    (CONFIGURED_SKILLS, TYPED),
    ("connect-timeout", KEY.harmless()),
    ("constrain", KEY.harmless()),
    (CONTINUE, INVOCATION),
    ("dangerously-without-sandbox", INVOCATION),
    (DATA_DIR, KEY.once()),
    ("decision", INVOCATION),
    ("dialects", KEY.taking(Kind::Definitions)),
    ("dry-run", INVOCATION),
    ("end", KEY),
    ("events", KEY.harmless().once()),
    ("examples", KEY.harmless()),
    (
        "extra-body",
        KEY.secret(Secret::Always)
            .bound_to(MODEL)
            .taking(Kind::Object),
    ),
    ("feature", INVOCATION),
    ("follow", INVOCATION),
    ("force", INVOCATION),
    ("form", KEY),
    ("from", INVOCATION),
    ("from-seq", INVOCATION),
    ("gadget-search", KEY.harmless()),
    ("gadgets", KEY),
    ("header", KEY.secret(Secret::Always).bound_to(MODEL)),
    ("help-all", INVOCATION),
    ("html", INVOCATION),
    ("identity-key", KEY),
    (IMAGE, INVOCATION),
    ("inspect", INVOCATION),
    ("json", INVOCATION),
    ("jsonl", INVOCATION),
    ("keys", KEY),
    ("line-start", KEY),
    ("listen", KEY),
    ("local", INVOCATION),
    ("log-prompts", KEY),
    ("markers", KEY),
    ("max-concurrent", KEY.harmless()),
    ("max-gadgets-per-response", KEY.harmless()),
    ("max-iterations", KEY),
    ("max-retries", KEY.harmless()),
    ("max-tokens", KEY.harmless()),
    ("mcp", TYPED.secret(Secret::InServer)),
    ("mode", KEY),
    (MODEL, KEY),
    ("model-timeout", KEY.harmless()),
    ("no-config", INVOCATION),
    ("no-discovery", KEY.harmless()),
    ("no-environment", KEY.harmless()),
    ("no-instructions", KEY.harmless()),
    ("no-mcp", KEY.harmless()),
    ("no-partials", INVOCATION),
    ("no-proxy", KEY),
    ("no-session", KEY.harmless().once()),
    ("no-stop-early", KEY.harmless()),
    ("older-than", INVOCATION),
    ("otel-content", INVOCATION),
    ("otlp", INVOCATION),
    ("output-format", INVOCATION),
    ("output-limit", KEY.harmless().taking(Kind::NumberOrText)),
    ("own-url", KEY),
    ("parallel", INVOCATION),
    ("params", INVOCATION),
    ("patience", INVOCATION),
    ("perfetto", INVOCATION),
    ("port", INVOCATION),
    (PRINT, INVOCATION),
    ("profile", INVOCATION),
    ("project", INVOCATION),
    ("provider", INVOCATION),
    ("quiet", KEY.harmless().once()),
    ("rate-limit-margin", KEY.harmless()),
    ("reasoning", KEY.harmless()),
    ("reasoning-open", KEY),
    ("reasoning-tags", KEY.taking(Kind::Commas)),
    ("repairs", KEY.harmless()),
    ("requests-per-minute", KEY.harmless()),
    (RESTATE, KEY),
    ("restate-admin", KEY),
    ("result", INVOCATION),
    ("retry-max-delay", KEY.harmless()),
    ("retry-min-delay", KEY.harmless()),
    ("revoke", INVOCATION),
    ("run", INVOCATION),
    ("run-dependencies", KEY),
    ("run-id", INVOCATION),
    ("sandbox", KEY),
    ("save", KEY.once()),
    ("schema", INVOCATION),
    ("session", INVOCATION),
    ("skills", TYPED),
    ("spread", KEY),
    ("start", KEY),
    (SYSTEM, KEY.harmless()),
    (SYSTEM_PROMPT, KEY.harmless()),
    ("tag", KEY),
    ("temperature", KEY.harmless()),
    ("theme", KEY.harmless().once()),
    ("timeout", KEY.harmless().once()),
    ("tokens-per-day", KEY.harmless()),
    ("tokens-per-minute", KEY.harmless()),
    ("tools", KEY),
    ("unterminated", KEY),
    (UPSTREAM, KEY),
    ("upstream-api", KEY),
    ("upstream-key-env", KEY.bound_to(UPSTREAM)),
    ("verbose", INVOCATION),
    ("wait", INVOCATION),
    (WORKSPACE, KEY),
    ("worktree", INVOCATION),
    ("yes", INVOCATION),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Command;

    use super::*;
    use crate::cli;

    fn collect(command: &Command, names: &mut BTreeSet<String>) {
        let options = command.get_arguments().filter_map(clap::Arg::get_long);
        names.extend(options.map(str::to_owned));
        for verb in command.get_subcommands() {
            collect(verb, names);
        }
    }

    /// A new option needs a row: without one, it can be set by no file and is kept with no session.
    #[test]
    fn every_option_has_attributes() {
        let mut defined = BTreeSet::from([SYSTEM_PROMPT.to_owned()]);
        collect(&cli::command(), &mut defined);
        let known: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        assert!(known.is_sorted(), "{known:?}");
        let missing: Vec<&String> = defined
            .iter()
            .filter(|it| !known.contains(&it.as_str()))
            .collect();
        assert!(
            missing.is_empty(),
            "options without attributes: {missing:?}"
        );
        if cfg!(all(
            feature = "chat",
            feature = "mcp",
            feature = "inspect",
            feature = "otel",
            feature = "restate"
        )) {
            let gone: Vec<&&str> = known.iter().filter(|it| !defined.contains(**it)).collect();
            assert!(gone.is_empty(), "no option is called {gone:?}");
        }
    }

    #[test]
    fn an_option_without_attributes_is_risky_and_not_kept() {
        let unknown = Attributes::of("no-such-option");
        assert!(unknown.is_risky && unknown.is_once && !unknown.is_key);
        for name in ["yes", "dangerously-without-sandbox", "dry-run", "approval"] {
            assert!(!Attributes::of(name).is_key, "{name}");
        }
    }
}
