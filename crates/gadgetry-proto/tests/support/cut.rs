//! Ways to cut a text into chunks, always between characters.

use super::generate::Random;

/// Every way to cut the text in two, the empty pieces at its ends included.
pub fn in_two(text: &str) -> impl Iterator<Item = Vec<&str>> {
    boundaries(text).map(|at| vec![&text[..at], &text[at..]])
}

/// One character at a time.
pub fn characters(text: &str) -> Vec<&str> {
    let mut ends = boundaries(text);
    ends.next();
    let mut from = 0;
    ends.map(|to| &text[std::mem::replace(&mut from, to)..to])
        .collect()
}

/// Pieces of random lengths, now and then an empty one. The same seed cuts the same.
pub fn random(text: &str, seed: u64) -> Vec<&str> {
    let mut random = Random::new(seed);
    let longest = *random.pick(&[2, 5, 17, 100]);
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < text.len() {
        let to = text.ceil_char_boundary((from + random.below(longest + 1)).min(text.len()));
        pieces.push(&text[from..to]);
        from = to;
    }
    pieces
}

/// Where the text can be cut: its start, every character's end.
fn boundaries(text: &str) -> impl Iterator<Item = usize> {
    (0..=text.len()).filter(|&at| text.is_char_boundary(at))
}
