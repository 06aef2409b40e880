//! Stop sequences of a client, searched only in the visible text: at the upstream they could end a block in the middle.

/// Finds stop sequences in text that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stops {
    sequences: Vec<String>,
    /// Text that may be the beginning of a stop sequence.
    kept: String,
    found: Option<String>,
}

impl Stops {
    /// Makes a search for these sequences. Empty ones are ignored.
    pub(crate) fn new(sequences: Vec<String>) -> Self {
        let sequences = sequences.into_iter().filter(|it| !it.is_empty());
        Self {
            sequences: sequences.collect(),
            ..Self::default()
        }
    }

    /// Returns the sequence that has ended the text.
    pub(crate) fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }

    /// Takes text, and returns the part that may be shown. After a stop sequence, it is empty.
    pub(crate) fn push(&mut self, text: String) -> String {
        if self.found.is_some() {
            return String::new();
        }
        if self.sequences.is_empty() {
            return text;
        }
        let mut text = if self.kept.is_empty() {
            text
        } else {
            std::mem::take(&mut self.kept) + &text
        };
        let all = self.sequences.iter();
        let first = all.filter_map(|stop| Some((text.find(stop)?, stop)));
        if let Some((at, stop)) = first.min_by_key(|(at, _)| *at) {
            self.found = Some(stop.clone());
            text.truncate(at);
            return text;
        }
        let from = self.begins_at(&text);
        self.kept = text.split_off(from);
        text
    }

    /// Returns the text that only looked like the beginning of a stop sequence.
    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.kept)
    }

    /// Returns the position at which the text may contain the beginning of a stop sequence.
    fn begins_at(&self, text: &str) -> usize {
        let longest = self.sequences.iter().map(String::len).max().unwrap_or(0);
        let from = text.floor_char_boundary((text.len() + 1).saturating_sub(longest));
        let mut starts = text[from..].char_indices().map(|(at, _)| from + at);
        let may_begin = |at: &usize| {
            self.sequences
                .iter()
                .any(|stop| stop.starts_with(&text[*at..]))
        };
        starts.find(may_begin).unwrap_or(text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::Stops;

    #[test]
    fn whatever_the_pieces() {
        let check = |stops: &[&str], text: &str, shown: &str, found: Option<&str>| {
            for size in 1..=text.len() {
                let mut filter = Stops::new(stops.iter().map(|it| (*it).to_owned()).collect());
                let mut out = String::new();
                let chars: Vec<char> = text.chars().collect();
                for piece in chars.chunks(size) {
                    out += &filter.push(piece.iter().collect());
                }
                out += &filter.finish();
                assert_eq!((out.as_str(), filter.found()), (shown, found), "{size}");
            }
        };
        check(&[], "a stop b", "a stop b", None);
        check(&[""], "abc", "abc", None);
        check(&["stop"], "a stop b", "a ", Some("stop"));
        check(&["stop"], "a sto sstop b", "a sto s", Some("stop"));
        check(&["stop", "top"], "x stop", "x ", Some("stop"));
        check(&["ä€"], "aäbä€c", "aäb", Some("ä€"));
        check(&["stop"], "a sto", "a sto", None);
    }
}
