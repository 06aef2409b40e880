//! The names of sessions and of their runs.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::str::FromStr;

use gadgetry::journal::{InvalidRunId, RunId};

/// Characters of a name at most.
const LONGEST: usize = 64;
/// Characters of a generated name, without those that are easily confused.
const ALPHABET: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
/// The first of them that is a digit.
const DIGITS: u64 = 23;
const GENERATED: usize = 5;

/// The name of a session. Its runs are `NAME.1.RANDOM`, `NAME.2.RANDOM`, one for each prompt. Random, because the
/// idempotency keys of gadgets are made of these ids, and another session may have the same name on another machine, or
/// after this one was removed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionName(String);

impl SessionName {
    /// A short random name that begins with a letter.
    pub(crate) fn generated() -> Self {
        let mut number = random();
        let mut pick = |choices: u64| {
            let at = number % choices;
            number /= choices;
            let letter = usize::try_from(at).ok().and_then(|at| ALPHABET.get(at));
            letter.map_or('a', |letter| char::from(*letter))
        };
        let mut name = String::from(pick(DIGITS));
        let all = ALPHABET.len() as u64;
        name.extend((1..GENERATED).map(|_| pick(all)));
        Self(name)
    }

    /// A new id for the run with this number, from 1.
    pub(crate) fn run(&self, number: u32) -> Result<RunId, InvalidRunId> {
        format!("{}.{number}.{:016x}", self.0, random()).parse()
    }

    /// The beginning of the ids of its runs, and of no others.
    pub(crate) fn beginning(&self) -> String {
        format!("{}.", self.0)
    }

    /// The session that a run belongs to, and its number in it; `None` if the run belongs to none.
    pub(crate) fn of(run: &RunId) -> Option<(Self, u32)> {
        let (name, rest) = run.as_str().split_once('.')?;
        let (number, _) = rest.split_once('.')?;
        let number = number.parse().ok().filter(|it| *it > 0)?;
        Some((name.parse().ok()?, number))
    }
}

/// A number that no other process has.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

impl FromStr for SessionName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_word = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
        if text.is_empty()
            || text.len() > LONGEST
            || text.starts_with('-')
            || !text.chars().all(is_word)
        {
            return Err(InvalidName);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A text that cannot name a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidName;

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected 1 to 64 ASCII letters, digits, hyphens and underscores, the first one not a hyphen")
    }
}

impl std::error::Error for InvalidName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        let check = |text: &str, is_name: bool| {
            assert_eq!(text.parse::<SessionName>().is_ok(), is_name, "{text:?}");
        };
        for name in ["a", "invoice-42", "A_b", "7", &"x".repeat(64)] {
            check(name, true);
        }
        for text in ["", "-a", "a.b", "a b", "ä", "a/b", &"x".repeat(65)] {
            check(text, false);
        }
    }

    #[test]
    fn generated_names_are_short_and_differ() {
        let names: Vec<String> = (0..100)
            .map(|_| SessionName::generated().to_string())
            .collect();
        for name in &names {
            assert_eq!(name.len(), GENERATED);
            assert!(
                name.starts_with(|it: char| it.is_ascii_lowercase()),
                "{name}"
            );
            assert!(name.parse::<SessionName>().is_ok(), "{name}");
        }
        assert!(names.iter().any(|name| *name != names[0]));
    }

    #[test]
    fn runs_are_numbered() {
        let check = |run: &str, expected: Option<(&str, u32)>| {
            let found = SessionName::of(&run.parse().unwrap());
            let names = found.map(|(name, number)| (name.0, number));
            let expected = expected.map(|(name, number)| (name.to_owned(), number));
            assert_eq!(names, expected, "{run}");
        };
        check("a.1.00ff", Some(("a", 1)));
        check("a-b.17.x", Some(("a-b", 17)));
        for other in ["a", "a.1", "a.0.x", "a.x.x", "a b.1.x", ".2.x"] {
            check(other, None);
        }
        let name: SessionName = "a".parse().unwrap();
        let runs = [name.run(3).unwrap(), name.run(3).unwrap()];
        assert_ne!(runs[0], runs[1]);
        assert_eq!(SessionName::of(&runs[0]), Some((name, 3)));
    }
}
