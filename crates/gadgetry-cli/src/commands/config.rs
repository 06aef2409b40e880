//! `gadgetry config`: the configuration, and consent to the file of a project.

mod approvals;
mod show;

use std::path::Path;

use crate::cli::{ConfigArgs, ConfigVerbArgs, ConfigVerbs, TrustArgs};
use crate::config::{Asking, Config, Keys, PROJECT_FILE, Project, QUESTION};
use crate::error::Error;
use crate::pages::Row;
use crate::printer::{Printer, is_at_terminal};
use crate::project::{self, Consent};

/// Runs the command.
pub(crate) fn run(
    of_root: ConfigArgs,
    args: ConfigVerbArgs,
    printer: &Printer,
) -> Result<(), Error> {
    let mut chosen = args.chosen.or(of_root);
    let keys = Keys::new();
    match args.verb {
        Some(ConfigVerbs::Trust(args)) => return trust(&args, &chosen, printer),
        Some(ConfigVerbs::Approvals(args)) => {
            let chosen = args.chosen.clone().or(chosen);
            let config = Config::load(&chosen, &keys, Asking::Silent, printer)?;
            return approvals::run(&config, &args, printer);
        }
        None => {}
    }
    chosen.profile = args.profile_name.or(chosen.profile);
    let config = Config::load(&chosen, &keys, Asking::Silent, printer)?;
    show::run(&config, &keys, args.json, printer)
}

/// Shows and trusts the project's file, and its skills, commands and subagents.
fn trust(args: &TrustArgs, chosen: &ConfigArgs, printer: &Printer) -> Result<(), Error> {
    let (file, texts) = (Project::find(Path::new(""))?, project::Project::consent()?);
    if file.is_none() && texts.is_none() {
        return Err(Error::input(format_args!(
            "there is no {PROJECT_FILE} in this folder, and there are no skills, commands and subagents in .agents and .claude"
        )));
    }
    if let Some(file) = file {
        trust_file(file, args, chosen, printer)?;
    }
    if let Some(texts) = texts {
        trust_texts(texts, args, printer)?;
    }
    Ok(())
}

fn trust_file(
    mut project: Project,
    args: &TrustArgs,
    chosen: &ConfigArgs,
    printer: &Printer,
) -> Result<(), Error> {
    if args.revoke {
        project.revoke()?;
        printer.text(&format!("{PROJECT_FILE} is not trusted any more\n"));
        return Ok(());
    }
    let keys = Keys::new();
    let file = project.parse(&keys)?;
    // As it is now: a change while the user reads needs another decision.
    let sha256 = project.digest(&file)?;
    let summary = project.summary(&file);
    show_or_ask(&summary.head, summary.rows, PROJECT_FILE, printer)?;
    project.trust(&sha256)?;
    printer.text(&format!("{PROJECT_FILE} is trusted\n"));
    // Whether it fits the user's file, which may have the profiles and prompts that it names.
    Config::load(chosen, &keys, Asking::Silent, printer).map(drop)
}

fn trust_texts(mut texts: Consent, args: &TrustArgs, printer: &Printer) -> Result<(), Error> {
    let count = texts.count();
    if args.revoke {
        texts.decide(None)?;
        printer.text(&format!("{count}: not trusted any more\n"));
        return Ok(());
    }
    let sha256 = texts.digest()?;
    show_or_ask(&texts.head(), texts.rows(), &count, printer)?;
    texts.decide(Some(&sha256))?;
    printer.text(&format!("{count}: trusted\n"));
    Ok(())
}

/// Shows what is trusted; on a terminal the user has to agree.
fn show_or_ask(head: &str, rows: Vec<Row>, what: &str, printer: &Printer) -> Result<(), Error> {
    if !is_at_terminal() {
        printer.rows(head, &rows);
        return Ok(());
    }
    let answer = printer.ask_about(head, rows, QUESTION);
    if answer.is_some_and(|it| matches!(it.trim(), "y" | "Y" | "yes")) {
        Ok(())
    } else {
        Err(Error::Failed(format!("{what} is not trusted")))
    }
}
