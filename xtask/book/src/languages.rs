//! Programs in several languages: blocks of code that follow each other, of which `docs/tabs.js` makes tabs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The languages of each such program, in the order of the tabs.
const LANGUAGES: [&str; 3] = ["rust", "python", "ts"];

/// Pages that have such a program.
const PAGES: [&str; 14] = [
    "agents",
    "approvals",
    "costs-and-budgets",
    "custom-blocks",
    "durable-runs",
    "errors",
    "gadgets",
    "getting-started",
    "mcp",
    "models",
    "state",
    "testing",
    "typed-answers",
    "web",
];

/// Returns a line for each program that lacks a language, and for each of [`PAGES`] without one.
pub(crate) fn problems(pages: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let mut problems = Vec::new();
    for (page, text) in pages {
        for program in programs(text) {
            let has_tabs = program.iter().any(|it| *it != program[0]);
            if has_tabs && program != LANGUAGES {
                let (page, has, wanted) =
                    (page.display(), program.join(", "), LANGUAGES.join(", "));
                problems.push(format!("{page}: a program is in {has}; tabs have {wanted}"));
            }
        }
    }
    for name in PAGES {
        let page = Path::new("docs/guide").join(format!("{name}.md"));
        let text = pages.get(&page).map_or("", String::as_str);
        if !programs(text).any(|it| it == LANGUAGES) {
            problems.push(format!(
                "{}: no program is in all languages",
                page.display()
            ));
        }
    }
    problems
}

/// The languages of blocks that follow each other with nothing between them.
fn programs(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let mut programs: Vec<Vec<&str>> = vec![Vec::new()];
    let mut is_code = false;
    for line in text.lines() {
        let fence = line.strip_prefix("```");
        let info = fence.filter(|_| !is_code);
        let language = info.map(|info| info.split(',').next().unwrap_or_default());
        is_code ^= fence.is_some();
        match language {
            Some(language) if LANGUAGES.contains(&language) => {
                if let Some(program) = programs.last_mut() {
                    program.push(language);
                }
            }
            None if is_code || fence.is_some() || line.is_empty() => {}
            _ => programs.push(Vec::new()),
        }
    }
    programs.into_iter()
}

#[cfg(test)]
mod tests {
    use super::programs;

    #[test]
    fn blocks_that_follow_each_other_are_a_program() {
        let block = |language: &str| format!("```{language}\nlet a = 1;\n\n```\n");
        let check = |parts: &[&str], expected: &[&[&str]]| {
            let text = parts.join("\n");
            let found: Vec<_> = programs(&text).filter(|it| !it.is_empty()).collect();
            assert_eq!(found, expected, "{text}");
        };
        let [rust, python, ts, text] = ["rust,no_run", "python", "ts", "text"].map(block);
        check(&[&rust, &python, &ts], &[&["rust", "python", "ts"]]);
        check(&["a\n", &rust, "b\n", &python], &[&["rust"], &["python"]]);
        check(&[&rust, &text, &ts], &[&["rust"], &["ts"]]);
    }
}
