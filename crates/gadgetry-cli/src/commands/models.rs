//! `gadgetry models`: what is known about models, and how it is kept up to date.

mod served;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use gadgetry::models::{Date, Feature, Mode, ModelFilter, ModelSpec, Provenance};
use gadgetry::proto::usage::Price;
use gadgetry::provider::Resolver;
use gadgetry_files as files;
use serde::Serialize;

use crate::catalog;
use crate::cli::{ModelsArgs, ModelsVerb, UpdateArgs};
use crate::error::Error;
use crate::fetch;
use crate::input::unreadable;
use crate::lines::one_line;
use crate::printer::{Printer, columns};
use crate::run_agent::until_interrupted;
use crate::usable::{NONE, ServerModel, Usable, today};
use crate::usage_totals::grouped;
use crate::work::Work;

/// Maximum time for a table to arrive.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) fn run(args: ModelsArgs, printer: &Printer) -> Result<Work<'_>, Error> {
    if let Some(ModelsVerb::Update(args)) = args.verb {
        return Ok(Work::waits(async move { update(&args, printer).await }));
    }
    if let Some(url) = args.base_url.clone() {
        let work = async move { served::list(&url, &args, printer).await };
        return Ok(Work::waits(work));
    }
    if args.all {
        return list(&args, None, printer).map(|()| Work::Done);
    }
    Ok(Work::waits(async move {
        let usable = Usable::find().await?;
        list(&args, Some(&usable), printer)
    }))
}

/// Lists the catalogue, or what of it is usable and what the servers on this machine have.
fn list(args: &ModelsArgs, usable: Option<&Usable>, printer: &Printer) -> Result<(), Error> {
    let catalog = catalog::load(&args.data)?;
    let features = args.features.iter();
    let filter = ModelFilter {
        provider: args.provider.clone(),
        features: features
            .filter_map(|name| Feature::from_name(name))
            .collect(),
        is_local: args.local.then_some(true),
        ..ModelFilter::default()
    };
    let today = today();
    let all = catalog.list(&filter).map(|spec| Listed::new(spec, today));
    let text = args.text.as_deref().map(str::to_lowercase);
    let is_shown = |it: &Listed<'_>| usable.is_none_or(|usable| it.is_usable_by(usable));
    let found = all.filter(|it| it.has(text.as_deref()) && is_shown(it));
    // By name. Some are in the table twice.
    let mut found: BTreeMap<String, Listed<'_>> = found.map(|it| (it.shown_name(), it)).collect();
    let mut local = BTreeMap::new();
    if let Some(usable) = usable.filter(|_| args.features.is_empty()) {
        for model in usable.of_servers() {
            let is_wanted = args
                .provider
                .as_deref()
                .is_none_or(|it| it == model.provider);
            let has_text = text
                .as_deref()
                .is_none_or(|it| model.name.to_lowercase().contains(it));
            if is_wanted && has_text {
                found.remove(&model.name);
                local.insert(model.name.clone(), model);
            }
        }
    }
    if args.json {
        for listed in found.values() {
            printer.json(listed)?;
            printer.flush_if_full()?;
        }
        for model in local.values() {
            printer.json(model)?;
        }
        return Ok(());
    }
    let local = local.into_values().map(|it| (it.name.clone(), it.row()));
    let rows = found.values().map(|it| (it.shown_name(), it.row()));
    let rows: BTreeMap<String, [String; COLUMNS]> = rows.chain(local).collect();
    let mut rows: Vec<[String; COLUMNS]> = rows.into_values().collect();
    if rows.is_empty() {
        return Err(Error::Failed(match usable {
            None => "no known model matches".to_owned(),
            Some(usable) if usable.is_empty() => {
                format!(
                    "{NONE}; --all lists the catalogue, `gadgetry doctor` shows which keys count"
                )
            }
            Some(_) => "no model that you can use matches; --all lists the catalogue".to_owned(),
        }));
    }
    if usable.is_some() {
        // What one compares before a choice is enough; --all and --json have the rest.
        for row in &mut rows {
            row[FEATURES].clear();
        }
    }
    printer.text(&table(&rows, columns()));
    Ok(())
}

impl ServerModel {
    /// Its row. The catalogue knows nothing about it.
    fn row(&self) -> [String; COLUMNS] {
        let unknown = || "?".to_owned();
        [
            one_line(&self.name),
            unknown(),
            unknown(),
            "0.00".to_owned(),
            "0.00".to_owned(),
            String::new(),
            format!("at {}", one_line(&self.base_url)),
        ]
    }
}

