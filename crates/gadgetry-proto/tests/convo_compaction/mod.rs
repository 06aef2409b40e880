//! What gives way when a conversation is too long, and what takes its place.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "most kinds of content are alike here"
)]

mod generate;
mod naive;
mod properties;
mod slide;
mod summary;
mod tokens;
mod words;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::convo::TextForm;

/// The form of the tests' text models.
fn form() -> TextForm<'static> {
    static MARKERS: LazyLock<Markers> = LazyLock::new(Markers::default);
    static NAMES: BTreeMap<String, String> = BTreeMap::new();
    TextForm {
        markers: &MARKERS,
        anchoring: Anchoring::default(),
        xml_names: &NAMES,
    }
}
