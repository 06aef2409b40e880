//! Errors in stored documents.

/// Error in a stored document.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("its checksum differs from the stored one; a disk or another program has changed it")]
    Sum,
    #[error("its long values have more than 256 MiB")]
    Large,
    #[error("the long value {0} is missing or damaged")]
    Missing(String),
}
