//! The connections to servers, until the end of the program.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{mem, process};

use futures_util::future::join_all;
use gadgetry::proto::convo::viewer;
use gadgetry::proto::prompt::search;
use gadgetry::{DynGadget, Skills};
use gadgetry_mcp::{ServerConfig, Servers};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Consent, Consents, Subject, configured, login};
use crate::cli::GadgetOptions;
use crate::config::Declared;
use crate::error::Error;
use crate::interrupts::{Interrupts, has_one_listener};
use crate::lines::one_line;
use crate::printer::{Printer, is_at_terminal};

/// Maximum time for servers to end. Each has two seconds after its stdin was closed, and two after SIGTERM.
const CLOSING: Duration = Duration::from_secs(6);

/// Maximum time for a part of the program to report that an interrupt has ended it.
const PATIENCE: Duration = Duration::from_millis(250);

/// Servers that are connected. Dropping it ends them; [`until_ended`] waits until no process of theirs is left.
pub(crate) struct Connected {
    /// Absent once they are closed.
    servers: Option<Servers>,
    ready: usize,
    /// The number of changes that the gadgets which were given last have.
    offered: AtomicU64,
    end: Option<oneshot::Sender<Servers>>,
}

/// Connects to the servers of the options: those that were typed, and those of the configuration that the user has agreed to.
/// The user is prompted about the others, if there is a terminal.
///
/// A server that cannot be used is a line of progress. `None` if there are no servers.
pub(crate) async fn connect(
    options: &GadgetOptions,
    declared: &Declared,
    printer: &Printer,
) -> Result<Option<Arc<Connected>>, Error> {
    let mut names = BTreeSet::new();
    let mut servers = Vec::new();
    for typed in &options.mcp {
        let name = unique(&typed.name, &mut names);
        servers.push((name, typed.config.clone()));
    }
    if !options.no_mcp {
        servers.extend(agreed(options, declared, &names, printer)?);
    }
    let connected = open(servers, printer).await?;
    if let Some(servers) = connected.as_ref().and_then(|it| it.servers.as_ref()) {
        for failure in servers.failures() {
            printer.progress(&format!("{}\n", login::explained(failure)));
        }
        for warning in servers.gadgets(&[]).warnings {
            printer.progress(&format!("{warning}\n"));
        }
    }
    Ok(connected)
}

/// The name, or one with a number if it is taken.
fn unique(name: &str, names: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut candidates = [name.to_owned()].into_iter().chain(numbered);
    let free = candidates.find(|it| !names.contains(it));
    let free = free.unwrap_or_else(|| name.to_owned());
    names.insert(free.clone());
    free
}

/// The servers of the configuration that the user has agreed to, without those whose names were typed.
fn agreed(
    options: &GadgetOptions,
    declared: &Declared,
    typed: &BTreeSet<String>,
    printer: &Printer,
) -> Result<Vec<(String, ServerConfig)>, Error> {
    let mut servers = Vec::new();
    let mut consents = None;
    for name in &options.configured_mcp {
        if typed.contains(name) {
            continue;
        }
        let Some(server) = declared.servers.get(name) else {
            let name = one_line(name);
            printer.progress(&format!(
                "MCP server {name} is not used: the configuration does not have it any more\n"
            ));
            continue;
        };
        let server = configured(server)?;
        if !server.config.enabled {
            continue;
        }
        let subject = Subject::of(&server)?;
        let consents = match &mut consents {
            Some(consents) => consents,
            none => none.insert(Consents::load()?),
        };
        if is_agreed(name, subject.as_ref(), consents, printer) {
            servers.push((name.clone(), server.config));
        }
    }
    Ok(servers)
}

/// Returns whether the user has agreed to a server, or agrees now.
pub(crate) fn is_agreed(
    name: &str,
    subject: Option<&Subject>,
    consents: &mut Consents,
    printer: &Printer,
) -> bool {
    let why = match consents.about(subject) {
        Consent::NotNeeded | Consent::Trusted => return true,
        Consent::Declined => return false,
        Consent::Changed => "it is not what you decided about, or not in that folder",
        Consent::Unknown => "you have not trusted it",
    };
    let Some(subject) = subject else {
        return false;
    };
    if !is_at_terminal() {
        printer.progress(&format!(
            "MCP server {} is not used: {why}; `{}` shows it and trusts it\n",
            one_line(name),
            subject.trust_command()
        ));
        return false;
    }
    // Without an answer nothing is decided.
    let Some(answer) = printer.ask_about(subject.head(), subject.rows(), subject.question()) else {
        return false;
    };
    let is_trusted = matches!(answer.trim(), "y" | "Y" | "yes");
    if let Err(error) = consents.decide(subject, Some(is_trusted)) {
        printer.progress(&format!("the decision cannot be kept: {error}\n"));
    }
    is_trusted
}

