//! Names that open a tag.

use serde::{Deserialize, Serialize};

use crate::error::{Classified, Fault};

/// The registered names, prepared for searching.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    names: Vec<Name>,
}

#[derive(Clone, Debug)]
struct Name {
    text: String,
    kind: TagKind,
    close: memchr::memmem::Finder<'static>,
}

/// The meaning of a name between `<` and `>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagKind {
    Custom,
    /// The content is reasoning.
    Reasoning,
    /// A closing tag of reasoning that was not open. Its name begins with `/`.
    StrayEnd,
}

/// The text after a `<`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// This name, and a byte that may follow it.
    Name(NameIndex),
    /// The text ends inside what may become one.
    Partial,
    Nothing,
}

/// A registered name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NameIndex(usize);

/// Error for a tag that cannot be registered; always a mistake of the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagNameError {
    /// The name is not valid.
    #[error(
        "{name:?} is not a tag name: write a letter or _, then letters, digits, _ or -, at most {limit} bytes"
    )]
    Invalid {
        /// The name.
        name: String,
        /// The cap, [`crate::limits::Limits::tag_name`].
        limit: usize,
    },
    /// The name is registered twice.
    #[error("the tag <{name}> is registered twice")]
    Duplicate {
        /// The name.
        name: String,
    },
}

impl Classified for TagNameError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

impl Names {
    /// Custom names, and names of reasoning; one that is both is custom.
    pub(crate) fn new(
        custom: &[String],
        reasoning: &[String],
        limit: usize,
    ) -> Result<Self, TagNameError> {
        check(custom, limit)?;
        check(reasoning, limit)?;
        let reasoning: Vec<&String> = reasoning
            .iter()
            .filter(|name| !custom.contains(name))
            .collect();
        let named = |text: String, kind| Name {
            close: memchr::memmem::Finder::new(&format!("</{text}")).into_owned(),
            text,
            kind,
        };
        let custom = custom
            .iter()
            .map(|name| named(name.clone(), TagKind::Custom));
        let ends = reasoning
            .iter()
            .map(|name| named(format!("/{name}"), TagKind::StrayEnd));
        let reasoning = reasoning
            .iter()
            .map(|name| named((*name).clone(), TagKind::Reasoning));
        Ok(Self {
            names: custom.chain(reasoning).chain(ends).collect(),
        })
    }

    /// The first name of reasoning.
    pub(crate) fn first_reasoning(&self) -> Option<NameIndex> {
        let first = |name: &Name| name.kind == TagKind::Reasoning;
        self.names.iter().position(first).map(NameIndex)
    }

    pub(crate) fn kind(&self, name: NameIndex) -> TagKind {
        self.names[name.0].kind
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(crate) fn text(&self, name: NameIndex) -> &str {
        &self.names[name.0].text
    }

    pub(crate) fn len_of(&self, name: NameIndex) -> usize {
        self.text(name).len()
    }

    /// Returns the finder of `</name`.
    pub(crate) fn close(&self, name: NameIndex) -> &memchr::memmem::Finder<'static> {
        &self.names[name.0].close
    }

    /// Returns what follows the `<` at `at`.
    pub(crate) fn at(&self, text: &[u8], at: usize) -> Opening {
        let rest = &text[at + 1..];
        let mut found = Opening::Nothing;
        for (index, name) in self.names.iter().enumerate() {
            let name = name.text.as_bytes();
            if name.starts_with(rest) {
                found = Opening::Partial;
            } else if rest.starts_with(name) && is_delimiter(rest[name.len()]) {
                return Opening::Name(NameIndex(index));
            }
        }
        found
    }
}

fn check(names: &[String], limit: usize) -> Result<(), TagNameError> {
    for (index, name) in names.iter().enumerate() {
        let valid = name.bytes().next().is_some_and(is_name_start)
            && name.bytes().all(is_name_part)
            && name.len() <= limit;
        if !valid {
            return Err(TagNameError::Invalid {
                name: name.clone(),
                limit,
            });
        }
        if names[..index].contains(name) {
            return Err(TagNameError::Duplicate { name: name.clone() });
        }
    }
    Ok(())
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'>' | b'/') || is_space(byte)
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn is_name_part(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'-'
}
