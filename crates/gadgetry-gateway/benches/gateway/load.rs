//! Many streams at once: CPU time, latency and memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::stream;
use crate::server::Server;
use crate::upstream::{Pace, READY, Sent, upstream};
use crate::{Failure, IDLE, STREAMS};

/// Chunks of a stream.
const CHUNKS: usize = 2_000;
/// Chunks of a stream without the gateway, for its latency alone.
const DIRECT_CHUNKS: usize = 250;
/// Streams through the other proxy: each takes it long.
const PEER_STREAMS: usize = 4;
/// Number of times that the two are compared.
const ROUNDS: usize = 3;

pub(crate) async fn only_flat(python: Option<&str>) -> Result<(), Failure> {
    let (upstream, _) = upstream(0, 0).await?;
    let gateway = Server::ours(&upstream)?;
    for pace in [Pace::Single, Pace::Flat] {
        let began = Instant::now();
        let through = gateway.throughput(STREAMS, pace).await?;
        println!(
            "{:.1} streams a second of one core, {:.1} µs a chunk, {:.1} s",
            through.per_cpu_second,
            a_chunk(through.per_cpu_second),
            began.elapsed().as_secs_f64()
        );
    }
    if let Some(python) = python {
        next_to(python, &upstream, &gateway).await?;
    }
    Ok(())
}

pub(crate) async fn compare(python: Option<&str>) -> Result<(), Failure> {
    let (upstream, sent) = upstream(STREAMS, CHUNKS).await?;
    let gateway = Server::ours(&upstream)?;
    // The first ones open the connections to the upstream.
    run(&gateway.address, 8, 100, Pace::Flat).await;
    let direct = paced(&upstream, &sent, DIRECT_CHUNKS).await?;
    let idle = gateway.memory()?;
    let before = gateway.cpu()?;
    let through = paced(&gateway.address, &sent, CHUNKS).await?;
    let seconds = gateway.cpu()? - before;
    let a_stream = (gateway.peak()? - idle) / STREAMS as f64 / 1024.0;
    let real_time = STREAMS as f64 / seconds;
    let single = gateway.throughput(STREAMS, Pace::Single).await?;
    let ours = gateway.throughput(STREAMS, Pace::Flat).await?;
    println!("\n### A gateway under load\n");
    println!("| | | limit | |\n|---|---|---|---|");
    let row = |what: &str, value: String, limit: &str, passes: bool| {
        println!(
            "| {what} | {value} | {limit} | {} |",
            if passes { "PASS" } else { "above" }
        );
    };
    println!(
        "| streams a second of one core, {STREAMS} at 50 chunks a second | {real_time:.1} | | |"
    );
    println!(
        "| the same, as fast as they come, one and {READY} chunks a write | {:.1}, {:.1} | | |",
        single.per_cpu_second, ours.per_cpu_second
    );
    println!(
        "| µs of CPU a chunk in the three | {:.1}, {:.1}, {:.1} | | |",
        a_chunk(real_time),
        a_chunk(single.per_cpu_second),
        a_chunk(ours.per_cpu_second)
    );
    row(
        "KB a stream",
        format!("{a_stream:.1}"),
        "64",
        a_stream < 64.0,
    );
    let added = (through.p50 - direct.p50) * 1e6;
    row(
        "added latency a chunk, p50, µs",
        format!("{added:.0}"),
        "100",
        added < 100.0,
    );
    println!(
        "| added latency a chunk, p99, µs | {:.0} | | |",
        (through.p99 - direct.p99) * 1e6
    );
    println!(
        "| latency without the gateway, p50 and p99, µs | {:.0}, {:.0} | | |",
        direct.p50 * 1e6,
        direct.p99 * 1e6
    );
    let lost = single.lost + ours.lost + through.lost;
    row("streams lost", lost.to_string(), "0", lost == 0);

    if let Some(python) = python {
        next_to(python, &upstream, &gateway).await?;
    }
    let (open, memory) = gateway.idle_streams(IDLE).await?;
    println!("\n| | | limit | |\n|---|---|---|---|");
    row(
        &format!("MB with {open} silent streams"),
        format!("{:.0}", memory / 1e6),
        "1000",
        memory < 1e9,
    );
    Ok(())
}

