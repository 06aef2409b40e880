//! Ids of calls: the client's, which are unique, and the model's, which are short.
//!
//! A call that the model names `users` has the id `call_0123456789abcdef_users` for the client. The sixteen digits are
//! those of the exchange. When the client sends the call back, its name in the prompt is `users` again, so that the model
//! reads the block that it wrote, without a table of ids in the gateway.

use std::collections::{HashMap, HashSet};

/// Characters of a model's id that are kept. OpenAI's ids have at most 64.
const LONGEST: usize = 32;

/// The ids of the calls of one exchange.
#[derive(Clone, Debug)]
pub(crate) struct CallIds {
    prefix: &'static str,
    exchange: u64,
    used: HashSet<String>,
}

impl CallIds {
    /// Ids that begin with `prefix`, such as `call_`. `exchange` must differ between exchanges.
    pub(crate) fn new(prefix: &'static str, exchange: u64) -> Self {
        Self {
            prefix,
            exchange,
            used: HashSet::new(),
        }
    }

    /// The number of the exchange in each id.
    pub(crate) fn exchange(&self) -> u64 {
        self.exchange
    }

    /// The client's id of a call that the model names `id`.
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
        format!("{}{:016x}_{own}", self.prefix, self.exchange)
    }
}

/// The exchange and the model's id in an id of ours; `None` for ids of others.
pub(crate) fn parts(client_id: &str) -> Option<(u64, &str)> {
    let (_, rest) = client_id.split_once('_')?;
    let (exchange, own) = rest.split_once('_')?;
    let is_number = exchange.len() == 16 && exchange.bytes().all(|it| it.is_ascii_hexdigit());
    let number = is_number.then(|| u64::from_str_radix(exchange, 16).ok())?;
    Some((number?, own)).filter(|(_, own)| !own.is_empty())
}

/// The ids of the calls of a conversation in its prompt, where each is used once.
#[derive(Debug, Default)]
pub(crate) struct PromptIds {
    by_client_id: HashMap<String, String>,
    used: HashSet<String>,
}

impl PromptIds {
    /// The id in the prompt of a call with this client's id. The same for the same calls before it.
    pub(crate) fn add(&mut self, client_id: &str) -> String {
        let own = match parts(client_id) {
            Some((_, own)) => own.to_owned(),
            None => plain(client_id),
        };
        let mut id = own.clone();
        let mut number = 1;
        while self.used.contains(&id) {
            number += 1;
            id = format!("{own}_{number}");
        }
        self.used.insert(id.clone());
        self.by_client_id.insert(client_id.to_owned(), id.clone());
        id
    }

    /// The id in the prompt of a call that was added.
    pub(crate) fn get(&self, client_id: &str) -> Option<&str> {
        self.by_client_id.get(client_id).map(String::as_str)
    }
}

/// An id of another server in a form that a block can carry.
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
        let mut ids = CallIds::new("call_", 0x0123_4567_89ab_cdef);
        for (model, client) in [
            ("users", "call_0123456789abcdef_users"),
            ("users", "call_0123456789abcdef_c2"),
            ("", "call_0123456789abcdef_c3"),
            ("a b", "call_0123456789abcdef_c4"),
            ("gadget_5", "call_0123456789abcdef_gadget_5"),
        ] {
            assert_eq!(ids.for_client(model), client);
        }
        let whole = Some((0x0123_4567_89ab_cdef, "gadget_5"));
        assert_eq!(parts("call_0123456789abcdef_gadget_5"), whole);
    }

    #[test]
    fn ids_of_others_are_none_of_ours() {
        for id in [
            "",
            "call_abc",
            "toolu_01A09q90qw90lq917835lq9",
            "call_0123456789abcdeg_a",
            "call_0123456789abcdef_",
        ] {
            assert_eq!(parts(id), None, "{id}");
        }
    }

    #[test]
    fn each_id_in_a_prompt_is_used_once() {
        let mut ids = PromptIds::default();
        for (client, prompt) in [
            ("call_0123456789abcdef_users", "users"),
            ("call_1123456789abcdef_users", "users_2"),
            ("toolu_01:A", "toolu_01_A"),
            ("", "call"),
        ] {
            assert_eq!(ids.add(client), prompt);
            assert_eq!(ids.get(client), Some(prompt));
        }
    }
}
