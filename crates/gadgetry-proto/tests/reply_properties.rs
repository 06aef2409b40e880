//! The scanner against the oracle: the same reply, cut anywhere, gives what the oracle sees in the whole.

use crate::support::joined::{Joiner, Told, is_what, scan, scanner};
use crate::support::naive::{Seen, read};
use crate::support::{cut, generate};
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::piece::EndReason;
use gadgetry_proto::reply::{Format, ReplyEvent, Scanner, ScannerState};
use proptest::prelude::*;

fn agree(format: &Format, text: &str, pieces: &[&str]) -> Result<(), TestCaseError> {
    let expected = read(text, format);
    let told = scan(pieces, format);
    same(format, pieces, &told, &expected)
}

fn same(
    format: &Format,
    pieces: &[&str],
    told: &[Told],
    expected: &[Seen],
) -> Result<(), TestCaseError> {
    let told: Vec<&Told> = told
        .iter()
        .filter(|told| !matches!(told, Told::Unfinished { .. }))
        .collect();
    let first = told
        .iter()
        .zip(expected)
        .position(|(told, seen)| !is_what(told, seen, format));
    let first = first.unwrap_or(told.len().min(expected.len()));
    prop_assert!(
        first == told.len() && first == expected.len(),
        "{format:?}\n{pieces:?}\ndiffer at {first}\nscanner {:#?}\noracle {:#?}",
        told.get(first),
        expected.get(first)
    );
    Ok(())
}

/// Every delta of the whole text, even those of arguments that never end.
fn cuts_change_nothing(format: &Format, text: &str, pieces: &[&str]) -> Result<(), TestCaseError> {
    let (whole, cut) = (scan(&[text], format), scan(pieces, format));
    let first = whole.iter().zip(&cut).position(|(whole, cut)| whole != cut);
    let first = first.unwrap_or(whole.len().min(cut.len()));
    prop_assert!(
        whole == cut,
        "{format:?}\n{pieces:?}\ndiffer at {first}\nwhole {:#?}\ncut {:#?}",
        whole.get(first),
        cut.get(first)
    );
    Ok(())
}

proptest! {
    // `PROPTEST_CASES` may ask for more.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2000)))]

    #[test]
    fn whole((format, text) in generate::cases()) {
        agree(&format, &text, &[&text])?;
    }

    #[test]
    fn by_characters((format, text) in generate::cases()) {
        agree(&format, &text, &cut::characters(&text))?;
        cuts_change_nothing(&format, &text, &cut::characters(&text))?;
    }

    #[test]
    fn cut_at_random((format, text) in generate::cases(), seed: u64) {
        agree(&format, &text, &cut::random(&text, seed))?;
        cuts_change_nothing(&format, &text, &cut::random(&text, seed))?;
    }

    #[test]
    fn cut_in_two((format, text) in generate::cases()) {
        if text.len() <= 120 {
            for pieces in cut::in_two(&text) {
                cuts_change_nothing(&format, &text, &pieces)?;
            }
        }
    }

    /// A run that was saved after any piece goes on as if nothing had happened.
    #[test]
    fn saved_and_restored((format, text) in generate::cases(), seed: u64) {
        let pieces = cut::random(&text, seed);
        let mut joiner = Joiner::default();
        let mut reader = scanner(&format);
        for piece in &pieces {
            reader.push(piece, &mut |event| joiner.hear(event));
            let saved = serde_json::to_string(reader.state()).expect("it is plain data");
            let state: ScannerState = serde_json::from_str(&saved).expect("it was just written");
            prop_assert_eq!(&state, reader.state());
            reader = scanner(&format);
            reader.restore(state);
        }
        reader.finish(&mut |event| joiner.hear(event));
        prop_assert_eq!(joiner.told, scan(&pieces, &format));
    }

    /// A scanner that read one reply reads the next as a new one would, but for automatic ids and numbers of custom blocks.
    #[test]
    fn one_reply_after_another((format, text) in generate::cases(), (_, other) in generate::cases()) {
        let mut reader = scanner(&format);
        reader.push(&other, &mut |_| {});
        reader.finish(&mut |_| {});
        let mut joiner = Joiner::default();
        reader.push(&text, &mut |event| joiner.hear(event));
        reader.finish(&mut |event| joiner.hear(event));
        let (again, fresh) = (without_ids(joiner.told), without_ids(scan(&[&text], &format)));
        prop_assert_eq!(again, fresh);
    }

    #[test]
    fn nothing_is_lost((format, text) in generate::cases(), seed: u64) {
        rebuild(&format, &text, &cut::random(&text, seed), false)?;
    }

    /// A flush may take an opener apart, but loses no text.
    #[test]
    fn nothing_is_lost_by_flushing((format, text) in generate::cases(), seed: u64) {
        rebuild(&format, &text, &cut::random(&text, seed), true)?;
    }

    #[test]
    fn any_text_under_any_format((format, _) in generate::cases(), text: String, seed: u64) {
        agree(&format, &text, &cut::random(&text, seed))?;
    }
}

