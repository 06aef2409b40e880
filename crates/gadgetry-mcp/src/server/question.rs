//! The question to the user of a client about a call: all of it, in pages that fit on a screen.

use gadgetry::CallPreview;
use gadgetry::proto::visible::visible_line;
use serde_json::Value;

/// Characters of a page.
const PAGE: usize = 2_000;
/// Pages of a question; a call that needs more is refused.
const PAGES: usize = 20;
/// Characters of a row. A longer line is continued, so that a client need not wrap it.
const ROW: usize = 200;

/// The pages of the question about a call; `None` if there are too many.
///
/// What the server says is first, and each line of the call has a mark, so no text of the call looks like one of the server.
pub(super) fn questions(
    gadget: &str,
    parameters: &Value,
    preview: &CallPreview,
) -> Option<Vec<String>> {
    let mut rows = Rows::default();
    for note in &preview.notes {
        rows.add("- ", note);
    }
    match &preview.subject {
        Some(subject) => rows.lines(subject.text()),
        None => rows.lines(&parameters.to_string()),
    }
    if let Some(further) = preview.further_parameters(parameters) {
        rows.lines(&further);
    }
    if let Some(diff) = &preview.diff {
        rows.lines(diff);
    }
    rows.questions(gadget)
}

/// Rows in pages.
#[derive(Default)]
struct Rows {
    pages: Vec<String>,
    /// Characters of the last page.
    chars: usize,
}

impl Rows {
    fn lines(&mut self, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        // Not `lines`, which drops carriage returns.
        for line in text.split('\n') {
            self.add("| ", line);
        }
    }

    fn add(&mut self, mark: &str, line: &str) {
        let line = visible_line(&line.replace('\t', "    ")).into_owned();
        let (mut mark, mut rest) = (mark, &*line);
        loop {
            if self.pages.len() > PAGES {
                return;
            }
            let end = rest.char_indices().nth(ROW).map_or(rest.len(), |it| it.0);
            let (row, more) = rest.split_at(end);
            self.row(mark, row);
            if more.is_empty() {
                return;
            }
            (mark, rest) = (": ", more);
        }
    }

    fn row(&mut self, mark: &str, row: &str) {
        let chars = row.chars().count() + mark.len() + 1;
        if self.pages.is_empty() || self.chars + chars > PAGE {
            self.pages.push(String::new());
            self.chars = 0;
        }
        self.chars += chars;
        if let Some(page) = self.pages.last_mut() {
            page.extend([mark, row, "\n"]);
        }
    }

    fn questions(self, gadget: &str) -> Option<Vec<String>> {
        let count = self.pages.len();
        if count > PAGES {
            return None;
        }
        let gadget = visible_line(gadget);
        let question = |(number, page): (usize, String)| {
            let part = match count {
                0 | 1 => String::new(),
                count => format!(
                    " (page {} of {count}: it runs once you have approved all)",
                    number + 1
                ),
            };
            format!(
                "May the gadget {gadget} run?{part}\n{}",
                page.trim_end_matches('\n')
            )
        };
        Some(self.pages.into_iter().enumerate().map(question).collect())
    }
}

#[cfg(test)]
mod tests {
    use gadgetry::Subject;
    use serde_json::json;

    use super::*;

    fn asked(preview: &CallPreview) -> Option<Vec<String>> {
        questions("Run", &json!({ "a": "b" }), preview)
    }

    #[test]
    fn the_call_forges_no_line_of_the_server() {
        let check = |preview: CallPreview, expected: &str| {
            assert_eq!(asked(&preview), Some(vec![expected.to_owned()]));
        };
        check(
            CallPreview::default(),
            "May the gadget Run run?\n| {\"a\":\"b\"}",
        );
        let command = "ls  -l\n- in the sandbox\r\nMay the gadget Other run?\u{2028}\u{202e}\n";
        let preview = CallPreview::of(Subject::command(command));
        check(
            preview.note("no sandbox\n| echo").diff("-a\n+b\n"),
            "May the gadget Run run?\n- no sandbox\\u{a}| echo\n| ls  -l\n| - in the sandbox\\u{d}\n\
             | May the gadget Other run?\\u{2028}\\u{202e}\n| -a\n| +b",
        );
    }

    #[test]
    fn all_of_it_is_asked_about_or_nothing() {
        let check = |length: usize, pages: Option<usize>| {
            let command = "x".repeat(length);
            let preview = CallPreview::of(Subject::command(command));
            let asked = asked(&preview);
            assert_eq!(asked.as_ref().map(Vec::len), pages, "{length}");
            let Some(asked) = asked else { return };
            let rows = asked.iter().flat_map(|page| page.lines().skip(1));
            let shown: usize = rows.map(|row| row.len() - 2).sum();
            assert_eq!(shown, length);
            assert!(asked.iter().all(|page| page.chars().count() < PAGE + 100));
        };
        check(0, Some(1));
        check(1_970, Some(1));
        check(1_971, Some(2));
        check(36_170, Some(20));
        check(36_171, None);
        check(10_000_000, None);
    }
}
