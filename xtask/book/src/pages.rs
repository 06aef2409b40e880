//! The Markdown files of the repository: every link between them leads to a file, and to a heading of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::languages;
use crate::links::{normal, split, targets};

/// READMEs of packages, whose links are addresses: `cargo xtask release` checks them.
const GENERATED: [&str; 2] = ["crates/gadgetry/README.md", "crates/gadgetry-cli/README.md"];

/// Returns a line for each link that leads nowhere, and for each page that is not in the table of contents.
pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for name in tracked(root)? {
        let text =
            fs::read_to_string(root.join(&name)).map_err(|error| format!("{name}: {error}"))?;
        pages.insert(PathBuf::from(name), text);
    }
    let mut problems = Vec::new();
    for (page, text) in &pages {
        if GENERATED.iter().any(|name| page == Path::new(name)) {
            continue;
        }
        for place in targets(text) {
            let target = &text[place.clone()];
            let line = text[..place.start].matches('\n').count() + 1;
            if let Err(why) = check(root, &pages, page, target) {
                problems.push(format!("{}:{line}: {target}: {why}", page.display()));
            }
        }
    }
    let contents = pages
        .get(Path::new("docs/SUMMARY.md"))
        .ok_or("docs/SUMMARY.md is missing")?;
    for page in pages
        .keys()
        .filter_map(|page| page.strip_prefix("docs").ok())
    {
        let link = format!("({})", page.display());
        if page != Path::new("SUMMARY.md") && !contents.contains(&link) {
            problems.push(format!("docs/SUMMARY.md: {} is missing", page.display()));
        }
    }
    problems.extend(programs(root, &pages)?);
    problems.extend(languages::problems(&pages));
    Ok(problems)
}

/// Returns a line for each program without a page in the cookbook.
fn programs(root: &Path, pages: &BTreeMap<PathBuf, String>) -> Result<Vec<String>> {
    let folder = root.join("examples/programs/src");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let stems = paths.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let missing = stems
        .filter(|stem| stem != "main" && stem != "tests")
        .filter(|stem| {
            let page = pages.get(&Path::new("docs/cookbook").join(format!("{stem}.md")));
            let include = format!("{{{{#include ../../examples/programs/src/{stem}.rs}}}}");
            !page.is_some_and(|text| text.contains(&include))
        });
    Ok(missing
        .map(|stem| {
            format!("examples/programs/src/{stem}.rs: no page of docs/cookbook includes it")
        })
        .collect())
}

/// The names of all Markdown files, also of those that are not committed yet.
fn tracked(root: &Path) -> Result<Vec<String>> {
    let list = [
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "*.md",
    ];
    let output = Command::new("git").args(list).current_dir(root).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    let names = String::from_utf8_lossy(&output.stdout);
    let names = names.lines().filter(|name| root.join(name).exists());
    Ok(names.map(str::to_owned).collect())
}

fn check(
    root: &Path,
    pages: &BTreeMap<PathBuf, String>,
    page: &Path,
    target: &str,
) -> std::result::Result<(), &'static str> {
    let Some((path, heading)) = split(target) else {
        return Ok(());
    };
    let linked = if path.is_empty() {
        page.to_owned()
    } else {
        normal(&page.parent().unwrap_or(page).join(path))
    };
    if !root.join(&linked).exists() {
        return Err("there is no such file");
    }
    match pages.get(&linked) {
        Some(text) if !heading.is_empty() && !anchors(text).iter().any(|it| it == heading) => {
            Err("there is no such heading")
        }
        _ => Ok(()),
    }
}

/// The anchors of the headings of a page, as GitHub and mdBook make them.
fn anchors(text: &str) -> Vec<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let mut is_code = false;
    let mut anchors = Vec::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code || !line.starts_with('#') {
            continue;
        }
        let heading = line.trim_start_matches('#').trim();
        let kept = heading
            .chars()
            .filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
        let anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let count = seen.entry(anchor.clone()).or_default();
        anchors.push(if *count == 0 {
            anchor
        } else {
            format!("{anchor}-{count}")
        });
        *count += 1;
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::anchors;

    #[test]
    fn headings_have_anchors() {
        let text = "# `a` B, c\n```\n# no\n```\n## d\n## d";
        assert_eq!(anchors(text), ["a-b-c", "d", "d-1"]);
    }
}
