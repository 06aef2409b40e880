//! Placeholders: what is filled in, and what stays as it is.

use gadgetry::skill::{ARGUMENTS_LIMIT, ArgumentsTooLong};

use super::{folder, skill_with};

fn activate(text: &str, arguments: &str) -> String {
    skill_with(&folder(), "s", text).activate(arguments)
}

#[test]
fn placeholders_become_arguments() {
    for (text, arguments, expected) in [
        ("Do $ARGUMENTS.", " a  b ", "Do a  b."),
        ("Do $ARGUMENTS", "", "Do "),
        ("<$ARGUMENTS>", "", "<>"),
        ("$ARGUMENTS[0]|$ARGUMENTS[1]", "a b c", "a|b"),
        ("$1|$2", "a b c", "a|b"),
        ("$1$2$1", "a b", "aba"),
        ("($1), $2: \"$1\".", "é 日本", "(é), 日本: \"é\"."),
        ("$10", "1 2 3 4 5 6 7 8 9 ten", "ten"),
        ("$1|$2|$3", "'a b' \"c 'd'\" e", "a b|c 'd'|e"),
        ("$1|$2", "don't \"stop", "don't|\"stop"),
        ("$1|$2", "'' it's'", "|it's'"),
        ("$1|$2", "\"a\"b\" c", "a\"b|c"),
        ("$1", "a\u{3000}b", "a"),
    ] {
        assert_eq!(
            activate(text, arguments),
            expected,
            "{text:?} {arguments:?}"
        );
    }
}

#[test]
fn everything_else_stays() {
    let all = "a b c d e f g h i";
    for text in [
        "$",
        "$$",
        "a $ b",
        "${HOME} $HOME $(pwd) $[1] ${1} ${ARGUMENTS}",
        "$0 $01 $10 $99999999999999999999999",
        "$ARGUMENTS[9] $ARGUMENTS[] $ARGUMENTS[01] $ARGUMENTS[-1] $ARGUMENTS[0 $ARGUMENTS[x]",
        "$ARGUMENTSX $ARGUMENTS_1 $ARGUMENTSé $arguments $ARGUMENT",
        "$5.00 $1,000 $1.5m $1st $1_a $1é",
        "\\$1 \\$ARGUMENTS \\${SKILL_DIR}",
        "$$1 $$ARGUMENTS",
        "${SKILL_DIR ${skill_dir} $SKILL_DIR ${SKILL_DIR:-x}",
        "!`rm -rf /` `date` <(x) | ; &&",
    ] {
        assert_eq!(activate(text, ""), text);
        let expected = format!("{text}\n\nArguments: {all}");
        assert_eq!(activate(text, all), expected);
    }
    // A word that is not there stays beside one that is.
    assert_eq!(activate("$1 costs $5", "Tea"), "Tea costs $5");
    assert_eq!(
        activate("Pay $5. Or $1, or $2", "3 4"),
        "Pay $5. Or 3, or 4"
    );
    assert_eq!(activate("$1", ""), "$1");
}

#[test]
fn the_folder_is_absolute_and_no_argument() {
    let folder = folder();
    let skill = skill_with(&folder, "s", "Run ${SKILL_DIR}/x.sh");
    let dir = folder.path().canonicalize().expect("a folder").join("s");
    assert_eq!(skill.dir(), dir);
    let text = format!("Run {}/x.sh", dir.display());
    assert_eq!(skill.activate(""), text);
    assert_eq!(skill.activate("now"), format!("{text}\n\nArguments: now"));
}

#[test]
fn what_is_filled_in_is_not_looked_at_again() {
    for (text, arguments, expected) in [
        ("$1 $2", "$2 x", "$2 x"),
        (
            "$1 $2",
            "$ARGUMENTS ${SKILL_DIR}",
            "$ARGUMENTS ${SKILL_DIR}",
        ),
        ("$ARGUMENTS", "$1 $ARGUMENTS[0]", "$1 $ARGUMENTS[0]"),
        ("$1ARGUMENTS", "$", "$1ARGUMENTS\n\nArguments: $"),
        ("$1$2", "$ARGU MENTS", "$ARGUMENTS"),
        ("$1{SKILL_DIR}", "$ x", "${SKILL_DIR}"),
        ("$1$ARGUMENTS", "\\ x", "\\\\ x"),
    ] {
        assert_eq!(
            activate(text, arguments),
            expected,
            "{text:?} {arguments:?}"
        );
    }
}

/// The text of a skill and its arguments are never a command, whichever of them looks like one.
#[test]
fn nothing_is_executed() {
    let folder = folder();
    let proof = folder.path().join("proof");
    let command = format!("touch {}", proof.display());
    for (text, arguments) in [
        (format!("!`{command}`\n```!\n{command}\n```"), String::new()),
        ("Look at $ARGUMENTS".to_owned(), format!("!`{command}`")),
        ("!`$ARGUMENTS`".to_owned(), command.clone()),
        (
            "!`echo $1`".to_owned(),
            format!("\"`{command}`; $({command})\""),
        ),
    ] {
        let skill = skill_with(&folder, "s", &text);
        let activated = skill.activate(&arguments);
        assert!(activated.contains(&command), "{activated}");
        assert!(!proof.exists(), "{text}");
    }
}

#[test]
fn instructions_list_the_files_that_the_model_can_read() {
    let folder = folder();
    let skill = skill_with(&folder, "s", "Use $1.");
    std::fs::write(skill.dir().join("a.md"), "a").expect("a file");
    let files = "Files of this skill, which LoadSkill reads with skill=s and resource=<path>:\n- a.md (1 bytes)";
    let expected = format!("Skill s\n\nUse it.\n\n{files}");
    assert_eq!(skill.instructions("it"), Ok(expected));
    let hidden = "---\ndescription: d\ndisable-model-invocation: true\n---\nUse $1.";
    std::fs::write(skill.dir().join("SKILL.md"), hidden).expect("a file");
    let skill = gadgetry::Skill::load(skill.dir()).expect("a skill");
    assert_eq!(
        skill.instructions("it"),
        Ok("Skill s\n\nUse it.".to_owned())
    );
    let too_long = skill.instructions(&"x".repeat(ARGUMENTS_LIMIT + 1));
    assert_eq!(too_long, Err(ArgumentsTooLong { bytes: 16_385 }));
}
