//! The live region: rows below the settled text, repainted in place.
//!
//! Settled lines are printed once and belong to the terminal from then on. What still changes is a few rows below them. To
//! repaint, the cursor moves up by the rows that were painted above it, and each row is written and erased to its end.
//! `ESC[J` is never used, because some terminals push a copy of the screen into the scrollback then, and the terminal is
//! never asked where the cursor is, because the answer would come between the keys.

use std::fmt::Write as _;

use gadgetry::proto::visible::visible_line;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Line;

use crate::chat::text;

/// The rows below the settled text, none wider than the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct View {
    /// The rows, from above.
    pub(crate) rows: Vec<Line<'static>>,
    /// The row and the column of the cursor, from 0.
    pub(crate) cursor: (usize, u16),
}

/// Colours that the terminal shows: of its own sixteen, those that can be read on its background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colors {
    None,
    /// For a dark background.
    Dark,
    /// For a light background, on which yellow and cyan are pale.
    Light,
}

impl Colors {
    /// Reads the variables `NO_COLOR` and `COLORFGBG`. The latter, which some terminals set and a user may set, ends with the number of
    /// the background among the sixteen colours.
    pub(crate) fn of(no_color: Option<&str>, foreground_and_background: Option<&str>) -> Self {
        if no_color.is_some_and(|it| !it.is_empty()) {
            return Self::None;
        }
        let background = foreground_and_background.and_then(|it| it.rsplit(';').next());
        match background.and_then(|it| it.parse::<u8>().ok()) {
            Some(7 | 9..=15) => Self::Light,
            Some(_) | None => Self::Dark,
        }
    }

    /// The colour that is shown in place of this one.
    fn shown(self, color: Color) -> Option<Color> {
        match (self, color) {
            (Self::None, _) => None,
            (Self::Light, Color::Yellow) => Some(Color::Magenta),
            (Self::Light, Color::Cyan) => Some(Color::Blue),
            (Self::Dark | Self::Light, color) => Some(color),
        }
    }
}

/// Live region of the terminal, as painted last.
#[derive(Debug)]
pub(crate) struct Region {
    view: View,
    /// Columns of the screen then.
    width: u16,
    colors: Colors,
    reflows: bool,
    /// What covers the screen.
    overlay: Option<View>,
}

impl Region {
    /// Nothing is painted yet. `reflows` says whether the terminal wraps its rows again when it becomes narrower.
    pub(crate) fn new(colors: Colors, reflows: bool) -> Self {
        Self {
            view: View::default(),
            width: 0,
            colors,
            reflows,
            overlay: None,
        }
    }

    /// Uses the colours for a background from now on.
    pub(crate) fn use_background(&mut self, is_light: bool) {
        self.colors = if is_light {
            Colors::Light
        } else {
            Colors::Dark
        };
        // No row is as it would be painted now.
        (self.width, self.overlay) = (0, self.overlay.take().map(|_| View::default()));
    }

    /// Returns the output that puts `settled` above and `view` below; empty if nothing changes.
    pub(crate) fn paint(&mut self, width: u16, settled: &[Line<'_>], view: View) -> String {
        if settled.is_empty() && view == self.view && width == self.width {
            return String::new();
        }
        // A terminal of another width may have wrapped the rows, and then every row is elsewhere.
        let is_in_place = settled.is_empty() && width == self.width;
        let mut out = String::from("\x1b[?2026h\x1b[?25l\r");
        up(&mut out, self.height(width, self.view.cursor.0));
        if width != self.width {
            // Rows that the terminal has wrapped are joined again when it becomes wider, unless they were cleared.
            out.push_str("\x1b[J");
        }
        for line in settled {
            self.line(&mut out, line);
            out.push_str("\x1b[K\r\n");
        }
        for (index, row) in view.rows.iter().enumerate() {
            if index > 0 {
                out.push_str("\r\n");
            }
            if !is_in_place || self.view.rows.get(index) != Some(row) {
                self.line(&mut out, row);
                out.push_str("\x1b[K");
            }
        }
        let before = self.height(width, self.view.rows.len());
        let left_over = before.saturating_sub(settled.len() + view.rows.len());
        for _ in 0..left_over {
            out.push_str("\r\n\x1b[K");
        }
        let last = view.rows.len().saturating_sub(1);
        up(&mut out, last.saturating_sub(view.cursor.0) + left_over);
        // Writing to a string cannot fail.
        let _ = write!(out, "\r\x1b[{}G\x1b[?25h\x1b[?2026l", view.cursor.1 + 1);
        (self.view, self.width) = (view, width);
        out
    }

    /// Returns the output that fills the screen with the rows of `view`; empty if they are there.
    pub(crate) fn overlay(&mut self, view: View) -> String {
        if self.overlay.as_ref() == Some(&view) {
            return String::new();
        }
        let mut out = String::from("\x1b[?2026h\x1b[?25l");
        if self.overlay.is_none() {
            out.push_str("\x1b[?1049h");
        }
        out.push_str("\x1b[H");
        for (index, row) in view.rows.iter().enumerate() {
            if index > 0 {
                out.push_str("\r\n");
            }
            self.line(&mut out, row);
            out.push_str("\x1b[K");
        }
        let (row, column) = (view.cursor.0 + 1, view.cursor.1 + 1);
        // Writing to a string cannot fail.
        let _ = write!(out, "\x1b[{row};{column}H\x1b[?25h\x1b[?2026l");
        self.overlay = Some(view);
        out
    }

    /// Returns the output that brings back the screen as it was before the overlay.
    pub(crate) fn uncover(&mut self) -> &'static str {
        match self.overlay.take() {
            Some(_) => "\x1b[?1049l",
            None => "",
        }
    }

