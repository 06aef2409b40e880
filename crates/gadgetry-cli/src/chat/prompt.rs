//! A message, as it was typed and as the model reads it.

use gadgetry::Media;

/// A message of the user.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    pub(super) typed: String,
    /// With what it means: instructions of a skill, files that it mentions.
    pub(super) full: String,
    /// Images that it shows.
    pub(super) images: Vec<Media>,
    /// Reasons why files that it mentions are missing.
    pub(super) problems: Vec<String>,
}
