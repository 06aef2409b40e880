//! Two workers behind a load balancer.

use std::process::Stdio;

use tokio::process::{Child, Command};

use super::World;
use super::restate::{free_ports, server, until_listening};
use super::worker::WorkerProcess;

/// haproxy and its workers. Killed when dropped.
pub(crate) struct Proxy {
    _process: Child,
    url: String,
    workers: Vec<WorkerProcess>,
}

impl Proxy {
    /// Starts haproxy and two workers; `None`, with a notice, if it is not installed.
    pub(crate) async fn start(world: &World) -> Option<Self> {
        let program = server("haproxy")?;
        let [port, one, other] = free_ports();
        let config = format!(
            "defaults\n mode http\n option redispatch 1\n retries 3\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n\
             frontend restate\n bind 127.0.0.1:{port} proto h2\n default_backend workers\n\
             backend workers\n balance roundrobin\n default-server proto h2\n \
             server one 127.0.0.1:{one}\n server other 127.0.0.1:{other}\n"
        );
        let file = world.path().join("haproxy.cfg");
        std::fs::write(&file, config).expect("it is written");
        let process = Command::new(&program[0])
            .args(&program[1..])
            .arg("-db")
            .arg("-f")
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("it was started when it was installed");
        until_listening(&format!("127.0.0.1:{port}")).await;
        let mut proxy = Self {
            _process: process,
            url: format!("http://127.0.0.1:{port}"),
            workers: Vec::new(),
        };
        for port in [one, other] {
            proxy.add(world, &format!("127.0.0.1:{port}")).await;
        }
        Some(proxy)
    }

    async fn add(&mut self, world: &World, address: &str) {
        let worker = WorkerProcess::at(world, &[&self.url], address).await;
        self.workers.push(worker);
    }

    /// Kills one of the workers, and returns its address.
    pub(crate) async fn kill(&mut self, process: u32) -> String {
        let mut workers = self.workers.iter();
        let at = workers.position(|it| it.id() == Some(process));
        let worker = self.workers.remove(at.expect("it is one of them"));
        let address = worker.address.clone();
        worker.kill().await;
        address
    }

    /// Kills the first one.
    pub(crate) async fn kill_first(&mut self) {
        self.workers.remove(0).kill().await;
    }

    /// Starts a worker in the place of one that was killed.
    pub(crate) async fn restart(&mut self, world: &World, address: &str) {
        self.add(world, address).await;
    }
}