    /// Returns the output that removes the region and puts the cursor where it began.
    pub(crate) fn erase(&mut self, width: u16) -> String {
        let blank = View {
            rows: vec![Line::default()],
            ..View::default()
        };
        let frame = self.paint(width, &[], blank);
        self.forget();
        frame
    }

    /// Forgets the region, because something else was written to the terminal. The next one begins at the cursor.
    pub(crate) fn forget(&mut self) {
        self.view = View::default();
    }

    /// Rows of the screen that the first `rows` of the region take now.
    fn height(&self, width: u16, rows: usize) -> usize {
        let width = usize::from(width.max(1));
        let rows = self.view.rows.iter().take(rows);
        if !self.reflows {
            return rows.count();
        }
        rows.map(|row| columns(row).div_ceil(width).max(1)).sum()
    }

    fn line(&self, out: &mut String, line: &Line<'_>) {
        self.colors.line(out, line);
    }
}

impl Colors {
    /// Writes a line with its styles.
    pub(crate) fn line(self, out: &mut String, line: &Line<'_>) {
        let mut now = Style::default();
        for span in &line.spans {
            let style = self.style(line.style.patch(span.style));
            if style != now {
                select(out, style);
                now = style;
            }
            // The one way to the terminal: no text of others commands it, whatever was done to it before.
            out.push_str(&visible_line(&span.content));
        }
        if now != Style::default() {
            out.push_str("\x1b[0m");
        }
    }

    fn style(self, style: Style) -> Style {
        let color = style.fg.and_then(|color| self.shown(color));
        let plain = Style::new().add_modifier(style.add_modifier);
        color.map_or(plain, |color| plain.fg(color))
    }
}

fn up(out: &mut String, rows: usize) {
    if rows > 0 {
        // Writing to a string cannot fail.
        let _ = write!(out, "\x1b[{rows}A");
    }
}

fn columns(line: &Line<'_>) -> usize {
    line.spans
        .iter()
        .map(|span| text::width(&span.content))
        .sum()
}

