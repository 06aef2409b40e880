//! Reports of media that a backend does not send.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::message::{Content, Media, Message, Request, Role};

use crate::wire::diagnostic;

/// Reason for sending a model no images, audio or other files.
pub(crate) const NO_IMAGES: &str =
    "the model is not known to read images (`ModelInfo::reads_images`)";
pub(crate) const NO_SOUNDS: &str =
    "the model is not known to read audio (`ModelInfo::reads_audio`)";
pub(crate) const NO_FILES: &str = "the API takes no such files";

/// A diagnostic for each new medium that a request leaves out, with the reason that `why` gives.
///
/// Media before the last reply were reported with an earlier request.
pub(crate) fn omitted(
    request: &Request,
    why: impl Fn(&Media) -> Option<&'static str>,
) -> Vec<Delta> {
    let messages: Vec<&Message> = request.all_messages().collect();
    let last = messages
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    let new = &messages[last.map_or(0, |last| last + 1)..];
    let media = new
        .iter()
        .flat_map(|message| &message.content)
        .flat_map(media_of);
    let left = media.filter_map(|medium| {
        let message = format!("{} was not sent: {}", medium.caption(), why(medium)?);
        Some(diagnostic(DiagnosticCode::MediaOmitted, message))
    });
    left.collect()
}

/// The media in a part of a message.
pub(crate) fn media_of(part: &Content) -> &[Media] {
    if let Content::Media(medium) = part {
        return std::slice::from_ref(medium);
    }
    if let Content::GadgetResult { media, .. } = part {
        return media;
    }
    &[]
}
