//! Processes that are measured.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gadgetry_gateway::exchange::{MarkerStyle, RulesPatch};
use gadgetry_gateway::settings::ServerLimits;
use gadgetry_gateway::upstream::{Target, Upstream};
use gadgetry_gateway::{Gateway, Settings, server};
use gadgetry_providers::resolve::Api;
use gadgetry_providers::{BaseUrl, HttpConfig};
use tokio::net::TcpListener;

use crate::client::stream;
use crate::upstream::Pace;
use crate::{Failure, IDLE};

/// A process that is measured.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    folder: Option<tempfile::TempDir>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// The gateway before a server at this address.
    pub(crate) fn ours(upstream: &str) -> Result<Self, Failure> {
        Self::of(&["serve", &format!("http://{upstream}/v1")])
    }

    /// A bare proxy before a server at this address.
    pub(crate) fn bare(upstream: &str) -> Result<Self, Failure> {
        Self::of(&["proxy", upstream])
    }

    /// This program in another process, which prints its address.
    fn of(args: &[&str]) -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(args)
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

    /// The proxy of `LiteLLM` before a server at this address.
    pub(crate) async fn litellm(python: &str, upstream: &str) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let config = folder.path().join("config.yaml");
        let text = format!(
            "model_list:\n  - model_name: m\n    litellm_params:\n      model: hosted_vllm/m\n      api_base: http://{upstream}/v1\n      \
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
    pub(crate) fn cpu(&self) -> Result<f64, Failure> {
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
    pub(crate) fn memory(&self) -> Result<f64, Failure> {
        self.status("VmRSS:")
    }

    /// The most bytes in memory so far.
    pub(crate) fn peak(&self) -> Result<f64, Failure> {
        self.status("VmHWM:")
    }
}

/// The gateway, on one thread.
pub(crate) async fn serve(url: &str) -> Result<(), Failure> {
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
        .rules(RulesPatch {
            // So that the upstream of the bench knows how to write a call.
            markers: Some(MarkerStyle::Plain),
            ..RulesPatch::default()
        })
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
