//! The limit of a request: which part of a numbered list to take.

/// A limit as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// No limit.
    All,
    /// `N-`
    First(usize),
    /// `-N`
    Last(usize),
    /// `A-B`, from 1, both included.
    Range(usize, usize),
}

impl Limit {
    /// Reads the text of a limit. The error is for the model.
    pub(super) fn parse(text: Option<&str>) -> Result<Self, String> {
        let Some(text) = text else {
            return Ok(Self::All);
        };
        let limit = text.trim().split_once('-').and_then(|(low, high)| {
            Some(match (low, high) {
                ("", last) => Self::Last(count(last)?),
                (first, "") => Self::First(count(first)?),
                (low, high) => Self::Range(count(low)?, count(high)?),
            })
        });
        match limit {
            Some(Self::Range(low, high)) if low > high => Err(wrong(text)),
            Some(limit) => Ok(limit),
            None => Err(wrong(text)),
        }
    }

    /// The part of a list of `total` that is meant: how many to skip, and where to stop. Empty if it lies past the
    /// end.
    pub(super) fn of(self, total: usize) -> (usize, usize) {
        match self {
            Self::All => (0, total),
            Self::First(count) => (0, count.min(total)),
            Self::Last(count) => (total.saturating_sub(count), total),
            Self::Range(low, _) if low > total => (total, total),
            Self::Range(low, high) => (low - 1, high.min(total)),
        }
    }
}

/// A number from 1. One that is too large for the machine is past every end anyway.
fn count(digits: &str) -> Option<usize> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match digits.parse() {
        Ok(0) => None,
        Ok(number) => Some(number),
        Err(_) => Some(usize::MAX),
    }
}

fn wrong(text: &str) -> String {
    let text: String = text.chars().take(40).collect();
    format!(
        "limit {text:?} is not understood. \
         Write \"100-\" for the first 100, \"-25\" for the last 25, or \"50-100\" for a range counted from 1."
    )
}
