//! A gateway under load: streams a second, added latency, memory, next to the proxy of `LiteLLM`.
//!
//! Three processes: this one is the upstream and the clients, the others are the gateway and, if `--litellm PYTHON` says where it
//! is installed, that proxy. Each has its CPU time measured by the kernel, so what the load itself costs does not count.
//!
//! `gateway serve URL` is the gateway process, and `gateway flat` measures streams as fast as they come alone, for a profiler. A stream is a reply of 2,000 chunks of four bytes to a request with a tool.

#![expect(clippy::print_stdout, reason = "the tables are what it is run for")]
#![expect(clippy::cast_precision_loss, reason = "the counts are small")]

mod support;

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gadgetry_gateway::settings::ServerLimits;
use gadgetry_gateway::upstream::{Target, Upstream};
use gadgetry_gateway::{Gateway, Settings, server};
use gadgetry_providers::resolve::Api;
use gadgetry_providers::{BaseUrl, HttpConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use support::{CONTENT, Pace, READY, Sent, upstream_of};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Chunks of a stream.
const CHUNKS: usize = 2_000;
/// Streams at once.
const STREAMS: usize = 256;
/// Chunks of a stream without the gateway, for its latency alone.
const DIRECT_CHUNKS: usize = 250;
/// Streams that are open and silent.
const IDLE: usize = 10_000;
/// Streams through the other proxy: each takes it long.
const PEER_STREAMS: usize = 4;
/// How often the two are compared.
const ROUNDS: usize = 3;
fn main() -> Result<(), Failure> {
    more_files();
    let args: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [_, "serve", url, ..] => runtime()?.block_on(serve(url)),
        [_, "flat", "--litellm", python] => runtime()?.block_on(only_flat(Some(python))),
        [_, "flat", ..] => runtime()?.block_on(only_flat(None)),
        [_, rest @ ..] => {
            let python = rest
                .iter()
                .position(|it| *it == "--litellm")
                .and_then(|at| rest.get(at + 1));
            runtime()?.block_on(compare(python.copied()))
        }
        [] => Ok(()),
    }
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Ten thousand streams have twenty thousand sockets.
fn more_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let allowed = limit.maximum;
    // Only root may have more than it was given. With fewer, the idle streams are fewer, which the table says.
    for most in [Some(65_536), allowed] {
        (limit.current, limit.maximum) = (most, most);
        if setrlimit(Resource::Nofile, limit).is_ok() {
            return;
        }
    }
}

/// The gateway, on one thread.
async fn serve(url: &str) -> Result<(), Failure> {
    let target = Target::Server {
        url: BaseUrl::new(url),
        api: Api::Chat,
        key: None,
    };
    let settings = Settings::default()
        .upstreams(vec![Arc::new(Upstream::new(
            "load",
            target,
            HttpConfig::new(),
        )?)])
        .limits(ServerLimits {
            requests: 2 * IDLE,
            connections: 2 * IDLE,
            ..ServerLimits::default()
        });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    server::serve(listener, Gateway::new(settings), std::future::pending()).await;
    Ok(())
}

async fn only_flat(python: Option<&str>) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let upstream = listener.local_addr()?.to_string();
    let sent = Sent {
        began: Instant::now(),
        times: Vec::new(),
    };
    tokio::spawn(upstream_of(listener, Arc::new(sent)));
    let gateway = Server::ours(&format!("http://{upstream}/v1"))?;
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

