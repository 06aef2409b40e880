//! Composing delta transforms: order, the flush cascade, saved state, and a fresh state per stream.

use std::sync::Arc;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::transform::DeltaTransform;
use gadgetry_proto::transform::TransformFactory;
use gadgetry_proto::transform::compose;
use serde_json::Value;
use serde_json::json;

/// Appends its mark to every text, and flushes `f` and its mark.
struct Appender(&'static str);

impl DeltaTransform for Appender {
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        let Delta::Text { delta: text, .. } = delta else {
            return out.push(delta);
        };
        out.push(Delta::text(text + self.0));
    }

    fn flush(&mut self, out: &mut Vec<Delta>) {
        out.push(Delta::text(format!("f{}", self.0)));
    }
}

/// Gives texts out in pairs.
#[derive(Default)]
struct Pairs(Option<String>);

impl DeltaTransform for Pairs {
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        let Delta::Text { delta: text, .. } = delta else {
            self.flush(out);
            return out.push(delta);
        };
        match self.0.take() {
            Some(first) => out.push(Delta::text(first + &text)),
            None => self.0 = Some(text),
        }
    }

    fn flush(&mut self, out: &mut Vec<Delta>) {
        out.extend(self.0.take().map(Delta::text));
    }

    fn save(&self) -> Value {
        json!(self.0)
    }

    fn load(&mut self, state: &Value) {
        self.0 = state.as_str().map(str::to_owned);
    }
}

/// Gives every delta that many times.
struct Times(usize);

impl DeltaTransform for Times {
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        out.extend(std::iter::repeat_n(delta, self.0));
    }

    fn flush(&mut self, _: &mut Vec<Delta>) {}
}

fn process(transform: &mut dyn DeltaTransform, text: &str) -> Vec<String> {
    let mut out = Vec::new();
    transform.process(Delta::text(text), &mut out);
    texts(out)
}

fn flush(transform: &mut dyn DeltaTransform) -> Vec<String> {
    let mut out = Vec::new();
    transform.flush(&mut out);
    texts(out)
}

fn texts(deltas: Vec<Delta>) -> Vec<String> {
    let text = |delta| {
        let Delta::Text { delta: text, .. } = delta else {
            panic!("no text: {delta:?}")
        };
        text
    };
    deltas.into_iter().map(text).collect()
}

#[test]
fn each_stage_reads_the_output_of_the_one_before() {
    let mut three = compose(vec![
        Box::new(Appender("1")),
        Box::new(Appender("2")),
        Box::new(Appender("3")),
    ]);
    assert_eq!(process(&mut three, "x"), ["x123"]);
    assert_eq!(flush(&mut three), ["f123", "f23", "f3"]);
}

#[test]
fn no_stage_changes_nothing() {
    let mut none = compose(Vec::new());
    assert_eq!(process(&mut none, "x"), ["x"]);
    assert!(flush(&mut none).is_empty());
}

#[test]
fn output_is_appended() {
    let mut out = vec![Delta::text("before")];
    compose(vec![Box::new(Appender("1"))]).process(Delta::text("x"), &mut out);
    assert_eq!(texts(out), ["before", "x1"]);
}

#[test]
fn a_stage_may_swallow_and_multiply() {
    let mut none = compose(vec![Box::new(Times(0)), Box::new(Appender("1"))]);
    assert!(process(&mut none, "x").is_empty());
    let mut many = compose(vec![Box::new(Times(500)), Box::new(Times(500))]);
    assert_eq!(process(&mut many, "x").len(), 250_000);
}

#[test]
fn compositions_nest() {
    let inner = compose(vec![Box::new(Appender("1")), Box::new(Appender("2"))]);
    let mut outer = compose(vec![Box::new(inner), Box::new(Appender("3"))]);
    assert_eq!(process(&mut outer, "x"), ["x123"]);
    assert_eq!(flush(&mut outer), ["f123", "f23", "f3"]);
}

#[test]
fn a_loaded_transform_continues_where_the_saved_one_was() {
    let pairs = || compose(vec![Box::new(Appender("!")), Box::new(Pairs::default())]);
    let mut first = pairs();
    assert!(process(&mut first, "a").is_empty());
    let saved = first.save();
    assert_eq!(saved, json!([null, "a!"]));

    let mut second = pairs();
    second.load(&saved);
    assert_eq!(process(&mut second, "b"), ["a!b!"]);
    assert_eq!(process(&mut first, "b"), ["a!b!"]);
    assert_eq!(second.save(), first.save());
}

#[test]
fn a_state_that_cannot_be_read_leaves_it_fresh() {
    for state in [json!(null), json!({"a": 1}), json!([]), json!([7, 7, 7])] {
        let mut pairs = compose(vec![Box::new(Pairs::default())]);
        pairs.load(&state);
        assert!(flush(&mut pairs).is_empty());
    }
}

#[test]
fn a_factory_gives_each_stream_its_own_state() {
    let factory: TransformFactory = Arc::new(|| Box::new(Pairs::default()));
    let (mut one, mut other) = (factory(), factory());
    assert!(process(one.as_mut(), "secret").is_empty());
    assert!(process(other.as_mut(), "a").is_empty());
    assert_eq!(process(other.as_mut(), "b"), ["ab"]);
    assert_eq!(flush(one.as_mut()), ["secret"]);
}
