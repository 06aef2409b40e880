//! Events of a reply as JSON, written straight from what the scanner lends.

use gadgetry::proto::block::{CallBlock, Header};
use gadgetry::proto::call::TerminatedBy;
use gadgetry::proto::error::Diagnostic;
use gadgetry::proto::id::BlockId;
use gadgetry::proto::message::Attributes;
use gadgetry::proto::piece::EndReason;
use gadgetry::proto::reply::Event;
use gadgetry::proto::schema::Schema;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// One event, with the names that `docs/cli.md` promises.
#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub(crate) enum Line<'a> {
    Text {
        text: &'a str,
    },
    GadgetCallStart {
        gadget_name: &'a str,
        invocation_id: &'a str,
        dependencies: Dependencies<'a>,
    },
    GadgetArgsPartial {
        invocation_id: &'a str,
        gadget_name: &'a str,
        field_path: &'a str,
        delta: &'a str,
        is_field_complete: bool,
    },
    GadgetCall {
        gadget_name: &'a str,
        invocation_id: &'a str,
        dependencies: Dependencies<'a>,
        parameters_raw: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        parameters: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parse_error: Option<String>,
        terminated_by: TerminatedBy,
    },
    CustomBlockStart {
        block_id: BlockId,
        tag: &'a str,
        attrs: &'a Attributes,
    },
    CustomBlockDelta {
        block_id: BlockId,
        tag: &'a str,
        delta: &'a str,
    },
    CustomBlockEnd {
        block_id: BlockId,
        tag: &'a str,
        reason: EndReason,
    },
    CustomBlock {
        block_id: BlockId,
        tag: &'a str,
        content: &'a str,
        attrs: &'a Attributes,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        self_closing: bool,
    },
    Diagnostic(&'a Diagnostic),
}

impl<'a> Line<'a> {
    /// The line of an event. A call's parameters are read by the schema that `schema` gives for it.
    pub(crate) fn of(
        event: &'a Event<'a>,
        schema: impl FnOnce(&str) -> Option<&'a Schema>,
    ) -> Self {
        match *event {
            Event::Text(text) => Self::Text { text },
            Event::CallStart(header) => Self::GadgetCallStart {
                gadget_name: header.gadget_name(),
                invocation_id: header.invocation_id(),
                dependencies: Dependencies(header),
            },
            Event::Argument {
                header,
                pointer,
                delta,
                complete,
            } => Self::GadgetArgsPartial {
                invocation_id: header.invocation_id(),
                gadget_name: header.gadget_name(),
                field_path: pointer,
                delta,
                is_field_complete: complete,
            },
            Event::Call(ref call) => Self::call(call, schema(call.header().gadget_name())),
            Event::TagStart {
                block,
                tag,
                attributes,
            } => Self::CustomBlockStart {
                block_id: block,
                tag,
                attrs: attributes,
            },
            Event::TagDelta { block, tag, delta } => Self::CustomBlockDelta {
                block_id: block,
                tag,
                delta,
            },
            Event::TagEnd { block, tag, reason } => Self::CustomBlockEnd {
                block_id: block,
                tag,
                reason,
            },
            Event::Tag {
                block,
                tag,
                content,
                attributes,
                self_closing,
                ..
            } => Self::CustomBlock {
                block_id: block,
                tag,
                content,
                attrs: attributes,
                self_closing,
            },
            Event::Diagnostic(ref diagnostic) => Self::Diagnostic(diagnostic),
        }
    }

    fn call(call: &CallBlock<'a>, schema: Option<&Schema>) -> Self {
        let header = call.header();
        let (parameters, parse_error) = match call.parameters(schema) {
            Ok(parameters) => (Some(parameters), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self::GadgetCall {
            gadget_name: header.gadget_name(),
            invocation_id: header.invocation_id(),
            dependencies: Dependencies(header),
            parameters_raw: call.raw(),
            parameters,
            parse_error,
            terminated_by: call.terminated_by(),
        }
    }

    /// Appends the event to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        // Writing text and JSON values to a vector does not fail.
        let _ = serde_json::to_writer(out, self);
    }
}

/// The dependencies in a header, as a list of ids.
pub(crate) struct Dependencies<'a>(&'a Header);

impl Serialize for Dependencies<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.dependencies())
    }
}
