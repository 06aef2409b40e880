//! The grammars of all schemas of the Berkeley Function Calling Leaderboard: what they admit is valid, and what is expected is admitted.
//!
//! `GADGETRY_SENTENCES` sets the sentences of each schema and form, which are few by default.

#![expect(
    clippy::disallowed_methods,
    reason = "a variable of the environment sets how much is tested"
)]

use std::collections::BTreeMap;

use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::grammar::GrammarError;
use gadgetry_proto::message::ToolChoice;
use serde_json::{Map, Value};

use super::engines::command;
use super::shared::{Tools, random, with_deep_stack};
use super::written::written;
use crate::support::bfcl::{CATEGORIES, Case, cases, schema};
use crate::support::gbnf::Grammar;

const SENTENCES: usize = 3;

fn all_cases() -> Option<Vec<Case>> {
    let folder = command("bfcl")?.pop()?;
    let all = CATEGORIES
        .iter()
        .flat_map(|category| cases(folder.as_ref(), category));
    Some(all.collect())
}

fn parameters(function: &Value) -> Value {
    schema(&function["parameters"])
}

#[test]
fn every_sentence_is_a_valid_call() {
    let Some(cases) = all_cases() else { return };
    let wanted = std::env::var("GADGETRY_SENTENCES").ok();
    let count = wanted.map_or(SENTENCES, |it| it.parse().expect("a number"));
    let functions = cases.iter().flat_map(|case| &case.functions);
    let schemas: BTreeMap<String, Value> = functions
        .map(|function| {
            let schema = parameters(function);
            (schema.to_string(), schema)
        })
        .collect();
    assert!(schemas.len() > 1_000, "{} schemas", schemas.len());
    let (mut problems, mut unsatisfiable) = (Vec::new(), 0);
    for schema in schemas.values() {
        let tools = Tools::one(schema);
        for form in CallForm::ALL {
            let grammar = match tools.try_text(form, &ToolChoice::Required) {
                Ok(text) => Grammar::new(&text),
                Err(GrammarError::Unsatisfiable(_)) => {
                    unsatisfiable += 1;
                    continue;
                }
                Err(error) => panic!("{error}: {schema}"),
            };
            let mut random = random(5);
            for _ in 0..count {
                let sentence = grammar.text(&mut random);
                let calls = tools.calls(form, &sentence);
                // No grammar can demand that the keys of a map differ.
                let is_repeated = format!("{calls:?}").contains("twice");
                if !matches!(&calls[..], [Ok(_)]) && !is_repeated {
                    problems.push(format!("{form}: {schema}\n{sentence}\n  {calls:?}"));
                }
            }
        }
    }
    // Some demand an integer that is one of several texts.
    assert!(unsatisfiable < 20, "{unsatisfiable}");
    let first = &problems[..problems.len().min(6)];
    assert!(
        problems.is_empty(),
        "{} of {} schemas:\n{}",
        problems.len(),
        schemas.len(),
        first.join("\n")
    );
}

/// A value with its properties in the order of the schema, which a grammar demands.
fn ordered(value: &Value, schema: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let properties = schema["properties"].as_object();
            let place = |key: &String| {
                properties
                    .and_then(|all| all.keys().position(|name| name == key))
                    .unwrap_or(usize::MAX)
            };
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| place(key));
            let fields = fields.into_iter().map(|(key, value)| {
                let inner = properties.and_then(|all| all.get(key));
                (
                    key.clone(),
                    ordered(value, inner.unwrap_or(&schema["additionalProperties"])),
                )
            });
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| ordered(item, &schema["items"]))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Whether the schema names each property.
fn is_declared(value: &Value, schema: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let Some(properties) = schema["properties"].as_object() else {
                return true;
            };
            let is_map = schema.get("additionalProperties").is_some();
            fields.iter().all(|(key, value)| {
                let inner = properties.get(key);
                inner.map_or(is_map, |inner| is_declared(value, inner))
            })
        }
        Value::Array(items) => items.iter().all(|it| is_declared(it, &schema["items"])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[test]
fn every_expected_call_is_admitted() {
    with_deep_stack(expected_calls);
}

fn expected_calls() {
    let Some(cases) = all_cases() else { return };
    let (mut valid, mut undeclared, mut refused) = (0, 0, Vec::new());
    for case in cases {
        for (name, input) in &case.calls {
            let function = case.functions.iter().find(|it| it["name"] == name.as_str());
            let Some(function) = function else { continue };
            let schema = parameters(function);
            let tools = Tools::one(&schema);
            let Ok(input) = tools.check(input.clone()) else {
                continue;
            };
            if !is_declared(&input, &schema) {
                undeclared += 1;
                continue;
            }
            let input = ordered(&input, &schema);
            valid += 1;
            for form in CallForm::ALL {
                let text = written(form, &input);
                let grammar: Grammar = tools.grammar(form, &ToolChoice::Required, true);
                if !grammar.admits(&text) {
                    refused.push(format!("{} {form}: {schema}\n{text}", case.id));
                }
            }
        }
    }
    // A schema that says nothing of further properties admits any; a grammar has those that are declared.
    assert_eq!((valid, undeclared), (3_255, 3), "calls that fit");
    let first = &refused[..refused.len().min(12)];
    assert!(
        refused.is_empty(),
        "{} of {valid} calls in two forms:\n{}",
        refused.len(),
        first.join("\n")
    );
}
