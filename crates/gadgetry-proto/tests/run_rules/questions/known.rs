//! What a question says of its call's parameters, and what the events say.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test is about a few variants of many"
)]

use std::sync::{Arc, Mutex};

use gadgetry_proto::event::EventKind;
use gadgetry_proto::run::{AboutCall, Asks, Decision, Interceptor, Output, QuestionKind};
use serde_json::{Value, json};

use crate::support::sim::play;
use crate::support::sim::script::{Behaviour, Script, block, gadget};

/// Makes every `n` one more, and remembers what it was told about calls.
#[derive(Default)]
struct More(Mutex<Vec<String>>);

impl More {
    fn saw(&self, when: &str, call: &AboutCall) {
        let line = format!("{when} {} {}", call.invocation_id, call.parameters);
        self.0.lock().expect("nobody has panicked").push(line);
    }
}

impl Interceptor for More {
    fn parameters(&self, call: &AboutCall, mut parameters: Value) -> Value {
        self.saw("before", call);
        parameters["n"] = json!(parameters["n"].as_u64().unwrap_or_default() + 1);
        parameters
    }

    fn result(&self, call: &AboutCall, text: String) -> String {
        self.saw("told", call);
        text
    }
}

/// Every call, question and start with the parameters that it names.
fn check(script: Script, expected: &[&str]) {
    let more = Arc::new(More::default());
    let interceptor: Arc<dyn Interceptor> = more.clone();
    let script = script.with_code(|code| code.interceptors = vec![interceptor]);
    let log = play(&script.with(|spec| {
        spec.asks = Asks {
            human: true,
            ..Asks::hooks()
        };
    }));
    let mut found: Vec<String> = Vec::new();
    for output in log.all() {
        let line = match output {
            Output::Start(start) => format!("start {} {}", start.invocation_id, start.parameters),
            Output::Event(event) => match &event.kind {
                EventKind::GadgetStart {
                    invocation_id,
                    parameters,
                    ..
                } => format!("event {invocation_id} {parameters}"),
                _ => continue,
            },
            Output::Ask(question) => {
                let (what, about) = match &question.kind {
                    QuestionKind::AfterGadget { about, .. } => ("after", about),
                    QuestionKind::DependencySkipped { about, .. } => ("skipped", about),
                    QuestionKind::Human { about, .. } => ("human", about),
                    _ => continue,
                };
                format!("{what} {} {}", about.invocation_id, about.parameters)
            }
            _ => continue,
        };
        found.push(line);
    }
    found.append(&mut more.0.lock().expect("nobody has panicked"));
    assert_eq!(found, expected);
}

/// A gadget whose `n` is 3 if nobody says otherwise.
fn counter(name: &str) -> Behaviour {
    gadget(name).takes_parameters(&json!({ "n": { "type": "integer", "default": 3 } }))
}

#[test]
fn a_call_has_the_parameters_that_went_to_its_gadget() {
    check(
        Script::default()
            .gadget(counter("Oracle").asks("Which?"))
            .reply(block("Oracle:a", &[])),
        &[
            r#"event a {"n":4}"#,
            r#"start a {"n":4}"#,
            r#"human a {"n":4}"#,
            r#"after a {"n":4}"#,
            r#"before a {"n":3}"#,
            r#"told a {"n":4}"#,
        ],
    );
}

#[test]
fn decided_parameters_are_the_last_word() {
    let script = Script::default()
        .gadget(counter("Bell"))
        .reply(block("Bell:a", &[]))
        .decides(|question| {
            let start = matches!(question, QuestionKind::BeforeGadget { .. });
            start.then(|| Decision::Parameters(json!({ "n": 9 })))
        });
    check(
        script,
        &[
            r#"event a {"n":9}"#,
            r#"start a {"n":9}"#,
            r#"after a {"n":9}"#,
            r#"before a {"n":3}"#,
            r#"told a {"n":9}"#,
        ],
    );
}

#[test]
fn a_call_that_never_starts_has_what_is_known() {
    // Denied when it was ready; skipped when it was completed; as written, because results are missing in it; refused.
    let script = Script::default()
        .gadget(counter("Bell"))
        .reply(
            block("Bell:a", &[])
                + &block("Bell:b:a", &[])
                + &block("Bell:c:a", &[("n", "${a}")])
                + &block("Bell:d", &[("n", "many")]),
        )
        .decides(|question| {
            let start = matches!(question, QuestionKind::BeforeGadget { .. });
            start.then(|| Decision::Deny("no".to_owned()))
        });
    check(
        script,
        &[
            r#"skipped b {"n":3}"#,
            r#"skipped c {"n":"${a}"}"#,
            r#"before a {"n":3}"#,
            r#"told a {"n":4}"#,
            r#"told b {"n":3}"#,
            r#"told c {"n":"${a}"}"#,
            r#"told d {"n":"many"}"#,
        ],
    );
}
