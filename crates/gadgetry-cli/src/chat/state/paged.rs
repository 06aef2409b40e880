//! All of a call that the user decides about, in pages as high as the screen. It counts as seen when its last row was shown.

use ratatui_core::text::Line;

use crate::chat::text::wrap_all;

/// Rows that a page leaves to the question, the input line and the status.
const OTHERS: u16 = 9;
/// Rows of a page at least. A lower screen has no pages: everything is printed.
const LEAST: u16 = 3;

/// A call that is longer than a screen.
#[derive(Debug)]
pub(super) struct Paged {
    lines: Vec<Line<'static>>,
    /// The lines at this width.
    rows: Vec<Line<'static>>,
    width: u16,
    /// Rows of a page.
    height: usize,
    /// The first row of the page.
    top: usize,
    is_seen: bool,
}

impl Paged {
    /// Begins with the first page; `Err` if the lines fit, or the screen is too low for pages.
    pub(super) fn new(
        lines: Vec<Line<'static>>,
        screen: (u16, u16),
    ) -> Result<Self, Vec<Line<'static>>> {
        let mut paged = Self {
            lines,
            rows: Vec::new(),
            width: 0,
            height: 0,
            top: 0,
            is_seen: false,
        };
        if paged.resize(screen) && !paged.is_seen {
            Ok(paged)
        } else {
            Err(paged.lines)
        }
    }

    /// Lays it out for a screen of this size. At another width it begins again. Returns whether the screen is high enough.
    pub(super) fn resize(&mut self, (columns, height): (u16, u16)) -> bool {
        let height = height.saturating_sub(OTHERS);
        let width = columns.saturating_sub(1).max(1);
        if self.width != width {
            self.rows = wrap_all(&self.lines, width);
            (self.width, self.top) = (width, 0);
        }
        self.height = usize::from(height);
        self.look();
        height >= LEAST
    }

    /// The rows of the page.
    pub(super) fn page(&self) -> &[Line<'static>] {
        let rows = self.rows.get(self.top..).unwrap_or_default();
        rows.get(..self.height).unwrap_or(rows)
    }

    /// Shows the next page, if there is one.
    pub(super) fn next(&mut self) {
        if self.rest() > 0 {
            self.top += self.height;
            self.look();
        }
    }

    /// Shows the page before.
    pub(super) fn back(&mut self) {
        self.top = self.top.saturating_sub(self.height);
    }

    /// Returns the number of rows after the page.
    pub(super) fn rest(&self) -> usize {
        self.rows.len().saturating_sub(self.top + self.height)
    }

    /// Returns whether the last row was shown, and with it all rows before.
    pub(super) fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// Returns all lines.
    pub(super) fn into_lines(self) -> Vec<Line<'static>> {
        self.lines
    }

    fn look(&mut self) {
        self.is_seen |= self.rest() == 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paged(count: usize, screen: (u16, u16)) -> Result<Paged, Vec<Line<'static>>> {
        let lines = (1..=count).map(|number| Line::raw(format!("line {number}")));
        Paged::new(lines.collect(), screen)
    }

    #[test]
    fn pages_are_as_high_as_the_screen_and_turn_both_ways() {
        let mut paged = paged(40, (80, 24)).expect("pages");
        let check = |paged: &Paged, first: usize, last: usize, is_seen: bool| {
            let page = paged.page();
            let ends = [page.first(), page.last()].map(|it| it.map(ToString::to_string));
            let expected = [first, last].map(|it| Some(format!("line {it}")));
            assert_eq!((ends, paged.is_seen()), (expected, is_seen));
        };
        check(&paged, 1, 15, false);
        paged.next();
        check(&paged, 16, 30, false);
        paged.back();
        check(&paged, 1, 15, false);
        paged.next();
        paged.next();
        check(&paged, 31, 40, true);
        paged.next();
        check(&paged, 31, 40, true);
        // What was seen stays seen.
        paged.back();
        check(&paged, 16, 30, true);
    }

    #[test]
    fn another_width_begins_again() {
        let mut paged = paged(40, (80, 24)).expect("pages");
        paged.next();
        assert!(paged.resize((80, 30)));
        assert_eq!(paged.page().len(), 21);
        assert_eq!(paged.page()[0].to_string(), "line 16");
        assert!(paged.resize((6, 24)));
        assert_eq!(paged.page()[0].to_string(), "line");
        assert!(!paged.is_seen());
        assert!(!paged.resize((80, 11)));
        assert_eq!(paged.into_lines().len(), 40);
    }

    #[test]
    fn what_fits_has_no_pages() {
        let check = |count: usize, height: u16, expected: bool| {
            let paged = paged(count, (80, height));
            assert_eq!(paged.is_ok(), expected, "{count} on {height}");
        };
        check(15, 24, false);
        check(16, 24, true);
        check(40, 12, true);
        check(40, 11, false);
    }
}