#[test]
fn cut_in_two_everywhere() {
    for seed in 0..300 {
        let (format, text) = generate::case(seed);
        for pieces in cut::in_two(&text) {
            agree(&format, &text, &pieces).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    }
}

/// Custom blocks are numbered from reply to reply.
fn without_block(told: &str) -> String {
    let Some((before, behind)) = told.split_once("block: ") else {
        return told.to_owned();
    };
    format!("{before}{}", behind.trim_start_matches(char::is_numeric))
}

fn without_ids(told: Vec<Told>) -> Vec<String> {
    let told = told.into_iter().map(|told| match told {
        Told::Seen(Seen::CallStart {
            name, dependencies, ..
        }) => {
            format!("{name:?} {dependencies:?}")
        }
        Told::Seen(Seen::Argument { pointer, value, .. }) => format!("{pointer:?} {value:?}"),
        Told::Call {
            call: Seen::Call { raw, span, .. },
            parameters,
        } => {
            format!("{raw:?} {span:?} {parameters:?}")
        }
        Told::Seen(_) | Told::Call { .. } | Told::Diagnostic(_) | Told::Unfinished { .. } => {
            without_block(&format!("{told:?}"))
        }
    });
    told.collect()
}

/// Visible text, raw blocks and raw tags put the reply together again. What may be missing between them is white
/// space next to gadget blocks, reasoning and ends of the reply, closing tags of reasoning that close nothing, and the
/// backslashes before markers.
fn rebuild(format: &Format, text: &str, pieces: &[&str], flush: bool) -> Result<(), TestCaseError> {
    let mut format = format.clone();
    // Each closing tag that closes nothing is told.
    format.limits.near_misses = text.len();
    let mut reader = scanner(&format);
    let mut reasoning = format.reasoning.iter();
    // The scanner is given the names that it admits only.
    let is_admitted = |name: &str| name.len() <= format.limits.tag_name;
    let has_reasoning = reasoning.any(|name| is_admitted(name) && !format.tags.contains(name));
    let mut rebuilt = Rebuilt {
        text,
        at: 0,
        has_reasoning,
        begins_inside: format.reasoning_open && has_reasoning,
        closed: false,
        wrong: None,
    };
    for piece in pieces {
        reader.push(piece, &mut |event| rebuilt.hear(event));
        if flush {
            reader.flush(&mut |event| rebuilt.hear(event));
        }
    }
    reader.finish(&mut |event| rebuilt.hear(event));
    rebuilt.skip_to(text.len());
    prop_assert!(
        rebuilt.wrong.is_none(),
        "{format:?}\n{pieces:?}\n{:?}",
        rebuilt.wrong
    );
    Ok(())
}

struct Rebuilt<'a> {
    text: &'a str,
    /// Everything before this was accounted for.
    at: usize,
    has_reasoning: bool,
    /// Whether the first tag has no opening tag.
    begins_inside: bool,
    /// Whether the last tag was closed.
    closed: bool,
    wrong: Option<String>,
}

