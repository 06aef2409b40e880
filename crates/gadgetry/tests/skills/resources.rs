//! The files of a skill: which there are, and which can be read.

use std::fs;

use gadgetry::Skill;
use gadgetry::skill::{RESOURCE_LIMIT, ResourceError};

use super::{folder, put, skill_with};

fn paths(skill: &Skill) -> Vec<String> {
    let resources = skill.resources().expect("a list");
    resources.into_iter().map(|it| it.path).collect()
}

#[test]
fn lists_files_in_one_order() {
    let folder = folder();
    let skill = skill_with(&folder, "s", "");
    assert_eq!(paths(&skill), [""; 0]);
    for path in [
        "z.md",
        "scripts/run.sh",
        "references/b/c.md",
        "references/a.md",
        "references/SKILL.md",
        ".git/config",
        "references/.hidden",
        "é b.md",
    ] {
        put(skill.dir().join(path), path);
    }
    fs::create_dir(skill.dir().join("empty")).expect("a folder");
    let expected = [
        "references/SKILL.md",
        "references/a.md",
        "references/b/c.md",
        "scripts/run.sh",
        "z.md",
        "é b.md",
    ];
    assert_eq!(paths(&skill), expected);
    let sizes = skill
        .resources()
        .expect("a list")
        .into_iter()
        .map(|it| it.size);
    let lengths = expected.map(|path| path.len() as u64);
    assert_eq!(sizes.collect::<Vec<_>>(), lengths);
    for path in expected {
        assert_eq!(skill.read(path).expect(path), path);
    }
}

#[test]
fn lists_only_so_many_and_so_deep() {
    let folder = folder();
    let skill = skill_with(&folder, "s", "");
    let mut deep = skill.dir().to_owned();
    for _ in 0..16 {
        deep.push("d");
    }
    put(deep.join("last.md"), "");
    put(deep.join("d/too-deep.md"), "");
    assert_eq!(paths(&skill), [format!("{}last.md", "d/".repeat(16))]);
    for number in 0..600 {
        put(skill.dir().join(format!("a/{number:03}")), "");
    }
    let expected: Vec<String> = (0..500).map(|number| format!("a/{number:03}")).collect();
    assert_eq!(paths(&skill), expected);
}

/// Paths that are refused as they are written, with a file at the place they lead to.
#[test]
fn reads_nothing_outside() {
    let folder = folder();
    let skill = skill_with(&folder, "s", "");
    put(folder.path().join("secret"), "secret");
    put(folder.path().join("s2/secret"), "secret");
    put(skill.dir().join(".env"), "secret");
    put(skill.dir().join("a/b"), "b");
    let absolute = skill.dir().join("a/b").display().to_string();
    for path in [
        "",
        "/",
        "/etc/passwd",
        &absolute,
        "..",
        "../secret",
        "../s2/secret",
        "../s/a/b",
        "a/../a/b",
        "a/../../secret",
        "./../secret",
        ".",
        ".env",
        "./.env",
        "a/./../.env",
    ] {
        let found = skill.read(path);
        assert!(
            matches!(&found, Err(ResourceError::Outside { path: p }) if p == path),
            "{path:?}: {found:?}"
        );
    }
    for path in ["a/b", "./a/b", "a//b", "a/./b"] {
        assert_eq!(skill.read(path).expect(path), "b");
    }
}

