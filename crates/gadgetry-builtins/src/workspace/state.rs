//! Distinguishes a file or a folder from another one that has taken its place.

use std::time::UNIX_EPOCH;

use cap_fs_ext::MetadataExt as _;
use cap_std::fs::Metadata;
use cap_std::time::SystemTime;

/// Returns what distinguishes a folder from others. A number that was free may be used again, the time when it was made cannot.
pub(crate) fn identity(metadata: &Metadata) -> String {
    let made = metadata.created().ok().map(SystemTime::into_std);
    let made = made.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let made = made.map_or(0, |it| it.as_nanos());
    format!("{}:{}:{made}", metadata.dev(), metadata.ino())
}

/// Returns what differs as soon as a file is another one, or was changed.
pub(crate) fn of(metadata: &Metadata) -> String {
    let changed = metadata.modified().ok();
    let (identity, length) = (identity(metadata), metadata.len());
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        // Others can set the time of a modification, but not this one.
        let (seconds, nanoseconds) = (metadata.ctime(), metadata.ctime_nsec());
        format!("{identity} {length} {changed:?} {seconds} {nanoseconds}")
    }
    #[cfg(not(unix))]
    format!("{identity} {length} {changed:?}")
}
