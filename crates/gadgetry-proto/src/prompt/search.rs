//! Gadget search: where the catalog would be too long, it has the names of most gadgets, and a gadget that finds the rest.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::prompt::catalog::{CatalogEntry, catalog};
use crate::prompt::params::parameter_list;
use crate::schema::{GadgetSpec, RegisteredGadget, Registry};

/// The name of the gadget that finds others.
pub const NAME: &str = "FindGadgets";

/// More gadgets than this are not all described.
const MOST: usize = 30;

/// Percent of a known context window that the catalog may fill.
const SHARE: u64 = 40;

/// Bytes of a token, at least, in a catalog.
const BYTES_PER_TOKEN: u64 = 3;

/// Bytes of the list of gadgets that are not described.
const LIST: usize = 1_200;

/// Bytes of the line about one of them.
const LINE: usize = 80;

/// Gadgets that are found at once, and the bytes of their descriptions, unless the first one alone is longer.
const FOUND: (usize, usize) = (5, 6_000);

/// The choice whether the system message describes all gadgets, or has the names of most of them and a gadget that finds them. The
/// text never changes during a run: what was found is the result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GadgetSearch {
    /// When it is used.
    pub when: SearchWhen,
    /// The gadgets that are described all the same, if they are few enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub described: Vec<String>,
}

/// When gadget search is used. In native mode it never is, because the provider has to know all gadgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SearchWhen {
    /// With more than 30 gadgets, and where their descriptions fill more than 40 % of the context window, if that is known.
    #[default]
    Auto,
    /// Search is always used.
    Always,
    /// Search is never used.
    Never,
}

impl GadgetSearch {
    /// The gadgets that the catalog does not describe; none if it describes all of them.
    pub(crate) fn hidden(&self, registry: &Registry, window: Option<u64>) -> Vec<String> {
        let fits = |gadgets: &[&RegisteredGadget]| {
            let room = window.map_or(u64::MAX, |window| {
                (window / 100).saturating_mul(SHARE * BYTES_PER_TOKEN)
            });
            gadgets.len() <= MOST && catalog(&entries(gadgets)).len() as u64 <= room
        };
        let all: Vec<&RegisteredGadget> = registry.iter().collect();
        let is_used = match self.when {
            SearchWhen::Auto => !fits(&all),
            SearchWhen::Always => !all.is_empty(),
            SearchWhen::Never => false,
        };
        if !is_used {
            return Vec::new();
        }
        let is_named =
            |gadget: &&RegisteredGadget| self.described.iter().any(|name| name == gadget.name());
        let (named, others): (Vec<_>, Vec<_>) = all.iter().copied().partition(is_named);
        let hidden = if fits(&named) { others } else { all };
        hidden.iter().map(|it| it.name().to_owned()).collect()
    }
}

fn entries<'g>(gadgets: &[&'g RegisteredGadget]) -> Vec<CatalogEntry<'g>> {
    let entry = |gadget: &&'g RegisteredGadget| CatalogEntry {
        name: gadget.name(),
        description: &gadget.spec().description,
        schema: gadget.shown_parameters(),
        examples: &[],
    };
    gadgets.iter().map(entry).collect()
}

/// The gadget that finds those in `hidden`.
pub(crate) fn spec(registry: &Registry, hidden: &[String]) -> GadgetSpec {
    let hidden: Vec<&RegisteredGadget> = hidden
        .iter()
        .filter_map(|name| registry.get(name))
        .collect();
    GadgetSpec {
        name: NAME.to_owned(),
        description: format!(
            "Returns what gadgets do and which parameters they take. Before you call one of these, look it up here:\n{}",
            list(&hidden)
        ),
        parameters: json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "names of gadgets, or words about what they do" },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
        ..GadgetSpec::default()
    }
}

/// A line for each gadget if there is room, or their names, or some of them.
fn list(gadgets: &[&RegisteredGadget]) -> String {
    let lines: Vec<String> = gadgets.iter().map(|gadget| line(gadget)).collect();
    if lines.iter().map(|line| line.len() + 1).sum::<usize>() <= LIST {
        return lines.join("\n");
    }
    let mut out = String::new();
    for (at, gadget) in gadgets.iter().enumerate() {
        if out.len() + gadget.name().len() > LIST {
            let left = gadgets.len() - at;
            // Writing to a string does not fail.
            _ = write!(out, ", and {left} more");
            break;
        }
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(gadget.name());
    }
    out
}

fn line(gadget: &RegisteredGadget) -> String {
    let description = gadget.spec().description.trim();
    let line = description.lines().next().unwrap_or_default();
    let sentence = line.split_inclusive(". ").next().unwrap_or(line).trim();
    let short = &sentence[..sentence.floor_char_boundary(LINE)];
    let cut = if short.len() < sentence.len() {
        "…"
    } else {
        ""
    };
    match short {
        "" => format!("- {}", gadget.name()),
        short => format!("- {}: {short}{cut}", gadget.name()),
    }
}

/// Answers a call: the sections of the catalog about the gadgets that match best. The error is for the model.
pub(crate) fn find(parameters: &Value, registry: &Registry) -> Result<String, String> {
    let query = parameters.get("query").and_then(Value::as_str);
    let query = query.unwrap_or_default().to_lowercase();
    let words: Vec<&str> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(32)
        .collect();
    let others = registry.iter().filter(|gadget| gadget.name() != NAME);
    let mut scored: Vec<(usize, &RegisteredGadget)> = others
        .map(|gadget| (score(gadget, &query, &words), gadget))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let mut out = String::new();
    for (_, gadget) in scored.iter().take(FOUND.0) {
        let section = catalog(&entries(&[gadget]));
        if !out.is_empty() && out.len() + section.len() > FOUND.1 {
            break;
        }
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(&section);
    }
    if out.is_empty() {
        let names = registry.closest(&query).join(", ");
        let similar = if names.is_empty() {
            String::new()
        } else {
            format!(" Similar names: {names}.")
        };
        return Err(format!(
            "Error: No gadget matches.{similar} Try other words."
        ));
    }
    Ok(out)
}

/// Returns how well a gadget matches: its name counts most, then its description, then its parameters.
fn score(gadget: &RegisteredGadget, query: &str, words: &[&str]) -> usize {
    let name = gadget.name().to_lowercase();
    let description = gadget.spec().description.to_lowercase();
    let parameters = parameter_list(gadget.shown_parameters()).to_lowercase();
    let is_named = query
        .split([',', ' ', '\n'])
        .any(|part| part.trim() == name);
    let of_word = |word: &&str| {
        // Short words, such as articles, are in every description.
        let is_long = word.len() > 3;
        8 * usize::from(word.len() > 2 && name.contains(word))
            + 3 * usize::from(is_long && description.contains(word))
            + usize::from(is_long && parameters.contains(word))
    };
    1_000 * usize::from(is_named) + words.iter().map(of_word).sum::<usize>()
}
