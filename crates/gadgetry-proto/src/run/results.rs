//! What the model reads of the results of its calls.

use std::borrow::Cow;
use std::mem;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::block::Markers;
use crate::call::{Call, Parameters};
use crate::convo::neutralise;
use crate::convo::result_content;
use crate::convo::results_message;
use crate::convo::viewer::{self, ViewRequest};
use crate::message::Content;
use crate::prompt::correction;
use crate::run::Run;
use crate::run::calls::index;
use crate::run::question::AboutCall;
use crate::run::spec::RunSpec;
use crate::run::state::{Record, Status, known};
use crate::spec::{RegisteredGadget, invalid_parameters, parse_failure};

/// Notes about parameters that the model reads with one message of results.
const NOTES: usize = 8;

impl Run {
    /// Tells the model what became of its calls, in call order.
    pub(super) fn put_results(&mut self) {
        let spec = Arc::clone(&self.spec);
        let mut records = mem::take(&mut self.state.calls);
        self.state.numbers.next_reply();
        self.state.calls_before = Some(index(records.len()));
        let mut content = Vec::with_capacity(records.len());
        for record in records.drain(..) {
            content.extend(self.told(&spec, record));
        }
        self.state.calls = records;
        if let Some(text) = self.surplus_note() {
            content.push(Content::Text { text });
        }
        let notes = mem::take(&mut self.state.notes);
        if !notes.is_empty() {
            let lines: Vec<String> = notes.iter().map(|note| format!("Note: {note}")).collect();
            let text = lines.join("\n");
            content.push(Content::Text { text });
        }
        if !content.is_empty() {
            self.push_message(results_message(content));
        }
        for message in mem::take(&mut self.state.appended) {
            self.push_message(message);
        }
    }

    fn told(&mut self, spec: &RunSpec, record: Record) -> Option<Content> {
        let Status::Answered { answer, media: own } = record.status else {
            return None;
        };
        let failed = answer.is_err();
        let (Ok(answered) | Err(answered)) = answer;
        let whole = record.told.as_ref().unwrap_or(&answered);
        let call = &record.call;
        let name = record.gadget.as_deref().unwrap_or(&call.gadget_name);
        let mut text = Cow::Borrowed(whole.as_ref());
        if self.has_viewer
            && record.told.is_none()
            && let Some(max_chars) = spec.output_limit
            && name != viewer::NAME
            && let Some(notice) = self.state.stored.keep(name, whole, max_chars)
        {
            text = Cow::Owned(notice);
        }
        if !spec.interceptors.is_empty() {
            let about = AboutCall {
                id: record.id,
                invocation_id: call.invocation_id.clone(),
                gadget_name: name.to_owned(),
                parameters: known(record.parameters.as_ref(), call),
            };
            let mut rewritten = text.into_owned();
            for interceptor in &spec.interceptors {
                rewritten = interceptor.result(&about, rewritten);
            }
            text = Cow::Owned(rewritten);
        }
        let answer = if failed { Err(&*text) } else { Ok(&*text) };
        let mut content = result_content(
            &call.invocation_id,
            &call.gadget_name,
            answer,
            &spec.markers,
        );
        // What is said about a block that could not be read shows the right form, which the model is to copy. It quotes
        // nothing but the block itself.
        if let Parameters::Malformed(_) = &call.parameters
            && let Content::GadgetResult { text: told, .. } = &mut content
        {
            *told = text.into_owned();
        }
        let gadget = spec.registry.get(&call.gadget_name);
        if let (Content::GadgetResult { text: told, .. }, Some(gadget)) = (&mut content, gadget)
            && failed
            && spec.tools.reads_blocks()
        {
            told.push_str(&help(call, &answered, gadget, &spec.markers));
        }
        if let (Some(gadget), Parameters::Parsed(parameters), false) =
            (gadget, &call.parameters, failed)
        {
            self.note_undeclared(call, gadget, parameters);
        }
        if let Content::GadgetResult { sticky, media, .. } = &mut content {
            *media = own;
            *sticky = gadget.is_some_and(|gadget| gadget.spec().sticky_result);
        }
        Some(content)
    }

    /// The gadget has run, but not with what the model meant.
    fn note_undeclared(&mut self, call: &Call, gadget: &RegisteredGadget, parameters: &Value) {
        for problem in gadget.schema().undeclared(parameters) {
            if self.state.notes.len() >= NOTES {
                return;
            }
            let note = format!("{} ({}): {problem}", gadget.name(), call.invocation_id);
            let note = neutralise(&note, &self.spec.markers).into_owned();
            self.state.notes.push(note);
        }
    }

    /// What the viewer says.
    pub(super) fn view(&self, parameters: &Value) -> Result<String, String> {
        #[derive(Deserialize)]
        struct View {
            id: String,
            #[serde(flatten)]
            request: ViewRequest,
        }
        let max_chars = self.spec.output_limit.unwrap_or(usize::MAX);
        let View { id, request } =
            View::deserialize(parameters).map_err(|error| format!("Error: {error}"))?;
        let text = self.state.stored.view(&id, &request, max_chars);
        if text.starts_with("Error:") {
            Err(text)
        } else {
            Ok(text)
        }
    }
}

/// What a model needs to write a refused call again: nothing, unless it was the writing that was wrong, whether the engine
/// or the gadget's own types found that out.
fn help(call: &Call, error: &str, gadget: &RegisteredGadget, markers: &Markers) -> String {
    let name = gadget.name();
    let invalid = error.starts_with(&invalid_parameters(name, &[]));
    let unreadable = matches!(call.parameters, Parameters::Malformed(_))
        && error.starts_with(&parse_failure(name, ""));
    if invalid || unreadable {
        correction(gadget, markers)
    } else {
        String::new()
    }
}
