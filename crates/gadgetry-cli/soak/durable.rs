//! The durable agent: one process that nothing disturbs but the clock, and one that is killed and whose disk is full.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::process::{Child, Command};

use crate::random::Random;
use crate::worker::JOURNAL_FAILED;
use crate::{Failure, Shared};

/// Runs of a round of the process that is killed.
const RUNS: usize = 6;
/// Disturbances of a round, at most. Then it may end in peace.
const DISTURBANCES: usize = 6;
/// No round without disturbance takes so long on any machine.
const TOO_LONG: Duration = Duration::from_mins(5);

/// Disturbances so far.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) rounds: AtomicUsize,
    pub(crate) kills: AtomicUsize,
    pub(crate) full_disks: AtomicUsize,
    pub(crate) executions: AtomicUsize,
    /// Runs that a fault of the model ended.
    pub(crate) failed: AtomicUsize,
}

/// Starts the process that is never killed.
pub(crate) fn steady(shared: &Shared, folder: &Path) -> Result<Child, Failure> {
    let mut command = worker(shared, folder, None)?;
    Ok(command.args(["2", "from", "0"]).spawn()?)
}

/// The program again, on a disk with room for N blocks of 512 or 1,024 bytes a file.
fn worker(shared: &Shared, folder: &Path, blocks: Option<usize>) -> Result<Command, Failure> {
    let program = std::env::current_exe()?;
    let mut command = match blocks {
        None => shared.clock.command(&program),
        Some(blocks) => {
            let mut command = shared.clock.command(Path::new("sh"));
            // Writing beyond it is an error, as on a full disk, and no signal.
            let limit = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
            command.args([OsString::from("-c"), limit.into(), program.into()]);
            command
        }
    };
    command.args(["worker".as_ref(), folder.as_os_str()]);
    command.arg(&shared.world.address);
    command.stdout(Stdio::null());
    Ok(command)
}

/// Rounds until the end: runs that are driven, killed, starved of disk and resumed until all have ended.
pub(crate) async fn rounds(shared: Arc<Shared>, mut random: Random) {
    while !shared.is_over() {
        let round = shared.durable.rounds.load(Ordering::Relaxed);
        if let Err(error) = self::round(&shared, round, &mut random).await {
            shared.broken(format!("round {round}: {error}"));
        }
        shared.durable.rounds.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(random.millis(200)).await;
    }
}

async fn round(shared: &Shared, round: usize, random: &mut Random) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let names: Vec<String> = (0..RUNS).map(|run| format!("v{round}x{run}")).collect();
    let counts = &shared.durable;
    let (mut disturbances, mut kills) = (0, 0);
    loop {
        let is_disturbed = disturbances < DISTURBANCES;
        disturbances += 1;
        let blocks = (is_disturbed && random.percent(25)).then(|| 20 + random.below(400));
        let mut command = worker(shared, folder.path(), blocks)?;
        command.arg("3");
        command.args(names.iter().filter(|name| !shared.world.has_ended(name)));
        let mut process = command.spawn()?;
        let life = if is_disturbed {
            random.millis(900)
        } else {
            TOO_LONG
        };
        let Ok(status) = tokio::time::timeout(life, process.wait()).await else {
            if !is_disturbed {
                return Err("the runs do not end".into());
            }
            process.kill().await?;
            kills += 1;
            counts.kills.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        match status?.code() {
            Some(0) => break,
            Some(code) if code == i32::from(JOURNAL_FAILED) && blocks.is_some() => {
                // What was in flight is interrupted as by a kill.
                kills += 1;
                counts.full_disks.fetch_add(1, Ordering::Relaxed);
            }
            code => {
                return Err(
                    format!("the process has ended with {code:?}, blocks {blocks:?}").into(),
                );
            }
        }
    }
    for name in names {
        let run = shared.world.take(&name);
        counts
            .executions
            .fetch_add(run.executions(), Ordering::Relaxed);
        counts
            .failed
            .fetch_add(usize::from(!run.is_answered()), Ordering::Relaxed);
        for problem in run.problems(&name, kills) {
            shared.broken(problem);
        }
    }
    Ok(())
}
