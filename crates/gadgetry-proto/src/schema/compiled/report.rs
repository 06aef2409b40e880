//! Finds the problems of parameters, in short English for a model to read.

mod words;

use gadgetry_validator::ValidationError;
use gadgetry_validator::error::{TypeKind, ValidationErrorKind as Kind};
use gadgetry_validator::paths::LocationSegment;
use serde_json::Value;

use crate::error::DigitsLost;
use crate::schema::closest;
use crate::schema::compiled::core::Core;
use crate::schema::compiled::cost;
use crate::schema::compiled::cost::Cost;
use crate::schema::compiled::expand::find;
use crate::schema::compiled::problem::Problem;
use crate::schema::compiled::report::words::constraint;
use crate::schema::compiled::report::words::expected;
use crate::schema::compiled::report::words::got;
use crate::schema::compiled::report::words::sentence;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::view::View;
use crate::schema::numbers::digits_lost;

/// Unions inside unions that are explained.
const UNIONS: usize = 8;
/// Properties among which the tag of a union is looked for.
const TAGS: usize = 32;
/// Maximum number of problems that are reported.
const PROBLEMS: usize = 100;

/// The problem of parameters that are another type than an object.
pub(super) fn not_an_object(parameters: &Value) -> Problem {
    Problem::of_all(&format!("expected object, got {}", got(parameters)))
}

/// Keywords that give keys outside `properties` a meaning, or exclude them.
const ELSEWHERE: [&str; 11] = [
    "$dynamicRef",
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "dependentSchemas",
    "else",
    "oneOf",
    "patternProperties",
    "then",
    "unevaluatedProperties",
];

pub(super) fn problems(core: &Core, parameters: &Value) -> Vec<Problem> {
    let cost = cost::of(core, parameters);
    if cost == Cost::TooHigh {
        return vec![Problem::of_all(cost::TOO_MUCH)];
    }
    if core.validators().admit(parameters) {
        return Vec::new();
    }
    if cost == Cost::High {
        return vec![Problem::of_all(
            "does not fit, and is nested too deeply to say where",
        )];
    }
    let mut report = ProblemReport::new(core, parameters);
    for error in core.validators().errors(parameters).take(PROBLEMS) {
        report.add(&error, UNIONS);
    }
    report.undeclared();
    let mut found = report.found;
    found.sort_by(|(left, left_problem), (right, right_problem)| {
        let text = |problem: &Problem| (problem.pointer.clone(), problem.message.clone());
        left.cmp(right)
            .then_with(|| text(left_problem).cmp(&text(right_problem)))
    });
    found.dedup();
    found.into_iter().map(|(_, problem)| problem).collect()
}

/// Keys that the schema does not declare, nor forbid.
pub(super) fn undeclared(core: &Core, parameters: &Value) -> Vec<Problem> {
    // Nearly all calls have none, and a report costs a walk over the schema.
    if undeclared_keys(core, parameters).next().is_none() {
        return Vec::new();
    }
    let mut report = ProblemReport::new(core, parameters);
    report.undeclared();
    let found = report.found.into_iter();
    found.map(|(_, problem)| problem).collect()
}

fn undeclared_keys<'p>(core: &Core, parameters: &'p Value) -> impl Iterator<Item = &'p String> {
    let node = core.normal().as_object();
    let node = node.filter(|node| ELSEWHERE.iter().all(|it| find(node, it).is_none()));
    let declared = node.and_then(|node| find(node, "properties")?.as_object());
    let pair = declared.zip(parameters.as_object());
    pair.into_iter().flat_map(|(declared, given)| {
        let keys = given.keys();
        keys.filter(|key| find(declared, key).is_none())
    })
}

/// A step from a value to a part of it.
#[derive(Clone, PartialEq, Eq)]
enum PathSegment {
    Key(String),
    Index(usize),
}

struct ProblemReport<'a> {
    core: &'a Core,
    root: View<'a>,
    parameters: &'a Value,
    found: Vec<(Vec<usize>, Problem)>,
}

