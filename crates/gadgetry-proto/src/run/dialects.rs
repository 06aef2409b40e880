//! Calls in other forms than ours: taken out of the text where that is switched on, and else
//! found when the reply is over, for a note to the model.

use std::sync::Arc;

use crate::call::{Call, Parameters, TerminatedBy};
use crate::call_form::CallForm;
use crate::delta::Delta;
use crate::dialect::{DialectCall, GateRules, Gated, find};
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::id::InvocationId;
use crate::message::Content;
use crate::piece::CallStart;
use crate::run::plan::Plan;

const CUT: &str = "The reply ended inside the call";

/// Returns the rules for the gate of a run.
pub(super) fn rules(plan: &Plan) -> GateRules<'_> {
    GateRules {
        dialects: &plan.config.dialects,
        registry: &plan.registry,
        limits: &plan.config.limits,
        anchoring: plan.config.anchoring,
    }
}

/// A call in a dialect of [`RunConfig::dialects`](crate::run::RunConfig::dialects), under an id that it did not have.
fn call(found: DialectCall, written: String, span: Span, id: InvocationId) -> Call {
    let (terminated_by, parameters) = if found.is_whole {
        (TerminatedBy::EndMarker, found.parameters)
    } else {
        let cut = Parameters::Malformed(CUT.to_owned());
        (TerminatedBy::EndOfStream, cut)
    };
    Call {
        gadget_name: found.gadget_name,
        invocation_id: id,
        dependencies: Vec::new(),
        parameters_raw: written,
        parameters,
        digits: found.digits,
        terminated_by,
        span,
    }
}

/// The reply as written, while the forms in it are found.
pub(super) struct Written<'r> {
    /// The reply.
    pub(super) raw: &'r str,
    /// End of the last call in a dialect.
    pub(super) end: &'r mut usize,
    /// The form of the last call. Several calls may be of one form.
    pub(super) form: &'r mut Option<(Arc<str>, Span)>,
}

impl Written<'_> {
    fn span(&self, written: &str) -> Span {
        span_in(self.raw, written, *self.end)
    }

    /// The call in a form. It has the text of the form, or, if it is not the first of one, its parameters.
    fn call(&mut self, found: DialectCall, form: &Arc<str>, id: InvocationId) -> Call {
        if let Some((last, span)) = self.form
            && Arc::ptr_eq(last, form)
        {
            let own = match &found.parameters {
                Parameters::Parsed(parameters) => parameters.to_string(),
                Parameters::Malformed(_) => String::new(),
            };
            return call(found, own, *span, id);
        }
        let span = self.span(form);
        *self.end = usize::try_from(span.end).unwrap_or(usize::MAX);
        *self.form = Some((Arc::clone(form), span));
        call(found, form.to_string(), span, id)
    }
}

/// Returns what has passed the gate, as deltas.
pub(super) fn deltas(
    piece: Gated,
    mut written: Written<'_>,
    next_id: impl FnOnce() -> InvocationId,
) -> Vec<Delta> {
    match piece {
        Gated::Text(text) => vec![Delta::text(text)],
        Gated::Reasoning(delta) => vec![Delta::Reasoning {
            delta,
            metadata: None,
        }],
        Gated::Call(found, form) => {
            let call = written.call(found, &form, next_id());
            let (name, id) = (call.gadget_name.as_str(), call.invocation_id.clone());
            let start = Delta::GadgetCallStart(CallStart::new(name, id));
            vec![start, Delta::GadgetCall(Arc::new(call))]
        }
        Gated::Opening(_) | Gated::Closing(_) => Vec::new(),
        Gated::Cut(text) => vec![Delta::Diagnostic(cut(written.span(&text)))],
    }
}

/// Returns the diagnostic of a call that was cut off before its name.
fn cut(span: Span) -> Diagnostic {
    Diagnostic {
        code: DiagnosticCode::CutHeader,
        message: format!("{CUT}: write it again"),
        span,
    }
}

/// The place of a text in a reply, at `from` or after it. A transform may have changed the text: then it has none.
fn span_in(raw: &str, written: &str, from: usize) -> Span {
    let rest = raw.get(from..).unwrap_or_default();
    let start = rest.find(written).map_or(0, |at| from + at);
    Span {
        start: start as u64,
        end: (start + written.len()) as u64,
    }
}

/// Returns what is wrong with the calls in the text of a reply that are not executed. `raw` is the reply as written, to which the spans
/// refer.
pub(super) fn missed(
    raw: &str,
    content: &[Content],
    plan: &Plan,
    mut is_quoted: impl FnMut(&Foreign) -> bool,
) -> Vec<Diagnostic> {
    let foreign = Foreign::of(raw, content, plan).into_iter();
    let foreign = foreign.map(|it| it.refusal(plan, is_quoted(&it)));
    foreign.chain(bare_start(raw, content, plan)).collect()
}

/// Returns the diagnostic of a start marker without its colon, and perhaps without its words, before the name of a gadget on a line of its
/// own: `!!!GADGET_START ReadFile`.
fn bare_start(raw: &str, content: &[Content], plan: &Plan) -> Option<Diagnostic> {
    let marker = plan.config.markers.start();
    let (bare, words) = marker
        .strip_suffix(':')
        .map(|it| it.split_once(' ').unwrap_or((it, "")))?;
    let is_read = plan.config.form == CallForm::Block && plan.config.tools.reads_blocks();
    let has_name = |line: &str| {
        let name = line.trim_start().strip_prefix(bare);
        let name = name.and_then(|it| it.strip_prefix(' '));
        name.is_some_and(|it| {
            let name = it.strip_prefix(words).unwrap_or(it).trim();
            plan.registry.get(name).is_some()
        })
    };
    let line = content.iter().find_map(|part| {
        let Content::Text { text } = part else {
            return None;
        };
        text.lines().find(|line| is_read && has_name(line))
    })?;
    Some(Diagnostic {
        code: DiagnosticCode::NearMiss,
        message: format!("{bare} is not a marker and was not executed; write {marker}"),
        span: span_in(raw, line, 0),
    })
}

/// A call of a known gadget in a dialect that is not executed.
pub(super) struct Foreign {
    /// The call.
    pub(super) call: DialectCall,
    /// The text of its form, which several calls share.
    pub(super) form: Arc<str>,
    span: Span,
}

impl Foreign {
    /// Looks for calls in the visible text of a reply.
    fn of(raw: &str, content: &[Content], plan: &Plan) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        if plan.registry.is_empty() {
            return all;
        }
        for part in content {
            let Content::Text { text } = part else {
                continue;
            };
            for call in find(text, &plan.registry, &plan.config.limits) {
                if plan.registry.get(&call.gadget_name).is_none() {
                    continue;
                }
                let last = all.last().filter(|it| it.call.range == call.range);
                let (form, span) = if let Some(last) = last {
                    (Arc::clone(&last.form), last.span)
                } else {
                    let form = &text[call.range.clone()];
                    (form.into(), span_in(raw, form, 0))
                };
                all.push(Self { call, form, span });
            }
        }
        all
    }

    /// Returns the reason for which a call in a foreign dialect is not executed, for the observer and the model. A quotation is not to
    /// be written in another form.
    fn refusal(&self, plan: &Plan, is_quoted: bool) -> Diagnostic {
        let name = &self.call.gadget_name;
        let dialect = self.call.dialect;
        let how = if is_quoted {
            "it is in a text that you were given".to_owned()
        } else if plan.config.form == CallForm::Json {
            format!("write <tool_call>{{\"name\":\"{name}\",\"arguments\":{{…}}}}</tool_call>")
        } else if plan.config.tools.reads_blocks() {
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
