//! What a request and a frame take longer than without a gateway, by the method that gateways are compared by: one connection,
//! replies of 64 frames, one in 20 ms, and as many streams at once as none of them stalls.
//!
//! All are asked in turn, request by request, and each figure is the median of several rounds: other work on the machine changes
//! all of them alike, so ratios to the bare proxy are what to read.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::Failure;
use crate::client::{Connection, Timed, body};
use crate::server::Server;
use crate::upstream::{PACE, Pace, Sent, upstream};

/// Rounds, the median of which counts.
const ROUNDS: usize = 9;
/// Requests of a round of each kind, to each contestant.
const REQUESTS: usize = 200;
/// Frames of a reply with a pace.
const FRAMES: usize = 64;
/// Streams at once.
const MANY: usize = 512;
/// The same for the proxy of `LiteLLM`.
const MANY_OF_PEER: usize = 16;
/// A frame that is late by so much is a stall: the time of ten frames.
const STALL: Duration = PACE.saturating_mul(10);
/// Connections of the clients that count requests.
const CONNECTIONS: usize = 16;

/// One of those that are compared.
struct Contestant<'s> {
    name: &'static str,
    address: String,
    server: Option<&'s Server>,
    tools: bool,
    connection: Connection,
    /// The median of each is shown.
    rounds: Vec<Round>,
}

/// Seconds of one round.
#[derive(Clone, Copy, Default)]
struct Round {
    /// A whole answer, p99.
    whole: f64,
    /// Until the first frame, p50 and p99.
    first: [f64; 2],
    /// From the upstream's write of a frame to the client's read, p50 and p99.
    frame: [f64; 2],
    /// Between two frames, p99.
    gap: f64,
    /// Requests for each second of CPU time.
    a_second: f64,
}

pub(crate) async fn compare(python: Option<&str>) -> Result<(), Failure> {
    let (upstream, sent) = upstream(MANY, FRAMES).await?;
    let gateway = Server::ours(&upstream)?;
    let bare = Server::bare(&upstream)?;
    let idle = gateway.memory()?;
    let peer = match python {
        Some(python) => Some(Server::litellm(python, &upstream).await?),
        None => None,
    };
    let idle_of_peer = peer.as_ref().map(Server::memory).transpose()?;
    let mut all = vec![
        Contestant::new("without a gateway", &upstream, None, false).await?,
        Contestant::new("bare proxy", &bare.address, Some(&bare), false).await?,
        Contestant::new("gadgetry", &gateway.address, Some(&gateway), false).await?,
        Contestant::new(
            "gadgetry, with a tool",
            &gateway.address,
            Some(&gateway),
            true,
        )
        .await?,
    ];
    if let Some(peer) = &peer {
        all.push(Contestant::new("LiteLLM", &peer.address, Some(peer), false).await?);
    }
    let mut calls = Vec::new();
    for _ in 0..ROUNDS {
        round(&mut all, &sent).await?;
        calls.push(a_call(&mut all[3].connection).await?);
    }
    show(&all);
    let [p50, p99] = [0, 1].map(|at| median(calls.iter().map(|it| it[at])) * 1e6);
    println!("\n| | | limit | |\n|---|---|---|---|");
    let row = |what: &str, value: f64, limit: f64| {
        let verdict = if value <= limit { "PASS" } else { "above" };
        println!("| {what} | {value:.1} | {limit} | {verdict} |");
    };
    let first = |at: usize| all[at].added(&all[0], |it| it.first[1]);
    for at in [2, 3] {
        let what = format!(
            "{}: added time to the first frame ÷ the bare proxy's, p99",
            all[at].name
        );
        row(&what, first(at) / first(1), 3.0);
    }
    for (quantile, at) in [("p50", 0), ("p99", 1)] {
        let frame = all[3].added(&all[1], |it| it.frame[at]) * 1e6;
        let what = format!("with a tool: µs a frame more than the bare proxy, {quantile}");
        row(&what, frame, 10.0);
    }
    row(
        "µs of a reply with a call more than of one without, p50",
        p50,
        200.0,
    );
    row("the same, p99", p99, 200.0);
    println!("| MB of the idle gateway | {:.1} | | |", idle / 1e6);
    if let Some(idle) = idle_of_peer {
        println!("| MB of LiteLLM, idle | {:.0} | | |", idle / 1e6);
    }
    println!(
        "\n| streams of {FRAMES} × 20 ms at once | streams | lost | stalled | latest frame, ms |"
    );
    println!("|---|---|---|---|---|");
    for contestant in &all {
        let is_peer = contestant.name == "LiteLLM";
        let streams = if is_peer { MANY_OF_PEER } else { MANY };
        let many = many(contestant, streams, &sent).await?;
        println!(
            "| {} | {streams} | {} | {} | {:.1} |",
            contestant.name,
            many.lost,
            many.stalled,
            many.latest * 1e3
        );
    }
    Ok(())
}

