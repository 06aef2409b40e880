//! Rows about tags.

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::reply::Format;

use super::{check, limited, reasoning, spelled, tags};

#[test]
#[rustfmt::skip]
fn tags_open() {
    check(&[
        ("with content", tags(&["think"]), "a<think>b</think>c",
            &[r#"text "a""#, "open 1 think", r#"content 1 "b""#, "end 1 Closed", r#"block 1 "b""#, r#"text "c""#]),
        ("`>` `/` whitespace behind the name", tags(&["t"]), "<t/><t /><t\n></t><t\r></t><t\t>",
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
        ("an escaped start marker is no tag", Format {
                tags: vec!["run".to_owned()], anchoring: Anchoring::LineStart, ..spelled("<run ", "<end>", "<arg>")
            }, "\\<run A><run/>",
            &[r#"EscapedMarker "\\""#, r#"text "<run A>""#, "open 1 run", "end 1 SelfClosing", r#"block 1 "" self-closing"#]),
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
        ("unquoted up to whitespace or `>`", tags(&["t"]), "<t u=https://e.org/p?a='b' v=/>",
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
        ("the limit is reached where the reply ends", limited(tags(&["t"]), |limits| limits.attributes = 3), "<t ab",
            &[r#"LimitExceeded "<""#, r#"text "<t ab""#]),
        ("the reply ends one byte before it", limited(tags(&["t"]), |limits| limits.attributes = 3), "<t a",
            &[r#"text "<t a""#]),
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
        ("whitespace in the closing tag", tags(&["t"]), "<t>a</t \n>b",
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

#[test]
#[rustfmt::skip]
fn reasoning_tags() {
    let think = || reasoning(&["think", "thinking"], false);
    let open = || reasoning(&["think"], true);
    let lines = |format| Format { anchoring: Anchoring::LineStart, ..format };
    check(&[
        ("a tag like others", think(), "a<think>b</think>c",
            &[r#"text "a""#, "open 1 think", r#"content 1 "b""#, "end 1 Closed", r#"block 1 "b""#, r#"text "c""#]),
        ("nothing in it is a call", think(), "<thinking>!!!GADGET_START:A:a\n!!!GADGET_END</thinking>!!!GADGET_START:A:b\n!!!GADGET_END",
            &["open 1 thinking", r#"content 1 "!!!GADGET_START:A:a\n!!!GADGET_END""#, "end 1 Closed", r#"block 1 "!!!GADGET_START:A:a\n!!!GADGET_END""#,
              r#"start "A" id "b""#, "call b (), EndMarker"]),
        ("not closed", think(), "<think>b\n!!!GADGET_START:A:a\n",
            &["open 1 think", r#"content 1 "b\n!!!GADGET_START:A:a\n""#, "end 1 EndOfStream", r#"block 1 "b\n!!!GADGET_START:A:a\n""#]),
        ("a custom block takes precedence", reasoning(&["t"], false), " <t> </t> </t>",
            &[r#"text " ""#, "open 1 t", r#"content 1 " ""#, "end 1 Closed", r#"block 1 " ""#, r#"text " </t>""#]),
        ("whitespace around it, before text", think(), " \n<think>b</think>\n\nc \n<think/> d",
            &["open 1 think", r#"content 1 "b""#, "end 1 Closed", r#"block 1 "b""#, r#"text "c \n""#,
              "open 2 think", "end 2 SelfClosing", r#"block 2 "" self-closing"#, r#"text " d""#]),
        ("whitespace around it, before a gadget block", think(), "<think/>\n\n!!!GADGET_START:A:a\n!!!GADGET_END\n<think/>\n",
            &["open 1 think", "end 1 SelfClosing", r#"block 1 "" self-closing"#, r#"start "A" id "a""#, "call a (), EndMarker",
              "open 2 think", "end 2 SelfClosing", r#"block 2 "" self-closing"#]),
        ("whitespace around it, before a custom block", think(), "<think/> <t/> ",
            &["open 1 think", "end 1 SelfClosing", r#"block 1 "" self-closing"#, "open 2 t", "end 2 SelfClosing",
              r#"block 2 "" self-closing"#, r#"text " ""#]),
        ("a backtick before it", think(), "`<think>` and `</think>`",
            &[r#"text "`<think>` and `</think>`""#]),
        ("a closing tag that closes nothing", think(), "a</think >\n!!!GADGET_START:A:a\n!!!GADGET_END</think> b",
            &[r#"text "a""#, r#"StrayReasoningEnd "</think >""#, r#"start "A" id "a""#, "call a (), EndMarker",
              r#"StrayReasoningEnd "</think>""#, r#"text "b""#]),
        ("of a custom block it is text", think(), "a</t>", &[r#"text "a</t>""#]),
        ("line start: the line is what it was", lines(think()), "<think>x\ny</think>!!!GADGET_START:A:a\n!!!GADGET_END\nx <think/>\\!!!GADGET_END",
            &["open 1 think", r#"content 1 "x\ny""#, "end 1 Closed", r#"block 1 "x\ny""#, r#"start "A" id "a""#, "call a (), EndMarker",
              r#"text "\nx ""#, "open 2 think", "end 2 SelfClosing", r#"block 2 "" self-closing"#, r#"text "\\!!!GADGET_END""#, r#"StrayMarker "!!!GADGET_END""#]),
        ("line start: a backslash before reasoning escapes no marker behind it", lines(think()), "\\<think/>!!!GADGET_END",
            &[r#"text "\\""#, "open 1 think", "end 1 SelfClosing", r#"block 1 "" self-closing"#,
              r#"text "!!!GADGET_END""#, r#"StrayMarker "!!!GADGET_END""#]),
        ("line start: a backslash that was content escapes no marker behind it",
            limited(Format { anchoring: Anchoring::LineStart, ..tags(&["t"]) }, |limits| limits.tag_content = 2), "<t>\n\\!!!GADGET_END",
            &["open 1 t", r#"content 1 "\n\\""#, r#"LimitExceeded """#, "end 1 Limit", r#"block 1 "\n\\""#,
              r#"text "!!!GADGET_END""#, r#"StrayMarker "!!!GADGET_END""#]),
        ("line start: a stray closing tag begins a line", lines(think()), "x</think>!!!GADGET_START:A:a\n!!!GADGET_END",
            &[r#"text "x""#, r#"StrayReasoningEnd "</think>""#, r#"start "A" id "a""#, "call a (), EndMarker"]),
        ("a reply that begins inside", open(), "x</think>\ny",
            &["open 1 think", r#"content 1 "x""#, "end 1 Closed", r#"block 1 "x""#, r#"text "y""#]),
        ("an empty one does not", open(), "", &[]),
        ("the cap", limited(think(), |limits| limits.tag_content = 2), "<think>abc</think>",
            &["open 1 think", r#"content 1 "ab""#, r#"LimitExceeded """#, "end 1 Limit", r#"block 1 "ab""#, r#"text "c""#,
              r#"StrayReasoningEnd "</think>""#]),
    ]);
}
