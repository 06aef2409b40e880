//! Folders of skills.

use std::path::Path;

use gadgetry::Skills;
use gadgetry::skill::SkillError;

use super::{folder, put, put_skill, skill_with};

fn names(skills: &Skills) -> Vec<&str> {
    skills.iter().map(gadgetry::Skill::name).collect()
}

#[test]
fn finds_every_folder_with_a_skill_file_in_one_order() {
    let folder = folder();
    // Neither the order of writing nor that of the folders' names counts, but that of the names.
    for (name, text) in [
        ("zebra", "---\nname: b\ndescription: d\n---\n"),
        ("c", "---\ndescription: d\n---\n"),
        ("Ant Eater", "---\nname: a\ndescription: d\n---\n"),
    ] {
        put_skill(&folder, name, text);
    }
    put(folder.path().join("no-skill/README.md"), "");
    put(folder.path().join("nested/deep/SKILL.md"), "no skill");
    put(folder.path().join("README.md"), "");
    let skills = Skills::from_dir(folder.path()).expect("skills");
    assert_eq!(names(&skills), ["a", "b", "c"]);
    assert_eq!((skills.len(), skills.is_empty()), (3, false));
    assert_eq!(skills.get("b").map(gadgetry::Skill::description), Some("d"));
    assert!(skills.get("B").is_none() && skills.get("zebra").is_none());
}

#[test]
fn a_folder_that_is_a_skill_is_the_only_one() {
    let folder = folder();
    let skill = skill_with(&folder, "s", "");
    put(skill.dir().join("inner/SKILL.md"), "no skill");
    let skills = Skills::from_dir(skill.dir()).expect("skills");
    assert_eq!(names(&skills), ["s"]);
}

#[test]
fn several_folders_are_one_set_and_names_differ() {
    let (one, two) = (folder(), folder());
    skill_with(&one, "a", "");
    skill_with(&two, "b", "");
    let mut skills = Skills::new();
    assert!(skills.is_empty());
    let added = skills
        .add_dir(one.path())
        .and_then(|it| it.add_dir(two.path()));
    assert_eq!(names(added.expect("both")), ["a", "b"]);

    let three = folder();
    skill_with(&three, "a0", "");
    let second = put_skill(&three, "b0", "---\nname: b\ndescription: d\n---\n");
    let error = skills.add_dir(three.path()).expect_err("the name is taken");
    let SkillError::DuplicateName {
        name,
        first,
        second: found,
    } = &error
    else {
        panic!("{error:?}");
    };
    let canonical = |path: &Path| path.canonicalize().expect("a folder");
    assert_eq!(name, "b");
    assert_eq!(*first, canonical(two.path()).join("b"));
    assert_eq!(*found, canonical(&second));
    // Nothing of that folder was added.
    assert_eq!(names(&skills), ["a", "b"]);
}

#[test]
fn invalid_skills_are_errors() {
    let folder = folder();
    let missing = folder.path().join("missing");
    let error = Skills::from_dir(&missing).expect_err("no folder");
    assert!(
        matches!(&error, SkillError::Read { path, .. } if *path == missing),
        "{error:?}"
    );
    assert!(Skills::from_dir(folder.path()).expect("none").is_empty());
    skill_with(&folder, "good", "");
    for name in ["m", "zz", "b", "q", "bad", "f", "aa", "w", "x", "h"] {
        put_skill(&folder, name, "no front matter");
    }
    let error = Skills::from_dir(folder.path())
        .expect_err("bad")
        .to_string();
    assert!(
        error.contains("/aa/SKILL.md:1:1: the front matter is missing"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn a_dangling_link_to_a_skill_is_an_error() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("s")).expect("a folder");
    std::os::unix::fs::symlink("nowhere", folder.path().join("s/SKILL.md")).expect("a link");
    let error = Skills::from_dir(folder.path()).expect_err("nothing there");
    assert!(matches!(error, SkillError::Read { .. }), "{error:?}");
}
