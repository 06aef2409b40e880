//! Servers of others: their tools and resources as gadgets.
//!
//! [`Servers::connect`] starts or reaches all servers at the same time. A server that cannot be used is a
//! [`ServerFailure`], a tool that cannot be offered is a [`ToolWarning`], and neither affects the others.
//!
//! # What a server may do, and what not
//!
//! A server that is a program runs in a process group of its own, which ends with its connection: stdin is closed, after a
//! grace period the group receives SIGTERM, and after another one SIGKILL. It receives the environment variables in its
//! configuration and [`BASE_ENVIRONMENT`], and no keys of model providers. Its stderr is read all the time; the last lines are
//! part of the errors about it.
//!
//! | a server | result |
//! |---|---|
//! | has a tool with the name of another server's, or a reserved one | the gadget is named `server__tool` |
//! | has a tool whose name begins with `NAME__` of another server | the same |
//! | has more than 2000 tools, or more than 16 MiB of them | the others are left out |
//! | has a tool whose schema is not one of an object | any parameters are passed |
//! | has a tool whose schema is invalid | the tool is skipped, with a warning |
//! | ends | the calls in flight fail and are never repeated; the next call starts it again, see [`RestartPolicy`] |
//! | does not answer | the call fails after `timeout` and is cancelled at the server |
//! | answers with more than 16 MiB | the call fails, the server continues |
//! | reports progress | the run reports it as progress of the call |
//! | reports that its tools have changed | [`Servers::changes`] |
//! | asks the user (elicitation) during a call | the run's [`Human`](gadgetry::Human) answers, field by field |
//! | asks the user between calls, or there is no user | cancelled |
//! | requests a completion of the model (sampling) | refused: the capability is not offered |
//! | requests the user's folders (roots) | none |

mod connect;
mod content;
mod elicit;
mod error;
mod handler;
mod in_flight;
mod lines;
mod process;
mod remote;
mod resources;
mod tools;
mod words;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use gadgetry::DynGadget;
use tokio::sync::watch;

use crate::config::ServerConfig;
use remote::Remote;

pub use error::{ConnectError, ServerFailure, ToolWarning};
pub use process::BASE_ENVIRONMENT;
pub use remote::RestartPolicy;
pub use resources::{LIST as LIST_RESOURCES, READ as READ_RESOURCE};

/// Servers of others, connected. Dropping it and its gadgets ends them in the background; [`Servers::close`] waits for that.
///
/// ```no_run
/// use gadgetry::Agent;
/// use gadgetry_mcp::{ServerConfig, Servers};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let files = ServerConfig::stdio("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]);
/// let servers = Servers::connect([("files".to_owned(), files)]).await;
/// for failure in servers.failures() {
///     eprintln!("{failure}");
/// }
/// let mut agent = Agent::builder().named("haiku")?;
/// for gadget in servers.gadgets(&[]).gadgets {
///     agent = agent.gadget(gadget);
/// }
/// println!("{}", agent.ask("What is in this folder?")?.text().await?);
/// servers.close().await;
/// # Ok(())
/// # }
/// ```
pub struct Servers {
    remotes: Vec<Arc<Remote>>,
    failures: Vec<ServerFailure>,
    changes: watch::Receiver<u64>,
}

/// The gadgets of servers at one time, and the tools that are not among them.
#[derive(Clone)]
pub struct Offer {
    /// The gadgets, each with a name of its own.
    pub gadgets: Vec<Arc<dyn DynGadget>>,
    /// Tools that are not offered.
    pub warnings: Vec<ToolWarning>,
}

impl Servers {
    /// Connects to all servers that are enabled, at the same time. Never fails as a whole.
    ///
    /// Needs a tokio runtime with I/O and time enabled. Programs are started without a question: that is the
    /// caller's business, see [`ServerConfig::command_line`].
    ///
    /// Cancel safety: dropping the future ends what was started.
    pub async fn connect(configs: impl IntoIterator<Item = (String, ServerConfig)>) -> Self {
        Self::connect_with(configs, RestartPolicy::default()).await
    }

