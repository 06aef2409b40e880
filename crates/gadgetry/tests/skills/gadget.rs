//! What the model sees of skills.

use std::collections::BTreeMap;
use std::path::Path;

use gadgetry::proto::call::Outcome;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::{CancellationToken, ExecutionContext, Invocation, Skills, Toolbox};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{folder, put, put_skill, skill_with};

fn spec(skills: &Skills) -> GadgetSpec {
    skills.gadget().spec().clone()
}

async fn call(skills: &Skills, parameters: Value) -> Outcome {
    let invocation = Invocation {
        gadget_name: "LoadSkill".to_owned(),
        invocation_id: "l".into(),
        parameters,
        dependencies: BTreeMap::new(),
    };
    let context = ExecutionContext::new(&invocation, CancellationToken::new());
    invocation.execute(&*skills.gadget(), context).await
}

/// `count` skills `s0000`, `s0001`, … with that description.
fn many(count: usize, description: &str) -> (TempDir, Skills) {
    let folder = folder();
    for number in 0..count {
        let text = format!("---\ndescription: {description}\n---\n");
        put_skill(&folder, &format!("s{number:04}"), text);
    }
    let skills = Skills::from_dir(folder.path()).expect("skills");
    (folder, skills)
}

/// The lines behind the introduction.
fn listed(skills: &Skills) -> String {
    let description = spec(skills).description;
    let (_, list) = description.split_once(":\n").expect("a list");
    list.to_owned()
}

#[test]
fn lists_names_and_descriptions() {
    let folder = folder();
    put_skill(
        &folder,
        "b",
        "---\ndescription: |\n  Second\n  line\n---\nbody of b",
    );
    put_skill(&folder, "a", "---\ndescription: First\n---\nbody of a");
    put_skill(
        &folder,
        "c",
        "---\ndescription: Hidden\ndisable-model-invocation: true\n---\n",
    );
    let skills = Skills::from_dir(folder.path()).expect("skills");
    assert_eq!(listed(&skills), "- a: First\n- b: Second line");
    let spec = spec(&skills);
    assert_eq!(spec.name, "LoadSkill");
    assert!(spec.sticky_result);
    assert_eq!(spec.parameters["required"], json!(["skill"]));
    assert_eq!(spec.examples[0].params, json!({ "skill": "a" }));
    assert!(
        !serde_json::to_string(&spec)
            .expect("JSON")
            .contains("body of")
    );
    assert!(Toolbox::default().add(skills.gadget()).is_ok());
}

#[test]
fn an_empty_set_is_described_as_such() {
    let none = spec(&Skills::new());
    assert!(
        none.description.ends_with("There are no skills."),
        "{}",
        none.description
    );
    assert!(none.examples.is_empty());
}

#[test]
fn long_descriptions_are_cut_at_characters() {
    for (description, expected) in [
        ("é".repeat(250), "é".repeat(250)),
        ("é".repeat(251), format!("{}…", "é".repeat(249))),
        (
            format!("{} {}", "x".repeat(248), "y".repeat(9)),
            format!("{}…", "x".repeat(248)),
        ),
    ] {
        assert_eq!(
            listed(&many(1, &description).1),
            format!("- s0000: {expected}")
        );
    }
}

#[test]
fn the_list_has_a_limit_and_counts_what_is_left_out() {
    // A line of 80 characters with its newline: a hundred of them are 8,000 with the last newline.
    let description = "d".repeat(80 - "- s0000: \n".len());
    let full = listed(&many(100, &description).1);
    assert_eq!(full.chars().count(), 7999);
    assert!(full.ends_with(&description));
    for count in [101, 250] {
        let list = listed(&many(count, &description).1);
        assert!(list.chars().count() <= 8000, "{}", list.chars().count());
        let (shown, last) = list.rsplit_once('\n').expect("lines");
        let left_out = count - shown.lines().count();
        assert_eq!(
            last,
            format!("{left_out} more are not listed here; they can be loaded by their names, too.")
        );
        assert!(left_out < count - 95, "{left_out}");
    }
}

