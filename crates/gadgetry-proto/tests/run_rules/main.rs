//! What a run does, one table a rule: a script in, the lines of its transcript out.

mod broken;
mod compaction;
mod costs;
mod dependencies;
mod ending;
mod limits;
mod misuse;
mod references;
#[path = "../support/sim/mod.rs"]
mod sim;
mod text;
mod user;
