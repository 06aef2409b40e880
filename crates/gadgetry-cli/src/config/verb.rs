//! The verbs that can be configured.

use clap::Command;

#[cfg(feature = "acp")]
use crate::cli::AcpArgs;
#[cfg(feature = "chat")]
use crate::cli::ChatArgs;
use crate::cli::{AgentArgs, CompleteArgs, GadgetOptions, ServeArgs};
#[cfg(feature = "restate")]
use crate::cli::{RestateArgs, WorkerArgs};
use crate::options::{Definitions, Options as _, Reader, Settings};

/// A verb that has a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConfigVerb {
    /// `gadgetry agent`.
    Agent,
    /// `gadgetry chat`.
    Chat,
    /// `gadgetry acp`.
    Acp,
    /// `gadgetry complete`.
    Complete,
    /// `gadgetry gadget`, with all of its verbs.
    Gadget,
    /// `gadgetry serve`.
    Serve,
    /// `gadgetry worker`.
    Worker,
    /// `gadgetry submit`.
    Submit,
}

impl ConfigVerb {
    /// Every command that the configuration has options of.
    pub(crate) const ALL: [Self; 8] = [
        Self::Agent,
        Self::Chat,
        Self::Complete,
        Self::Gadget,
        Self::Serve,
        Self::Worker,
        Self::Submit,
        Self::Acp,
    ];

    /// The verb of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns the name of the verb on the command line, and of its table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Chat => "chat",
            Self::Acp => "acp",
            Self::Complete => "complete",
            Self::Gadget => "gadget",
            Self::Serve => "serve",
            Self::Worker => "worker",
            Self::Submit => "submit",
        }
    }

    /// The verb whose table concerns it as well, before its own.
    pub(crate) fn parent(self) -> Option<Self> {
        let is_child = matches!(self, Self::Chat | Self::Acp | Self::Gadget | Self::Worker);
        is_child.then_some(Self::Agent)
    }

    /// Returns whether the rules of `[approvals]` and the servers of `[mcp]` concern it, as far as it has the options.
    pub(crate) fn has_agent(self) -> bool {
        self == Self::Agent || self.parent() == Some(Self::Agent)
    }

    /// Returns whether keys outside of tables concern it. The options of `serve` have the same names and other meanings.
    pub(crate) fn has_shared_keys(self) -> bool {
        self != Self::Serve
    }

    /// The feature without which the program does not have it.
    pub(super) fn feature(self) -> Option<&'static str> {
        match self {
            Self::Chat => Some("chat"),
            Self::Acp => Some("acp"),
            Self::Worker | Self::Submit => Some("restate"),
            Self::Agent | Self::Complete | Self::Gadget | Self::Serve => None,
        }
    }

    /// Checks the values of options as its command line does. `Err` says what is wrong.
    pub(super) fn check(self, settings: &Settings, options: &Definitions) -> Result<(), String> {
        let reader = Reader::new(settings, options);
        let read = match self {
            Self::Agent => AgentArgs::read(&reader).map(drop),
            #[cfg(feature = "chat")]
            Self::Chat => ChatArgs::read(&reader).map(drop),
            #[cfg(feature = "acp")]
            Self::Acp => AcpArgs::read(&reader).map(drop),
            Self::Complete => CompleteArgs::read(&reader).map(drop),
            Self::Gadget => GadgetOptions::read(&reader).map(drop),
            Self::Serve => ServeArgs::read(&reader).map(drop),
            #[cfg(feature = "restate")]
            Self::Worker => WorkerArgs::read(&reader).map(drop),
            #[cfg(feature = "restate")]
            Self::Submit => RestateArgs::read(&reader).map(drop),
            // Without the feature, it has no options.
            #[cfg(not(all(feature = "acp", feature = "chat", feature = "restate")))]
            _ => Ok(()),
        };
        read.map_err(|invalid| invalid.problem)
    }

    /// Returns the command that defines its options. The keys of all verbs of `gadget` are those of one of them.
    pub(crate) fn definition(self, root: &Command) -> Option<&Command> {
        let command = root.find_subcommand(self.name())?;
        if self == Self::Gadget {
            command.find_subcommand("run")
        } else {
            Some(command)
        }
    }
}
