//! Bars of what the chains take in each way, as SVG.

use std::fmt::Write as _;

use crate::Cost;

const WIDTH: f64 = 760.0;
const LABEL: f64 = 210.0;
const BAR: f64 = 400.0;
const ROW: f64 = 22.0;
const COLORS: [&str; 3] = ["#8b949e", "#d29922", "#3fb950"];

/// One group of bars for each of requests, tokens and seconds.
pub(crate) fn draw(names: &[&str; 3], costs: &[Cost; 3]) -> String {
    let groups: [(&str, [f64; 3]); 3] = [
        ("model requests", costs.map(|cost| cost.requests as f64)),
        ("tokens", costs.map(|cost| cost.tokens() as f64)),
        ("seconds", costs.map(|cost| cost.took.as_secs_f64())),
    ];
    let height = 16.0 + groups.len() as f64 * (ROW * 4.0 + 10.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>Requests, tokens and seconds of four tasks that need a chain of three calls</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#e6edf3\">\n"
    );
    let mut y = 28.0;
    for (title, values) in groups {
        let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let _ = writeln!(
            svg,
            "<text x=\"16\" y=\"{y}\" font-weight=\"bold\">{title}</text>"
        );
        y += ROW;
        for ((name, value), color) in names.iter().zip(values).zip(COLORS) {
            let width = BAR * value / most;
            let shown = if value.fract() == 0.0 {
                format!("{value}")
            } else {
                format!("{value:.1}")
            };
            let (top, end) = (y - 12.0, LABEL + 40.0 + width);
            let _ = writeln!(
                svg,
                "<text x=\"16\" y=\"{y}\" fill=\"#8b949e\">{name}</text>\
                 <rect x=\"{}\" y=\"{top}\" width=\"{width:.0}\" height=\"15\" rx=\"3\" fill=\"{color}\"/>\
                 <text x=\"{end:.0}\" y=\"{y}\">{shown}</text>",
                LABEL + 32.0,
            );
            y += ROW;
        }
        y += 10.0;
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}
