//! A gateway under load and next to others: streams a second, added latency, memory.
//!
//! This process is the upstream and the clients. The others are the gateway, a bare proxy, and, if `--litellm PYTHON` says where it
//! is installed, the proxy of `LiteLLM`. Each has its CPU time measured by the kernel, so what the load itself costs does not count.
//!
//! | arguments | what |
//! |---|---|
//! | `serve URL`, `proxy ADDRESS` | the processes of the gateway and of the bare proxy |
//! | `load` | many streams at once: replies of 2,000 chunks of four bytes to requests with a tool |
//! | `flat` | streams as fast as they come, alone, for a profiler |
//! | `added` | what a request and a frame take longer than without the gateway, one at a time and with 512 streams |
//! | none of them | `load` and `added` |

#![expect(clippy::print_stdout, reason = "the tables are what it is run for")]
#![expect(clippy::cast_precision_loss, reason = "the counts are small")]

mod added;
mod client;
mod load;
mod proxy;
mod server;
mod upstream;

use std::io;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Streams at once.
const STREAMS: usize = 256;
/// Streams that are open and silent.
const IDLE: usize = 10_000;

fn main() -> Result<(), Failure> {
    more_files();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let python = words
        .iter()
        .position(|it| *it == "--litellm")
        .and_then(|at| words.get(at + 1))
        .copied();
    let runtime = runtime()?;
    match words.as_slice() {
        ["serve", url, ..] => runtime.block_on(server::serve(url)),
        ["proxy", address, ..] => runtime.block_on(proxy::serve((*address).to_owned())),
        ["flat", ..] => runtime.block_on(load::only_flat(python)),
        ["load", ..] => runtime.block_on(load::compare(python)),
        ["added", ..] => runtime.block_on(added::compare(python)),
        _ => {
            runtime.block_on(added::compare(python))?;
            runtime.block_on(load::compare(python))
        }
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
