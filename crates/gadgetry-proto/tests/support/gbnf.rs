//! A naive reader of GBNF, as an oracle: it decides whether a text follows a grammar, and writes texts that do.
//!
//! The notation: <https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md>.

use std::collections::{BTreeMap, BTreeSet};

/// Rules in rules, after which a text takes the shortest way.
const DEPTH: usize = 12;

/// Characters of classes that name what they exclude: those that a model writes, and those that mean something.
const LIKELY: &str = "aBGAEeT7 .é!<>/\\\"{}[]:,@#-'0$`~=漢";

/// A grammar, its nodes by number.
pub struct Grammar {
    nodes: Vec<Node>,
    rules: BTreeMap<String, usize>,
    /// The length of the shortest text of each node.
    cost: Vec<usize>,
}

enum Node {
    Literal(Vec<char>),
    /// Characters in these ranges, or all others.
    Class(bool, Vec<(char, char)>),
    Rule(String),
    Sequence(Vec<usize>),
    Choice(Vec<usize>),
    /// A node, so often; without a second number for ever.
    Repeat(usize, usize, Option<usize>),
}

/// What is left of the text of a grammar.
struct Source {
    chars: Vec<char>,
    at: usize,
}

impl Grammar {
    pub fn new(text: &str) -> Self {
        let mut grammar = Self {
            nodes: Vec::new(),
            rules: BTreeMap::new(),
            cost: Vec::new(),
        };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (name, body) = line.split_once("::=").expect("a rule");
            let mut source = Source {
                chars: body.chars().collect(),
                at: 0,
            };
            let node = grammar.choice(&mut source);
            assert_eq!(source.at, source.chars.len(), "{line}");
            grammar.rules.insert(name.trim().to_owned(), node);
        }
        assert!(
            grammar.undefined().is_empty(),
            "{:?} {text}",
            grammar.undefined()
        );
        grammar.cost = grammar.costs();
        grammar
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn choice(&mut self, source: &mut Source) -> usize {
        let mut all = vec![self.sequence(source)];
        while source.take('|') {
            all.push(self.sequence(source));
        }
        self.add(Node::Choice(all))
    }

    fn sequence(&mut self, source: &mut Source) -> usize {
        let mut all = Vec::new();
        while let Some(next) = source.peek() {
            let node = match next {
                '|' | ')' => break,
                '(' => {
                    source.at += 1;
                    let inner = self.choice(source);
                    assert!(source.take(')'), "a group ends");
                    inner
                }
                '"' => {
                    source.at += 1;
                    let mut literal = Vec::new();
                    while let Some(c) = source.character('"') {
                        literal.push(c);
                    }
                    self.add(Node::Literal(literal))
                }
                '[' => {
                    source.at += 1;
                    let is_negated = source.take_now('^');
                    let mut ranges = Vec::new();
                    while let Some(from) = source.character(']') {
                        let to = if source.is_range() {
                            source.at += 1;
                            source.character(']').expect("a range ends")
                        } else {
                            from
                        };
                        ranges.push((from, to));
                    }
                    self.add(Node::Class(is_negated, ranges))
                }
                _ => {
                    let name = source.name();
                    self.add(Node::Rule(name))
                }
            };
            let node = match source.repetition() {
                Some((least, most)) => self.add(Node::Repeat(node, least, most)),
                None => node,
            };
            all.push(node);
        }
        self.add(Node::Sequence(all))
    }

    /// Whether the text follows the grammar.
    pub fn admits(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        let mut known = BTreeMap::new();
        let ends = self.ends(self.rules["root"], 0, &chars, &mut known);
        ends.contains(&chars.len())
    }

    /// Where a node may end that begins at a place.
    fn ends(
        &self,
        node: usize,
        at: usize,
        text: &[char],
        known: &mut BTreeMap<(usize, usize), BTreeSet<usize>>,
    ) -> BTreeSet<usize> {
        if let Some(ends) = known.get(&(node, at)) {
            return ends.clone();
        }
        let ends = match &self.nodes[node] {
            Node::Literal(literal) => {
                let is_there = text[at..].starts_with(literal);
                is_there.then_some(at + literal.len()).into_iter().collect()
            }
            Node::Class(is_negated, ranges) => {
                let is_in = |c: &char| ranges.iter().any(|(from, to)| (from..=to).contains(&c));
                let is_there = text.get(at).is_some_and(|c| is_in(c) != *is_negated);
                is_there.then_some(at + 1).into_iter().collect()
            }
            Node::Rule(name) => self.ends(self.rules[name], at, text, known),
            Node::Sequence(all) => {
                let mut places = BTreeSet::from([at]);
                for part in all {
                    let next = places
                        .iter()
                        .flat_map(|at| self.ends(*part, *at, text, known));
                    places = next.collect();
                }
                places
            }
            Node::Choice(all) => {
                let all = all.iter().flat_map(|one| self.ends(*one, at, text, known));
                all.collect()
            }
            Node::Repeat(one, least, most) => {
                let mut all = BTreeSet::new();
                let mut places = BTreeSet::from([at]);
                let mut count = 0;
                loop {
                    if count >= *least {
                        let before = all.len();
                        all.extend(&places);
                        if count > *least && all.len() == before {
                            break all;
                        }
                    }
                    if places.is_empty() || Some(count) == *most {
                        break all;
                    }
                    let next = places
                        .iter()
                        .flat_map(|at| self.ends(*one, *at, text, known));
                    places = next.collect();
                    count += 1;
                }
            }
        };
        known.insert((node, at), ends.clone());
        ends
    }

