//! Calls in other forms than ours: found when the reply is over, and executed only where that is switched on.

use std::sync::Arc;

use crate::block::Anchoring;
use crate::call::{Call, Parameters, TerminatedBy};
use crate::dialect::{DialectCall, find};
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::event::EventKind;
use crate::id::InvocationId;
use crate::message::Content;
use crate::piece::CallStart;
use crate::run::Run;

/// What may stand before a call on its line: wrappers around the forms of Qwen3-Coder and Anthropic.
const WRAPPERS: [&str; 3] = [
    "<tool_call>",
    "<function_calls>",
    "<ant\u{6d}l:function_calls>",
];

const CUT: &str = "The reply ended inside the call";

impl Run {
    /// Looks for calls in the visible text of a reply that is over.
    ///
    /// Those in a dialect of [`RunSpec::dialects`](crate::run::RunSpec::dialects) follow the other calls of the reply. Others
    /// are told, to whoever watches and to the model, if the reply calls nothing.
    pub(super) fn read_dialects(&mut self, raw: &str, content: &mut Vec<Content>) {
        if self.spec.registry.is_empty() {
            return;
        }
        let spec = Arc::clone(&self.spec);
        let mut foreign = Vec::new();
        let mut calls = Vec::new();
        for part in &*content {
            let Content::Text { text } = part else {
                continue;
            };
            // Text is as it was written, unless a transform has changed it.
            let base = raw.find(text.as_str()).unwrap_or_default() as u64;
            let mut behind = 0;
            for found in find(text, &spec.registry, &spec.limits) {
                let span = Span {
                    start: base + found.range.start as u64,
                    end: base + found.range.end as u64,
                };
                let begins = self.begins_line(text, behind, found.range.start);
                behind = found.range.end;
                if spec.dialects.contains(&found.dialect) && begins {
                    calls.push(self.dialect_call(found, text, span));
                } else if spec.registry.get(&found.gadget_name).is_some() {
                    foreign.push((found, span));
                }
            }
        }
        for call in calls {
            let (name, id) = (call.gadget_name.as_str(), call.invocation_id.clone());
            self.announce_start(CallStart::new(name, id));
            content.push(Content::GadgetCall(Arc::clone(&call)));
            self.announce(call);
        }
        if self.state.calls.is_empty() {
            for (found, span) in foreign {
                self.tell_foreign(&found, span);
            }
        }
    }

    /// Whether a call may begin here: anywhere, or only where nothing stands before it on its line.
    fn begins_line(&self, text: &str, behind: usize, at: usize) -> bool {
        let before = &text[behind..at];
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        self.spec.anchoring == Anchoring::Anywhere || line.is_empty() || WRAPPERS.contains(&line)
    }

    fn dialect_call(&mut self, found: DialectCall, text: &str, span: Span) -> Arc<Call> {
        self.state.dialect_calls += 1;
        let (terminated_by, parameters) = if found.is_whole {
            (TerminatedBy::EndMarker, found.parameters)
        } else {
            let cut = Parameters::Malformed(CUT.to_owned());
            (TerminatedBy::EndOfStream, cut)
        };
        Arc::new(Call {
            gadget_name: found.gadget_name,
            invocation_id: InvocationId::from(format!("call_{}", self.state.dialect_calls)),
            dependencies: Vec::new(),
            parameters_raw: text[found.range].to_owned(),
            parameters,
            terminated_by,
            span,
        })
    }

    /// A call that is not executed, because nobody has switched its dialect on.
    fn tell_foreign(&mut self, found: &DialectCall, span: Span) {
        let name = &found.gadget_name;
        let dialect = found.dialect;
        let how = if self.spec.tools.reads_blocks() {
            let (start, end) = (self.spec.markers.start(), self.spec.markers.end());
            format!("write a block that begins with {start}{name} and ends with {end}")
        } else {
            "call it through your interface for tools".to_owned()
        };
        let message =
            format!("The call of {name} in the form of {dialect} was not executed; {how}");
        self.note(&message);
        self.tell(EventKind::Diagnostic(Diagnostic {
            code: DiagnosticCode::ForeignCall,
            message,
            span,
        }));
    }
}
