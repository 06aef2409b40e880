//! Replies, honest and hostile, and formats to read them with.
//!
//! A reply is a row of pieces, each written by the grammar from one seed, and then a few mutations. Proptest shrinks
//! it by leaving pieces and mutations out.

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::reply::Format;
use proptest::collection::vec;
use proptest::prelude::*;

/// A format and a reply for it.
pub fn cases() -> impl Strategy<Value = (Format, String)> {
    (
        any::<u64>(),
        vec(any::<u64>(), 0..14),
        vec(any::<u64>(), 0..4),
    )
        .prop_map(|(seed, pieces, mutations)| {
            let format = format(&mut Random::new(seed));
            let text = assemble(&format, &pieces, &mutations);
            (format, text)
        })
}

/// One case from one seed, without proptest.
pub fn case(seed: u64) -> (Format, String) {
    let mut random = Random::new(seed);
    let format = format(&mut random);
    let pieces: Vec<u64> = (0..random.below(14)).map(|_| random.next()).collect();
    let mutations: Vec<u64> = (0..random.below(4)).map(|_| random.next()).collect();
    let text = assemble(&format, &pieces, &mutations);
    (format, text)
}

fn assemble(format: &Format, pieces: &[u64], mutations: &[u64]) -> String {
    let mut text: String = pieces
        .iter()
        .map(|&seed| piece(&mut Random::new(seed), format))
        .collect();
    for &seed in mutations {
        mutate(&mut Random::new(seed), &mut text);
    }
    text
}

/// A small generator of random numbers: splitmix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("it is less than a usize")
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

// Formats

