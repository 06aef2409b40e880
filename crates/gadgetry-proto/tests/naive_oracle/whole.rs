//! Whole texts: what the rows do not show, and what the generator makes.

use std::collections::BTreeMap;

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::reply::Format;

use super::{anywhere, line_start, range};
use crate::support::naive::{Seen, read};
use crate::support::{cut, generate};

#[test]
fn raw_text_and_span() {
    let rows = [
        (
            anywhere(),
            "a!!!GADGET_START:A:b\n!!!ARG:x\n1\n!!!GADGET_END.",
            "!!!ARG:x\n1\n",
            (1, 45),
        ),
        (
            line_start(),
            "!!!GADGET_START:A:b\n x \n  !!!GADGET_END",
            " x \n  ",
            (0, 39),
        ),
        (
            line_start(),
            "!!!GADGET_START:A:b\nx\n !!!GADGET_START:C:d\n",
            "x\n ",
            (0, 23),
        ),
        (
            anywhere(),
            "!!!GADGET_START:A:b!!!GADGET_END\n",
            "",
            (0, 32),
        ),
        (anywhere(), "!!!GADGET_START:A:b\nx\n", "x\n", (0, 22)),
    ];
    for (format, text, raw_expected, (start, end)) in rows {
        let call = read(text, &format).into_iter().find_map(|seen| match seen {
            Seen::Call { raw, span, .. } => Some((raw, span.start, span.end)),
            _ => None,
        });
        assert_eq!(
            call,
            Some((raw_expected.to_owned(), start, end)),
            "{text:?}"
        );
    }
}

#[test]
fn every_generated_reply_is_read() {
    for seed in 0..5000 {
        let (format, text) = generate::case(seed);
        let seen = read(&text, &format);
        for pair in seen.windows(2) {
            assert!(
                !matches!(pair, [Seen::Text(_), Seen::Text(_)]),
                "texts are joined: {text:?} {seen:#?}"
            );
        }
    }
}

/// Texts and the spans of calls rebuild a reply, but for whitespace that stands alone.
#[test]
fn nothing_is_lost() {
    for seed in 0..5000 {
        let (format, text) = generate::case(seed);
        let format = Format {
            anchoring: Anchoring::Anywhere,
            tags: Vec::new(),
            reasoning: Vec::new(),
            ..format
        };
        let rebuilt: String = read(&text, &format)
            .into_iter()
            .map(|seen| match seen {
                Seen::Text(text) => text,
                Seen::Call { span, .. } => text[range(span)].to_owned(),
                _ => String::new(),
            })
            .collect();
        let visible = |text: &str| text.replace(char::is_whitespace, "");
        assert_eq!(visible(&rebuilt), visible(&text), "{format:?}");
    }
}

/// What the generator never makes is never tested.
#[test]
fn generated_replies_have_everything() {
    let mut kinds = BTreeMap::<String, usize>::new();
    for seed in 0..5000 {
        let (format, text) = generate::case(seed);
        for seen in read(&text, &format) {
            let kind = match seen {
                Seen::Text(_) => "text".to_owned(),
                Seen::CallStart { .. } => "start".to_owned(),
                Seen::Argument { .. } => "argument".to_owned(),
                Seen::Call {
                    arguments,
                    terminated_by,
                    ..
                } => {
                    format!(
                        "call {} {terminated_by:?}",
                        if arguments.is_ok() {
                            "good"
                        } else {
                            "malformed"
                        }
                    )
                }
                Seen::TagStart { attrs, .. } => {
                    format!("tag with {} attributes", attrs.len().min(2))
                }
                Seen::TagContent { .. } => "content".to_owned(),
                Seen::TagEnd { reason, .. } => format!("tag {reason:?}"),
                Seen::Tag { .. } => continue,
                Seen::Diagnostic(code, _) => format!("{code:?}"),
            };
            *kinds.entry(kind).or_default() += 1;
        }
    }
    assert_eq!(kinds.len(), 4 + 6 + 3 + 4 + 10, "{kinds:#?}");
    assert!(kinds.values().all(|&count| count >= 20), "{kinds:#?}");
}

#[test]
fn text_without_markers_and_tags_is_itself() {
    for seed in 0..500 {
        let (_, text) = generate::case(seed);
        let none = Format {
            markers: None,
            tags: Vec::new(),
            ..anywhere()
        };
        let expected = if text.trim().is_empty() {
            vec![]
        } else {
            vec![Seen::Text(text.clone())]
        };
        assert_eq!(read(&text, &none), expected);
    }
}

#[test]
fn cuts_add_up() {
    for text in ["", "a", "é🙂\r\nx", "!!!GADGET_END"] {
        for pieces in cut::in_two(text)
            .chain([cut::characters(text)])
            .chain((0..20).map(|seed| cut::random(text, seed)))
        {
            assert_eq!(pieces.concat(), text);
        }
        assert_eq!(cut::characters(text).len(), text.chars().count());
        assert_eq!(cut::in_two(text).count(), text.chars().count() + 1);
    }
}
