//! A transform that extracts tags from the text.

use std::fmt;
use std::sync::Arc;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::id::BlockId;
use gadgetry_proto::message::{Attributes, CustomContentBlock};
use gadgetry_proto::piece::{BlockDelta, BlockEnd, BlockStart};
use gadgetry_proto::reply::{Format, ReplyStage, ScannerState};
use gadgetry_proto::tags::{CustomBlock, OnStart, TagNameError};
use gadgetry_proto::transform::DeltaTransform;
use serde::Deserialize as _;
use serde_json::Value;

/// The first id of its blocks, so that they differ from those of the blocks that the run itself reads.
const FIRST_ID: u32 = 1 << 31;

/// Called with the content and the attributes of a complete tag.
type OnContent = Arc<dyn Fn(&str, &Attributes) + Send + Sync>;

/// Extracts tags from the text: the specification's `StreamTagParser`.
///
/// It is for transforms that need more control than [custom blocks](CustomBlock) give. As a
/// [transform](super::AdapterBuilder::transform) it comes after the custom blocks, so it sees the tags that they left. Each
/// reply gets a new one. Nothing in a run may depend on its handlers, because a replay calls them again.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use gadgetry::{Delta, DeltaTransform};
/// use gadgetry::provider::adapter::{StreamTagParser, TagHandler};
///
/// let thoughts = Arc::new(Mutex::new(Vec::new()));
/// let seen = Arc::clone(&thoughts);
/// let handler = TagHandler::default().on_content(move |content, attrs| {
///     if let Ok(mut seen) = seen.lock() {
///         seen.push(format!("{content} ({})", attrs["depth"]));
///     }
/// });
/// let mut parser = StreamTagParser::new([("think", handler)])?;
/// let mut out = Vec::new();
/// parser.process(Delta::text("A<think depth='2'>h"), &mut out);
/// parser.process(Delta::text("m</think>B"), &mut out);
/// parser.flush(&mut out);
///
/// out.retain(|delta| matches!(delta, Delta::Text { .. }));
/// assert_eq!(out, [Delta::text("A"), Delta::text("B")]);
/// assert_eq!(*thoughts.lock().unwrap(), [r#"hm ("2")"#]);
/// # Ok::<(), gadgetry::format::TagNameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StreamTagParser {
    stage: ReplyStage,
    handlers: Vec<(String, TagHandler)>,
    scanned: Vec<Delta>,
}

/// The functions that are called for a tag; none by default.
#[derive(Clone, Default)]
pub struct TagHandler {
    start: Option<OnStart>,
    content: Option<OnContent>,
    self_closing: Option<OnStart>,
}

impl TagHandler {
    /// Sets what is called when the tag has opened, before its content arrives.
    #[must_use]
    pub fn on_start(mut self, call: impl Fn(&Attributes) + Send + Sync + 'static) -> Self {
        self.start = Some(Arc::new(call));
        self
    }

    /// Sets what is called with the content of a complete tag, also at the end of a reply that has left it open.
    #[must_use]
    pub fn on_content(mut self, call: impl Fn(&str, &Attributes) + Send + Sync + 'static) -> Self {
        self.content = Some(Arc::new(call));
        self
    }

    /// Sets what is called for a self-closing tag, in place of [`TagHandler::on_content`].
    #[must_use]
    pub fn on_self_closing(mut self, call: impl Fn(&Attributes) + Send + Sync + 'static) -> Self {
        self.self_closing = Some(Arc::new(call));
        self
    }
}

impl TagHandler {
    fn complete(&self, block: &CustomContentBlock) {
        if block.self_closing {
            if let Some(call) = &self.self_closing {
                call(&block.attrs);
            }
        } else if let Some(call) = &self.content {
            call(&block.content, &block.attrs);
        }
    }
}

impl fmt::Debug for TagHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TagHandler").finish_non_exhaustive()
    }
}

impl StreamTagParser {
    /// A parser of these tags.
    ///
    /// # Errors
    ///
    /// If a tag is not a valid name, or occurs twice.
    pub fn new<N: Into<String>>(
        tags: impl IntoIterator<Item = (N, TagHandler)>,
    ) -> Result<Self, TagNameError> {
        let tags = tags
            .into_iter()
            .map(|(name, handler)| (name.into(), handler));
        let handlers: Vec<(String, TagHandler)> = tags.collect();
        let blocks = handlers.iter().map(|(name, handler)| {
            let block = CustomBlock::new(name);
            match handler.start.clone() {
                Some(call) => block.on_start(move |attributes| call(attributes)),
                None => block,
            }
        });
        // Markers are text here.
        let format = Format {
            markers: None,
            ..Format::default()
        };
        Ok(Self {
            stage: ReplyStage::new(format, blocks.collect(), None)?,
            handlers,
            scanned: Vec::new(),
        })
    }

    fn emit(&mut self, out: &mut Vec<Delta>) {
        for mut delta in self.scanned.drain(..) {
            if let Delta::CustomBlockStart(BlockStart { block_id, .. })
            | Delta::CustomBlockDelta(BlockDelta { block_id, .. })
            | Delta::CustomBlockEnd(BlockEnd { block_id, .. }) = &mut delta
            {
                *block_id = own(*block_id);
            } else if let Delta::CustomBlock(block) = &mut delta {
                block.block_id = own(block.block_id);
                let handler = self.handlers.iter().find(|(name, _)| *name == block.tag);
                if let Some((_, handler)) = handler {
                    handler.complete(block);
                }
            }
            out.push(delta);
        }
    }
}

fn own(BlockId(id): BlockId) -> BlockId {
    BlockId(id | FIRST_ID)
}

impl DeltaTransform for StreamTagParser {
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        let is_text = matches!(delta, Delta::Text { .. });
        self.stage.process(delta, &mut self.scanned);
        // A delta that is not text comes last, unchanged.
        let passed = if is_text { None } else { self.scanned.pop() };
        self.emit(out);
        out.extend(passed);
    }

    fn flush(&mut self, out: &mut Vec<Delta>) {
        self.stage.finish(&mut self.scanned);
        self.emit(out);
    }

    fn save(&self) -> Value {
        serde_json::to_value(self.stage.state()).unwrap_or_default()
    }

    fn load(&mut self, state: &Value) {
        if let Ok(state) = ScannerState::deserialize(state) {
            self.stage.restore(state);
        }
    }
}
