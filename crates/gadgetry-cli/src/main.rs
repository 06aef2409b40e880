//! The binary `gadgetry`: a command line for the library.
//!
//! A module names only modules above it; `tests/module_order.rs` checks that.
//!
//! | module | what it does |
//! |---|---|
//! | `claude_code`, `wrapped` | names of the tools of Claude Code; gadgets with something around each call |
//! | `error`, `work`, `lines`, `calls`, `pages`, `usage_totals`, `timeline`, `narrator` | errors with their exit codes; the work of a verb; lines about a run: calls, costs, times, what happens; what is approved, in pages |
//! | `fetch`, `refusal`, `interrupts`, `open_files`, `workspaces`, `live_output` | downloads; refusals of providers with a hint; signals; the limit of open files; workspaces that outlive agents; output of commands while they run |
//! | `logging`, `log_file`, `run_agent`, `usable` | diagnostics; the log of a run; runs until an interrupt; the models that can be used now |
//! | `printer`, `telemetry`, `inspection` | the one way to stdout and stderr; traces for OpenTelemetry; the page of runs in progress |
//! | `modes`, `input`, `slash`, `cli` | modes of approval; prompts from stdin; slash commands that do not exist; the command line as typed |
//! | `data_dir`, `media`, `prompt`, `schemas`, `skills`, `connect` | the data folder; files, instructions and skills of a prompt; a model by its name |
//! | `catalog`, `blocks`, `options`, `config` | the table of models; how blocks look; options as data; configuration files |
//! | `worktree`, `project` | a Git worktree to work in; what an agent learns from its folder: environment, instructions, skills, commands, subagents |
//! | `invocation` | from the words of the command line to what is done: one parse, merged with the configuration |
//! | `mcp`, `reader`, `own_files` | servers of MCP; answers of the user; files that no call may change |
//! | `approvals`, `hooks`, `sessions`, `sources`, `subagents` | approvals; commands that decide about calls; stored runs; gadgets by where they come from; subagents of files |
//! | `checkpoints` | what commands change |
//! | `build_agent`, `outcome`, `follow` | an agent from its options; what a run has done, as data; a run while it is driven |
//! | `first_run` | the questions of the first minute |
//! | `chat`, `commands` | the conversation; one file a verb |
//! | `reference` | of the tests: the pages of `docs/reference` |

mod approvals;
mod blocks;
mod build_agent;
mod calls;
mod catalog;
#[cfg(feature = "chat")]
mod chat;
mod checkpoints;
mod claude_code;
mod cli;
mod commands;
mod config;
mod connect;
mod data_dir;
mod error;
mod fetch;
mod first_run;
mod follow;
mod hooks;
mod input;
#[cfg(feature = "inspect")]
mod inspection;
mod interrupts;
mod invocation;
mod lines;
#[cfg(any(feature = "acp", feature = "chat"))]
mod live_output;
mod log_file;
mod logging;
mod mcp;
mod media;
mod modes;
mod narrator;
mod open_files;
mod options;
mod outcome;
mod own_files;
mod pages;
mod printer;
mod project;
mod prompt;
mod reader;
#[cfg(all(
    test,
    feature = "acp",
    feature = "chat",
    feature = "inspect",
    feature = "mcp",
    feature = "otel",
    feature = "restate"
))]
mod reference;
mod refusal;
mod run_agent;
mod schemas;
mod sessions;
mod skills;
#[cfg(any(feature = "acp", feature = "chat"))]
mod slash;
mod sources;
mod subagents;
#[cfg(feature = "otel")]
mod telemetry;
mod timeline;
mod usable;
mod usage_totals;
mod work;
mod workspaces;
mod worktree;
mod wrapped;

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::Builder;

#[cfg(feature = "chat")]
use cli::Verb;
use error::Error;
#[cfg(feature = "inspect")]
use inspection::inspected;
use printer::Printer;
#[cfg(feature = "otel")]
use telemetry::traced;
use work::Work;
#[cfg(feature = "chat")]
use worktree::Worktree;

/// Maximum delay of the program's end by a thread that is stuck, such as one that reads from a terminal.
const PATIENCE: Duration = Duration::from_millis(250);

