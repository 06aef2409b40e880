//! Tags.

use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::piece::EndReason;

use super::{Lead, NotOpened, Opening, Reader, Seen, diagnostic};

impl Reader<'_> {
    /// The names of reasoning that are not those of other tags.
    pub(super) fn reasoning(&self) -> impl Iterator<Item = &String> {
        let names = self.format.reasoning.iter();
        names.filter(|name| !self.format.tags.contains(name) && self.is_known(name))
    }

    pub(super) fn is_reasoning(&self, tag: &str) -> bool {
        self.reasoning().any(|name| name == tag)
    }

    fn is_known(&self, tag: &str) -> bool {
        is_name(tag) && tag.len() <= self.format.limits.tag_name
    }

    /// The registered name behind a `<` at `at` that may open a tag, in prose that begins at `begin`. A closing tag of
    /// reasoning is one, too.
    pub(super) fn tag_that_may_open(&self, begin: usize, at: usize) -> Option<String> {
        let rest = self.text.get(at..)?.strip_prefix('<')?;
        let stands = |tag: &String| {
            rest.strip_prefix(tag.as_str())
                .is_some_and(|rest| rest.starts_with(['>', '/', ' ', '\t', '\n', '\r']))
        };
        let mut custom = self.format.tags.iter().filter(|tag| self.is_known(tag));
        if let Some(tag) = custom.find(|tag| stands(tag)) {
            return Some(tag.clone());
        }
        let quoted = at > begin && self.text.as_bytes()[at - 1] == b'`';
        let ends = self.reasoning().map(|name| format!("/{name}"));
        let mut names = self.reasoning().cloned().chain(ends);
        names.find(stands).filter(|_| !quoted)
    }

    /// Reads reasoning and says where reading goes on, and what stands before that.
    pub(super) fn reason(&mut self, opening: Opening, lead: Lead) -> (usize, Lead) {
        let start = opening.start;
        let is_written = opening.behind > start;
        let (behind, reason) = self.tag(opening);
        if reason == EndReason::Limit {
            if !is_written {
                // Reasoning before the reply counts as more than blanks, too: what follows begins no line.
                self.erased.push((start..start, "…"));
            }
            return (behind, Lead::Text);
        }
        self.erased.push((start..behind, ""));
        (behind, lead)
    }

    /// The opening tag at `at`.
    pub(super) fn opening(&self, tag: &str, at: usize) -> Result<Opening, NotOpened> {
        let name_end = at + 1 + tag.len();
        let rest = &self.text.as_bytes()[name_end..];
        let limit = self.format.limits.attributes;
        match attributes(&rest[..rest.len().min(limit)]) {
            Parsed::Open {
                attrs,
                self_closing,
                length,
            } => Ok(Opening {
                start: at,
                tag: tag.to_owned(),
                attrs,
                self_closing,
                behind: name_end + length,
            }),
            Parsed::Unfinished if rest.len() >= limit => Err(NotOpened::TooLong),
            Parsed::Unfinished | Parsed::No => Err(NotOpened::Otherwise),
        }
    }

    /// Reads a custom block and says where reading goes on, and why it ended.
    pub(super) fn tag(&mut self, opening: Opening) -> (usize, EndReason) {
        self.blocks += 1;
        let block = self.blocks;
        let Opening {
            tag,
            attrs,
            self_closing,
            behind: start,
            ..
        } = opening;
        let (content_end, behind, reason) = if self_closing {
            (start, start, EndReason::SelfClosing)
        } else {
            self.content_end(&tag, start)
        };
        let content = self.text[start..content_end].to_owned();
        self.seen.push(Seen::TagStart {
            block,
            tag: tag.clone(),
            attrs: attrs.clone(),
        });
        if !content.is_empty() {
            self.seen.push(Seen::TagContent {
                block,
                content: content.clone(),
            });
        }
        if reason == EndReason::Limit {
            let code = DiagnosticCode::LimitExceeded;
            self.seen.push(diagnostic(code, content_end, content_end));
        }
        self.seen.push(Seen::TagEnd {
            block,
            tag: tag.clone(),
            reason,
        });
        self.seen.push(Seen::Tag {
            block,
            tag,
            content,
            attrs,
            self_closing,
        });
        (behind, reason)
    }

    /// Where the content ends, where the block ends, and why.
    fn content_end(&self, tag: &str, start: usize) -> (usize, usize, EndReason) {
        let limit = self.format.limits.tag_content;
        let content = &self.text[start..];
        // DECIDED: "within the first n bytes" is an offset of at most n, as in the rule about headers.
        let closing = (0..content.len())
            .take_while(|&at| at <= limit)
            .find_map(|at| Some((at, self.closing_tag(tag, start + at)?)));
        if let Some((at, behind)) = closing {
            (start + at, behind, EndReason::Closed)
        } else if content.len() > limit {
            let cut = start + content.floor_char_boundary(limit);
            (cut, cut, EndReason::Limit)
        } else {
            (self.text.len(), self.text.len(), EndReason::EndOfStream)
        }
    }

    /// Where the closing tag at `at` ends.
    fn closing_tag(&self, tag: &str, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?.strip_prefix("</")?.strip_prefix(tag)?;
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let white_space = rest.len() - trimmed.len();
        let closes = trimmed.starts_with('>') && white_space <= self.format.limits.indent;
        closes.then(|| at + "</".len() + tag.len() + white_space + ">".len())
    }
}