#[tokio::test]
async fn a_skill_that_is_not_listed_can_be_loaded() {
    let (_folder, skills) = many(200, &"d".repeat(100));
    assert!(!listed(&skills).contains("s0199"));
    let outcome = call(&skills, json!({ "skill": "s0199" })).await;
    assert_eq!(outcome, Outcome::ok("Skill s0199"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_is_one_line_of_the_list() {
    let folder = folder();
    let skill = skill_with(&folder, "pdf", "Work.");
    put(skill.dir().join("new\nline.txt"), "a");
    put(skill.dir().join("turned\u{202e}txt"), "b");
    let skills = Skills::from_dir(folder.path()).expect("skills");
    let text = call(&skills, json!({ "skill": "pdf" }))
        .await
        .result
        .expect("text");
    let list = "\n- new\\u{a}line.txt (1 bytes)\n- turned\\u{202e}txt (1 bytes)";
    assert!(text.ends_with(list), "{text}");
}

#[tokio::test]
async fn answers_with_text_and_files() {
    let folder = folder();
    let skill = skill_with(&folder, "pdf", "Work on $1 with $2.");
    skill_with(&folder, "docx", "Write.");
    let skills = Skills::from_dir(folder.path()).expect("skills");
    let load = async |parameters| call(&skills, parameters).await.result;
    let ok = |text: &str| Ok(text.to_owned());
    let error = |text: &str| Err(text.to_owned());

    assert_eq!(
        load(json!({ "skill": "docx" })).await,
        ok("Skill docx\n\nWrite.")
    );
    put(skill.dir().join("references/api.md"), "The $1 API");
    put(skill.dir().join("logo.png"), b"\x89PNG");
    let files = "\n\nFiles of this skill, which LoadSkill reads with skill=pdf and resource=<path>:\n- logo.png (4 bytes)\n- references/api.md (10 bytes)";
    for (parameters, expected) in [
        (
            json!({ "skill": "pdf" }),
            ok(&format!("Skill pdf\n\nWork on $1 with $2.{files}")),
        ),
        (
            json!({ "skill": " pdf ", "arguments": "a 'b c'", "resource": " " }),
            ok(&format!("Skill pdf\n\nWork on a with b c.{files}")),
        ),
        (
            json!({ "skill": "docx", "arguments": "a" }),
            ok("Skill docx\n\nWrite.\n\nArguments: a"),
        ),
        (
            json!({ "skill": "pdf", "resource": "references/api.md" }),
            ok("The $1 API"),
        ),
        (
            json!({ "skill": "pdf", "resource": "reference/api.md" }),
            error(
                "the skill has no file \"reference/api.md\". Did you mean \"references/api.md\"?",
            ),
        ),
        (
            json!({ "skill": "pdf", "resource": "logo.png" }),
            error("\"logo.png\" is a binary file of 4 bytes; only text can be read"),
        ),
        (
            json!({ "skill": "PDF" }),
            error("there is no skill \"PDF\". Did you mean \"pdf\"?"),
        ),
        (
            json!({ "skill": "doc" }),
            error("there is no skill \"doc\". Did you mean \"docx\"?"),
        ),
        (
            json!({ "skill": "../pdf" }),
            error("there is no skill \"../pdf\". Did you mean \"pdf\"?"),
        ),
        (
            json!({ "skill": "spreadsheets" }),
            error("there is no skill \"spreadsheets\""),
        ),
        (json!({}), error("there is no skill \"\"")),
        (
            json!({ "skill": "pdf", "resource": "a", "arguments": "b" }),
            error(
                "give either resource or arguments: a file is read as it is written, and takes no arguments",
            ),
        ),
        (
            json!({ "skill": "pdf", "arguments": "x".repeat(16 * 1024 + 1) }),
            error("the arguments have 16385 bytes; 16384 are allowed"),
        ),
    ] {
        assert_eq!(load(parameters.clone()).await, expected, "{parameters}");
    }
    let outside = load(json!({ "skill": "pdf", "resource": "../docx/SKILL.md" })).await;
    let message = outside.expect_err("outside");
    assert!(message.contains("is not inside the skill"), "{message}");
}

#[tokio::test]
async fn a_skill_that_is_not_for_the_model_is_not_there() {
    let folder = folder();
    put_skill(
        &folder,
        "mine",
        "---\ndescription: d\ndisable-model-invocation: true\n---\nsecret",
    );
    let skills = Skills::from_dir(folder.path()).expect("skills");
    let outcome = call(&skills, json!({ "skill": "mine" })).await;
    assert_eq!(outcome, Outcome::error("there is no skill \"mine\""));
    assert_eq!(
        skills.get("mine").expect("for people").activate(""),
        "secret"
    );
}

#[tokio::test]
async fn the_text_outlives_its_files() {
    let folder = folder();
    let skill = skill_with(&folder, "s", "Text");
    let skills = Skills::from_dir(folder.path()).expect("skills");
    std::fs::remove_dir_all(skill.dir()).expect("removed");
    let text = call(&skills, json!({ "skill": "s" }))
        .await
        .result
        .expect("the text");
    assert!(
        text.starts_with("Skill s\n\nText\n\nThe files of this skill cannot be listed: "),
        "{text}"
    );
}

#[tokio::test]
async fn the_example_works() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills");
    let skills = Skills::from_dir(examples).expect("the example");
    let parameters = json!({ "skill": "release-notes", "arguments": "1.2" });
    let text = call(&skills, parameters).await.result.expect("the text");
    assert!(
        text.contains("Write the release notes of version 1.2.\n"),
        "{text}"
    );
    let parameters = json!({ "skill": "release-notes", "resource": "references/tone.md" });
    let tone = call(&skills, parameters).await.result.expect("the file");
    assert!(tone.starts_with("# Tone"), "{tone}");
}
