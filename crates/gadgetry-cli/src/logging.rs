//! The diagnostic log on stderr.

use std::env;
use std::io::{self, Write};

use gadgetry::proto::visible::visible;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::error::Error;

/// The variable that sets the level.
const VARIABLE: &str = "GADGETRY_LOG";

/// Starts the log at the level of `-v`, `-vv` or `-vvv`, or else at that of the environment. Off without either.
pub(crate) fn start(verbose: u8) -> Result<(), Error> {
    let level = match verbose {
        0 => of_environment()?,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    if level == LevelFilter::OFF {
        return Ok(());
    }
    // Only our own events: libraries for HTTP may log headers, which hold keys.
    let ours = Targets::new().with_target("gadgetry", level);
    let lines = fmt::layer().with_ansi(false).with_writer(|| Stderr);
    let started = tracing_subscriber::registry().with(lines.with_filter(ours));
    started.try_init().map_err(Error::input)
}

/// Returns whether there is a log.
pub(crate) fn is_on() -> bool {
    LevelFilter::current() != LevelFilter::OFF
}

fn of_environment() -> Result<LevelFilter, Error> {
    let Some(level) = env::var_os(VARIABLE).filter(|level| !level.is_empty()) else {
        return Ok(LevelFilter::OFF);
    };
    let level = level.to_string_lossy();
    level.parse().map_err(|_| {
        let message = "unknown level; expected error, warn, info, debug, trace or off";
        Error::at(VARIABLE, message)
    })
}

/// Stderr, where no text commands the terminal. The log writes a whole line at once.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        io::stderr().write_all(visible(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
