//! Skills: folders with a `SKILL.md`, on the disk and before the model.

mod activate;
mod front_matter;
mod gadget;
mod resources;
mod set;

use std::fs;
use std::path::{Path, PathBuf};

use gadgetry::Skill;
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Writes a file and the folders above it.
fn put(path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("a file");
}

/// Writes `SKILL.md` in `folder/name`, which it returns.
fn put_skill(folder: &TempDir, name: &str, skill_file: impl AsRef<[u8]>) -> PathBuf {
    let skill = folder.path().join(name);
    put(skill.join("SKILL.md"), skill_file);
    skill
}

/// A skill named `name` with a text.
fn skill_with(folder: &TempDir, name: &str, body: &str) -> Skill {
    let text = format!("---\ndescription: About {name}\n---\n{body}");
    Skill::load(put_skill(folder, name, text)).expect("a skill")
}