impl<'a> ProblemReport<'a> {
    fn new(core: &'a Core, parameters: &'a Value) -> Self {
        Self {
            core,
            root: View::new(core),
            parameters,
            found: Vec::new(),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum is not ours and not closed"
    )]
    fn add(&mut self, error: &ValidationError<'_>, unions: usize) {
        let path: Vec<PathSegment> = steps(error).collect();
        let value = error.instance().as_ref();
        match error.kind() {
            Kind::Required { property } => {
                let mut path = path;
                path.push(PathSegment::Key(
                    property.as_str().unwrap_or_default().to_owned(),
                ));
                let message = match expected(&self.view(&path)) {
                    Some(expected) => format!("expected {expected}, but it is missing"),
                    None => "it is missing".to_owned(),
                };
                self.push(&path, message);
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                for key in unexpected.iter().take(PROBLEMS) {
                    self.no_such(&path, key);
                }
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.union(&path, value, context, unions);
            }
            // In another form of a union it would be right: only what this one wants is reported.
            Kind::Type {
                kind: TypeKind::Single(wanted),
            } if self.view(&path).types().meets(Types::of(value)) => {
                self.push(&path, format!("expected {wanted}, got {}", got(value)));
            }
            Kind::Type { .. } | Kind::Enum { .. } | Kind::Constant { .. } => {
                let is_type = matches!(error.kind(), Kind::Type { .. });
                let lost = is_type.then(|| self.digits_lost(&path, value)).flatten();
                let message = if let Some(lost) = lost {
                    lost.to_string()
                } else {
                    let expected =
                        expected(&self.view(&path)).unwrap_or_else(|| "something else".to_owned());
                    format!("expected {expected}, got {}", got(value))
                };
                self.push(&path, message);
            }
            kind => {
                let message = constraint(kind, value);
                let message = message.unwrap_or_else(|| sentence(&error.masked().to_string()));
                self.push(&path, message);
            }
        }
    }

    /// Returns the error for a value that is text because no number keeps its digits.
    fn digits_lost(&self, path: &[PathSegment], value: &Value) -> Option<DigitsLost> {
        let types = self.view(path).intended()?;
        digits_lost(value.as_str()?, types)
    }

    /// Keys that the schema does not declare are admitted, but where something else is wrong they may be the reason.
    fn undeclared(&mut self) {
        for key in undeclared_keys(self.core, self.parameters).take(PROBLEMS) {
            self.no_such(&[], key);
        }
    }

    /// No property of this name is declared at `parent`.
    fn no_such(&mut self, parent: &[PathSegment], key: &str) {
        let view = self.view(parent);
        let near = closest(key, view.declared().map(String::as_str));
        let message = match near.first() {
            Some(near) => format!("there is no such parameter; did you mean '{near}'?"),
            None => "there is no such parameter".to_owned(),
        };
        let mut path = parent.to_vec();
        path.push(PathSegment::Key(key.to_owned()));
        self.push(&path, message);
    }

