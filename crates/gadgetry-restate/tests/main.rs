//! Runs on a real Restate server, which `cargo xtask test servers` installs. Without it, each test says that it is
//! skipped.

mod crash;
mod listener;
mod messages;
mod module_order;
mod questions;
mod spread;
mod support;
mod workers;

use support::worker;

/// Is no test: the process of a worker, which tests start and kill.
#[test]
fn worker_process() {
    worker::run_if_asked();
}
