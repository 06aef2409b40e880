//! Events of a reply as JSON, written straight from what the scanner lends.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::ReplyEvent;
use crate::block::{BlockHeader, CallBlock};
use crate::call::TerminatedBy;
use crate::error::{DiagnosticCode, Span};
use crate::id::BlockId;
use crate::message::Attributes;
use crate::piece::EndReason;
use crate::schema::Schema;

impl ReplyEvent<'_> {
    /// Appends the event to `out` as one JSON object without a line break, as `gadgetry parse` prints it: with a `type` in snake
    /// case, fields in camel case, and a call's parameters if `schema` admits them. `docs/cli.md` lists all fields.
    ///
    /// ```
    /// use gadgetry_proto::reply::{Format, Scanner};
    ///
    /// let mut scanner = Scanner::new(&Format::default())?;
    /// let mut json = Vec::new();
    /// scanner.push("Hello!", &mut |event| event.write_json(None, &mut json));
    /// scanner.finish(&mut |event| event.write_json(None, &mut json));
    /// assert_eq!(json, br#"{"type":"text","text":"Hello!"}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_json(&self, schema: Option<&Schema>, out: &mut Vec<u8>) {
        // Writing text and JSON values to a vector does not fail.
        let _ = serde_json::to_writer(out, &EventLine::of(self, schema));
    }
}

/// One event, with the names that `docs/cli.md` promises.
#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
enum EventLine<'a> {
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
    Diagnostic {
        code: DiagnosticCode,
        message: &'a str,
        span: Span,
    },
}

impl<'a> EventLine<'a> {
    fn of(event: &'a ReplyEvent<'a>, schema: Option<&Schema>) -> Self {
        match *event {
            ReplyEvent::Text(text) => Self::Text { text },
            ReplyEvent::CallStart(header) => Self::GadgetCallStart {
                gadget_name: header.gadget_name(),
                invocation_id: header.invocation_id(),
                dependencies: Dependencies(header),
            },
            ReplyEvent::Argument {
                header,
                pointer,
                delta,
                complete,
                begins: _,
            } => Self::GadgetArgsPartial {
                invocation_id: header.invocation_id(),
                gadget_name: header.gadget_name(),
                field_path: pointer,
                delta,
                is_field_complete: complete,
            },
            ReplyEvent::Call(ref call) => Self::call(call, schema),
            ReplyEvent::TagStart {
                block,
                tag,
                attributes,
            } => Self::CustomBlockStart {
                block_id: block,
                tag,
                attrs: attributes,
            },
            ReplyEvent::TagDelta { block, tag, delta } => Self::CustomBlockDelta {
                block_id: block,
                tag,
                delta,
            },
            ReplyEvent::TagEnd { block, tag, reason } => Self::CustomBlockEnd {
                block_id: block,
                tag,
                reason,
            },
            ReplyEvent::Tag {
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
            ReplyEvent::Diagnostic(ref diagnostic) => Self::Diagnostic {
                code: diagnostic.code,
                message: &diagnostic.message,
                span: diagnostic.span,
            },
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
}

/// The dependencies in a header, as a list of ids.
struct Dependencies<'a>(&'a BlockHeader);

impl Serialize for Dependencies<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.dependencies())
    }
}