/// Threads for tasks, unless the program is a server: one is left while gadgets block two.
const WORKERS: usize = 3;

/// Further threads: for blocking work of libraries, such as name resolution and files, and those that `interrupts` and
/// `run_agent` start.
const OTHER_THREADS: usize = 4;

fn main() -> ExitCode {
    gadgetry_builtins::dispatch();
    let printer = Printer::default();
    let done = run(&printer);
    printer.close(done)
}

fn run(printer: &Printer) -> Result<(), Error> {
    hide_from_other_processes()?;
    if let Some(done) = commands::complete_words(printer) {
        return done;
    }
    let mut invocation = invocation::invocation(printer)?;
    if let Some(first) = invocation.first.take()
        && let Some(options) = first_run::ask(&invocation.config, &first, printer)?
    {
        invocation = invocation::of_words(first.with(options), printer)?;
    }
    logging::start(invocation.verbose)?;
    #[cfg(feature = "otel")]
    telemetry::content(invocation.otel_content);
    #[cfg(feature = "inspect")]
    let inspects = invocation.inspect;
    #[cfg(not(feature = "inspect"))]
    let inspects = false;
    let work = match invocation.verb.take() {
        None => return Err(Error::Help(invocation::help(&invocation.config))),
        #[cfg(feature = "chat")]
        Some(Verb::Chat(mut args)) => Work::waits(async move {
            let (source, settings) = (&mut args.options.source, &mut invocation.settings);
            let tree = Worktree::of(&args.tree, source, settings).await?;
            if let Some(tree) = &tree {
                tree.announce(printer);
            }
            let done = chat::run(*args, invocation, printer).await;
            if let Some(tree) = &tree {
                tree.sum_up(printer).await;
            }
            done
        }),
        Some(verb) => commands::run(verb, invocation, printer)?,
    };
    match work {
        // No threads are started.
        Work::Done => Ok(()),
        Work::Waits(work) => wait_for(traced(inspected(work, inspects, printer), printer), WORKERS),
        Work::Serves(work) => {
            let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
            let work = inspected(work, inspects, printer);
            wait_for(traced(work, printer), cores.max(WORKERS))
        }
    }
}

/// Waits for `work` on the runtime of the program.
fn wait_for(work: impl Future<Output = Result<(), Error>>, workers: usize) -> Result<(), Error> {
    let machine = |error: io::Error| Error::machine(&error);
    enough_threads(workers + OTHER_THREADS).map_err(machine)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build();
    let runtime = runtime.map_err(machine)?;
    let done = runtime.block_on(mcp::until_ended(work));
    // Processes that are left are killed.
    runtime.shutdown_timeout(PATIENCE);
    done
}

/// Without the feature `inspect`, there is no page.
#[cfg(not(feature = "inspect"))]
async fn inspected(
    work: impl Future<Output = Result<(), Error>>,
    _: bool,
    _: &Printer,
) -> Result<(), Error> {
    work.await
}

/// Without the feature `otel`, there are no traces.
#[cfg(not(feature = "otel"))]
async fn traced(work: impl Future<Output = Result<(), Error>>, _: &Printer) -> Result<(), Error> {
    work.await
}

/// Fails if the system does not allow the threads that are needed. tokio would panic where it misses one.
fn enough_threads(count: usize) -> io::Result<()> {
    let (mut gates, mut threads) = (Vec::new(), Vec::new());
    let started = (0..count).try_for_each(|_| {
        let (gate, closed) = channel::<()>();
        let wait = move || closed.recv().is_ok();
        threads.push(thread::Builder::new().spawn(wait)?);
        gates.push(gate);
        Ok(())
    });
    drop(gates);
    for thread in threads {
        // It has done nothing that could panic.
        let _ = thread.join();
    }
    started
}

/// Hides the environment and the memory of this process, where keys are, from the commands and servers that it starts as the same
/// user: `/proc/PID/environ` is then for root alone.
fn hide_from_other_processes() -> Result<(), Error> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|error| Error::machine(&error.into()))?;
    }
    Ok(())
}
