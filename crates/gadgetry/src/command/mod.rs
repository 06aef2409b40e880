//! Gadgets that are programs, described in a TOML file.
//!
//! ```toml
//! [[gadget]]
//! name = "Fetch"
//! description = "Fetches a URL"
//! command = ["./fetch.sh"]
//! timeout = "10s"
//! max-concurrent = 2
//! parameters = { type = "object", properties = { url = { type = "string" } }, required = ["url"] }
//! [[gadget.examples]]
//! params = { url = "https://example.com" }
//! output = "…"
//! comment = "Fetch a page"
//! ```
//!
//! | key | meaning |
//! |---|---|
//! | `name`, `description` | for the model; both are required |
//! | `command` | the program and its arguments, without a shell. A program with a `/` is relative to the folder of the TOML file; any other is searched in `PATH` |
//! | `timeout` | `500ms`, `10s`, `1.5m`, `1h`; without it a call has no time limit |
//! | `max-concurrent`, `exclusive` | the maximum number of calls that run at once; `true`: no other gadget runs at the same time |
//! | `unterminated` | `"confirm"` (the default) or `"execute"`: the policy for a block that only the end of the reply completes, see [`Unterminated`] |
//! | `on-interrupt` | `"fail"` (the default), `"rerun"` or `"ask"`: the policy, once the run is continued, for a call that was running when gadgetry ended, see [`OnInterrupt`](gadgetry_proto::schema::OnInterrupt) |
//! | `env` | names of environment variables that the program needs although they hold keys of model providers |
//! | `result` | `"text"` (the default) or `"jsonl"`: the form of stdout, see below |
//! | `parameters` | JSON Schema of an object; without it the gadget has no parameters |
//! | `gadget.examples` | example calls for the model: `params`, and if useful `output` and `comment` |
//!
//! # Input and output of a program
//!
//! The parameters arrive as one line of JSON on stdin, which is complete before the program starts. A program need not read it.
//! Its stdout is the result, minus one newline at the end. With an exit code other than 0, the call fails, and stderr is the
//! message. Bytes that are not UTF-8 are replaced. The program runs in the current folder, with the environment of gadgetry
//! except the variables that hold keys of model providers, such as `OPENAI_API_KEY` and `GITHUB_TOKEN`, because its output is
//! sent to the model. `env = ["GITHUB_TOKEN"]` keeps a variable. `GADGETRY_IDEMPOTENCY_KEY` is the [idempotency
//! key](ExecutionContext::idempotency_key) of the call: the same if the program runs again after an interruption.
//!
//! With `result = "jsonl"` ([`ResultForm::JsonLines`]) stdout is JSON Lines instead, and a program can return more than text.
//! Each line is an object with any of these fields; anything else is an error of the call, which names the line.
//!
//! | field | meaning |
//! |---|---|
//! | `text` | the result; the last one counts. If the program fails and writes nothing to stderr, it is the message |
//! | `cost` | US dollars that the call has cost, 0 or more. Costs are added up, and count as soon as their line arrives, however the call ends |
//! | `completesRun` | `true`: the run ends once the other calls of the reply are done, with the result as its answer |
//! | `asksHuman` | a question to the user, whose answer becomes the result. If no user is available, `text` is the result; without it the call fails |
//! | `media` | images, audio and files in addition to the text, as `{"kind":"image","mimeType":"image/png","data":{"base64":"…"}}` |
//!
//! ```sh
//! echo '{"cost":0.002}'
//! echo '{"text":"All files are copied.","completesRun":true}'
//! ```
//!
//! Only a gadget with this setting is read in this way, so text that another program merely passes on cannot end the run.
//!
//! A call ends when the program does; output of its children within a grace period of 200 ms ([`CommandGadget::grace`]) still
//! counts. **No process of a call outlives it.** The program runs in its own process group, and the whole group is ended when the
//! call ends, is cancelled or is dropped: first with SIGTERM, after the grace period with SIGKILL. On Linux, a program whose
//! `main` calls [`supervisor::dispatch`], as the command line does, also ends processes that have left the group (`setsid`), and
//! ends them all if it is killed itself. On systems without process groups only the program itself is killed.

mod capture;
mod duration;
mod error;
mod exec;
mod file;
mod group;
mod input;
mod lines;
pub mod processes;
mod run;
pub mod supervisor;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::schema::{GadgetSpec, Unterminated};
use serde_json::Value;
use tokio::process::Command;

