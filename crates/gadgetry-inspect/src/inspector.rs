//! The list of runs that a page shows.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use gadgetry::log::LogError;
use gadgetry::proto::event::RunInfo;
use tokio::sync::watch;

use crate::record::Records;
use crate::recorder::Recorder;
use crate::recording::Recording;
use crate::redact::Redaction;
use crate::token::Token;

/// Runs in the list. The oldest make room.
const RUNS: usize = 1_000;

/// Live runs in the list.
const LIVE: usize = 200;

/// Bytes of the records of all live runs.
const LIVE_BYTES: usize = 512 << 20;

/// Shown in place of a run that has made room.
const DROPPED: &str = "The records of this run were dropped, because later runs needed the memory.";

type Load = dyn Fn() -> BoxFuture<'static, Result<Recording, LogError>> + Send + Sync;

/// Runs, and the page that shows them. A clone is the same inspector.
///
/// It is a [`Hook`](gadgetry::Hook): `Agent::builder().hook(inspector)` shows the runs of an agent while they are in progress. The
/// [crate](crate) has an example.
#[derive(Clone)]
pub struct Inspector(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) token: Token,
    pub(crate) redaction: Redaction,
    runs: Mutex<Runs>,
    /// Bytes of the records of live runs, or more: those of removed runs are subtracted when it reaches the limit.
    bytes: AtomicUsize,
    limit: usize,
}

#[derive(Default)]
struct Runs {
    /// The oldest first.
    all: VecDeque<Listed>,
    next: u64,
}

struct Listed {
    id: u64,
    run: Arc<Source>,
}

/// A run of the list.
pub(crate) enum Source {
    Recorded(Recording),
    /// Read when it is opened, and not kept.
    Stored(RunEntry),
    Live(Box<LiveRun>),
    /// Was live, and has made room for others.
    Dropped(Recording),
}

/// A run that is read when it is opened.
///
/// ```
/// use gadgetry_inspect::{Inspector, Recording, RunEntry};
///
/// let entry = RunEntry::new("order-7", "finished", || {
///     Box::pin(async { Recording::read(&std::fs::read("order-7.jsonl")?[..]) })
/// });
/// Inspector::new().add_entry(entry);
/// ```
pub struct RunEntry {
    pub(crate) title: String,
    pub(crate) state: String,
    pub(crate) load: Box<Load>,
}

impl RunEntry {
    /// Creates an entry with a title and a state for the list. `load` reads the run, each time that it is opened.
    pub fn new(
        title: impl Into<String>,
        state: impl Into<String>,
        load: impl Fn() -> BoxFuture<'static, Result<Recording, LogError>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            title: title.into(),
            state: state.into(),
            load: Box::new(load),
        }
    }
}

impl fmt::Debug for RunEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunEntry")
            .field("title", &self.title)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// A run in progress.
pub(crate) struct LiveRun {
    pub(crate) id: Arc<str>,
    recorder: Mutex<Recorder>,
    /// Sent after each change.
    changed: watch::Sender<()>,
}

impl LiveRun {
    pub(crate) fn new(id: Arc<str>) -> Self {
        Self {
            id,
            recorder: Mutex::new(Recorder::live()),
            changed: watch::Sender::new(()),
        }
    }

    pub(crate) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.recorder().records().is_finished
    }

    fn bytes(&self) -> usize {
        self.recorder().records().bytes()
    }

    /// The records so far.
    pub(crate) fn recording(&self) -> Recording {
        let recorder = self.recorder();
        Recording {
            title: recorder.title().to_owned(),
            records: recorder.records().clone(),
        }
    }
}

impl Inspector {
    /// Creates an inspector without runs, with a new secret for its address.
    pub fn new() -> Self {
        Self::with_limit(LIVE_BYTES)
    }

    /// Creates one that keeps this many bytes of live runs.
    fn with_limit(limit: usize) -> Self {
        Self(Arc::new(Inner {
            token: Token::new(),
            redaction: Redaction::from_env(),
            runs: Mutex::default(),
            bytes: AtomicUsize::new(0),
            limit,
        }))
    }

    /// Adds a run.
    pub fn add(&self, recording: Recording) {
        self.insert(Source::Recorded(recording));
    }

    /// Adds a run that is read when it is opened.
    pub fn add_entry(&self, entry: RunEntry) {
        self.insert(Source::Stored(entry));
    }

    /// Returns the address of the page of a server at this address. It has a secret: who has it sees the runs.
    pub fn url(&self, address: SocketAddr) -> String {
        format!("http://{address}/{}/", self.0.token.text())
    }

    pub(crate) fn insert(&self, run: Source) -> Arc<Source> {
        let run = Arc::new(run);
        let mut runs = self.runs();
        let id = runs.next;
        runs.next += 1;
        runs.all.push_back(Listed {
            id,
            run: Arc::clone(&run),
        });
        let is_live = |it: &Listed| matches!(&*it.run, Source::Live(_));
        if runs.all.iter().filter(|it| is_live(it)).count() > LIVE {
            let ended = |it: &Listed| matches!(&*it.run, Source::Live(live) if live.is_finished());
            let oldest = runs.all.iter().position(ended);
            let oldest = oldest.or_else(|| runs.all.iter().position(is_live));
            oldest.map(|it| runs.all.remove(it));
        }
        if runs.all.len() > RUNS {
            runs.all.pop_front();
        }
        run
    }

