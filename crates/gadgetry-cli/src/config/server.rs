//! Options that may hold the key of a server stay with that server.

use clap::ArgMatches;

use super::form::Given;
use super::keys::VerbKeys;
use super::layer::Settings;
use crate::args::option_name;
use crate::connect;
use crate::lines::one_line;
use crate::printer::Printer;

const MODEL: &str = "model";
const BASE_URL: &str = "base-url";
const UPSTREAM: &str = "upstream";
/// Options that may hold the key of a model's server.
const OF_MODEL: [&str; 3] = ["api-key-env", "extra-body", "header"];
/// The same for the server of a gateway.
const OF_UPSTREAM: [&str; 1] = ["upstream-key-env"];

/// Removes the options of other servers from `weaker`, if `stronger` chooses a server.
pub(super) fn leave(weaker: &mut Settings, stronger: &Settings) {
    let chosen = |name: &str| stronger.get(name).and_then(|it| one(&it.given));
    leave_chosen(weaker, chosen);
}

/// The same, if what `chosen` says about an option chooses a server.
pub(super) fn leave_chosen(settings: &mut Settings, chosen: impl Fn(&str) -> Option<String>) {
    for name in of_others(settings, chosen) {
        settings.remove(name);
    }
}

/// The same for a server that was typed. A note names the options.
pub(super) fn leave_typed(
    settings: &mut Settings,
    keys: &VerbKeys,
    matches: &ArgMatches,
    printer: &mut Printer,
) {
    let left = of_others(settings, |name| keys.typed_value(matches, name));
    let left = left.into_iter();
    let left = left.filter_map(|name| Some((name, settings.remove(name)?.source)));
    let places: Vec<String> = left.map(|(name, it)| format!("{name} ({it})")).collect();
    let quiet = settings.get("quiet");
    let is_quiet = quiet.is_some_and(|it| it.given == Given::On);
    if places.is_empty() || is_quiet || keys.typed(matches).contains("quiet") {
        return;
    }
    printer.progress(&format!(
        "note: configured for another server, so not used: {}\n",
        one_line(&places.join(", "))
    ));
}

/// The words of options, each written `--name` or `--name=value`, without those for other servers than the one that is
/// `chosen`.
pub(crate) fn for_server(
    words: Vec<String>,
    chosen: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let has = |name: &str| words.iter().any(|it| option_name(it) == name);
    let left = left_behind(|name| value_in(&words, name), has, chosen);
    let mut words = words;
    words.retain(|it| !left.contains(&option_name(it)));
    words
}

/// The options that may hold a key of a model's server.
pub(crate) fn is_of_server(name: &str) -> bool {
    OF_MODEL.contains(&name)
}

/// The value of an option among these, of which a later one overrides an earlier one.
pub(crate) fn value_in(words: &[String], name: &str) -> Option<String> {
    let mut values = words.iter().rev().filter(|it| option_name(it) == name);
    let (_, value) = values.next()?.split_once('=')?;
    Some(value.to_owned())
}

/// The options in `settings` that are for another server than the one that is `chosen`.
fn of_others(settings: &Settings, chosen: impl Fn(&str) -> Option<String>) -> Vec<&'static str> {
    let value = |name: &str| settings.get(name).and_then(|it| one(&it.given));
    left_behind(value, |name| settings.contains_key(name), chosen)
}

/// The options that are there and for another server than the one that is `chosen`.
fn left_behind(
    of: impl Fn(&str) -> Option<String>,
    is_there: impl Fn(&str) -> bool,
    chosen: impl Fn(&str) -> Option<String>,
) -> Vec<&'static str> {
    let has = |names: &[&'static str]| -> Vec<&'static str> {
        let names = names.iter().copied();
        names.filter(|name| is_there(name)).collect()
    };
    let is_other = |name: &str| {
        let chosen = chosen(name);
        chosen.is_some() && chosen != of(name)
    };
    let mut left = Vec::new();
    if is_other(UPSTREAM) {
        left.extend(has(&OF_UPSTREAM));
    }
    let keys = has(&OF_MODEL);
    if keys.is_empty() {
        return left;
    }
    // A base URL is where every model is.
    let is_at_url = of(BASE_URL).is_some() || chosen(BASE_URL).is_some();
    let other_provider = || {
        let both = of(MODEL).zip(chosen(MODEL));
        both.is_some_and(|(old, new)| is_elsewhere(&old, &new))
    };
    if is_other(BASE_URL) || (!is_at_url && other_provider()) {
        left.extend(keys);
    }
    left
}

/// Whether models are at different providers. A script is at none, and nothing is sent to it.
pub(crate) fn is_elsewhere(old: &str, new: &str) -> bool {
    old != new
        && connect::provider(new).is_some_and(|new| connect::provider(old).as_ref() != Some(&new))
}

/// The value of an option that has one.
fn one(given: &Given) -> Option<String> {
    match given {
        Given::Values(values) => values.first().cloned(),
        Given::On | Given::Off => None,
    }
}
