//! The builder of an adapter, whose type says which step is next.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::transform::DeltaTransform;
use serde_json::Value;

use crate::adapter::merge::deep_merge;
use crate::adapter::reply::{AdapterReply, Map as MapChunk};
use crate::adapter::{
    About, Adapter, AdapterError, AdapterMetadata, AdapterRequest, Inner, ReplyFn,
};
use crate::model::ModelInfo;

type Prepare<I> = Arc<dyn Fn(&AdapterRequest) -> I + Send + Sync>;
type Execute<I, C> = Arc<dyn Fn(I) -> BoxStream<'static, Result<C, AdapterError>> + Send + Sync>;

/// The builder of an [`Adapter`]; `S` is the next step. The other options can be set between any steps.
#[must_use = "`build` makes an adapter of it"]
pub struct AdapterBuilder<S> {
    about: About,
    step: S,
}

/// Next is [`AdapterBuilder::prepare_input`].
pub struct NeedsInput(());

/// Next is [`AdapterBuilder::execute_stream`] or [`AdapterBuilder::execute`].
pub struct NeedsClient<I>(Prepare<I>);

/// Next is [`AdapterBuilder::map_chunk`].
pub struct NeedsMapping<I, C>(Prepare<I>, Execute<I, C>);

/// Next is [`AdapterBuilder::map_output`].
pub struct NeedsOutput<I, O>(Prepare<I>, Execute<I, O>);

/// Next is [`AdapterBuilder::build`].
pub struct Complete(ReplyFn);

impl Adapter {
    /// A builder of an adapter with this name.
    pub fn builder(id: impl Into<String>) -> AdapterBuilder<NeedsInput> {
        AdapterBuilder::new(id.into())
    }
}

impl AdapterBuilder<NeedsInput> {
    fn new(id: String) -> Self {
        let metadata = AdapterMetadata {
            id,
            ..AdapterMetadata::default()
        };
        let about = About {
            metadata,
            ..About::default()
        };
        Self {
            about,
            step: NeedsInput(()),
        }
    }

    /// Sets how a request becomes the input of the client.
    ///
    /// [`prompt_text`](gadgetry_proto::convo::prompt_text) gives a message as the text that a model reads.
    pub fn prepare_input<I: Send + 'static>(
        self,
        prepare: impl Fn(&AdapterRequest) -> I + Send + Sync + 'static,
    ) -> AdapterBuilder<NeedsClient<I>> {
        AdapterBuilder {
            about: self.about,
            step: NeedsClient(Arc::new(prepare)),
        }
    }
}

impl<I: Send + 'static> AdapterBuilder<NeedsClient<I>> {
    /// Sets how a streaming client is called. Dropping the stream must cancel the reply.
    ///
    /// A client whose stream has to be awaited first is flattened with `futures::TryFutureExt::try_flatten_stream`.
    pub fn execute_stream<C, E, T>(
        self,
        execute: impl Fn(I) -> T + Send + Sync + 'static,
    ) -> AdapterBuilder<NeedsMapping<I, C>>
    where
        C: Send + 'static,
        E: Into<AdapterError>,
        T: Stream<Item = Result<C, E>> + Send + 'static,
    {
        let execute = move |input| {
            let chunks = execute(input);
            chunks.map(|chunk| chunk.map_err(Into::into)).boxed()
        };
        AdapterBuilder {
            about: self.about,
            step: NeedsMapping(self.step.0, Arc::new(execute)),
        }
    }

    /// Sets how a client that answers as a whole is called. Dropping the future must cancel the reply.
    pub fn execute<O, E, T>(
        self,
        execute: impl Fn(I) -> T + Send + Sync + 'static,
    ) -> AdapterBuilder<NeedsOutput<I, O>>
    where
        O: Send + 'static,
        E: Into<AdapterError>,
        T: Future<Output = Result<O, E>> + Send + 'static,
    {
        let execute = move |input| {
            let output = execute(input);
            stream::once(output.map(|output| output.map_err(Into::into))).boxed()
        };
        AdapterBuilder {
            about: self.about,
            step: NeedsOutput(self.step.0, Arc::new(execute)),
        }
    }
}

