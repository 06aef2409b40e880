//! Simple regular expressions as expressions of the notation: literals, classes, groups, alternatives, quantifiers.

use super::class::Class;
use super::rules::{one_of, quoted, repeat};

/// Repetitions that are written out.
const REPEATS: u32 = 200;
/// Groups in groups.
const DEPTH: usize = 16;

/// A part of a pattern.
#[derive(Clone, Debug)]
enum Node {
    Class(Class),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat(Box<Node>, u32, Option<u32>),
}

/// How one character of a text is written.
pub(super) struct Alphabet<'a> {
    /// Characters that no class admits, because they cannot stand there as they are.
    pub(super) excluded: &'a [(char, char)],
    /// The text of one character; none if it cannot stand there.
    pub(super) literal: &'a dyn Fn(char) -> Option<String>,
    /// What comes before a pattern that is not anchored there.
    pub(super) before: &'a str,
    /// What comes after one.
    pub(super) after: &'a str,
}

/// Translates a pattern, of which a text of `least` to `most` characters is wanted; none if it is not simple.
pub(super) fn expression(
    pattern: &str,
    alphabet: &Alphabet<'_>,
    least: u32,
    most: Option<u32>,
) -> Option<String> {
    let mut all = Vec::new();
    for part in top_level(pattern) {
        let (part, at_start) = match part.strip_prefix('^') {
            Some(rest) => (rest, true),
            None => (part, false),
        };
        let is_escaped = part
            .strip_suffix('$')
            .is_some_and(|it| it.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1);
        let (part, at_end) = match part.strip_suffix('$') {
            Some(rest) if !is_escaped => (rest, true),
            _ => (part, false),
        };
        let mut reader = Reader {
            chars: part.chars().collect(),
            at: 0,
        };
        let mut node = reader.choice(0)?;
        if reader.at < reader.chars.len() {
            return None;
        }
        if at_start && at_end {
            node = fitted(node, least, most)?;
        } else if most.is_some() || least > length(&node).0 {
            return None;
        }
        let before = if at_start { "" } else { alphabet.before };
        let after = if at_end { "" } else { alphabet.after };
        let inner = text(&node, alphabet)?;
        all.push(format!("{before} {inner} {after}").trim().to_owned());
    }
    if all.len() == 1 {
        all.pop()
    } else {
        Some(format!("({})", all.join(" | ")))
    }
}

