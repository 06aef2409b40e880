//! Options of `gadgetry agent`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use gadgetry::proto::call_form::CallForm;
use gadgetry::proto::dialect::Dialects;

use super::limits::RateArgs;
use super::numbers::at_least_one;
use super::sessions::{SessionArgs, WorktreeArgs};
use super::{ApprovalOptions, ConfigArgs, GadgetOptions, ModelArgs, ProjectOptions, SkillOptions};

/// Options of `gadgetry agent`.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// The prompt, preceded by stdin if that is a pipe or a file; `-` reads it from stdin. Put it after `--` if it
    /// starts with a hyphen
    #[arg(value_name = "PROMPT", required_unless_present_any = ["continues", "print"])]
    pub(crate) prompt: Option<String>,

    /// The prompt, if the first word names a session; `-` after a prompt waits for text on stdin
    #[arg(value_name = "PROMPT", hide = true)]
    pub(crate) second: Option<String>,

    /// Image for the model: a file or an http(s) URL; may be repeated
    #[arg(long = "image", value_name = "FILE|URL")]
    pub(crate) images: Vec<String>,

    /// Print only the answer: no progress, and no questions to the user during the run
    ///
    /// Stdin is read to its end if it is a pipe or a file. Without PROMPT, it is the prompt.
    #[arg(long, short)]
    pub(crate) print: bool,

    /// Output format: `text` for the answer, `json` for one object about the run, `stream-json` for its events and
    /// then that object
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with = "events"
    )]
    pub(crate) output_format: OutputFormat,

    /// Write the run's events to stdout instead of the answer, without progress
    #[arg(long, value_name = "FORMAT")]
    pub(crate) events: Option<EventFormat>,

    /// Cancel the run and stop its gadgets after this time, such as 90s, 10m or 1h
    #[arg(long, value_name = "DURATION", value_parser = super::server::duration)]
    pub(crate) timeout: Option<Duration>,

    /// Save the log of the run to FILE, for `gadgetry replay`
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,

    #[command(flatten)]
    pub(crate) tree: WorktreeArgs,

    #[command(flatten)]
    pub(crate) options: AgentOptions,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

impl AgentArgs {
    /// Returns whether stdout is for a program, so that there is no progress.
    pub(crate) fn is_for_program(&self) -> bool {
        self.writes_events() || self.writes_result()
    }

    /// Returns whether the events of the run are written.
    pub(crate) fn writes_events(&self) -> bool {
        self.events.is_some() || self.output_format == OutputFormat::StreamJson
    }

    /// Returns whether the object about the run is written.
    pub(crate) fn writes_result(&self) -> bool {
        self.output_format != OutputFormat::Text
    }
}

/// Options from which an agent is built.
#[derive(Debug, Args)]
pub(crate) struct AgentOptions {
    #[command(flatten)]
    pub(crate) source: GadgetOptions,

    #[command(flatten)]
    pub(crate) skills: SkillOptions,

    #[command(flatten)]
    pub(crate) project: ProjectOptions,

    #[command(flatten)]
    pub(crate) approvals: ApprovalOptions,

    /// Form of calls: blocks of text, native tool calls, or both
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) tools: ToolForm,

    /// Also execute calls in forms other than blocks: dialect names separated by commas, or `all`
    ///
    /// The dialects are hermes, qwen-coder, mistral, llama, anthropic, fenced-json, xml, python, harmony, glm, kimi,
    /// deepseek, gemma and lfm2; a JSON object defines one. Without this, a call in such
    /// a form is reported to the model, which then writes a block.
    #[arg(long, value_name = "LIST")]
    pub(crate) dialects: Option<Dialects>,

    /// Form of calls in the model's text: `block` or `json` [default: json if the server reports a small model,
    /// otherwise block]
    #[arg(long, value_name = "FORM")]
    pub(crate) form: Option<CallForm>,

    /// Worked turns before the conversation, at most 2: small models follow examples better than instructions
    /// [default: 2 if the server reports a small model, otherwise 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(super::numbers::WORKED_TURNS))]
    pub(crate) examples: Option<u8>,

    /// Constrain replies to valid calls with a grammar: `auto` if the model's server supports it, or `off`
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) constrain: WhenConstrained,

    /// Maximum number of model replies; see also --budget and --timeout [default: no limit]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) max_iterations: Option<NonZeroUsize>,

    /// Stop sending requests once this much (USD) is spent; work in progress completes
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) budget: Option<f64>,

    /// Run at most N gadgets at the same time [default: as many as the limit on open files allows, at most 1000]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) max_concurrent: Option<NonZeroUsize>,

    /// Run at most N gadgets per reply; the rest are reported as skipped
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) max_gadgets_per_response: Option<NonZeroUsize>,

    /// Maximum size of a result that the model reads, as a percentage of its context window; `off` removes the limit
    ///
    /// A longer result is stored, and the model reads it piece by piece with the gadget `GadgetOutputViewer`.
    #[arg(long, value_name = "PERCENT", default_value = "15", value_parser = output_limit)]
    pub(crate) output_limit: OutputLimit,

    /// List most gadgets by name only, so that the model looks them up with the gadget `FindGadgets`
    ///
    /// `auto` does so with more than 30 gadgets, or if their descriptions fill more than 40 % of a known context
    /// window. Built-in gadgets are still described if there is room.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) gadget_search: SearchGadgets,

    /// Do not stop replies early that contain a call that cannot become valid, or that repeat a line endlessly
    #[arg(long)]
    pub(crate) no_stop_early: bool,

    /// Policy for a block without an end marker at the end of a reply: `confirm` has the model write it again,
    /// `execute` runs it
    #[arg(long, value_name = "POLICY", default_value = "confirm")]
    pub(crate) unterminated: OnUnterminated,

    /// Treat <NAME>…</NAME> in the model's text as a custom block; may be repeated
    #[arg(long = "tag", value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) tags: Vec<String>,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) rates: RateArgs,
}

