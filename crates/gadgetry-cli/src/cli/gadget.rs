//! Options of `gadgetry gadget`.

use clap::{Args, Subcommand};

use super::{ConfigArgs, GadgetOptions};

/// Options of `gadgetry gadget`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct GadgetArgs {
    /// The verb.
    #[command(subcommand)]
    pub(crate) verb: GadgetVerb,
}

impl GadgetArgs {
    /// Returns the options for the source of the gadgets.
    pub(crate) fn source_mut(&mut self) -> &mut GadgetOptions {
        match &mut self.verb {
            GadgetVerb::List(file) | GadgetVerb::Validate(file) => &mut file.source,
            GadgetVerb::Info(args) => &mut args.gadget.file.source,
            GadgetVerb::Run(args) => &mut args.gadget.file.source,
        }
    }
}

/// Verbs of `gadgetry gadget`.
#[derive(Debug, Subcommand)]
pub(crate) enum GadgetVerb {
    /// Lists the names and descriptions of the built-in gadgets, or of those in a file
    List(GadgetFileArgs),
    /// Prints the prompt text for a gadget: description, parameters and examples
    Info(GadgetInfoArgs),
    /// Checks gadgets: schemas, examples, programs
    ///
    /// Prints one line for each gadget. Exits with code 2 and the position in the file if something is wrong.
    Validate(GadgetFileArgs),
    /// Runs one gadget as an agent would, without a model and without approval
    ///
    /// Without --params, reads the parameters from stdin, or prompts for each one at a terminal. The result goes to
    /// stdout. Exit code 1: the parameters are invalid, the gadget failed, or it was cancelled.
    Run(GadgetRunArgs),
}

/// Gadgets to use.
#[derive(Debug, Args)]
pub(crate) struct GadgetFileArgs {
    #[command(flatten)]
    pub(crate) source: GadgetOptions,

    #[command(flatten)]
    pub(crate) chosen: ConfigArgs,
}

/// One of the gadgets.
#[derive(Debug, Args)]
pub(crate) struct OneGadgetArgs {
    /// Name of the gadget; case does not matter
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) file: GadgetFileArgs,
}

/// Options of `gadgetry gadget info`.
#[derive(Debug, Args)]
pub(crate) struct GadgetInfoArgs {
    #[command(flatten)]
    pub(crate) gadget: OneGadgetArgs,

    /// Print the JSON Schema of the parameters instead, on one line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `gadgetry gadget run`.
#[derive(Debug, Args)]
pub(crate) struct GadgetRunArgs {
    #[command(flatten)]
    pub(crate) gadget: OneGadgetArgs,

    /// The parameters, a JSON object; `-` reads stdin [default: stdin, or the answers at a terminal]
    #[arg(long, value_name = "JSON")]
    pub(crate) params: Option<String>,

    /// Print one JSON object: parameters, result or error, duration, cost, media, and whether the gadget ends a run
    #[arg(long)]
    pub(crate) json: bool,
}
