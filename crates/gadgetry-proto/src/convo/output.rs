//! Results that are too long for the conversation: kept aside, and announced.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::convo::shape::Shape;
use crate::convo::viewer::{NAME, ViewRequest, view};

/// Characters that a result may have: the tokens of `percent` of the context window, at four characters a token.
/// Source: the specification of gadgets, "Calculation".
///
/// ```
/// use gadgetry_proto::convo::char_limit;
/// assert_eq!(char_limit(200_000, 15.0), 120_000);
/// ```
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "context windows are far below 2^52, and a float to integer cast saturates"
)]
pub fn char_limit(context_window_tokens: u64, percent: f64) -> usize {
    (context_window_tokens as f64 * percent * 4.0 / 100.0) as usize
}

/// Results that were too long, for the viewer. Ids come from a counter and the gadget's name, never from chance.
///
/// ```
/// use gadgetry_proto::convo::OutputStore;
/// let mut store = OutputStore::default();
/// assert_eq!(store.limit("Search", "short".into(), 5), "short");
/// let notice = store.limit("Search", "too long".into(), 5);
/// assert!(notice.starts_with("[Gadget \"Search\" returned too much data: 8 bytes, 1 line. Use "));
/// assert_eq!(store.outputs().len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OutputStore {
    outputs: Vec<StoredOutput>,
    counter: u64,
}

/// A result that was too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredOutput {
    /// The id, `Name_hhhhhhhh`.
    pub id: String,
    /// The name of the gadget.
    pub gadget_name: String,
    /// The whole result.
    pub content: Arc<str>,
}

impl OutputStore {
    /// `result` if it has at most `max_chars` characters. Otherwise it is stored, and the notice takes its place.
    #[must_use]
    pub fn limit(&mut self, gadget_name: &str, result: String, max_chars: usize) -> String {
        if fits(&result, max_chars) {
            return result;
        }
        let result = Arc::from(result);
        self.keep(gadget_name, &result, max_chars)
            .unwrap_or_default()
    }

    /// Stores `result` and gives the notice that takes its place; nothing if it has at most `max_chars` characters.
    pub fn keep(
        &mut self,
        gadget_name: &str,
        result: &Arc<str>,
        max_chars: usize,
    ) -> Option<String> {
        if fits(result, max_chars) {
            return None;
        }
        let shape = Shape::of(result);
        let id = self.insert(gadget_name, Arc::clone(result));
        Some(notice(gadget_name, id, &shape, max_chars))
    }

    /// Stores a result and gives its id.
    pub fn insert(&mut self, gadget_name: &str, content: impl Into<Arc<str>>) -> &str {
        let id = loop {
            let id = format!("{gadget_name}_{:08x}", hash(gadget_name, self.counter));
            self.counter += 1;
            if self.get(&id).is_none() {
                break id;
            }
        };
        let gadget_name = gadget_name.to_owned();
        self.outputs.push(StoredOutput {
            id,
            gadget_name,
            content: content.into(),
        });
        self.outputs.last().map_or("", |output| output.id.as_str())
    }

    /// The stored result with this id.
    pub fn get(&self, id: &str) -> Option<&StoredOutput> {
        self.outputs.iter().find(|output| output.id == id)
    }

    /// All stored results, oldest first.
    pub fn outputs(&self) -> &[StoredOutput] {
        &self.outputs
    }

    /// Returns a store without results, which gives the same ids to the next ones.
    #[must_use]
    pub fn without_outputs(&self) -> Self {
        Self {
            outputs: Vec::new(),
            counter: self.counter,
        }
    }

    /// Returns the part of a stored result that is requested, or an error text that names the latest ids.
    pub fn view(&self, id: &str, request: &ViewRequest, max_chars: usize) -> String {
        if let Some(output) = self.get(id.trim()) {
            return view(&output.content, request, max_chars);
        }
        let latest = &self.outputs[self.outputs.len().saturating_sub(NAMED_IDS)..];
        let ids: Vec<&str> = latest.iter().map(|output| output.id.as_str()).collect();
        let ids = if ids.is_empty() {
            "(none)".to_owned()
        } else {
            ids.join(", ")
        };
        let id: String = id.chars().take(100).collect();
        format!("Error: No stored output with id \"{id}\". Available IDs: {ids}")
    }
}

/// Maximum number of ids that an error text names.
const NAMED_IDS: usize = 50;

fn fits(text: &str, max_chars: usize) -> bool {
    text.len() <= max_chars || text.chars().nth(max_chars).is_none()
}

fn notice(gadget_name: &str, id: &str, shape: &Shape, max_chars: usize) -> String {
    let bytes = counted(shape.bytes, "byte");
    let lines = counted(shape.lines, "line");
    let tip = if shape.is_dense(max_chars) {
        format!(" {}", shape.tip(0))
    } else {
        String::new()
    };
    format!(
        "[Gadget \"{gadget_name}\" returned too much data: {bytes}, {lines}. \
         Use {NAME} with id \"{id}\" to read it]{tip}"
    )
}

/// `31,337 bytes`, `1 line`.
fn counted(count: usize, unit: &str) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 2 + unit.len());
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    let plural = if count == 1 { "" } else { "s" };
    out + " " + unit + plural
}

/// Eight hexadecimal digits' worth of the name (FNV-1a) and the counter (the finaliser of splitmix64).
fn hash(name: &str, counter: u64) -> u64 {
    let fnv = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut z = fnv.wrapping_add(counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 32
}