/// Connects to these servers, which the user has agreed to. Says nothing about those that fail.
pub(crate) async fn open(
    servers: Vec<(String, ServerConfig)>,
    printer: &Printer,
) -> Result<Option<Arc<Connected>>, Error> {
    if servers.is_empty() {
        return Ok(None);
    }
    let count = servers.len();
    let servers: Vec<_> = servers.into_iter().map(login::with_tokens).collect();
    let names: Vec<&str> = servers.iter().map(|(name, _)| name.as_str()).collect();
    let doing = format!("connecting to MCP servers: {}", names.join(", "));
    // Before any server is started: they are in process groups of their own, which no signal of the terminal reaches.
    let mut interrupts = Interrupts::listen().map_err(|error| Error::machine(&error))?;
    printer.spin();
    printer.spin_with(|| doing);
    let connected = tokio::select! {
        biased;
        () = interrupts.next() => None,
        servers = Servers::connect(servers) => Some(servers),
    };
    printer.stop_spinning();
    let servers = connected.ok_or_else(cancelled)?;
    let (end, ended) = oneshot::channel();
    held().push(tokio::spawn(hold(interrupts, ended)));
    Ok(Some(Arc::new(Connected {
        ready: count - servers.failures().len().min(count),
        servers: Some(servers),
        offered: AtomicU64::new(0),
        end: Some(end),
    })))
}

/// Tasks that end when the connections they hold are closed.
static HELD: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// An interrupt ends the program.
static ABANDONED: Notify = Notify::const_new();

fn held() -> MutexGuard<'static, Vec<JoinHandle<()>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cancelled() -> Error {
    Error::Failed("cancelled".to_owned())
}

/// Waits for the work of the program, and then until no process of an MCP server is left. While there are servers, an interrupt
/// that nothing else waits for drops the work.
pub(crate) async fn until_ended(
    work: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    let done = tokio::select! {
        done = work => done,
        () = ABANDONED.notified() => Err(cancelled()),
    };
    let held = mem::take(&mut *held());
    // A panic was printed, and there is nothing to return it to.
    join_all(held).await;
    done
}

/// Waits until the connections are to be closed, and closes them.
///
/// An interrupt while a run is in progress is the business of that run. When nothing else waits for one, as while the user types,
/// it ends the program.
async fn hold(mut interrupts: Interrupts, mut ended: oneshot::Receiver<Servers>) {
    let servers = loop {
        tokio::select! {
            servers = &mut ended => break servers,
            () = interrupts.next() => {
                if !has_one_listener() {
                    continue;
                }
                ABANDONED.notify_one();
                match timeout(PATIENCE, &mut ended).await {
                    Ok(servers) => break servers,
                    // The program is stuck, as in a write to a pipe that is not read.
                    Err(_) => process::exit(1),
                }
            }
        }
    };
    if let Ok(servers) = servers {
        tokio::select! {
            () = interrupts.next() => {}
            _ = timeout(CLOSING, servers.close()) => {}
        }
    }
}

impl Connected {
    /// The servers.
    pub(crate) fn servers(&self) -> Option<&Servers> {
        self.servers.as_ref()
    }

    /// Returns the number of servers that were connected at the start.
    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// The revision of the protocol that a server speaks.
    pub(crate) async fn protocol(&self, server: &str) -> Option<String> {
        self.servers()?.protocol(server).await
    }

    /// The gadgets of the servers, with names that none of the `others` has, nor any built-in gadget: rules that allow those would
    /// be about a stranger's.
    pub(crate) fn gadgets(&self, others: &[Arc<dyn DynGadget>]) -> Vec<Arc<dyn DynGadget>> {
        let Some(servers) = &self.servers else {
            return Vec::new();
        };
        let skills = Skills::new().gadget();
        let others = others.iter().chain([&skills]);
        let names = others.map(|gadget| gadget.spec().name.as_str());
        let names = names.chain(gadgetry_builtins::NAMES);
        let reserved: Vec<&str> = names.chain([viewer::NAME, search::NAME]).collect();
        self.offered
            .store(*servers.changes().borrow(), Ordering::Relaxed);
        servers.gadgets(&reserved).gadgets
    }

    /// Returns whether a server has changed its tools since the gadgets were given.
    #[cfg(any(feature = "acp", feature = "chat"))]
    pub(crate) fn has_changed(&self) -> bool {
        let servers = self.servers.as_ref();
        servers.is_some_and(|servers| {
            *servers.changes().borrow() != self.offered.load(Ordering::Relaxed)
        })
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        if let Some((end, servers)) = self.end.take().zip(self.servers.take()) {
            // Fails only while the runtime ends, and their processes with it.
            drop(end.send(servers));
        }
    }
}
