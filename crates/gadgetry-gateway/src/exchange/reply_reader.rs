//! The reader of a reply: blocks, reasoning and removed tags.

use std::sync::Arc;

use gadgetry_proto::reply::{Format, Reader, StopEarly};
use gadgetry_proto::schema::{Registry, Unterminated};
use gadgetry_proto::tags::{BlockCode, BlockConfig, BlockMode, CustomBlock, TagNameError};

use super::instructions::ANCHORING;
use super::rules::{ModelRules, Secrets};

/// Makes the reader of a reply. With the secrets of the markers, it reads blocks.
pub(super) fn reader(
    rules: &ModelRules,
    blocks: Option<&Secrets>,
    registry: Arc<Registry>,
) -> Result<Reader, TagNameError> {
    let format = Format {
        markers: blocks.map(|secrets| secrets.markers.clone()),
        anchoring: ANCHORING,
        reasoning: rules.reasoning.tags.clone(),
        reasoning_open: rules.reasoning.is_open,
        ..Format::default()
    };
    let stripped = rules.strip_tags.iter().filter_map(|tag| stripped(tag));
    let reader = Reader::new(format, stripped.collect(), registry)?;
    let reader = if rules.stop_early {
        reader.stop_early(StopEarly::default())
    } else {
        reader
    };
    Ok(reader.unterminated(Unterminated::Confirm).without_parts())
}

/// Returns a tag that is removed from the text with its content.
fn stripped(tag: &str) -> Option<CustomBlock> {
    let config = BlockConfig {
        mode: BlockMode::Suppress,
        ..BlockConfig::new(tag)
    };
    CustomBlock::from_parts(config, BlockCode::default())
}
