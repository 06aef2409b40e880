//! `gadgetry config`: the configuration, and consent to the file of a project.

mod approvals;
mod show;

use crate::cli::{ConfigArgs, ConfigVerbArgs, ConfigVerbs, TrustArgs};
use crate::config::{Asking, Config, Keys, PROJECT_FILE, Project, QUESTION};
use crate::error::Error;
use crate::printer::{Printer, is_at_terminal};

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

fn trust(args: &TrustArgs, chosen: &ConfigArgs, printer: &Printer) -> Result<(), Error> {
    let Some(mut project) = Project::find()? else {
        return Err(Error::input(format_args!(
            "there is no {PROJECT_FILE} in this folder"
        )));
    };
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
    if is_at_terminal() {
        let answer = printer.ask_about(&summary.head, summary.rows, QUESTION);
        if !answer.is_some_and(|it| matches!(it.trim(), "y" | "Y" | "yes")) {
            return Err(Error::Failed(format!("{PROJECT_FILE} is not trusted")));
        }
    } else {
        printer.rows(&summary.head, &summary.rows);
    }
    project.trust(&sha256)?;
    printer.text(&format!("{PROJECT_FILE} is trusted\n"));
    // Whether it fits the user's file, which may have the profiles and prompts that it names.
    Config::load(chosen, &keys, Asking::Silent, printer).map(drop)
}
