//! Results of calls, as the model reads them.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::block::Markers;
use crate::call::{Call, Parameters};
use crate::convo::OutputStore;
use crate::convo::escape_markers;
use crate::convo::result_content;
use crate::convo::viewer::{self, ViewRequest};
use crate::message::Content;
use crate::prompt::correction;
use crate::run::calls::notes::Notes;
use crate::run::calls::record::{CallStatus, Record};
use crate::run::config::call_style;
use crate::run::interceptor::Interceptor;
use crate::run::plan::Plan;
use crate::run::start::AboutCall;
use crate::schema::{RegisteredGadget, invalid_parameters, parse_failure};

/// The content for an answered call. Notes about its parameters go to `notes`, a long output into the store.
pub(super) fn content(
    record: Record,
    stored: &mut OutputStore,
    notes: &mut Notes,
    plan: &Plan,
) -> Option<Content> {
    let CallStatus::Answered {
        ref answer,
        ref told,
        ..
    } = record.status
    else {
        return None;
    };
    let failed = answer.is_err();
    let (Ok(answered) | Err(answered)) = answer;
    let call = &record.call;
    let name = record.gadget.as_deref().unwrap_or(&call.gadget_name);
    let text = read_text(&record, name, told.as_ref(), answered, stored, plan);
    let mut content = result_content(
        &call.invocation_id,
        &call.gadget_name,
        if failed { Err(&*text) } else { Ok(&*text) },
        &plan.config.markers,
    );
    let Content::GadgetResult {
        text: shown,
        sticky,
        media,
        ..
    } = &mut content
    else {
        return Some(content);
    };
    // The error about a malformed block shows the right form with real markers, for the model to copy. It quotes
    // nothing but that block, so nothing foreign gets through.
    if matches!(call.parameters, Parameters::Malformed(_)) {
        *shown = text.into_owned();
    }
    if let Some(gadget) = plan.registry.get(&call.gadget_name) {
        if failed && plan.config.tools.reads_blocks() {
            shown.push_str(&help(call, answered, gadget, plan));
        } else if !failed && let Parameters::Parsed(parameters) = &call.parameters {
            note_undeclared(call, gadget, parameters, notes, &plan.config.markers);
        }
        *sticky = gadget.spec().sticky_result;
    }
    if let CallStatus::Answered { media: own, .. } = record.status {
        *media = own;
    }
    Some(content)
}

/// The text of a result, shortened for the viewer and rewritten by interceptors.
fn read_text<'a>(
    record: &Record,
    name: &str,
    told: Option<&'a Arc<str>>,
    answered: &'a Arc<str>,
    stored: &mut OutputStore,
    plan: &Plan,
) -> Cow<'a, str> {
    let whole = told.unwrap_or(answered);
    let mut text = Cow::Borrowed(whole.as_ref());
    // What the viewer shows is never stored again, or viewing would make outputs without end.
    if told.is_none()
        && plan.has_viewer
        && name != viewer::NAME
        && let Some(max_chars) = plan.config.output_limit
        && let Some(notice) = stored.keep(name, whole, max_chars)
    {
        text = Cow::Owned(notice);
    }
    if plan.code.interceptors.is_empty() {
        return text;
    }
    let about = AboutCall {
        id: record.id,
        invocation_id: record.call.invocation_id.clone(),
        gadget_name: name.to_owned(),
        parameters: record.known_parameters(),
    };
    let interceptors = plan.code.interceptors.iter();
    let rewrite = |text, interceptor: &Arc<dyn Interceptor>| interceptor.result(&about, text);
    Cow::Owned(interceptors.fold(text.into_owned(), rewrite))
}

/// Notes parameters that the gadget does not declare: it ran, but perhaps not with what the model meant.
fn note_undeclared(
    call: &Call,
    gadget: &RegisteredGadget,
    parameters: &Value,
    notes: &mut Notes,
    markers: &Markers,
) {
    for problem in gadget.schema().undeclared(parameters) {
        if notes.is_full() {
            return;
        }
        let note = format!("{} ({}): {problem}", gadget.name(), call.invocation_id);
        notes.add(&escape_markers(&note, markers));
    }
}

/// The right form of a call that was refused because of its form, whether the engine or the gadget's own types found
/// that out; empty for other errors.
fn help(call: &Call, error: &str, gadget: &RegisteredGadget, plan: &Plan) -> String {
    let name = gadget.name();
    let invalid = error.starts_with(&invalid_parameters(name, &[]));
    let unreadable = matches!(call.parameters, Parameters::Malformed(_))
        && error.starts_with(&parse_failure(name, ""));
    if invalid || unreadable {
        correction(gadget, call_style(&plan.config))
    } else {
        String::new()
    }
}

/// Answers a call of the viewer.
pub(super) fn view(
    parameters: &Value,
    stored: &OutputStore,
    plan: &Plan,
) -> Result<String, String> {
    #[derive(Deserialize)]
    struct View {
        id: String,
        #[serde(flatten)]
        request: ViewRequest,
    }
    let max_chars = plan.config.output_limit.unwrap_or(usize::MAX);
    let View { id, request } =
        View::deserialize(parameters).map_err(|error| format!("Error: {error}"))?;
    let text = stored.view(&id, &request, max_chars);
    if text.starts_with("Error:") {
        Err(text)
    } else {
        Ok(text)
    }
}