/// Selects a style, from whatever was selected before. Only the sixteen colours that the user has chosen for the terminal.
fn select(out: &mut String, style: Style) {
    const MODIFIERS: [(Modifier, u8); 5] = [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::ITALIC, 3),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
    ];
    out.push_str("\x1b[0");
    for (modifier, number) in MODIFIERS {
        if style.add_modifier.contains(modifier) {
            let _ = write!(out, ";{number}");
        }
    }
    let color = match style.fg {
        Some(Color::Red) => 31,
        Some(Color::Green) => 32,
        Some(Color::Yellow) => 33,
        Some(Color::Blue) => 34,
        Some(Color::Magenta) => 35,
        Some(Color::Cyan) => 36,
        _ => 39,
    };
    if color != 39 {
        let _ = write!(out, ";{color}");
    }
    out.push('m');
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;

    fn terminal(rows: u16, columns: u16) -> vt100::Parser {
        let size = |it| NonZeroU16::new(it).expect("a size");
        vt100::Parser::new(size(rows), size(columns), 100)
    }

    fn view(rows: &[&str]) -> View {
        View {
            rows: rows
                .iter()
                .map(|row| Line::raw((*row).to_owned()))
                .collect(),
            cursor: (rows.len() - 1, 0),
        }
    }

    /// The screen after these paints, at its width then.
    #[track_caller]
    fn check(paints: &[(&[&str], &[&str])], expected: &str) {
        let mut region = Region::new(Colors::Dark, true);
        let mut terminal = terminal(8, 10);
        for (settled, rows) in paints {
            let settled: Vec<Line<'_>> = settled.iter().map(|it| Line::raw(*it)).collect();
            terminal.process(region.paint(10, &settled, view(rows)).as_bytes());
        }
        assert_eq!(terminal.screen().contents(), expected, "{paints:?}");
    }

    #[test]
    fn settled_lines_stay_and_rows_are_replaced() {
        check(&[(&[], &[">"])], ">");
        check(&[(&[], &["a", ">"]), (&["a"], &[">"])], "a\n>");
        check(&[(&["1"], &["x", "y", "z"]), (&[], &["w"])], "1\nw");
        check(
            &[(&["1"], &["x"]), (&["2", "3"], &["y", "z"])],
            "1\n2\n3\ny\nz",
        );
        check(&[(&[], &["same", "a"]), (&[], &["same", "b"])], "same\nb");
        check(
            &[(&["日本語です"], &["ねえ", "longer row"])],
            "日本語です\nねえ\nlonger row",
        );
    }

    /// A terminal keeps that it has wrapped a row, also if another text is written over it.
    #[test]
    fn rows_of_another_width_are_cleared() {
        let mut region = Region::new(Colors::Dark, true);
        let clears = |width: u16| {
            region
                .paint(width, &[], view(&["a", ">"]))
                .contains("\x1b[J")
        };
        assert_eq!(
            [10, 10, 6, 6, 12].map(clears),
            [true, false, true, false, true]
        );
    }

    #[test]
    fn settled_text_scrolls_into_the_scrollback_once() {
        let mut region = Region::new(Colors::Dark, true);
        let mut terminal = terminal(4, 10);
        for number in 0..20 {
            let settled = [Line::raw(format!("line {number}"))];
            let frame = region.paint(10, &settled, view(&["tail", ">"]));
            terminal.process(frame.as_bytes());
        }
        assert_eq!(terminal.screen().contents(), "line 18\nline 19\ntail\n>");
        terminal.screen_mut().set_scrollback(100);
        let text = terminal.screen().contents();
        assert_eq!(text, "line 0\nline 1\nline 2\nline 3");
        terminal.process(region.erase(10).as_bytes());
        terminal.screen_mut().set_scrollback(0);
        assert_eq!(terminal.screen().contents(), "line 18\nline 19");
    }

    #[test]
    fn an_unchanged_frame_writes_nothing() {
        let mut region = Region::new(Colors::Dark, true);
        assert!(!region.paint(10, &[], view(&["a"])).is_empty());
        assert_eq!(region.paint(10, &[], view(&["a"])), "");
        assert!(!region.paint(9, &[], view(&["a"])).is_empty());
    }

    #[test]
    fn rows_that_the_terminal_has_wrapped_are_counted() {
        let check = |reflows: bool, width: u16, rows: usize| {
            let mut region = Region::new(Colors::Dark, reflows);
            region.paint(20, &[], view(&["ten columns", "", "日本語です"]));
            assert_eq!(region.height(width, 3), rows, "{width}");
        };
        check(true, 20, 3);
        check(true, 11, 3);
        check(true, 10, 4);
        check(true, 4, 3 + 1 + 3);
        check(false, 4, 3);
    }

    #[test]
    fn no_text_commands_the_terminal() {
        let mut region = Region::new(Colors::Dark, true);
        let hostile = [Line::raw("\u{1b}[2J\u{9b}1A\u{7}\r\u{202e}x")];
        let frame = region.paint(80, &hostile, View::default());
        assert!(
            frame.contains("\\u{1b}[2J\\u{9b}1A\\u{7}\\u{d}\\u{202e}x"),
            "{frame:?}"
        );
        assert!(!frame.contains("\u{1b}[2J"), "{frame:?}");
    }

    #[test]
    fn colors_fit_the_background_and_can_be_off() {
        let check = |colors: Colors, color: Color, expected: &str| {
            let mut region = Region::new(colors, true);
            let style = Style::new().fg(color).add_modifier(Modifier::BOLD);
            let frame = region.paint(80, &[Line::styled("x", style)], View::default());
            assert!(frame.contains(expected), "{frame:?}");
        };
        check(Colors::Dark, Color::Red, "\x1b[0;1;31mx\x1b[0m");
        check(Colors::None, Color::Red, "\x1b[0;1mx\x1b[0m");
        check(Colors::Dark, Color::Yellow, "\x1b[0;1;33mx\x1b[0m");
        check(Colors::Light, Color::Yellow, "\x1b[0;1;35mx\x1b[0m");
        check(Colors::Light, Color::Red, "\x1b[0;1;31mx\x1b[0m");
    }

    #[test]
    fn the_background_is_known_by_variables() {
        let check = |no_color: Option<&str>, colors: Option<&str>, expected: Colors| {
            assert_eq!(
                Colors::of(no_color, colors),
                expected,
                "{no_color:?} {colors:?}"
            );
        };
        check(None, None, Colors::Dark);
        check(Some(""), Some("15;0"), Colors::Dark);
        check(None, Some("0;15"), Colors::Light);
        check(None, Some("0;default;7"), Colors::Light);
        check(None, Some("12;8"), Colors::Dark);
        check(None, Some("x"), Colors::Dark);
        check(Some("1"), Some("0;15"), Colors::None);
    }
}
