//! Options of reading and writing, typed on the command line or written on a line of a batch.

use std::collections::BTreeMap;

use gadgetry::proto::block::{Anchoring, MarkerError, Markers};
use gadgetry::proto::limits::Limits;
use gadgetry::proto::reply::Format;
use serde::Deserialize;
use serde_json::Value;

use crate::cli::{BlockArgs, FormatArgs, MarkerKind, ParseArgs};
use crate::connect;
use crate::error::Error;
use crate::schemas;

/// Syntax of gadget blocks, for the reader and the writer alike.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    pub(crate) markers: Markers,
    pub(crate) anchoring: Anchoring,
    pub(crate) limits: Limits,
}

impl Blocks {
    fn new(start: &str, end: &str, arg: &str, line_start: bool) -> Result<Self, MarkerError> {
        Ok(Self {
            markers: Markers::new(start, end, arg)?,
            anchoring: if line_start {
                Anchoring::LineStart
            } else {
                Anchoring::Anywhere
            },
            limits: Limits::default(),
        })
    }

    /// A format of replies with such blocks, and with these tags.
    pub(crate) fn format(self, tags: Vec<String>) -> Format {
        Format {
            markers: Some(self.markers),
            anchoring: self.anchoring,
            tags,
            limits: self.limits,
            ..Format::default()
        }
    }
}

impl Blocks {
    /// Returns the syntax of blocks for a run with this model.
    pub(crate) fn of_run(args: &FormatArgs, model: &str) -> Result<Self, Error> {
        let usual = match args.markers {
            MarkerKind::Auto if args.has_own() => Markers::default(),
            MarkerKind::Auto => usual_markers(model),
            MarkerKind::Random => Markers::nonce(connect::random()),
            MarkerKind::Plain => Markers::default(),
        };
        Self::new(
            args.start.as_deref().unwrap_or(usual.start()),
            args.end.as_deref().unwrap_or(usual.end()),
            args.arg.as_deref().unwrap_or(usual.arg()),
            args.line_start,
        )
        .map_err(Error::input)
    }
}

/// The markers of a run with this model, unless the user chooses others: random ones, or plain ones for a script, which was
/// written before the run.
pub(crate) fn usual_markers(model: &str) -> Markers {
    if connect::script(model).is_some() {
        Markers::default()
    } else {
        Markers::nonce(connect::random())
    }
}

impl TryFrom<&BlockArgs> for Blocks {
    type Error = Error;

    fn try_from(args: &BlockArgs) -> Result<Self, Error> {
        Self::new(&args.start, &args.end, &args.arg, args.line_start).map_err(Error::input)
    }
}

/// Options for reading a text: the `options` of a line of a batch. Absent ones are those of the command line.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Options {
    start: Option<String>,
    end: Option<String>,
    arg: Option<String>,
    line_start: Option<bool>,
    tags: Option<Vec<String>>,
    partials: Option<bool>,
    /// Schema of every gadget.
    schema: Option<Value>,
    /// Schemas of single gadgets, by name.
    schemas: Option<BTreeMap<String, Value>>,
}

impl Options {
    /// Fills absent options from `defaults`.
    pub(crate) fn or(self, defaults: &Self) -> Self {
        Self {
            start: self.start.or_else(|| defaults.start.clone()),
            end: self.end.or_else(|| defaults.end.clone()),
            arg: self.arg.or_else(|| defaults.arg.clone()),
            line_start: self.line_start.or(defaults.line_start),
            tags: self.tags.or_else(|| defaults.tags.clone()),
            partials: self.partials.or(defaults.partials),
            schema: self.schema.or_else(|| defaults.schema.clone()),
            schemas: self.schemas.or_else(|| defaults.schemas.clone()),
        }
    }

    /// Returns the syntax of blocks.
    pub(crate) fn blocks(&self) -> Result<Blocks, MarkerError> {
        let usual = Markers::default();
        Blocks::new(
            self.start.as_deref().unwrap_or(usual.start()),
            self.end.as_deref().unwrap_or(usual.end()),
            self.arg.as_deref().unwrap_or(usual.arg()),
            self.line_start.unwrap_or_default(),
        )
    }

    /// The tags that are taken out.
    pub(crate) fn tags(&self) -> &[String] {
        self.tags.as_deref().unwrap_or_default()
    }

    /// Returns whether partial arguments are reported.
    pub(crate) fn partials(&self) -> bool {
        self.partials.unwrap_or(true)
    }

    /// The schema of every gadget, and those of single ones.
    pub(crate) fn schemas(&self) -> (Option<&Value>, Option<&BTreeMap<String, Value>>) {
        (self.schema.as_ref(), self.schemas.as_ref())
    }
}

impl TryFrom<&ParseArgs> for Options {
    type Error = Error;

    fn try_from(args: &ParseArgs) -> Result<Self, Error> {
        Ok(Self {
            start: Some(args.blocks.start.clone()),
            end: Some(args.blocks.end.clone()),
            arg: Some(args.blocks.arg.clone()),
            line_start: Some(args.blocks.line_start),
            tags: Some(args.tags.clone()),
            partials: Some(!args.no_partials),
            schema: args.schema.as_deref().map(schemas::load).transpose()?,
            schemas: None,
        })
    }
}