impl Rebuilt<'_> {
    fn hear(&mut self, event: ReplyEvent<'_>) {
        match event {
            ReplyEvent::Text(more) => self.take(more),
            ReplyEvent::Call(block) => {
                let span = block.span();
                self.skip_to(usize::try_from(span.start).expect("it is small"));
                self.at = usize::try_from(span.end).expect("it is small");
                let written =
                    &self.text[usize::try_from(span.start).expect("it is small")..self.at];
                if !written.contains(block.raw()) {
                    self.fail(format!("{:?} is not in {written:?}", block.raw()));
                }
            }
            ReplyEvent::TagEnd { reason, .. } => self.closed = reason == EndReason::Closed,
            ReplyEvent::Tag {
                tag,
                content,
                self_closing,
                ..
            } => {
                if !std::mem::take(&mut self.begins_inside) {
                    self.take(&format!("<{tag}"));
                    self.at += opening_end(&self.text[self.at..]);
                }
                if !self_closing {
                    self.take(content);
                }
                if self.closed {
                    let rest = &self.text[self.at..];
                    let closing = rest
                        .strip_prefix("</")
                        .and_then(|rest| rest.strip_prefix(tag));
                    let closing = closing.and_then(|rest| rest.trim_start().strip_prefix('>'));
                    self.at = self.text.len() - closing.unwrap_or(rest).len();
                }
            }
            ReplyEvent::Diagnostic(diagnostic)
                if diagnostic.code == DiagnosticCode::EscapedMarker =>
            {
                // Those of values come when their block is not yet accounted for.
                let at = usize::try_from(diagnostic.span.start).expect("it is small");
                let gap = self.text.get(self.at..at);
                if gap.is_some_and(|gap| gap.trim().is_empty()) {
                    self.skip_to(at);
                    self.take("\\");
                }
            }
            ReplyEvent::Diagnostic(diagnostic)
                if diagnostic.code == DiagnosticCode::StrayReasoningEnd =>
            {
                self.skip_to(usize::try_from(diagnostic.span.start).expect("it is small"));
                self.at = usize::try_from(diagnostic.span.end).expect("it is small");
            }
            ReplyEvent::CallStart(_)
            | ReplyEvent::Argument { .. }
            | ReplyEvent::TagStart { .. }
            | ReplyEvent::TagDelta { .. }
            | ReplyEvent::Diagnostic(_) => {}
        }
    }

    fn take(&mut self, more: &str) {
        let rest = &self.text[self.at..];
        if self.has_reasoning && !rest.starts_with(more) {
            // Whitespace may be missing behind reasoning.
            self.at += rest.len() - rest.trim_start().len();
        }
        if self.text[self.at..].starts_with(more) {
            self.at += more.len();
        } else {
            self.fail(format!("{more:?} does not stand at {}", self.at));
        }
    }

    /// Whitespace may be missing.
    fn skip_to(&mut self, at: usize) {
        let gap = self.text.get(self.at..at);
        if gap.is_none_or(|gap| !gap.trim().is_empty()) {
            self.fail(format!("{gap:?} is missing at {}", self.at));
        }
        self.at = at;
    }

    fn fail(&mut self, wrong: String) {
        self.wrong.get_or_insert(wrong);
    }
}

/// Where an opening tag ends, from behind its name.
fn opening_end(text: &str) -> usize {
    let mut rest = text;
    while let Some(at) = rest.find(['=', '>']) {
        let closes = rest[at..].starts_with('>');
        rest = &rest[at + 1..];
        if closes {
            break;
        }
        let value = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        rest = match value.chars().next().filter(|char| "\"'".contains(*char)) {
            Some(quote) => value[1..].split_once(quote).map_or("", |(_, rest)| rest),
            None => {
                &value[value
                    .find([' ', '\t', '\n', '\r', '>'])
                    .unwrap_or(value.len())..]
            }
        };
    }
    text.len() - rest.len()
}

#[test]
fn a_scanner_without_a_format_passes_all_text() {
    let mut reader = Scanner::new(&Format::default()).expect("there are no tags");
    let mut seen = Vec::new();
    for piece in ["<think>", "!!!GADGET", "_START:A\n"] {
        reader.push(piece, &mut |event| {
            if let ReplyEvent::Text(text) = event {
                seen.push(text.to_owned());
            }
        });
    }
    assert_eq!(
        seen,
        ["<think>", "!!!GADGET", "_START:A\n"],
        "nothing is held"
    );
}

/// What is too long for a header is text as soon as that is clear, not only at the end of the line or of the reply.
#[test]
fn a_header_that_is_too_long_is_not_held() {
    let mut format = Format {
        markers: Some(gadgetry_proto::block::Markers::default()),
        ..Format::default()
    };
    format.limits.header = 3;
    let end = "!!!GADGET_END";
    for (header, is_text) in [
        ("abc", false),
        ("abcd", false),
        ("abcd\n", true),
        (&format!("abc{}", &end[..end.len() - 1]), false),
        (&"x".repeat(3 + end.len()), true),
    ] {
        let mut joiner = Joiner::default();
        let mut reader = scanner(&format);
        for piece in cut::characters(&format!("!!!GADGET_START:{header}")) {
            reader.push(piece, &mut |event| joiner.hear(event));
        }
        assert_eq!(!joiner.told.is_empty(), is_text, "{header}");
    }
}
