//! The scanner as a stage of the pipeline: text deltas in, deltas of text, custom blocks and gadget calls out.

use std::sync::Arc;

use crate::block::{Anchoring, Markers};
use crate::delta::{ContentMetadata, Delta, DeltaKind};
use crate::id::BlockId;
use crate::message::{Attributes, CustomContentBlock};
use crate::piece::{ArgsPartial, BlockDelta, BlockEnd, BlockStart, CallStart, EndReason};
use crate::reply::Format;
use crate::reply::ReplyEvent;
use crate::reply::Scanner;
use crate::reply::ScannerState;
use crate::reply::hopeless::{ClosedGadgets, Watch, Watched};
use crate::schema::RegisteredGadget;
use crate::schema::Registry;
use crate::tags::TagNameError;
use crate::tags::{BlockConfig, BlockMode, CustomBlock};

/// Takes gadget calls and custom blocks out of the text of replies.
///
/// Deltas that are not text pass unchanged, in order: text that is held is emitted before them.
///
/// ```
/// use gadgetry_proto::delta::Delta;
/// use gadgetry_proto::reply::{Format, ReplyStage};
/// use gadgetry_proto::tags::CustomBlock;
///
/// let done = CustomBlock::new("done").suppress();
/// let mut stage = ReplyStage::new(Format::default(), vec![done], None)?;
/// let mut out = Vec::new();
/// stage.process(Delta::text("All set.<done/>"), &mut out);
/// stage.finish(&mut out);
/// assert_eq!(out, [Delta::text("All set.")]);
/// # Ok::<(), gadgetry_proto::tags::TagNameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReplyStage {
    scanner: Scanner,
    rules: Arc<StageRules>,
    /// The gadgets of calls that end the reply when they cannot become valid; `None` if none does.
    watched: Watched,
    watch: Watch,
}

#[derive(Debug)]
struct StageRules {
    blocks: Vec<CustomBlock>,
    /// Their schemas coerce the parameters of their calls.
    registry: Option<Arc<Registry>>,
}

impl ReplyStage {
    /// A stage for replies of `format`, whose tags are those of `blocks`. Fails if a tag is not a name, or is there twice.
    pub fn new(
        mut format: Format,
        blocks: Vec<CustomBlock>,
        registry: Option<Arc<Registry>>,
    ) -> Result<Self, TagNameError> {
        format.tags = blocks
            .iter()
            .map(|block| block.config().xml_tag().to_owned())
            .collect();
        let scanner = Scanner::new(&format)?;
        Ok(Self {
            scanner,
            rules: Arc::new(StageRules { blocks, registry }),
            watched: None,
            watch: Watch::default(),
        })
    }

    /// Ends replies at calls that cannot become valid any more. See [`StopEarly`](crate::reply::StopEarly).
    pub(super) fn stop_at_hopeless_calls(&mut self) {
        let registry = self.rules.registry.as_deref();
        self.watched = Some(Arc::new(ClosedGadgets::of(registry)));
    }

    /// Returns the offset at which a call has ended the reply.
    pub(super) fn ended(&self) -> Option<u64> {
        self.watch.ended
    }

    /// Returns `true` if what was read last is content, of a block or a custom block, and not prose.
    pub(super) fn in_content(&self) -> bool {
        self.scanner.in_content()
    }

    /// Returns `true` if a block is open.
    pub(super) fn in_block(&self) -> bool {
        self.scanner.in_block()
    }

    pub(super) fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(super) fn restore_watch(&mut self, watch: Watch) {
        self.watch = watch;
    }

    /// A new stage of the same definition but for its markers, which cannot make it invalid.
    #[must_use]
    pub(crate) fn with_markers(&self, markers: Option<Markers>, anchoring: Anchoring) -> Self {
        Self {
            scanner: self.scanner.with_markers(markers, anchoring),
            rules: Arc::clone(&self.rules),
            watched: self.watched.clone(),
            watch: Watch::default(),
        }
    }

    /// The state of the scanner.
    pub fn state(&self) -> &ScannerState {
        self.scanner.state()
    }

    /// Continues from the state of another stage of the same definition.
    pub fn restore(&mut self, state: ScannerState) {
        self.scanner.restore(state);
    }

    /// Takes one delta and appends what takes its place.
    pub fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        let rules = &*self.rules;
        let Delta::Text {
            delta: text,
            mut metadata,
        } = delta
        else {
            // What is held comes before other content; other deltas do not affect it.
            if delta.kind() != DeltaKind::Frame && self.watch.ended.is_none() {
                self.scanner
                    .flush(&mut |event| rules.apply(event, &mut None, out));
            }
            return out.push(delta);
        };
        let (watch, watched) = (&mut self.watch, self.watched.as_deref());
        if watch.ended.is_some() {
            return;
        }
        let mut numbers = self.scanner.numbers();
        // Most pieces are text as a whole: they are moved and not copied, once the scanner has let go of them.
        let mut whole = None;
        self.scanner.push(&text, &mut |event| {
            if let ReplyEvent::Text(part) = event
                && std::ptr::eq(part, text.as_str())
            {
                whole = Some(out.len());
                rules.apply(ReplyEvent::Text(""), &mut metadata, out);
            } else if !watch.ends(&event, watched, out) {
                numbers.count(&event);
                rules.apply(event, &mut metadata, out);
            }
        });
        if watch.ended.is_some() {
            // What the same piece has after the end counts as little as what later pieces have.
            self.scanner.set_numbers(numbers);
        }
        if let Some(Delta::Text { delta, .. }) = whole.and_then(|at| out.get_mut(at)) {
            *delta = text;
        }
        if let Some(metadata) = metadata {
            out.push(Delta::ContentMetadata { metadata });
        }
    }

    /// Ends the reply. The stage is ready for the next one.
    pub fn finish(&mut self, out: &mut Vec<Delta>) {
        let rules = &*self.rules;
        // No call ends a reply that is over.
        let has_ended = self.watch.ended.is_some();
        self.scanner.finish(&mut |event| {
            if !has_ended {
                rules.apply(event, &mut None, out);
            }
        });
        self.watch = Watch::default();
    }
}

