//! The task of a process in the sandbox, as its arguments.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The name of the report in the private folder.
pub(super) const REPORT: &str = "report.json";

/// Means by which commands are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mode {
    /// By namespaces, and Landlock where the kernel has it.
    Namespaces,
    /// Landlock alone.
    Landlock,
}

/// What a command may do in its workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// Change nothing.
    Read,
    /// Change all but what Git runs code from, and these files: absolute paths.
    Write(Vec<PathBuf>),
}

/// Report of the outer process on a command that has ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Report {
    /// Reason that the command did not run, or problem of the checks afterwards.
    pub(super) error: Option<String>,
    /// Changes that were made afterwards.
    pub(super) notes: Vec<String>,
    /// Protections that the kernel does not have.
    pub(super) missing: Vec<String>,
}

/// A process of the sandbox.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    Outer,
    Inner,
}

impl Stage {
    /// The name under which it is started.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Outer => "gadgetry-sandbox",
            Self::Inner => "gadgetry-sandbox-init",
        }
    }

    pub(super) fn named(name: &OsStr) -> Option<Self> {
        [Self::Outer, Self::Inner]
            .into_iter()
            .find(|stage| name == stage.name())
    }
}

/// A command to confine, with the folders and the time that it has.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// The process that has started this one.
    pub(super) parent: u32,
    pub(super) mode: Mode,
    pub(super) grace: Duration,
    /// Absolute, without links.
    pub(super) workspace: PathBuf,
    /// Relative to the workspace.
    pub(super) cwd: PathBuf,
    /// A folder of the call: report, and temporary files where there are no namespaces.
    pub(super) private: PathBuf,
    /// Command line that `sh -c` reads.
    pub(super) line: OsString,
    pub(super) rights: Rights,
}

impl Job {
    pub(super) fn new(
        mode: Mode,
        workspace: &Path,
        cwd: &Path,
        private: &Path,
        line: &str,
        grace: Duration,
    ) -> Self {
        Self {
            parent: std::process::id(),
            mode,
            grace,
            workspace: workspace.to_owned(),
            cwd: cwd.to_owned(),
            private: private.to_owned(),
            line: line.into(),
            rights: Rights::Write(Vec::new()),
        }
    }

    pub(super) fn to_arguments(&self) -> Vec<OsString> {
        let mode = match self.mode {
            Mode::Namespaces => "namespaces",
            Mode::Landlock => "landlock",
        };
        let mut arguments = vec![
            self.parent.to_string().into(),
            mode.into(),
            self.grace.as_millis().to_string().into(),
            self.workspace.clone().into(),
            self.cwd.clone().into(),
            self.private.clone().into(),
            self.line.clone(),
        ];
        match &self.rights {
            Rights::Read => arguments.push("read".into()),
            Rights::Write(protected) => {
                arguments.push("write".into());
                arguments.extend(protected.iter().map(OsString::from));
            }
        }
        arguments
    }

    pub(super) fn from_arguments(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut next = || arguments.next();
        Some(Self {
            parent: next()?.to_str()?.parse().ok()?,
            mode: match next()?.to_str()? {
                "namespaces" => Mode::Namespaces,
                "landlock" => Mode::Landlock,
                _ => return None,
            },
            grace: Duration::from_millis(next()?.to_str()?.parse().ok()?),
            workspace: next()?.into(),
            cwd: next()?.into(),
            private: next()?.into(),
            line: next()?,
            rights: match next()?.to_str()? {
                "read" => Rights::Read,
                "write" => Rights::Write(arguments.map(PathBuf::from).collect()),
                _ => return None,
            },
        })
    }
}
