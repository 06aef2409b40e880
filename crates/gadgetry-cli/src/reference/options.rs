//! Every verb with its options, from their definitions.

use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Arg, Command};

use super::cells::cell;
use crate::cli;

const HEAD: &str = "\
# Options

For the user who looks up an option: every verb of `gadgetry` with all of its options, as `--help-all` shows them. [The command line](../cli.md) explains them, with
examples. Made from the program by `cargo xtask reference`.

Options of `gadgetry` itself are those of every verb.
";

/// Returns the page.
pub(super) fn page() -> String {
    let mut page = HEAD.to_owned();
    verb(&cli::command(), "gadgetry", &mut page);
    page
}

fn verb(command: &Command, name: &str, page: &mut String) {
    // Writing to a string does not fail.
    let _ = writeln!(page, "\n## {name}\n");
    let about = command.get_long_about().or_else(|| command.get_about());
    let _ = writeln!(page, "{}", paragraphs(about));
    let mut headings: Vec<Option<&str>> = Vec::new();
    let arguments = command.get_arguments().filter(|it| !it.is_hide_set());
    let arguments: Vec<&Arg> = arguments.collect();
    for argument in &arguments {
        if !headings.contains(&argument.get_help_heading()) {
            headings.push(argument.get_help_heading());
        }
    }
    for heading in headings {
        if let Some(heading) = heading {
            let _ = writeln!(page, "\n**{heading}**");
        }
        let _ = writeln!(page, "\n| option | meaning | default |\n|---|---|---|");
        let own = arguments
            .iter()
            .filter(|it| it.get_help_heading() == heading);
        own.for_each(|it| row(it, page));
    }
    for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        verb(inner, &format!("{name} {}", inner.get_name()), page);
    }
}

fn row(argument: &Arg, page: &mut String) {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let mut meaning = sentences(&help.map(ToString::to_string).unwrap_or_default());
    let is_flag = !argument.get_action().takes_values();
    let values = argument.get_possible_values();
    let values: Vec<String> = values
        .iter()
        .filter(|it| !it.is_hide_set())
        .map(|it| format!("`{}`", it.get_name()))
        .collect();
    if !is_flag && !values.is_empty() {
        let _ = write!(meaning, ". One of {}", values.join(", "));
    }
    let defaults = argument.get_default_values().iter();
    let defaults: Vec<String> = defaults
        .filter(|_| !is_flag)
        .map(|it| format!("`{}`", it.to_string_lossy()))
        .collect();
    let _ = writeln!(
        page,
        "| {} | {meaning} | {} |",
        words(argument).replace('|', "\\|"),
        defaults.join(", ")
    );
}

/// The words of an option: `-m`, `--model NAME`.
fn words(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(clap::builder::Str::as_str).collect();
    let value = if argument.get_action().takes_values() {
        names.join(" ")
    } else {
        String::new()
    };
    let Some(long) = argument.get_long() else {
        return format!("`{value}`");
    };
    let long = format!("--{long} {value}");
    match argument.get_short() {
        Some(short) => format!("`-{short}`, `{}`", long.trim_end()),
        None => format!("`{}`", long.trim_end()),
    }
}

/// The paragraphs of a help text as a cell. The first one has no full stop.
fn sentences(text: &str) -> String {
    let paragraphs: Vec<String> = text.split("\n\n").map(cell).collect();
    let all = paragraphs.join(". ");
    all.replace(".. ", ". ").replace(":. ", ": ")
}

fn paragraphs(text: Option<&StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    text.split("\n\n")
        .map(cell)
        .collect::<Vec<_>>()
        .join("\n\n")
}