impl<I: Send + 'static, C: Send + 'static> AdapterBuilder<NeedsMapping<I, C>> {
    /// Sets how a chunk becomes deltas. Nothing is read after a [`Delta::Error`].
    ///
    /// The end of the stream is the end of the reply, unless [`requires_end`](Self::requires_end) is set.
    pub fn map_chunk<D: IntoIterator<Item = Delta>>(
        self,
        map: impl Fn(C) -> D + Send + Sync + 'static,
    ) -> AdapterBuilder<Complete> {
        let NeedsMapping(prepare, execute) = self.step;
        AdapterBuilder {
            about: self.about,
            step: Complete(reply(prepare, execute, map)),
        }
    }
}

impl<I: Send + 'static, O: Send + 'static> AdapterBuilder<NeedsOutput<I, O>> {
    /// Sets how an answer becomes the deltas that a stream would have given.
    pub fn map_output<D: IntoIterator<Item = Delta>>(
        self,
        map: impl Fn(O) -> D + Send + Sync + 'static,
    ) -> AdapterBuilder<Complete> {
        let NeedsOutput(prepare, execute) = self.step;
        AdapterBuilder {
            about: self.about,
            step: Complete(reply(prepare, execute, map)),
        }
    }
}

impl AdapterBuilder<Complete> {
    /// Builds the adapter.
    pub fn build(self) -> Adapter {
        Adapter {
            inner: Arc::new(Inner {
                about: self.about,
                reply: self.step.0,
            }),
        }
    }
}

/// # Options of any step
impl<S> AdapterBuilder<S> {
    /// Sets what is known about the model: its context window, its price.
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.about.info = info;
        self
    }

    /// Sets the provider, for [`Adapter::metadata`].
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.about.metadata.provider = Some(provider.into());
        self
    }

    /// Adds a capability, for [`Adapter::metadata`].
    pub fn capability(mut self, capability: impl Into<String>) -> Self {
        self.about.metadata.capabilities.push(capability.into());
        self
    }

    /// Sets default options of requests, for [`AdapterRequest::options`]. [`Adapter::with_options`] overrides them.
    ///
    /// Non-object values are ignored.
    pub fn options(mut self, options: Value) -> Self {
        if let Value::Object(options) = options {
            deep_merge(&mut self.about.options, options);
        }
        self
    }

    /// Adds a custom block, whose tags are removed from the text of replies.
    pub fn custom_block(mut self, block: CustomBlock) -> Self {
        self.about.custom_blocks.push(block);
        self
    }

    /// Adds a transform of the deltas of each reply, after the custom blocks and earlier transforms.
    ///
    /// `make` makes a new one for each reply.
    pub fn transform<T: DeltaTransform + 'static>(
        mut self,
        make: impl Fn() -> T + Send + Sync + 'static,
    ) -> Self {
        let make = move || -> Box<dyn DeltaTransform> { Box::new(make()) };
        self.about.transforms.push(Arc::new(make));
        self
    }

    /// Requires that a reply ends with [`Delta::MessageEnd`]. Use it whenever the client reports the end.
    ///
    /// A stream that ends without one was then cut off, and nothing that may be incomplete is executed. Without this option
    /// only an error cuts a reply off.
    pub fn requires_end(mut self) -> Self {
        self.about.requires_end = true;
        self
    }
}

fn reply<I, C, D>(
    prepare: Prepare<I>,
    execute: Execute<I, C>,
    map: impl Fn(C) -> D + Send + Sync + 'static,
) -> ReplyFn
where
    I: Send + 'static,
    C: Send + 'static,
    D: IntoIterator<Item = Delta>,
{
    let map: MapChunk<C> =
        Arc::new(move |chunk, ready: &mut VecDeque<Delta>| ready.extend(map(chunk)));
    Arc::new(move |about, request| {
        let (prepare, execute, map) =
            (Arc::clone(&prepare), Arc::clone(&execute), Arc::clone(&map));
        let options = about.options.clone();
        let requires_end = about.requires_end;
        // The client is called when the stream is polled.
        let reply = async move {
            let input = prepare(&AdapterRequest { request, options });
            AdapterReply::new(execute(input), map, requires_end)
        };
        reply.flatten_stream().boxed()
    })
}
