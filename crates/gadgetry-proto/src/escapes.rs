//! Text without escapes, for comparisons: two texts are the same, however each was quoted.

use std::borrow::Cow;

/// Times that escapes are decoded: an escape may be escaped.
const ROUNDS: usize = 4;

/// HTML entities of ASCII, and their characters.
const ENTITIES: [(&str, char); 45] = [
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("lbrace", '{'),
    ("lcub", '{'),
    ("rbrace", '}'),
    ("rcub", '}'),
    ("lbrack", '['),
    ("lsqb", '['),
    ("rbrack", ']'),
    ("rsqb", ']'),
    ("lpar", '('),
    ("rpar", ')'),
    ("verbar", '|'),
    ("vert", '|'),
    ("VerticalLine", '|'),
    ("colon", ':'),
    ("semi", ';'),
    ("comma", ','),
    ("period", '.'),
    ("sol", '/'),
    ("bsol", '\\'),
    ("lowbar", '_'),
    ("UnderBar", '_'),
    ("equals", '='),
    ("num", '#'),
    ("dollar", '$'),
    ("percnt", '%'),
    ("ast", '*'),
    ("midast", '*'),
    ("plus", '+'),
    ("hyphen", '-'),
    ("dash", '-'),
    ("excl", '!'),
    ("quest", '?'),
    ("commat", '@'),
    ("Hat", '^'),
    ("grave", '`'),
    ("tilde", '~'),
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("NewLine", '\n'),
    ("Tab", '\t'),
];

/// Decodes the escapes of JSON, HTML and URLs, also escaped ones, and the wide forms of ASCII.
///
/// References to letters outside ASCII by name, such as `&eacute;`, stay.
///
/// ```
/// use gadgetry_proto::escapes::unescaped;
/// assert_eq!(unescaped(r"&lt;a href=%22x%22&gt;\u0041 &amp;lt;"), "<a href=\"x\">A <");
/// assert_eq!(unescaped("5 % of R&D"), "5 % of R&D");
/// ```
pub fn unescaped(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        if text.is_ascii() && memchr::memchr3(b'\\', b'&', b'%', text.as_bytes()).is_none() {
            break;
        }
        let again = decoded_once(&text);
        if again == text {
            break;
        }
        text = again.into();
    }
    text
}

fn decoded_once(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, character) = match first {
            '\\' => escape(rest),
            '&' => entity(rest),
            '%' => percent(rest),
            // The wide forms of ASCII.
            '\u{ff01}'..='\u{ff5e}' => {
                let narrow = u32::from(first) - 0xfee0;
                (first.len_utf8(), char::from_u32(narrow).unwrap_or(' '))
            }
            other => (other.len_utf8(), other),
        };
        out.push(character);
        rest = &rest[length..];
    }
    out
}

/// Returns the length of a JSON escape, also in a nested text, and its character. A backslash before anything else goes.
fn escape(text: &str) -> (usize, char) {
    let bare = text.trim_start_matches('\\');
    let backslashes = text.len() - bare.len();
    let hex = |from: usize, digits: usize| {
        let digits = bare.get(from..from + digits)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let (number, length) = match bare.as_bytes().first() {
        Some(b'n' | b'r') => return (backslashes + 1, '\n'),
        Some(b't' | b'b' | b'f') => return (backslashes + 1, ' '),
        Some(b'u') => match (
            hex(1, 4),
            bare.get(5..).map(|it| it.trim_start_matches('\\')),
        ) {
            // A pair of surrogates is one character.
            (Some(high @ 0xd800..=0xdbff), Some(after)) if after.starts_with('u') => {
                let skipped = bare.len() - after.len();
                let low = hex(skipped + 1, 4).filter(|low| (0xdc00..=0xdfff).contains(low));
                let pair = low.map(|low| 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                (pair, skipped + 5)
            }
            (number, _) => (number, 5),
        },
        Some(b'x') => (hex(1, 2), 3),
        _ => return (backslashes, '\\'),
    };
    match number.and_then(char::from_u32) {
        Some(character) => (backslashes + length, character),
        None => (backslashes, '\\'),
    }
}

/// Returns the length of an HTML entity, and its character. In a nested page, `&lt;` is `&amp;lt;`.
fn entity(text: &str) -> (usize, char) {
    const NAME: usize = 14;
    let mut name = &text[1..];
    while let Some(inner) = name.strip_prefix("amp;") {
        name = inner;
    }
    let before = text.len() - name.len();
    let end = name.find(|c: char| c != '#' && !c.is_ascii_alphanumeric());
    let end = end.filter(|end| (2..=NAME).contains(end) && name[*end..].starts_with(';'));
    let Some(end) = end else {
        return (before, '&');
    };
    let name = &name[..end];
    let number = name.strip_prefix('#').and_then(|number| {
        let hex = number.strip_prefix(['x', 'X']);
        let parsed = hex.map_or_else(|| number.parse(), |hex| u32::from_str_radix(hex, 16));
        char::from_u32(parsed.ok()?)
    });
    let known = ENTITIES.iter().find(|(known, _)| *known == name);
    match number.or(known.map(|(_, character)| *character)) {
        Some(character) => (before + end + 1, character),
        None => (before, '&'),
    }
}

/// Returns the length of the URL escapes of one character, and the character.
fn percent(text: &str) -> (usize, char) {
    const MOST: usize = 4;
    let byte = |at: usize| {
        let escape = text.get(at..at + 3)?;
        u8::from_str_radix(escape.strip_prefix('%')?, 16).ok()
    };
    let bytes: Vec<u8> = (0..MOST).map_while(|at| byte(3 * at)).collect();
    for length in 1..=bytes.len() {
        let text = std::str::from_utf8(&bytes[..length]);
        if let Some(character) = text.ok().and_then(|text| text.chars().next()) {
            return (3 * length, character);
        }
    }
    (1, '%')
}
