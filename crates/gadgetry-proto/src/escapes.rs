//! Text without escapes, for comparisons: two texts are the same, however each was quoted.

use std::borrow::Cow;

/// Times that escapes are decoded: an escape may be escaped.
const ROUNDS: usize = 4;

/// HTML entities that need no semicolon.
const OPEN_ENTITIES: [(&str, char); 6] = [
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("amp", '&'),
    ("nbsp", ' '),
    ("shy", '\u{ad}'),
];

/// Other HTML entities of ASCII, and their characters.
const ENTITIES: [(&str, char); 41] = [
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
    ("ensp", ' '),
    ("emsp", ' '),
    ("NewLine", '\n'),
    ("Tab", '\t'),
];

/// Decodes the escapes of JSON, HTML and URLs, also escaped ones, and the wide forms of ASCII.
///
/// Other references by name, as to quotation marks, blanks and letters outside ASCII, become U+200B, which is not seen.
///
/// ```
/// use gadgetry_proto::escapes::unescaped;
/// assert_eq!(unescaped(r"&lt;a href=%22x%22&gt;\u0041 &amp;lt;"), "<a href=\"x\">A <");
/// assert_eq!(unescaped("5 % of R&D"), "5 % of R&D");
/// assert_eq!(unescaped("&LTa&gt &ldquo;b&#98"), "<a> \u{200b}bb");
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
        // As in Rust and JavaScript: `\u{1b}`.
        Some(b'u') if bare.as_bytes().get(1) == Some(&b'{') => {
            let near = &bare[2..bare.floor_char_boundary(9.min(bare.len()))];
            let digits = near.split_once('}').map(|it| it.0);
            let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            (number, digits.map_or(0, str::len) + 3)
        }
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
    const NAME: usize = 32;
    let mut name = &text[1..];
    while let Some(inner) = name.strip_prefix("amp;") {
        name = inner;
    }
    let before = text.len() - name.len();
    let ends = |length: usize| before + length + usize::from(name[length..].starts_with(';'));
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let (digits, radix) = hex.map_or((number, 10), |hex| (hex, 16));
        let length = digits
            .bytes()
            .take_while(|it| char::from(*it).is_digit(radix))
            .count();
        let value = u32::from_str_radix(&digits[..length], radix).ok();
        let end = name.len() - digits.len() + length;
        let character = value.and_then(char::from_u32);
        return character.map_or((before, '&'), |character| (ends(end), character));
    }
    let length = name
        .bytes()
        .take(NAME)
        .take_while(u8::is_ascii_alphanumeric)
        .count();
    if name[length..].starts_with(';') && length > 1 {
        let is_known = |(known, _): &&(&str, char)| known.eq_ignore_ascii_case(&name[..length]);
        let known = OPEN_ENTITIES.iter().chain(&ENTITIES).find(is_known);
        return (
            ends(length),
            known.map_or('\u{200b}', |(_, character)| *character),
        );
    }
    let is_begun = |(known, _): &&(&str, char)| {
        let begin = name.get(..known.len());
        begin.is_some_and(|it| it.eq_ignore_ascii_case(known))
    };
    let known = OPEN_ENTITIES.iter().find(is_begun);
    known.map_or((before, '&'), |(known, character)| {
        (before + known.len(), *character)
    })
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
