//! The command line as typed. The commands interpret it.

#[cfg(feature = "acp")]
mod acp;
mod agent;
mod approval;
#[cfg(feature = "chat")]
mod chat;
mod complete;
mod config;
mod doctor;
#[cfg(all(test, feature = "acp", feature = "chat", feature = "restate"))]
mod documented;
mod eval;
mod gadget;
mod help;
#[cfg(feature = "inspect")]
mod inspect;
mod limits;
#[cfg(feature = "mcp")]
mod mcp;
mod mcp_server;
mod model;
mod models;
mod numbers;
mod project;
#[cfg(feature = "restate")]
mod restate;
mod serve;
mod server;
mod session_name;
mod sessions;
mod skill;
mod source;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgAction, Args, Command, CommandFactory, Parser, Subcommand};

#[cfg(feature = "acp")]
pub(crate) use acp::AcpArgs;
pub(crate) use agent::{
    AgentArgs, AgentOptions, FormatArgs, MarkerKind, OnUnterminated, OutputLimit, SearchGadgets,
    ToolForm, WhenConstrained, dollars, output_limit,
};
pub(crate) use approval::ApprovalOptions;
#[cfg(feature = "chat")]
pub(crate) use chat::{ChatArgs, Theme};
pub(crate) use complete::CompleteArgs;
pub(crate) use config::{
    ApprovalsArgs, CompletionsArgs, ConfigArgs, ConfigVerbArgs, ConfigVerbs, InitArgs, ManArgs,
    TrustArgs,
};
pub(crate) use doctor::DoctorArgs;
pub(crate) use eval::{Arm, Class, EvalArgs, EvalMarkers};
pub(crate) use gadget::{GadgetArgs, GadgetFileArgs, GadgetInfoArgs, GadgetRunArgs, GadgetVerb};
pub(crate) use help::all as help_of_all;
#[cfg(feature = "inspect")]
pub(crate) use inspect::InspectArgs;
pub(crate) use limits::{RateArgs, RetryArgs, margin};
#[cfg(feature = "mcp")]
pub(crate) use mcp::{
    ImportSource, McpArgs, McpImportArgs, McpListArgs, McpLoginArgs, McpServeArgs, McpTestArgs,
    McpTrustArgs, McpVerb,
};
pub(crate) use mcp_server::{TypedServer, is_url, name_and_target};
pub(crate) use model::{DataArgs, ModelArgs, at_least_one_token, tags, temperature};
pub(crate) use models::{ModelsArgs, ModelsVerb, UpdateArgs};
pub(crate) use numbers::{WORKED_TURNS, at_least_one};
pub(crate) use project::ProjectOptions;
#[cfg(feature = "restate")]
pub(crate) use restate::{AnswerKind, RemoteArgs, RemoteVerb, RestateArgs, SubmitArgs, WorkerArgs};
pub(crate) use serve::{ServeArgs, UpstreamApi};
pub(crate) use server::{ServerArgs, duration};
pub(crate) use session_name::SessionName;
pub(crate) use sessions::{
    ExportArgs, ListArgs, RemoveArgs, SessionAnswerArgs, SessionArgs, SessionsArgs, SessionsVerb,
    ShowArgs, WorktreeArgs,
};
pub(crate) use skill::{SkillArgs, SkillInfoArgs, SkillListArgs, SkillOptions, SkillVerb};
pub(crate) use source::GadgetOptions;

/// The definitions of all verbs and options.
pub(crate) fn command() -> Command {
    // Elsewhere the model may be configured.
    const OF_SERVER: [&str; 4] = ["base_url", "api_key_env", "headers", "extra_body"];
    let needs_model = |verb: Command| {
        let options = OF_SERVER.into_iter();
        options.fold(verb, |verb, id| verb.mut_arg(id, |it| it.requires("model")))
    };
    let command = Gadgetry::command().mut_subcommand("doctor", needs_model);
    help::grouped(command.mut_subcommand("eval", needs_model))
}

