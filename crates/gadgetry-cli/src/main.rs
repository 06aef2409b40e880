//! The binary `gadgetry`: a command line for the library.
//!
//! A module names only modules above it, but for those that `tests/module_order.rs` lists.
//!
//! | module | what it does |
//! |---|---|
//! | `error`, `lines`, `pages`, `usage_totals`, `timeline`, `narrator` | errors with their exit codes; lines about a run: costs, times, what happens; what is approved, in pages |
//! | `fetch`, `refusal`, `interrupts`, `workspaces` | downloads; refusals of providers with a hint; signals; workspaces that outlive agents |
//! | `logging`, `log_file`, `run_agent` | diagnostics; the log of a run; runs until an interrupt |
//! | `printer` | the one way to stdout and stderr |
//! | `input`, `args` | prompts from stdin; the command line as typed |
//! | `data_dir`, `media`, `prompt`, `schemas`, `skills`, `connect` | the data folder; files, instructions and skills of a prompt; a model by its name |
//! | `catalog`, `blocks`, `options`, `config` | the table of models; how blocks look; options as data; configuration files |
//! | `invocation` | from the words of the command line to what is done: one parse, merged with the configuration |
//! | `mcp`, `reader` | servers of MCP; answers of the user |
//! | `approvals`, `sessions`, `sources` | approvals; stored runs; gadgets by where they come from |
//! | `build_agent`, `follow` | an agent from its options; a run while it is driven |
//! | `chat`, `commands` | the conversation; one file a verb |

mod approvals;
mod args;
mod blocks;
mod build_agent;
mod catalog;
#[cfg(feature = "chat")]
mod chat;
mod commands;
mod config;
mod connect;
mod data_dir;
mod error;
mod fetch;
mod follow;
mod input;
mod interrupts;
mod invocation;
mod lines;
mod log_file;
mod logging;
mod mcp;
mod media;
mod narrator;
mod options;
mod pages;
mod printer;
mod prompt;
mod reader;
mod refusal;
mod run_agent;
mod schemas;
mod sessions;
mod skills;
mod sources;
mod timeline;
mod usage_totals;
mod workspaces;

use std::process::ExitCode;

use printer::Printer;

fn main() -> ExitCode {
    gadgetry_builtins::dispatch();
    let mut printer = Printer::default();
    if let Err(error) = hide_from_other_processes() {
        return printer.close(Err(error));
    }
    let done = invocation::invocation(&mut printer)
        .and_then(|invocation| commands::run(invocation, &mut printer));
    printer.close(done)
}

/// Hides the environment and the memory of this process, where keys are, from the commands and servers that it starts as the same
/// user: `/proc/PID/environ` is then for root alone.
fn hide_from_other_processes() -> Result<(), error::Error> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|error| error::Error::machine(&error.into()))?;
    }
    Ok(())
}
