//! Methods that `#[gadgets]` makes gadgets of, gadgets that block, and arguments that are misspelt.

#![deny(missing_docs, unreachable_pub, unused, clippy::pedantic)]

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use gadgetry::schemars::JsonSchema;
use gadgetry::serde::Deserialize;
use gadgetry::{
    Agent, ExecutionContext, GadgetError, GadgetInfo, gadget, gadgets, typed,
    validate_gadget_params,
};
use gadgetry_testing::{EventLog, MockModel, call, reply};
use serde_json::{Value, json};

#[derive(Default)]
struct Phonebook {
    entries: Mutex<Vec<(String, String)>>,
}

#[gadgets]
impl Phonebook {
    /// How many entries there may be.
    const MOST: usize = 2;

    /// Adds a telephone number
    fn add(
        &self,
        /// Whose
        name: String,
        number: String,
    ) -> Result<(), &'static str> {
        let mut entries = self.entries.lock().map_err(|_| "the book is closed")?;
        if entries.len() == Self::MOST {
            return Err("the book is full");
        }
        entries.push((name, number));
        Ok(())
    }

    /// Finds a telephone number
    #[gadget(name = "Lookup", timeout = "10s", max_concurrent = 2)]
    async fn find(&self, name: String, context: &ExecutionContext) -> Result<String, GadgetError> {
        tokio::task::yield_now().await;
        context.report_cost(0.25)?;
        let entries = self.entries.lock().map_err(|_| "the book is closed")?;
        let entry = entries.iter().find(|(other, _)| *other == name);
        Ok(entry.ok_or("there is no such entry")?.1.clone())
    }

    /// Counts the entries
    #[gadget(blocking)]
    fn count(&self) -> usize {
        self.entries.lock().map_or(0, |entries| entries.len())
    }
}

#[tokio::test]
async fn methods_share_the_value() {
    let book = Arc::new(Phonebook::default());
    let add = |id: &str, name: &str| {
        call("Add")
            .id(id)
            .arg("name", name)
            .arg("number", "555-0100")
    };
    let model = MockModel::in_order([
        reply().call(add("a", "Ada")),
        reply().calls([
            call("Lookup").id("f").arg("name", "Ada"),
            call("Lookup").id("g").arg("name", "Eve"),
            call("Count").id("c"),
        ]),
        reply().text("Done."),
    ]);
    let log = EventLog::default();
    let agent = Agent::builder()
        .model(model)
        .gadgets(book.gadgets())
        .observer(log.clone());
    let finished = agent.build().unwrap().ask("Try them").await.unwrap();
    assert_eq!(log.expect_result("f"), "555-0100");
    assert_eq!(log.expect_error("g"), "there is no such entry");
    assert_eq!(log.expect_result("c"), "1");
    assert!((finished.summary.known_cost - 0.5).abs() < 1e-9);
    assert_eq!(book.entries.lock().unwrap().len(), 1);

    let gadgets = book.gadgets();
    let names: Vec<&str> = gadgets
        .iter()
        .map(|gadget| gadget.spec().name.as_str())
        .collect();
    assert_eq!(names, ["Add", "Lookup", "Count"]);
    let spec = gadgets[1].spec();
    assert_eq!(spec.description, "Finds a telephone number");
    assert_eq!(
        (spec.timeout_ms, spec.max_concurrent),
        (Some(10_000), Some(2))
    );
    assert_eq!(
        gadgets[0].spec().parameters["properties"]["name"]["description"],
        "Whose"
    );
}

/// Waits for the receiver in the mutex, on its thread.
struct Slow(Mutex<Receiver<()>>);

#[gadgets]
impl Slow {
    /// Blocks
    #[gadget(blocking, timeout = "100ms")]
    fn block(&self) -> &'static str {
        let receiver = self.0.lock().expect("no thread has panicked with it");
        receiver.recv().expect("the test releases it");
        "late"
    }

    /// Panics
    #[gadget(blocking)]
    fn fall(&self) {
        let _ = &self.0;
        panic!("no floor");
    }
}

