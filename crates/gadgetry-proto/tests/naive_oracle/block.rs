//! Rows about gadget blocks.

use super::{anywhere, check, limited, line_start, tags};

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
            &[r#"text "x ""#, r#"CutHeader "!!!GADGET_START:""#, r#"text "!!!GADGET_START:A:b""#]),
        ("the reply ends first, on the limit", limited(anywhere(), |limits| limits.header = 3), "!!!GADGET_START:A:b",
            &[r#"CutHeader "!!!GADGET_START:""#, r#"text "!!!GADGET_START:A:b""#]),
        ("the reply ends behind the limit, in an end marker", limited(anywhere(), |limits| limits.header = 3), "!!!GADGET_START:A:b!!!GADGET",
            &[r#"LimitExceeded "!!!GADGET_START:""#, r#"text "!!!GADGET_START:A:b!!!GADGET""#]),
        ("reading goes on right behind it", tags(&["t"]), "!!!GADGET_START:<t/>",
            &[r#"CutHeader "!!!GADGET_START:""#, r#"text "!!!GADGET_START:""#, "open 1 t", "end 1 SelfClosing", r#"block 1 "" self-closing"#]),
        ("line start: on behind a given-back marker is no line start", limited(line_start(), |limits| limits.header = 3),
            "!!!GADGET_START:!!!GADGET_START:A:a\n",
            &[r#"LimitExceeded "!!!GADGET_START:""#, r#"text "!!!GADGET_START:!!!GADGET_START""#, r#"NearMiss "!!!GADGET_START""#,
              r#"text ":A:a\n""#]),
        ("ids are counted from 1, only the auto ones", anywhere(),
            "!!!GADGET_START:A\n!!!GADGET_START:B:b\n!!!GADGET_START:C: :x\n!!!GADGET_START:D",
            &[r#"start "A" id "gadget_1""#, "call gadget_1 (), NextStart", r#"start "B" id "b""#, "call b (), NextStart",
              r#"start "C" id "gadget_2" after x"#, "call gadget_2 (), NextStart", r#"CutHeader "!!!GADGET_START:""#, r#"text "!!!GADGET_START:D""#]),
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
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"call a (x="1"), NextStart"#, r#"CutHeader "!!!GADGET_START:""#, r#"text "!!!GADGET_START:B""#]),
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
        ("empty or with whitespace: no delta, malformed", anywhere(),
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
            &[r#"start "A" id "a""#, r#"arg a x="!!!GADGET_END\n  \\!!!ARG:y\n\\a""#,
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
        ("behind blanks it is value", anywhere(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n !!!GADGET_EN",
            &[r#"start "A" id "a""#, r#"arg a x="1\n !!!GADGET_EN""#, r#"call a (x="1\n !!!GADGET_EN"), EndOfStream"#]),
        ("which go with it where a line may begin with them", line_start(), "!!!GADGET_START:A:a\n!!!ARG:x\n1\n !!!GADGET_EN",
            &[r#"start "A" id "a""#, r#"arg a x="1""#, r#"PartialMarker "!!!GADGET_EN""#, r#"call a (x="1"), EndOfStream"#]),
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
            &[r#"start "A" id "a""#, r#"arg a x="!!arg:\n!!!GADGET_END""#, r#"FenceRemoved "```""#,
              r#"TextBeforeArguments "see""#, r#"PartialMarker "!!!GADGET_EN""#, r#"NearMiss "!!arg""#,
              r#"call a (x="!!arg:\n!!!GADGET_END"), EndOfStream"#]),
    ]);
}