impl Opening {
    /// As if it stood before the reply.
    pub(super) fn before_the_reply(tag: String) -> Self {
        Self {
            start: 0,
            tag,
            attrs: Vec::new(),
            self_closing: false,
            behind: 0,
        }
    }
}

enum Parsed {
    Open {
        attrs: Vec<(String, String)>,
        self_closing: bool,
        /// With the `>`.
        length: usize,
    },
    /// It may be one, but there is no more text.
    Unfinished,
    No,
}

/// Reads everything between the name of a tag and its `>`. Works on bytes, for a limit may cut a character; whatever
/// is kept ends at ASCII.
///
/// DECIDED: "whitespace" is space, tab, newline and carriage return everywhere in tags.
fn attributes(text: &[u8]) -> Parsed {
    let mut attrs: Vec<(String, String)> = Vec::new();
    let mut at = 0;
    // Whether an attribute may begin without whitespace: only behind a quoted value.
    let mut separated = false;
    loop {
        let space = count(&text[at..], is_tag_space);
        separated |= space > 0;
        at += space;
        match text.get(at) {
            None => return Parsed::Unfinished,
            Some(b'>') => {
                return Parsed::Open {
                    attrs,
                    self_closing: false,
                    length: at + 1,
                };
            }
            Some(b'/') => {
                at += count(&text[at..], |byte| byte == b'/' || is_tag_space(byte));
                return match text.get(at) {
                    None => Parsed::Unfinished,
                    Some(b'>') => Parsed::Open {
                        attrs,
                        self_closing: true,
                        length: at + 1,
                    },
                    Some(_) => Parsed::No,
                };
            }
            Some(&byte) if separated && is_attribute_start(byte) => {}
            Some(_) => return Parsed::No,
        }
        let name = at;
        at += count(&text[at..], is_attribute_byte);
        let name = utf8(&text[name..at]);
        let mut value = "";
        separated = false;
        let space = count(&text[at..], is_tag_space);
        if text.get(at + space) == Some(&b'=') {
            at += space + 1;
            at += count(&text[at..], is_tag_space);
            match text.get(at) {
                None => return Parsed::Unfinished,
                Some(&quote @ (b'"' | b'\'')) => {
                    let length = count(&text[at + 1..], |byte| byte != quote);
                    if at + 1 + length == text.len() {
                        return Parsed::Unfinished;
                    }
                    value = utf8(&text[at + 1..at + 1 + length]);
                    at += 1 + length + 1;
                    separated = true;
                }
                // DECIDED: `name=`, whitespace, `>` is empty too.
                Some(_) => {
                    let length = count(&text[at..], |byte| byte != b'>' && !is_tag_space(byte));
                    if text[at..at + length].contains(&b'<') {
                        return Parsed::No;
                    }
                    if at + length == text.len() {
                        return Parsed::Unfinished;
                    }
                    value = utf8(&text[at..at + length]);
                    at += length;
                }
            }
        }
        let value = decoded(value);
        match attrs.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => attrs.push((name.to_owned(), value)),
        }
    }
}

/// The value with its entities decoded, once.
fn decoded(value: &str) -> String {
    const ENTITIES: [(&str, &str); 5] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
        ("&quot;", "\""),
        ("&apos;", "'"),
    ];
    let mut decoded = String::new();
    let mut rest = value;
    while let Some(char) = rest.chars().next() {
        let entity = ENTITIES
            .into_iter()
            .find(|(entity, _)| rest.starts_with(entity));
        if let Some((entity, meaning)) = entity {
            decoded.push_str(meaning);
            rest = &rest[entity.len()..];
        } else {
            decoded.push(char);
            rest = &rest[char.len_utf8()..];
        }
    }
    decoded
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn is_attribute_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || b"_:".contains(&byte)
}

fn is_attribute_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte)
}

fn is_tag_space(byte: u8) -> bool {
    b" \t\n\r".contains(&byte)
}

/// How many bytes at the start are of this kind.
fn count(text: &[u8], kind: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|&&byte| kind(byte)).count()
}

fn utf8(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("it begins and ends beside ASCII characters")
}