    /// None of several alternatives holds: what is wrong with the only one that is of the right kind, or all of them.
    fn union(
        &mut self,
        path: &[PathSegment],
        value: &Value,
        context: &[Vec<ValidationError<'static>>],
        unions: usize,
    ) {
        let mut near = context.iter().filter(|errors| {
            !errors.iter().any(|error| {
                let wrong_kind = matches!(
                    error.kind(),
                    Kind::Type { .. }
                        | Kind::Enum { .. }
                        | Kind::Constant { .. }
                        | Kind::FalseSchema
                );
                let depth = steps(error).count();
                wrong_kind && (depth == path.len() || is_tag(error, depth, path.len()))
            })
        });
        if let (Some(errors), None, Some(unions)) =
            (near.next(), near.next(), unions.checked_sub(1))
        {
            for error in errors {
                self.add(error, unions);
            }
            return;
        }
        let view = self.view(path);
        if let Some((tag, expected)) = wrong_tag(&view, value, context, path.len()) {
            let mut path = path.to_vec();
            path.push(PathSegment::Key(tag.clone()));
            let message = match value.get(tag) {
                Some(written) => format!("expected {expected}, got {}", got(written)),
                None => format!("expected {expected}, but it is missing"),
            };
            self.push(&path, message);
            return;
        }
        let expected = expected(&view).unwrap_or_else(|| "another form".to_owned());
        let only_values = view.options().is_some();
        let message = if view.types().meets(Types::of(value)) && !only_values {
            format!(
                "fits none of the admitted forms of {expected}, got {}",
                got(value)
            )
        } else {
            format!("expected {expected}, got {}", got(value))
        };
        self.push(path, message);
    }

    fn push(&mut self, path: &[PathSegment], message: String) {
        let pointer = if path.is_empty() {
            "root".to_owned()
        } else {
            let names = path.iter().map(|step| match step {
                PathSegment::Key(key) => key.clone(),
                PathSegment::Index(index) => index.to_string(),
            });
            names.collect::<Vec<_>>().join(".")
        };
        self.found
            .push((self.order(path), Problem { pointer, message }));
    }

    fn view(&self, path: &[PathSegment]) -> View<'a> {
        path.iter()
            .fold(self.root.clone(), |view, step| match step {
                PathSegment::Key(key) => view.property(key),
                PathSegment::Index(index) => view.item(*index),
            })
    }

    /// The order of a path: declared properties in the order of the schema, then others in the order given.
    fn order(&self, path: &[PathSegment]) -> Vec<usize> {
        let mut order = Vec::with_capacity(path.len());
        let mut view = self.root.clone();
        let mut value = Some(self.parameters);
        for step in path {
            match step {
                PathSegment::Key(key) => {
                    let declared = view.declared().position(|name| name == key);
                    let map = value.and_then(Value::as_object);
                    let given = map.and_then(|map| map.keys().position(|name| name == key));
                    let after = view.declared().count();
                    order.push(declared.unwrap_or(after + given.unwrap_or_default()));
                    view = view.property(key);
                    value = map.and_then(|map| map.get(key));
                }
                PathSegment::Index(index) => {
                    order.push(*index);
                    view = view.item(*index);
                    value = value.and_then(|value| value.get(index));
                }
            }
        }
        order
    }
}

/// The property by which the forms of a union of objects differ, and its possible values, if it has none of them.
fn wrong_tag<'a>(
    view: &View<'a>,
    value: &Value,
    context: &[Vec<ValidationError<'static>>],
    union: usize,
) -> Option<(&'a String, String)> {
    let value = value.as_object()?;
    let each_requires = |tag: &str| {
        let requires = |error: &ValidationError<'_>| {
            let here = steps(error).count() == union;
            here && matches!(error.kind(), Kind::Required { property } if property == tag)
        };
        context.iter().all(|errors| errors.iter().any(requires))
    };
    view.declared().take(TAGS).find_map(|tag| {
        let place = view.property(tag);
        let options = place.options().filter(|_| !place.is_open())?;
        let wrong = match value.get(tag) {
            Some(written) => !options.contains(&written),
            None => each_requires(tag),
        };
        wrong.then(|| Some((tag, expected(&place)?)))?
    })
}

/// Returns `true` if an error says that a tag, a constant directly below the union, is another one.
fn is_tag(error: &ValidationError<'_>, depth: usize, union: usize) -> bool {
    depth == union + 1 && matches!(error.kind(), Kind::Constant { .. })
}

fn steps<'a>(error: &'a ValidationError<'_>) -> impl Iterator<Item = PathSegment> + 'a {
    error
        .instance_path()
        .segments()
        .map(|segment| match segment {
            LocationSegment::Property(key) => PathSegment::Key(key.into_owned()),
            LocationSegment::Index(index) => PathSegment::Index(index),
        })
}