    /// Changes the records of a live run. The oldest finished ones make room for it; without any, its own later records are missing.
    pub(crate) fn change(&self, live: &LiveRun, change: impl FnOnce(&mut Recorder)) {
        let mut recorder = live.recorder();
        let before = recorder.records().bytes();
        change(&mut recorder);
        let grown = recorder.records().bytes() - before;
        drop(recorder);
        let bytes = self.0.bytes.fetch_add(grown, Ordering::Relaxed) + grown;
        if bytes > self.0.limit && !self.make_room() {
            live.recorder().fill();
        }
        live.changed.send_replace(());
    }

    /// Drops the records of the oldest finished live runs until the others are within the limit. Returns whether they are.
    fn make_room(&self) -> bool {
        let mut runs = self.runs();
        let live = |it: &Listed| match &*it.run {
            Source::Live(live) => live.bytes(),
            Source::Recorded(_) | Source::Stored(_) | Source::Dropped(_) => 0,
        };
        let mut bytes: usize = runs.all.iter().map(live).sum();
        for listed in &mut runs.all {
            if bytes <= self.0.limit {
                break;
            }
            if let Source::Live(live) = &*listed.run
                && live.is_finished()
            {
                bytes -= live.bytes();
                let title = live.recorder().title().to_owned();
                let records = Records::missing(DROPPED);
                listed.run = Arc::new(Source::Dropped(Recording { title, records }));
            }
        }
        self.0.bytes.store(bytes, Ordering::Relaxed);
        bytes <= self.0.limit
    }

    /// Returns this run if it is live, or the live one whose subagent it is.
    pub(crate) fn live(&self, info: &RunInfo) -> Option<Arc<Source>> {
        let runs = self.runs();
        let mut latest = runs.all.iter().rev();
        let found = latest.find(|it| matches!(&*it.run, Source::Live(live) if info.is_within(&live.id) && !live.is_finished()));
        found.map(|it| Arc::clone(&it.run))
    }

    /// Returns the runs with their numbers, the latest first.
    pub(crate) fn list(&self) -> Vec<(u64, Arc<Source>)> {
        let runs = self.runs();
        let latest = runs.all.iter().rev();
        latest.map(|it| (it.id, Arc::clone(&it.run))).collect()
    }

    /// Returns the run of this number.
    pub(crate) fn run(&self, id: u64) -> Option<Arc<Source>> {
        let runs = self.runs();
        let found = runs.all.iter().find(|it| it.id == id);
        found.map(|it| Arc::clone(&it.run))
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Inspector {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector")
            .field("runs", &self.runs().all.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use gadgetry::Event;

    use super::*;

    const END: &str = r#"{"v":1,"seq":2,"timeMs":9,"type":"run_finished","reason":"completed","iterations":1,"totalCost":null,"answer":""}"#;

    /// Adds a run with a text of this many bytes.
    fn add(inspector: &Inspector, id: &str, bytes: usize, finishes: bool) {
        let run = inspector.insert(Source::Live(Box::new(LiveRun::new(id.into()))));
        let Source::Live(live) = &*run else { return };
        let text = "a".repeat(bytes);
        let text = format!(r#"{{"v":1,"seq":1,"timeMs":1,"type":"text","text":"{text}"}}"#);
        for line in std::iter::once(text.as_str()).chain(finishes.then_some(END)) {
            let event: Event = serde_json::from_str(line).expect("an event");
            inspector.change(live, |recorder| recorder.record(&event));
        }
    }

    #[test]
    fn the_oldest_finished_runs_make_room() {
        let check = |runs: &[(usize, bool)], expected: &[&str]| {
            let inspector = Inspector::with_limit(10_000);
            for (number, (bytes, finishes)) in runs.iter().enumerate() {
                add(&inspector, &number.to_string(), *bytes, *finishes);
            }
            let list = inspector.list();
            let states = list.iter().rev().map(|(_, run)| match &**run {
                Source::Live(live) if live.recording().is_full() => "full",
                Source::Live(_) => "live",
                Source::Dropped(_) => "dropped",
                Source::Recorded(_) | Source::Stored(_) => "other",
            });
            assert_eq!(states.collect::<Vec<_>>(), expected, "{runs:?}");
        };
        check(&[(3_000, true); 3], &["live", "live", "live"]);
        check(&[(4_000, true); 3], &["dropped", "live", "live"]);
        check(
            &[(4_000, false), (4_000, true), (4_000, true)],
            &["live", "dropped", "live"],
        );
        check(
            &[(4_000, true), (1_000, true), (9_500, true)],
            &["dropped", "dropped", "live"],
        );
        check(&[(4_000, false); 3], &["live", "live", "full"]);
        // The sum forgets those that are dropped.
        check(
            &[(9_000, true), (9_000, true), (500, true)],
            &["dropped", "live", "live"],
        );
    }
}
