//! The cases: questions with tools, and the calls that are right.

use std::collections::BTreeMap;

use gadgetry::proto::message::{Message, Role};
use gadgetry::proto::schema::GadgetSpec;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::score::Expected;
use crate::cli::Class;
use crate::error::Error;

/// Our own cases.
const OWN: &str = include_str!("cases.json");

/// A question with tools.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(super) id: String,
    pub(super) class: Class,
    pub(super) messages: Vec<Message>,
    pub(super) tools: Vec<GadgetSpec>,
    /// The calls that are right; none if none is needed.
    pub(super) right: Vec<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    tools: BTreeMap<String, OwnTool>,
    cases: Vec<OwnCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnTool {
    description: String,
    parameters: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnCase {
    id: String,
    class: Class,
    ask: String,
    tools: Vec<String>,
    #[serde(default)]
    right: Vec<Map<String, Value>>,
}

/// Our own cases, in the order of the file.
pub(crate) fn own() -> Result<Vec<Case>, Error> {
    let wrong = |problem: &dyn std::fmt::Display| {
        Error::Failed(format!("internal error (please report): {problem}"))
    };
    let own: Own = serde_json::from_str(OWN).map_err(|error| wrong(&error))?;
    let cases = own.cases.into_iter().map(|case| {
        let tools = case.tools.iter().map(|name| {
            let tool = own.tools.get(name);
            let tool = tool.ok_or_else(|| wrong(&format_args!("no tool {name}")))?;
            Ok(GadgetSpec {
                name: name.clone(),
                description: tool.description.clone(),
                parameters: tool.parameters.clone(),
                ..GadgetSpec::default()
            })
        });
        Ok(Case {
            id: case.id,
            class: case.class,
            messages: vec![Message::text(Role::User, case.ask)],
            tools: tools.collect::<Result<_, Error>>()?,
            right: expected_calls(case.right),
        })
    });
    cases.collect()
}

/// `{name: {parameter: [value, …]}}`, as BFCL has it.
pub(super) fn expected_calls(calls: Vec<Map<String, Value>>) -> Vec<Expected> {
    let calls = calls.into_iter().flatten().map(|(name, values)| {
        let values = values.as_object().into_iter().flatten();
        let values = values.map(|(parameter, options)| {
            let single = || vec![options.clone()];
            let options = options.as_array().cloned().unwrap_or_else(single);
            (parameter.clone(), options)
        });
        Expected {
            name,
            values: values.collect(),
        }
    });
    calls.collect()
}

/// At most `most` cases of the wanted classes, as many of each class as there are.
pub(crate) fn chosen(cases: Vec<Case>, classes: &[Class], most: Option<usize>) -> Vec<Case> {
    let mut of_class: BTreeMap<Class, Vec<Case>> = BTreeMap::new();
    for case in cases {
        if classes.is_empty() || classes.contains(&case.class) {
            of_class.entry(case.class).or_default().push(case);
        }
    }
    let total: usize = of_class.values().map(Vec::len).sum();
    let mut left = most.unwrap_or(total).min(total);
    let mut counts: BTreeMap<Class, usize> = BTreeMap::new();
    while left > 0 {
        for (class, cases) in &of_class {
            let count = counts.entry(*class).or_default();
            if left > 0 && *count < cases.len() {
                *count += 1;
                left -= 1;
            }
        }
    }
    let of_class = of_class.into_iter();
    let taken = of_class.flat_map(|(class, mut cases)| {
        cases.truncate(counts.get(&class).copied().unwrap_or_default());
        cases
    });
    taken.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use gadgetry::proto::schema::Registry;

    use super::super::score::{Made, score};
    use super::*;

    /// The first of the values that are right of each parameter, as a call.
    fn written(call: &Expected) -> Made {
        let values = call.values.iter().filter_map(|(name, options)| {
            let first = options.first().filter(|it| !it.is_null())?;
            Some((name.clone(), plain(first)))
        });
        Made {
            name: call.name.clone(),
            parameters: Ok(values.collect()),
        }
    }

    /// An object that is expected, with the first of its values.
    fn plain(option: &Value) -> Value {
        match option {
            Value::Object(fields) => {
                let fields = fields.iter().filter_map(|(name, options)| {
                    let first = options.get(0).filter(|it| !it.is_null())?;
                    Some((name.clone(), plain(first)))
                });
                Value::Object(fields.collect())
            }
            Value::Array(items) => items.iter().map(plain).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => option.clone(),
        }
    }

    /// Each case can be solved: the calls that are right are valid, and score as right.
    #[test]
    fn our_cases() {
        let cases = own().expect("cases");
        assert!(cases.len() >= 60, "{}", cases.len());
        let ids: BTreeSet<&str> = cases.iter().map(|it| &*it.id).collect();
        assert_eq!(ids.len(), cases.len(), "two cases have one id");
        for class in Class::ALL {
            let count = cases.iter().filter(|it| it.class == class).count();
            assert!(count >= 10, "{class:?}: {count}");
        }
        for case in &cases {
            let registry = Registry::new(case.tools.clone()).expect("tools");
            let made: Vec<Made> = case.right.iter().map(written).collect();
            for call in &made {
                let gadget = registry.get(&call.name).expect("a tool of the case");
                let parameters = call.parameters.clone().expect("parameters");
                gadget
                    .check(parameters)
                    .unwrap_or_else(|error| panic!("{}: {error}", case.id));
                let expected = case.right.iter().find(|it| it.name == call.name);
                let properties = gadget.spec().parameters["properties"].as_object();
                let declared = properties.map_or(0, Map::len);
                // Each parameter has a list of values, so that none that the model adds is wrong by accident.
                assert_eq!(
                    expected.map(|it| it.values.len()),
                    Some(declared),
                    "{}",
                    case.id
                );
            }
            assert_eq!(
                case.right.is_empty(),
                case.class == Class::NoCall,
                "{}",
                case.id
            );
            let has_shape = match case.class {
                Class::One => case.tools.len() == 1 && case.right.len() == 1,
                Class::Choice => case.tools.len() > 2 && case.right.len() == 1,
                Class::Several => case.right.len() > 1,
                Class::Nested => case.right.len() == 1,
                Class::NoCall => !case.tools.is_empty(),
            };
            assert!(has_shape, "{}", case.id);
            let verdict = score(&case.right, &made, &super::super::arm::schemas(case));
            assert!(verdict.right, "{}: {made:?}", case.id);
        }
    }

    #[test]
    fn some_of_the_cases() {
        let check = |classes: &[Class], most, expected: &[usize]| {
            let chosen = chosen(own().expect("cases"), classes, most);
            let count = |class| chosen.iter().filter(|it| it.class == class).count();
            assert_eq!(Class::ALL.map(count), expected, "{classes:?} {most:?}");
        };
        check(&[], Some(7), &[2, 2, 1, 1, 1]);
        check(&[Class::Nested], Some(3), &[0, 0, 0, 3, 0]);
        check(&[Class::One, Class::NoCall], Some(1), &[1, 0, 0, 0, 0]);
        check(&[], Some(0), &[0, 0, 0, 0, 0]);
        let all = chosen(own().expect("cases"), &[], None);
        assert_eq!(all.len(), own().expect("cases").len());
    }
}
