//! Images, audio and files.

use serde::{Deserialize, Serialize};

/// A medium in a message of the user or in the result of a gadget.
///
/// ```
/// use gadgetry_proto::media::{Media, MediaData, MediaKind};
/// let chart = Media {
///     kind: MediaKind::Image,
///     mime_type: "image/png".into(),
///     data: MediaData::Url("https://example.com/chart.png".into()),
///     name: Some("chart.png".into()),
/// };
/// assert_eq!(chart.caption(), "[image: chart.png (image/png)]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Media {
    /// The kind of medium, for the model.
    pub kind: MediaKind,
    /// The media type, such as `image/png`.
    pub mime_type: String,
    /// The bytes, or their URL.
    pub data: MediaData,
    /// A display name, often a file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Media {
    /// A line that replaces it where only text can be read. Its name and its type are data of others: what could begin a line, a call
    /// or a marker there is an underscore.
    pub fn caption(&self) -> String {
        let kind = match self.kind {
            MediaKind::Image => "image",
            MediaKind::Audio => "audio",
            MediaKind::File => "file",
        };
        let name = self.name.as_deref().map_or("unnamed".into(), label);
        format!("[{kind}: {name} ({})]", label(&self.mime_type))
    }
}

/// Returns a text in which only letters, digits, spaces and the signs of usual file names and MIME types are left.
fn label(text: &str) -> String {
    let is_usual = |c: char| c.is_alphanumeric() || " ._-+/@,&()~".contains(c);
    text.chars()
        .map(|c| if is_usual(c) { c } else { '_' })
        .collect()
}

/// The kind of a medium, for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum MediaKind {
    /// A picture that the model looks at.
    Image,
    /// A recording that the model listens to.
    Audio,
    /// A file of any other type.
    File,
}

/// The bytes of a medium, or where they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum MediaData {
    /// The bytes, in standard Base64 with padding.
    Base64(String),
    /// The URL of the bytes.
    Url(String),
}
