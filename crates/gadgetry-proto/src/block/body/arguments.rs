//! The arguments of a finished body.

use std::borrow::Cow;
use std::ops::Range;

use super::{Body, Partial};
use crate::block::fence;
use crate::error::ParseError;
use crate::schema;

impl Body {
    /// The exact text of the finished body; empty if it passed its cap.
    pub(crate) fn raw(&self) -> &str {
        if self.overflown { "" } else { &self.text }
    }

    pub(crate) fn error(&self) -> Option<&ParseError> {
        self.error.as_ref()
    }

    /// Pointers and values of the finished body, in the order written.
    pub(crate) fn arguments(&self) -> impl ExactSizeIterator<Item = (&str, Cow<'_, str>)> {
        self.arguments.iter().map(|argument| {
            (
                &self.text[argument.pointer.clone()],
                self.value(argument.value.clone()),
            )
        })
    }

    pub(crate) fn has_escapes(&self) -> bool {
        !self.escapes.is_empty()
    }

    /// [`Self::arguments`] of a body without escapes.
    pub(crate) fn plain_arguments(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.whole_arguments()
            .map(|whole| (whole.pointer, whole.delta))
    }

    /// The same, each as the only part of its value.
    pub(crate) fn whole_arguments(&self) -> impl ExactSizeIterator<Item = Partial<'_>> {
        let text = &self.text;
        self.arguments.iter().map(|argument| Partial {
            pointer: &text[argument.pointer.clone()],
            delta: &text[argument.value.clone()],
            complete: true,
            head: Some(&text[..argument.value.start]),
        })
    }

    pub(super) fn value(&self, range: Range<usize>) -> Cow<'_, str> {
        let from = self.escapes.partition_point(|at| *at < range.start);
        let to = self.escapes.partition_point(|at| *at < range.end);
        if from == to {
            return Cow::Borrowed(&self.text[range]);
        }
        let mut value = String::with_capacity(range.len());
        let mut start = range.start;
        for &at in &self.escapes[from..to] {
            value.push_str(&self.text[start..at]);
            start = at + 1;
        }
        value.push_str(&self.text[start..range.end]);
        Cow::Owned(value)
    }

    /// Returns the range of the body without whitespace and fences around it.
    pub(crate) fn inside_fence(&self) -> Range<usize> {
        fence::inside(&self.text)
    }

    /// Returns the range of the JSON object, if the body is one instead of arguments.
    pub(super) fn json(&self) -> Option<Range<usize>> {
        let range = self.inside_fence();
        let text = &self.text[range.clone()];
        let is_object = text.starts_with('{') && schema::is_json(text);
        is_object.then_some(range)
    }
}
