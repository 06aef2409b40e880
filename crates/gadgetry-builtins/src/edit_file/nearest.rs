//! Passages that are nearly alike, for the error of an edit. None of them is ever replaced.

/// The least likeness of a passage that is worth showing.
const WORTH_SHOWING: f64 = 0.4;

/// Steps of comparing. Beyond, no passage is looked for.
const WORK: usize = 50_000_000;

/// A passage and how alike it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Alike {
    /// First line, zero-based.
    pub(super) first: usize,
    /// From 0 to 1.
    likeness: f64,
}

impl Alike {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 100"
    )]
    pub(super) fn percent(&self) -> u32 {
        (self.likeness * 100.0) as u32
    }
}

/// The passages of as many lines that are alike, the best first. None overlaps a better one.
///
/// The likeness of two lines is that of their pairs of characters (Dice's coefficient: twice the common pairs by all pairs),
/// the end of a line being its last character), and that of two passages the mean of their lines, weighted by length:
/// "limit = 10" and "limit = 20" have 10 pairs each and 8 in common, so they are 2 · 8 / 20 = 80 % alike.
pub(super) fn passages(lines: &[&str], searched: &[&str]) -> Vec<Alike> {
    let count = searched.len();
    // An empty line is compared as well.
    let length: usize = searched.iter().map(|line| line.len() + 1).sum();
    if count == 0 || count > lines.len() || lines.len().saturating_mul(length) > WORK {
        return Vec::new();
    }
    let wanted: Vec<Pairs> = searched.iter().map(|line| Pairs::of(line)).collect();
    let all: Vec<Pairs> = lines.iter().map(|line| Pairs::of(line)).collect();
    let mut found: Vec<Alike> = all
        .windows(count)
        .enumerate()
        .map(|(first, window)| Alike {
            first,
            likeness: likeness(window, &wanted),
        })
        .filter(|alike| alike.likeness >= WORTH_SHOWING)
        .collect();
    found.sort_by(|one, other| other.likeness.total_cmp(&one.likeness));
    let mut best: Vec<Alike> = Vec::new();
    for alike in found {
        let apart = |better: &Alike| better.first.abs_diff(alike.first) >= count;
        if best.iter().all(apart) {
            best.push(alike);
        }
        if best.len() == 10 {
            break;
        }
    }
    best
}

fn likeness(window: &[Pairs], wanted: &[Pairs]) -> f64 {
    let (mut common, mut all) = (0, 0);
    for (one, other) in window.iter().zip(wanted) {
        common += one.common(other);
        all += one.0.len() + other.0.len();
    }
    if all == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of pairs of characters")]
    let likeness = 2.0 * common as f64 / all as f64;
    likeness
}

/// The pairs of characters of a line without its indentation, sorted.
struct Pairs(Vec<(char, char)>);

impl Pairs {
    fn of(line: &str) -> Self {
        let line = line.trim();
        // A line of one character has a pair, too.
        let next = line.chars().skip(1).chain(['\n']);
        let mut pairs: Vec<_> = line.chars().zip(next).collect();
        pairs.sort_unstable();
        Self(pairs)
    }

    fn common(&self, other: &Self) -> usize {
        let (mut one, mut two, mut common) = (0, 0, 0);
        while let (Some(left), Some(right)) = (self.0.get(one), other.0.get(two)) {
            match left.cmp(right) {
                std::cmp::Ordering::Less => one += 1,
                std::cmp::Ordering::Greater => two += 1,
                std::cmp::Ordering::Equal => {
                    (one, two, common) = (one + 1, two + 1, common + 1);
                }
            }
        }
        common
    }
}