impl StageRules {
    fn apply(
        &self,
        event: ReplyEvent<'_>,
        metadata: &mut Option<ContentMetadata>,
        out: &mut Vec<Delta>,
    ) {
        match event {
            ReplyEvent::Text(text) => {
                out.push(Delta::Text {
                    delta: text.to_owned(),
                    metadata: metadata.take(),
                });
            }
            ReplyEvent::CallStart(header) => {
                let start = CallStart::new(header.gadget_name(), header.invocation_id());
                out.push(Delta::GadgetCallStart(start.after(header.dependencies())));
            }
            ReplyEvent::Argument {
                header,
                pointer,
                delta,
                complete,
                begins: _,
            } => {
                let (name, id) = (header.gadget_name(), header.invocation_id());
                let args = ArgsPartial::new(name, id, pointer, delta).complete(complete);
                out.push(Delta::GadgetArgsPartial(args));
            }
            ReplyEvent::Call(block) => {
                let registry = self.registry.as_ref();
                let gadget = registry.and_then(|all| all.get(block.header().gadget_name()));
                let (call, lenient) = block.call_noting(gadget.map(RegisteredGadget::schema));
                out.extend(lenient.map(Delta::Diagnostic));
                out.push(Delta::GadgetCall(Arc::new(call)));
            }
            ReplyEvent::TagStart {
                block,
                tag,
                attributes,
            } => self.start(block, tag, attributes, out),
            ReplyEvent::TagDelta { block, tag, delta } => {
                match self.rule(tag).map(CustomBlock::config) {
                    Some(rule) if rule.mode == BlockMode::Keep => {
                        out.push(content(block, rule, delta));
                    }
                    Some(rule) if rule.mode != BlockMode::Reasoning => {}
                    // A tag without a definition is one of [`Format::reasoning`].
                    Some(_) | None => out.push(Delta::Reasoning {
                        delta: delta.to_owned(),
                        metadata: None,
                    }),
                }
            }
            ReplyEvent::TagEnd { block, tag, reason } => {
                if let Some(rule) = self.kept(tag) {
                    out.push(Delta::CustomBlockEnd(BlockEnd::new(
                        block, &rule.key, reason,
                    )));
                }
            }
            ReplyEvent::Tag {
                block,
                tag,
                content,
                attributes,
                self_closing,
                reason,
            } => {
                if let Some(rule) = self.rule(tag) {
                    let block = CustomContentBlock {
                        block_id: block,
                        tag: rule.config().key.clone(),
                        content: content.to_owned(),
                        attrs: attributes.clone(),
                        self_closing,
                    };
                    complete(rule, block, reason, out);
                }
            }
            ReplyEvent::Diagnostic(diagnostic) => out.push(Delta::Diagnostic(diagnostic)),
        }
    }

    fn rule(&self, tag: &str) -> Option<&CustomBlock> {
        let is_meant = |block: &&CustomBlock| block.config().xml_tag() == tag;
        self.blocks.iter().find(is_meant)
    }

    /// The configuration, if the events of its blocks stream.
    fn kept(&self, tag: &str) -> Option<&BlockConfig> {
        let rule = self.rule(tag).map(CustomBlock::config);
        rule.filter(|rule| rule.mode == BlockMode::Keep)
    }

    fn start(&self, block_id: BlockId, tag: &str, attrs: &Attributes, out: &mut Vec<Delta>) {
        let Some(rule) = self.rule(tag) else { return };
        if let Some(on_start) = &rule.code().on_start {
            on_start(attrs);
        }
        if rule.config().mode == BlockMode::Keep {
            out.push(start(block_id, rule.config(), attrs));
        }
    }
}

fn start(block_id: BlockId, rule: &BlockConfig, attrs: &Attributes) -> Delta {
    Delta::CustomBlockStart(BlockStart::new(block_id, &rule.key, attrs.clone()))
}

fn content(block_id: BlockId, rule: &BlockConfig, delta: &str) -> Delta {
    Delta::CustomBlockDelta(BlockDelta::new(block_id, &rule.key, delta))
}

fn complete(
    rule: &CustomBlock,
    block: CustomContentBlock,
    reason: EndReason,
    out: &mut Vec<Delta>,
) {
    let config = rule.config();
    match config.mode {
        BlockMode::Keep => out.push(Delta::CustomBlock(block)),
        // The content of the latter has streamed.
        BlockMode::Suppress | BlockMode::Reasoning => {}
        BlockMode::Map => {
            let map = rule.code().map.as_ref();
            if let Some(deltas) = map.and_then(|map| map(&block)) {
                return out.extend(deltas);
            }
            out.push(start(block.block_id, config, &block.attrs));
            if !block.content.is_empty() {
                out.push(content(block.block_id, config, &block.content));
            }
            let end = BlockEnd::new(block.block_id, &block.tag, reason);
            out.push(Delta::CustomBlockEnd(end));
            out.push(Delta::CustomBlock(block));
        }
    }
}
