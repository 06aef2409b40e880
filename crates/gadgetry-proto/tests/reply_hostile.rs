//! Replies that are made to be slow. There is no clock here: a stage that is not linear makes this take minutes.

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::{Format, ReplyEvent, Scanner};

const VALUE: &str = "!!!GADGET_START:A\n!!!ARG:x\n";
const FENCED: &str = "!!!GADGET_START:A\n```\n!!!ARG:x\n";
const POINTER: &str = "!!!GADGET_START:A\n!!!ARG:";

/// How a reply begins, and what is then repeated.
const REPLIES: [(&str, &str); 34] = [
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
    ("<reason>", "</reason"),
    ("", "</reason> "),
    ("", "</reason "),
    ("", "`<reason>"),
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
        reasoning: vec!["reason".to_owned()],
        reasoning_open: false,
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

fn line_start() -> Scanner {
    let format = Format {
        markers: Some(Markers::default()),
        anchoring: Anchoring::LineStart,
        ..Format::default()
    };
    Scanner::new(&format).expect("there are no tags")
}

#[test]
fn a_long_word_before_many_arguments() {
    let (word, arguments) = ("a".repeat(200_000), "\n!!!ARG:a\n".repeat(30_000));
    let mut scanner = line_start();
    scanner.push(&format!("{VALUE}!!{word}{arguments}"), &mut |_| {});
    scanner.finish(&mut |_| {});
}

/// What is told about near misses, and what is kept for it, does not grow with them.
#[test]
fn near_misses_are_capped() {
    for unit in ["!!arg: ", "!!ark: ", "!!!GADGET_END "] {
        let many = unit.repeat(50_000);
        for reply in [format!("x{many}"), format!("{VALUE}x{many}")] {
            let mut codes = Vec::new();
            let mut hear = |event: ReplyEvent<'_>| {
                if let ReplyEvent::Diagnostic(diagnostic) = event {
                    codes.push(diagnostic.code);
                }
            };
            let mut scanner = line_start();
            scanner.push(&reply, &mut hear);
            let saved = serde_json::to_string(scanner.state()).expect("it is plain data");
            assert!(saved.len() < reply.len() + 50_000, "{unit:?}");
            scanner.finish(&mut hear);
            if unit == "!!ark: " {
                assert_eq!(codes, []);
                continue;
            }
            assert_eq!(codes.len(), 101, "{unit:?}");
            assert_eq!(codes.pop(), Some(DiagnosticCode::LimitExceeded));
            assert!(!codes.contains(&DiagnosticCode::LimitExceeded));
        }
    }
}
