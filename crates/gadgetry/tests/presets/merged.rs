//! Several observers as one.

use std::sync::Mutex;

use gadgetry::Observer;
use gadgetry::presets::{Merged, Shared, Silent, merge};
use gadgetry::proto::event::Event;
use gadgetry::proto::message::Request;
use gadgetry::proto::run::Input;
use gadgetry::proto::time::Time;
use serde_json::json;

use super::support::{events, watch};

/// Tells what it was told.
struct Echo<'a>(&'static str, &'a Mutex<Vec<String>>);

impl Echo<'_> {
    fn say(&self, what: &str) {
        self.1.lock().unwrap().push(format!("{} {what}", self.0));
    }
}

impl Observer for Echo<'_> {
    fn event(&mut self, event: &Event) {
        self.say(&format!("event {}", event.seq));
    }

    fn input(&mut self, time: Time, _: &Input) {
        self.say(&format!("input {}", time.0));
    }

    fn request(&mut self, request: &Request) {
        self.say(&format!("request {}", request.iteration));
    }
}

#[test]
fn merged_observers_are_called_in_order() {
    let told = Mutex::new(Vec::new());
    let events = events(&[json!({ "type": "iteration_end", "iteration": 1 })]);
    let shared = Shared::new(Echo("c", &told));
    let mut merged = merge(vec![
        Box::new(Echo("a", &told)),
        Box::new(Silent),
        Box::new(Merged::default()),
    ])
    .and(|event: &Event| Echo("b", &told).say(&format!("closure {}", event.seq)))
    .and(shared.clone());
    watch(&mut merged, &events);
    merged.input(Time(7), &Input::Tick);
    merged.request(&Request::default());
    shared.with(|echo| echo.0 = "d");
    watch(&mut merged, &events);
    drop(merged);
    assert_eq!(
        *told.lock().unwrap(),
        [
            "a event 0",
            "b closure 0",
            "c event 0",
            "a input 7",
            "c input 7",
            "a request 0",
            "c request 0",
            "a event 0",
            "b closure 0",
            "d event 0",
        ]
    );
}

#[test]
fn an_observer_that_panics_is_switched_off_and_the_others_continue() {
    let told = Mutex::new(Vec::new());
    let mut panics = 0;
    let end = json!({ "type": "iteration_end", "iteration": 1 });
    let events = events(&[end.clone(), end]);
    let mut merged = merge(vec![
        Box::new(|_: &Event| {
            panics += 1;
            panic!("first")
        }),
        Box::new(Echo("a", &told)),
        Box::new(|_: &Event| panic!("second")),
        Box::new(Echo("b", &told)),
    ]);
    watch(&mut merged, &events);
    drop(merged);
    assert_eq!(panics, 1);
    let all = ["a event 0", "b event 0", "a event 1", "b event 1"];
    assert_eq!(*told.lock().unwrap(), all);
}