    /// The same with another policy for servers that end.
    pub async fn connect_with(
        configs: impl IntoIterator<Item = (String, ServerConfig)>,
        policy: RestartPolicy,
    ) -> Self {
        let (sender, changes) = watch::channel(0);
        let enabled = configs.into_iter().filter(|(_, config)| config.enabled);
        let remotes =
            enabled.map(|(name, config)| Remote::new(name, config, policy, sender.clone()));
        let remotes: Vec<Arc<Remote>> = remotes.collect();
        let connected = remotes.iter().map(async |remote| {
            let error = remote.connected().await.err()?;
            let server = remote.name.clone();
            Some(ServerFailure { server, error })
        });
        let failures = join_all(connected).await;
        let failures = failures.into_iter().flatten().collect();
        let mut changes = changes;
        changes.mark_unchanged();
        Self {
            remotes,
            failures,
            changes,
        }
    }

    /// The servers that could not be used when they were connected to.
    pub fn failures(&self) -> &[ServerFailure] {
        &self.failures
    }

    /// The names of the servers, and the number of tools that each has.
    pub fn tools(&self) -> impl Iterator<Item = (&str, usize)> {
        let remotes = self.remotes.iter();
        remotes.map(|remote| (remote.name.as_str(), remote.lists().tools.len()))
    }

    /// Returns whether a server has resources, for which there are the gadgets [`LIST_RESOURCES`] and [`READ_RESOURCE`].
    pub fn has_resources(&self, server: &str) -> bool {
        let remote = self.remote(server);
        remote.is_some_and(|remote| remote.lists().has_resources)
    }

    /// The gadgets for what the servers offer now. Names in `reserved`, in any case, are not used.
    ///
    /// Their [permission](DynGadget::permission) is to ask the user, whatever a server says about its tools.
    pub fn gadgets(&self, reserved: &[&str]) -> Offer {
        let mut reserved: BTreeSet<String> = reserved.iter().map(|&it| it.to_owned()).collect();
        let name = |plain: &str| {
            let is_taken = reserved.iter().any(|it| it.eq_ignore_ascii_case(plain));
            if is_taken {
                format!("mcp__{plain}")
            } else {
                plain.to_owned()
            }
        };
        let resources = resources::gadgets(&self.remotes, name);
        reserved.extend(resources.iter().map(|gadget| gadget.spec().name.clone()));
        let (mut gadgets, invalid) = tools::gadgets(&self.remotes, &reserved);
        gadgets.extend(resources);
        let left_out = self.remotes.iter().flat_map(|remote| {
            let left_out = remote.lists().left_out.into_iter();
            left_out.map(|(tool, reason)| ToolWarning {
                server: remote.name.clone(),
                tool,
                reason,
            })
        });
        let warnings = left_out.chain(invalid).collect();
        Offer { gadgets, warnings }
    }

    /// Changes whenever a server has changed its tools: [`Servers::gadgets`] then differs.
    ///
    /// ```no_run
    /// # async fn example(servers: gadgetry_mcp::Servers) {
    /// let mut changes = servers.changes();
    /// while changes.changed().await.is_ok() {
    ///     let offer = servers.gadgets(&[]);
    ///     println!("{} gadgets", offer.gadgets.len());
    /// }
    /// # }
    /// ```
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// The revision of the protocol that a server speaks; `None` without a connection, or a server of that name.
    pub async fn protocol(&self, server: &str) -> Option<String> {
        self.remote(server)?.protocol().await
    }

    /// Connects to a server again that has failed or ended, also one that has ended too often.
    ///
    /// # Errors
    ///
    /// [`ServerFailure`] if it cannot be used; [`ConnectError::Closed`] without a server of that name.
    pub async fn reconnect(&self, server: &str) -> Result<(), ServerFailure> {
        let failed = |error| ServerFailure {
            server: server.to_owned(),
            error,
        };
        let remote = self.remote(server);
        let remote = remote.ok_or_else(|| failed(ConnectError::Closed))?;
        remote.reconnect().await.map_err(failed)
    }

    /// Ends all connections, and waits until no process of theirs is left.
    pub async fn close(self) {
        join_all(self.remotes.iter().map(|remote| remote.close())).await;
    }

    fn remote(&self, name: &str) -> Option<&Arc<Remote>> {
        self.remotes.iter().find(|remote| remote.name == name)
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.remotes.iter().map(|remote| &remote.name);
        f.debug_list().entries(names).finish()
    }
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.gadgets.iter().map(|gadget| &gadget.spec().name);
        f.debug_struct("Offer")
            .field("gadgets", &names.collect::<Vec<_>>())
            .field("warnings", &self.warnings)
            .finish()
    }
}