/// A random format.
pub fn format(random: &mut Random) -> Format {
    let markers = match random.below(9) {
        0 => None,
        1 => Some(markers("<<<START:", "<<<END:", "@param:")),
        2 => Some(markers("[[RUN ", "[[END", "--")),
        3 => Some(Markers::nonce(random.next())),
        4 => Some(other_markers(random)),
        _ => Some(Markers::default()),
    };
    let anchoring = *random.pick(&[Anchoring::Anywhere, Anchoring::LineStart]);
    let mut tags: Vec<String> = Vec::new();
    for _ in 0..random.below(5) {
        let tag = *random.pick(&TAGS);
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    let mut reasoning: Vec<String> = Vec::new();
    for _ in 0..random.below(6).saturating_sub(2) {
        let tag = *random.pick(&TAGS);
        if !reasoning.iter().any(|known| known == tag) {
            reasoning.push(tag.to_owned());
        }
    }
    let reasoning_open = random.one_in(4);
    let limits = if random.one_in(3) {
        tiny_limits(random)
    } else {
        Limits::default()
    };
    Format {
        markers,
        anchoring,
        tags,
        reasoning,
        reasoning_open,
        limits,
    }
}

/// Markers that are a burden: other leads, no word, one that holds a tag, more than ASCII, parts that repeat.
fn other_markers(random: &mut Random) -> Markers {
    let [start, end, arg] = *random.pick(&[
        ["##RUN", "##END#", "##ARG "],
        ["<<GADGET_START:", "<<GADGET_END", "<<ARG:"],
        ["!!a", "!!!", "!!b"],
        ["run<n>", "end<n>", "arg<n>"],
        ["→a", "→b→", "é"],
        ["aab", "aaa", "ac"],
        ["A", "B", "C"],
        ["\\s", "\\e", "\\a"],
        ["--S:", "--E", "--A:"],
        ["`s", "``e", "```a"],
        ["!!a!", "!!b", "!!c:"],
        ["\\\\s", "\\\\e", "\\\\a:"],
    ]);
    markers(start, end, arg)
}

const TAGS: [&str; 8] = [
    "think", "thin", "think-2", "note", "not", "n", "_", "stage_2",
];

fn markers(start: &str, end: &str, arg: &str) -> Markers {
    Markers::new(start, end, arg).expect("they differ")
}

/// One or two caps that a short reply runs into; the others as they are.
fn tiny_limits(random: &mut Random) -> Limits {
    let mut limits = Limits::default();
    for _ in 0..=random.below(2) {
        let small = random.below(12);
        match random.below(10) {
            0 => limits.header = small,
            1 => limits.pointer = small,
            2 => limits.value = small,
            3 => limits.block = small * 5,
            4 => limits.tag_name = small,
            5 => limits.attributes = small * 2,
            6 => limits.tag_content = small,
            7 => limits.indent = small % 4,
            8 => limits.near_misses = small % 3,
            _ => limits.whitespace = small,
        }
    }
    limits
}

// The grammar of replies

/// One piece of a reply: a block, a tag, prose, or something that is none of them but nearly.
pub fn piece(random: &mut Random, format: &Format) -> String {
    match random.below(16) {
        0..5 => block(random, format),
        5..8 => tag(random, format),
        8..10 => white_space(random),
        10 => near_miss(random, format),
        11 => loose_marker(random, format),
        12 => noise(random),
        _ => prose(random),
    }
}

fn block(random: &mut Random, format: &Format) -> String {
    let [start, end, _] = spellings(format);
    let newline = newline(random);
    let mut text = String::new();
    indent(random, &mut text);
    text += &start;
    text += &header(random);
    if random.one_in(12) {
        text += &end;
        return text;
    }
    text += newline;
    match random.below(10) {
        0 => text += &json_body(random, newline),
        1 => text += &prose(random),
        _ => text += &arguments(random, format, newline),
    }
    if random.one_in(6) {
        return text; // ended by whatever comes, or by nothing
    }
    if random.one_in(12) {
        text += cut(random, &end);
        return text;
    }
    indent(random, &mut text);
    text += &end;
    text += *random.pick(&["", newline, "\n", " ", ":id\n", "\n\n"]);
    text
}

fn header(random: &mut Random) -> String {
    let name = *random.pick(&[
        "Read", "math.add", "get-user", " Wri te ", "é", "", "A_b", "🍲",
    ]);
    let id = *random.pick(&["r1", "", " x ", "gadget_1", "ä", "a b"]);
    let dependencies = *random.pick(&["a", "a,b", "a,,a, b ", "", ":", "x:y,z,x", " "]);
    match random.below(4) {
        0 => name.to_owned(),
        1 => format!("{name}:{id}"),
        _ => format!("{name}:{id}:{dependencies}"),
    }
}

fn arguments(random: &mut Random, format: &Format, newline: &str) -> String {
    let [_, _, argument] = spellings(format);
    let mut text = String::new();
    let fence = random
        .one_in(4)
        .then(|| "`".repeat(*random.pick(&[3, 3, 3, 4, 2])));
    if random.one_in(8) {
        text += &prose(random);
        text += newline;
    }
    if let Some(fence) = &fence {
        indent(random, &mut text);
        text += fence;
        text += *random.pick(&["", "", "text", " a b", "`x`"]);
        text += newline;
    }
    for _ in 0..random.below(4) {
        indent(random, &mut text);
        text += &argument;
        text += *random.pick(&["x", "items/0", "a/b", "", " p ", "x 5", "é", "y"]);
        if random.one_in(16) {
            continue;
        }
        text += newline;
        text += &value(random, format);
        if !random.one_in(12) {
            text += newline;
        }
    }
    if let Some(fence) = &fence
        && !random.one_in(5)
    {
        indent(random, &mut text);
        text += fence;
        text += *random.pick(&["", "", "", "`", " ", "x"]);
        text += *random.pick(&[newline, newline, newline, "", "\n\n"]);
    }
    text
}

fn value(random: &mut Random, format: &Format) -> String {
    let mut text = String::new();
    for _ in 0..random.below(4) {
        match random.below(14) {
            0 => text += &near_miss(random, format),
            1 => text += &loose_marker(random, format),
            2 => text += "```rust\nfn a() {}\n```\n",
            3 => text += "```",
            4 => text += &tag(random, format),
            5 => text += &white_space(random),
            6 => text += &noise(random),
            _ => {
                text += *random.pick(&[
                    "42",
                    "two\nlines",
                    "true",
                    "",
                    "🍲 crème",
                    "C:\\dir\\",
                    "x\r\ny",
                ]);
            }
        }
    }
    text
}

fn json_body(random: &mut Random, newline: &str) -> String {
    let json = *random.pick(&[
        r#"{"a":1}"#,
        r#"{"a":{"b":[1,"x"]},"c":null}"#,
        "{\n  \"a\": \"é\"\n}",
        "{}",
        "[1]",
        "{\"a\":1} x",
        "{\"a\":",
        "\"text\"",
    ]);
    let (before, behind) = *random.pick(&[
        ("", ""),
        ("```json", "```"),
        ("```", "```"),
        ("````", "```"),
        (" ```", "  ````"),
        ("```", ""),
        ("", "```"),
    ]);
    let mut text = String::new();
    for line in [before, json, behind] {
        if !line.is_empty() {
            indent(random, &mut text);
            text += line;
            text += newline;
        }
        if random.one_in(8) {
            text += newline;
        }
    }
    text
}

fn tag(random: &mut Random, format: &Format) -> String {
    let names = [&format.tags[..], &format.reasoning[..]].concat();
    let name = if names.is_empty() || random.one_in(5) {
        (*random.pick(&TAGS)).to_owned()
    } else {
        random.pick(&names).clone()
    };
    let mut text = format!("{}<{name}", random.pick(&["", "", "", "`"]));
    for _ in 0..random.below(4) {
        text += *random.pick(&[" ", "  ", "\n", "\r\n", "\t", " ", " ", ""]);
        text += *random.pick(&["a", "href", "x:y", "a", "_b", "data-1", "9", "é", "A"]);
        text += *random.pick(&["=", "=", "=", " = ", "\n=", "", "", "= ", "=="]);
        text += *random.pick(&[
            "\"v\"",
            "'v'",
            "v",
            "\"a > b\"",
            "'/>'",
            "\"&lt;&amp;lt;&quot;&nope;\"",
            "https://e.org/p",
            "\"\"",
            "\"é🙂\"",
            "",
            "\"open",
            "'a\nb'",
            "x<y",
            "a/",
            "&apos;",
        ]);
    }
    text += *random.pick(&[
        ">", ">", ">", ">", "/>", " / >", "//>", " >", "/", "", "/x>",
    ]);
    if random.one_in(4) {
        return text;
    }
    for _ in 0..random.below(3) {
        match random.below(8) {
            0 => text += &tag_once(random, format),
            1 => text += &loose_marker(random, format),
            2 => text += *random.pick(&["</", "<", "</</", "</ think>", "</thinker>"]),
            3 => text += &white_space(random),
            _ => text += &prose(random),
        }
    }
    let closing = format!("</{name}>");
    match random.below(8) {
        0 => text += cut(random, &closing),
        1 => text += &closing.replace('>', " \n>"),
        2 => text += &closing.replace('>', "     >"),
        _ => text += &closing,
    }
    text
}

/// A tag with nothing in it, so that tags in tags come to an end.
fn tag_once(random: &mut Random, format: &Format) -> String {
    let name = random
        .pick(
            &[
                &format.tags[..],
                &format.reasoning[..],
                &[TAGS[0].to_owned()],
            ]
            .concat(),
        )
        .clone();
    match random.below(3) {
        0 => format!("<{name}>"),
        1 => format!("</{name}>"),
        _ => format!("<{name}/>"),
    }
}

fn prose(random: &mut Random) -> String {
    (0..=random.below(3))
        .map(|_| {
            *random.pick(&[
                "Let me see.",
                " and ",
                "\n",
                "é漢字🙂",
                "if p < q && q > r",
                "a line\n",
                "x\\",
                "`code`",
                "\u{3000}",
                "!",
                "\r\n",
            ])
        })
        .collect()
}

fn white_space(random: &mut Random) -> String {
    (0..=random.below(5))
        .map(|_| *random.pick(&[" ", "\n", "\t", "\r\n", "\u{a0}", "    "]))
        .collect()
}

/// Something that looks like a marker.
fn near_miss(random: &mut Random, format: &Format) -> String {
    let [start, end, argument] = spellings(format);
    let marker = random.pick(&[start, end, argument]).clone();
    let word = marker.trim_start_matches(|char: char| char.is_ascii_punctuation());
    let run = &marker[..marker.len() - word.len()];
    let mut text = match random.below(9) {
        0 => marker.to_lowercase(),
        1 => format!("{}{word}", run.get(1..).unwrap_or_default()),
        2 => format!("{}{marker}", run.get(..1).unwrap_or_default()),
        3 => marker.replace('_', "-"),
        4 => marker.replace('_', ""),
        5 => format!(
            "{run}{}",
            random.pick(&["TOOL_CALL:", "INVOKE:", "TOOL", "GADGET:", "Tool:"])
        ),
        6 => format!("{run}{}:", "A".repeat(39 + random.below(3))),
        7 => marker.trim_end_matches(':').to_owned(),
        _ => format!("{marker}{}", random.pick(&["ING", "_", "x", ":"])),
    };
    text += *random.pick(&["", "x", "\n", ":", " ", "é"]);
    text
}

/// A marker where it may not be one, or escaped, or cut.
fn loose_marker(random: &mut Random, format: &Format) -> String {
    let spellings = spellings(format);
    let marker = random.pick(&spellings);
    let mut text = String::from(*random.pick(&["", "\n", "\n", "see ", "\r\n"]));
    indent(random, &mut text);
    text += *random.pick(&["", "", "\\", "\\\\", "\\ ", "\\\\\\\\", "!"]);
    text += if random.one_in(4) {
        cut(random, marker)
    } else {
        marker
    };
    text += *random.pick(&["", "\n", "x\n", " "]);
    text
}

fn noise(random: &mut Random) -> String {
    let char = *random.pick(&[
        "!", "<", "\\", "`", "\n", " ", "<<", "!!", "[", "-", "@", "</", "é",
    ]);
    char.repeat(1 + random.below(8))
}

fn newline(random: &mut Random) -> &'static str {
    random.pick::<&'static str>(&["\n", "\n", "\n", "\r\n"])
}

