//! Rules in order.

use gadgetry_proto::convo::viewer;
use gadgetry_proto::prompt::search;
use gadgetry_proto::schema::slip_of;
use serde_json::Value;

use super::rule::{InvalidRule, Named, Rule};
use crate::gadget::Subject;

/// Rules in order: the first that matches a call decides about it.
///
/// ```
/// use gadgetry::approval::Rules;
/// use gadgetry::serde_json::json;
///
/// let rules = Rules::parse(["deny Delete*", "allow *"])?;
/// let decided = |name| rules.decide(name, &json!({}), None).map(ToString::to_string);
/// assert_eq!(decided("DeleteFile").as_deref(), Some("deny Delete*"));
/// assert_eq!(decided("ReadFile").as_deref(), Some("allow *"));
/// # Ok::<(), gadgetry::approval::InvalidRule>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// Parses rules such as `allow ReadFile` and `deny WriteFile(.git/**)`, the first to match first.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`] for the first text that is not a rule.
    pub fn parse<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Self, InvalidRule> {
        let rules = texts.into_iter().map(|text| text.as_ref().parse());
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// Adds a rule that applies if no earlier one does.
    pub fn push(&mut self, rule: Rule) {
        self.0.push(rule);
    }

    /// Returns the first rule that misspells one of these names, and that name.
    ///
    /// A rule may be about gadgets that are added later: one with a `*`, a backslash or an `@` in its name is not checked.
    pub(crate) fn misspelt<'n>(&self, known: &[&'n str]) -> Option<(&Rule, &'n str)> {
        let also = [viewer::NAME, search::NAME];
        self.0.iter().find_map(|rule| {
            let name = rule.gadget();
            let is_known = |it: &&str| it.eq_ignore_ascii_case(name);
            let is_checked = !rule.is_about_server() && !name.contains(['*', '\\']);
            if !is_checked || known.iter().chain(&also).any(is_known) {
                return None;
            }
            Some((rule, slip_of(name, known.iter().copied())?))
        })
    }

    /// Adds the rule of the user's answer: before the rule that currently decides about this call, or as the last one. Earlier
    /// rules that deny other calls still do.
    pub(super) fn insert_for<'g>(
        &mut self,
        gadget: impl Into<Named<'g>>,
        parameters: &Value,
        subject: Option<&Subject>,
        rule: Rule,
    ) {
        let gadget = gadget.into();
        let mut rules = self.0.iter();
        let index = rules.position(|rule| rule.matches(gadget, parameters, subject));
        self.0.insert(index.unwrap_or(self.0.len()), rule);
    }

    /// Returns the rules in order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }

    /// Returns the reason why no rule before the first one about this call allows it, if one of them resembles it.
    pub(super) fn misses(
        &self,
        gadget: Named<'_>,
        parameters: &Value,
        subject: Option<&Subject>,
    ) -> Option<String> {
        let rules = self.0.iter();
        let mut before = rules.take_while(|rule| !rule.matches(gadget, parameters, subject));
        before.find_map(|rule| rule.misses(gadget, subject))
    }

    /// Returns the first rule that matches a call; `None` if no rule does.
    pub fn decide<'g>(
        &self,
        gadget: impl Into<Named<'g>>,
        parameters: &Value,
        subject: Option<&Subject>,
    ) -> Option<&Rule> {
        let gadget = gadget.into();
        let mut rules = self.0.iter();
        rules.find(|rule| rule.matches(gadget, parameters, subject))
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<T: IntoIterator<Item = Rule>>(rules: T) -> Self {
        Self(rules.into_iter().collect())
    }
}

impl Extend<Rule> for Rules {
    fn extend<T: IntoIterator<Item = Rule>>(&mut self, rules: T) {
        self.0.extend(rules);
    }
}

/// Parses `PERMISSION CALLS`, such as `allow ReadFile`.
impl std::str::FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        let (word, calls) = text
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or((text, ""));
        let permission = word
            .parse()
            .map_err(|_| InvalidRule::without_permission(text))?;
        Self::new(permission, calls)
    }
}
