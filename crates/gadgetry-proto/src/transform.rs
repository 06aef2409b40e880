//! Rewriting the deltas of a reply between the reply scanner and the accumulator.
//!
//! A [`DeltaTransform`] reads one delta and emits any number. Several become one with [`compose`]. A stream gets
//! its transforms from a [`TransformFactory`], so that no state of one reply can reach another.
//!
//! ```
//! use gadgetry_proto::delta::Delta;
//! use gadgetry_proto::transform::{DeltaTransform, compose};
//!
//! /// Holds text back until its line is complete.
//! #[derive(Default)]
//! struct Lines(String);
//!
//! impl DeltaTransform for Lines {
//!     fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
//!         let Delta::Text { delta: text, .. } = delta else {
//!             self.flush(out);
//!             return out.push(delta);
//!         };
//!         self.0.push_str(&text);
//!         if let Some(end) = self.0.rfind('\n') {
//!             let rest = self.0.split_off(end + 1);
//!             out.push(Delta::text(std::mem::replace(&mut self.0, rest)));
//!         }
//!     }
//!
//!     fn flush(&mut self, out: &mut Vec<Delta>) {
//!         if !self.0.is_empty() {
//!             out.push(Delta::text(std::mem::take(&mut self.0)));
//!         }
//!     }
//! }
//!
//! let mut lines = compose(vec![Box::new(Lines::default())]);
//! let mut out = Vec::new();
//! lines.process(Delta::text("a\nb"), &mut out);
//! lines.flush(&mut out);
//! assert_eq!(out, [Delta::text("a\n"), Delta::text("b")]);
//! ```

use std::fmt;
use std::mem;
use std::sync::Arc;

use serde_json::Value;

use crate::delta::Delta;

/// Makes the transforms of one stream. Every reply gets a fresh one.
pub type TransformFactory = Arc<dyn Fn() -> Box<dyn DeltaTransform> + Send + Sync>;

/// Rewrites the deltas of one reply.
///
/// It must be a pure function of what it was given: a replayed run calls it with the same deltas and expects the same
/// ones back. A transform that holds text back hands it out before any other delta that it passes on, or the order of
/// the reply changes.
pub trait DeltaTransform: Send {
    /// Takes one delta and appends what takes its place: itself, others, or nothing.
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>);

    /// The reply is over: appends whatever is still buffered. Called once, before the message ends.
    fn flush(&mut self, out: &mut Vec<Delta>);

    /// Returns the state between two deltas, for a run that is saved while a reply streams.
    ///
    /// A fresh transform of the same factory that has loaded this value continues exactly as this one would. The default
    /// is right for a transform that remembers nothing.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Takes over what [`save`](Self::save) gave. A value that it cannot read leaves it fresh.
    fn load(&mut self, state: &Value) {
        let _ = state;
    }
}

/// Several transforms as one: each reads what the one before it appends.
pub fn compose(stages: Vec<Box<dyn DeltaTransform>>) -> Compose {
    Compose {
        stages,
        ..Compose::default()
    }
}

/// Transforms in a row; without any, every delta passes unchanged. Made by [`compose`].
///
/// At the end, what a stage still holds goes through the stages after it before these append their own. Its saved
/// state is the list of its stages' states.
#[derive(Default)]
pub struct Compose {
    stages: Vec<Box<dyn DeltaTransform>>,
    /// Memory for deltas between two stages; empty between two calls.
    passing: Vec<Delta>,
    passed: Vec<Delta>,
}

impl Compose {
    /// Sends what the first `reached` stages passed on through the others.
    fn pass(&mut self, reached: usize, is_end: bool, out: &mut Vec<Delta>) {
        for stage in &mut self.stages[reached..] {
            for delta in self.passing.drain(..) {
                stage.process(delta, &mut self.passed);
            }
            if is_end {
                stage.flush(&mut self.passed);
            }
            mem::swap(&mut self.passing, &mut self.passed);
        }
        out.append(&mut self.passing);
    }
}

impl DeltaTransform for Compose {
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        // Of nothing, or of one transform, nothing lies between two stages.
        match self.stages.as_mut_slice() {
            [] => out.push(delta),
            [only] => only.process(delta, out),
            [first, ..] => {
                first.process(delta, &mut self.passing);
                self.pass(1, false, out);
            }
        }
    }

    fn flush(&mut self, out: &mut Vec<Delta>) {
        self.pass(0, true, out);
    }

    fn save(&self) -> Value {
        self.stages.iter().map(|stage| stage.save()).collect()
    }

    fn load(&mut self, state: &Value) {
        let states = state.as_array().map_or(&[][..], Vec::as_slice);
        for (stage, state) in self.stages.iter_mut().zip(states) {
            stage.load(state);
        }
    }
}

impl fmt::Debug for Compose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compose({} stages)", self.stages.len())
    }
}
