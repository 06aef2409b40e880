//! Rows about text that looks like a marker but is none.

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::reply::Format;

use super::{anywhere, check, limited, line_start, spelled, tags};

fn nonce() -> Format {
    Format {
        markers: Some(Markers::nonce(7)),
        ..anywhere()
    }
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
        ("a run of two", anywhere(), "!!GADGET_START:A !!GADGET_END",
            &[r#"text "!!GADGET_START""#, r#"NearMiss "!!GADGET_START""#, r#"text ":A !!GADGET_END""#, r#"NearMiss "!!GADGET_END""#]),
        ("a longer run contains the marker", anywhere(), "!!!!GADGET_END !!!!!ARG:x !!!!ARG !!!!gadget_end",
            &[r#"text "!!!!GADGET_END""#, r#"StrayMarker "!!!!GADGET_END""#, r#"text " !!!!!ARG""#, r#"StrayMarker "!!!!!ARG""#,
              r#"text ":x !!!!ARG !!!!gadget_end""#, r#"NearMiss "!!!!gadget_end""#]),
        ("a longer run in line start", line_start(), "!!!!GADGET_START:A\n!!!!GADGET_END",
            &[r#"text "!!!!GADGET_START""#, r#"NearMiss "!!!!GADGET_START""#, r#"text ":A\n!!!!GADGET_END""#, r#"StrayMarker "!!!!GADGET_END""#]),
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
        ("what might have become an opener when the reply ends", spelled("!!!GADGET_END_NOW:", "!!!GADGETEND", "!!!ARG:"),
            "x !!!GADGET_END", &[r#"text "x !!!GADGET_END""#, r#"NearMiss "!!!GADGET_END""#]),
        ("a given-back start marker is none", anywhere(), "!!!GADGET_START:x",
            &[r#"CutHeader "!!!GADGET_START:""#, r#"text "!!!GADGET_START:x""#]),
        ("words up to 40 bytes", spelled(&format!("!!!{}", "S".repeat(41)), &format!("!!!{}", "E".repeat(40)), "!!!A"),
            "!!sssssssssssssssssssssssssssssssssssssssss !!eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
            &[r#"text "!!sssssssssssssssssssssssssssssssssssssssss !!eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee""#,
              r#"NearMiss "!!eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee""#]),
        ("a literal marker cuts it off", Format { anchoring: Anchoring::LineStart, ..spelled("\\\\s", "\\\\e", "\\\\a") }, "\\\\\\\\s x\\\\\\\\s",
            &[r#"text "\\""#, r#"EscapedMarker "\\""#, r#"text "\\\\s x\\\\\\\\s""#, r#"NearMiss "\\\\\\\\s""#]),
        ("what a marker has behind its word may be of the next marker", spelled("!!s!", "!!e", "!!a"), "!!S!!e",
            &[r#"text "!!S""#, r#"NearMiss "!!S""#, r#"text "!!e""#, r#"StrayMarker "!!e""#]),
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
        ("nonce markers", nonce(), "!!!GADGET_END !!!GADGET_END_ !!!ARG: !!!GADGET_START !!GADGET_START:",
            &[r#"text "!!!GADGET_END !!!GADGET_END_ !!!ARG: !!!GADGET_START !!GADGET_START""#,
              r#"NearMiss "!!GADGET_START""#, r#"text ":""#]),
        ("nonce markers with a sign or a blank that is missing", nonce(), "!!GADGET_START horn core:A !!!gadget_end horncore !!!gadget_end horn core.",
            &[r#"text "!!GADGET_START horn core""#, r#"NearMiss "!!GADGET_START horn core""#,
              r#"text ":A !!!gadget_end horncore ""#, r#"NearMiss "!!!gadget_end horncore ""#,
              r#"text "!!!gadget_end horn core""#, r#"NearMiss "!!!gadget_end horn core""#, r#"text ".""#]),
        ("nonce markers in prose", nonce(), "!!!GADGET_END horn core !!!ARG horn core:x",
            &[r#"text "!!!GADGET_END horn core""#, r#"StrayMarker "!!!GADGET_END horn core""#, r#"text " !!!ARG horn core""#,
              r#"StrayMarker "!!!ARG horn core""#, r#"text ":x""#]),
        ("nonce markers that are spoken of", nonce(), "a !!!GADGET_START marker, a !!!GADGET_END one and more !!!ARG horn",
            &[r#"text "a !!!GADGET_START marker, a !!!GADGET_END one and more !!!ARG horn""#]),
        ("the start marker of other runs with a sign too many", nonce(), "!!!!GADGET_START bad cafe:A !!TOOL:B",
            &[r#"text "!!!!GADGET_START bad cafe""#, r#"NearMiss "!!!!GADGET_START bad cafe""#, r#"text ":A !!TOOL:B""#]),
        ("the start marker of other runs in prose", nonce(), "!!!GADGET_START:A !!!GADGET_START bad cafe:B !!!GADGET_START BAD cafe:C",
            &[r#"text "!!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#, r#"text ":A !!!GADGET_START bad cafe""#,
              r#"NearMiss "!!!GADGET_START bad cafe""#, r#"text ":B !!!GADGET_START BAD cafe:C""#]),
        ("words where there is no nonce", anywhere(), "a !!!GADGET_START marker and !!!GADGET_START bad cafe",
            &[r#"text "a !!!GADGET_START marker and !!!GADGET_START bad cafe""#]),
        ("the start marker of other runs in a value", spelled("!!!S:", "!!!E", "!!!A:"), "!!!S:A:a\n!!!A:x\n!!!GADGET_START:B\n!!!E",
            &[r#"start "A" id "a""#, r#"arg a x="!!!GADGET_START:B""#, r#"call a (x="!!!GADGET_START:B"), EndMarker"#]),
    ]);
}

#[test]
#[rustfmt::skip]
fn limit() {
    let at_most = |count| limited(line_start(), |limits| limits.near_misses = count);
    check(&[
        ("as many as limits.nearMisses", at_most(2), "!!arg: !!!ARG:",
            &[r#"text "!!arg""#, r#"NearMiss "!!arg""#, r#"text ": !!!ARG""#, r#"StrayMarker "!!!ARG""#, r#"text ":""#]),
        ("the limit is told in place of the next one, once", at_most(1), "!!arg:x!!gadget_end !!!ARG:y!!arg:",
            &[r#"text "!!arg""#, r#"NearMiss "!!arg""#, r#"text ":x!!gadget_end""#, r#"LimitExceeded "!!gadget_end""#,
              r#"text " !!!ARG:y!!arg:""#]),
        ("none at all", at_most(0), "!!arg:!!arg:",
            &[r#"text "!!arg""#, r#"LimitExceeded "!!arg""#, r#"text ":!!arg:""#]),
        ("across prose and values", at_most(2), "!!arg:\n!!!GADGET_START:A:a\n!!!ARG:x\n!!arg: !!gadget_end\n!!!ARG:y\n!!arg:\n!!!GADGET_END\n!!arg:",
            &[r#"text "!!arg""#, r#"NearMiss "!!arg""#, r#"text ":\n""#, r#"start "A" id "a""#, r#"arg a x="!!arg: !!gadget_end""#,
              r#"arg a y="!!arg:""#, r#"NearMiss "!!arg""#, r#"LimitExceeded "!!gadget_end""#,
              r#"call a (x="!!arg: !!gadget_end" y="!!arg:"), EndMarker"#, r#"text "\n!!arg:""#]),
        ("other diagnostics have a limit of their own", at_most(1), "\\!!!ARG:\n\\!!!ARG:\n!!arg:",
            &[r#"EscapedMarker "\\""#, r#"text "!!!ARG:\n""#, r#"EscapedMarker "\\""#, r#"text "!!!ARG:\n!!arg""#, r#"NearMiss "!!arg""#,
              r#"text ":""#]),
        ("which is told in the same way", limited(at_most(1), |limits| limits.diagnostics = 1), "\\!!!ARG:\n\\!!!ARG:\n\\!!!ARG:\n!!arg:",
            &[r#"EscapedMarker "\\""#, r#"text "!!!ARG:\n""#, r#"LimitExceeded "\\""#, r#"text "!!!ARG:\n!!!ARG:\n!!arg""#,
              r#"NearMiss "!!arg""#, r#"text ":""#]),
        ("what a block over its limit does not tell is not counted", limited(at_most(1), |limits| limits.block = 8),
            "!!!GADGET_START:A:a\n!!!ARG:x\n!!arg:\n!!!GADGET_END!!arg:",
            &[r#"start "A" id "a""#, "call a malformed, EndMarker", r#"text "!!arg""#, r#"NearMiss "!!arg""#, r#"text ":""#]),
    ]);
}
