//! Tables of models as files: our own format, compressed or not.

use std::io::{self, Read, Write};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use gadgetry_proto::error::{Classified, Fault};
use serde::{Deserialize, Serialize};

use crate::models::date::Date;
use crate::models::spec::ModelSpec;

/// Bytes of a table at most, uncompressed. LiteLLM's has 3 MB.
const LIMIT: u64 = 16 << 20;

/// Source of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Provenance {
    /// Who collected it, like `litellm`, or the address that it was read from.
    pub source: String,
    /// Version at the source, if there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// When it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
}

/// Error for a table of models that cannot be read or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file could not be read or written.
    #[error("cannot read the model table: {0}")]
    Io(io::Error),
    /// Not JSON, or not in our format.
    #[error("malformed model table: {0}")]
    Json(serde_json::Error),
    /// Number of models that differs from the one in the head.
    #[error("truncated model table: {said} models announced, {found} found; download it again")]
    Count {
        /// Number in the head.
        said: usize,
        /// Number of models in the table.
        found: usize,
    },
    /// JSON without any model.
    #[error(
        "the table contains no model: expected LiteLLM's model_prices_and_context_window.json, or a table that gadgetry wrote"
    )]
    Empty,
    /// Larger than any table of models.
    #[error("the model table is larger than {} MiB uncompressed", LIMIT >> 20)]
    TooLarge,
}

impl From<io::Error> for TableError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<serde_json::Error> for TableError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

impl Classified for TableError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }
}

/// Our own format.
#[derive(Serialize, Deserialize)]
pub(super) struct Table {
    #[serde(flatten)]
    pub(super) provenance: Provenance,
    /// Number of models that follow.
    count: usize,
    pub(super) models: Vec<ModelSpec>,
}

impl Table {
    pub(super) fn new(provenance: Provenance, models: Vec<ModelSpec>) -> Self {
        let count = models.len();
        Self {
            provenance,
            count,
            models,
        }
    }

    /// Reads the head of a table of ours, in which this number of models was found.
    pub(super) fn head(text: &str, found: usize) -> Result<Provenance, TableError> {
        let head: Self = serde_json::from_str(text)?;
        let said = head.count;
        if found != said {
            return Err(TableError::Count { said, found });
        }
        Ok(head.provenance)
    }

    /// The same table makes the same bytes: there is no time in them.
    pub(super) fn write(&self, writer: impl Write) -> Result<(), TableError> {
        let mut gzip = GzBuilder::new().write(writer, Compression::best());
        serde_json::to_writer(&mut gzip, self).map_err(unwritten)?;
        gzip.finish()?.flush()?;
        Ok(())
    }

    pub(super) fn checked(self) -> Result<Self, TableError> {
        let found = self.models.len();
        if found != self.count {
            let said = self.count;
            return Err(TableError::Count { said, found });
        }
        if found == 0 {
            return Err(TableError::Empty);
        }
        Ok(self)
    }
}

/// Unpacks a table that was compressed with gzip.
pub(super) fn unpacked(gzip: &[u8]) -> Result<String, TableError> {
    let bytes = bounded(GzDecoder::new(gzip))?;
    String::from_utf8(bytes).map_err(|error| TableError::Io(io::Error::other(error)))
}

/// The table itself can always be written as JSON; a disk may be full.
fn unwritten(error: serde_json::Error) -> TableError {
    if error.is_io() {
        TableError::Io(error.into())
    } else {
        TableError::Json(error)
    }
}

/// Reads at most as many bytes as any table has.
pub(super) fn bounded(reader: impl Read) -> Result<Vec<u8>, TableError> {
    let mut bytes = Vec::new();
    reader.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(TableError::TooLarge);
    }
    Ok(bytes)
}