async fn compare(python: Option<&str>) -> Result<(), Failure> {
    let sent = Arc::new(Sent {
        began: Instant::now(),
        times: (0..STREAMS)
            .map(|_| (0..CHUNKS).map(|_| AtomicU64::new(0)).collect())
            .collect(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let upstream = listener.local_addr()?.to_string();
    tokio::spawn(upstream_of(listener, Arc::clone(&sent)));

    let gateway = Server::ours(&format!("http://{upstream}/v1"))?;
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
    let peer = Server::litellm(python, &format!("http://{upstream}/v1")).await?;
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

/// A process that is measured.
struct Server {
    child: Child,
    address: String,
    folder: Option<tempfile::TempDir>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What streams have cost.
struct Throughput {
    per_cpu_second: f64,
    lost: usize,
}

impl Server {
    fn ours(upstream: &str) -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", upstream])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("there is a pipe")?;
        BufReader::new(output).read_line(&mut line)?;
        Ok(Self {
            child,
            address: line.trim().to_owned(),
            folder: None,
        })
    }

    async fn litellm(python: &str, upstream: &str) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let config = folder.path().join("config.yaml");
        let text = format!(
            "model_list:\n  - model_name: m\n    litellm_params:\n      model: hosted_vllm/m\n      api_base: {upstream}\n      \
             api_key: none\nlitellm_settings:\n  telemetry: false\n"
        );
        fs::write(&config, text)?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        let child = Command::new(python)
            .args([
                "-c",
                "from litellm import run_server; run_server()",
                "--host",
                "127.0.0.1",
                "--port",
            ])
            .arg(port.to_string())
            .arg("--config")
            .arg(&config)
            .env("LITELLM_MASTER_KEY", "sk-bench")
            .env("LITELLM_LOG", "ERROR")
            .current_dir(folder.path())
            .stdout(fs::File::create(folder.path().join("log"))?)
            .stderr(fs::File::create(folder.path().join("errors"))?)
            .spawn()?;
        let server = Self {
            child,
            address: format!("127.0.0.1:{port}"),
            folder: Some(folder),
        };
        let began = Instant::now();
        loop {
            let asked = stream(&server.address, 0, Pace::Flat, 10, None);
            let problem = match tokio::time::timeout(Duration::from_secs(30), asked).await {
                Ok(Ok(_)) => return Ok(server),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer within 30 s".to_owned(),
            };
            if began.elapsed() > Duration::from_mins(3) {
                let folder = server
                    .folder
                    .as_ref()
                    .map(|folder| folder.path().join("errors"));
                let errors = folder
                    .and_then(|file| fs::read_to_string(file).ok())
                    .unwrap_or_default();
                return Err(format!("LiteLLM does not answer: {problem}\n{errors}").into());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// The CPU time of the process in seconds.
    fn cpu(&self) -> Result<f64, Failure> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(')').ok_or("a stat file")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |at: usize| {
            fields
                .get(at)
                .and_then(|it| it.parse::<f64>().ok())
                .unwrap_or(0.0)
        };
        Ok((ticks(11) + ticks(12)) / 100.0)
    }

    fn status(&self, field: &str) -> Result<f64, Failure> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kb.ok_or("a status file")? * 1024.0)
    }

    /// Bytes in memory now.
    fn memory(&self) -> Result<f64, Failure> {
        self.status("VmRSS:")
    }

    /// The most bytes in memory so far.
    fn peak(&self) -> Result<f64, Failure> {
        self.status("VmHWM:")
    }

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

/// One stream: when each chunk has arrived.
async fn stream(
    address: &str,
    number: usize,
    pace: Pace,
    chunks: usize,
    ready: Option<tokio::sync::mpsc::UnboundedSender<()>>,
) -> Result<Vec<Instant>, Failure> {
    let word = match pace {
        Pace::Flat => "flat",
        Pace::Single => "single",
        Pace::Paced => "paced",
        Pace::Silent => "silent",
    };
    let body = format!(
        "{{\"model\":\"m\",\"stream\":true,\"messages\":[{{\"role\":\"user\",\"content\":\"load {number} {word} {chunks} .\"}}],\
         \"tools\":[{{\"type\":\"function\",\"function\":{{\"name\":\"look\",\"description\":\"Looks\",\"parameters\":{{\"type\":\"object\",\
         \"properties\":{{\"at\":{{\"type\":\"string\"}}}}}}}}}}]}}"
    );
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nauthorization: Bearer sk-bench\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body.as_bytes()).await?;
    let mut arrived = Vec::with_capacity(chunks);
    let mut buffer = vec![
        0;
        if pace == Pace::Silent {
            2_048
        } else {
            16 << 10
        }
    ];
    let mut kept = 0;
    loop {
        let read = socket.read(&mut buffer[kept..]).await?;
        let now = Instant::now();
        let text = &buffer[..kept + read];
        if arrived.is_empty() && !text.starts_with(b"HTTP/1.1 200") && text.len() > 12 && kept == 0
        {
            return Err(String::from_utf8_lossy(text).into_owned().into());
        }
        let found = memchr::memmem::find_iter(text, CONTENT);
        let mut end = 0;
        for at in found {
            arrived.push(now);
            end = at + CONTENT.len();
        }
        let is_over = read == 0 || memchr::memmem::find(text, b"data: [DONE]").is_some();
        if is_over || arrived.len() >= chunks && pace == Pace::Paced {
            return Ok(arrived);
        }
        if pace == Pace::Silent && !arrived.is_empty() {
            if let Some(ready) = &ready {
                let _ = ready.send(());
            }
            std::future::pending::<()>().await;
        }
        // What may be the beginning of a chunk's content or of the end.
        let rest = text.len().saturating_sub(16).max(end);
        let total = text.len();
        buffer.copy_within(rest..total, 0);
        kept = total - rest;
    }
}
