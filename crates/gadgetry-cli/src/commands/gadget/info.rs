//! `gadgetry gadget info`: what a model reads about a gadget.

use gadgetry::proto::block::{Anchoring, Markers};
use gadgetry::proto::call_form::CallForm;
use gadgetry::proto::prompt::{CallStyle, PromptTemplate};
use gadgetry::proto::schema::Registry;

use super::named::{named, toolbox};
use crate::cli::GadgetInfoArgs;
use crate::config::Declared;
use crate::error::Error;
use crate::printer::Printer;

pub(crate) async fn run(
    args: &GadgetInfoArgs,
    declared: &Declared,
    printer: &Printer,
) -> Result<(), Error> {
    let (source, name) = (&args.gadget.file.source, &args.gadget.name);
    // Its servers are connected until the end.
    let (toolbox, _servers) = toolbox(source, name, declared, printer).await?;
    let gadget = named(&toolbox, &args.gadget.name)?;
    if args.json {
        return printer.json(&gadget.spec().parameters);
    }
    let registry = Registry::new([gadget.spec().clone()]).map_err(Error::input)?;
    let style = CallStyle {
        form: CallForm::Block,
        markers: &Markers::default(),
        anchoring: Anchoring::Anywhere,
    };
    let section = only_the_catalog().render_registry(&registry, style);
    printer.text(&section.unwrap_or_default());
    printer.text("\n");
    Ok(())
}

/// The part of the instructions that is about the gadgets.
fn only_the_catalog() -> PromptTemplate {
    let nothing = || Some(String::new());
    PromptTemplate {
        intro: nothing(),
        catalog: Some("{gadgets}".to_owned()),
        format: nothing(),
        rules: nothing(),
        escape: nothing(),
    }
}
