//! The verbs, one file each.

#[cfg(feature = "acp")]
mod acp;
mod agent;
mod batch;
mod complete;
mod completions;
mod config;
pub(crate) mod continued;
mod demo;
mod doctor;
mod eval;
#[cfg(feature = "otel")]
mod export;
mod gadget;
mod init;
#[cfg(feature = "inspect")]
mod inspect;
mod json_line;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod models;
mod parse;
#[cfg(feature = "restate")]
mod remote;
mod replay;
mod serve;
mod sessions;
mod skill;
#[cfg(feature = "restate")]
mod submit;
#[cfg(feature = "restate")]
mod worker;
mod write;

use gadgetry::proto::event::EVENTS_SCHEMA;

use crate::cli::Verb;
use crate::error::Error;
use crate::invocation::Invocation;
use crate::outcome::SCHEMA;
use crate::printer::Printer;
use crate::work::Work;
use crate::worktree::Worktree;

pub(crate) use completions::answer as complete_words;

/// Does what was typed, as far as it waits for nothing.
pub(crate) fn run(
    verb: Verb,
    mut invocation: Invocation,
    printer: &Printer,
) -> Result<Work<'_>, Error> {
    let Invocation { chosen, config, .. } = &invocation;
    match verb {
        Verb::Parse(args) if args.batch => batch::run(&args, printer)?,
        Verb::Parse(args) => parse::run(&args, printer)?,
        Verb::Write(args) => write::run(&args, printer)?,
        Verb::Agent(mut args) => {
            return Ok(Work::waits(async move {
                let shows = !args.is_for_program() && !args.print;
                let (source, settings) = (&mut args.options.source, &mut invocation.settings);
                let tree = Worktree::of(&args.tree, source, settings).await?;
                let tree = tree.filter(|_| shows);
                if let Some(tree) = &tree {
                    tree.announce(printer);
                }
                let done = Box::pin(agent::run(&args, &invocation, printer)).await;
                if let Some(tree) = &tree {
                    tree.sum_up(printer).await;
                }
                done
            }));
        }
        #[cfg(feature = "acp")]
        Verb::Acp(args) => {
            return Ok(Work::serves(async move {
                Box::pin(acp::run(*args, invocation, printer)).await
            }));
        }
        // The program holds the conversation without us.
        #[cfg(feature = "chat")]
        Verb::Chat(_) => {}
        Verb::Sessions(args) => {
            return Ok(Work::waits(
                async move { sessions::run(&args, printer).await },
            ));
        }
        Verb::Complete(args) => {
            return Ok(Work::waits(
                async move { complete::run(&args, printer).await },
            ));
        }
        Verb::Gadget(args) => {
            return Ok(Work::waits(async move {
                gadget::run(&args, &invocation.config, printer).await
            }));
        }
        Verb::Skill(typed) => skill::run(typed, config, printer)?,
        Verb::Models(args) => return models::run(args, printer),
        Verb::Doctor(args) => {
            return Ok(Work::waits(
                async move { doctor::run(&args, printer).await },
            ));
        }
        Verb::Eval(args) => {
            return Ok(Work::waits(async move {
                eval::run(&args, &invocation.config, printer).await
            }));
        }
        Verb::Serve(args) => {
            return Ok(Work::serves(async move {
                serve::run(&args, &invocation.config.models, printer).await
            }));
        }
        Verb::Config(typed) => config::run(chosen.clone(), typed, printer)?,
        Verb::Init(args) => init::run(&args, printer)?,
        Verb::Completions(typed) => completions::run(&typed, printer)?,
        Verb::Man(args) => man::run(&args, printer)?,
        #[cfg(feature = "mcp")]
        Verb::Mcp(typed) => return mcp::run(chosen.clone(), typed, printer),
        Verb::Replay(args) => replay::run(&args, printer)?,
        #[cfg(feature = "inspect")]
        Verb::Inspect(args) => {
            return Ok(Work::serves(
                async move { inspect::run(&args, printer).await },
            ));
        }
        #[cfg(feature = "otel")]
        Verb::Export(args) => {
            let content = invocation.otel_content;
            return Ok(Work::waits(
                async move { export::run(&args, content).await },
            ));
        }
        Verb::Events(args) => {
            let of_result = args.schema && args.result;
            printer.text(if of_result { SCHEMA } else { EVENTS_SCHEMA });
        }
        #[cfg(feature = "restate")]
        Verb::Worker(args) => {
            return Ok(Work::serves(async move {
                worker::run(&args, &invocation.config.declared, printer).await
            }));
        }
        #[cfg(feature = "restate")]
        Verb::Submit(args) => {
            return Ok(Work::waits(
                async move { submit::run(&args, printer).await },
            ));
        }
        #[cfg(feature = "restate")]
        Verb::Remote(args) => {
            return Ok(Work::waits(
                async move { remote::run(&args, printer).await },
            ));
        }
        Verb::Demo(_) => return Ok(Work::waits(demo::run(printer))),
    }
    Ok(Work::Done)
}
