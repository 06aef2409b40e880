//! The three markers of the block format, and where they count as markers.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::error::{Classified, Fault};

/// The markers that delimit a gadget block.
///
/// ```
/// use gadgetry_proto::block::Markers;
/// let markers = Markers::new("<<<START:", "<<<END:", "@param:")?;
/// assert_eq!(markers.arg(), "@param:");
/// assert_eq!(Markers::default().start(), "!!!GADGET_START:");
/// # Ok::<(), gadgetry_proto::block::MarkerError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "RawMarkers", into = "RawMarkers")]
pub struct Markers {
    start: String,
    end: String,
    arg: String,
}

impl Default for Markers {
    fn default() -> Self {
        Self {
            start: "!!!GADGET_START:".to_owned(),
            end: "!!!GADGET_END".to_owned(),
            arg: "!!!ARG:".to_owned(),
        }
    }
}

impl Markers {
    /// Checks the markers: none may be empty, contain a line break or begin with whitespace, and none may begin with
    /// another one, for then no parser could tell them apart.
    pub fn new(
        start: impl Into<String>,
        end: impl Into<String>,
        arg: impl Into<String>,
    ) -> Result<Self, MarkerError> {
        let markers = Self {
            start: start.into(),
            end: end.into(),
            arg: arg.into(),
        };
        let named = [
            ("start", &markers.start),
            ("end", &markers.end),
            ("argument", &markers.arg),
        ];
        for (name, marker) in named {
            if marker.is_empty() {
                return Err(MarkerError::Empty { name });
            }
            if marker.contains(['\n', '\r']) || marker.starts_with(char::is_whitespace) {
                return Err(MarkerError::WhiteSpace {
                    name,
                    marker: marker.clone(),
                });
            }
        }
        for (name, marker) in named {
            for (other_name, other) in named {
                if name == other_name || !other.starts_with(marker.as_str()) {
                    continue;
                }
                return Err(if marker == other {
                    MarkerError::Equal {
                        name,
                        other_name,
                        marker: marker.clone(),
                    }
                } else {
                    MarkerError::Prefix {
                        name,
                        other_name,
                        marker: marker.clone(),
                    }
                });
            }
        }
        Ok(markers)
    }

    /// Markers that only who has seen `seed` can write: the default ones with two words of a list of 1,024, so 20 bits of it.
    ///
    /// The same seed gives the same markers. Take a new random one for each run.
    ///
    /// Each word is one token of its own for `GPT-4o`, Llama 3, Qwen 2.5, Gemma 3 and `SmolLM2`, also after a capital letter and before a colon:
    /// a call with one parameter costs six tokens more than with the default markers, where eight hexadecimal digits cost 24.
    ///
    /// ```
    /// use gadgetry_proto::block::Markers;
    /// assert_eq!(Markers::nonce(1).start(), "!!!GADGET_START option client:");
    /// ```
    #[must_use]
    pub fn nonce(seed: u64) -> Self {
        let bits = mix(seed) >> 44;
        let (one, two) = (word(bits >> 10), word(bits & 1023));
        Self {
            start: format!("!!!GADGET_START {one} {two}:"),
            end: format!("!!!GADGET_END {one} {two}"),
            arg: format!("!!!ARG {one} {two}:"),
        }
    }

    /// The words that make these markers different from those of other runs; none unless they have the form of [`Markers::nonce`].
    ///
    /// ```
    /// use gadgetry_proto::block::Markers;
    /// assert_eq!(Markers::nonce(1).words(), Some("option client"));
    /// assert_eq!(Markers::default().words(), None);
    /// ```
    pub fn words(&self) -> Option<&str> {
        let words = self.end.strip_prefix("!!!GADGET_END ")?;
        let (one, two) = words.split_once(' ')?;
        let is_nonce = [one, two]
            .iter()
            .all(|word| WORDS.binary_search(word).is_ok())
            && self.start == format!("!!!GADGET_START {words}:")
            && self.arg == format!("!!!ARG {words}:");
        is_nonce.then_some(words)
    }

    /// Returns `true` if they have the form of [`Markers::nonce`], or the one that it had in earlier versions: eight hexadecimal digits.
    ///
    /// ```
    /// use gadgetry_proto::block::Markers;
    /// assert!(Markers::nonce(7).is_nonce());
    /// assert!(!Markers::default().is_nonce());
    /// ```
    pub fn is_nonce(&self) -> bool {
        let digits = self.end.strip_prefix("!!!GADGET_END_").unwrap_or_default();
        let is_hex = digits.len() == 8
            && digits.bytes().all(|it| it.is_ascii_hexdigit())
            && self.start == format!("!!!GADGET_START_{digits}:")
            && self.arg == format!("!!!ARG_{digits}:");
        is_hex || self.words().is_some()
    }

    /// Returns the marker that begins a block.
    pub fn start(&self) -> &str {
        &self.start
    }

    /// Returns the marker that ends a block.
    pub fn end(&self) -> &str {
        &self.end
    }

    /// Returns the marker that begins an argument.
    pub fn arg(&self) -> &str {
        &self.arg
    }
}

/// 1,024 words, in alphabetical order. A saved run has its markers, so the list may change.
static WORDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("markers/words.txt").lines().collect());

/// The word of this number, which is below 1,024.
fn word(number: u64) -> &'static str {
    let place = usize::try_from(number).unwrap_or_default();
    WORDS.get(place).copied().unwrap_or_default()
}

/// The finaliser of splitmix64: every bit of the seed reaches every bit of the result.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Error for invalid markers; always a mistake of the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MarkerError {
    /// A marker is empty.
    #[error("the {name} marker is empty")]
    Empty {
        /// The name of the marker.
        name: &'static str,
    },
    /// A marker contains a line break or begins with whitespace.
    #[error("the {name} marker {marker:?} contains a line break or begins with whitespace")]
    WhiteSpace {
        /// The name of the marker.
        name: &'static str,
        /// The marker.
        marker: String,
    },
    /// Two markers are the same.
    #[error("the {name} marker and the {other_name} marker are both {marker:?}; they must differ")]
    Equal {
        /// The name of the first marker.
        name: &'static str,
        /// The name of the second marker.
        other_name: &'static str,
        /// The marker.
        marker: String,
    },
    /// One marker begins with another.
    #[error(
        "the {other_name} marker begins with the {name} marker {marker:?}; a parser could not distinguish them"
    )]
    Prefix {
        /// The name of the shorter marker.
        name: &'static str,
        /// The name of the longer marker.
        other_name: &'static str,
        /// The shorter marker.
        marker: String,
    },
}

impl Classified for MarkerError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

/// The places where a marker counts as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Anchoring {
    /// Anywhere in the text, as the grammar of the block format reads.
    #[default]
    Anywhere,
    /// Only at the start of a line, after optional blanks. A line that begins with backslashes and a marker is
    /// that line as literal text, less one backslash.
    LineStart,
}

#[derive(Serialize, Deserialize)]
struct RawMarkers {
    start: String,
    end: String,
    arg: String,
}

impl TryFrom<RawMarkers> for Markers {
    type Error = MarkerError;

    fn try_from(raw: RawMarkers) -> Result<Self, MarkerError> {
        Self::new(raw.start, raw.end, raw.arg)
    }
}

impl From<Markers> for RawMarkers {
    fn from(markers: Markers) -> Self {
        Self {
            start: markers.start,
            end: markers.end,
            arg: markers.arg,
        }
    }
}

#[cfg(test)]
mod tests;
