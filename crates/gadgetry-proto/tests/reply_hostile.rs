//! Replies that are made to be slow. There is no clock here: a stage that is not linear makes this take minutes.

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::{Format, Scanner};

const VALUE: &str = "!!!GADGET_START:A\n!!!ARG:x\n";
const FENCED: &str = "!!!GADGET_START:A\n```\n!!!ARG:x\n";
const POINTER: &str = "!!!GADGET_START:A\n!!!ARG:";

/// How a reply begins, and what is then repeated.
const REPLIES: [(&str, &str); 30] = [
    ("", "!"),
    ("", "!!a "),
    ("", "!!!GADGET_START:"),
    ("", "!!GADGET_START: "),
    ("", "<"),
    ("", "<think "),
    ("", "<think a='"),
    ("", "<think a='<think b=\""),
    ("", " \n"),
    ("", " "),
    ("", "\\"),
    ("", "\n   \\!!"),
    ("", "!!!GADGET_START:A\n"),
    ("", "!!!GADGET_START:A\n!!!GADGET_END\n"),
    ("<think>", "</"),
    ("<think>", "</think"),
    ("<think>", "</think             "),
    (VALUE, "!"),
    (VALUE, "!!ARG: x\n"),
    (VALUE, "\n"),
    (VALUE, "\r"),
    (VALUE, " "),
    (VALUE, "\\!!!ARG:\n"),
    (VALUE, "!!!ARG:a\nb\n"),
    (VALUE, "!!!ARG:a"),
    (FENCED, "```\n"),
    (FENCED, "`"),
    (POINTER, "x"),
    (POINTER, "!"),
    ("!!!GADGET_START:A\n", "x\n"),
];

fn read_all(anchoring: Anchoring, limits: &Limits) {
    let format = Format {
        markers: Some(Markers::default()),
        anchoring,
        tags: vec!["think".to_owned()],
        limits: limits.clone(),
    };
    for (head, unit) in REPLIES {
        for (piece, size) in [(1, 100_000), (4096, 300_000), (usize::MAX, 500_000)] {
            let reply = format!("{head}{}", unit.repeat(size / unit.len()));
            let mut scanner = Scanner::new(&format).expect("it is a name");
            let mut events = 0;
            let mut rest = reply.as_str();
            while !rest.is_empty() {
                let (chunk, behind) = rest.split_at(piece.min(rest.len()));
                scanner.push(chunk, &mut |_| events += 1);
                rest = behind;
            }
            scanner.finish(&mut |_| events += 1);
            assert!(events <= 2 * reply.len() + 2, "{head:?} {unit:?}");
        }
    }
}

#[test]
fn anywhere() {
    read_all(Anchoring::Anywhere, &Limits::default());
}

#[test]
fn at_line_starts() {
    read_all(Anchoring::LineStart, &Limits::default());
}

#[test]
fn past_the_caps() {
    let limits = Limits {
        block: 10_000,
        tag_content: 10_000,
        ..Limits::default()
    };
    read_all(Anchoring::Anywhere, &limits);
    read_all(Anchoring::LineStart, &limits);
}