#[tokio::test]
async fn a_gadget_that_blocks_is_answered_in_time() {
    let (release, receiver) = channel();
    let slow = Arc::new(Slow(Mutex::new(receiver)));
    let model = MockModel::in_order([
        reply().calls([call("Block").id("b"), call("Fall").id("f")]),
        reply().text("Done."),
    ]);
    let log = EventLog::default();
    let agent = Agent::builder()
        .model(model)
        .gadgets(slow.gadgets())
        .observer(log.clone());
    agent.build().unwrap().ask("Try it").await.unwrap();
    assert!(log.expect_error("b").contains("exceeded timeout of 100ms"));
    assert_eq!(log.expect_error("f"), "Fall panicked: no floor");
    // Only now does the thread go on.
    release.send(()).unwrap();
}

/// Get weather for a city
#[gadget]
fn weather(city: String, units: Option<String>, #[gadget(default = 3)] days: u32) -> String {
    format!("{city} {units:?} {days}")
}

/// Has other names, which the schema does not know
#[gadget]
fn renamed(#[serde(alias = "town")] city: Option<String>) -> String {
    city.unwrap_or_default()
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "gadgetry::serde")]
#[schemars(crate = "gadgetry::schemars")]
struct More {
    a: u8,
}

/// Has arguments in another struct
#[gadget]
fn flat(#[serde(flatten)] more: More) -> u8 {
    more.a
}

#[test]
fn a_misspelt_argument_is_refused() {
    fn check(refused: Result<Value, gadgetry::gadget::InvalidParams>, expected: &str) {
        let text = refused.map_or_else(|error| error.to_string(), |params| params.to_string());
        assert!(text.contains(expected), "{text}");
    }
    let weather = |params| validate_gadget_params(Weather, params);
    check(
        weather(json!({ "city": "Paris", "unit": "F" })),
        "unit: there is no such parameter; did you mean 'units'?",
    );
    check(
        weather(json!({ "city": "Paris", "day": 4 })),
        "day: there is no such parameter; did you mean 'days'?",
    );
    check(
        weather(json!({ "city": "Paris" })),
        r#"{"city":"Paris","days":3}"#,
    );
    check(
        validate_gadget_params(Renamed, json!({ "town": "Paris" })),
        "Paris",
    );
    check(
        validate_gadget_params(Flat, json!({ "a": 1 })),
        r#"{"a":1}"#,
    );
}

#[tokio::test]
async fn a_typed_closure_captures_what_it_needs() {
    let book = Arc::new(Phonebook::default());
    book.entries
        .lock()
        .unwrap()
        .push(("a".to_owned(), "555".to_owned()));
    let owned = Arc::clone(&book);
    let find = typed(GadgetInfo::new("Find", "Finds"), move |more: More, _| {
        let book = Arc::clone(&owned);
        async move {
            let entries = book.entries.lock().map_err(|_| "closed")?;
            Ok(entries
                .get(usize::from(more.a))
                .ok_or("no such entry")?
                .1
                .clone())
        }
    });
    let model = MockModel::in_order([
        reply().calls([
            call("Find").id("f").arg("a", 0),
            call("Find").id("g").arg("a", 7),
            call("Find").id("h").arg("a", "x"),
            call("Weather").id("w").arg("city", "Oslo"),
        ]),
        reply().text("Done."),
    ]);
    let log = EventLog::default();
    let agent = Agent::builder()
        .model(model)
        .gadgets((find, Weather))
        .observer(log.clone());
    agent.build().unwrap().ask("Try it").await.unwrap();
    assert_eq!(log.expect_result("f"), "555");
    assert_eq!(log.expect_error("g"), "no such entry");
    assert!(log.expect_error("h").contains("a: "));
    assert_eq!(log.expect_result("w"), "Oslo None 3");
    assert_eq!(weather("Rome".to_owned(), None, 1), "Rome None 1");
}
