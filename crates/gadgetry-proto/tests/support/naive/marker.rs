//! Where markers stand.

use gadgetry_proto::block::Anchoring;

use super::{Marker, Reader, is_blank};

impl Reader<'_> {
    /// The marker's text; only called if there are markers.
    pub(super) fn spelling(&self, marker: Marker) -> &str {
        let markers = self.format.markers.as_ref().expect("markers are set");
        match marker {
            Marker::Start => markers.start(),
            Marker::End => markers.end(),
            Marker::Argument => markers.arg(),
        }
    }

    /// Whether the marker's text stands at `at`, whatever stands before it.
    pub(super) fn stands(&self, marker: Marker, at: usize) -> bool {
        self.format.markers.is_some()
            && self.text.is_char_boundary(at)
            && self.text[at..].starts_with(self.spelling(marker))
    }

    /// Whether `at` holds a marker that counts.
    pub(super) fn marker_counts(&self, marker: Marker, at: usize) -> bool {
        if !self.stands(marker, at) {
            return false;
        }
        match self.format.anchoring {
            Anchoring::Anywhere => true,
            Anchoring::LineStart => {
                let before = self.line_before(at);
                before.chars().all(is_blank) && before.len() <= self.format.limits.indent
            }
        }
    }

    /// The marker behind the backslash at `at`, if that backslash is to be removed.
    pub(super) fn escaped_marker(&self, at: usize) -> Option<Marker> {
        if self.text.as_bytes()[at] != b'\\' {
            return None;
        }
        let marker = ALL
            .into_iter()
            .find(|&marker| self.stands(marker, at + 1))?;
        let before = self.line_before(at + 1);
        let escapes = self.format.anchoring == Anchoring::LineStart
            && before
                .trim_end_matches('\\')
                .trim_start_matches(is_blank)
                .is_empty()
            && before.len() <= self.format.limits.indent;
        escapes.then_some(marker)
    }

    /// What stands on its line before `at`, without reasoning.
    fn line_before(&self, at: usize) -> String {
        let mut before = self.text[..at].to_owned();
        for (place, instead) in self.erased.iter().rev() {
            before.replace_range(place.clone(), instead);
        }
        let line = before.rfind('\n').map_or(0, |newline| newline + 1);
        before.split_off(line)
    }

    /// The first marker at or behind `from` that counts in a body.
    pub(super) fn next_marker(&self, from: usize) -> Option<(Marker, usize)> {
        (from..self.text.len()).find_map(|at| {
            let marker = ALL
                .into_iter()
                .find(|&marker| self.marker_counts(marker, at))?;
            Some((marker, at))
        })
    }

    /// The first byte of the line that holds `at`.
    pub(super) fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }
}

pub(super) const ALL: [Marker; 3] = [Marker::Start, Marker::End, Marker::Argument];
