//! Kinds of values that options accept.

use std::any::TypeId;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, ArgAction};

/// The kind of an option's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Flag,
    Text,
    Path,
    Number,
    NumberOrText,
    /// May be repeated.
    List,
    /// Files, repeated.
    Paths,
    /// Separated by commas.
    Commas,
    /// Separated by commas, with tables among the texts.
    Definitions,
    /// A JSON object.
    Object,
}

impl Kind {
    /// Returns the kind of an option whose type says it.
    pub(super) fn of(argument: &Arg) -> Self {
        let id = argument.get_value_parser().type_id();
        let is_path = id == TypeId::of::<PathBuf>();
        let numbers = [
            TypeId::of::<u32>(),
            TypeId::of::<u64>(),
            TypeId::of::<f64>(),
            TypeId::of::<NonZeroUsize>(),
        ];
        let is_repeated = matches!(argument.get_action(), ArgAction::Append);
        if matches!(argument.get_action(), ArgAction::SetTrue) {
            Self::Flag
        } else if is_path {
            if is_repeated { Self::Paths } else { Self::Path }
        } else if is_repeated {
            Self::List
        } else if numbers.iter().any(|it| id == *it) {
            Self::Number
        } else {
            Self::Text
        }
    }
}
