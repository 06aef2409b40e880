//! What a `SKILL.md` says, and what is said about mistakes in it.

use gadgetry::Skill;
use gadgetry::skill::{SKILL_FILE_LIMIT, SkillError, SkillProblem as Problem};
use serde_json::{Value, json};

use super::{folder, put, put_skill};

fn load(text: impl AsRef<[u8]>) -> Result<Skill, SkillError> {
    let folder = folder();
    Skill::load(put_skill(&folder, "folder-name", text))
}

#[test]
fn keeps_all_that_it_says() {
    let skill = load(
        r#"---
name: pdf-2
description: >
  Fills in forms,
  merges files
argument-hint: [file, page]
disable-model-invocation: true
user-invocable: FALSE
version: 1.10
license: MIT # as everybody knows
allowed-tools: Read, Bash(git log:*, git diff) Write
metadata: { author: "me", numbers: [1, 2.5, 007, -3], none: ~ }
paths:
  - "*.pdf"
model: fast
---

Use it.
"#,
    )
    .expect("a skill");
    let front_matter = skill.front_matter();
    assert_eq!(skill.name(), "pdf-2");
    assert_eq!(skill.description(), "Fills in forms, merges files");
    assert_eq!(skill.body(), "Use it.");
    assert!(front_matter.disable_model_invocation);
    assert!(!front_matter.user_invocable);
    assert_eq!(front_matter.argument_hint.as_deref(), Some("[file, page]"));
    assert_eq!(front_matter.version.as_deref(), Some("1.10"));
    assert_eq!(front_matter.license.as_deref(), Some("MIT"));
    let tools = ["Read", "Bash(git log:*, git diff)", "Write"];
    assert_eq!(front_matter.allowed_tools, tools);
    let metadata = json!({ "author": "me", "numbers": [1, 2.5, "007", -3], "none": null });
    assert_eq!(Value::Object(front_matter.metadata.clone()), metadata);
    let other = json!({ "paths": ["*.pdf"], "model": "fast" });
    assert_eq!(Value::Object(front_matter.other.clone()), other);
}

#[test]
fn a_description_is_enough() {
    let skill = load("---\ndescription: Short\nallowed-tools: [A, 'B C']\nname:\n---").expect("it");
    let front_matter = skill.front_matter();
    assert_eq!(skill.name(), "folder-name");
    assert_eq!(skill.body(), "");
    assert!(!front_matter.disable_model_invocation);
    assert!(front_matter.user_invocable);
    assert_eq!(front_matter.argument_hint, None);
    assert_eq!(front_matter.allowed_tools, ["A", "B C"]);
    assert!(front_matter.metadata.is_empty() && front_matter.other.is_empty());
}

