//! `cargo xtask soak`: the gateway and the durable agent under load and faults for minutes, hours or days.
//!
//! ```text
//! clients ─► gadgetry serve ─► world ◄─ steady worker    never killed, so its memory is sampled
//!  (leave)                       ▲                       its clock jumps, as that of the gateway
//!                                └──── worker            killed, on a full disk, and started again
//! ```
//!
//! The `world` is this process: the model of both, which fails as models do, and the service that gadgets change. It knows every
//! execution and every conversation, so it is what decides whether something was lost or done twice.
//!
//! `soak --minutes N [--seed N] [--faketime FILE]`. Without arguments it is the test of itself: until everything has happened once.

#![expect(clippy::print_stdout, reason = "the figures are what it is run for")]

mod durable;
mod flat;
mod gateway;
mod http;
mod process;
mod random;
mod report;
mod runs;
mod worker;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use process::Clock;
use random::Random;
use report::Report;
use tokio::task::JoinSet;
use world::World;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Clients of the gateway at once.
const CLIENTS: usize = 6;
/// The time between two samples of memory and files.
const SAMPLE: Duration = Duration::from_mins(1);
/// Broken promises that end it.
const MOST_PROBLEMS: usize = 20;

/// What all tasks share.
struct Shared {
    world: Arc<World>,
    clock: Clock,
    requests: AtomicUsize,
    counts: gateway::Counts,
    durable: durable::Counts,
    jumps: AtomicUsize,
    over: AtomicBool,
    problems: Mutex<Vec<String>>,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Notes a broken promise.
    fn broken(&self, problem: String) {
        println!("BROKEN: {problem}");
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.push(problem);
    }

    fn broken_so_far(&self) -> usize {
        for problem in self.world.problems() {
            self.broken(problem);
        }
        self.problems
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Whether everything has happened at least once.
    fn is_covered(&self) -> bool {
        let counts = [&self.durable.rounds, &self.durable.kills];
        let happened = counts.iter().all(|it| it.load(Ordering::Relaxed) > 0);
        happened && self.counts.all().iter().all(|it| *it > 0) && self.world.checked().0 > 0
    }
}

/// What was typed.
#[derive(Default)]
struct Options {
    /// `None` for the test of itself.
    minutes: Option<u64>,
    seed: u64,
    faketime: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.split_first() {
        Some((word, rest)) if word == "worker" => runtime(worker::run(rest)),
        // The names of other tests, and what else `cargo test` passes on.
        Some((word, _)) if !["--minutes", "--seed", "--faketime"].contains(&word.as_str()) => Ok(0),
        _ => read(&args).and_then(|options| runtime(soak(options))),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            println!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

fn runtime(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(work)
}

fn read(args: &[String]) -> Result<Options, Failure> {
    let mut options = Options {
        seed: 1,
        ..Options::default()
    };
    for pair in args.chunks(2) {
        match pair {
            [name, value] if name == "--minutes" => options.minutes = Some(value.parse()?),
            [name, value] if name == "--seed" => options.seed = value.parse()?,
            [name, value] if name == "--faketime" => options.faketime = Some(value.into()),
            _ => return Err("soak takes --minutes N, --seed N and --faketime FILE".into()),
        }
    }
    Ok(options)
}

async fn soak(options: Options) -> Result<u8, Failure> {
    let folder = tempfile::tempdir()?;
    let shared = Arc::new(Shared {
        world: World::start(options.seed).await?,
        clock: Clock::new(options.faketime, folder.path())?,
        requests: AtomicUsize::new(0),
        counts: gateway::Counts::default(),
        durable: durable::Counts::default(),
        jumps: AtomicUsize::new(0),
        over: AtomicBool::new(false),
        problems: Mutex::new(Vec::new()),
    });
    println!("seed {}, {CLIENTS} clients", options.seed);
    if !shared.clock.can_jump() {
        println!("without libfaketime the clock does not jump");
    }
    let program = Path::new(env!("CARGO_BIN_EXE_gadgetry"));
    let mut gateway = gateway::Gateway::start(program, &shared.clock, &shared.world).await?;
    let mut steady = durable::steady(&shared, folder.path())?;
    let mut tasks = JoinSet::new();
    for stream in 1..=CLIENTS {
        let random = Random::new(options.seed, u64::try_from(stream)?);
        tasks.spawn(gateway::client(
            Arc::clone(&shared),
            gateway.address.clone(),
            random,
        ));
    }
    tasks.spawn(durable::rounds(
        Arc::clone(&shared),
        Random::new(options.seed, 100),
    ));
    let mut jumps = Random::new(options.seed, 101);

    let mut report = Report::new(&shared);
    let began = Instant::now();
    let mut sampled = began;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        if jumps.percent(5) && shared.clock.jump(&mut jumps)? {
            shared.jumps.fetch_add(1, Ordering::Relaxed);
        }
        for (process, name) in [
            (&mut gateway.process, "the gateway"),
            (&mut steady, "the steady worker"),
        ] {
            if let Some(status) = process.try_wait()? {
                return Err(format!("{name} has ended: {status}").into());
            }
        }
        if sampled.elapsed() >= SAMPLE {
            sampled = Instant::now();
            report.minute(
                process::sample(gateway.process.id()),
                process::sample(steady.id()),
            );
        }
        let is_done = match options.minutes {
            Some(minutes) => began.elapsed() >= Duration::from_mins(minutes),
            None => shared.is_covered(),
        };
        if is_done || shared.broken_so_far() >= MOST_PROBLEMS {
            break;
        }
    }
    shared.over.store(true, Ordering::Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    report.end();
    let broken = shared.broken_so_far();
    println!("\n{broken} broken promises");
    Ok(u8::from(broken > 0))
}