impl<'s> Contestant<'s> {
    async fn new(
        name: &'static str,
        address: &str,
        server: Option<&'s Server>,
        tools: bool,
    ) -> Result<Self, Failure> {
        let mut connection = Connection::open(address).await?;
        for _ in 0..20 {
            connection
                .ask(&body(0, Pace::Single, 1, true, tools))
                .await?;
        }
        Ok(Self {
            name,
            address: address.to_owned(),
            server,
            tools,
            connection,
            rounds: Vec::new(),
        })
    }

    /// The median of a figure.
    fn figure(&self, figure: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(figure))
    }

    /// The median of what a figure is larger than that of another in the same round.
    fn added(&self, to: &Self, figure: impl Fn(&Round) -> f64) -> f64 {
        let pairs = self.rounds.iter().zip(&to.rounds);
        median(pairs.map(|(here, there)| figure(here) - figure(there)))
    }
}

/// One round of all.
async fn round(all: &mut [Contestant<'_>], sent: &Sent) -> Result<(), Failure> {
    let mut whole = vec![Vec::new(); all.len()];
    let mut first = vec![Vec::new(); all.len()];
    for _ in 0..REQUESTS {
        for (at, one) in all.iter_mut().enumerate() {
            let timed = one
                .connection
                .ask(&body(0, Pace::Single, 1, false, one.tools))
                .await?;
            whole[at].push((timed.ended - timed.asked).as_secs_f64());
            let timed = one
                .connection
                .ask(&body(0, Pace::Single, 1, true, one.tools))
                .await?;
            let came = timed.chunks.first().ok_or("no frame")?;
            first[at].push((*came - timed.asked).as_secs_f64());
        }
    }
    for (at, one) in all.iter_mut().enumerate() {
        let timed = one
            .connection
            .ask(&body(0, Pace::Timed, FRAMES, true, one.tools))
            .await?;
        let mut late = lateness(&timed, sent, 0)?;
        let pairs = timed.chunks.windows(2);
        let mut gaps: Vec<_> = pairs
            .map(|pair| (pair[1] - pair[0]).as_secs_f64())
            .collect();
        let a_second = a_second(one).await?;
        one.rounds.push(Round {
            whole: quantile(&mut whole[at], 99),
            first: [50, 99].map(|it| quantile(&mut first[at], it)),
            frame: [50, 99].map(|it| quantile(&mut late, it)),
            gap: quantile(&mut gaps, 99),
            a_second,
        });
    }
    Ok(())
}

/// Seconds from the write of each frame to its read.
fn lateness(timed: &Timed, sent: &Sent, number: usize) -> Result<Vec<f64>, Failure> {
    if timed.chunks.len() != FRAMES {
        return Err(format!("{} frames of {FRAMES}", timed.chunks.len()).into());
    }
    let times = timed.chunks.iter().zip(&sent.times[number]);
    let late = times.map(|(came, went)| {
        let came = came.duration_since(sent.began).as_nanos() as f64;
        (came - went.load(Ordering::Relaxed) as f64) / 1e9
    });
    Ok(late.collect())
}

/// Requests for each second of CPU time, with several connections.
async fn a_second(one: &Contestant<'_>) -> Result<f64, Failure> {
    let Some(server) = one.server else {
        return Ok(0.0);
    };
    let each = if one.name == "LiteLLM" { 4 } else { REQUESTS };
    let body: Arc<str> = body(0, Pace::Single, 1, false, one.tools).into();
    let before = server.cpu()?;
    let mut clients = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (address, body) = (one.address.clone(), Arc::clone(&body));
        clients.spawn(async move {
            let mut connection = Connection::open(&address).await?;
            for _ in 0..each {
                connection.ask(&body).await?;
            }
            Ok::<(), Failure>(())
        });
    }
    while let Some(done) = clients.join_next().await {
        done??;
    }
    Ok((CONNECTIONS * each) as f64 / (server.cpu()? - before))
}

