//! The form of calls that a prompt demands of a model.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Classified, Fault};

/// The form of calls that the prompt asks for, the grammar admits and the history of a conversation shows.
///
/// Models differ in what they write well: most follow the block format, and very small ones write the JSON that they have seen in
/// training. The checks of a call are the same for both.
///
/// ```
/// use gadgetry_proto::call_form::CallForm;
/// assert_eq!("json".parse(), Ok(CallForm::Json));
/// assert_eq!(CallForm::default().to_string(), "block");
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CallForm {
    /// Blocks between markers.
    #[default]
    Block,
    /// `{"name": …, "arguments": {…}}` between `<tool_call>` and `</tool_call>`, the form of
    /// [`Dialect::Hermes`](crate::dialect::Dialect::Hermes).
    Json,
}

impl CallForm {
    /// Both forms, in the order of the variants.
    pub const ALL: [Self; 2] = [Self::Block, Self::Json];

    /// The name that [`FromStr`] reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Json => "json",
        }
    }
}

impl fmt::Display for CallForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no form of calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown form of calls {0:?}; available: block and json")]
pub struct UnknownCallForm(pub String);

impl Classified for UnknownCallForm {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

impl FromStr for CallForm {
    type Err = UnknownCallForm;

    fn from_str(name: &str) -> Result<Self, UnknownCallForm> {
        let mut all = Self::ALL.into_iter();
        all.find(|form| form.name() == name)
            .ok_or_else(|| UnknownCallForm(name.to_owned()))
    }
}
