//! The format of a reply, and the same prepared for reading.

use serde::{Deserialize, Serialize};

use crate::block::{Anchoring, MarkerSearch, Markers};
use crate::limits::Limits;
use crate::reply::shortcut::Stops;
use crate::tags::{NameIndex, Names, TagNameError};

/// The parts that a reply may contain in addition to text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Format {
    /// The markers of gadget blocks; without them there are no blocks.
    pub markers: Option<Markers>,
    /// The places where a marker counts.
    pub anchoring: Anchoring,
    /// The names of tags that are taken out.
    pub tags: Vec<String>,
    /// The names of tags whose content is reasoning; a name that is also in `tags` is not reasoning. They are taken out
    /// like the others, and whitespace around them is dropped where no text precedes it. A backtick before one makes
    /// it text.
    pub reasoning: Vec<String>,
    /// Whether a reply begins inside the first of `reasoning`, because the prompt template of the model has opened it.
    pub reasoning_open: bool,
    /// The limits of a reply.
    pub limits: Limits,
}

/// A format, prepared for reading.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) search: MarkerSearch,
    pub(super) names: Names,
    pub(super) limits: Limits,
    pub(super) stops: Stops,
    /// The tag that is open where a reply begins.
    pub(super) open: Option<NameIndex>,
}

impl Prepared {
    /// Fails if a tag is not a name, or is there twice.
    pub(super) fn new(format: &Format) -> Result<Self, TagNameError> {
        let names = Names::new(&format.tags, &format.reasoning, format.limits.tag_name)?;
        let search = MarkerSearch::new(format.markers.clone(), format.anchoring);
        let open = names.first_reasoning().filter(|_| format.reasoning_open);
        Ok(Self::of(search, names, open, format.limits.clone()))
    }

    /// Blocks alone; tags are text.
    pub(super) fn of_blocks(markers: Markers, anchoring: Anchoring, limits: Limits) -> Self {
        let search = MarkerSearch::new(Some(markers), anchoring);
        Self::of(search, Names::default(), None, limits)
    }

    /// The same with other markers, which cannot make it invalid.
    pub(super) fn with_markers(&self, markers: Option<Markers>, anchoring: Anchoring) -> Self {
        let search = MarkerSearch::new(markers, anchoring);
        let (names, limits) = (self.names.clone(), self.limits.clone());
        Self::of(search, names, self.open, limits)
    }

    fn of(search: MarkerSearch, names: Names, open: Option<NameIndex>, limits: Limits) -> Self {
        let stops = Stops::new(&search, &names);
        Self {
            search,
            names,
            limits,
            stops,
            open,
        }
    }

    pub(super) fn is_line_start(&self) -> bool {
        self.search.anchoring == Anchoring::LineStart
    }
}
