//! Tables of a page, which the converter fills up to a rectangle.
//!
//! A page of 80 KB may have a row of 3,000 cells and 3,000 rows of one cell, or cells that hang into all rows below. As text, and on the
//! way there, these are 9 million cells.

use std::collections::BTreeSet;

use html2text::{Element, Handle, RcDom};

/// Cells of all tables of a page, filled up to rectangles.
const MOST_CELLS: usize = 200_000;

/// The same for tables with spans: cells of several widths may begin at more places than a row has cells.
const MOST_WITH_SPANS: usize = 50_000;

/// Returns `true` if the tables of a page have few enough cells: as they are, or without the spans of cells, which are removed then.
pub(super) fn are_small(page: &RcDom) -> bool {
    // A long table says the same without spans.
    cells(page, false) <= MOST_WITH_SPANS || cells(page, true) <= MOST_CELLS
}

/// Returns the cells of the tables of a page; removes the spans of cells if these are not wanted.
fn cells(page: &RcDom, without_spans: bool) -> usize {
    let mut tables = vec![Table::default()];
    let mut open = vec![(page.document.clone(), 0)];
    while let Some((node, mut table)) = open.pop() {
        if let Element { name, attrs, .. } = &node.data {
            match &*name.local {
                "table" => {
                    table = tables.len();
                    tables.push(Table::default());
                }
                "tr" => tables[table].rows.push(Row::default()),
                "td" | "th" => {
                    let is_span = |name: &str| matches!(name, "rowspan" | "colspan");
                    if without_spans {
                        let mut attrs = attrs.borrow_mut();
                        attrs.retain(|attr| !is_span(&attr.name.local));
                    }
                    let span = |wanted: &str| {
                        let attrs = attrs.borrow();
                        let mut found = attrs.iter().filter(|it| &*it.name.local == wanted);
                        found.next_back().and_then(|it| it.value.parse().ok())
                    };
                    tables[table].add(span("rowspan"), span("colspan"));
                }
                _ => {}
            }
        }
        // The first child is visited first.
        let children = node.children.borrow();
        let children = children.iter().rev().map(Handle::clone);
        open.extend(children.map(|child| (child, table)));
    }
    let cells = tables.iter().map(Table::cells);
    cells.fold(0, usize::saturating_add)
}

/// The shape of a table.
#[derive(Default)]
struct Table {
    rows: Vec<Row>,
    /// Widths of cells that are wider than one column.
    widths: BTreeSet<usize>,
}

#[derive(Default)]
struct Row {
    cells: usize,
    /// Rows that a cell reaches into, with its own.
    spans: Vec<usize>,
}

impl Table {
    /// Adds a cell to the last row.
    fn add(&mut self, rows: Option<usize>, columns: Option<usize>) {
        let Some(row) = self.rows.last_mut() else {
            return;
        };
        row.cells += 1;
        row.spans.extend(rows.filter(|rows| *rows > 1));
        self.widths.extend(columns.filter(|columns| *columns != 1));
    }

    /// Returns at least the cells of the rectangle.
    fn cells(&self) -> usize {
        let rows = self.rows.len();
        // Cells that end above a row.
        let mut ends = vec![0; rows + 1];
        let (mut hanging, mut below, mut columns) = (0, 0, 0);
        for (at, row) in self.rows.iter().enumerate() {
            hanging -= ends[at];
            columns = columns.max(row.cells + hanging);
            for span in &row.spans {
                hanging += 1;
                match ends.get_mut(at.saturating_add(*span)) {
                    Some(ended) => *ended += 1,
                    None => below += 1,
                }
            }
        }
        let columns = columns.max(below) * (1 + self.widths.len());
        columns.saturating_mul(rows + below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_rectangles_are_counted() {
        let check = |html: &str, expected: usize| {
            let page = html2text::config::plain().parse_html(html.as_bytes());
            assert_eq!(cells(&page.unwrap(), false), expected, "{html}");
        };
        check("<p>a", 0);
        check("<table><tr><td>a<td>b<tr><td>c", 4);
        check("<table><td>a<td>b<tbody><td>c", 4);
        check("<table><tr><td rowspan=2>a<td>b<tr><td>c", 4);
        check("<table><tr><td rowspan=3>a<td>b<tr><td>c<td>d", 3 * 3);
        check(
            "<table><tr><td><table><tr><td>a<td>b</table><tr><td>c<td>d",
            2 + 4,
        );
        check("<table><tr><td>a<!-- <tr> --><td>b<tr><td>c", 4);
        check("<table><tr><td colspan=2>a<tr><td>b<td>c", 8);
    }

    #[test]
    fn what_is_too_large_loses_its_spans_or_is_refused() {
        let check = |html: &str, expected: bool, spans: bool| {
            let page = html2text::config::plain().parse_html(html.as_bytes());
            let page = page.unwrap();
            assert_eq!(are_small(&page), expected, "{}", &html[..60]);
            let mut source = Vec::new();
            page.serialize(&mut source).unwrap();
            let source = String::from_utf8(source).unwrap();
            assert_eq!(source.contains("span"), spans, "{}", &html[..60]);
        };
        let row = "<tr><td>a<td>b<td>c<td>d<td>e<td>f<td>g<td>h<td>i<td>j";
        check(&format!("<table>{}", row.repeat(10_000)), true, false);
        let spans = "<tr><td rowspan=99999999>x<td colspan=18446744073709551615>y";
        check(&format!("<table>{}", spans.repeat(100)), true, true);
        check(&format!("<table>{}", spans.repeat(3_000)), true, false);
        let row = |width: usize| ["<tr><td colspan=", &width.to_string(), ">x"].concat();
        let widths: String = (1..3_000).map(row).collect();
        check(&format!("<table>{widths}"), true, false);
        let (wide, high) = ("<td>x".repeat(3_000), "<tr><td>x".repeat(3_000));
        check(&format!("<table><tr>{wide}{high}"), false, false);
        check(&format!("<table><tr rowspan=1>{wide}{high}"), false, true);
    }
}
