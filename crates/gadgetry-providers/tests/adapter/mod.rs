//! Any client as a model: the steps of an adapter, its custom blocks and transforms, and what a run sees of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test names what it looks at"
)]

mod blocks;
mod replies;
mod tag_parser;
mod vectors;

use futures_util::future::ready;
use futures_util::stream;
use gadgetry_proto::delta::Delta;
use gadgetry_providers::adapter::{Adapter, AdapterBuilder, AdapterError, Complete};

type Deltas = Vec<Delta>;

/// A client that streams these deltas, one a chunk.
fn streaming(deltas: Deltas) -> AdapterBuilder<Complete> {
    Adapter::builder("m")
        .prepare_input(|_| ())
        .execute_stream(move |()| stream::iter(deltas.clone()).map(Ok::<_, AdapterError>))
        .map_chunk(|chunk| [chunk])
}

/// A client that gives the same deltas at once.
fn whole(deltas: Deltas) -> AdapterBuilder<Complete> {
    Adapter::builder("m")
        .prepare_input(|_| ())
        .execute(move |()| ready(Ok::<_, AdapterError>(deltas.clone())))
        .map_output(|output| output)
}

use futures_util::StreamExt as _;
