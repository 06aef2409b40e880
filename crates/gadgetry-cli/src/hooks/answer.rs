//! What a command of `[[hooks]]` answers.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Bytes of each stream of a command that are read.
pub(super) const OUTPUT: usize = 64 << 10;

/// Reads what a command wrote. Text that decides nothing is ignored; what seems to decide and cannot be read is an error.
pub(super) fn answer(stdout: &str) -> Result<Answer, String> {
    let text =
        stdout.trim_matches(|c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}');
    if text.starts_with('{') {
        let answer: Answer = serde_json::from_str(text)
            .map_err(|error| format!("wrote JSON that cannot be read: {error}"))?;
        return match answer.misplaced() {
            Some(key) => Err(format!("wrote {key:?} where it means nothing")),
            None => Ok(answer),
        };
    }
    // A shell that greets, a list, a text that was cut off.
    if ["ecision\"", "\"hookSpecificOutput\"", "\"continue\":"]
        .iter()
        .any(|it| text.contains(it))
    {
        return Err("wrote other text before its JSON".to_owned());
    }
    if stdout.len() >= OUTPUT {
        return Err(format!("wrote more than {} KiB", OUTPUT >> 10));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::String(_) | Value::Array(_)) => {
            Err("wrote JSON that is not an object".to_owned())
        }
        _ => Ok(Answer {
            text: text.to_owned(),
            ..Answer::default()
        }),
    }
}

/// The JSON that a command may write. Fields that decide nothing are ignored.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Answer {
    /// As written: a number, say, is not the same as nothing.
    pub(super) decision: Option<Value>,
    pub(super) reason: Option<String>,
    #[serde(rename = "continue")]
    continues: Option<Value>,
    #[serde(rename = "stopReason")]
    stop_reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    pub(super) own: Option<OwnAnswer>,
    /// Text that is not JSON.
    #[serde(skip)]
    pub(super) text: String,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnAnswer {
    #[serde(default, deserialize_with = "as_written")]
    permission_decision: Option<Value>,
    permission_decision_reason: Option<String>,
    pub(super) updated_input: Option<Value>,
    pub(super) additional_context: Option<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// A value that is there, also if it is `null`.
fn as_written<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// The decision about a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict<'a> {
    Allow,
    Deny(Option<&'a str>),
    /// Words that are not known, as written.
    Unclear(String),
}

impl Answer {
    /// Returns what the model is to read: `additionalContext`, or text that is not JSON.
    pub(super) fn context(self) -> Option<String> {
        let own = self.own.and_then(|own| own.additional_context);
        own.or(Some(self.text)).filter(|it| !it.trim().is_empty())
    }

    pub(super) fn verdict(&self) -> Verdict<'_> {
        let own = self.own.as_ref();
        let reason = own.and_then(|own| own.permission_decision_reason.as_deref());
        let decisions = [
            (own.and_then(|own| own.permission_decision.as_ref()), reason),
            (self.decision.as_ref(), self.reason.as_deref()),
        ];
        for (decision, reason) in decisions {
            match decision.map(|it| it.as_str().ok_or(it)) {
                None | Some(Ok("allow" | "approve")) => {}
                Some(Ok("deny" | "block")) => return Verdict::Deny(reason),
                Some(Ok(word)) => return Verdict::Unclear(format!("{word:?}")),
                Some(Err(value)) => return Verdict::Unclear(value.to_string()),
            }
        }
        match &self.continues {
            None | Some(Value::Bool(true)) => Verdict::Allow,
            Some(_) => Verdict::Deny(self.stop_reason.as_deref()),
        }
    }

    /// Returns whether the run is to end now.
    pub(super) fn stops(&self) -> bool {
        self.continues == Some(Value::Bool(false))
    }

    /// Returns a key that would decide in another place or spelling.
    fn misplaced(&self) -> Option<&str> {
        const KEYS: [&str; 4] = [
            "decision",
            "permissiondecision",
            "hookspecificoutput",
            "updatedinput",
        ];
        let own = self.own.iter().flat_map(|own| own.other.keys());
        let mut keys = self.other.keys().chain(own);
        let plain = |key: &str| key.replace(['_', '-'], "").to_ascii_lowercase();
        let found = keys.find(|key| KEYS.contains(&&*plain(key)));
        found.map(String::as_str)
    }
}
