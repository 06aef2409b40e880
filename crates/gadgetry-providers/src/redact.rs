//! Keeps the secrets of a request out of its answer, in whatever form and pieces a server repeats them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gadgetry_proto::delta::Delta;
use memchr::memmem::Finder;
use reqwest::Url;
use serde_json::Value;

use crate::json::each_string;
use crate::secret::{ApiKey, MASK};

/// Secrets with a digit and at least this many bytes are removed from replies, too. Shorter ones may be words, like the
/// keys that local servers accept (`ollama`, `not-needed`).
const WITH_DIGIT: usize = 8;

/// The same without a digit.
const WITHOUT_DIGIT: usize = 16;

/// Values in the query of a base URL count as secrets from this length on, unless their name says that they are one.
const QUERY_VALUE: usize = 8;

/// The secrets that a request carries, in every form in which a server may repeat them.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<Forms>);

#[derive(Default)]
struct Forms {
    /// All of them, the longest first.
    all: Vec<ApiKey>,
    /// Secrets that no reply contains by accident.
    rare: Vec<(ApiKey, Finder<'static>)>,
}

impl Secrets {
    /// The secrets in these keys, and the passwords and keys in `urls`.
    pub(crate) fn of<'k>(
        keys: impl IntoIterator<Item = &'k ApiKey>,
        urls: impl IntoIterator<Item = &'k Url>,
    ) -> Self {
        let mut all: Vec<String> = Vec::new();
        for key in keys {
            spell(key.expose(), &mut all);
        }
        for url in urls {
            of_url(url, &mut all);
        }
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        let all: Vec<ApiKey> = all
            .into_iter()
            .map(ApiKey::new)
            .filter(|key| !key.is_empty())
            .collect();
        let rare = all.iter().filter(|key| is_rare(key.expose()));
        let rare = rare.map(|key| (key.clone(), Finder::new(key.expose()).into_owned()));
        let rare = rare.collect();
        Self(Arc::new(Forms { all, rare }))
    }

    /// Removes them, and every part of them of 8 bytes, from a text of the server that is not a reply.
    pub(crate) fn clean(&self, text: &mut String) {
        for key in &self.0.all {
            if let Cow::Owned(clean) = key.redact(text) {
                *text = clean;
            }
        }
    }

    /// The same for each string in `value`.
    pub(crate) fn clean_value(&self, value: &mut Value) {
        if !self.0.all.is_empty() {
            each_string(value, &|text| self.clean(text));
        }
    }

    /// A reply, or a part of one, without the secrets as a whole. Parts of them may be words, and stay.
    pub(crate) fn reply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for (key, finder) in &self.0.rare {
            if finder.find(clean.as_bytes()).is_some() {
                clean = Cow::Owned(clean.replace(key.expose(), MASK));
            }
        }
        clean
    }

    fn reply_value(&self, value: &mut Value) {
        if !self.0.rare.is_empty() {
            each_string(value, &|text| self.reply_text(text));
        }
    }

    fn reply_text(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.reply(text) {
            *text = clean;
        }
    }

    /// Returns the number of bytes at the end of `text` that may begin a secret.
    fn pending(&self, text: &str) -> usize {
        // With the secret `sk-12345678`, `the key is sk-1` ends with 4 bytes that may become it, and must wait. They are
        // fewer than the secret has, so each delta compares at most that many suffixes.
        let text = text.as_bytes();
        let longest = |(key, _): &(ApiKey, Finder<'_>)| {
            let key = key.expose().as_bytes();
            let most = text.len().min(key.len() - 1);
            (1..=most)
                .rev()
                .find(|length| text.ends_with(&key[..*length]))
                .unwrap_or(0)
        };
        self.0.rare.iter().map(longest).max().unwrap_or(0)
    }
}

/// Every spelling of a secret that is known.
fn spell(secret: &str, out: &mut Vec<String>) {
    let secret = secret.trim();
    let mut add = |form: String| out.push(form);
    if let Ok(quoted) = serde_json::to_string(secret) {
        add(quoted.trim_matches('"').to_owned());
    }
    for upper in [true, false] {
        add(percent_encoded(secret, upper));
    }
    add(secret.to_owned());
}

fn percent_encoded(text: &str, upper: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else if upper {
            _ = write!(out, "%{byte:02X}");
        } else {
            _ = write!(out, "%{byte:02x}");
        }
    }
    out
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        out.push(hex.unwrap_or(*first));
        rest = &after[if hex.is_some() { 2 } else { 0 }..];
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The password of a URL, a long user name (some services put a token there), the values in its query, and the header
/// that user and password become.
fn of_url(url: &Url, out: &mut Vec<String>) {
    let mut add = |raw: &str| {
        out.push(raw.to_owned());
        spell(&percent_decoded(raw), out);
    };
    let (user, password) = (url.username(), url.password());
    if let Some(password) = password {
        add(password);
    }
    if user.len() >= QUERY_VALUE {
        add(user);
    }
    let pairs = url.query().unwrap_or_default().split('&');
    for (name, value) in pairs.filter_map(|pair| pair.split_once('=')) {
        let name = name.to_ascii_lowercase();
        let words = [
            "key", "token", "secret", "sig", "pass", "auth", "cred", "code",
        ];
        if value.len() >= QUERY_VALUE || words.iter().any(|word| name.contains(word)) {
            add(value);
        }
    }
    if !user.is_empty() || password.is_some() {
        let (user, password) = (percent_decoded(user), password.map(percent_decoded));
        let both = format!("{user}:{}", password.unwrap_or_default());
        out.push(STANDARD.encode(both));
    }
}

