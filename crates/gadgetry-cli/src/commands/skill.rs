//! `gadgetry skill`: skills of folders and of the configuration.

mod info;
mod list;

use crate::cli::{SkillArgs, SkillOptions, SkillVerb};
use crate::config::Config;
use crate::error::Error;
use crate::printer::Printer;

pub(crate) fn run(args: SkillArgs, config: &Config, printer: &Printer) -> Result<(), Error> {
    match args.verb {
        SkillVerb::List(mut args) => {
            configure(&mut args.source, config);
            list::run(&args, printer)
        }
        SkillVerb::Info(mut args) => {
            configure(&mut args.source, config);
            info::run(&args, printer)
        }
    }
}

/// Adds the folders of the configuration.
fn configure(options: &mut SkillOptions, config: &Config) {
    let folders = config.skills.iter().map(|(folder, _)| folder.clone());
    options.configured_skills.extend(folders);
}