/// The same work through the proxy of `LiteLLM`, in turns, because the speed of a virtual machine changes within minutes. The
/// best of each counts.
async fn next_to(python: &str, upstream: &str, gateway: &Server) -> Result<(), Failure> {
    let peer = Server::litellm(python, upstream).await?;
    run(&peer.address, 4, 100, Pace::Flat).await;
    println!("\n| streams a second of one core | gadgetry | LiteLLM | ratio | limit | |");
    println!("|---|---|---|---|---|---|");
    for (pace, what) in [
        (Pace::Single, "each chunk in a write of its own"),
        (Pace::Flat, "chunks as they are ready"),
    ] {
        let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            let through = gateway.throughput(STREAMS, pace).await?;
            ours = ours.max(through.per_cpu_second);
            let through = peer.throughput(PEER_STREAMS, pace).await?;
            if through.lost > 0 {
                return Err(format!("LiteLLM has lost {} streams", through.lost).into());
            }
            theirs = theirs.max(through.per_cpu_second);
        }
        let ratio = ours / theirs;
        let verdict = if ratio >= 20.0 { "PASS" } else { "below" };
        println!("| {what} | {ours:.1} | {theirs:.2} | {ratio:.0} × | 20 × | {verdict} |");
    }
    Ok(())
}

/// What streams have cost.
struct Throughput {
    per_cpu_second: f64,
    lost: usize,
}

impl Server {
    /// Streams as fast as they come.
    async fn throughput(&self, streams: usize, pace: Pace) -> Result<Throughput, Failure> {
        let before = self.cpu()?;
        let lost = run(&self.address, streams, CHUNKS, pace).await;
        let seconds = self.cpu()? - before;
        Ok(Throughput {
            per_cpu_second: streams as f64 / seconds,
            lost,
        })
    }

    /// Opens silent streams. How many there are, and the memory of the process.
    async fn idle_streams(&self, count: usize) -> Result<(usize, f64), Failure> {
        let mut open = JoinSet::new();
        let (ready, mut opened) = tokio::sync::mpsc::unbounded_channel();
        for number in 0..count {
            let (address, ready) = (self.address.clone(), ready.clone());
            open.spawn(async move { stream(&address, number, Pace::Silent, 1, Some(ready)).await });
            if number % 200 == 199 {
                // Not all connections at once: the backlog of a socket is limited.
                let all = async {
                    for _ in 0..200 {
                        opened.recv().await;
                    }
                };
                let _ = tokio::time::timeout(Duration::from_secs(5), all).await;
            }
        }
        let memory = self.memory()?;
        let failed = std::iter::from_fn(|| open.try_join_next()).count();
        Ok((count - failed, memory))
    }
}

/// Streams at once. How many were lost.
async fn run(address: &str, at_once: usize, chunks: usize, pace: Pace) -> usize {
    let mut streams = JoinSet::new();
    for number in 0..at_once {
        let address = address.to_owned();
        streams.spawn(async move { stream(&address, number, pace, chunks, None).await });
    }
    let mut lost = 0;
    while let Some(done) = streams.join_next().await {
        match done {
            Ok(Ok(arrived)) if arrived.len() == chunks => {}
            _ => lost += 1,
        }
    }
    lost
}

/// Streams of 50 chunks a second.
struct Paced {
    p50: f64,
    p99: f64,
    lost: usize,
}

/// The time from the upstream's write to the client's read of a chunk, in seconds.
async fn paced(address: &str, sent: &Arc<Sent>, chunks: usize) -> Result<Paced, Failure> {
    let mut streams = JoinSet::new();
    for number in 0..STREAMS {
        let address = address.to_owned();
        streams.spawn(async move {
            (
                number,
                stream(&address, number, Pace::Paced, chunks, None).await,
            )
        });
    }
    let mut all: Vec<u64> = Vec::new();
    let mut lost = 0;
    while let Some(done) = streams.join_next().await {
        let (number, arrived) = done?;
        let arrived = arrived.unwrap_or_default();
        lost += usize::from(arrived.len() != chunks);
        for (at, time) in arrived.into_iter().enumerate() {
            let arrived = time.duration_since(sent.began).as_nanos();
            let sent = sent.times[number][at].load(Ordering::Relaxed);
            all.push(u64::try_from(arrived)?.saturating_sub(sent));
        }
    }
    all.sort_unstable();
    let quantile = |share: usize| {
        all.get(all.len() * share / 100)
            .map_or(0.0, |it| *it as f64 / 1e9)
    };
    Ok(Paced {
        p50: quantile(50),
        p99: quantile(99),
        lost,
    })
}

/// Microseconds of CPU for each chunk, at so many streams a second.
fn a_chunk(streams: f64) -> f64 {
    1e6 / streams / CHUNKS as f64
}
