use super::*;

/// Checks a table: the text after the name of a tag, and what is read of it: the attributes as JSON, with `/` after them if
/// the tag closes itself; where it fails; or that it goes on.
#[track_caller]
fn check(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(read(text), *expected, "{text:?}");
    }
}

fn read(text: &str) -> String {
    let mut state = OpeningState::default();
    for (at, byte) in text.bytes().enumerate() {
        match state.step(byte) {
            ByteStep::On(next) => state = next,
            ByteStep::Fail => return format!("fails at {at}"),
            ByteStep::Open { self_closing } => {
                assert_eq!(at + 1, text.len(), "{text:?} ends early");
                let attributes = Value::Object(attributes(&text[..at]));
                return format!("{attributes}{}", if self_closing { "/" } else { "" });
            }
        }
    }
    "goes on".to_owned()
}

#[test]
fn an_opening_tag_ends_at_its_bracket() {
    check(&[
        (">", "{}"),
        (" \t\r\n>", "{}"),
        ("/>", "{}/"),
        (" / / //\n>", "{}/"),
        (" a/>", r#"{"a":""}/"#),
        (" a='1'/>", r#"{"a":"1"}/"#),
        (" a=1 />", r#"{"a":"1"}/"#),
        ("", "goes on"),
        (" a='>", "goes on"),
        ("/ ", "goes on"),
    ]);
}

#[test]
fn attributes_of_all_kinds() {
    check(&[
        (
            r#" a="1" b='2' c=3 d>"#,
            r#"{"a":"1","b":"2","c":"3","d":""}"#,
        ),
        ("\na =\n'1'\t b\r\n= 2 >", r#"{"a":"1","b":"2"}"#),
        (" _a:b.c-d=1 :x>", r#"{"_a:b.c-d":"1",":x":""}"#),
        (" a b c>", r#"{"a":"","b":"","c":""}"#),
        (" a = >", r#"{"a":""}"#),
        (" a=>", r#"{"a":""}"#),
        // A repeated name keeps its place and takes the last value.
        (" a=1 b=2 a=3>", r#"{"a":"3","b":"2"}"#),
        (" a=1 A=2>", r#"{"a":"1","A":"2"}"#),
    ]);
}

#[test]
fn quotes() {
    check(&[
        (
            r#" a="<b> 'c' />
">"#,
            r#"{"a":"<b> 'c' />\n"}"#,
        ),
        (r#" a='"'>"#, r#"{"a":"\""}"#),
        (" a=''>", r#"{"a":""}"#),
        (" a='é🙂'>", r#"{"a":"é🙂"}"#),
        // Behind a quoted value no whitespace is needed.
        (r#" a="1"b='2'c>"#, r#"{"a":"1","b":"2","c":""}"#),
        // A quote inside an unquoted value is part of it.
        (r#" a=1"b">"#, r#"{"a":"1\"b\""}"#),
        (" a=b'c d>", r#"{"a":"b'c","d":""}"#),
    ]);
}

#[test]
fn slashes() {
    check(&[
        (" u=https://e.org/p?a=b>", r#"{"u":"https://e.org/p?a=b"}"#),
        (" v=/>", r#"{"v":"/"}"#),
        (" v=a/>", r#"{"v":"a/"}"#),
        (" v=/ />", r#"{"v":"/"}/"#),
        (" v='/'/>", r#"{"v":"/"}/"#),
        (" v= />", r#"{"v":"/"}"#),
    ]);
}

#[test]
fn entities() {
    check(&[
        (" a='&lt;&gt;&amp;&quot;&apos;'>", r#"{"a":"<>&\"'"}"#),
        (" a=x&lt;y>", r#"{"a":"x<y"}"#),
        // Once.
        (" a=&amp;lt; b='&amp;amp;'>", r#"{"a":"&lt;","b":"&amp;"}"#),
        // Anything else stays.
        (
            " a='&nope; &#65; &lt &LT; & &'>",
            r#"{"a":"&nope; &#65; &lt &LT; & &"}"#,
        ),
        (" a='é&lt;é'>", r#"{"a":"é<é"}"#),
    ]);
}

#[test]
fn failures() {
    check(&[
        ("a", "fails at 0"),
        ("=", "fails at 0"),
        ("<", "fails at 0"),
        (" 1a>", "fails at 1"),
        (" -a>", "fails at 1"),
        (" é>", "fails at 1"),
        (" =1>", "fails at 1"),
        (" 'a'>", "fails at 1"),
        (" a<", "fails at 2"),
        (" aé>", "fails at 2"),
        (" a\"b\">", "fails at 2"),
        (" a 'b'>", "fails at 3"),
        (" a=<", "fails at 3"),
        (" a=b<c>", "fails at 4"),
        (" a='b'=c>", "fails at 6"),
        (" a='b''c'>", "fails at 6"),
        // Behind a slash comes only the end.
        ("/a>", "fails at 1"),
        (" / a>", "fails at 3"),
        (" a/=1>", "fails at 3"),
        (" a='1'/b>", "fails at 7"),
    ]);
}
