//! `gadgetry skill`: skills of folders and of the configuration.

mod info;
mod list;

use gadgetry::Skills;

use crate::cli::{SkillArgs, SkillOptions, SkillVerb};
use crate::config::Config;
use crate::error::Error;
use crate::printer::Printer;
use crate::project::Project;

pub(crate) fn run(args: SkillArgs, config: &Config, printer: &Printer) -> Result<(), Error> {
    match args.verb {
        SkillVerb::List(mut args) => {
            configure(&mut args.source, config);
            let skills = with_found(args.source.load()?, printer)?;
            list::run(&args, &skills, printer)
        }
        SkillVerb::Info(mut args) => {
            configure(&mut args.source, config);
            let skills = with_found(args.source.load()?, printer)?;
            info::run(&args, &skills, printer)
        }
    }
}

/// Adds the skills that are found by themselves.
fn with_found(mut skills: Skills, printer: &Printer) -> Result<Skills, Error> {
    let project = Project::skills(printer)?;
    for note in &project.notes {
        printer.progress(&format!("{note}\n"));
    }
    project.add_to(&mut skills);
    Ok(skills)
}

/// Adds the folders of the configuration.
fn configure(options: &mut SkillOptions, config: &Config) {
    let folders = config.skills.iter().map(|(folder, _)| folder.clone());
    options.configured_skills.extend(folders);
}