/// Options for the form of gadget blocks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Format of gadget blocks")]
pub(crate) struct FormatArgs {
    /// Markers of gadget blocks: `random` ones are new in each run, so no text that the model quotes is executed;
    /// `plain` ones are shorter; `auto` means random, or plain for a script
    #[arg(long, value_name = "KIND", default_value = "auto", conflicts_with_all = ["start", "end", "arg"])]
    pub(crate) markers: MarkerKind,

    /// Start of a gadget block [plain: `!!!GADGET_START:`]
    #[arg(long, value_name = "MARKER", allow_hyphen_values = true)]
    pub(crate) start: Option<String>,

    /// End of a gadget block [plain: `!!!GADGET_END`]
    #[arg(long, value_name = "MARKER", allow_hyphen_values = true)]
    pub(crate) end: Option<String>,

    /// Start of an argument [plain: `!!!ARG:`]
    #[arg(long, value_name = "MARKER", allow_hyphen_values = true)]
    pub(crate) arg: Option<String>,

    /// Recognise markers only at the start of a line; a backslash before one makes it text
    #[arg(long)]
    pub(crate) line_start: bool,
}

impl FormatArgs {
    /// Returns whether the user has given a marker.
    pub(crate) fn has_own(&self) -> bool {
        self.start.is_some() || self.end.is_some() || self.arg.is_some()
    }
}

/// Kinds of markers that a run can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MarkerKind {
    /// Random, or plain for a script.
    Auto,
    /// Different in each run.
    Random,
    /// Markers of the specification.
    Plain,
}

/// Form of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolForm {
    /// As blocks of text, which any model can write.
    Text,
    /// As native tool calls of the provider; blocks are ordinary text.
    Native,
    /// As blocks of text or as native tool calls.
    Both,
}

/// When replies are constrained by a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenConstrained {
    /// Only where the server of the model is recognised and takes grammars.
    Auto,
    /// No reply is constrained.
    Off,
}

/// Handling of a block that only the end of the reply completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnUnterminated {
    /// The model writes it again.
    Confirm,
    /// Executes the block if its parameters are valid.
    Execute,
}

/// When the model looks gadgets up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchGadgets {
    /// By their number, and the context window.
    Auto,
    /// The model always looks gadgets up.
    Always,
    /// The prompt describes every gadget.
    Never,
}

/// Limit on the part of a result that the model reads at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OutputLimit {
    /// This part of its context window.
    Percent(f64),
    /// The model reads the whole result.
    Off,
}

pub(crate) fn output_limit(text: &str) -> Result<OutputLimit, &'static str> {
    if text == "off" {
        return Ok(OutputLimit::Off);
    }
    let number: Option<f64> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    number
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .map(OutputLimit::Percent)
        .ok_or("expected a percentage above 0 and up to 100, or off")
}

/// Output of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer.
    Text,
    /// One object about the run.
    Json,
    /// Its events, and then that object.
    StreamJson,
}

/// Output format of events.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EventFormat {
    /// One JSON object a line.
    Jsonl,
}

pub(crate) fn dollars(text: &str) -> Result<f64, &'static str> {
    let number: Option<f64> = text.strip_prefix('$').unwrap_or(text).parse().ok();
    number
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or("expected an amount of US dollars above 0, such as 0.50")
}
