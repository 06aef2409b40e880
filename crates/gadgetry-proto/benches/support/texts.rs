//! Texts, honest and hostile.

use std::fmt::Write as _;

use super::MIB;

/// Where a long text stands, and what stands around it.
#[derive(Clone, Copy)]
pub struct Place {
    pub name: &'static str,
    pub opener: &'static str,
    pub closer: &'static str,
}

/// The three places of the limits.
pub const PLACES: [Place; 3] = [
    Place {
        name: "prose",
        opener: "",
        closer: "",
    },
    Place {
        name: "value",
        opener: "!!!GADGET_START:Write:w\n!!!ARG:text\n",
        closer: "\n!!!GADGET_END\n",
    },
    Place {
        name: "tag",
        opener: "<think>",
        closer: "</think>",
    },
];

/// English prose with some punctuation and a few characters beyond ASCII.
pub fn prose(len: usize) -> String {
    const TEXT: &str = "The quick brown fox jumps over the lazy dog, and then it naps in the warm afternoon sun. \
        Nobody is surprised: foxes do as they like (mostly).\nA second paragraph says that 3 of 4 dogs agree; \
        the fourth one sleeps. \u{201c}Quite so,\u{201d} says the owl, who has seen it all before!\n\n";
    let mut text = TEXT.repeat(len / TEXT.len() + 1);
    text.truncate(text.floor_char_boundary(len));
    text
}

/// A small call.
pub fn call(index: usize) -> String {
    format!(
        "!!!GADGET_START:Fetch:call_{index}\n!!!ARG:url\nhttps://example.com/items/{index}\n!!!ARG:limit\n{index}\n!!!GADGET_END\n"
    )
}

/// A text of about the wanted length.
pub type Make = fn(usize) -> String;

/// What is read in linear time, at any length.
pub const LINEAR: [(&str, Make); 15] = [
    ("prose", prose),
    ("value", |len| {
        format!("!!!GADGET_START:W\n!!!ARG:t\n{}", prose(len))
    }),
    ("tag", |len| format!("<think>{}", prose(len))),
    ("near-miss markers", |len| repeat("!!GADGET_START: ", len)),
    ("cut markers", |len| repeat("!!!GADGET_STAR", len)),
    ("headers without end", |len| repeat("!!!GADGET_START:", len)),
    ("runs of `!`", |len| repeat("!", len)),
    ("runs of `<`", |len| repeat("<", len)),
    ("unclosed tags", |len| repeat("<think", len)),
    ("unclosed attributes", |len| repeat("<think a=\"b' ", len)),
    ("cut closing tags", |len| {
        format!("<think>{}", repeat("</thin", len))
    }),
    ("10,000 arguments", |len| arguments(len, 10_000)),
    ("10,000 arguments a MiB", |len| {
        arguments(len, 10_000 * len / MIB)
    }),
    ("many small calls", |len| numbered(len, call)),
    ("many small tags", |len| {
        numbered(len, |index| format!("<citation n=\"{index}\">x</citation>"))
    }),
];

fn repeat(unit: &str, len: usize) -> String {
    unit.repeat(len / unit.len())
}

fn numbered(len: usize, unit: fn(usize) -> String) -> String {
    let mut text = String::with_capacity(len + 128);
    for index in 0.. {
        if text.len() >= len {
            break;
        }
        text.push_str(&unit(index));
    }
    text
}

/// One call with so many arguments, none of them inside another.
fn arguments(len: usize, count: usize) -> String {
    let mut text = "!!!GADGET_START:Many\n".to_owned();
    let filling = "x".repeat((len / count).saturating_sub("!!!ARG:a12345\n\n".len()));
    for index in 0..count {
        let _ = write!(text, "!!!ARG:a{index}\n{filling}\n");
    }
    text
}

/// The text in pieces of this size, cut between characters; `usize::MAX` leaves it whole.
pub fn chunks(text: &str, size: usize) -> Vec<&str> {
    let mut chunks = Vec::with_capacity(text.len() / size + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let at = rest
            .floor_char_boundary(size)
            .max(rest.ceil_char_boundary(1));
        let (chunk, tail) = rest.split_at(at);
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}