/// Tool calling for any text model.
///
/// A model calls a gadget by writing a marked block of text. gadgetry reads and writes such blocks, and runs the loop
/// between a model and its gadgets.
#[derive(Debug, Parser)]
#[command(name = "gadgetry", version, long_version = VERSION, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Gadgetry {
    /// The verb. Without one, this is `chat` on a terminal, after three questions if no model is known, and otherwise this help.
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,

    /// Log to stderr: -v results and failures, -vv parameters and results in full, -vvv every piece of text
    ///
    /// `GADGETRY_LOG=LEVEL` does the same: error, warn, info, debug or trace.
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 900)]
    pub(crate) verbose: u8,

    /// Include messages, parameters and results in traces
    ///
    /// Traces of runs are sent to the OpenTelemetry collector at `OTEL_EXPORTER_OTLP_ENDPOINT`. Without this option,
    /// they contain only names, times, tokens and errors.
    #[cfg(feature = "otel")]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        hide_long_help = true,
        display_order = 901
    )]
    pub(crate) otel_content: bool,

    /// Show the runs of `agent`, `chat`, `acp` or `worker`, or the requests to `serve`, in a browser as they happen
    ///
    /// Serves a page on this machine until the program ends, and prints its address to stderr. `gadgetry inspect` shows sessions later.
    #[cfg(feature = "inspect")]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        hide_long_help = true,
        display_order = 902
    )]
    pub(crate) inspect: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// The version, with what a report of a bug needs to name.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("GADGETRY_COMMIT"),
    "\ntarget: ",
    env!("GADGETRY_TARGET"),
    "\nfeatures: ",
    env!("GADGETRY_FEATURES"),
);

const EXIT_CODES: &str = "\
Exit codes: 0 success (a closed stdout pipe is not an error), 1 failed while running, \
2 invalid input: nothing was done, and one line on stderr says why, \
3 an agent ended, but calls were denied because no user was there.";

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Parses model text into JSON events, one per line.
    ///
    /// Writes each event as soon as its text arrives. Bytes that are not UTF-8 become U+FFFD.
    Parse(ParseArgs),
    /// Formats gadget calls (JSON Lines) as blocks of text.
    ///
    /// Each line is {"gadgetName", "invocationId", "dependencies": [ID, …], "parameters": {…}, "schema": {…}}; only name
    /// and parameters are required. `gadgetry parse` with the same markers reads the same call from the block. Stops at
    /// the first line that cannot be written; the blocks of earlier lines are written.
    Write(WriteArgs),
    /// Sends one request to a model and streams the answer to stdout.
    ///
    /// `gadgetry complete PROMPT -` sends the text on stdin before the prompt; without the `-`, stdin is not read. Exit
    /// code 1: the model call failed, or its answer was cut off.
    Complete(Box<CompleteArgs>),
    /// Runs a model and its gadgets until the model is done.
    ///
    /// The answer goes to stdout, progress to stderr. Ctrl-C cancels the run and ends its gadgets; press it again to
    /// exit immediately. Exit code 1: the model call failed, its last reply was cut off, or the run was stopped; 3:
    /// calls were denied because no user was there to approve them.
    ///
    /// Every run is a session that outlives the program: `gadgetry agent --continue [NAME] [PROMPT]` resumes it, or
    /// continues its conversation, with the same model, gadgets and options.
    Agent(Box<AgentArgs>),
    /// Chats with a model and its gadgets in the terminal.
    ///
    /// Text stays in the terminal's own scrollback. A message sent during a run is added to it. Ctrl-C cancels the
    /// running gadgets, then the reply, then exits. `/help` lists commands and keys.
    ///
    /// Every conversation is a session: `gadgetry chat --continue [NAME]` continues it. Without a terminal, each line of
    /// stdin is a message.
    #[cfg(feature = "chat")]
    Chat(Box<ChatArgs>),
    /// Serves an agent to an editor over the Agent Client Protocol on stdin and stdout.
    ///
    /// The editor starts the program and shows replies, calls and their changes; the user approves calls there.
    /// Sessions are shared with `agent` and `chat`. Ctrl-C or the end of stdin cancels the runs and ends their
    /// gadgets.
    #[cfg(feature = "acp")]
    Acp(Box<AcpArgs>),
    /// Lists, shows, resumes, exports and removes sessions, the stored runs of `gadgetry agent`.
    Sessions(SessionsArgs),
    /// Lists, describes, checks and runs gadgets, built in or from a file, without a model.
    Gadget(GadgetArgs),
    /// Lists and shows skills: instructions for a kind of task, which a model loads when it needs them.
    Skill(SkillArgs),
    /// Lists the models that you can use now, or the whole catalogue, with context windows and prices.
    ///
    /// These are the models of providers whose keys are set, and of servers on this machine that respond. TEXT
    /// filters them.
    Models(ModelsArgs),
    /// Checks keys and local servers, and tests in which form a model calls tools.
    ///
    /// Shows which keys are set, never their values, and which local servers respond. With MODEL, sends six questions
    /// in each form of calls until the model is good at one. Exit code 1: no key and no server was found, or the
    /// model is good at none.
    Doctor(DoctorArgs),
    /// Measures how well a model calls tools in each form, and can save the best settings.
    ///
    /// Sends questions with tools, one at a time and at temperature 0, and compares the calls with the correct ones.
    /// Nothing is executed. --save writes the best settings to the user's configuration, where agent, chat and serve
    /// find them. Ctrl-C prints the measurements so far. Exit code 1: nothing could be measured, or the measurement
    /// was stopped.
    Eval(EvalArgs),
    /// Serves native tool calls to clients of OpenAI's and Anthropic's APIs, from any text model.
    ///
    /// Writes a request's tools into the prompt, and sends the model's blocks as tool calls of the client's API: Chat
    /// Completions, Responses or Messages. Never executes anything. After Ctrl-C or SIGTERM, requests in flight
    /// complete first.
    Serve(Box<ServeArgs>),
    /// Lists, tests, trusts and imports MCP servers; serves gadgets to MCP clients.
    #[cfg(feature = "mcp")]
    Mcp(McpArgs),
    /// Shows the configuration: every value and its source.
    Config(ConfigVerbArgs),
    /// Writes a first configuration file that explains every key.
    Init(InitArgs),
    /// Replays a saved run without a model or gadgets.
    ///
    /// Writes the same events, one JSON object per line.
    Replay(ReplayArgs),
    /// Shows runs in a browser, or writes them as one HTML file or a trace.
    ///
    /// Serves a page on this machine and prints its address, which contains a secret. The page shows the timeline,
    /// dependencies, messages, requests and costs. It loads nothing from elsewhere, and changes nothing.
    #[cfg(feature = "inspect")]
    Inspect(InspectArgs),
    /// Sends the spans of a saved run to an OpenTelemetry collector, without a model or gadgets.
    ///
    /// `OTEL_EXPORTER_OTLP_ENDPOINT` names the collector. Exit code 1: the collector did not accept the spans.
    #[cfg(feature = "otel")]
    Export(SpansArgs),
    /// Describes the events of a run, the lines of `agent --events jsonl` and `replay`.
    Events(EventsArgs),
    /// Serves runs of an agent to a Restate server, which makes them durable and distributes them among workers.
    ///
    /// Submit runs with `gadgetry submit`. If a worker is killed, another one continues its runs. Ctrl-C ends the
    /// worker.
    #[cfg(feature = "restate")]
    Worker(Box<WorkerArgs>),
    /// Submits a run to the workers of a Restate server, and prints its id.
    ///
    /// The run does not depend on this command, even with --follow, which prints the answer instead.
    #[cfg(feature = "restate")]
    Submit(SubmitArgs),
    /// Shows, follows, answers and cancels submitted runs.
    #[cfg(feature = "restate")]
    Remote(RemoteArgs),
    /// Runs a small task with a scripted model: no key, no network.
    Demo(DemoArgs),
    /// Prints the completions for a shell.
    Completions(CompletionsArgs),
    /// Prints the manual page, or writes the pages of all verbs to a folder.
    Man(ManArgs),
}