/// Seconds that a reply with a call takes longer than one without: p50 and p99.
async fn a_call(connection: &mut Connection) -> Result<[f64; 2], Failure> {
    let (mut prose, mut call) = (Vec::new(), Vec::new());
    for _ in 0..REQUESTS {
        for (pace, times) in [(Pace::Prose, &mut prose), (Pace::Call, &mut call)] {
            let timed = connection.ask(&body(0, pace, 1, true, true)).await?;
            if timed.has_call != (pace == Pace::Call) {
                return Err("a call was not read as one".into());
            }
            times.push((timed.ended - timed.asked).as_secs_f64());
        }
    }
    Ok([50, 99].map(|it| quantile(&mut call, it) - quantile(&mut prose, it)))
}

/// The outcome of many streams at once.
struct Many {
    lost: usize,
    stalled: usize,
    latest: f64,
}

async fn many(one: &Contestant<'_>, count: usize, sent: &Arc<Sent>) -> Result<Many, Failure> {
    let mut streams = JoinSet::new();
    for number in 0..count {
        let (address, tools, sent) = (one.address.clone(), one.tools, Arc::clone(sent));
        streams.spawn(async move {
            let mut connection = Connection::open(&address).await?;
            let timed = connection
                .ask(&body(number, Pace::Timed, FRAMES, true, tools))
                .await?;
            let late = lateness(&timed, &sent, number)?;
            Ok::<f64, Failure>(late.into_iter().fold(0.0, f64::max))
        });
    }
    let mut many = Many {
        lost: 0,
        stalled: 0,
        latest: 0.0,
    };
    while let Some(done) = streams.join_next().await {
        match done? {
            Ok(latest) => {
                many.stalled += usize::from(latest > STALL.as_secs_f64());
                many.latest = many.latest.max(latest);
            }
            Err(_) => many.lost += 1,
        }
    }
    Ok(many)
}

fn show(all: &[Contestant<'_>]) {
    let direct = &all[0];
    println!("\n### One request at a time\n");
    println!(
        "Without a gateway: an answer {:.0} µs (p99), the first frame {:.0} and {:.0} µs, a frame {:.0} and {:.0} µs (p50 and p99).\n",
        direct.figure(|it| it.whole) * 1e6,
        direct.figure(|it| it.first[0]) * 1e6,
        direct.figure(|it| it.first[1]) * 1e6,
        direct.figure(|it| it.frame[0]) * 1e6,
        direct.figure(|it| it.frame[1]) * 1e6,
    );
    println!(
        "| added by, µs | an answer, p99 | first frame, p50 | p99 | a frame, p50 | p99 | between frames, p99 | requests a second of one core |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for one in &all[1..] {
        let figures: [fn(&Round) -> f64; 6] = [
            |it| it.whole,
            |it| it.first[0],
            |it| it.first[1],
            |it| it.frame[0],
            |it| it.frame[1],
            |it| it.gap,
        ];
        let cells = figures.map(|figure| format!("{:.0}", one.added(direct, figure) * 1e6));
        println!(
            "| {} | {} | {:.0} |",
            one.name,
            cells.join(" | "),
            one.figure(|it| it.a_second)
        );
    }
}

fn median(all: impl Iterator<Item = f64>) -> f64 {
    quantile(&mut all.collect::<Vec<_>>(), 50)
}

fn quantile(all: &mut [f64], percent: usize) -> f64 {
    all.sort_by(f64::total_cmp);
    let at = all.len() * percent / 100;
    all.get(at.min(all.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0.0)
}
