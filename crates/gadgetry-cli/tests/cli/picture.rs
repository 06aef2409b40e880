//! `docs/demo.svg`, the picture of the README: what `gadgetry demo` prints, as it looks in a terminal.
//!
//! `cargo xtask picture` draws it again from a new run. The test compares its lines with those of a run of today, and
//! its drawing with how these lines are drawn now.

use std::fmt::Write as _;
use std::path::Path;

use super::demo::comparable;
use super::workshop::{Ended, Workshop};

/// Set by `cargo xtask picture`: then the picture is written, not checked.
const WRITE: &str = "GADGETRY_WRITE_PICTURE";

const LINE_HEIGHT: usize = 18;
const MARGIN: usize = 16;
/// Tenths of a pixel that a character of 13 px takes in a monospaced font.
const CHARACTER_WIDTH: usize = 79;

#[test]
fn the_picture_shows_what_the_demo_prints() {
    let workshop = Workshop::new("");
    let ended = Ended::of(&mut workshop.command(&["demo"]));
    let printed = format!("$ gadgetry demo\n{}", ended.stdout);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/demo.svg");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, draw(&printed)).expect("the picture is written");
        return;
    }
    let picture = std::fs::read_to_string(&file).expect("docs/demo.svg");
    let shown = lines(&picture);
    let why = "`cargo xtask picture` draws it again";
    assert_eq!(comparable(&shown), comparable(&printed), "{why}");
    assert_eq!(draw(&shown), picture, "{why}");
}

fn draw(text: &str) -> String {
    let longest = text.lines().map(|line| line.chars().count()).max();
    let width = longest.unwrap_or(0) * CHARACTER_WIDTH / 10 + 2 * MARGIN;
    let height = text.lines().count() * LINE_HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>A run of gadgetry demo</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#e6edf3\">\n"
    );
    for (number, line) in text.lines().enumerate() {
        let below = MARGIN + (number + 1) * LINE_HEIGHT - 5;
        let colour = colour(line).map_or(String::new(), |colour| format!(" fill=\"{colour}\""));
        let line = escaped(line);
        // An empty line keeps its element, so that the text can be read back.
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{below}\"{colour} xml:space=\"preserve\">{line}</text>"
        );
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// The colour of a line, by the sign that it begins with.
fn colour(line: &str) -> Option<&'static str> {
    let start = line.trim_start();
    let colours = [
        ("$ ", "#7ee787"),
        ("[", "#d2a8ff"),
        ("> ", "#79c0ff"),
        (". ", "#8b949e"),
        ("+ ", "#56d364"),
        ("x ", "#ff7b72"),
        ("- ", "#e3b341"),
        ("<", "#8b949e"),
        ("Timeline", "#d2a8ff"),
    ];
    let found = colours.iter().find(|(sign, _)| start.starts_with(sign));
    found.map(|(_, colour)| *colour)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The lines of text in a picture.
fn lines(svg: &str) -> String {
    let mut text = String::new();
    for element in svg.lines().filter(|line| line.starts_with("<text")) {
        let content = element
            .split_once('>')
            .and_then(|(_, rest)| rest.strip_suffix("</text>"))
            .expect("a line of text");
        let content = content.replace("&lt;", "<").replace("&gt;", ">");
        text.push_str(&content.replace("&amp;", "&"));
        text.push('\n');
    }
    text
}