impl Verb {
    /// Returns whether the verb runs agents in this process, or passes requests on to models.
    #[cfg(feature = "inspect")]
    pub(crate) fn has_runs(&self) -> bool {
        if matches!(self, Self::Agent(_) | Self::Serve(_)) {
            return true;
        }
        #[cfg(feature = "acp")]
        if matches!(self, Self::Acp(_)) {
            return true;
        }
        #[cfg(feature = "chat")]
        if matches!(self, Self::Chat(_)) {
            return true;
        }
        #[cfg(feature = "restate")]
        if matches!(self, Self::Worker(_)) {
            return true;
        }
        false
    }

    /// The data directory of a verb that has no other options of the configuration.
    pub(crate) fn data_mut(&mut self) -> Option<&mut DataArgs> {
        if let Self::Sessions(args) = self {
            args.data_mut()
        } else if let Self::Models(args) = self {
            Some(match &mut args.verb {
                Some(ModelsVerb::Update(args)) => &mut args.data,
                None => &mut args.data,
            })
        } else if let Self::Doctor(args) = self {
            Some(&mut args.data)
        } else if let Self::Eval(args) = self {
            Some(&mut args.data)
        } else {
            #[cfg(feature = "inspect")]
            if let Self::Inspect(args) = self {
                return Some(&mut args.data);
            }
            None
        }
    }
}