/// A model, and what it takes to use it.
#[derive(Serialize)]
struct Listed<'a> {
    /// Name for `--model`; absent if no provider here serves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(flatten)]
    spec: &'a ModelSpec,
    #[serde(skip)]
    note: String,
}

impl<'a> Listed<'a> {
    fn new(spec: &'a ModelSpec, today: Option<Date>) -> Self {
        let name = Resolver::name_of(spec);
        let gone = today.is_some_and(|today| spec.is_deprecated(today));
        let mut notes = Vec::new();
        let mut shortcuts = Resolver::shortcuts();
        if let Some((short, _)) = shortcuts.find(|(_, full)| name.as_deref() == Some(*full)) {
            notes.push(format!("also {short}"));
        }
        match spec.mode {
            Mode::Chat => {}
            Mode::Responses => notes.push("Responses API".to_owned()),
            Mode::Completion => notes.push("Completions API".to_owned()),
        }
        if name.is_none() {
            notes.push(format!(
                "not served by a known provider ({})",
                spec.provider
            ));
        }
        if let Some(date) = spec.deprecation_date {
            let word = if gone { "may be gone since" } else { "until" };
            notes.push(format!("{word} {date}"));
        }
        Self {
            name,
            spec,
            note: notes.join("; "),
        }
    }

    /// Returns its name for `--model`, or that in the catalogue.
    fn shown_name(&self) -> String {
        one_line(self.name.as_ref().unwrap_or(&self.spec.id))
    }

    fn is_usable_by(&self, usable: &Usable) -> bool {
        let name = self.name.as_deref();
        name.is_some_and(|name| usable.has(name, self.spec)) && !self.is_placeholder()
    }

    /// Returns whether the table has it for a price alone: that of fine-tuned models, or of something else than a model.
    fn is_placeholder(&self) -> bool {
        let is_unknown = self.spec.context_window.is_none() && self.spec.price.is_none();
        is_unknown || self.name.as_deref().is_some_and(|it| it.contains(":ft:"))
    }

    /// Returns whether its id or its name has this text in it, which is in lower case.
    fn has(&self, text: Option<&str>) -> bool {
        let names = [self.name.as_deref(), Some(self.spec.id.as_str())];
        let has = |text: &str| {
            let mut names = names.into_iter().flatten();
            names.any(|name| name.to_lowercase().contains(text))
        };
        text.is_none_or(has)
    }

    fn row(&self) -> [String; COLUMNS] {
        let spec = self.spec;
        let tokens = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), grouped);
        let price = |rate: fn(&Price) -> f64| {
            let rate = spec.price.as_ref().map(rate);
            rate.map_or_else(|| "?".to_owned(), rounded)
        };
        let features: Vec<&str> = spec.features.iter().map(Feature::name).collect();
        [
            one_line(self.name.as_ref().unwrap_or(&spec.id)),
            tokens(spec.context_window),
            tokens(spec.max_output_tokens),
            price(|price| price.input),
            price(|price| price.output),
            features.join(" "),
            self.note.clone(),
        ]
    }
}

const COLUMNS: usize = 7;

const HEAD: [&str; COLUMNS] = [
    "MODEL", "CONTEXT", "OUTPUT", "$/M IN", "$/M OUT", "FEATURES", "NOTES",
];

/// The last two columns, which are text.
const FEATURES: usize = COLUMNS - 2;

/// A price with two to four decimal places.
fn rounded(rate: f64) -> String {
    let long = format!("{rate:.4}");
    let kept = long.trim_end_matches('0').len();
    let point = long.find('.').unwrap_or(long.len());
    long[..kept.max(point + 3).min(long.len())].to_owned()
}

