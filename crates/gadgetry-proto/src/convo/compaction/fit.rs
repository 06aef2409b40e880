//! Makes a conversation fit where leaving out turns is not enough: cuts long texts, then removes all that can go.

use crate::convo::compaction::cut::{TextKind, lengths_of};
use crate::convo::compaction::plan::Slide;
use crate::convo::compaction::turns::Outline;
use crate::convo::tokens::total_size;
use crate::message::Message;

/// Minimum number of bytes that a text keeps; the note takes some of them.
const LEAST: usize = 240;

/// One step of shortening, if the conversation is too long by this many bytes.
type Reduction<'a> = &'a dyn Fn(&mut Slide, u64);

/// Adds to `slide` what makes the conversation `most` bytes; if nothing does, as much as can be done. `None` if nothing can
/// be done at all.
pub(super) fn fit(
    mut slide: Slide,
    outline: &Outline,
    messages: &[Message],
    most: u64,
) -> Option<Slide> {
    let size = |slide: &Slide| {
        let mut left = messages.to_vec();
        slide.clone().apply(&mut left);
        total_size(&left)
    };
    let mut left = size(&slide);
    let steps: [Reduction<'_>; 6] = [
        &|slide, excess| slide.cut_texts(TextKind::Result, excess, messages),
        &|slide, excess| slide.cut_texts(TextKind::StickyResult, excess, messages),
        &|slide, _| slide.cut.media = true,
        &|slide, excess| slide.cut_texts(TextKind::Other, excess, messages),
        &|slide, _| slide.remove_all(outline, 1),
        &|slide, _| slide.remove_all(outline, 0),
    ];
    for step in steps {
        if left <= most {
            break;
        }
        step(&mut slide, left - most);
        left = size(&slide);
    }
    (left < outline.size).then_some(slide)
}

impl Slide {
    /// Cuts the longest texts of a kind, so that the conversation loses `excess` bytes.
    fn cut_texts(&mut self, kind: TextKind, excess: u64, messages: &[Message]) {
        let mut lengths = Vec::new();
        for (index, message) in messages.iter().enumerate() {
            if self.may_cut(index, message) {
                lengths_of(message, kind, &mut lengths);
            }
        }
        *self.cut.of(kind) = level(lengths, excess);
    }
}

/// The length at which texts of these lengths, each cut to it, lose `excess` bytes together.
fn level(mut lengths: Vec<usize>, excess: u64) -> usize {
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0;
    for (count, length) in (1_u64..).zip(&lengths) {
        sum += *length as u64;
        let shorter = lengths.get(usize::try_from(count).unwrap_or(usize::MAX));
        let level = sum.saturating_sub(excess) / count;
        if sum > excess && shorter.is_none_or(|shorter| *shorter as u64 <= level) {
            return usize::try_from(level).unwrap_or(usize::MAX).max(LEAST);
        }
    }
    LEAST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_to_one_length() {
        for (lengths, excess, expected) in [
            (vec![], 5, LEAST),
            (vec![1_000], 100, 900),
            (vec![1_000, 400], 100, 900),
            (vec![1_000, 1_000, 400], 100, 950),
            (vec![1_000, 400], 700, 350),
            (vec![1_000, 900, 800], 300, 800),
            (vec![1_000, 400], 1_390, LEAST),
            (vec![1_000], 5_000, LEAST),
        ] {
            assert_eq!(level(lengths.clone(), excess), expected, "{lengths:?}");
        }
    }
}