/// The alternatives outside of groups and classes, where anchors may differ.
fn top_level(pattern: &str) -> Vec<&str> {
    let (mut depth, mut in_class, mut from) = (0_usize, false, 0);
    let mut all = Vec::new();
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => depth += 1,
            ')' if !in_class => depth = depth.saturating_sub(1),
            '|' if !in_class && depth == 0 => {
                all.push(&pattern[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(&pattern[from..]);
    all
}

/// The least and the largest number of characters.
fn length(node: &Node) -> (u32, Option<u32>) {
    match node {
        Node::Class(_) => (1, Some(1)),
        Node::Sequence(all) => all.iter().map(length).fold((0, Some(0)), |sum, one| {
            let most = sum.1.zip(one.1).map(|(a, b)| a.saturating_add(b));
            (sum.0.saturating_add(one.0), most)
        }),
        Node::Choice(all) => {
            let lengths: Vec<_> = all.iter().map(length).collect();
            let least = lengths.iter().map(|it| it.0).min().unwrap_or(0);
            let most = lengths.iter().map(|it| it.1).collect::<Option<Vec<_>>>();
            (least, most.and_then(|it| it.into_iter().max()))
        }
        Node::Repeat(one, least, most) => {
            let (low, high) = length(one);
            let most = high.zip(*most).map(|(a, b)| a.saturating_mul(b));
            (low.saturating_mul(*least), most)
        }
    }
}

/// The node with repetitions changed so that every text of it has the wanted length; none if that is not known.
fn fitted(node: Node, least: u32, most: Option<u32>) -> Option<Node> {
    let (low, high) = length(&node);
    let is_short = most.is_some_and(|most| high.is_none_or(|high| high > most));
    if low >= least && !is_short {
        return Some(node);
    }
    let mut parts = match node {
        Node::Sequence(parts) => parts,
        other @ (Node::Class(_) | Node::Choice(_) | Node::Repeat(..)) => vec![other],
    };
    let is_open = |part: &Node| matches!(part, Node::Repeat(one, a, b) if length(one) == (1, Some(1)) && Some(*a) != *b);
    let at = parts.iter().position(is_open)?;
    let others: Vec<Node> = parts
        .iter()
        .enumerate()
        .filter(|(it, _)| *it != at)
        .map(|(_, part)| part.clone())
        .collect();
    let (other_low, other_high) = length(&Node::Sequence(others));
    let Node::Repeat(_, from, to) = &mut parts[at] else {
        return None;
    };
    *from = (*from).max(least.saturating_sub(other_low));
    if let Some(most) = most {
        let room = most.checked_sub(other_high?)?;
        *to = Some(to.map_or(room, |to| to.min(room)));
    }
    (to.is_none_or(|to| to >= *from)).then_some(Node::Sequence(parts))
}

fn text(node: &Node, alphabet: &Alphabet<'_>) -> Option<String> {
    Some(match node {
        Node::Class(class) => {
            if !class.is_negated
                && class.ranges.len() == 1
                && class.ranges[0].0 == class.ranges[0].1
            {
                return Some(quoted(&(alphabet.literal)(class.ranges[0].0)?));
            }
            // Those that can be written in another way.
            let single = alphabet
                .excluded
                .iter()
                .filter(|(from, to)| from == to && class.contains(*from));
            let escaped = single.filter_map(|(c, _)| {
                (alphabet.literal)(*c).filter(|text| text.chars().count() > 1)
            });
            let escaped: Vec<String> = escaped.collect();
            let mut class = class.clone();
            for range in alphabet.excluded {
                class = class.without(*range);
            }
            let mut all: Vec<String> = (!class.is_empty())
                .then(|| class.text())
                .into_iter()
                .collect();
            all.extend(escaped.iter().map(|text| quoted(text)));
            one_of(all)?
        }
        Node::Sequence(all) => {
            let all: Option<Vec<String>> = all.iter().map(|one| text(one, alphabet)).collect();
            let all = all?;
            if all.is_empty() {
                "\"\"".to_owned()
            } else {
                all.join(" ")
            }
        }
        Node::Choice(all) => {
            let all: Option<Vec<String>> = all.iter().map(|one| text(one, alphabet)).collect();
            format!("({})", all?.join(" | "))
        }
        Node::Repeat(one, least, most) => {
            if *least > REPEATS || most.is_some_and(|most| most > REPEATS * 10) {
                return None;
            }
            let inner = text(one, alphabet)?;
            let inner = if matches!(**one, Node::Sequence(_)) {
                format!("({inner})")
            } else {
                inner
            };
            repeat(&inner, *least, *most)
        }
    })
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn choice(&mut self, depth: usize) -> Option<Node> {
        if depth > DEPTH {
            return None;
        }
        let mut all = vec![self.sequence(depth)?];
        while self.take('|') {
            all.push(self.sequence(depth)?);
        }
        if all.len() == 1 {
            all.pop()
        } else {
            Some(Node::Choice(all))
        }
    }

    fn sequence(&mut self, depth: usize) -> Option<Node> {
        let mut all = Vec::new();
        while let Some(c) = self.peek().filter(|c| !matches!(c, '|' | ')')) {
            self.at += 1;
            let one = match c {
                '^' | '$' | '*' | '+' | '?' | '{' | '}' | ']' => return None,
                '.' => Node::Class(Class::not(&['\n', '\r'])),
                '[' => Node::Class(self.class()?),
                '(' => {
                    if self.take('?') && !self.take(':') {
                        return None;
                    }
                    let inner = self.choice(depth + 1)?;
                    if !self.take(')') {
                        return None;
                    }
                    Node::Choice(vec![inner])
                }
                '\\' => Node::Class(self.escape(false)?),
                c => Node::Class(Class::of(&[(c, c)])),
            };
            all.push(self.quantified(one)?);
        }
        Some(Node::Sequence(all))
    }

    fn quantified(&mut self, one: Node) -> Option<Node> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let rest = &self.chars[self.at + 1..];
                let inner: String = rest.iter().take_while(|c| **c != '}').collect();
                self.at += inner.chars().count() + 1;
                if self.peek() != Some('}') {
                    return None;
                }
                match inner.split_once(',') {
                    None => {
                        let count = inner.parse().ok()?;
                        (count, Some(count))
                    }
                    Some((least, "")) => (least.parse().ok()?, None),
                    Some((least, most)) => (least.parse().ok()?, Some(most.parse().ok()?)),
                }
            }
            _ => return Some(one),
        };
        self.at += 1;
        // A lazy quantifier admits the same texts.
        let _ = self.take('?');
        if matches!(self.peek(), Some('*' | '+' | '{')) {
            return None;
        }
        Some(Node::Repeat(Box::new(one), least, most))
    }

    fn escape(&mut self, in_class: bool) -> Option<Class> {
        let c = self.peek()?;
        self.at += 1;
        let word = [('A', 'Z'), ('a', 'z'), ('0', '9'), ('_', '_')];
        let blank = [(' ', ' '), ('\t', '\t')];
        Some(match c {
            'd' => Class::of(&[('0', '9')]),
            'w' => Class::of(&word),
            's' => Class::of(&blank),
            'D' | 'W' | 'S' if in_class => return None,
            // Fewer than the negated classes of Unicode.
            'D' => Class::of(&[('A', 'Z'), ('a', 'z'), ('_', '_'), (' ', ' ')]),
            'W' => Class::of(&[(' ', ' '), ('.', '.'), (',', ','), ('/', '/')]),
            'S' => Class::of(&[('!', '~')]),
            'n' => Class::of(&[('\n', '\n')]),
            't' => Class::of(&[('\t', '\t')]),
            c if c.is_ascii_alphanumeric() => return None,
            c => Class::of(&[(c, c)]),
        })
    }

    fn class(&mut self) -> Option<Class> {
        let is_negated = self.take('^');
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut is_first = true;
        loop {
            let c = self.peek()?;
            self.at += 1;
            let from = match c {
                ']' if !is_first => break,
                '[' if matches!(self.peek(), Some(':' | '.' | '=')) => return None,
                '\\' => {
                    let class = self.escape(true)?;
                    if class.ranges.len() > 1 || class.ranges[0].0 != class.ranges[0].1 {
                        ranges.extend(class.ranges);
                        is_first = false;
                        continue;
                    }
                    class.ranges[0].0
                }
                '&' if self.peek() == Some('&') => return None,
                c => c,
            };
            is_first = false;
            let is_range = self.peek() == Some('-')
                && self.chars.get(self.at + 1).is_some_and(|next| *next != ']');
            if !is_range {
                ranges.push((from, from));
                continue;
            }
            self.at += 1;
            let mut to = self.peek()?;
            self.at += 1;
            if to == '\\' {
                let class = self.escape(true)?;
                if class.ranges.len() > 1 || class.ranges[0].0 != class.ranges[0].1 {
                    return None;
                }
                to = class.ranges[0].0;
            }
            if to < from {
                return None;
            }
            ranges.push((from, to));
        }
        if is_negated {
            ranges.extend([('\n', '\n'), ('\r', '\r')]);
        }
        Some(Class { is_negated, ranges })
    }
}
