//! The version of the JSON of events.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The version of the JSON of events: `v` in each of them.
///
/// It changes when a reader of the events of the version before could fail or be wrong: a field or type is removed,
/// renamed or means something else. New types of events and new optional fields do not change it.
pub const EVENTS_VERSION: u32 = 1;

/// [`EVENTS_VERSION`] in an event. Any other version is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(EVENTS_VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let version = u32::deserialize(deserializer)?;
        if version == EVENTS_VERSION {
            return Ok(Self);
        }
        Err(D::Error::custom(format!(
            "an event of version {version}; this gadgetry reads version {EVENTS_VERSION}"
        )))
    }
}