/// Options of `gadgetry parse`.
#[derive(Debug, Args)]
#[command(after_long_help = PARSE_EVENTS)]
pub(crate) struct ParseArgs {
    /// The text; `-` or no FILE reads stdin
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) file: OsString,

    /// Feed the text in chunks of N bytes, split at character boundaries [default: as it arrives]
    #[arg(long, value_name = "N", value_parser = at_least_one, conflicts_with = "batch")]
    pub(crate) chunk_size: Option<NonZeroUsize>,

    /// Treat <NAME>…</NAME> in the text as a custom block; may be repeated
    #[arg(long = "tag", value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) tags: Vec<String>,

    /// Interpret the parameters of every gadget with the JSON Schema in FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,

    /// Omit `gadget_args_partial` events
    #[arg(long)]
    pub(crate) no_partials: bool,

    /// Parse many texts: JSON Lines in, JSON Lines out
    #[arg(
        long,
        long_help = "Parse many texts. Each input line is {\"id\", \"chunks\": [TEXT, …], \"options\": {…}}, each output \
            line {\"id\", \"events\": […]}, in the same order. The options are start, end, arg, lineStart, tags, \
            partials, schema (for every gadget) and schemas (by gadget name); they default to those of the command \
            line. An invalid line yields {\"id\", \"error\"}, and exit code 2 at the end"
    )]
    pub(crate) batch: bool,

    #[command(flatten)]
    pub(crate) blocks: BlockArgs,
}

const PARSE_EVENTS: &str = "\
Events, one per line:
  {\"type\":\"text\",\"text\"}
  {\"type\":\"gadget_call_start\",\"gadgetName\",\"invocationId\",\"dependencies\"}
  {\"type\":\"gadget_args_partial\",\"invocationId\",\"gadgetName\",\"fieldPath\",\"delta\",
   \"isFieldComplete\"}
  {\"type\":\"gadget_call\",\"gadgetName\",\"invocationId\",\"dependencies\",\"parametersRaw\",
   \"parameters\" or \"parseError\",\"terminatedBy\":\"endMarker\", \"nextStart\" or \"endOfStream\"}
  {\"type\":\"custom_block_start\",\"blockId\",\"tag\",\"attrs\"}
  {\"type\":\"custom_block_delta\",\"blockId\",\"tag\",\"delta\"}
  {\"type\":\"custom_block_end\",\"blockId\",\"tag\",
   \"reason\":\"closed\", \"selfClosing\", \"endOfStream\" or \"limit\"}
  {\"type\":\"custom_block\",\"blockId\",\"tag\",\"content\",\"attrs\",\"selfClosing\" only if true}
  {\"type\":\"diagnostic\",\"code\",\"message\",\"span\":{\"start\",\"end\"}}";

/// Options of `gadgetry write`.
#[derive(Debug, Args)]
pub(crate) struct WriteArgs {
    /// The calls; `-` or no FILE reads stdin
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) file: OsString,

    /// Write one {"text"} object per line instead of text
    #[arg(long)]
    pub(crate) jsonl: bool,

    #[command(flatten)]
    pub(crate) blocks: BlockArgs,
}

/// Options for the syntax of gadget blocks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Format of gadget blocks")]
pub(crate) struct BlockArgs {
    /// Start of a gadget block
    #[arg(
        long,
        value_name = "MARKER",
        default_value = "!!!GADGET_START:",
        allow_hyphen_values = true
    )]
    pub(crate) start: String,

    /// End of a gadget block
    #[arg(
        long,
        value_name = "MARKER",
        default_value = "!!!GADGET_END",
        allow_hyphen_values = true
    )]
    pub(crate) end: String,

    /// Start of an argument
    #[arg(
        long,
        value_name = "MARKER",
        default_value = "!!!ARG:",
        allow_hyphen_values = true
    )]
    pub(crate) arg: String,

    /// Recognise markers only at the start of a line; a backslash before one makes it text
    #[arg(long)]
    pub(crate) line_start: bool,
}

/// Options of `gadgetry replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The log that `gadgetry agent --save FILE` wrote
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Options of `gadgetry export`.
#[cfg(feature = "otel")]
#[derive(Debug, Args)]
pub(crate) struct SpansArgs {
    /// Send them as OTLP over HTTP
    #[arg(long, required = true)]
    pub(crate) otlp: bool,

    /// The log that `gadgetry agent --save FILE` or `gadgetry sessions export` wrote
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Options of `gadgetry events`.
#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Print the JSON Schema (draft 2020-12) of an event
    #[arg(long, required = true)]
    pub(crate) schema: bool,

    /// Print the JSON Schema of the object of `agent --output-format json` instead
    #[arg(long)]
    pub(crate) result: bool,
}

/// Options of `gadgetry demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        command().debug_assert();
    }
}
