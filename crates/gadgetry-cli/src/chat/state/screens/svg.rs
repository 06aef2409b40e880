//! A screen of a terminal as a small SVG.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

const LINE_HEIGHT: usize = 17;
const MARGIN: usize = 12;
/// Tenths of a pixel that a column of 13 px takes in a monospaced font.
const COLUMN: usize = 78;

/// Colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Palette {
    Dark,
    Light,
    /// A dark one whose user has set `NO_COLOR`.
    Plain,
}

impl Palette {
    fn background(self) -> &'static str {
        match self {
            Self::Dark | Self::Plain => "#0d1117",
            Self::Light => "#ffffff",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Dark | Self::Plain => "#e6edf3",
            Self::Light => "#1f2328",
        }
    }

    /// The colour of a number from 1 to 6: red, green, yellow, blue, magenta, cyan.
    fn color(self, number: u8) -> &'static str {
        const DARK: [&str; 6] = [
            "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd",
        ];
        const LIGHT: [&str; 6] = [
            "#cf222e", "#116329", "#9a6700", "#0550ae", "#8250df", "#1b7c83",
        ];
        let colors = if self == Self::Light { LIGHT } else { DARK };
        let index = usize::from(number).wrapping_sub(1);
        colors.get(index).copied().unwrap_or_else(|| self.text())
    }
}

/// Draws a screen, of which nothing but its cells counts.
pub(super) fn draw(screen: &Screen, title: &str, palette: Palette) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let width = usize::from(columns) * COLUMN / 10 + 2 * MARGIN;
    let height = usize::from(rows) * LINE_HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"{}\" xml:space=\"preserve\">\n",
        escaped(title),
        palette.background(),
        palette.text(),
    );
    for row in 0..rows {
        let spans = spans(screen, row, columns, palette);
        if !spans.is_empty() {
            let y = MARGIN + (usize::from(row) + 1) * LINE_HEIGHT - 4;
            // Writing to a string cannot fail.
            let _ = writeln!(svg, "<text y=\"{y}\">{spans}</text>");
        }
    }
    if !screen.hide_cursor() {
        let (row, column) = screen.cursor_position();
        let x = MARGIN + usize::from(column) * COLUMN / 10;
        let y = MARGIN + usize::from(row) * LINE_HEIGHT + 2;
        let fill = palette.text();
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"8\" height=\"15\" fill=\"{fill}\" opacity=\".5\"/>"
        );
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// The text of a row in pieces of one style, each at its column.
fn spans(screen: &Screen, row: u16, columns: u16, palette: Palette) -> String {
    let mut out = String::new();
    let mut piece = (0, String::new(), String::new());
    let mut end = |(column, style, text): (u16, String, String)| {
        if !text.trim().is_empty() {
            let x = MARGIN + usize::from(column) * COLUMN / 10;
            let text = escaped(text.trim_end());
            let _ = write!(out, "<tspan x=\"{x}\"{style}>{text}</tspan>");
        }
    };
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else {
            continue;
        };
        if cell.is_wide_continuation() {
            continue;
        }
        let style = style(cell, palette);
        if style != piece.1 {
            end(std::mem::replace(
                &mut piece,
                (column, style, String::new()),
            ));
        }
        let text = if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        piece.2.push_str(text);
    }
    end(piece);
    out
}

fn style(cell: &Cell, palette: Palette) -> String {
    let mut style = String::new();
    if let Color::Idx(number) = cell.fgcolor() {
        let _ = write!(style, " fill=\"{}\"", palette.color(number));
    }
    let parts = [
        (cell.bold(), " font-weight=\"bold\""),
        (cell.dim(), " opacity=\".65\""),
        (cell.italic(), " font-style=\"italic\""),
        (cell.underline(), " text-decoration=\"underline\""),
    ];
    for (_, part) in parts.iter().filter(|(is_set, _)| *is_set) {
        style.push_str(part);
    }
    style
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}