fn is_rare(secret: &str) -> bool {
    let digits = secret.bytes().any(|byte| byte.is_ascii_digit());
    secret.len() >= if digits { WITH_DIGIT } else { WITHOUT_DIGIT }
}

/// Removes secrets from the deltas of one reply, also if they arrive in pieces.
///
/// Text that may be the beginning of a secret waits for what follows it: at most one byte less than the secret. The work
/// for each byte is bounded by the length of the secrets.
pub(crate) struct Redactor {
    secrets: Secrets,
    /// Text or reasoning that waits.
    prose: Option<(Prose, String)>,
    /// Arguments that wait, by the id of their call.
    arguments: BTreeMap<String, String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Prose {
    Text,
    Reasoning,
}

impl Redactor {
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            prose: None,
            arguments: BTreeMap::new(),
        }
    }

    /// Takes deltas, and returns what may be emitted.
    pub(crate) fn batch(&mut self, deltas: Vec<Delta>) -> Vec<Delta> {
        if self.secrets.0.all.is_empty() {
            return deltas;
        }
        let mut out = Vec::with_capacity(deltas.len());
        for delta in deltas {
            self.push(delta, &mut out);
        }
        out
    }

    /// Takes a delta and appends what may be emitted.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "providers send no other deltas; whatever comes ends the text before it"
    )]
    pub(crate) fn push(&mut self, mut delta: Delta, out: &mut Vec<Delta>) {
        if self.secrets.0.all.is_empty() {
            out.push(delta);
            return;
        }
        match &mut delta {
            Delta::Text {
                delta: text,
                metadata,
            } => {
                *text = self.prose(Prose::Text, text, out);
                if text.is_empty() && metadata.is_none() {
                    return;
                }
            }
            Delta::Reasoning {
                delta: text,
                metadata,
            } => {
                *text = self.prose(Prose::Reasoning, text, out);
                if text.is_empty() && metadata.is_none() {
                    return;
                }
            }
            Delta::ToolCallDelta { id, delta: json } => {
                self.release_prose(out);
                let mut text = self.arguments.remove(id).unwrap_or_default();
                text.push_str(json);
                let (seen, waits) = self.split(text);
                if !waits.is_empty() {
                    self.arguments.insert(id.clone(), waits);
                }
                if seen.is_empty() {
                    return;
                }
                *json = seen;
            }
            Delta::ToolCallStart { id, name } => {
                self.release_prose(out);
                self.secrets.reply_text(id);
                self.secrets.reply_text(name);
            }
            Delta::ToolCallEnd { id, input } => {
                self.release_prose(out);
                if let Some(delta) = self.arguments.remove(id) {
                    let id = id.clone();
                    out.push(Delta::ToolCallDelta { id, delta });
                }
                if let Some(input) = input {
                    self.secrets.reply_value(input);
                }
            }
            Delta::ToolCall { input, .. } => {
                self.release_prose(out);
                self.secrets.reply_value(input);
            }
            // These say nothing about where the text ends.
            Delta::Usage { .. } => {}
            Delta::MessageStart { model } => {
                if let Some(model) = model {
                    self.secrets.reply_text(model);
                }
            }
            Delta::Raw { data } => self.secrets.clean_value(data),
            Delta::ProviderData(kept) => self.secrets.reply_value(&mut kept.data),
            Delta::ContentMetadata { metadata } | Delta::ReasoningMetadata { metadata } => {
                let said = metadata.citations.iter_mut();
                let said = said.chain(&mut metadata.annotations);
                said.chain(metadata.extensions.values_mut())
                    .for_each(|value| self.secrets.reply_value(value));
            }
            Delta::Error(error) => {
                self.finish(out);
                self.secrets.clean(&mut error.message);
                let named = [&mut error.code, &mut error.request_id];
                for text in named.into_iter().flatten() {
                    self.secrets.clean(text);
                }
            }
            _ => self.finish(out),
        }
        out.push(delta);
    }

    /// Ends the reply: what waits is not a secret.
    pub(crate) fn finish(&mut self, out: &mut Vec<Delta>) {
        self.release_prose(out);
        let waiting = std::mem::take(&mut self.arguments).into_iter();
        out.extend(waiting.map(|(id, delta)| Delta::ToolCallDelta { id, delta }));
    }

    fn prose(&mut self, kind: Prose, more: &str, out: &mut Vec<Delta>) -> String {
        if self.prose.as_ref().is_some_and(|(open, _)| *open != kind) {
            self.release_prose(out);
        }
        let (_, mut text) = self.prose.take().unwrap_or((kind, String::new()));
        text.push_str(more);
        let (seen, waits) = self.split(text);
        self.prose = (!waits.is_empty()).then_some((kind, waits));
        seen
    }

    fn release_prose(&mut self, out: &mut Vec<Delta>) {
        let metadata = None;
        out.extend(self.prose.take().map(|(kind, delta)| match kind {
            Prose::Text => Delta::Text { delta, metadata },
            Prose::Reasoning => Delta::Reasoning { delta, metadata },
        }));
    }

    /// The text that may be emitted, and the text that waits.
    fn split(&self, mut text: String) -> (String, String) {
        self.secrets.reply_text(&mut text);
        let waits = text.split_off(text.len() - self.secrets.pending(&text));
        (text, waits)
    }
}
