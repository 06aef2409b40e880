//! Gadget calls as a model would write them.

use gadgetry::proto::block::{Anchoring, Markers, Writer};
use gadgetry::proto::schema::Registry;
use serde_json::{Map, Value};

/// A call of `gadget`, without arguments and with the id that the reader gives it (`gadget_N`).
///
/// ```
/// use gadgetry_testing::{call, reply};
/// let cook = call("Cook").id("pie").after("shopping").arg("dish", "pie").arg("guests", 3);
/// assert_eq!(
///     reply().call(cook).written(),
///     "!!!GADGET_START:Cook:pie:shopping\n!!!ARG:dish\npie\n!!!ARG:guests\n3\n!!!GADGET_END\n",
/// );
/// ```
pub fn call(gadget: impl Into<String>) -> MockCall {
    MockCall {
        gadget: gadget.into(),
        id: None,
        dependencies: Vec::new(),
        arguments: Value::Object(Map::new()),
    }
}

/// A gadget call that a mock model writes, or that is part of a fixture. [`call`] starts one.
///
/// It is written by the engine's own [`Writer`], so every value is read back as it was given. For that the reader's
/// schema may matter: the text `42` is a number unless the schema says otherwise. Without a schema such a text makes the
/// whole call be written as JSON; give the mock its gadgets to have it written as the model would.
#[derive(Clone, Debug, PartialEq)]
pub struct MockCall {
    gadget: String,
    id: Option<String>,
    dependencies: Vec<String>,
    arguments: Value,
}

impl MockCall {
    /// Sets the invocation id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// One more call that must be done first.
    #[must_use]
    pub fn after(mut self, id: impl Into<String>) -> Self {
        self.dependencies.push(id.into());
        self
    }

    /// One argument, at a pointer as a block has it: `city`, `user/name`, `items/0`. A `/` in a name is written `~1`, and a
    /// `~` as `~0`. The same pointer again takes the place of the first.
    ///
    /// ```
    /// use gadgetry_testing::call;
    /// let view = call("View").arg("patterns/0/regex", "error").arg("patterns/0/before", 2);
    /// assert_eq!(view, call("View").args(serde_json::json!({
    ///     "patterns": [{ "regex": "error", "before": 2 }],
    /// })));
    /// ```
    ///
    /// # Panics
    ///
    /// If the pointer leads into a value that is not a container, or skips items of an array.
    #[track_caller]
    #[must_use]
    pub fn arg(mut self, pointer: impl AsRef<str>, value: impl Into<Value>) -> Self {
        let pointer = pointer.as_ref();
        let mut place = &mut self.arguments;
        for segment in pointer.split('/') {
            place = child(place, segment)
                .unwrap_or_else(|| panic!("the argument {pointer:?} has no place at {segment:?}"));
        }
        *place = value.into();
        self
    }

    /// Several arguments at once, in addition to those given before. A repeated name replaces the first.
    ///
    /// # Panics
    ///
    /// If they are not an object.
    #[track_caller]
    #[must_use]
    pub fn args(mut self, arguments: Value) -> Self {
        let Value::Object(more) = arguments else {
            panic!("the arguments of a call are an object, not {arguments}");
        };
        if let Value::Object(arguments) = &mut self.arguments {
            arguments.extend(more);
        }
        self
    }
}

/// The member or item of a container, which a `null` becomes.
fn child<'v>(container: &'v mut Value, segment: &str) -> Option<&'v mut Value> {
    let index = segment.parse::<usize>().ok();
    if container.is_null() {
        *container = match index {
            Some(_) => Value::Array(Vec::new()),
            None => Value::Object(serde_json::Map::new()),
        };
    }
    match container {
        Value::Object(members) => {
            let key = segment.replace("~1", "/").replace("~0", "~");
            Some(members.entry(key).or_insert(Value::Null))
        }
        Value::Array(items) => {
            let index = index.filter(|index| *index <= items.len())?;
            if index == items.len() {
                items.push(Value::Null);
            }
            items.get_mut(index)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Format of calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Format {
    pub(crate) markers: Markers,
    pub(crate) anchoring: Anchoring,
    /// Their schemas decide how values are written.
    pub(crate) registry: Registry,
}

impl Format {
    /// Appends the block of `call`. A call that cannot be written is a mistake of the test.
    pub(crate) fn write(&self, out: &mut String, call: &MockCall) {
        let writer = Writer {
            markers: &self.markers,
            anchoring: self.anchoring,
        };
        let schema = self.registry.get(&call.gadget);
        let schema = schema.map(gadgetry::proto::schema::RegisteredGadget::schema);
        let id = call.id.as_deref();
        let written = writer.write(
            out,
            &call.gadget,
            id,
            &call.dependencies,
            &call.arguments,
            schema,
        );
        if let Err(error) = written {
            panic!("the test wants a call that no model could write: {error}: {call:?}");
        }
    }
}
