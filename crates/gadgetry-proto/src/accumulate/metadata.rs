//! Merges the metadata of a text that a provider sends in several pieces.

use crate::delta::ContentMetadata;

/// Adds `news` to `known`: lists are joined, a new language or media type replaces the old one, extensions are replaced
/// name by name.
pub(crate) fn merge(known: &mut Option<ContentMetadata>, news: &ContentMetadata) {
    let known = known.get_or_insert_default();
    known.citations.extend_from_slice(&news.citations);
    known.annotations.extend_from_slice(&news.annotations);
    if news.language.is_some() {
        known.language.clone_from(&news.language);
    }
    if news.mime_type.is_some() {
        known.mime_type.clone_from(&news.mime_type);
    }
    for (name, value) in &news.extensions {
        known.extensions.insert(name.clone(), value.clone());
    }
}
