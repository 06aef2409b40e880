//! A naive reader of GBNF, as an oracle: it decides whether a text follows a grammar, and writes texts that do.
//!
//! The notation: <https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md>.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A grammar, its nodes by number.
pub(crate) struct Grammar {
    nodes: Vec<Node>,
    rules: BTreeMap<String, usize>,
}

enum Node {
    Literal(Vec<char>),
    /// Characters in these ranges, or all others.
    Class(bool, Vec<(char, char)>),
    Rule(String),
    Sequence(Vec<usize>),
    Choice(Vec<usize>),
    /// A node, at least so often, and only once more or for ever.
    Repeat(usize, usize, bool),
}

/// What is left of the text of a grammar.
struct Source {
    chars: Vec<char>,
    at: usize,
}

impl Grammar {
    pub(crate) fn new(text: &str) -> Self {
        let mut grammar = Self {
            nodes: Vec::new(),
            rules: BTreeMap::new(),
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
                Some('?') => self.add(Node::Repeat(node, 0, false)),
                Some('*') => self.add(Node::Repeat(node, 0, true)),
                Some('+') => self.add(Node::Repeat(node, 1, true)),
                _ => node,
            };
            all.push(node);
        }
        self.add(Node::Sequence(all))
    }

    /// Whether the text follows the grammar.
    pub(crate) fn admits(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        let mut known = HashMap::new();
        let ends = self.ends(self.rules["root"], 0, &chars, &mut known);
        ends.contains(&chars.len())
    }

    /// Where a node may end that begins at a place.
    fn ends(
        &self,
        node: usize,
        at: usize,
        text: &[char],
        known: &mut HashMap<(usize, usize), BTreeSet<usize>>,
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
            Node::Repeat(one, least, is_endless) => {
                let mut all = BTreeSet::new();
                if *least == 0 {
                    all.insert(at);
                }
                let mut fresh = BTreeSet::from([at]);
                loop {
                    let next: BTreeSet<usize> = fresh
                        .iter()
                        .flat_map(|at| self.ends(*one, *at, text, known))
                        .collect();
                    fresh = next.difference(&all).copied().collect();
                    all.extend(&fresh);
                    if fresh.is_empty() || !is_endless {
                        break all;
                    }
                }
            }
        };
        known.insert((node, at), ends.clone());
        ends
    }

    /// A text that follows the grammar, chosen by `random`, which gives numbers below its argument.
    pub(crate) fn text(&self, random: &mut impl FnMut(usize) -> usize) -> String {
        let mut out = String::new();
        self.write(self.rules["root"], random, &mut out);
        out
    }

    fn write(&self, node: usize, random: &mut impl FnMut(usize) -> usize, out: &mut String) {
        match &self.nodes[node] {
            Node::Literal(literal) => out.extend(literal),
            Node::Class(true, ranges) => {
                let allowed = ['a', 'B', '7', ' ', '.', 'é'].into_iter();
                let allowed =
                    allowed.filter(|c| !ranges.iter().any(|(from, to)| (from..=to).contains(&c)));
                let allowed: Vec<char> = allowed.collect();
                out.push(allowed[random(allowed.len())]);
            }
            Node::Class(false, ranges) => {
                let (from, to) = ranges[random(ranges.len())];
                let all: Vec<char> = (from..=to).collect();
                out.push(all[random(all.len())]);
            }
            Node::Rule(name) => self.write(self.rules[name], random, out),
            Node::Sequence(all) => all.iter().for_each(|part| self.write(*part, random, out)),
            Node::Choice(all) => self.write(all[random(all.len())], random, out),
            Node::Repeat(one, least, is_endless) => {
                let more = if *is_endless { random(4) } else { random(2) };
                for _ in 0..(*least).max(more) {
                    self.write(*one, random, out);
                }
            }
        }
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

    fn repetition(&mut self) -> Option<char> {
        let next = self
            .chars
            .get(self.at)
            .copied()
            .filter(|c| "?*+".contains(*c))?;
        self.at += 1;
        Some(next)
    }
}
