//! `gadgetry models`: what is known about models, and how it is kept up to date.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gadgetry::models::{Date, Feature, ModelFilter, ModelSpec, Provenance};
use gadgetry::proto::usage::Price;

use crate::args::{ModelsArgs, ModelsVerb, UpdateArgs};
use crate::catalog;
use crate::conduct::until_interrupted;
use crate::error::Error;
use crate::fetch;
use crate::input::unreadable;
use crate::lines::one_line;
use crate::printer::Printer;
use crate::tally::grouped;

/// How long a table may take to arrive.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) fn run(args: &ModelsArgs, printer: &mut Printer) -> Result<(), Error> {
    match &args.verb {
        Some(ModelsVerb::Update(args)) => update(args, printer),
        None => list(args, printer),
    }
}

fn list(args: &ModelsArgs, printer: &mut Printer) -> Result<(), Error> {
    let catalog = catalog::load(&args.data)?;
    let features = args.features.iter();
    let filter = ModelFilter {
        provider: args.provider.clone(),
        text: args.text.clone(),
        features: features
            .filter_map(|name| Feature::from_name(name))
            .collect(),
        is_local: args.local.then_some(true),
        ..ModelFilter::default()
    };
    if args.json {
        for spec in catalog.list(&filter) {
            printer.json(spec)?;
            printer.settle()?;
        }
        return Ok(());
    }
    let rows: Vec<[String; 6]> = catalog.list(&filter).map(row).collect();
    if rows.is_empty() {
        return Err(Error::Failed(
            "no model that is known is like that".to_owned(),
        ));
    }
    printer.text(&table(&rows));
    Ok(())
}

const HEAD: [&str; 6] = [
    "MODEL", "CONTEXT", "OUTPUT", "$/M IN", "$/M OUT", "FEATURES",
];

/// The last column, which has no width.
const FEATURES: usize = HEAD.len() - 1;

fn row(spec: &ModelSpec) -> [String; 6] {
    let tokens = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), grouped);
    let price = |rate: fn(&Price) -> f64| match &spec.price {
        None => "?".to_owned(),
        Some(price) => rounded(rate(price)),
    };
    let features: Vec<&str> = spec.features.iter().map(Feature::name).collect();
    [
        one_line(&spec.id),
        tokens(spec.context_window),
        tokens(spec.max_output_tokens),
        price(|price| price.input),
        price(|price| price.output),
        features.join(" "),
    ]
}

/// A price with two digits behind the point, or as many as it needs up to four.
fn rounded(rate: f64) -> String {
    let long = format!("{rate:.4}");
    let kept = long.trim_end_matches('0').len();
    let point = long.find('.').unwrap_or(long.len());
    long[..kept.max(point + 3).min(long.len())].to_owned()
}

/// The rows below their head, numbers to the right.
fn table(rows: &[[String; 6]]) -> String {
    let mut widths = HEAD.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    let mut line = |cells: [&str; 6]| {
        for (column, (cell, width)) in cells.into_iter().zip(widths).enumerate() {
            // Writing to a string cannot fail.
            let _ = match column {
                0 => write!(out, "{cell:<width$}"),
                FEATURES => write!(out, "  {cell}"),
                _ => write!(out, "  {cell:>width$}"),
            };
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    };
    line(HEAD);
    for row in rows {
        line(row.each_ref().map(String::as_str));
    }
    out
}

fn update(args: &UpdateArgs, printer: &mut Printer) -> Result<(), Error> {
    let path = catalog::path(&args.data)?;
    let table = table_from(&args.from)?;
    // What is kept may be broken; that is mended now.
    let mut catalog = catalog::load(&args.data).unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let provenance = Provenance {
        source: args.from.clone(),
        date: now.ok().map(|time| Date::from_unix_seconds(time.as_secs())),
        ..Provenance::default()
    };
    let changes = catalog
        .update(&table, provenance)
        .map_err(|error| Error::at(&args.from, error))?;
    let unwritable = |error: &dyn std::fmt::Display| {
        Error::input(format_args!("cannot write {}: {error}", path.display()))
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| unwritable(&error))?;
    }
    catalog.save(&path).map_err(|error| unwritable(&error))?;
    printer.text(&format!(
        "{} models: {changes}\n",
        grouped(catalog.len() as u64)
    ));
    Ok(())
}

fn table_from(place: &str) -> Result<Vec<u8>, Error> {
    if !fetch::is_address(place) {
        return fs::read(place).map_err(|error| unreadable(place, &error));
    }
    let url = place.to_owned();
    let work = move || async move { fetch::get(&url, PATIENCE, false).await };
    match until_interrupted(work, || true)? {
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
}
