//! The pages of the site: every link within it leads to a file, and to an element of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::links::normal;

/// Pages of mdBook without links of ours.
const OTHERS: [&str; 2] = ["404.html", "toc.html"];

/// A page: the ids of its elements, and its links.
struct Page {
    ids: BTreeSet<String>,
    links: BTreeSet<String>,
}

/// Returns a line for each link that leads nowhere.
pub(crate) fn problems(folder: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read(folder, &mut pages)?;
    let mut problems = Vec::new();
    for (path, page) in &pages {
        let name = path.strip_prefix(folder).unwrap_or(path).display();
        for link in page.links.iter().filter(|link| !link.contains(':')) {
            let (file, id) = link.split_once('#').unwrap_or((link, ""));
            let file = file.split('?').next().unwrap_or_default();
            let linked = if file.is_empty() {
                path.clone()
            } else {
                normal(&path.parent().unwrap_or(folder).join(file))
            };
            if !linked.exists() {
                problems.push(format!("site: {name}: {link}: there is no such page"));
            } else if let Some(other) = pages.get(&linked)
                && !id.is_empty()
                && !other.ids.contains(id)
            {
                problems.push(format!("site: {name}: {link}: there is no such heading"));
            }
        }
    }
    Ok(problems)
}

fn read(folder: &Path, pages: &mut BTreeMap<PathBuf, Page>) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            read(&path, pages)?;
        } else if path.extension().is_some_and(|it| it == "html")
            && !OTHERS.iter().any(|name| path.ends_with(name))
        {
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            let ids = values(&text, " id=\"");
            let mut links = values(&text, " href=\"");
            links.extend(values(&text, " src=\""));
            pages.insert(path, Page { ids, links });
        }
    }
    Ok(())
}

/// The values of an attribute.
fn values(text: &str, attribute: &str) -> BTreeSet<String> {
    let found = text
        .split(attribute)
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    found.map(|value| value.replace("&amp;", "&")).collect()
}