/// The name, the description and the text of files that are written in uncommon ways.
#[test]
fn uncommon_files() {
    let check = |text: &str, name: &str, description: &str, body: &str| {
        let skill = load(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let found = (skill.name(), skill.description(), skill.body());
        assert_eq!(found, (name, description, body), "{text:?}");
    };
    let it = "folder-name";
    check("\u{FEFF}---\ndescription: d\n---\nb", it, "d", "b");
    check(
        "---\r\nname: n\r\ndescription: d\r\n---\r\nb\r\nc\r\n",
        "n",
        "d",
        "b\nc",
    );
    check("---  \ndescription: d\n--- \t\nb", it, "d", "b");
    check(
        "---\ndescription: |\n  one\n\n  ---\n  two\n---\nb\n---\nc\n",
        it,
        "one --- two",
        "b\n---\nc",
    );
    check(
        "---\ndescription: 'é: \"日本\"'\n---\n\n\n  b  \n\n",
        it,
        "é: \"日本\"",
        "b",
    );
    check("---\nname: 42\ndescription: true\n---", "42", "true", "");
    check(
        "---\n# a comment\n\n\"description\": d\n...\n---",
        it,
        "d",
        "",
    );
    check("---\ndescription: d\nx: &anchor 1\n---", it, "d", "");
    let name = "a".repeat(64);
    check(
        &format!("---\nname: {name}\ndescription: d\n---"),
        &name,
        "d",
        "",
    );
    let description = "é".repeat(1024);
    check(
        &format!("---\ndescription: {description}\n---"),
        it,
        &description,
        "",
    );
}

#[test]
fn mistakes_have_a_place_and_a_remedy() {
    let check = |text: &[u8], line: usize, column: usize, expected: Problem| {
        let shown = String::from_utf8_lossy(text);
        match load(text) {
            Err(SkillError::Invalid {
                path,
                line: l,
                column: c,
                problem,
            }) => {
                assert!(path.ends_with("folder-name/SKILL.md"), "{path:?}");
                assert_eq!((l, c, problem), (line, column, expected), "{shown:?}");
            }
            other => panic!("{shown:?}: {other:?}"),
        }
    };
    let wrong = |key, expected| Problem::WrongType { key, expected };
    let name = |name: &str| Problem::InvalidName {
        name: name.to_owned(),
    };
    let unsupported = Problem::Unsupported;
    check(b"", 1, 1, Problem::NoFrontMatter);
    check(b"# Title\n", 1, 1, Problem::NoFrontMatter);
    check(
        b"\n---\ndescription: d\n---\n",
        1,
        1,
        Problem::NoFrontMatter,
    );
    check(
        b"----\ndescription: d\n----\n",
        1,
        1,
        Problem::NoFrontMatter,
    );
    check(
        b"---\ndescription: d\n ---\nb",
        4,
        2,
        Problem::UnclosedFrontMatter,
    );
    check(b"---", 1, 4, Problem::UnclosedFrontMatter);
    check(
        b"---\ndescription: \xC3\xA9\xFF\n---\n",
        2,
        15,
        Problem::NotUtf8,
    );
    check(b"---\nd: d\n---\nb\n\xFF", 5, 1, Problem::NotUtf8);
    check(b"---\n---\nb", 1, 1, Problem::MissingDescription);
    check(b"---\n~\n---\nb", 1, 1, Problem::MissingDescription);
    check(b"---\nname: n\n---\nb", 1, 1, Problem::MissingDescription);
    check(
        b"---\nname: n\ndescription: '  '\n---\nb",
        3,
        14,
        Problem::MissingDescription,
    );
    check(
        b"---\nname: n\ndescription:\n---\nb",
        3,
        12,
        Problem::MissingDescription,
    );
    check(b"---\n- d\n---\n", 2, 1, Problem::NotAMapping);
    check(b"---\njust text\n---\n", 2, 1, Problem::NotAMapping);
    check(
        b"---\ndescription: [d]\n---\n",
        2,
        14,
        wrong("description", "a text"),
    );
    check(b"---\nname: {a: b}\n---\n", 2, 7, wrong("name", "a text"));
    let truth = "true or false";
    check(
        b"---\nuser-invocable: yes\n---\n",
        2,
        17,
        wrong("user-invocable", truth),
    );
    let key = "disable-model-invocation";
    check(
        b"---\ndisable-model-invocation: 'true'\n---\n",
        2,
        27,
        wrong(key, truth),
    );
    let tools = "a list of texts, or a text with commas";
    check(
        b"---\nallowed-tools: [1]\n---\n",
        2,
        16,
        wrong("allowed-tools", tools),
    );
    check(
        b"---\nmetadata: x\n---\n",
        2,
        11,
        wrong("metadata", "keys with values"),
    );
    check(b"---\nname: Pdf\ndescription: d\n---\n", 2, 7, name("Pdf"));
    check(b"---\nname: -a\ndescription: d\n---\n", 2, 7, name("-a"));
    check(
        b"---\nname: ../x\ndescription: d\n---\n",
        2,
        7,
        name("../x"),
    );
    check(b"---\nname: ''\ndescription: d\n---\n", 2, 7, name(""));
    let long = "a".repeat(65);
    check(
        format!("---\nname: {long}\n---").as_bytes(),
        2,
        7,
        name(&long),
    );
    let long = format!("---\ndescription: {}\n---", "é".repeat(1025));
    check(
        long.as_bytes(),
        2,
        14,
        Problem::DescriptionTooLong { characters: 1025 },
    );
    let again = Problem::DuplicateKey {
        key: "name".to_owned(),
    };
    check(b"---\nname: a\nname: b\n---\n", 3, 1, again);
    let again = Problem::DuplicateKey {
        key: "k".to_owned(),
    };
    check(b"---\nx:\n  k: 1\n  k: 2\n---\n", 4, 3, again);
    check(
        b"---\na: &x 1\nb: *x\n---\n",
        3,
        4,
        unsupported("an alias (*)"),
    );
    check(b"---\na: !!str 1\n---\n", 2, 4, unsupported("a tag (!)"));
    check(
        b"---\n? [a]\n: b\n---\n",
        2,
        3,
        unsupported("a key that is not a plain text"),
    );
    let second = unsupported("a second document");
    check(
        b"---
a: b
--- {c: d}
---
",
        3,
        1,
        second,
    );
    let deep = format!("---\nx: {}{}\n---\n", "[".repeat(40), "]".repeat(40));
    check(
        deep.as_bytes(),
        2,
        36,
        unsupported("a value nested this deep"),
    );
}

#[test]
fn mistakes_in_yaml() {
    for (text, place) in [
        ("---\nname: n\ndescription: Use it: always\n---\n", ":3:"),
        ("---\ndescription: *bold*\n---\n", ":2:"),
        ("---\ndescription: \"open\n---\n", ":2:"),
        ("---\nx:\n\ty: d\n---\n", ":3:"),
        ("---\ndescription: d\n  x: [1\n---\n", ":3:"),
        ("---\ndescription: a\0b\n---\n", ":2:"),
    ] {
        let error = load(text).expect_err(text);
        let invalid = matches!(
            &error,
            SkillError::Invalid {
                problem: Problem::Yaml(_),
                ..
            }
        );
        assert!(invalid, "{text:?}: {error:?}");
        let message = error.to_string();
        assert!(
            message.contains(place) && message.contains("needs quotes"),
            "{text:?}: {message}"
        );
    }
}

/// Input that makes careless parsers slow or exhausts their stack.
#[test]
fn hostile_yaml_is_refused() {
    let size = usize::try_from(SKILL_FILE_LIMIT).expect("a size") - 100;
    for piece in [
        "[", "{a: ", "- ", "? ", "a: b: ", "\n- ", "&a ", "!a ", "\"", "x\n", "'",
    ] {
        let text = format!("---\nx: {}\n---\n", piece.repeat(size / piece.len()));
        assert!(load(&text).is_err(), "{piece:?}");
    }
    let laughs = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\ndescription: d";
    assert!(load(format!("---\n{laughs}\n---\n")).is_err());
}

#[test]
fn files_that_cannot_be_read() {
    let folder = folder();
    let there = folder.path().join("s");
    let error = Skill::load(&there).expect_err("no folder");
    assert!(
        matches!(&error, SkillError::Read { path, .. } if *path == there),
        "{error:?}"
    );

    std::fs::create_dir(&there).expect("a folder");
    let error = Skill::load(&there).expect_err("no file");
    let file = there.join("SKILL.md");
    assert!(
        matches!(&error, SkillError::Read { path, .. } if *path == file),
        "{error:?}"
    );

    let mut text = "---\ndescription: d\n---\n".to_owned();
    text.push_str(&"x".repeat(usize::try_from(SKILL_FILE_LIMIT).expect("a size") - text.len()));
    put(&file, &text);
    assert!(Skill::load(&there).is_ok());
    text.push('x');
    put(&file, &text);
    let error = Skill::load(&there).expect_err("too large");
    assert!(
        matches!(
            &error,
            SkillError::TooLarge {
                limit: SKILL_FILE_LIMIT,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("262144 bytes"), "{error}");

    std::fs::remove_file(&file).expect("removed");
    std::fs::create_dir(&file).expect("a folder");
    let error = Skill::load(&there).expect_err("a folder");
    assert!(
        matches!(&error, SkillError::NotAFile { path } if *path == file),
        "{error:?}"
    );
}

#[test]
fn the_folder_must_have_a_name_that_will_do() {
    let folder = folder();
    let unnamed = "---\ndescription: d\n---\n";
    for name in ["My Skill", "Skill", "日本", "-x", "a_b", "a.b"] {
        let error = Skill::load(put_skill(&folder, name, unnamed)).expect_err(name);
        let SkillError::Invalid {
            line: 1,
            column: 1,
            problem,
            ..
        } = error
        else {
            panic!("{name}: {error:?}");
        };
        assert_eq!(
            problem,
            Problem::InvalidFolderName {
                folder: name.to_owned()
            }
        );
        let named = put_skill(&folder, name, "---\nname: ok\ndescription: d\n---\n");
        assert_eq!(Skill::load(named).expect("a name").name(), "ok");
    }
}

/// Commands and agents of other programs, whose front matter may be missing or no YAML.
#[test]
fn other_markdown_files() {
    let check = |file: &str, text: &str, expected: (&str, &str, &str)| {
        let folder = folder();
        let path = folder.path().join(file);
        std::fs::write(&path, text).expect("a file");
        let skill = Skill::from_markdown(&path).expect(text);
        let found = (skill.name(), skill.description(), skill.body());
        assert_eq!(found, expected, "{text}");
        skill
    };
    check(
        "Fix_the Bug.md",
        "# Fixes\n\nNow.",
        ("fix-the-bug", "Fixes", "# Fixes\n\nNow."),
    );
    check("x.md", "", ("x", "x", ""));
    check("x.md", "---\nno end\n", ("x", "---", "---\nno end"));
    check(
        "x.md",
        "---\ndescription: One\n---\nTwo",
        ("x", "One", "Two"),
    );
    let text = "---\nname: Code Reviewer\ndescription: Use when: a user asks. Examples: <example>user: \"x\"</example>\n\
                tools: Read, Grep\nmodel: 'opus'\n---\r\nYou review.\r\n";
    let description = "Use when: a user asks. Examples: <example>user: \"x\"</example>";
    let skill = check("y.md", text, ("code-reviewer", description, "You review."));
    let other = json!({ "tools": "Read, Grep", "model": "opus" });
    assert_eq!(Value::Object(skill.front_matter().other.clone()), other);
    let long = format!("---\ndescription: {}\n---\n", "x".repeat(5000));
    check("x.md", &long, ("x", &"x".repeat(1024), ""));
}

#[test]
fn other_files_that_are_refused() {
    let folder = folder();
    let check = |file: &str, bytes: &[u8], part: &str| {
        let path = folder.path().join(file);
        std::fs::write(&path, bytes).expect("a file");
        let error = Skill::from_markdown(&path).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    check("a.md", b"\xff", "not UTF-8");
    check("\u{4e2d}.md", b"x", "cannot be the name");
    check("b.md", &vec![b'x'; 300 << 10], "is longer than");
    check("c.md", b"---\nversion: [1]\n---\n", "version must be");
    let missing = Skill::from_markdown(folder.path().join("none.md"));
    assert!(matches!(missing, Err(SkillError::Read { .. })));
    let is_folder = Skill::from_markdown(folder.path());
    assert!(matches!(is_folder, Err(SkillError::NotAFile { .. })));
}
