//! Texts that do not begin with, are not, or do not hold other texts.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::class::Class;
use super::rules::{Rules, quoted, repeat, sequence};
use crate::block::Markers;

/// What no line of prose or of a value may begin with: the markers, and what looks like one with a sign missing.
///
/// ```text
/// !!!GADGET_END   forbids  !!!  !!G  !G
/// @param:         forbids  @param:
/// ```
pub(super) fn beginnings(markers: &Markers) -> Vec<String> {
    let mut all = BTreeSet::new();
    for marker in [markers.start(), markers.end(), markers.arg()] {
        let signs = marker.chars().take_while(|c| !c.is_alphanumeric()).count();
        let run: Vec<char> = marker.chars().take(signs).collect();
        if signs < 2 {
            all.insert(marker.to_owned());
            continue;
        }
        all.insert(run.iter().collect());
        let next = marker.chars().nth(signs);
        if let Some(next) = next.filter(|_| run.iter().all(|c| *c == run[0])) {
            for count in 1..signs {
                let broken = run[..count].iter().copied().chain([next]);
                all.insert(broken.collect::<String>());
            }
        }
    }
    // A text that begins with another one of them is forbidden by that already.
    let shortest = all.iter().filter(|text| {
        !all.iter()
            .any(|other| other != *text && text.starts_with(other.as_str()))
    });
    shortest.cloned().collect()
}

/// How many characters a text has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    pub(super) least: u32,
    pub(super) most: Option<u32>,
}

impl Length {
    fn admits(self, count: u32) -> bool {
        count >= self.least && self.most.is_none_or(|most| count <= most)
    }
}

/// A text of at least one character that begins with none of `forbidden`, nor with one that is not of `first`.
pub(super) fn not_beginning(
    rules: &mut Rules,
    forbidden: &[String],
    first: &Class,
    class: &Class,
    length: Length,
) -> String {
    let words: Vec<Vec<char>> = forbidden.iter().map(|it| it.chars().collect()).collect();
    let mut all = Vec::new();
    branch(&words, &mut Vec::new(), (first, class), length, &mut all);
    rules.add("head", &all.join(" | "))
}

/// The texts after a prefix that some words have in common.
fn branch(
    words: &[Vec<char>],
    prefix: &mut Vec<char>,
    (own, class): (&Class, &Class),
    length: Length,
    out: &mut Vec<String>,
) {
    let following = words.iter().filter(|word| word.starts_with(prefix));
    let next: BTreeSet<char> = following
        .filter_map(|word| word.get(prefix.len()).copied())
        .collect();
    let mut others = own.clone();
    for c in &next {
        others = others.without((*c, *c));
    }
    let count = u32::try_from(prefix.len())
        .unwrap_or(u32::MAX)
        .saturating_add(1);
    let Some(room) = length
        .most
        .map_or(Some(None), |most| most.checked_sub(count).map(Some))
    else {
        return;
    };
    if !others.is_empty() {
        let before: String = prefix.iter().collect();
        let before = if before.is_empty() {
            before
        } else {
            quoted(&before)
        };
        let tail = repeat(&class.text(), length.least.saturating_sub(count), room);
        out.push(sequence([
            before.as_str(),
            others.text().as_str(),
            tail.as_str(),
        ]));
    }
    for c in next {
        prefix.push(c);
        if !words.contains(prefix) {
            if length.admits(count) {
                out.push(quoted(&prefix.iter().collect::<String>()));
            }
            branch(words, prefix, (class, class), length, out);
        }
        prefix.pop();
    }
}

/// A text of at least one character of `class` that is not one of `words`.
pub(super) fn other_than(rules: &mut Rules, words: &[String], class: &Class) -> String {
    let words: Vec<Vec<char>> = words.iter().map(|it| it.chars().collect()).collect();
    let mut all = Vec::new();
    others(&words, &mut Vec::new(), class, &mut all);
    rules.add("other", &all.join(" | "))
}

fn others(words: &[Vec<char>], prefix: &mut Vec<char>, class: &Class, out: &mut Vec<String>) {
    let depth = prefix.len();
    let following = words.iter().filter(|word| word.starts_with(prefix));
    let next: BTreeSet<char> = following
        .filter_map(|word| word.get(depth).copied())
        .collect();
    let mut rest = class.clone();
    for c in &next {
        rest = rest.without((*c, *c));
    }
    let before: String = prefix.iter().collect();
    let head = if depth == 0 {
        String::new()
    } else {
        format!("{} ", quoted(&before))
    };
    if !rest.is_empty() {
        out.push(format!("{head}{} {}*", rest.text(), class.text()));
    }
    for c in next {
        prefix.push(c);
        if !words.iter().any(|word| word == prefix) {
            let text: String = prefix.iter().collect();
            out.push(quoted(&text));
        }
        others(words, prefix, class, out);
        prefix.pop();
    }
}

/// A text of characters of `class` and of `extra` that does not hold `needle`, then `end`. The first character of `needle` must
/// not be in it twice. One rule for each character that is read:
///
/// ```text
/// s-0 ::= [^<] s-0 | "<" s-1 | end        s-1 ::= [^/<] s-0 | "<" s-1 | "/" s-2 | end      …
/// ```
pub(super) fn not_holding(
    rules: &mut Rules,
    name: &str,
    needle: &str,
    class: &Class,
    extra: &str,
    end: &str,
) -> String {
    let chars: Vec<char> = needle.chars().collect();
    let end = if end.is_empty() { "\"\"" } else { end };
    let extra = if extra.is_empty() {
        String::new()
    } else {
        format!("{extra} {name}-at0 | ")
    };
    for (at, c) in chars.iter().enumerate() {
        let first = chars[0];
        let rest = class.clone().without((first, first)).without((*c, *c));
        let mut body = format!("{} {name}-at0 | {extra}", rest.text());
        // Writing to a string does not fail.
        let _ = write!(body, "{} {name}-at1 | ", quoted(&first.to_string()));
        if at > 0 && at + 1 < chars.len() {
            let _ = write!(body, "{} {name}-at{} | ", quoted(&c.to_string()), at + 1);
        }
        body.push_str(end);
        rules.named(&format!("{name}-at{at}"), &body);
    }
    format!("{name}-at0")
}
