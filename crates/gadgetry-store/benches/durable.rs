//! What it costs to keep a run: microseconds a step beside a bare `INSERT` with its commit on the same disk, the size of
//! the journal, and the time to resume. A step is a model call or a gadget.

#![expect(
    clippy::cast_precision_loss,
    reason = "counts and sizes far below 2^52"
)]
#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on ends here")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::proto::message::Request;
use gadgetry::{Agent, Delta, EventKind, GadgetSpec, Model, Outcome, StopReason, from_fn};
use gadgetry_store::SqliteJournal;
use tokio::sync::Notify;

/// Model calls and gadgets of the long run.
const STEPS: usize = 10_000;
/// Those of the runs whose steps are timed.
const TIMED: usize = 2_000;
/// How often each is timed, in turns. The best time counts: another program on the machine only makes it longer.
const ROUNDS: usize = 5;
/// Limits in microseconds: without and with a sync a step.
const LIMITS: [f64; 2] = [60.0, 2_000.0];
/// Limit of the time to resume the long run.
const RESUME_MS: f64 = 200.0;
/// How much later the first text of a durable run may come.
const FIRST_MS: f64 = 1.0;

const CALL: &str = "Let me look.\n!!!GADGET_START:Look\n!!!ARG:place\n/etc/hosts\n!!!GADGET_END\n";

/// Calls a gadget in each reply, until it has replied often enough; then it answers, or hangs.
struct Caller {
    replies: usize,
    said: AtomicUsize,
    hung: Option<Arc<Notify>>,
}

impl Model for Caller {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        let text = if self.said.fetch_add(1, Ordering::Relaxed) < self.replies {
            CALL
        } else if let Some(hung) = &self.hung {
            hung.notify_one();
            return stream::pending().boxed();
        } else {
            "Done."
        };
        let end = Delta::MessageEnd {
            stop_reason: StopReason::Stop,
            usage: None,
        };
        stream::iter([Delta::text(text), end]).boxed()
    }

    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature")]
    fn name(&self) -> &str {
        "caller"
    }
}

fn agent(steps: usize, hung: Option<&Arc<Notify>>) -> Agent {
    let spec = GadgetSpec {
        name: "Look".to_owned(),
        ..GadgetSpec::default()
    };
    let look = from_fn(spec, |_, _| async { Outcome::ok("127.0.0.1 localhost\n") });
    let model = Caller {
        replies: steps / 2,
        said: AtomicUsize::new(0),
        hung: hung.cloned(),
    };
    let agent = Agent::builder().model(model).gadget(look);
    let agent = agent.max_iterations(u32::MAX).without_compaction();
    agent.build().unwrap()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let is_met = runtime.block_on(async {
        [
            steps(folder.path()).await,
            long(folder.path()).await,
            first_text(folder.path()).await,
        ]
    });
    assert_eq!(is_met, [true; 3], "a limit is not met");
}

async fn steps(folder: &Path) -> bool {
    println!("\n### µs a step, and of a bare INSERT with its commit\n");
    println!("| | step | INSERT | limit | |\n|---|---|---|---|---|");
    let mut is_met = true;
    for (name, is_synced, limit) in [
        ("without sync", false, LIMITS[0]),
        ("with sync", true, LIMITS[1]),
    ] {
        let path = folder.join(format!("{name}.db"));
        let builder = SqliteJournal::builder(&path);
        let builder = if is_synced {
            builder
        } else {
            builder.without_sync()
        };
        let journal = builder.open().unwrap();
        let bare = bare(&folder.join(format!("{name}-bare.db")), is_synced);
        let [mut plain, mut durable, mut insert] = [f64::INFINITY; 3];
        for _ in 0..ROUNDS {
            plain = plain.min(timed(None).await);
            durable = durable.min(timed(Some(&journal)).await);
            insert = insert.min(inserts(&bare));
        }
        let step = (durable - plain) / TIMED as f64 * 1e6;
        is_met &= step <= limit;
        println!(
            "| {name} | {step:.1} | {insert:.1} | {limit} | {} |",
            verdict(step <= limit)
        );
    }
    is_met
}

