//! Rules for a mock model, one after the other.

use std::panic::Location;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use gadgetry::ModelInfo;
use gadgetry::proto::block::{Anchoring, Markers};
use gadgetry::proto::message::Request;
use gadgetry::proto::schema::Registry;
use gadgetry::proto::usage::Price;

use crate::call::{Format, MockCall};
use crate::checker::RequestChecker;
use crate::matcher::{Matcher, any};
use crate::model::rule::{Replies, Rule, Then};
use crate::model::{MockModel, Record, Shared};
use crate::reply::{Reply, reply};

/// Collects the rules of a [`MockModel`]. The first rule that matches a request, and still answers, answers it.
///
/// ```
/// use gadgetry_testing::{MockModel, any, call};
/// let model = MockModel::builder()
///     .name("mock:small")
///     .when(|m| m.last_message_contains("weather"))
///     .once()
///     .replies_with_call(call("Fetch").id("users").arg("url", "/api/users"))
///     .when(any())
///     .replies_text("done")
///     .lenient() // for this example asks nothing
///     .build();
/// assert_eq!(model.call_count(), 0);
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct MockModelBuilder {
    name: Arc<str>,
    info: ModelInfo,
    rules: Vec<Rule>,
    format: Format,
    strict: bool,
    silent: bool,
    checker: Option<RequestChecker>,
}

impl MockModel {
    /// Begins a model without rules.
    pub fn builder() -> MockModelBuilder {
        MockModelBuilder::new()
    }

    /// A model that answers any request with the next of `replies`: exactly as many as there are.
    ///
    /// ```
    /// use gadgetry_testing::{MockModel, call, reply};
    /// let model = MockModel::in_order([reply().call(call("Ping")), reply().text("done")]);
    /// # model.check().unwrap_err();
    /// ```
    #[track_caller]
    pub fn in_order<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let rule = Self::builder().when(any());
        rule.replies_in_order(replies).build()
    }
}

impl MockModelBuilder {
    fn new() -> Self {
        Self {
            name: Arc::from("mock"),
            info: ModelInfo::default(),
            rules: Vec::new(),
            format: Format::default(),
            strict: true,
            silent: false,
            checker: Some(RequestChecker::default()),
        }
    }

    /// Sets the name; `mock` by default.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the metadata; nothing by default.
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    /// Sets the context window in tokens.
    pub fn context_window(mut self, tokens: u64) -> Self {
        self.info.context_window = Some(tokens);
        self
    }

    /// Sets the price.
    pub fn price(mut self, price: Price) -> Self {
        self.info.price = Some(price);
        self
    }

    /// The markers of the calls that it writes; they are those of the run.
    pub fn markers(mut self, markers: Markers) -> Self {
        self.format.markers = markers;
        self
    }

    /// Sets where the run takes a marker for one.
    pub fn anchoring(mut self, anchoring: Anchoring) -> Self {
        self.format.anchoring = anchoring;
        self
    }

    /// The gadgets of the run. Their schemas say how values are written; see [`MockCall`].
    pub fn gadgets(mut self, registry: &Registry) -> Self {
        self.format.registry = registry.clone();
        self
    }

    /// A model that is dropped without [`verify`](MockModel::verify) does not panic: for a caller whose language has no panics, and that
    /// reports what [`check`](MockModel::check) returns.
    ///
    /// ```
    /// use gadgetry::Model;
    /// let model = gadgetry_testing::MockModel::builder().silent().build();
    /// drop(model.stream(serde_json::from_str(r#"{"messages": [], "iteration": 1}"#).unwrap()));
    /// ```
    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }

    /// A request that no rule matches gets an empty reply that ends cleanly, and rules may remain unused.
    pub fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    /// Checks every request with `checker` in place of the default one.
    pub fn checker(mut self, checker: RequestChecker) -> Self {
        self.checker = Some(checker);
        self
    }

    /// Checks no request.
    pub fn unchecked(mut self) -> Self {
        self.checker = None;
        self
    }

    /// Begins a rule for the requests that match.
    #[track_caller]
    pub fn when(self, build: impl FnOnce(Matcher) -> Matcher) -> RuleBuilder {
        RuleBuilder {
            builder: self,
            matcher: build(Matcher::default()),
            written_at: Location::caller(),
            label: None,
            times: None,
            optional: false,
        }
    }

    /// The model.
    pub fn build(self) -> MockModel {
        MockModel {
            name: Arc::clone(&self.name),
            shared: Arc::new(Shared {
                name: self.name,
                info: self.info,
                rules: self.rules,
                format: self.format,
                strict: self.strict,
                silent: self.silent,
                checker: self.checker,
                record: Mutex::new(Record::default()),
            }),
        }
    }
}

/// A rule whose reply is not yet known.
#[derive(Debug)]
#[must_use = "a rule without a reply does nothing"]
pub struct RuleBuilder {
    builder: MockModelBuilder,
    matcher: Matcher,
    written_at: &'static Location<'static>,
    label: Option<String>,
    times: Option<usize>,
    optional: bool,
}

impl RuleBuilder {
    /// Answers one request and no more.
    pub fn once(self) -> Self {
        self.times(1)
    }

    /// Answers this many requests; then it no longer matches, and fewer are a fault.
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// Lets the rule remain unused.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Sets the name in reports.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Answers with `reply`: a [`Reply`], a text or a call.
    pub fn replies(self, reply: impl Into<Reply>) -> MockModelBuilder {
        self.finish(Replies::Same(Box::new(reply.into())))
    }

    /// Answers with a text.
    pub fn replies_text(self, text: impl Into<String>) -> MockModelBuilder {
        self.replies(reply().text(text))
    }

    /// Answers with a gadget call.
    pub fn replies_with_call(self, call: MockCall) -> MockModelBuilder {
        self.replies(call)
    }

    /// Answers with gadget calls, one after the other in one reply.
    pub fn replies_with_calls(self, calls: impl IntoIterator<Item = MockCall>) -> MockModelBuilder {
        self.replies(reply().calls(calls))
    }

    /// Answers each request with the next of `replies`, and no more than there are.
    pub fn replies_in_order<R: Into<Reply>>(
        self,
        replies: impl IntoIterator<Item = R>,
    ) -> MockModelBuilder {
        self.replies_in_order_then(replies, Then::Refuse)
    }

    /// Answers each request with the next of `replies`, and continues as `then` says.
    pub fn replies_in_order_then<R: Into<Reply>>(
        self,
        replies: impl IntoIterator<Item = R>,
        then: Then,
    ) -> MockModelBuilder {
        let replies = replies.into_iter().map(Into::into).collect();
        self.finish(Replies::InOrder(replies, then))
    }

    /// Answers each request with what `make` makes of it.
    pub fn replies_by<R: Into<Reply>>(
        self,
        make: impl Fn(&Request) -> R + Send + Sync + 'static,
    ) -> MockModelBuilder {
        self.finish(Replies::By(Box::new(move |request| make(request).into())))
    }

    /// Answers with an error of the model in these words.
    pub fn fails(self, error: impl Into<String>) -> MockModelBuilder {
        self.replies(reply().fails(error))
    }

    fn finish(self, replies: Replies) -> MockModelBuilder {
        let mut builder = self.builder;
        builder.rules.push(Rule {
            number: builder.rules.len() + 1,
            label: self.label,
            written_at: self.written_at,
            matcher: self.matcher,
            times: self.times,
            optional: self.optional,
            replies,
            used: AtomicUsize::new(0),
        });
        builder
    }
}
