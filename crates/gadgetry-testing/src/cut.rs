//! Ways to cut a text into the chunks of a stream.

/// Ways to cut a text. Every cut lies between two characters, and the same cut of the same text gives the same chunks
/// on every machine.
///
/// ```
/// use gadgetry_testing::{Cut, split};
/// assert_eq!(split("añb!", &Cut::Whole), ["añb!"]);
/// assert_eq!(split("añb!", &Cut::Every(3)), ["añb", "!"]);
/// assert_eq!(split("añb!", &Cut::At(vec![2])), ["añ", "b!"]); // byte 2 is inside `ñ`
/// assert_eq!(split("añb!", &Cut::Seeded(7)).concat(), "añb!");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// One piece: the text is not split.
    #[default]
    Whole,
    /// After every N characters; 0 counts as 1.
    Every(usize),
    /// After 1 to 20 characters, at random. The same seed always splits a text in the same way.
    Seeded(u64),
    /// At these offsets, in bytes. One inside a character moves to its end; one after the end is ignored.
    At(Vec<usize>),
}

/// The longest chunk of [`Cut::Seeded`], in characters.
const LONGEST: u64 = 20;

/// The longest text of [`every_cut`], in characters: 65,536 ways.
const SHORT: usize = 17;

/// The chunks of `text`. Joined they are `text`; none is empty, so an empty text has none.
pub fn split<'t>(text: &'t str, cut: &Cut) -> Vec<&'t str> {
    match cut {
        Cut::Whole => at(text, []),
        Cut::Every(characters) => {
            let step = (*characters).max(1);
            at(text, text.char_indices().step_by(step).map(|(at, _)| at))
        }
        Cut::Seeded(seed) => {
            let mut random = Random(*seed);
            let mut left = random.up_to(LONGEST);
            let ends = text.char_indices().filter_map(|(at, _)| {
                if left > 0 {
                    left -= 1;
                    return None;
                }
                left = random.up_to(LONGEST) - 1;
                Some(at)
            });
            at(text, ends)
        }
        Cut::At(offsets) => {
            let mut offsets: Vec<_> = offsets
                .iter()
                .filter(|offset| **offset < text.len())
                .map(|offset| text.ceil_char_boundary(*offset))
                .collect();
            offsets.sort_unstable();
            at(text, offsets)
        }
    }
}

/// Every way to cut `text` into chunks that are not empty: 2ⁿ⁻¹ ways for n characters.
///
/// # Panics
///
/// If the text has more than 17 characters; take [`every_cut_in_two`] then.
///
/// ```
/// use gadgetry_testing::every_cut;
/// let ways: Vec<_> = every_cut("abc").collect();
/// assert_eq!(ways, [vec!["abc"], vec!["a", "bc"], vec!["ab", "c"], vec!["a", "b", "c"]]);
/// ```
#[track_caller]
pub fn every_cut(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let inner: Vec<_> = text.char_indices().skip(1).map(|(at, _)| at).collect();
    assert!(
        inner.len() < SHORT,
        "a text of {} characters can be cut in too many ways; `every_cut` takes at most {SHORT}",
        inner.len() + 1,
    );
    (0_u32..1 << inner.len()).map(move |chosen| {
        let offsets = inner.iter().enumerate();
        let offsets = offsets.filter(|(bit, _)| chosen & (1 << bit) != 0);
        at(text, offsets.map(|(_, offset)| *offset))
    })
}

/// Every way to cut `text` in two chunks that are not empty.
///
/// ```
/// use gadgetry_testing::every_cut_in_two;
/// assert_eq!(every_cut_in_two("año").collect::<Vec<_>>(), [["a", "ño"], ["añ", "o"]]);
/// ```
pub fn every_cut_in_two(text: &str) -> impl Iterator<Item = [&str; 2]> {
    let inner = text.char_indices().skip(1);
    inner.map(move |(at, _)| [&text[..at], &text[at..]])
}

/// Cuts at boundaries that do not go back.
fn at(text: &str, offsets: impl IntoIterator<Item = usize>) -> Vec<&str> {
    let mut from = 0;
    let ends = offsets.into_iter().chain([text.len()]);
    ends.filter_map(|to| {
        let chunk = &text[std::mem::replace(&mut from, to)..to];
        (!chunk.is_empty()).then_some(chunk)
    })
    .collect()
}

/// `SplitMix64`, as published by Steele, Lea and Flood (2014).
struct Random(u64);

impl Random {
    /// Returns a number from 1 to `most`. That it is not quite even does not matter here.
    fn up_to(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most + 1
    }
}