    /// A text that follows the grammar, chosen by `random`, which gives numbers below its argument. Deep in rules it takes the
    /// shortest way.
    pub fn text(&self, random: &mut impl FnMut(usize) -> usize) -> String {
        let mut out = String::new();
        self.write(self.rules["root"], 0, random, &mut out);
        out
    }

    fn write(
        &self,
        node: usize,
        depth: usize,
        random: &mut impl FnMut(usize) -> usize,
        out: &mut String,
    ) {
        let is_deep = depth > DEPTH;
        match &self.nodes[node] {
            Node::Literal(literal) => out.extend(literal),
            Node::Class(true, ranges) => {
                let is_in = |c: &char| ranges.iter().any(|(from, to)| (from..=to).contains(&c));
                let allowed: Vec<char> = LIKELY.chars().filter(|c| !is_in(c)).collect();
                out.push(allowed[random(allowed.len())]);
            }
            Node::Class(false, ranges) => {
                let (from, to) = ranges[random(ranges.len())];
                let all: Vec<char> = (from..=to).collect();
                out.push(all[random(all.len())]);
            }
            Node::Rule(name) => self.write(self.rules[name], depth + 1, random, out),
            Node::Sequence(all) => {
                for part in all {
                    self.write(*part, depth, random, out);
                }
            }
            Node::Choice(all) if is_deep => {
                let shortest = all.iter().min_by_key(|one| self.cost[**one]);
                self.write(*shortest.expect("a choice"), depth, random, out);
            }
            Node::Choice(all) => self.write(all[random(all.len())], depth, random, out),
            Node::Repeat(one, least, most) => {
                let room = most.map_or(usize::MAX, |most| most - least);
                let more = match (is_deep, random(30)) {
                    (true, _) => 0,
                    // A bound is where mistakes are.
                    (_, 0) if most.is_some() => room,
                    _ => random(5).min(room),
                };
                for _ in 0..least + more {
                    self.write(*one, depth, random, out);
                }
            }
        }
    }

    /// The length of the shortest text of each node; rules that do not end have the largest.
    fn costs(&self) -> Vec<usize> {
        let mut cost = vec![usize::MAX / 4; self.nodes.len()];
        loop {
            let mut is_same = true;
            for (at, node) in self.nodes.iter().enumerate() {
                let sum = |all: &[usize]| {
                    all.iter()
                        .fold(0_usize, |sum, one| sum.saturating_add(cost[*one]))
                };
                let own = match node {
                    Node::Literal(literal) => literal.len(),
                    Node::Class(..) => 1,
                    Node::Rule(name) => cost[self.rules[name]].saturating_add(1),
                    Node::Sequence(all) => sum(all),
                    Node::Choice(all) => all.iter().map(|one| cost[*one]).min().unwrap_or(0),
                    Node::Repeat(one, least, _) => cost[*one].saturating_mul(*least),
                };
                let own = own.min(usize::MAX / 4);
                is_same &= own == cost[at];
                cost[at] = own;
            }
            if is_same {
                return cost;
            }
        }
    }

    /// Rules that are named and not defined.
    pub fn undefined(&self) -> Vec<&str> {
        let names = self.nodes.iter().filter_map(|node| {
            let Node::Rule(name) = node else {
                return None;
            };
            (!self.rules.contains_key(name)).then_some(name.as_str())
        });
        names.collect()
    }
}

impl Source {
    /// The next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.at) == Some(&' ') {
            self.at += 1;
        }
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        self.peek();
        self.take_now(wanted)
    }

    fn take_now(&mut self, wanted: char) -> bool {
        let is_there = self.chars.get(self.at) == Some(&wanted);
        self.at += usize::from(is_there);
        is_there
    }

    /// A character of a literal or class; `None` at its end.
    fn character(&mut self, end: char) -> Option<char> {
        let c = *self.chars.get(self.at).expect("it ends");
        self.at += 1;
        if c == end {
            return None;
        }
        if c != '\\' {
            return Some(c);
        }
        let escaped = self.chars[self.at];
        self.at += 1;
        Some(match escaped {
            'x' => {
                let hex: String = self.chars[self.at..self.at + 2].iter().collect();
                self.at += 2;
                let code = u32::from_str_radix(&hex, 16).expect("two digits");
                char::from_u32(code).expect("a character")
            }
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            other => other,
        })
    }

    fn is_range(&self) -> bool {
        self.chars.get(self.at) == Some(&'-') && self.chars.get(self.at + 1) != Some(&']')
    }

    fn name(&mut self) -> String {
        let rest = self.chars[self.at..].iter();
        let name: String = rest
            .take_while(|c| c.is_alphanumeric() || **c == '-')
            .collect();
        assert!(!name.is_empty(), "a name at {}", self.at);
        self.at += name.chars().count();
        name
    }

    fn repetition(&mut self) -> Option<(usize, Option<usize>)> {
        let next = self.chars.get(self.at).copied()?;
        let read = match next {
            '?' => (0, Some(1)),
            '*' => (0, None),
            '+' => (1, None),
            '{' => {
                let rest = self.chars[self.at + 1..].iter();
                let inner: String = rest.take_while(|c| **c != '}').collect();
                self.at += inner.len() + 1;
                let number = |text: &str| text.parse().expect("a number");
                match inner.split_once(',') {
                    None => (number(&inner), Some(number(&inner))),
                    Some((least, "")) => (number(least), None),
                    Some((least, most)) => (number(least), Some(number(most))),
                }
            }
            _ => return None,
        };
        self.at += 1;
        Some(read)
    }
}