/// Mostly nothing.
fn indent(random: &mut Random, text: &mut String) {
    *text += *random.pick(&["", "", "", "", "", "  ", "\t", "    ", " "]);
}

/// A piece of the start of the text, or all of it.
fn cut<'a>(random: &mut Random, text: &'a str) -> &'a str {
    &text[..text.floor_char_boundary(random.below(text.len() + 1))]
}

/// Start, end and argument marker; the default ones if the format has none.
fn spellings(format: &Format) -> [String; 3] {
    let markers = format.markers.clone().unwrap_or_default();
    [markers.start(), markers.end(), markers.arg()].map(str::to_owned)
}

// Mutations

/// Deletes, repeats or swaps slices of the text, or cuts its end off.
pub fn mutate(random: &mut Random, text: &mut String) {
    let mut at = [0; 3].map(|_| text.floor_char_boundary(random.below(text.len() + 1)));
    at.sort_unstable();
    let [a, b, c] = at;
    // Short slices do more harm than long ones.
    let short = text.ceil_char_boundary((a + 1 + random.below(4)).min(text.len()));
    match random.below(6) {
        0 => text.replace_range(a..short, ""),
        1 => {
            let again = text[a..short].to_owned();
            text.insert_str(a, &again);
        }
        2 => text.replace_range(a..b, ""),
        3 => {
            let again = text[a..b].to_owned();
            text.insert_str(c, &again);
        }
        4 => {
            let swapped = format!("{}{}", &text[b..c], &text[a..b]);
            text.replace_range(a..c, &swapped);
        }
        _ => text.truncate(c),
    }
}