use crate::context::ExecutionContext;
use crate::gadget::{DynGadget, IntoGadget};
use gadgetry_providers::variables;

pub use duration::parse as parse_duration;
pub use error::{GadgetFileError, GadgetFileProblem};
pub use exec::ResultForm;
pub use file::load;
pub use run::{Ran, RunLimits, remove_secrets, run, run_watched, run_with_input};

/// The environment variable in which a program finds [`ExecutionContext::idempotency_key`].
const IDEMPOTENCY_KEY: &str = "GADGETRY_IDEMPOTENCY_KEY";

/// A gadget that is a program.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandGadget {
    spec: GadgetSpec,
    program: PathBuf,
    arguments: Vec<String>,
    grace: Duration,
    result: ResultForm,
    /// Variables that the program gets although they hold keys.
    env: Vec<String>,
    /// Variables that are removed, in addition to those of the providers.
    without_env: Vec<String>,
    /// True if the specification has a policy for unterminated blocks.
    says_unterminated: bool,
}

impl CommandGadget {
    /// Makes a gadget that runs `program`: a path, or a name that is searched in `PATH`. Unless `spec` has another policy, a
    /// block that only the end of the reply completes is not executed, see [`Unterminated::Confirm`].
    pub fn new(
        spec: GadgetSpec,
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let says_unterminated = spec.unterminated.is_some();
        let spec = GadgetSpec {
            unterminated: spec.unterminated.or(Some(Unterminated::Confirm)),
            ..spec
        };
        Self {
            spec,
            says_unterminated,
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            grace: Duration::from_millis(200),
            result: ResultForm::Text,
            env: Vec::new(),
            without_env: Vec::new(),
        }
    }

    /// Leaves these variables in the program's environment although they hold keys of model providers.
    #[must_use]
    pub fn env(mut self, variables: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.env.extend(variables.into_iter().map(Into::into));
        self
    }

    /// Removes these variables, too, from the program's environment, unless [`env`](Self::env) names them.
    #[must_use]
    pub fn without_env(mut self, variables: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.without_env
            .extend(variables.into_iter().map(Into::into));
        self
    }

    /// Sets the grace period: the time between SIGTERM and SIGKILL, and the time in which output of the program's
    /// children still counts after the program itself has ended. 200 ms by default.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets the form of the program's stdout: [`ResultForm::Text`] by default.
    #[must_use]
    pub fn result(mut self, form: ResultForm) -> Self {
        self.result = form;
        self
    }

    /// Sets the policy for a block that only the end of the reply completes, unless the specification of the gadget or its file
    /// has one.
    #[must_use]
    pub fn unterminated(mut self, policy: Unterminated) -> Self {
        if !self.says_unterminated {
            self.spec.unterminated = Some(policy);
        }
        self
    }

    /// Returns the program that runs.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the arguments on the command line of the program.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Returns the command, with its environment.
    fn command(&self) -> io::Result<Command> {
        let mut command = supervisor::command(&self.program, self.grace)?;
        command.args(&self.arguments);
        let others = self.without_env.iter().map(String::as_str);
        for variable in variables::SECRET.iter().copied().chain(others) {
            if !self.env.iter().any(|named| named == variable) {
                command.env_remove(variable);
            }
        }
        Ok(command)
    }
}

impl DynGadget for CommandGadget {
    fn spec(&self) -> &GadgetSpec {
        &self.spec
    }

    /// Runs the program. Needs a tokio runtime with I/O and time enabled.
    ///
    /// Cancel safety: dropping the future ends the whole process group, as a cancellation does. If the runtime has ended, or ends
    /// before the grace period does, the group is killed at once.
    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let command = self.command().map_err(|error| exec::Failure::Start {
            program: self.program.clone(),
            error,
        });
        let (grace, result) = (self.grace, self.result);
        Box::pin(async move {
            let done = async {
                let mut command = command?;
                command.env(IDEMPOTENCY_KEY, context.idempotency_key());
                exec::run(command, &parameters, grace, result, &context).await
            };
            let done = done.await;
            done.unwrap_or_else(|failure| Outcome::error(failure.to_string()))
        })
    }
}

impl IntoGadget for CommandGadget {
    fn into_gadget(self) -> Arc<dyn DynGadget> {
        Arc::new(self)
    }
}
