//! Options about skills, and those of `gadgetry skill`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Options for the folders of skills.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Skills")]
pub(crate) struct SkillOptions {
    /// Folder with skills, or one skill: a folder with a `SKILL.md`; may be repeated
    ///
    /// The model sees their names and descriptions, and loads one with the gadget `LoadSkill`.
    #[arg(long, value_name = "DIR")]
    pub(crate) skills: Vec<PathBuf>,

    /// Folders of `[skills]` in files, after those that were typed
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) configured_skills: Vec<PathBuf>,
}

/// Options of `gadgetry skill`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct SkillArgs {
    /// The verb.
    #[command(subcommand)]
    pub(crate) verb: SkillVerb,
}

/// Verbs of `gadgetry skill`.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillVerb {
    /// Lists the names and descriptions of skills
    ///
    /// Covers --skills and `[skills]` in configuration files, and checks every skill. Exits with code 2 and the
    /// position in the file if one is invalid.
    List(SkillListArgs),
    /// Shows a skill: its front matter, files and text
    Info(SkillInfoArgs),
}

/// Options of `gadgetry skill list`.
#[derive(Debug, Args)]
pub(crate) struct SkillListArgs {
    #[command(flatten)]
    pub(crate) source: SkillOptions,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `gadgetry skill info`.
#[derive(Debug, Args)]
pub(crate) struct SkillInfoArgs {
    /// Name of the skill
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) source: SkillOptions,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
