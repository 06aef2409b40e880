//! Ids of calls: the client's, which are unique, and the model's, which are short.
//!
//! A call that the model names `users` has the id `call_0123456789abcdefghijklmnop_users` for the client. The 26 digits are the
//! random id of the exchange, in base 32. When the client sends the call back, its id in the prompt is `users` again. So the
//! model reads the block that it wrote, and the gateway needs no table of ids.

use std::collections::{HashMap, HashSet};

/// Characters of a model's id that are kept. OpenAI's ids have at most 64.
const LONGEST: usize = 31;

/// Digits of an exchange's id, five bits each.
const DIGITS: usize = 26;

/// The ids of the calls of one exchange.
#[derive(Clone, Debug)]
pub(crate) struct CallIds {
    prefix: &'static str,
    exchange: u128,
    used: HashSet<String>,
}

impl CallIds {
    /// Makes ids that begin with `prefix`, such as `call_`. `exchange` must differ between exchanges.
    pub(crate) fn new(prefix: &'static str, exchange: u128) -> Self {
        Self {
            prefix,
            exchange,
            used: HashSet::new(),
        }
    }

    /// Returns the id of the exchange, which each id contains.
    pub(crate) fn exchange(&self) -> u128 {
        self.exchange
    }

    /// Returns the client's id of a call that the model names `id`.
    pub(crate) fn for_client(&mut self, id: &str) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let is_kept = !id.is_empty() && id.len() <= LONGEST && id.chars().all(is_plain);
        let mut own = if is_kept {
            id.to_owned()
        } else {
            String::new()
        };
        let mut number = self.used.len();
        while own.is_empty() || self.used.contains(&own) {
            number += 1;
            own = format!("c{number}");
        }
        self.used.insert(own.clone());
        format!("{}{}_{own}", self.prefix, digits(self.exchange))
    }
}

/// Returns the id of an exchange in base 32.
fn digits(exchange: u128) -> String {
    let digit = |place: usize| {
        let bits = (exchange >> (5 * place)) & 31;
        u32::try_from(bits)
            .ok()
            .and_then(|bits| char::from_digit(bits, 32))
    };
    (0..DIGITS).rev().filter_map(digit).collect()
}

/// Splits an id of the gateway into the exchange and the model's id; `None` for other ids.
pub(crate) fn parts(client_id: &str) -> Option<(u128, &str)> {
    let (_, rest) = client_id.split_once('_')?;
    let (exchange, own) = rest.split_once('_')?;
    let number = u128::from_str_radix(exchange, 32).ok()?;
    // Each exchange has one spelling.
    let is_ours = digits(number) == exchange && !own.is_empty();
    is_ours.then_some((number, own))
}

/// The ids of the calls of a conversation in its prompt, where each is used once.
#[derive(Debug, Default)]
pub(crate) struct PromptIds {
    by_client_id: HashMap<String, String>,
    used: HashSet<String>,
    /// The last number after each id that occurred several times.
    numbers: HashMap<String, usize>,
}

impl PromptIds {
    /// Adds a call with this client's id, and returns its id in the prompt, which depends only on the calls before it.
    pub(crate) fn add(&mut self, client_id: &str) -> String {
        let own = match parts(client_id) {
            Some((_, own)) => own.to_owned(),
            None => plain(client_id),
        };
        let mut id = own.clone();
        if self.used.contains(&id) {
            let number = self.numbers.entry(own.clone()).or_insert(1);
            while self.used.contains(&id) {
                *number += 1;
                id = format!("{own}_{number}");
            }
        }
        self.used.insert(id.clone());
        self.by_client_id.insert(client_id.to_owned(), id.clone());
        id
    }

    /// Returns the id in the prompt of a call that was added.
    pub(crate) fn get(&self, client_id: &str) -> Option<&str> {
        self.by_client_id.get(client_id).map(String::as_str)
    }
}

/// Converts an id of another server to a form that a block can carry.
fn plain(id: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') {
            c
        } else {
            '_'
        }
    };
    let id: String = id.chars().take(2 * LONGEST).map(plain).collect();
    if id.is_empty() { "call".to_owned() } else { id }
}

#[cfg(test)]
mod tests {
    use super::{CallIds, PromptIds, parts};

    #[test]
    fn the_models_id_comes_back() {
        let exchange = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;
        let mut ids = CallIds::new("call_", exchange);
        let head = "call_014d2mf2dbpnng28q5cu4qnjff";
        for (model, client) in [
            ("users", "users"),
            ("users", "c2"),
            ("", "c3"),
            ("a b", "c4"),
            ("gadget_5", "gadget_5"),
        ] {
            assert_eq!(ids.for_client(model), format!("{head}_{client}"));
        }
        let whole = Some((exchange, "gadget_5"));
        assert_eq!(parts(&format!("{head}_gadget_5")), whole);
        for exchange in [0, 1, u128::MAX] {
            let mut ids = CallIds::new("toolu_", exchange);
            let id = ids.for_client(&"x".repeat(31));
            assert!(id.len() <= 64, "{id}");
            assert_eq!(parts(&id).map(|(it, _)| it), Some(exchange));
        }
    }

    #[test]
    fn ids_of_other_formats_are_not_parsed() {
        for id in [
            "",
            "call_abc",
            "toolu_01A09q90qw90lq917835lq9",
            "call_0123456789abcdef_a",
            "call_00000000000000000000000000_",
            "call_0000000000000000000000000w_a",
            "call_0000000000000000000000000A_a",
            "call_+0000000000000000000000000_a",
            "call_zvvvvvvvvvvvvvvvvvvvvvvvvv_a",
            "call_gvvvvvvvvvvvvvvvvvvvvvvvvv_a",
        ] {
            assert_eq!(parts(id), None, "{id}");
        }
    }

    #[test]
    fn each_id_in_a_prompt_is_used_once() {
        let mut ids = PromptIds::default();
        for (client, prompt) in [
            ("call_00000000000000000000000001_users", "users"),
            ("call_00000000000000000000000002_users", "users_2"),
            ("call_00000000000000000000000003_users", "users_3"),
            ("toolu_01:A", "toolu_01_A"),
            ("", "call"),
        ] {
            assert_eq!(ids.add(client), prompt);
            assert_eq!(ids.get(client), Some(prompt));
        }
        // One id again and again is no reason to count from the start again and again.
        for _ in 0..200_000 {
            ids.add("same");
        }
        assert_eq!(ids.get("same"), Some("same_200000"));
    }
}