/// The rows below their head, numbers to the right. Of a row that is wider than the terminal, the end is left out, and never the name.
fn table(rows: &[[String; COLUMNS]], columns: Option<usize>) -> String {
    let mut widths = HEAD.map(str::len);
    let has_notes = rows
        .iter()
        .any(|row| row.last().is_some_and(|note| !note.is_empty()));
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let has_features = rows.iter().any(|row| !row[FEATURES].is_empty());
    if !has_features {
        widths[FEATURES] = 0;
    }
    let room = columns.unwrap_or(usize::MAX);
    // A long name takes no room from the numbers of the others.
    let numbers: usize = widths[1..FEATURES].iter().map(|width| width + 2).sum();
    widths[0] = widths[0]
        .min(room.saturating_sub(numbers + 2))
        .max(HEAD[0].len());
    let mut out = String::new();
    let mut line = |cells: [&str; COLUMNS]| {
        let begin = out.len();
        for (column, (cell, width)) in cells.into_iter().zip(widths).enumerate() {
            // Writing to a string cannot fail.
            let _ = match column {
                0 => write!(out, "{cell:<width$}"),
                FEATURES => write!(out, "  {cell:<width$}"),
                column if column > FEATURES => write!(out, "  {cell}"),
                _ => write!(out, "  {cell:>width$}"),
            };
        }
        let kept = room.max(cells[0].chars().count());
        if let Some((cut, _)) = out[begin..].char_indices().nth(kept) {
            let last = out[..begin + cut].char_indices().next_back();
            if kept == room
                && let Some((last, _)) = last
            {
                out.truncate(last);
                out.push('…');
            } else {
                out.truncate(begin + cut);
            }
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    };
    let mut head = HEAD;
    if !has_notes {
        head[COLUMNS - 1] = "";
    }
    if !has_features {
        head[FEATURES] = "";
    }
    line(head);
    for row in rows {
        line(row.each_ref().map(String::as_str));
    }
    out
}

async fn update(args: &UpdateArgs, printer: &Printer) -> Result<(), Error> {
    let path = catalog::path(&args.data)?;
    let table = table_from(&args.from).await?;
    // The stored table may be broken; it is replaced now.
    let mut catalog = catalog::load(&args.data).unwrap_or_default();
    let provenance = Provenance {
        source: args.from.clone(),
        date: today(),
        ..Provenance::default()
    };
    let changes = catalog
        .update(&table, provenance)
        .map_err(|error| Error::at(&args.from, error))?;
    let unwritable =
        |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Error::Input(unwritable(&error)))?;
    }
    // Where it may be written is known by now: the disk is full, or worse.
    catalog
        .save(&path)
        .map_err(|error| Error::Failed(unwritable(&error)))?;
    printer.text(&format!(
        "{} {}: {changes}\n",
        grouped(catalog.len() as u64),
        if catalog.len() == 1 {
            "model"
        } else {
            "models"
        }
    ));
    Ok(())
}

/// Bytes of a table as it comes, compressed or not.
const LIMIT: u64 = 64 << 20;

async fn table_from(place: &str) -> Result<Vec<u8>, Error> {
    if !fetch::is_address(place) {
        return files::read(place.as_ref(), LIMIT).map_err(|error| unreadable(place, &error));
    }
    let url = place.to_owned();
    let work = async move { fetch::get(&url, PATIENCE, false).await };
    match until_interrupted(work, || true).await? {
        Some(Ok(table)) => Ok(table),
        Some(Err(problem)) => Err(Error::Failed(format!("{place}: {problem}"))),
        None => Err(Error::Failed("cancelled".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_the_digits_that_they_need() {
        let check = |rate: f64, text: &str| assert_eq!(rounded(rate), text);
        check(0.0, "0.00");
        check(2.5, "2.50");
        check(15.0, "15.00");
        check(0.075, "0.075");
        check(0.037_5, "0.0375");
        check(120.0, "120.00");
    }

    #[test]
    fn a_table_is_as_wide_as_the_terminal() {
        let row = |name: &str, features: &str, note: &str| {
            [name, "128,000", "?", "2.50", "10.00", features, note].map(str::to_owned)
        };
        let long = "x".repeat(50);
        let rows = [
            row("a:b", "streaming vision", ""),
            row(&long, "streaming", "old"),
        ];
        let check = |columns: Option<usize>, expected: &[&str]| {
            assert_eq!(table(&rows, columns).lines().collect::<Vec<_>>(), expected);
        };
        let head = "CONTEXT  OUTPUT  $/M IN  $/M OUT";
        let cells = "128,000       ?    2.50    10.00";
        check(
            Some(60),
            &[
                &format!("{:<24}  {head} …", "MODEL"),
                &format!("{:<24}  {cells} …", "a:b"),
                &format!("{long}  128,000…"),
            ],
        );
        check(
            Some(40),
            &[
                &format!("MODEL  {head}…"),
                &format!("a:b    {cells}…"),
                &long,
            ],
        );
        let wide = table(&rows, None);
        assert!(wide.ends_with("  streaming         old\n"), "{wide}");
        assert_eq!(table(&rows, Some(200)), wide);
    }
}