#[cfg(unix)]
#[test]
fn links_lead_nowhere_outside() {
    use std::os::unix::fs::symlink;

    let folder = folder();
    let skill = skill_with(&folder, "s", "");
    let inside = |path: &str| skill.dir().join(path);
    put(folder.path().join("secret"), "secret");
    put(folder.path().join("outside/secret"), "secret");
    put(inside("a/b.md"), "b");
    put(inside(".hidden"), "secret");
    let outside = folder.path().join("secret");
    for (target, link) in [
        ("a/b.md", "good.md"),
        ("a", "good"),
        ("../secret", "relative"),
        (outside.to_str().expect("UTF-8"), "absolute"),
        ("../outside", "folder"),
        ("relative", "twice"),
        ("../s/../secret", "round"),
        (".hidden", "shown"),
        ("/proc/version", "kernel"),
        ("nowhere", "broken"),
        ("circle", "circle"),
        (".", "loop"),
    ] {
        symlink(target, inside(link)).expect("a link");
    }
    assert_eq!(paths(&skill), ["a/b.md", "good.md"]);
    for path in ["good.md", "good/b.md", "loop/loop/a/b.md"] {
        assert_eq!(skill.read(path).expect(path), "b");
    }
    for path in [
        "relative",
        "absolute",
        "folder/secret",
        "folder",
        "twice",
        "round",
        "shown",
        "kernel",
        "loop/.hidden",
    ] {
        let found = skill.read(path);
        assert!(
            matches!(found, Err(ResourceError::Outside { .. })),
            "{path}: {found:?}"
        );
    }
    assert!(matches!(
        skill.read("broken"),
        Err(ResourceError::NotFound { .. })
    ));
    assert!(matches!(
        skill.read("circle"),
        Err(ResourceError::Read { .. })
    ));

    // The folder itself may be a link: the user has set it.
    symlink(skill.dir(), folder.path().join("other")).expect("a link");
    let other = Skill::load(folder.path().join("other")).expect("a skill");
    assert_eq!((other.name(), other.dir()), ("other", skill.dir()));
    // SKILL.md may not.
    put(
        folder.path().join("note.md"),
        "---\ndescription: d\n---\nsecret",
    );
    fs::create_dir(folder.path().join("t")).expect("a folder");
    symlink("../note.md", folder.path().join("t/SKILL.md")).expect("a link");
    let error = Skill::load(folder.path().join("t")).expect_err("a link outside");
    assert!(
        matches!(error, gadgetry::skill::SkillError::NotAFile { .. }),
        "{error:?}"
    );
}

#[test]
fn files_that_cannot_be_given() {
    let folder = folder();
    let skill = skill_with(&folder, "s", "");
    let size = usize::try_from(RESOURCE_LIMIT).expect("a size");
    put(skill.dir().join("references/api.md"), "");
    put(skill.dir().join("full"), "x".repeat(size));
    put(skill.dir().join("large"), "x".repeat(size + 1));
    put(skill.dir().join("logo.png"), b"\x89PNG\r\n");
    put(skill.dir().join("nul"), "a\0b");
    assert_eq!(skill.read("references/api.md").expect("empty"), "");
    assert_eq!(skill.read("full").expect("full").len(), size);
    for (path, message) in [
        (
            "large",
            "\"large\" has 1048577 bytes, and only files up to 1048576 bytes can be read whole",
        ),
        (
            "logo.png",
            "\"logo.png\" is a binary file of 6 bytes; only text can be read",
        ),
        (
            "nul",
            "\"nul\" is a binary file of 3 bytes; only text can be read",
        ),
        (
            "references",
            "\"references\" is a folder; name one of the files in it",
        ),
        (
            "reference/api.md",
            "the skill has no file \"reference/api.md\". Did you mean \"references/api.md\"?",
        ),
        (
            "full/x",
            "the skill has no file \"full/x\". Did you mean \"full\"?",
        ),
        ("zzz", "the skill has no file \"zzz\""),
        (
            "../x",
            "\"../x\" is not inside the skill; give a path from the skill's folder, without .. and without hidden files",
        ),
    ] {
        assert_eq!(skill.read(path).expect_err(path).to_string(), message);
    }
    assert!(matches!(
        skill.read("a\0b"),
        Err(ResourceError::Read { .. })
    ));
}

/// Whoever opens a pipe waits for a writer.
#[cfg(unix)]
#[test]
fn pipes_are_not_opened() {
    let folder = folder();
    let skill = skill_with(&folder, "s", "");
    let made = std::process::Command::new("mkfifo")
        .arg(skill.dir().join("pipe"))
        .status();
    assert!(made.expect("mkfifo").success());
    assert!(matches!(
        skill.read("pipe"),
        Err(ResourceError::NotAFile { .. })
    ));
    assert_eq!(paths(&skill), [""; 0]);
}
