//! Calls in other forms than ours: found when the reply is over, and executed only where that is switched on.

use crate::block::Anchoring;
use crate::call::{Call, Parameters, TerminatedBy};
use crate::dialect::{DialectCall, find};
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::id::InvocationId;
use crate::message::Content;
use crate::run::plan::Plan;

/// What may precede a call on its line: wrappers around the forms of Qwen3-Coder and Anthropic.
const WRAPPERS: [&str; 3] = [
    "<tool_call>",
    "<function_calls>",
    "<ant\u{6d}l:function_calls>",
];

const CUT: &str = "The reply ended inside the call";

/// The calls in the visible text of a reply.
#[derive(Default)]
pub(super) struct FoundCalls {
    /// Those in a dialect of [`RunConfig::dialects`], with the text that they are written in.
    pub(super) calls: Vec<Found>,
    /// Those of known gadgets in other dialects. They are not executed.
    pub(super) foreign: Vec<Found>,
}

/// One call in a text.
pub(super) struct Found {
    call: DialectCall,
    raw: String,
    span: Span,
}

impl FoundCalls {
    /// Looks for calls. `raw` is the reply as written, to which the spans refer.
    pub(super) fn of(raw: &str, content: &[Content], plan: &Plan) -> Self {
        let mut all = Self::default();
        if plan.registry.is_empty() {
            return all;
        }
        for part in content {
            let Content::Text { text } = part else {
                continue;
            };
            // The text is as it was written, unless a transform has changed it.
            let base = raw.find(text.as_str()).unwrap_or_default() as u64;
            let mut end = 0;
            for call in find(text, &plan.registry, &plan.config.limits) {
                let span = Span {
                    start: base + call.range.start as u64,
                    end: base + call.range.end as u64,
                };
                let begins = begins_line(&text[end..call.range.start], plan.config.anchoring);
                end = call.range.end;
                let raw = text[call.range.clone()].to_owned();
                let is_executed = plan.config.executes(call.dialect) && begins;
                let is_known = plan.registry.get(&call.gadget_name).is_some();
                let found = Found { call, raw, span };
                if is_executed {
                    all.calls.push(found);
                } else if is_known {
                    all.foreign.push(found);
                }
            }
        }
        all
    }
}

/// Whether a call may begin after this text: anywhere, or only where nothing precedes it on its line.
fn begins_line(before: &str, anchoring: Anchoring) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default().trim();
    anchoring == Anchoring::Anywhere || line.is_empty() || WRAPPERS.contains(&line)
}

impl Found {
    /// The call, under an id that it did not have.
    pub(super) fn into_call(self, id: InvocationId) -> Call {
        let (terminated_by, parameters) = if self.call.is_whole {
            (TerminatedBy::EndMarker, self.call.parameters)
        } else {
            let cut = Parameters::Malformed(CUT.to_owned());
            (TerminatedBy::EndOfStream, cut)
        };
        Call {
            gadget_name: self.call.gadget_name,
            invocation_id: id,
            dependencies: Vec::new(),
            parameters_raw: self.raw,
            parameters,
            terminated_by,
            span: self.span,
        }
    }

    /// Why a call in a foreign dialect is not executed, for the observer and the model.
    pub(super) fn refusal(&self, plan: &Plan) -> Diagnostic {
        let name = &self.call.gadget_name;
        let dialect = self.call.dialect;
        let how = if plan.config.tools.reads_blocks() {
            let (start, end) = (plan.config.markers.start(), plan.config.markers.end());
            format!("write a block that begins with {start}{name} and ends with {end}")
        } else {
            "call it through your interface for tools".to_owned()
        };
        Diagnostic {
            code: DiagnosticCode::ForeignCall,
            message: format!("The call of {name} in the form of {dialect} was not executed; {how}"),
            span: self.span,
        }
    }
}
