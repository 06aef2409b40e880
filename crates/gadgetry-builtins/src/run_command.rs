//! `RunCommand`.

use std::sync::Arc;
use std::time::Duration;

use cap_std::fs::Dir;
use gadgetry::proto::schema::Unterminated;
use gadgetry::{
    CallPreview, CommandLine, ExecutionContext, Gadget, GadgetError, GadgetInfo, Permission,
    Subject,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::blocking::{blocking, whole_workspace};
use crate::command_output::CommandOutput;
#[cfg(target_os = "linux")]
use crate::sandbox::Sandbox;
use crate::shell::{Line, Shell};
use crate::workspace::{WorkspacePath, state};

/// Bytes of each of stdout and stderr that are kept.
const OUTPUT: usize = 64 << 10;

/// Runs a command line.
#[derive(Debug)]
pub(crate) struct RunCommand(pub(crate) Shell);

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RunCommandParams {
    #[schemars(length(min = 1))]
    command: String,
    #[serde(default = "whole_workspace")]
    cwd: String,
    /// milliseconds
    #[serde(default = "half_a_minute")]
    #[schemars(range(min = 1, max = 600_000))]
    timeout: u64,
}

fn half_a_minute() -> u64 {
    30_000
}

impl Gadget for RunCommand {
    type Params = RunCommandParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        let sandbox = if self.0.sandbox {
            " It cannot write outside the workspace, and has no network."
        } else {
            ""
        };
        GadgetInfo::new(
            "RunCommand",
            format!(
                "Runs a command line with `sh -c`, without input. Returns status and output. Its processes end with it.{sandbox}"
            ),
        )
        .unterminated(Unterminated::Confirm)
        // `EditFile` and then a test in one reply: the test is of the edited file.
        .exclusive()
    }

    async fn execute(
        &self,
        params: RunCommandParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let workspace = Arc::clone(&self.0.workspace);
        let cwd = params.cwd.clone();
        let (path, folder) = blocking(move || {
            let path = workspace.resolve(&cwd)?;
            let folder = workspace.open_folder(&path)?;
            Ok((path, folder))
        })
        .await?;
        let is_read_only = self.0.read_only.is_on();
        context.check_approved(&self.runs(&params, &path, &folder, is_read_only)?)?;
        let key = context.idempotency_key();
        let output = context.get::<CommandOutput>().ok();
        let watch = |bytes: &[u8]| {
            if let Some(output) = output {
                output.write(&key, bytes);
            }
        };
        let line = Line {
            text: &params.command,
            path: &path,
            folder: &folder,
            variables: &[],
            is_read_only,
            timeout: Duration::from_millis(params.timeout),
            output: OUTPUT,
            watch: &watch,
        };
        let cancellation = context.cancellation();
        if let Some(terminal) = self.0.terminal(self.0.sandbox || is_read_only) {
            return self
                .0
                .in_terminal(terminal, &line, key.clone(), cancellation)
                .await;
        }
        self.0.run(&line, cancellation).await
    }

    fn permission(&self) -> Permission {
        Permission::Ask
    }

    async fn preview(&self, params: RunCommandParams) -> Result<CallPreview, GadgetError> {
        let (workspace, cwd) = (Arc::clone(&self.0.workspace), params.cwd.clone());
        let (path, folder) = blocking(move || {
            let path = workspace.resolve(&cwd)?;
            let folder = workspace.open_folder(&path)?;
            Ok((path, folder))
        })
        .await?;
        self.runs(&params, &path, &folder, self.0.read_only.is_on())
    }
}

impl RunCommand {
    /// Returns the preview of a call in this folder. An approval does not hold for another one that takes its place.
    fn runs(
        &self,
        params: &RunCommandParams,
        path: &WorkspacePath,
        dir: &Dir,
        is_read_only: bool,
    ) -> Result<CallPreview, GadgetError> {
        let metadata = dir.dir_metadata().map_err(GadgetError::new)?;
        let is_sandboxed = self.0.sandbox || is_read_only;
        let folder = (!path.is_root()).then(|| path.to_string());
        let mut preview = CallPreview::of(Subject::Command(CommandLine {
            line: params.command.clone(),
            folder: folder.clone(),
            workspace: Some(self.0.workspace.name()),
            is_sandboxed,
            is_read_only,
        }))
        .bound_to(state::identity(&metadata));
        if let Some(folder) = folder {
            preview = preview.note(format!("in the folder {folder}"));
        }
        if params.timeout != half_a_minute() {
            preview = preview.note(format!("for up to {} s", params.timeout.div_ceil(1000)));
        }
        if self.0.terminal(is_sandboxed).is_some() {
            preview = preview.note("in a terminal of the editor");
        }
        if is_sandboxed {
            preview = preview.note(if is_read_only {
                "in the sandbox: no network, no writing"
            } else {
                "in the sandbox: no network, no writing outside the workspace"
            });
            #[cfg(target_os = "linux")]
            if let Ok(sandbox) = Sandbox::of_system(self.0.by_landlock)
                && !sandbox.missing.is_empty()
            {
                let missing = sandbox.missing.join("; ");
                preview = preview.note(format!("this system's sandbox has {missing}"));
            }
        }
        Ok(preview)
    }
}
