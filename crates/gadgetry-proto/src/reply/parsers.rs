//! The two halves of the scanner as parsers of their own.

use crate::block::{Anchoring, Markers};
use crate::limits::Limits;
use crate::reply::Format;
use crate::reply::ReplyEvent;
use crate::reply::Scanner;
use crate::tags::TagNameError;

/// Reads gadget blocks alone; tags are text.
///
/// ```
/// use gadgetry_proto::call::Parameters;
/// use gadgetry_proto::reply::{BlockParser, ReplyEvent};
/// use serde_json::json;
///
/// let mut parser = BlockParser::default();
/// let mut calls = Vec::new();
/// let mut see = |event: ReplyEvent<'_>| if let ReplyEvent::Call(block) = event { calls.push(block.to_call(None)) };
/// parser.push("Let me look.\n!!!GADGET_START:Read:r1\n!!!ARG:pa", &mut see);
/// parser.push("th\nnotes.txt\n!!!GADGET_END", &mut see);
/// parser.finish(&mut see);
///
/// assert_eq!(calls.len(), 1);
/// assert_eq!(calls[0].gadget_name, "Read");
/// assert_eq!(calls[0].parameters, Parameters::Parsed(json!({ "path": "notes.txt" })));
/// ```
#[derive(Clone, Debug)]
pub struct BlockParser(Scanner);

impl BlockParser {
    /// A parser of blocks with these markers.
    pub fn new(markers: Markers, anchoring: Anchoring, limits: Limits) -> Self {
        Self(Scanner::for_blocks(markers, anchoring, limits))
    }

    /// Reads more of the reply.
    pub fn push(&mut self, chunk: &str, events: &mut impl FnMut(ReplyEvent<'_>)) {
        self.0.push(chunk, events);
    }

    /// Ends the reply. The parser is ready for the next one; automatic ids continue.
    pub fn finish(&mut self, events: &mut impl FnMut(ReplyEvent<'_>)) {
        self.0.finish(events);
    }
}

/// A parser of blocks with the default markers, anywhere in a line.
impl Default for BlockParser {
    fn default() -> Self {
        Self::new(Markers::default(), Anchoring::default(), Limits::default())
    }
}

/// Reads tags alone; markers are text.
///
/// ```
/// use gadgetry_proto::limits::Limits;
/// use gadgetry_proto::reply::{ReplyEvent, TagParser};
///
/// let mut parser = TagParser::new(&["think"], Limits::default())?;
/// let (mut text, mut thoughts) = (String::new(), Vec::new());
/// let mut see = |event: ReplyEvent<'_>| match event {
///     ReplyEvent::Text(more) => text.push_str(more),
///     ReplyEvent::Tag { content, .. } => thoughts.push(content.to_owned()),
///     _ => {}
/// };
/// parser.push("<think depth='2'>hm</thi", &mut see);
/// parser.push("nk>Yes, 1 < 2.", &mut see);
/// parser.finish(&mut see);
///
/// assert_eq!((text.as_str(), thoughts), ("Yes, 1 < 2.", vec!["hm".to_owned()]));
/// # Ok::<(), gadgetry_proto::tags::TagNameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TagParser(Scanner);

impl TagParser {
    /// A parser of tags with these names. They must be names, once each.
    pub fn new<S: AsRef<str>>(names: &[S], limits: Limits) -> Result<Self, TagNameError> {
        let tags = names.iter().map(|name| name.as_ref().to_owned()).collect();
        Scanner::new(&Format {
            tags,
            limits,
            ..Format::default()
        })
        .map(Self)
    }

    /// Reads more of the reply.
    pub fn push(&mut self, chunk: &str, events: &mut impl FnMut(ReplyEvent<'_>)) {
        self.0.push(chunk, events);
    }

    /// Ends the reply. The parser is ready for the next one.
    pub fn finish(&mut self, events: &mut impl FnMut(ReplyEvent<'_>)) {
        self.0.finish(events);
    }
}
