//! `gadgetry export`: the spans of a saved run, sent to a collector.

use std::fs::File;
use std::io::{BufReader, Seek as _};
use std::time::{Duration, SystemTime};

use gadgetry::log::{LogError, replay};
use gadgetry::proto::event::Event;
use gadgetry::proto::time::Time;
use gadgetry_files as files;
use gadgetry_otel::Exporter;

use crate::cli::SpansArgs;
use crate::error::Error;
use crate::input::unreadable;

pub(crate) async fn run(args: &SpansArgs, content: bool) -> Result<(), Error> {
    let place = args.file.display();
    let unreadable = |error| unreadable(&place, &error);
    let exporter = Exporter::from_env_for_replay("gadgetry").map_err(Error::input)?;
    let exporter = exporter.ok_or_else(|| {
        let url = "http://127.0.0.1:4318";
        Error::input(format_args!(
            "OTEL_EXPORTER_OTLP_ENDPOINT names no collector; set it to a URL like {url}"
        ))
    })?;
    let mut file = files::open(&args.file).map_err(unreadable)?;
    let damaged = |error| {
        if let LogError::Io(error) = error {
            unreadable(error)
        } else {
            Error::at(&place, error)
        }
    };
    let start = start(&mut file, damaged)?;
    let spans = exporter.spans().content(content);
    let replayed = tokio::task::spawn_blocking(move || {
        replay(BufReader::new(&file), &mut spans.replay(start)).map(drop)
    });
    let replayed = replayed.await.map_err(Error::input)?;
    replayed.map_err(damaged)?;
    let sent = exporter.shutdown().await;
    sent.map_err(|error| Error::Failed(error.to_string()))
}

/// When the run of a log that does not say it began: the log was written until the run ended. The file is at its beginning again.
fn start(file: &mut File, damaged: impl Fn(LogError) -> Error) -> Result<SystemTime, Error> {
    let written = file.metadata().and_then(|it| it.modified());
    let written = written.map_err(|error| damaged(error.into()))?;
    let mut last = Time::default();
    replay(BufReader::new(&*file), &mut |event: &Event| {
        last = event.time;
    })
    .map_err(&damaged)?;
    file.rewind().map_err(|error| damaged(error.into()))?;
    let took = Duration::from_millis(last.0);
    Ok(written.checked_sub(took).unwrap_or(written))
}
