//! `gadgetry gadget`: built-in gadgets and those of a file, without a model.

mod info;
mod list;
mod run;
mod validate;

use gadgetry::Toolbox;
use gadgetry::proto::schema::RegisteredGadget;

use crate::args::{GadgetArgs, GadgetVerb};
use crate::config::Config;
use crate::error::Error;
use crate::printer::Printer;

pub(crate) async fn run(
    args: &GadgetArgs,
    config: &Config,
    printer: &mut Printer,
) -> Result<(), Error> {
    let declared = &config.declared;
    match &args.verb {
        GadgetVerb::List(args) => list::run(args, declared, printer).await,
        GadgetVerb::Info(args) => info::run(args, declared, printer).await,
        GadgetVerb::Validate(args) => validate::run(args, declared, printer).await,
        GadgetVerb::Run(args) => run::run(args, declared, printer).await,
    }
}

/// The gadget of this name.
fn named<'t>(toolbox: &'t Toolbox, name: &str) -> Result<&'t RegisteredGadget, Error> {
    let registry = toolbox.registry();
    let gadget = registry.get(name);
    gadget.ok_or_else(|| Error::input(own_words(&registry.unknown_gadget(name))))
}

/// An error for a model, without the word that every error on stderr begins with.
fn own_words(error: &str) -> &str {
    error.strip_prefix("Error: ").unwrap_or(error)
}
