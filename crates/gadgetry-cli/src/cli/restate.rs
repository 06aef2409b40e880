//! Options of the verbs that use Restate.

use std::net::SocketAddr;

use clap::{Args, Subcommand, ValueEnum};
use gadgetry::journal::QuestionRef;

use super::agent::EventFormat;
use super::{AgentOptions, ConfigArgs};

/// Options for the address of Restate.
#[derive(Debug, Args)]
pub(crate) struct RestateArgs {
    /// URL of Restate's ingress
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) restate: String,
}

/// Options of `gadgetry worker`.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) restate: RestateArgs,

    /// URL of Restate's admin interface, where the worker registers itself [default: port 9070 of the same host]
    #[arg(long, value_name = "URL")]
    pub(crate) restate_admin: Option<String>,

    /// Public key of the Restate server; requests without its signature are refused
    #[arg(long, value_name = "KEY")]
    pub(crate) identity_key: Option<String>,

    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9080")]
    pub(crate) listen: SocketAddr,

    /// URL at which Restate reaches this worker, or the load balancer of several [default: the address to listen on]
    #[arg(long, value_name = "URL")]
    pub(crate) advertise: Option<String>,

    /// URL of this very worker, for `--follow` [default: the address to listen on]
    #[arg(long, value_name = "URL")]
    pub(crate) own_url: Option<String>,

    /// Gadget that any worker may execute, not only the one that drives its run; may be repeated
    #[arg(long, value_name = "GADGET")]
    pub(crate) spread: Vec<String>,

    /// Also continue runs that began with other gadgets, prompts or markers
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) options: AgentOptions,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// Options of `gadgetry submit`.
#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// The prompt; `-` reads stdin. Put it after `--` if it starts with a hyphen
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,

    /// Id of the run; no second run with this id begins [default: a random one]
    #[arg(long, value_name = "ID")]
    pub(crate) run_id: Option<String>,

    /// Show progress and wait for the answer
    #[arg(long)]
    pub(crate) follow: bool,

    #[command(flatten)]
    pub(crate) restate: RestateArgs,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// Options of `gadgetry remote`.
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// Action to take
    #[command(subcommand)]
    pub(crate) verb: RemoteVerb,
}

impl RemoteArgs {
    /// Returns the options for the address of Restate.
    pub(crate) fn restate_mut(&mut self) -> &mut RestateArgs {
        match &mut self.verb {
            RemoteVerb::Status(run) | RemoteVerb::Cancel(run) => &mut run.restate,
            RemoteVerb::Follow(args) => &mut args.run.restate,
            RemoteVerb::Answer(args) => &mut args.restate,
        }
    }
}

/// The verbs of `gadgetry remote`.
#[derive(Debug, Subcommand)]
pub(crate) enum RemoteVerb {
    /// Prints the progress and open questions of a run.
    Status(RemoteRunArgs),
    /// Shows progress and waits for the answer.
    Follow(FollowArgs),
    /// Answers a question of a run.
    Answer(AnswerArgs),
    /// Cancels a run.
    Cancel(RemoteRunArgs),
}

/// Run to use.
#[derive(Debug, Args)]
pub(crate) struct RemoteRunArgs {
    /// Id of the run
    #[arg(value_name = "ID")]
    pub(crate) run: String,

    #[command(flatten)]
    pub(crate) restate: RestateArgs,
}

/// Options of `gadgetry remote follow`.
#[derive(Debug, Args)]
pub(crate) struct FollowArgs {
    #[command(flatten)]
    pub(crate) run: RemoteRunArgs,

    /// Write the run's events to stdout instead of the answer, without progress
    #[arg(long, value_name = "FORMAT")]
    pub(crate) events: Option<EventFormat>,

    /// Begin with event N
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) from_seq: u64,
}

/// Options of `gadgetry remote answer`.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Id of the run
    #[arg(value_name = "ID")]
    pub(crate) run: String,

    /// Question to answer, as `gadgetry remote status` prints it
    #[arg(value_name = "QUESTION")]
    pub(crate) question: QuestionRef,

    /// The answer
    #[arg(value_name = "TEXT", default_value = "")]
    pub(crate) text: String,

    /// Meaning of the answer
    #[arg(long, value_name = "DECISION", default_value = "text")]
    pub(crate) decision: AnswerKind,

    #[command(flatten)]
    pub(crate) restate: RestateArgs,
}

/// Meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerKind {
    /// TEXT is the answer, as at a terminal; where code decides, the result of the gadget.
    Text,
    /// Continue as if there had been no question.
    Proceed,
    /// Run the gadget.
    Execute,
    /// Do not run the gadget; TEXT is the reason.
    Deny,
    /// End the run once all work in progress is done.
    Stop,
}
