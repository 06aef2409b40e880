//! What a run does, one table a rule: a script in, the lines of its transcript out.

mod broken;
mod budget;
mod children;
pub(crate) mod compaction;
mod config;
mod costs;
mod dependencies;
mod dialects;
mod ending;
mod hints;
mod interceptors;
mod interrupted;
mod limits;
mod misuse;
mod native;
mod on_interrupt;
mod outputs;
mod questions;
mod reasoning;
mod references;
mod refusals;
pub(crate) mod retries;
mod text;
mod tool_choice;
mod user;
mod withdrawn;
