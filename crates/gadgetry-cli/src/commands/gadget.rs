//! `gadgetry gadget`: built-in gadgets and those of a file, without a model.

mod info;
mod list;
mod named;
mod run;
mod validate;

use crate::cli::{GadgetArgs, GadgetVerb};
use crate::config::Config;
use crate::error::Error;
use crate::printer::Printer;

pub(crate) async fn run(
    args: &GadgetArgs,
    config: &Config,
    printer: &Printer,
) -> Result<(), Error> {
    let declared = &config.declared;
    match &args.verb {
        GadgetVerb::List(args) => list::run(args, declared, printer).await,
        GadgetVerb::Info(args) => info::run(args, declared, printer).await,
        GadgetVerb::Validate(args) => validate::run(args, declared, printer).await,
        GadgetVerb::Run(args) => run::run(args, declared, printer).await,
    }
}
