//! Text in, events as JSON out.

use gadgetry::proto::reply::{ReplyEvent, Scanner, ScannerState};

use crate::blocks::Options;
use crate::schemas::Schemas;

/// Reads one text after another.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    scanner: Scanner,
    events: EventOptions,
}

/// Options that select events, with their schemas.
#[derive(Clone, Debug)]
struct EventOptions {
    schemas: Schemas,
    partials: bool,
}

impl Reader {
    /// `Err` is what is wrong with the options.
    pub(crate) fn new(options: &Options) -> Result<Self, String> {
        let blocks = options.blocks().map_err(|error| error.to_string())?;
        let format = blocks.format(options.tags().to_vec());
        let (every, by_name) = options.schemas();
        Ok(Self {
            scanner: Scanner::new(&format).map_err(|error| error.to_string())?,
            events: EventOptions {
                schemas: Schemas::new(every, by_name)?,
                partials: options.partials(),
            },
        })
    }

    /// Reads more of the text. Each event is appended to `out`, followed by `separator`.
    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<u8>, separator: u8) {
        let events = &self.events;
        self.scanner
            .push(text, &mut |event| events.write(&event, out, separator));
    }

    /// Ends the text. The next one is read as if it were the first.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>, separator: u8) {
        let events = &self.events;
        self.scanner
            .finish(&mut |event| events.write(&event, out, separator));
        self.scanner.restore(ScannerState::default());
    }
}

impl EventOptions {
    fn write(&self, event: &ReplyEvent<'_>, out: &mut Vec<u8>, separator: u8) {
        if !self.partials && matches!(event, ReplyEvent::Argument { .. }) {
            return;
        }
        let schema = if let ReplyEvent::Call(call) = event {
            self.schemas.of(call.header().gadget_name())
        } else {
            None
        };
        event.write_json(schema, out);
        out.push(separator);
    }
}
