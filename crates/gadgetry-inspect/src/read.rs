//! Recordings from files.

use std::io::BufRead;

use gadgetry::log::{LogError, is_log, replay};
use gadgetry::{Event, Observer as _};
use gadgetry_files as files;

use crate::recorder::Recorder;
use crate::recording::Recording;

/// Maximum bytes of a line with an event.
const LINE: u64 = 64 << 20;

impl Recording {
    /// Reads a log, or events as JSON Lines. A log has requests and replies, events have not.
    ///
    /// A log that ends before its run is read as far as it is.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is neither, with the number of the line.
    pub fn read(mut file: impl BufRead) -> Result<Self, LogError> {
        let beginning = file.fill_buf()?;
        if beginning.is_empty() {
            return Err(LogError::Empty);
        }
        let mut recorder = Recorder::default();
        if is_log(beginning) {
            replay(file, &mut recorder)?;
        } else {
            read_events(file, &mut recorder)?;
        }
        Ok(recorder.finish())
    }
}

fn read_events(mut file: impl BufRead, recorder: &mut Recorder) -> Result<(), LogError> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if files::line(&mut file, &mut line, LINE)? == 0 {
            break;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let event: Event = serde_json::from_slice(text).map_err(|error| LogError::Line {
            line: number,
            problem: error.to_string(),
        })?;
        recorder.event(&event);
    }
    Ok(())
}
