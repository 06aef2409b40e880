//! An opening tag: read to its `>` before anything is decided about it.

use serde::{Deserialize, Serialize};

use crate::limits::{Limit, LimitExceeded};
use crate::message::Attributes;
use crate::reply::format::Prepared;
use crate::tags::{ByteStep, NameIndex, OpeningState, attributes};

/// `<`, a name and its attributes, as far as they have arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpeningTag {
    /// Offset of the `<` in the reply.
    pub(super) opener: u64,
    pub(super) name: NameIndex,
    state: OpeningState,
    /// All of it, without the `>`.
    pub(super) text: String,
}

/// The effect of a piece on the tag, and how much of the piece was read.
pub(super) enum OpeningStep {
    More,
    /// The tag is open.
    Open {
        read: usize,
        self_closing: bool,
    },
    /// The text is not a tag, because of its form or of a cap.
    Text {
        read: usize,
        exceeded: Option<LimitExceeded>,
    },
}

impl OpeningTag {
    /// The tag of which `<` and the name were read. `buffer` is memory for it.
    pub(super) fn with(
        opener: u64,
        name: NameIndex,
        mut buffer: String,
        format: &Prepared,
    ) -> Self {
        buffer.clear();
        buffer.push('<');
        buffer.push_str(format.names.text(name));
        Self {
            opener,
            name,
            state: OpeningState::default(),
            text: buffer,
        }
    }

    /// Reads a piece up to the `>`, or up to where it is clear that there is no tag.
    pub(super) fn read(&mut self, piece: &str, format: &Prepared) -> OpeningStep {
        let cap = Self::cap(format);
        let room = (cap.limit + self.name_end(format)).saturating_sub(self.text.len());
        for (index, byte) in piece.as_bytes().iter().enumerate() {
            if index >= room {
                // The cap may be inside a character: what is given back ends at its start.
                let read = piece.floor_char_boundary(index);
                self.text.push_str(&piece[..read]);
                let exceeded = Some(cap);
                return OpeningStep::Text { read, exceeded };
            }
            match self.state.step(*byte) {
                ByteStep::On(next) => self.state = next,
                ByteStep::Open { self_closing } => {
                    self.text.push_str(&piece[..index]);
                    let read = index + 1;
                    return OpeningStep::Open { read, self_closing };
                }
                ByteStep::Fail => {
                    self.text.push_str(&piece[..index]);
                    let (read, exceeded) = (index, None);
                    return OpeningStep::Text { read, exceeded };
                }
            }
        }
        self.text.push_str(piece);
        OpeningStep::More
    }

    /// The attributes of the complete tag.
    pub(super) fn attributes(&self, format: &Prepared) -> Attributes {
        attributes(&self.text[self.name_end(format)..])
    }

    /// The cap, if the attributes have reached it.
    pub(super) fn passed(&self, format: &Prepared) -> Option<LimitExceeded> {
        let cap = Self::cap(format);
        (self.text.len() - self.name_end(format) >= cap.limit).then_some(cap)
    }

    fn cap(format: &Prepared) -> LimitExceeded {
        LimitExceeded {
            what: Limit::Attributes,
            limit: format.limits.attributes,
        }
    }

    fn name_end(&self, format: &Prepared) -> usize {
        1 + format.names.len_of(self.name)
    }
}
