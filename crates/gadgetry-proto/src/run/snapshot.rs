//! A saved run.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{Classified, Fault};
use crate::reply::PipelineState;
use crate::run::shared::{put_texts, take_texts};
use crate::run::state::RunState;

/// The format of the snapshots that this version writes, and the only one that it reads.
const VERSION: u32 = 3;

/// Everything that a saved run needs in addition to its [`crate::run::Plan`]. Opaque; made to be serialised, as JSON.
///
/// A long text is written once, wherever else it occurs: a run whose gadget got a value of 1 MiB has a snapshot of little
/// more than that.
///
/// ```
/// use gadgetry_proto::run::{Run, RunConfig, Snapshot};
/// use gadgetry_proto::schema::Registry;
///
/// let plan = RunConfig::default().plan(Registry::default())?;
/// let run = Run::ask(&plan, "Hello");
/// let json = serde_json::to_string(&run.save())?;
/// let saved: Snapshot = serde_json::from_str(&json)?;
/// let same = Run::load(&plan, saved)?;
/// assert_eq!(same.history(), run.history());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot(SnapshotContent);

#[derive(Clone, Debug, PartialEq)]
enum SnapshotContent {
    Readable(Box<Saved>),
    /// A snapshot of another version. It can only be kept and written again.
    Unreadable(Stored<Value>),
}

/// The saved form of a run, as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) state: RunState,
    pub(super) pipeline: PipelineState,
}

/// The written form. Everything but the version may have any form in another version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Stored<J> {
    version: u32,
    #[serde(default)]
    texts: J,
    #[serde(default)]
    run: J,
}

/// Error for a run that could not be loaded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Another version of gadgetry has written the snapshot.
    #[error(
        "the snapshot has version {found}, and this version of gadgetry reads version {expected}; load it with the \
         version of gadgetry that saved it"
    )]
    Version {
        /// The version of the snapshot.
        found: u32,
        /// The version that can be read.
        expected: u32,
    },
}

impl Classified for LoadError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

impl Snapshot {
    pub(super) fn new(saved: Saved) -> Self {
        Self(SnapshotContent::Readable(Box::new(saved)))
    }

    pub(super) fn open(self) -> Result<Saved, LoadError> {
        match self.0 {
            SnapshotContent::Readable(saved) => Ok(*saved),
            SnapshotContent::Unreadable(stored) => Err(LoadError::Version {
                found: stored.version,
                expected: VERSION,
            }),
        }
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            SnapshotContent::Readable(saved) => {
                let json = serde_json::to_string(saved).map_err(S::Error::custom)?;
                let (run, texts) = take_texts(&json);
                let raw = |json: String| RawValue::from_string(json).map_err(S::Error::custom);
                let texts = serde_json::to_string(&texts).map_err(S::Error::custom)?;
                let stored = Stored {
                    version: VERSION,
                    texts: raw(texts)?,
                    run: raw(run.into_owned())?,
                };
                stored.serialize(serializer)
            }
            SnapshotContent::Unreadable(stored) => stored.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Snapshot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::<Box<RawValue>>::deserialize(deserializer)?;
        let Stored {
            version,
            texts,
            run,
        } = stored;
        // The error about a version is for `Run::load`, which says what to do; here it would be one of JSON.
        if version != VERSION {
            let value = |json: Box<RawValue>| serde_json::from_str(json.get());
            return Ok(Self(SnapshotContent::Unreadable(Stored {
                version,
                texts: value(texts).map_err(D::Error::custom)?,
                run: value(run).map_err(D::Error::custom)?,
            })));
        }
        let texts: Vec<String> = serde_json::from_str(texts.get()).map_err(D::Error::custom)?;
        let run = put_texts(run.get(), &texts).ok_or_else(|| {
            D::Error::custom("the snapshot refers to a text that it does not have")
        })?;
        let saved = serde_json::from_str(&run).map_err(D::Error::custom)?;
        Ok(Self::new(saved))
    }
}
