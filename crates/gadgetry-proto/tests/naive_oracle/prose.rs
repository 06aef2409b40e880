//! Rows about prose, whitespace and headers.

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::reply::Format;

use super::{anywhere, check, limited, line_start, tags};

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
        ("line start: other whitespace is no blank", line_start(), "\u{a0}!!!GADGET_START:A:a\n",
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
        ("line start: a backslash where the reply ends", line_start(), "x\n\\",
            &[r#"text "x\n\\""#]),
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
            &[r#"text " <t  ""#, r#"CutHeader "!!!GADGET_START:""#, r#"text "!!!GADGET_START:A""#]),
        ("blanks before a start marker are text", line_start(), "x\n  !!!GADGET_START:A:a\n",
            &[r#"text "x\n  ""#, r#"start "A" id "a""#, "call a (), EndOfStream"]),
    ]);
}
