//! What the model reads of the results of its calls.

use std::borrow::Cow;
use std::mem;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::call::Parameters;
use crate::convo::result_content;
use crate::convo::results_message;
use crate::convo::viewer::{self, ViewRequest};
use crate::message::Content;
use crate::run::Run;
use crate::run::calls::index;
use crate::run::question::AboutCall;
use crate::run::spec::RunSpec;
use crate::run::state::{Record, Status};

impl Run {
    /// Tells the model what became of its calls, in call order.
    pub(super) fn put_results(&mut self) {
        let spec = Arc::clone(&self.spec);
        let first = self.state.first_call;
        let mut records = mem::take(&mut self.state.calls);
        self.state.first_call += index(records.len());
        self.state.calls_before = Some(index(records.len()));
        let mut content = Vec::with_capacity(records.len());
        for (at, record) in (0..).zip(records.drain(..)) {
            content.extend(self.told(&spec, first + at, record));
        }
        self.state.calls = records;
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

    fn told(&mut self, spec: &RunSpec, id: u32, record: Record) -> Option<Content> {
        let Status::Answered { answer, media: own } = record.status else {
            return None;
        };
        let failed = answer.is_err();
        let (Ok(whole) | Err(whole)) = answer;
        let call = &record.call;
        let name = record.gadget.as_deref().unwrap_or(&call.gadget_name);
        let mut text = Cow::Borrowed(whole.as_ref());
        if self.has_viewer
            && let Some(max_chars) = spec.output_limit
            && name != viewer::NAME
            && let Some(notice) = self.state.stored.keep(name, &whole, max_chars)
        {
            text = Cow::Owned(notice);
        }
        if !spec.interceptors.is_empty() {
            let about = AboutCall {
                id: crate::id::CallId(id),
                invocation_id: call.invocation_id.clone(),
                gadget_name: name.to_owned(),
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
        if let Content::GadgetResult { sticky, media, .. } = &mut content {
            *media = own;
            let gadget = spec.registry.get(&call.gadget_name);
            *sticky = gadget.is_some_and(|gadget| gadget.spec().sticky_result);
        }
        Some(content)
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
