//! Processes of the load: how they are started, what they have open, and the clock that they see.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::Failure;
use crate::random::Random;

/// Resident memory in KiB and open files of a process, where the system shows them.
pub(crate) fn sample(pid: Option<u32>) -> Option<(u64, u64)> {
    let folder = PathBuf::from(format!("/proc/{}", pid?));
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let memory = line.split_whitespace().next()?.parse().ok()?;
    let files = fs::read_dir(folder.join("fd")).ok()?.count();
    Some((memory, u64::try_from(files).ok()?))
}

/// The wall clock of the processes, which jumps. It needs libfaketime; without it there are no jumps.
pub(crate) struct Clock {
    library: Option<PathBuf>,
    folder: PathBuf,
}

impl Clock {
    pub(crate) fn new(library: Option<PathBuf>, folder: &Path) -> Result<Self, Failure> {
        let clock = Self {
            library,
            folder: folder.to_owned(),
        };
        clock.set(0)?;
        Ok(clock)
    }

    pub(crate) fn can_jump(&self) -> bool {
        self.library.is_some()
    }

    /// Jumps to another hour, within two days to either side.
    pub(crate) fn jump(&self, random: &mut Random) -> Result<bool, Failure> {
        let hours = i64::try_from(random.below(97))? - 48;
        self.set(hours * 3_600)?;
        Ok(self.can_jump())
    }

    fn set(&self, seconds: i64) -> Result<(), Failure> {
        // Processes read it at any moment, so it is never half written.
        let part = self.folder.join("clock.part");
        fs::write(&part, format!("{seconds:+}\n"))?;
        fs::rename(part, self.folder.join("clock"))?;
        Ok(())
    }

    /// A program that sees this clock, and no configuration of the user.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("GADGETRY_") {
                command.env_remove(&variable);
            }
        }
        command
            .env("HOME", &self.folder)
            .env("XDG_CONFIG_HOME", &self.folder);
        if let Some(library) = &self.library {
            command.env("LD_PRELOAD", library);
            command.env("FAKETIME_TIMESTAMP_FILE", self.folder.join("clock"));
            // Timers are those of the monotonic clock, which does not jump on a real machine either.
            command
                .env("FAKETIME_NO_CACHE", "1")
                .env("DONT_FAKE_MONOTONIC", "1");
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        command.kill_on_drop(true);
        command
    }
}
