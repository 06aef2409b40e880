//! Parses a line of a script.

use std::fmt;
use std::time::Duration;

use gadgetry_proto::schema::json_message;
use gadgetry_proto::usage::Usage;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};

use super::reply::{Finish, Piece, ScriptedReply};

/// Mistake in a line.
pub(super) struct Mistake {
    pub(super) column: usize,
    pub(super) message: String,
}

/// Reads the line with this number.
pub(super) fn parse(line: &str, number: usize) -> Result<ScriptedReply, Mistake> {
    let written: Line = serde_json::from_str(line).map_err(|error| Mistake {
        column: error.column().max(1),
        message: json_message(&error),
    })?;
    let pieces = match (written.text, written.chunks) {
        (Some(text), None) => vec![Piece::Text(text)],
        (None, Some(chunks)) => chunks.into_iter().map(|Chunk(piece)| piece).collect(),
        (None, None) => return Err(whole_line("a reply needs \"text\" or \"chunks\"")),
        (Some(_), Some(_)) => {
            return Err(whole_line(
                "a reply has \"text\" or \"chunks\", not both: remove one of them",
            ));
        }
    };
    Ok(ScriptedReply {
        line: number,
        pieces,
        finish: written.finish,
        usage: written.usage.map(Usage::from),
        contains: written.expect.map_or_else(Vec::new, |it| it.contains),
    })
}

fn whole_line(message: &str) -> Mistake {
    Mistake {
        column: 1,
        message: message.to_owned(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: Option<String>,
    chunks: Option<Vec<Chunk>>,
    #[serde(default)]
    finish: Finish,
    usage: Option<Counts>,
    expect: Option<Expect>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    contains: Vec<String>,
}

/// [`Usage`] that admits no other field.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[expect(
    clippy::struct_field_names,
    reason = "the names of the fields in the file"
)]
struct Counts {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
    reasoning_tokens: u64,
    cached_input_tokens: u64,
    cache_creation_tokens: u64,
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        Self::default()
            .input_tokens(counts.input_tokens)
            .output_tokens(counts.output_tokens)
            .total_tokens(counts.total_tokens)
            .reasoning_tokens(counts.reasoning_tokens)
            .cached_input_tokens(counts.cached_input_tokens)
            .cache_creation_tokens(counts.cache_creation_tokens)
    }
}

/// A text or a delay. Not an untagged enum, because the errors of one do not name the mistake.
struct Chunk(Piece);

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChunkVisitor)
    }
}

struct ChunkVisitor;

impl<'de> Visitor<'de> for ChunkVisitor {
    type Value = Chunk;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or {\"delayMs\": N}")
    }

    fn visit_str<E>(self, text: &str) -> Result<Chunk, E> {
        Ok(Chunk(Piece::Text(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Chunk, A::Error> {
        let delay = Delay::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Chunk(Piece::Delay(Duration::from_millis(delay.delay_ms))))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Delay {
    delay_ms: u64,
}
