//! The oracle itself: every sentence of `docs/reply-format.md` as a row, and the vectors of the two references.

#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at what it did not expect, and names only what it is about"
)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::error::Span;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::Format;
use serde_json::Value;
use support::naive::{Seen, read};
use support::{cut, generate};

/// What the rule is, the format, the reply, and what is seen in it.
type Row<'a> = (&'a str, Format, &'a str, &'a [&'a str]);

#[track_caller]
fn check(rows: &[Row<'_>]) {
    let mut wrong = String::new();
    for (rule, format, text, expected) in rows {
        let seen = read(text, format);
        let shown: Vec<String> = seen.iter().map(|seen| show(seen, text)).collect();
        if shown != *expected {
            let _ = write!(
                wrong,
                "\n{rule}\n  in       {text:?}\n  expected {expected:#?}\n  seen     {shown:#?}\n"
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// One line for one thing that was seen. A diagnostic shows the text that it is about.
fn show(seen: &Seen, text: &str) -> String {
    match seen {
        Seen::Text(text) => format!("text {text:?}"),
        Seen::CallStart {
            name,
            id,
            dependencies,
        } => {
            let mut line = format!("start {name:?} id {id:?}");
            if !dependencies.is_empty() {
                let _ = write!(line, " after {}", dependencies.join(","));
            }
            line
        }
        Seen::Argument { id, pointer, value } => format!("arg {id} {pointer}={value:?}"),
        Seen::Call {
            id,
            arguments,
            terminated_by,
            ..
        } => match arguments {
            Err(()) => format!("call {id} malformed, {terminated_by:?}"),
            Ok(pairs) => {
                let pairs: Vec<String> = pairs
                    .iter()
                    .map(|(pointer, value)| format!("{pointer}={value:?}"))
                    .collect();
                format!("call {id} ({}), {terminated_by:?}", pairs.join(" "))
            }
        },
        Seen::TagStart { block, tag, attrs } => {
            let mut line = format!("open {block} {tag}");
            for (name, value) in attrs {
                let _ = write!(line, " {name}={value:?}");
            }
            line
        }
        Seen::TagContent { block, content } => format!("content {block} {content:?}"),
        Seen::TagEnd { block, reason, .. } => format!("end {block} {reason:?}"),
        Seen::Tag {
            block,
            content,
            self_closing,
            ..
        } => {
            format!(
                "block {block} {content:?}{}",
                if *self_closing { " self-closing" } else { "" }
            )
        }
        Seen::Diagnostic(code, span) => {
            format!("{code:?} {:?}", &text[range(*span)])
        }
    }
}

fn range(span: Span) -> Range<usize> {
    usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap()
}

// Formats

fn anywhere() -> Format {
    Format { markers: Some(Markers::default()), ..Format::default() }
}

fn line_start() -> Format {
    Format {
        anchoring: Anchoring::LineStart,
        ..anywhere()
    }
}

fn tags(tags: &[&str]) -> Format {
    Format {
        tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
        ..anywhere()
    }
}

fn spelled(start: &str, end: &str, arg: &str) -> Format {
    Format {
        markers: Some(Markers::new(start, end, arg).unwrap()),
        ..anywhere()
    }
}

fn limited(mut format: Format, set: impl FnOnce(&mut Limits)) -> Format {
    set(&mut format.limits);
    format
}

// Rows

#[test]
#[rustfmt::skip]
fn prose() {
    check(&[
        ("everything else is text as it is", anywhere(), "a < b\r\n  c\té🙂 ",
            &[r#"text "a < b\r\n  c\té🙂 ""#]),
        ("without markers a marker is text", Format { markers: None, ..anywhere() }, "!!!GADGET_START:A:a\n!!!GADGET_END",
            &[r#"text "!!!GADGET_START:A:a\n!!!GADGET_END""#]),
        ("anywhere: a marker is one wherever it stands", anywhere(), "see !!!GADGET_START:A:a\n!!!GADGET_END and",
            &[r#"text "see ""#, r#"start "A" id "a""#, "call a (), EndMarker", r#"text " and""#]),
        ("anywhere: behind other marker characters too", anywhere(), "!!!!GADGET_START:A:a\n!!!GADGET_END",
            &[r#"text "!""#, r#"start "A" id "a""#, "call a (), EndMarker"]),
        ("anywhere: no escapes", anywhere(), "\\!!!GADGET_START:A:a\n!!!GADGET_END",
            &[r#"text "\\""#, r#"start "A" id "a""#, "call a (), EndMarker"]),
        ("line start: only behind blanks", line_start(), "see !!!GADGET_START:A\n \t!!!GADGET_START:A:a\n!!!GADGET_END",
            &[r#"text "see !!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#, r#"text ":A\n \t""#, r#"start "A" id "a""#,
              "call a (), EndMarker"]),
        ("line start: the reply begins a line", line_start(), " !!!GADGET_START:A:a\n!!!GADGET_END",
            &[r#"start "A" id "a""#, "call a (), EndMarker"]),
        ("line start: other white space is no blank", line_start(), "\u{a0}!!!GADGET_START:A:a\n",
            &[r#"text "\u{a0}!!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#, r#"text ":A:a\n""#]),
        ("line start: behind an end marker is no line start", line_start(), "!!!GADGET_START:A:a\n!!!GADGET_END!!!GADGET_START:B:b\n",
            &[r#"start "A" id "a""#, "call a (), EndMarker", r#"text "!!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#,
              r#"text ":B:b\n""#]),
        ("line start: a closing tag on the line counts as text before it", Format { anchoring: Anchoring::LineStart, ..tags(&["t"]) },
            "<t></t>!!!GADGET_START:A:a\n<t>\n</t>!!!GADGET_START:A:a\n",
            &["open 1 t", "end 1 Closed", r#"block 1 """#, r#"text "!!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#,
              r#"text ":A:a\n""#, "open 2 t", r#"content 2 "\n""#, "end 2 Closed", r#"block 2 "\n""#, r#"text "!!!GADGET_START""#,
              r#"NearMiss "!!!GADGET_START""#, r#"text ":A:a\n""#]),
        ("line start: one backslash is removed", line_start(), "x\n \\!!!GADGET_START:A\n",
            &[r#"text "x\n ""#, r#"EscapedMarker "\\""#, r#"text "!!!GADGET_START:A\n""#]),
        ("line start: the last of several backslashes", line_start(), "\\\\\\!!!ARG:y",
            &[r#"text "\\\\""#, r#"EscapedMarker "\\""#, r#"text "!!!ARG:y""#]),
        ("line start: before any of the three markers", line_start(), "\\!!!GADGET_END\n\\!!!ARG:\n",
            &[r#"EscapedMarker "\\""#, r#"text "!!!GADGET_END\n""#, r#"EscapedMarker "\\""#, r#"text "!!!ARG:\n""#]),
        ("line start: only directly before a marker", line_start(), "\\ !!!GADGET_START:A\n\\x\n",
            &[r#"text "\\ !!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#, r#"text ":A\n\\x\n""#]),
        ("line start: only behind blanks", line_start(), "a \\!!!GADGET_START:A\n",
            &[r#"text "a \\!!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#, r#"text ":A\n""#]),
        ("line start: blanks and backslashes are not mixed", line_start(), "\\ \\!!!GADGET_START:A\n",
            &[r#"text "\\ \\!!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#, r#"text ":A\n""#]),
        ("line start: up to limits.indent", limited(line_start(), |limits| limits.indent = 2),
            "  !!!GADGET_START:A:a\n  !!!GADGET_END\n \\!!!GADGET_END",
            &[r#"start "A" id "a""#, "call a (), EndMarker", r#"text "\n ""#, r#"EscapedMarker "\\""#, r#"text "!!!GADGET_END""#]),
        ("line start: too far in for a marker", limited(line_start(), |limits| limits.indent = 2), "   !!!GADGET_START:A:a\n",
            &[r#"text "   !!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#, r#"text ":A:a\n""#]),
        ("line start: too far in for an escape", limited(line_start(), |limits| limits.indent = 2), " \\\\!!!GADGET_START:A:a\n",
            &[r#"text " \\\\!!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#, r#"text ":A:a\n""#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn white_space() {
    check(&[
        ("alone in the reply", anywhere(), " \n\u{3000}",
            &[]),
        ("between gadget blocks and ends", anywhere(), "\n!!!GADGET_START:A:a\n!!!GADGET_END\n \n!!!GADGET_START:A:a\n!!!GADGET_END\n",
            &[r#"start "A" id "a""#, "call a (), EndMarker", r#"start "A" id "a""#, "call a (), EndMarker"]),
        ("with more it is text, all of it", anywhere(), "\n!!!GADGET_START:A:a\n!!!GADGET_END\n x\n!!!GADGET_START:A:a\n!!!GADGET_END y",
            &[r#"start "A" id "a""#, "call a (), EndMarker", r#"text "\n x\n""#, r#"start "A" id "a""#, "call a (), EndMarker",
              r#"text " y""#]),
        ("next to a custom block it is text", tags(&["t"]), " <t/>\n!!!GADGET_START:A:a\n!!!GADGET_END\n<t></t> ",
            &[r#"text " ""#, "open 1 t", "end 1 SelfClosing", r#"block 1 "" self-closing"#, r#"text "\n""#, r#"start "A" id "a""#,
              "call a (), EndMarker", r#"text "\n""#, "open 2 t", "end 2 Closed", r#"block 2 """#, r#"text " ""#]),
        ("between two custom blocks too", tags(&["t"]), "<t/>\n<t/>",
            &["open 1 t", "end 1 SelfClosing", r#"block 1 "" self-closing"#, r#"text "\n""#, "open 2 t", "end 2 SelfClosing",
              r#"block 2 "" self-closing"#]),
        ("as long as limits.whitespace", limited(anywhere(), |limits| limits.whitespace = 3), "   !!!GADGET_START:A:a\n",
            &[r#"start "A" id "a""#, "call a (), EndOfStream"]),
        ("longer than limits.whitespace it is text", limited(anywhere(), |limits| limits.whitespace = 3), "    !!!GADGET_START:A:a\n",
            &[r#"text "    ""#, r#"start "A" id "a""#, "call a (), EndOfStream"]),
        ("a given-back opener is no neighbour", tags(&["t"]), " <t  !!!GADGET_START:A",
            &[r#"text " <t  !!!GADGET_START:A""#]),
        ("blanks before a start marker are text", line_start(), "x\n  !!!GADGET_START:A:a\n",
            &[r#"text "x\n  ""#, r#"start "A" id "a""#, "call a (), EndOfStream"]),
    ]);
}

#[test]
#[rustfmt::skip]
fn headers() {
    check(&[
        ("to the first newline", anywhere(), "!!!GADGET_START: A : b : c , d \r\n!!!GADGET_END",
            &[r#"start "A" id "b" after c,d"#, "call b (), EndMarker"]),
        ("an end marker before the newline ends the block", anywhere(), "!!!GADGET_START:A:b!!!GADGET_END.\n",
            &[r#"start "A" id "b""#, "call b (), EndMarker", r#"text ".\n""#]),
        ("in line start too", line_start(), "!!!GADGET_START:A:b!!!GADGET_END.\n",
            &[r#"start "A" id "b""#, "call b (), EndMarker", r#"text ".\n""#]),
        ("an end marker behind the newline does not end the header", anywhere(), "!!!GADGET_START:A:b\n!!!GADGET_END",
            &[r#"start "A" id "b""#, "call b (), EndMarker"]),
        ("a newline at limits.header", limited(anywhere(), |limits| limits.header = 3), "!!!GADGET_START:A:b\n!!!GADGET_END",
            &[r#"start "A" id "b""#, "call b (), EndMarker"]),
        ("the first byte of the end marker at limits.header", limited(anywhere(), |limits| limits.header = 3),
            "!!!GADGET_START:A:b!!!GADGET_END",
            &[r#"start "A" id "b""#, "call b (), EndMarker"]),
        ("too long: text, and on behind the marker", limited(anywhere(), |limits| limits.header = 3),
            "x !!!GADGET_START:A:bc\n!!!GADGET_START:A:d\n!!!GADGET_END",
            &[r#"text "x ""#, r#"LimitExceeded "!!!GADGET_START:""#, r#"text "!!!GADGET_START:A:bc\n""#, r#"start "A" id "d""#,
              "call d (), EndMarker"]),
        ("the reply ends first", anywhere(), "x !!!GADGET_START:A:b",
            &[r#"text "x !!!GADGET_START:A:b""#]),
        ("the reply ends first, on the limit", limited(anywhere(), |limits| limits.header = 3), "!!!GADGET_START:A:b",
            &[r#"text "!!!GADGET_START:A:b""#]),
        ("reading goes on right behind it", tags(&["t"]), "!!!GADGET_START:<t/>",
            &[r#"text "!!!GADGET_START:""#, "open 1 t", "end 1 SelfClosing", r#"block 1 "" self-closing"#]),
        ("line start: on behind a given-back marker is no line start", limited(line_start(), |limits| limits.header = 3),
            "!!!GADGET_START:!!!GADGET_START:A:a\n",
            &[r#"LimitExceeded "!!!GADGET_START:""#, r#"text "!!!GADGET_START:!!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#,
              r#"text ":A:a\n""#]),
        ("ids are counted from 1, only the auto ones", anywhere(),
            "!!!GADGET_START:A\n!!!GADGET_START:B:b\n!!!GADGET_START:C: :x\n!!!GADGET_START:D",
            &[r#"start "A" id "gadget_1""#, "call gadget_1 (), NextStart", r#"start "B" id "b""#, "call b (), NextStart",
              r#"start "C" id "gadget_2" after x"#, "call gadget_2 (), NextStart", r#"text "!!!GADGET_START:D""#]),
        ("dependencies: at commas and colons, trimmed, none empty, none twice", anywhere(),
            "!!!GADGET_START:A:a:x , y:z,, x:: y\n!!!GADGET_END",
            &[r#"start "A" id "a" after x,y,z"#, "call a (), EndMarker"]),
        ("a name is any run", anywhere(), "!!!GADGET_START: get user.é/x \n!!!GADGET_END",
            &[r#"start "get user.é/x" id "gadget_1""#, "call gadget_1 (), EndMarker"]),
        ("an empty name", anywhere(), "!!!GADGET_START:\n!!!GADGET_END",
            &[r#"start "" id "gadget_1""#, "call gadget_1 (), EndMarker"]),
        ("other markers in a header are part of it", anywhere(), "!!!GADGET_START:A:!!!ARG:x !!!GADGET_START:\n!!!GADGET_END",
            &[r#"start "A" id "!!!ARG" after x !!!GADGET_START"#, "call !!!ARG (), EndMarker"]),
    ]);
}

#[test]
#[rustfmt::skip]
fn bodies() {
    check(&[
        ("ends at an end marker", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n!!!GADGET_END\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"call a (x="1"), EndMarker"#, r#"text "\n!!!GADGET_END""#,
              r#"StrayMarker "!!!GADGET_END""#]),
        ("ends at a start marker, which begins the next block", anywhere(),
            "!!!GADGET_START:A:a\n!!!ARG:x\n1\n!!!GADGET_START:B:b\n!!!ARG:y\n2\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"call a (x="1"), NextStart"#, r#"start "B" id "b""#, r#"arg b y="2""#,
              r#"call b (y="2"), EndMarker"#]),
        ("ends at a start marker whose header comes to nothing", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n!!!GADGET_START:B",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"call a (x="1"), NextStart"#, r#"text "!!!GADGET_START:B""#]),
        ("ends with the reply", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"call a (x="1"), EndOfStream"#]),
        ("no parameters", anywhere(), "!!!GADGET_START:A:a\n \r\n!!!GADGET_END",
            &[r#"start "A" id "a""#, "call a (), EndMarker"]),
        ("line start: markers inside lines are text", line_start(),
            "!!!GADGET_START:A:a\n!!!ARG:x\nsay !!!GADGET_END or !!!ARG:y\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="say !!!GADGET_END or !!!ARG:y""#, r#"NearMiss "!!!GADGET_END""#, r#"NearMiss "!!!ARG""#,
              r#"call a (x="say !!!GADGET_END or !!!ARG:y"), EndMarker"#]),
        ("line start: blanks before a marker belong to no value", line_start(),
            "!!!GADGET_START:A:a\n  !!!ARG:x\n1\n\t !!!ARG:y\n2 \n  !!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"arg a y="2 ""#, r#"call a (x="1" y="2 "), EndMarker"#]),
        ("line start: at the end of the reply blanks are value", line_start(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n  ",
            &[r#"start "A" id "a""#, r#"arg a x="1\n  ""#, r#"call a (x="1\n  "), EndOfStream"#]),
        ("tags inside a block are text", tags(&["t"]), "!!!GADGET_START:A:a\n!!!ARG:x\n<t>\n!!!GADGET_END<t/>",
            &[r#"start "A" id "a""#, r#"arg a x="<t>""#, r#"call a (x="<t>"), EndMarker"#, "open 1 t", "end 1 SelfClosing",
              r#"block 1 "" self-closing"#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn pointers_and_values() {
    check(&[
        ("trimmed", anywhere(), "!!!GADGET_START:A:a\n!!!ARG: a/b \t\r\n1\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a a/b="1""#, r#"call a (a/b="1"), EndMarker"#]),
        ("anywhere: to the next marker if that comes first", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x!!!ARG:y\n2\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="""#, r#"arg a y="2""#, r#"call a (x="" y="2"), EndMarker"#]),
        ("anywhere: an end marker on the line", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x !!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="""#, r#"call a (x=""), EndMarker"#]),
        ("line start: only to the newline", line_start(), "!!!GADGET_START:A:a\n!!!ARG:x!!!ARG:y\n2\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x!!!ARG:y="2""#, r#"call a (x!!!ARG:y="2"), EndMarker"#]),
        ("cut by the end of the reply", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n!!!ARG:y",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, "call a malformed, EndOfStream"]),
        ("empty or with white space: no delta, malformed", anywhere(),
            "!!!GADGET_START:A:a\n!!!ARG:\n1\n!!!ARG:x 5\n!!!ARG:z\n2\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a z="2""#, "call a malformed, EndMarker"]),
        ("minus one trailing newline", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n\n1\n\n!!!ARG:y\n\n!!!ARG:z\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="\n1\n""#, r#"arg a y="""#, r#"arg a z="""#, r#"call a (x="\n1\n" y="" z=""), EndMarker"#]),
        ("minus one trailing CRLF; those inside stay", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\r\n1\r\n2\r\n\r\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1\r\n2\r\n""#, r#"call a (x="1\r\n2\r\n"), EndMarker"#]),
        ("a lone carriage return stays", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\r!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1\r""#, r#"call a (x="1\r"), EndMarker"#]),
        ("without a newline", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"call a (x="1"), EndMarker"#]),
        ("blanks are kept", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n  1  \n  !!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="  1  \n  ""#, r#"call a (x="  1  \n  "), EndMarker"#]),
        ("line start: escapes in values", line_start(), "!!!GADGET_START:A:a\n!!!ARG:x\n\\!!!GADGET_END\n  \\\\!!!ARG:y\n\\a\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="!!!GADGET_END\n  \\!!!ARG:y\n\\a""#, r#"EscapedMarker "\\""#, r#"EscapedMarker "\\""#,
              r#"call a (x="!!!GADGET_END\n  \\!!!ARG:y\n\\a"), EndMarker"#]),
        ("anywhere: no escapes in values", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n\\!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="\\""#, r#"call a (x="\\"), EndMarker"#]),
        ("the same pointer twice is not the scanner's business", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n!!!ARG:x\n2\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"arg a x="2""#, r#"call a (x="1" x="2"), EndMarker"#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn fences() {
    check(&[
        ("a pair around the arguments", anywhere(), "!!!GADGET_START:A:a\n```text\n!!!ARG:x\n1\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"FenceRemoved "```""#, r#"call a (x="1"), EndMarker"#]),
        ("with CRLF", anywhere(), "!!!GADGET_START:A:a\n```\r\n!!!ARG:x\r\n1\r\n```\r\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"FenceRemoved "```""#, r#"call a (x="1"), EndMarker"#]),
        ("blanks around, longer closing", line_start(), "!!!GADGET_START:A:a\n ```\n  !!!ARG:x\n1\n ```` \n  !!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"FenceRemoved " ```` ""#, r#"call a (x="1"), EndMarker"#]),
        ("at the end of the reply", anywhere(), "!!!GADGET_START:A:a\n```\n!!!ARG:x\n1\n```",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"FenceRemoved "```""#, r#"call a (x="1"), EndOfStream"#]),
        ("the closing line alone in the value", anywhere(), "!!!GADGET_START:A:a\n```\n!!!ARG:x\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="""#, r#"FenceRemoved "```""#, r#"call a (x=""), EndMarker"#]),
        ("empty lines behind the opening", anywhere(), "!!!GADGET_START:A:a\n```\n \n!!!ARG:x\n1\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"FenceRemoved "```""#, r#"call a (x="1"), EndMarker"#]),
        ("closing too short", anywhere(), "!!!GADGET_START:A:a\n````\n!!!ARG:x\n1\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1\n```""#, r#"TextBeforeArguments "````""#, r#"call a (x="1\n```"), EndMarker"#]),
        ("no opening", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1\n```""#, r#"call a (x="1\n```"), EndMarker"#]),
        ("no closing", anywhere(), "!!!GADGET_START:A:a\n```\n!!!ARG:x\n1\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"TextBeforeArguments "```""#, r#"call a (x="1"), EndMarker"#]),
        ("opening with another backtick", anywhere(), "!!!GADGET_START:A:a\n```a`\n!!!ARG:x\n1\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1\n```""#, r#"TextBeforeArguments "```a`""#, r#"call a (x="1\n```"), EndMarker"#]),
        ("closing with a word", anywhere(), "!!!GADGET_START:A:a\n```\n!!!ARG:x\n1\n```a\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1\n```a""#, r#"TextBeforeArguments "```""#, r#"call a (x="1\n```a"), EndMarker"#]),
        ("an empty line behind the closing", anywhere(), "!!!GADGET_START:A:a\n```\n!!!ARG:x\n1\n```\n\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1\n```\n""#, r#"TextBeforeArguments "```""#, r#"call a (x="1\n```\n"), EndMarker"#]),
        ("the value has its own pair", anywhere(), "!!!GADGET_START:A:a\n```\n!!!ARG:x\n```rust\n1\n```\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="```rust\n1\n```""#, r#"FenceRemoved "```""#, r#"call a (x="```rust\n1\n```"), EndMarker"#]),
        ("the closing belongs to the value's own fence", anywhere(), "!!!GADGET_START:A:a\n```\n!!!ARG:x\n```rust\n1\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="```rust\n1\n```""#, r#"TextBeforeArguments "```""#,
              r#"call a (x="```rust\n1\n```"), EndMarker"#]),
        ("only in the last value", anywhere(), "!!!GADGET_START:A:a\n```\n!!!ARG:x\n1\n```\n!!!ARG:y\n2\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1\n```""#, r#"arg a y="2""#, r#"TextBeforeArguments "```""#,
              r#"call a (x="1\n```" y="2"), EndMarker"#]),
        ("text before the opening", anywhere(), "!!!GADGET_START:A:a\nHere:\n```\n!!!ARG:x\n1\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"FenceRemoved "```""#, r#"TextBeforeArguments "Here:""#,
              r#"call a (x="1"), EndMarker"#]),
        ("text behind the opening", anywhere(), "!!!GADGET_START:A:a\n```\nHere:\n!!!ARG:x\n1\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1\n```""#, r#"TextBeforeArguments "```\nHere:""#, r#"call a (x="1\n```"), EndMarker"#]),
        ("longer than limits.indent", limited(anywhere(), |limits| limits.indent = 3),
            "!!!GADGET_START:A:a\n```\n!!!ARG:x\n1\n``` \n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1\n``` ""#, r#"TextBeforeArguments "```""#, r#"call a (x="1\n``` "), EndMarker"#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn text_and_json() {
    check(&[
        ("text before the first argument", anywhere(), "!!!GADGET_START:A:a\n \nlook at\nthis \n!!!ARG:x\n1\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"TextBeforeArguments "look at\nthis""#, r#"call a (x="1"), EndMarker"#]),
        ("text and no argument", anywhere(), "!!!GADGET_START:A:a\nlook\n!!!GADGET_END",
            &[r#"start "A" id "a""#, "call a malformed, EndMarker"]),
        ("one JSON object", anywhere(), "!!!GADGET_START:A:a\n {\"a\": 1}\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"JsonBody "{\"a\": 1}""#, r#"call a (="{\"a\": 1}"), EndMarker"#]),
        ("in fences", anywhere(), "!!!GADGET_START:A:a\n\n```json\n{\"a\":\n1}\n```\n\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"JsonBody "{\"a\":\n1}""#, r#"call a (="{\"a\":\n1}"), EndMarker"#]),
        ("in fences with CRLF", anywhere(), "!!!GADGET_START:A:a\n```json\r\n{}\r\n```\r\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"JsonBody "{}""#, r#"call a (="{}"), EndMarker"#]),
        ("no object", anywhere(), "!!!GADGET_START:A:a\n[1]\n!!!GADGET_END",
            &[r#"start "A" id "a""#, "call a malformed, EndMarker"]),
        ("not one object", anywhere(), "!!!GADGET_START:A:a\n{} {}\n!!!GADGET_END",
            &[r#"start "A" id "a""#, "call a malformed, EndMarker"]),
        ("only one fence line", anywhere(), "!!!GADGET_START:A:a\n```\n{}\n!!!GADGET_END",
            &[r#"start "A" id "a""#, "call a malformed, EndMarker"]),
        ("fences and nothing", anywhere(), "!!!GADGET_START:A:a\n```\n```\n!!!GADGET_END",
            &[r#"start "A" id "a""#, "call a malformed, EndMarker"]),
        ("JSON and arguments", anywhere(), "!!!GADGET_START:A:a\n{}\n!!!ARG:x\n1\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"TextBeforeArguments "{}""#, r#"call a (x="1"), EndMarker"#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn partial_markers() {
    check(&[
        ("dropped with the newline before it", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n!!!GADGET_EN",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"PartialMarker "!!!GADGET_EN""#, r#"call a (x="1"), EndOfStream"#]),
        ("with CRLF", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\r\n!!!ARG",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"PartialMarker "!!!ARG""#, r#"call a (x="1"), EndOfStream"#]),
        ("without letters it is value", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n!!!",
            &[r#"start "A" id "a""#, r#"arg a x="1\n!!!""#, r#"call a (x="1\n!!!"), EndOfStream"#]),
        ("not at a line start it is value", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1 !!!GADGET_EN",
            &[r#"start "A" id "a""#, r#"arg a x="1 !!!GADGET_EN""#, r#"call a (x="1 !!!GADGET_EN"), EndOfStream"#]),
        ("behind blanks it is value", line_start(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n !!!GADGET_EN",
            &[r#"start "A" id "a""#, r#"arg a x="1\n !!!GADGET_EN""#, r#"call a (x="1\n !!!GADGET_EN"), EndOfStream"#]),
        ("the whole value", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n!!!GADGET_START",
            &[r#"start "A" id "a""#, r#"arg a x="""#, r#"PartialMarker "!!!GADGET_START""#, r#"call a (x=""), EndOfStream"#]),
        ("only at the end of the reply", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n!!!GADGET_EN\n",
            &[r#"start "A" id "a""#, r#"arg a x="!!!GADGET_EN""#, r#"call a (x="!!!GADGET_EN"), EndOfStream"#]),
        ("before the fence is looked for", anywhere(), "!!!GADGET_START:A:a\n```\n!!!ARG:x\n1\n```\n!!!GADGET_EN",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"FenceRemoved "```""#, r#"PartialMarker "!!!GADGET_EN""#,
              r#"call a (x="1"), EndOfStream"#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn limits() {
    check(&[
        ("a value as long as limits.value", limited(anywhere(), |limits| limits.value = 2),
            "!!!GADGET_START:A:a\n!!!ARG:x\n12\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="12""#, r#"call a (x="12"), EndMarker"#]),
        ("a longer one is still read to its end", limited(anywhere(), |limits| limits.value = 2),
            "!!!GADGET_START:A:a\n!!!ARG:x\n123\n!!!ARG:y\n4\n!!!GADGET_END.",
            &[r#"start "A" id "a""#, r#"arg a x="123""#, r#"arg a y="4""#, "call a malformed, EndMarker", r#"text ".""#]),
        ("a pointer as long as limits.pointer", limited(anywhere(), |limits| limits.pointer = 2),
            "!!!GADGET_START:A:a\n!!!ARG: xy \n1\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a xy="1""#, r#"call a (xy="1"), EndMarker"#]),
        ("a longer one", limited(anywhere(), |limits| limits.pointer = 2), "!!!GADGET_START:A:a\n!!!ARG:xyz\n1\n!!!ARG:y\n2\n!!!GADGET_END.",
            &[r#"start "A" id "a""#, r#"arg a y="2""#, "call a malformed, EndMarker", r#"text ".""#]),
        ("a body as long as limits.block", limited(anywhere(), |limits| limits.block = 11),
            "!!!GADGET_START:A:a\n!!!ARG:x\n1\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"call a (x="1"), EndMarker"#]),
        ("a longer one", limited(anywhere(), |limits| limits.block = 11),
            "!!!GADGET_START:A:a\n!!!ARG:x\n1\n!!!ARG:y\n!!gadget_end\n!!!GADGET_END.",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, "call a malformed, EndMarker", r#"text ".""#]),
        ("a longer one without arguments", limited(anywhere(), |limits| limits.block = 1), "!!!GADGET_START:A:a\n{}\n!!!GADGET_END.",
            &[r#"start "A" id "a""#, "call a malformed, EndMarker", r#"text ".""#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn order_of_diagnostics() {
    check(&[
        ("right before the call", line_start(), "!!!GADGET_START:A:a\nsee\n```\n!!!ARG:x\n!!arg:\n\\!!!GADGET_END\n```\n!!!GADGET_EN",
            &[r#"start "A" id "a""#, r#"arg a x="!!arg:\n!!!GADGET_END""#, r#"EscapedMarker "\\""#, r#"FenceRemoved "```""#,
              r#"TextBeforeArguments "see""#, r#"PartialMarker "!!!GADGET_EN""#, r#"NearMiss "!!arg""#,
              r#"call a (x="!!arg:\n!!!GADGET_END"), EndOfStream"#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn near_misses() {
    check(&[
        ("case", anywhere(), "!!!gadget_start:A",
            &[r#"text "!!!gadget_start""#, r#"NearMiss "!!!gadget_start""#, r#"text ":A""#]),
        ("underscore and hyphen", anywhere(), "!!!GADGET-END and !!!gadgetend.",
            &[r#"text "!!!GADGET-END""#, r#"NearMiss "!!!GADGET-END""#, r#"text " and !!!gadgetend""#, r#"NearMiss "!!!gadgetend""#,
              r#"text ".""#]),
        ("run of two, run of four", anywhere(), "!!GADGET_START:A !!!!GADGET_END",
            &[r#"text "!!GADGET_START""#, r#"NearMiss "!!GADGET_START""#, r#"text ":A !!!!GADGET_END""#, r#"NearMiss "!!!!GADGET_END""#]),
        ("a run of one is none", anywhere(), "!GADGET_START:A",
            &[r#"text "!GADGET_START:A""#]),
        ("the first character behind the word of the marker", anywhere(), "!!arg !!arg: !!gadget_start.",
            &[r#"text "!!arg !!arg""#, r#"NearMiss "!!arg""#, r#"text ": !!gadget_start.""#]),
        ("at the end of the reply", anywhere(), "!!gadget_end",
            &[r#"text "!!gadget_end""#, r#"NearMiss "!!gadget_end""#]),
        ("another word", anywhere(), "!!GADGET_STARTS: !!!x !!!",
            &[r#"text "!!GADGET_STARTS: !!!x !!!""#]),
        ("behind its text and before what follows", tags(&["t"]), "!!gadget_end<t/>",
            &[r#"text "!!gadget_end""#, r#"NearMiss "!!gadget_end""#, "open 1 t", "end 1 SelfClosing", r#"block 1 "" self-closing"#]),
        ("line start: an exact start marker that does not count", line_start(), "x !!!GADGET_START:A\n",
            &[r#"text "x !!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#, r#"text ":A\n""#]),
        ("stray: an exact end or argument marker in prose", anywhere(), "!!!GADGET_END !!!ARG:x",
            &[r#"text "!!!GADGET_END""#, r#"StrayMarker "!!!GADGET_END""#, r#"text " !!!ARG""#, r#"StrayMarker "!!!ARG""#, r#"text ":x""#]),
        ("stray in line start, wherever it stands", line_start(), "!!!GADGET_END\nx !!!GADGET_END",
            &[r#"text "!!!GADGET_END""#, r#"StrayMarker "!!!GADGET_END""#, r#"text "\nx !!!GADGET_END""#, r#"StrayMarker "!!!GADGET_END""#]),
        ("not stray: a longer word", anywhere(), "!!!GADGET_ENDING",
            &[r#"text "!!!GADGET_ENDING""#]),
        ("another envelope with the exact run", anywhere(), "!!!TOOL_CALL:x !!!INVOKE: !!TOOL_CALL:x !!!TOOL x !!!tool:",
            &[r#"text "!!!TOOL_CALL""#, r#"NearMiss "!!!TOOL_CALL""#, r#"text ":x !!!INVOKE""#, r#"NearMiss "!!!INVOKE""#,
              r#"text ": !!TOOL_CALL:x !!!TOOL x !!!tool:""#]),
        ("an opener inside run and word comes first", limited(anywhere(), |limits| limits.header = 0), "!!!!GADGET_START:x",
            &[r#"text "!""#, r#"LimitExceeded "!!!GADGET_START:""#, r#"text "!!!GADGET_START:x""#]),
        ("a given-back start marker is none", anywhere(), "!!!GADGET_START:x",
            &[r#"text "!!!GADGET_START:x""#]),
        ("words up to 40 bytes", spelled(&format!("!!!{}", "S".repeat(41)), &format!("!!!{}", "E".repeat(40)), "!!!A"),
            "!!sssssssssssssssssssssssssssssssssssssssss !!eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
            &[r#"text "!!sssssssssssssssssssssssssssssssssssssssss !!eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee""#,
              r#"NearMiss "!!eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee""#]),
        ("markers without a common run", spelled("<<<START:", "<<<END:", "@param:"), "<<start: @param: <<<END:",
            &[r#"text "<<start: @param: <<<END:""#]),
        ("in values", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n!!arg:y !!!TOOL:\n!!!ARG:y\n!!gadget_end\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="!!arg:y !!!TOOL:""#, r#"arg a y="!!gadget_end""#, r#"NearMiss "!!arg""#,
              r#"NearMiss "!!!TOOL""#, r#"NearMiss "!!gadget_end""#, r#"call a (x="!!arg:y !!!TOOL:" y="!!gadget_end"), EndMarker"#]),
        ("in values an exact marker that does not count", line_start(),
            "!!!GADGET_START:A:a\n!!!ARG:x\nsay !!!GADGET_END now\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a x="say !!!GADGET_END now""#, r#"NearMiss "!!!GADGET_END""#,
              r#"call a (x="say !!!GADGET_END now"), EndMarker"#]),
        ("not in pointers and not before the arguments", anywhere(), "!!!GADGET_START:A:a\n!!arg:\n!!!ARG:!!gadget_end\n1\n!!!GADGET_END",
            &[r#"start "A" id "a""#, r#"arg a !!gadget_end="1""#, r#"TextBeforeArguments "!!arg:""#,
              r#"call a (!!gadget_end="1"), EndMarker"#]),
        ("nonce markers", Format { markers: Some(Markers::nonce(7)), ..anywhere() }, "!!!GADGET_END !!!GADGET_END_ !!!GADGET_START:",
            &[r#"text "!!!GADGET_END !!!GADGET_END_ !!!GADGET_START:""#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn tags_open() {
    check(&[
        ("with content", tags(&["think"]), "a<think>b</think>c",
            &[r#"text "a""#, "open 1 think", r#"content 1 "b""#, "end 1 Closed", r#"block 1 "b""#, r#"text "c""#]),
        ("`>` `/` white space behind the name", tags(&["t"]), "<t/><t /><t\n></t><t\r></t><t\t>",
            &["open 1 t", "end 1 SelfClosing", r#"block 1 "" self-closing"#, "open 2 t", "end 2 SelfClosing", r#"block 2 "" self-closing"#,
              "open 3 t", "end 3 Closed", r#"block 3 """#, "open 4 t", "end 4 Closed", r#"block 4 """#, "open 5 t", "end 5 EndOfStream",
              r#"block 5 """#]),
        ("anything else behind it", tags(&["t"]), "<t.><t<tt>",
            &[r#"text "<t.><t<tt>""#]),
        ("case-sensitive", tags(&["t"]), "<T></t>",
            &[r#"text "<T></t>""#]),
        ("names that begin alike", tags(&["thin", "think"]), "<think></thin></think><thin></thin>",
            &["open 1 think", r#"content 1 "</thin>""#, "end 1 Closed", r#"block 1 "</thin>""#, "open 2 thin", "end 2 Closed",
              r#"block 2 """#]),
        ("names that are none", tags(&["2nd", "n:s", "", "é"]), "<2nd><n:s><><é>",
            &[r#"text "<2nd><n:s><><é>""#]),
        ("as long as limits.tagName", limited(tags(&["abc", "abcd"]), |limits| limits.tag_name = 3), "<abcd/><abc/>",
            &[r#"text "<abcd/>""#, "open 1 abc", "end 1 SelfClosing", r#"block 1 "" self-closing"#]),
        ("not registered", tags(&["t"]), "<b>x</b>",
            &[r#"text "<b>x</b>""#]),
        ("a start marker wins at the same place", Format { tags: vec!["run".to_owned()], ..spelled("<run ", "<end>", "<arg>") },
            "<run A:a\n<end><run><end>",
            &[r#"start "A" id "a""#, "call a (), EndMarker", "open 1 run", r#"content 1 "<end>""#, "end 1 EndOfStream", r#"block 1 "<end>""#]),
        ("in line start as well, inside a line", Format { anchoring: Anchoring::LineStart, ..tags(&["t"]) }, "x <t>y</t>",
            &[r#"text "x ""#, "open 1 t", r#"content 1 "y""#, "end 1 Closed", r#"block 1 "y""#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn attributes() {
    check(&[
        ("double, single, unquoted, none", tags(&["t"]), "<t a=\"1\" b='2' c=3 d>",
            &[r#"open 1 t a="1" b="2" c="3" d="""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("blanks and newlines around the sign and between", tags(&["t"]), "<t\n a =\n\"1\"\t b\r\n= 2 >",
            &[r#"open 1 t a="1" b="2""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("not needed behind a quoted value", tags(&["t"]), "<t a=\"1\"b='2'c>",
            &[r#"open 1 t a="1" b="2" c="""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("needed behind others", tags(&["t"]), "<t a\"b\"><t a=1\"b\">",
            &[r#"text "<t a\"b\">""#, r#"open 1 t a="1\"b\"""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("names", tags(&["t"]), "<t _a:b.c-d=1 :x>",
            &[r#"open 1 t _a:b.c-d="1" :x="""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("no names", tags(&["t"]), "<t 1a><t -a><t a=1 é=2>",
            &[r#"text "<t 1a><t -a><t a=1 é=2>""#]),
        ("in quotes everything up to the same quote", tags(&["t"]), "<t a=\"<b> 'c' />\n\">",
            &[r#"open 1 t a="<b> 'c' />\n""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("unquoted up to white space or `>`", tags(&["t"]), "<t u=https://e.org/p?a='b' v=/>",
            &[r#"open 1 t u="https://e.org/p?a='b'" v="/""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("unquoted without `<`", tags(&["t"]), "<t a=b<c>",
            &[r#"text "<t a=b<c>""#]),
        ("`name=` before `>`", tags(&["t"]), "<t a=>",
            &[r#"open 1 t a="""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("`name=`, blank, `>`", tags(&["t"]), "<t a= >",
            &[r#"open 1 t a="""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("closing itself", tags(&["t"]), "<t/><t a/><t a='1'/><t / /\n>x",
            &["open 1 t", "end 1 SelfClosing", r#"block 1 "" self-closing"#, r#"open 2 t a="""#, "end 2 SelfClosing",
              r#"block 2 "" self-closing"#, r#"open 3 t a="1""#, "end 3 SelfClosing", r#"block 3 "" self-closing"#, "open 4 t",
              "end 4 SelfClosing", r#"block 4 "" self-closing"#, r#"text "x""#]),
        ("a slash elsewhere", tags(&["t"]), "<t / a><t/a>",
            &[r#"text "<t / a><t/a>""#]),
        ("entities, once", tags(&["t"]), "<t a='&lt;&gt;&amp;&quot;&apos;' b=&amp;lt; c='&nope;&#65;&lt'>",
            &[r#"open 1 t a="<>&\"'" b="&lt;" c="&nope;&#65;&lt""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("a repeated name keeps its place", tags(&["t"]), "<t a=1 b=2 a=3>",
            &[r#"open 1 t a="3" b="2""#, "end 1 EndOfStream", r#"block 1 """#]),
        ("no tag: on right behind the `<`", tags(&["t"]), "<t !<t><t",
            &[r#"text "<t !""#, "open 1 t", r#"content 1 "<t""#, "end 1 EndOfStream", r#"block 1 "<t""#]),
        ("a quote that never ends", tags(&["t"]), "<t a=\"b>",
            &[r#"text "<t a=\"b>""#]),
        ("`>` among the first limits.attributes bytes", limited(tags(&["t"]), |limits| limits.attributes = 3), "<t a></t>",
            &[r#"open 1 t a="""#, "end 1 Closed", r#"block 1 """#]),
        ("`>` behind them", limited(tags(&["t"]), |limits| limits.attributes = 3), "x<t ab></t>",
            &[r#"text "x""#, r#"LimitExceeded "<""#, r#"text "<t ab></t>""#]),
        ("the limit on the end of the reply", limited(tags(&["t"]), |limits| limits.attributes = 3), "<t a <t a",
            &[r#"LimitExceeded "<""#, r#"text "<t a <t a""#]),
        ("the limit in a character", limited(tags(&["t"]), |limits| limits.attributes = 5), "<t a='é'></t>",
            &[r#"LimitExceeded "<""#, r#"text "<t a='é'></t>""#]),
        ("bad syntax before the limit", limited(tags(&["t"]), |limits| limits.attributes = 3), "<t !abc>",
            &[r#"text "<t !abc>""#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn contents() {
    check(&[
        ("to the first closing tag", tags(&["t"]), "<t>a<t>b</t>c</t>",
            &["open 1 t", r#"content 1 "a<t>b""#, "end 1 Closed", r#"block 1 "a<t>b""#, r#"text "c</t>""#]),
        ("everything else is content", tags(&["t", "u"]), "<t><u/>!!!GADGET_START:A:a\n</u></ t></tt></T>!!!GADGET_END</t>",
            &["open 1 t", r#"content 1 "<u/>!!!GADGET_START:A:a\n</u></ t></tt></T>!!!GADGET_END""#, "end 1 Closed",
              r#"block 1 "<u/>!!!GADGET_START:A:a\n</u></ t></tt></T>!!!GADGET_END""#]),
        ("white space in the closing tag", tags(&["t"]), "<t>a</t \n>b",
            &["open 1 t", r#"content 1 "a""#, "end 1 Closed", r#"block 1 "a""#, r#"text "b""#]),
        ("as much as limits.indent", limited(tags(&["t"]), |limits| limits.indent = 1), "<t>a</t  >b</t >c",
            &["open 1 t", r#"content 1 "a</t  >b""#, "end 1 Closed", r#"block 1 "a</t  >b""#, r#"text "c""#]),
        ("false starts", tags(&["t"]), "<t>a<</</t>b",
            &["open 1 t", r#"content 1 "a<</""#, "end 1 Closed", r#"block 1 "a<</""#, r#"text "b""#]),
        ("ids count up", tags(&["t"]), "<t></t><t/><t>",
            &["open 1 t", "end 1 Closed", r#"block 1 """#, "open 2 t", "end 2 SelfClosing", r#"block 2 "" self-closing"#, "open 3 t",
              "end 3 EndOfStream", r#"block 3 """#]),
        ("as long as limits.tagContent", limited(tags(&["t"]), |limits| limits.tag_content = 3), "<t>abc</t>",
            &["open 1 t", r#"content 1 "abc""#, "end 1 Closed", r#"block 1 "abc""#]),
        ("longer", limited(tags(&["t"]), |limits| limits.tag_content = 3), "<t>abcd</t>e",
            &["open 1 t", r#"content 1 "abc""#, r#"LimitExceeded """#, "end 1 Limit", r#"block 1 "abc""#, r#"text "d</t>e""#]),
        ("cut at a character", limited(tags(&["t"]), |limits| limits.tag_content = 2), "<t>aéb</t>",
            &["open 1 t", r#"content 1 "a""#, r#"LimitExceeded """#, "end 1 Limit", r#"block 1 "a""#, r#"text "éb</t>""#]),
        ("cut to nothing", limited(tags(&["t"]), |limits| limits.tag_content = 1), "<t>é</t>",
            &["open 1 t", r#"LimitExceeded """#, "end 1 Limit", r#"block 1 """#, r#"text "é</t>""#]),
        ("the rest is prose with openers", limited(tags(&["t"]), |limits| limits.tag_content = 1), "<t>ab<t/>!!!GADGET_START:A:a\n",
            &["open 1 t", r#"content 1 "a""#, r#"LimitExceeded """#, "end 1 Limit", r#"block 1 "a""#, r#"text "b""#, "open 2 t",
              "end 2 SelfClosing", r#"block 2 "" self-closing"#, r#"start "A" id "a""#, "call a (), EndOfStream"]),
        ("unclosed at the limit", limited(tags(&["t"]), |limits| limits.tag_content = 3), "<t>abc",
            &["open 1 t", r#"content 1 "abc""#, "end 1 EndOfStream", r#"block 1 "abc""#]),
        ("unclosed", tags(&["t"]), "<t>a</t",
            &["open 1 t", r#"content 1 "a</t""#, "end 1 EndOfStream", r#"block 1 "a</t""#]),
        ("unclosed and empty", tags(&["t"]), "<t>",
            &["open 1 t", "end 1 EndOfStream", r#"block 1 """#]),
    ]);
}

// Whole texts

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

/// Texts and the spans of calls rebuild a reply, but for white space that stands alone.
#[test]
fn nothing_is_lost() {
    for seed in 0..5000 {
        let (format, text) = generate::case(seed);
        let format = Format {
            anchoring: Anchoring::Anywhere,
            tags: Vec::new(),
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
    assert_eq!(kinds.len(), 4 + 6 + 3 + 4 + 8, "{kinds:#?}");
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

// Vectors

/// Texts and calls of a block vector, in order: `["text", …]` joined, `["call", {…}]` with parameters as text.
#[test]
fn block_vectors() {
    let file: Value = serde_json::from_str(include_str!("conformance/block-vectors.json")).unwrap();
    let mut count = 0;
    for vector in file["vectors"].as_array().unwrap() {
        if vector["area"] != "parser" {
            continue;
        }
        count += 1;
        let id = vector["id"].as_str().unwrap();
        let options = &vector["input"]["options"];
        let format = match options["startPrefix"].as_str() {
            Some(start) => spelled(
                start,
                options["endPrefix"].as_str().unwrap(),
                options["argPrefix"].as_str().unwrap(),
            ),
            None => anywhere(),
        };
        let mut seen = Vec::new();
        let mut text = String::new();
        for event in read(&joined(&vector["input"]["chunks"]), &format) {
            match event {
                Seen::Text(more) => text += &more,
                Seen::Call {
                    name,
                    id,
                    dependencies,
                    arguments,
                    ..
                } => {
                    flush(&mut seen, &mut text);
                    seen.push(format!("call {name} {id} {dependencies:?} {arguments:?}"));
                }
                _ => {}
            }
        }
        flush(&mut seen, &mut text);
        assert_eq!(
            seen,
            deviation(id).unwrap_or_else(|| vector_events(vector)),
            "{id} {}",
            vector["title"]
        );
    }
    assert_eq!(count, 20);
}

fn vector_events(vector: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let mut text = String::new();
    let feeds = vector["expect"]["feeds"].as_array().unwrap();
    for event in feeds
        .iter()
        .chain([&vector["expect"]["finalize"]])
        .flat_map(|events| events.as_array().unwrap())
    {
        match event[0].as_str().unwrap() {
            "text" => text += event[1].as_str().unwrap(),
            "call" => {
                flush(&mut lines, &mut text);
                let call = &event[1];
                let id = call["id"].as_str().unwrap().replace('$', "gadget_");
                let dependencies: Vec<&str> = call["deps"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|dep| dep.as_str().unwrap())
                    .collect();
                let pairs: Vec<(String, String)> = call["params"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(name, value)| {
                        (
                            name.clone(),
                            value
                                .as_str()
                                .map_or_else(|| value.to_string(), str::to_owned),
                        )
                    })
                    .collect();
                let arguments: Result<_, ()> = Ok(pairs);
                lines.push(format!(
                    "call {} {id} {dependencies:?} {arguments:?}",
                    call["name"].as_str().unwrap()
                ));
            }
            _ => {}
        }
    }
    flush(&mut lines, &mut text);
    lines
}

fn flush(lines: &mut Vec<String>, text: &mut String) {
    if !text.is_empty() {
        lines.push(format!("text {text:?}"));
        text.clear();
    }
}

/// What decisions.md makes of a vector, where that is something else.
fn deviation(id: &str) -> Option<Vec<String>> {
    let lines: &[&str] = match id {
        // An empty id is an auto id.
        "P06" => &[r#"call Blend gadget_1 ["x"] Ok([])"#],
        // The fragment of the end marker is dropped.
        "P12" => &[r#"call Scale s1 [] Ok([("item", "kiwi")])"#],
        // A value is exact text: its last blank stays.
        "P14" => &[
            r#"call Note n1 [] Ok([("body", "say ")])"#,
            r#"text " loudly\nmore\n!!!GADGET_END\n""#,
        ],
        // Text without any argument is no empty body.
        "P41" => &[
            r#"text "Write ""#,
            "call Name on one line gadget_1 [] Err(())",
        ],
        _ => return None,
    };
    Some(lines.iter().map(|&line| line.to_owned()).collect())
}

#[test]
fn tag_vectors() {
    let file: Value = serde_json::from_str(include_str!("conformance/tag-vectors.json")).unwrap();
    let vectors = file["parser"].as_array().unwrap();
    assert_eq!(vectors.len(), 37);
    for vector in vectors {
        let id = vector["id"].as_str().unwrap();
        let names = vector["tags"].as_array().unwrap();
        let format = Format {
            markers: None,
            tags: names
                .iter()
                .map(|name| name.as_str().unwrap().to_owned())
                .collect(),
            ..anywhere()
        };
        let mut text = String::new();
        let mut blocks = Vec::new();
        for seen in read(&joined(&vector["chunks"]), &format) {
            match seen {
                Seen::Text(more) => text += &more,
                Seen::Tag {
                    tag,
                    content,
                    attrs,
                    self_closing,
                    ..
                } => {
                    let attrs: serde_json::Map<String, Value> = attrs
                        .into_iter()
                        .map(|(name, value)| (name, value.into()))
                        .collect();
                    let mut block =
                        serde_json::json!({ "tag": tag, "content": content, "attrs": attrs });
                    if self_closing {
                        block["selfClosing"] = true.into();
                    }
                    blocks.push(block);
                }
                _ => {}
            }
        }
        let (expected_text, expected_blocks) = tag_deviation(id).unwrap_or_else(|| {
            (
                vector["expect"]["text"].as_str().unwrap().to_owned(),
                vector["expect"]["blocks"].clone(),
            )
        });
        assert_eq!(text, expected_text, "{id} {}", vector["about"]);
        assert_eq!(
            Value::from(blocks),
            expected_blocks,
            "{id} {}",
            vector["about"]
        );
    }
}

/// Text and blocks where decisions.md or reply-format.md say something else than the reference does.
fn tag_deviation(id: &str) -> Option<(String, Value)> {
    let block = |tag: &str, content: &str, attrs: Value| serde_json::json!([{ "tag": tag, "content": content, "attrs": attrs }]);
    let none = || serde_json::json!({});
    let (text, blocks) = match id {
        // `-` begins no attribute: no tag.
        "plain-009" => ("<!DOCTYPE x><?pi?><!-- <note -->", serde_json::json!([])),
        "attrq-001" => ("d", block("ref", "c", serde_json::json!({ "t": "a > b" }))),
        "attrq-002" => ("d", block("ref", "c", serde_json::json!({ "t": "a/>b" }))),
        "attrq-003" => (
            "d",
            block("ref", "c", serde_json::json!({ "u": "https://e.org/p" })),
        ),
        // The quote never ends: no tag.
        "attrq-005" => ("<ref t=\"open>c</ref>d", serde_json::json!([])),
        // `,` and `1` begin no attributes: no tag.
        "attrq-006" => ("<plan is to go there, since 1 > 0", serde_json::json!([])),
        "self-006" => {
            let block = serde_json::json!([{ "tag": "ping", "content": "", "attrs": {}, "selfClosing": true }]);
            ("x", block)
        }
        "miss-001" => ("<t", block("note", "n", none())),
        "miss-003" => ("t", block("note", "a<", none())),
        "miss-005" => ("t", block("note", "a</", none())),
        _ => return None,
    };
    Some((text.to_owned(), blocks))
}

fn joined(chunks: &Value) -> String {
    chunks
        .as_array()
        .unwrap()
        .iter()
        .map(|chunk| chunk.as_str().unwrap())
        .collect()
}
