//! Results of gadgets that succeed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gadgetry_proto::call::{Outcome, amount};
use gadgetry_proto::media::{Media, MediaData, MediaKind};
use serde::Serialize;

/// The result of a gadget: a text for the model, its cost, and its media.
///
/// Everything that is [`Serialize`] converts to it: a string is the text itself, `()` is the empty text, a whole number has no
/// fraction, and any other value is written as JSON. A value that JSON cannot express (a map whose keys are lists, say) becomes
/// an error that the model reads.
///
/// ```
/// use gadgetry::GadgetOutput;
///
/// assert_eq!(GadgetOutput::from("sunny").text(), "sunny");
/// assert_eq!(GadgetOutput::from(38.0).text(), "38");
/// assert_eq!(GadgetOutput::from(vec![1.0, 2.5]).text(), "[1.0,2.5]");
/// assert_eq!(GadgetOutput::from(()).text(), "");
///
/// let chart = GadgetOutput::from("The chart").with_image("image/png", [0x89, 0x50]).with_cost(0.001);
/// assert_eq!(chart.media().len(), 1);
/// ```
// It must never be `Serialize`: the conversion from everything that is would overlap with that from itself.
#[derive(Clone, Debug, PartialEq)]
pub struct GadgetOutput {
    result: Result<String, String>,
    cost: f64,
    media: Vec<Media>,
}

impl GadgetOutput {
    /// Makes a result of a text for the model.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            result: Ok(text.into()),
            cost: 0.0,
            media: Vec::new(),
        }
    }

    /// Adds `dollars` to its cost. Anything but a finite amount of 0 or more adds nothing.
    #[must_use]
    pub fn with_cost(mut self, dollars: f64) -> Self {
        self.cost = (self.cost + amount(dollars)).min(f64::MAX);
        self
    }

    /// Adds an image, audio or a file.
    #[must_use]
    pub fn with_media(mut self, media: Media) -> Self {
        self.media.push(media);
        self
    }

    /// Adds an image, such as an `image/png`.
    #[must_use]
    pub fn with_image(self, mime_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        self.with_bytes(MediaKind::Image, mime_type.into(), None, bytes.as_ref())
    }

    /// Adds audio, such as an `audio/mpeg`.
    #[must_use]
    pub fn with_audio(self, mime_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        self.with_bytes(MediaKind::Audio, mime_type.into(), None, bytes.as_ref())
    }

    /// Adds a file with its name, such as an `application/pdf`.
    #[must_use]
    pub fn with_file(
        self,
        name: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl AsRef<[u8]>,
    ) -> Self {
        let name = Some(name.into());
        self.with_bytes(MediaKind::File, mime_type.into(), name, bytes.as_ref())
    }

    fn with_bytes(
        self,
        kind: MediaKind,
        mime_type: String,
        name: Option<String>,
        bytes: &[u8],
    ) -> Self {
        self.with_media(Media {
            kind,
            mime_type,
            data: MediaData::Base64(STANDARD.encode(bytes)),
            name,
        })
    }

    /// Returns the text for the model: the result, or the reason why the value could not be written.
    pub fn text(&self) -> &str {
        match &self.result {
            Ok(text) | Err(text) => text,
        }
    }

    /// Returns the cost in US dollars.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Returns the media in addition to the text.
    pub fn media(&self) -> &[Media] {
        &self.media
    }

    pub(super) fn outcome(self) -> Outcome {
        let base = match self.result {
            Ok(text) => Outcome::ok(text),
            Err(error) => Outcome::error(error),
        };
        Outcome {
            cost: self.cost,
            media: self.media,
            ..base
        }
    }
}

impl<T: Serialize> From<T> for GadgetOutput {
    fn from(value: T) -> Self {
        Self {
            result: text_of(&value),
            ..Self::new("")
        }
    }
}

fn text_of<T: Serialize>(value: &T) -> Result<String, String> {
    let json = serde_json::to_string(value)
        .map_err(|error| format!("The result cannot be written as JSON: {error}"))?;
    if json.starts_with('"') {
        // A JSON string reads back as what it was written from.
        return Ok(serde_json::from_str(&json).unwrap_or(json));
    }
    // Only a number ends so, and a whole one needs no fraction.
    if let Some(whole) = json.strip_suffix(".0") {
        return Ok(whole.to_owned());
    }
    // JSON does not tell nothing from an absent value, but only nothing takes no room.
    let nothing = size_of::<T>() == 0 && json == "null";
    Ok(if nothing { String::new() } else { json })
}
