//! The grammars in the engines of servers: llama.cpp, xgrammar (vLLM, `SGLang`) and llguidance.
//!
//! `cargo xtask test servers` installs them; what is missing is skipped with a line on standard error.

#![expect(
    clippy::disallowed_methods,
    reason = "other programs read the grammars"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use gadgetry_proto::block::Markers;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::grammar::GrammarLimits;
use gadgetry_proto::message::ToolChoice;
use serde_json::{Value, json};

use super::classes::classes;
use super::shared::{Tools, random};
use crate::support::gbnf::Grammar;

/// The command of what is installed under a name.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(super) fn command(name: &str) -> Option<Vec<String>> {
    let program = std::env::current_exe().expect("it runs");
    let target = program.ancestors().nth(3).expect("a target folder");
    let file = target.join("servers").join(format!("{name}.command"));
    let Ok(text) = std::fs::read_to_string(file) else {
        eprintln!("skipped: {name} is not installed: run cargo xtask test servers");
        return None;
    };
    Some(text.lines().map(str::to_owned).collect())
}

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/grammar/engines")
        .join(name)
}

/// Grammars of all classes, forms and choices, with sentences.
fn cases(sentences: usize) -> Vec<Value> {
    let mut sets: Vec<(String, Tools)> = classes()
        .iter()
        .map(|(class, schema)| ((*class).to_owned(), Tools::one(schema)))
        .collect();
    for count in [2, 20, 128] {
        let named = (0..count).map(|number| {
            let (_, schema) = &classes()[number % 9];
            (format!("tool_{number}"), schema.clone())
        });
        sets.push((
            format!("{count} tools"),
            Tools::new(named.collect(), Markers::default()),
        ));
    }
    let names = (0..40).map(|number| (format!("p{number}"), json!({ "type": "string" })));
    let many = json!({ "type": "object", "properties": Value::Object(names.collect()) });
    sets.push(("40 optional".to_owned(), Tools::one(&many)));
    let other = Markers::new("<|call>", "<|end>", "[[arg:").expect("markers");
    let flat = classes()[0].1.clone();
    sets.push((
        "other markers".to_owned(),
        Tools::new(vec![("T".to_owned(), flat.clone())], other),
    ));
    sets.push((
        "a nonce".to_owned(),
        Tools::new(vec![("T".to_owned(), flat)], Markers::nonce(7)),
    ));
    let choices = [ToolChoice::Required, ToolChoice::Auto, ToolChoice::None];
    let mut each = Vec::new();
    for (name, mut tools) in sets {
        each.push((name.clone(), tools.clone(), &choices[..]));
        tools.limits = GrammarLimits::small();
        each.push((format!("{name} of a small model"), tools, &choices[..1]));
    }
    let mut all = Vec::new();
    for (name, tools, choices) in &each {
        for form in CallForm::ALL {
            for choice in *choices {
                let text = tools.text(form, choice, false);
                let grammar = Grammar::new(&text);
                let mut random = random(3);
                let texts: Vec<String> =
                    (0..sentences).map(|_| grammar.text(&mut random)).collect();
                all.push(json!({
                    "name": format!("{name}, {form}, {choice:?}"),
                    "grammar": text,
                    "tag": tools.tag(form, choice),
                    "texts": texts,
                    "forced": choice.is_forced(),
                }));
            }
        }
    }
    all
}

#[track_caller]
fn check(mut command: Command, cases: &[Value]) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    input
        .write_all(Value::from(cases).to_string().as_bytes())
        .expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{:?}", output.status);
    let problems = String::from_utf8_lossy(&output.stdout);
    assert!(problems.is_empty(), "{} grammars:\n{problems}", cases.len());
}

#[test]
fn llguidance_loads_them() {
    let Some(words) = command("llguidance") else {
        return;
    };
    let mut command = Command::new(&words[0]);
    command.arg(script("load_in_llguidance.py"));
    check(command, &cases(0));
}

#[test]
fn xgrammar_loads_them_and_accepts_their_sentences() {
    let Some(words) = command("xgrammar") else {
        return;
    };
    let mut command = Command::new("node");
    command.arg(script("xgrammar.mjs")).arg(&words[1]);
    check(command, &cases(3));
}

#[test]
fn llama_cpp_loads_them() {
    let (Some(server), Some(model)) = (command("llama-cpp"), command("smollm2")) else {
        return;
    };
    let mut start = Command::new(&server[0]);
    start
        .args(&server[1..])
        .args(&model)
        .args(["--context", "512"]);
    start
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = start.spawn().expect("it starts");
    let mut address = String::new();
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    lines.read_line(&mut address).expect("its address");
    let mut command = Command::new(&server[0]);
    command.arg(script("llama_cpp.py")).arg(address.trim());
    let checked = catch_unwind(AssertUnwindSafe(|| check(command, &cases(0))));
    // It ends when its input does.
    drop(child.stdin.take());
    child.wait().expect("it ends");
    if let Err(problem) = checked {
        resume_unwind(problem);
    }
}
