//! Long pasted texts, which the input line shows as a label.

use serde::{Deserialize, Serialize};

/// Longer texts get a label.
const LINES: usize = 10;
const CHARS: usize = 1000;

/// A text of the user as the input line shows it, with the pastes that its labels stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Typed {
    pub(super) text: String,
    pub(super) pastes: Pastes,
}

impl Typed {
    /// A text with the pastes whose labels it has.
    pub(super) fn new(text: String, mut pastes: Pastes) -> Self {
        pastes.0.retain(|it| text.contains(&it.label));
        Self { text, pastes }
    }

    /// Returns the text with pastes in full.
    pub(crate) fn full(&self) -> String {
        self.pastes.expand(&self.text)
    }

    /// Returns whether it has no label of a paste.
    pub(crate) fn is_plain(&self) -> bool {
        self.pastes.0.is_empty()
    }

    /// Returns whether the text or a paste has these words, which are in lower case.
    pub(super) fn has(&self, words: &str) -> bool {
        let pastes = self.pastes.0.iter().map(|it| &it.text);
        let mut texts = pastes.chain([&self.text]);
        texts.any(|text| text.to_lowercase().contains(words))
    }
}

impl From<String> for Typed {
    fn from(text: String) -> Self {
        Self {
            text,
            pastes: Pastes::default(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pastes(Vec<Paste>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Paste {
    label: String,
    text: String,
}

impl Pastes {
    /// Returns the text to insert for a pasted text: the text, or its label if it is long.
    pub(super) fn label(&mut self, text: &str) -> String {
        let (lines, chars) = (text.lines().count(), text.chars().count());
        if lines <= LINES && chars <= CHARS {
            return text.to_owned();
        }
        let number = self.0.len() + 1;
        let label = if lines > 1 {
            format!("[paste {number}: {lines} lines]")
        } else {
            format!("[paste {number}: {chars} characters]")
        };
        self.0.push(Paste {
            label: label.clone(),
            text: text.to_owned(),
        });
        label
    }

    /// The text with what the labels stand for. A label that was edited is plain text.
    pub(super) fn expand(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        // From left to right, so that nothing in a paste is taken for a label.
        while let Some((at, paste)) = self.first(rest) {
            out.push_str(&rest[..at]);
            out.push_str(&paste.text);
            rest = &rest[at + paste.label.len()..];
        }
        out + rest
    }

    /// Returns the label at the end of a text.
    pub(super) fn label_before(&self, text: &str) -> Option<&str> {
        let mut labels = self.0.iter().map(|it| &*it.label);
        labels.find(|label| text.ends_with(label))
    }

    /// Bytes of all of them.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|it| it.text.len()).sum()
    }

    fn first(&self, text: &str) -> Option<(usize, &Paste)> {
        let found = self
            .0
            .iter()
            .filter_map(|it| Some((text.find(&it.label)?, it)));
        found.min_by_key(|(at, _)| *at)
    }
}