/// Seconds of a run.
async fn timed(journal: Option<&SqliteJournal>) -> f64 {
    let agent = agent(TIMED, None);
    let began = Instant::now();
    match journal {
        Some(journal) => {
            let run = agent.durable(journal).ask("Go").await.unwrap();
            run.text().await.unwrap();
        }
        None => {
            agent.ask("Go").text().await.unwrap();
        }
    }
    began.elapsed().as_secs_f64()
}

/// A file with the table of entries alone.
fn bare(path: &Path, is_synced: bool) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .unwrap();
    let level = if is_synced { "FULL" } else { "NORMAL" };
    connection
        .pragma_update(None, "synchronous", level)
        .unwrap();
    connection
        .execute_batch("CREATE TABLE entries (id INTEGER PRIMARY KEY, lines BLOB NOT NULL)")
        .unwrap();
    connection
}

/// Microseconds of an `INSERT` with its commit.
fn inserts(connection: &rusqlite::Connection) -> f64 {
    let lines = [b'x'; 200];
    let mut statement = connection
        .prepare("INSERT INTO entries (lines) VALUES (?1)")
        .unwrap();
    let began = Instant::now();
    for _ in 0..TIMED {
        statement.execute([&lines[..]]).unwrap();
    }
    began.elapsed().as_secs_f64() / TIMED as f64 * 1e6
}

async fn long(folder: &Path) -> bool {
    let path = folder.join("long.db");
    let hung = Arc::new(Notify::new());
    {
        let journal = SqliteJournal::builder(&path).without_sync().open().unwrap();
        let agent = agent(STEPS, Some(&hung));
        let run = agent
            .durable(&journal)
            .run_id("long")
            .ask("Go")
            .await
            .unwrap();
        tokio::select! {
            () = hung.notified() => {}
            ended = run.text() => panic!("{ended:?}"),
        }
        journal.flush().await;
    }
    let bytes = fs::metadata(&path).unwrap().len();
    let before = resident();
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let journal = SqliteJournal::open(&path).unwrap();
        let agent = agent(STEPS, Some(&hung));
        let began = Instant::now();
        let run = agent
            .durable(&journal)
            .run_id("long")
            .ask("Go")
            .await
            .unwrap();
        best = best.min(began.elapsed());
        drop(run);
        journal.flush().await;
    }
    let after = resident();
    let ms = best.as_secs_f64() * 1e3;
    let is_met = ms <= RESUME_MS;
    println!("\n### A run of {STEPS} steps\n");
    println!("| journal | to resume it | limit | resident memory | |\n|---|---|---|---|---|");
    let megabytes = bytes as f64 / 1e6;
    println!(
        "| {megabytes:.1} MB | {ms:.0} ms | {RESUME_MS} ms | {before:.0} → {after:.0} MB | {} |",
        verdict(is_met)
    );
    is_met
}

async fn first_text(folder: &Path) -> bool {
    let journal = SqliteJournal::open(folder.join("first.db")).unwrap();
    let (mut plain, mut durable) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let agent = agent(2, None);
        let began = Instant::now();
        let mut run = agent.ask("Go");
        plain.push(until_text(&mut run, began).await);
        let agent = self::agent(2, None);
        // The run before was dropped in the middle.
        journal.flush().await;
        let began = Instant::now();
        let mut run = agent.durable(&journal).ask("Go").await.unwrap();
        durable.push(until_text(&mut run, began).await);
    }
    let median = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let (plain, durable) = (median(plain), median(durable));
    let later = durable - plain;
    println!("\n### ms from the question to the first text\n");
    println!("| plain | durable | later by | limit | |\n|---|---|---|---|---|");
    println!(
        "| {plain:.2} | {durable:.2} | {later:.2} | {FIRST_MS} | {} |",
        verdict(later <= FIRST_MS)
    );
    later <= FIRST_MS
}

async fn until_text(run: &mut gadgetry::AgentRun<'_>, began: Instant) -> f64 {
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::Text { .. }) {
            break;
        }
    }
    began.elapsed().as_secs_f64() * 1e3
}

/// Megabytes of this process that are in memory; 0 where the system does not say.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|it| it.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1e3
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}
