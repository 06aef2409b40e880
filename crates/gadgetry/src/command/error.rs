//! Errors of gadget files.

use std::io;
use std::path::PathBuf;

use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::schema::SchemaError;

use crate::toolbox::ToolboxError;

/// Error for a gadget file that cannot be used. The mistake is in the file or in its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GadgetFileError {
    /// The file cannot be read.
    #[error("cannot read the gadget file {path}: {error}", path = path.display())]
    Read {
        /// Path, as the caller gave it.
        path: PathBuf,
        /// Error of the file system.
        error: io::Error,
    },
    /// The file has a mistake.
    #[error("{path}:{line}:{column}: {problem}", path = path.display())]
    Invalid {
        /// Path, as the caller gave it.
        path: PathBuf,
        /// One-based line.
        line: usize,
        /// One-based column, in characters.
        column: usize,
        /// Mistake in the file.
        problem: GadgetFileProblem,
    },
}

impl Classified for GadgetFileError {
    fn fault(&self) -> Fault {
        if matches!(self, Self::Read { .. }) {
            Fault::Environment
        } else {
            Fault::Program
        }
    }
}

/// Mistake at a position of a gadget file, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GadgetFileProblem {
    /// Invalid TOML, an unknown key, or a value of the wrong type.
    #[error("{0}")]
    Toml(String),
    /// A key is left out.
    #[error("this gadget has no {key}; add {key} = {example}")]
    MissingKey {
        /// The key.
        key: &'static str,
        /// A valid value.
        example: &'static str,
    },
    /// A model could not write the name.
    #[error(
        "{name:?} cannot be the name of a gadget; a name is not empty, has no `:`, whitespace or control character, and does not begin with `!!!`"
    )]
    InvalidName {
        /// Name, as written in the file.
        name: String,
    },
    /// Another gadget has the name.
    #[error(
        "the name {name:?} is taken by the gadget on line {first_line}; names must differ in more than case"
    )]
    DuplicateName {
        /// Name, as written in the file.
        name: String,
        /// The line of the other one.
        first_line: usize,
    },
    /// The program does not exist, or is not executable.
    #[error(
        "cannot find an executable program {program:?}; correct the command (a path with / counts from this file's folder), or make the file executable"
    )]
    UnknownProgram {
        /// Program, as written in the file.
        program: String,
    },
    /// A shell without a script would run the text that the model writes.
    #[error(
        "{shell:?} without a script would run the parameters, which the model writes, as one; \
         write command = [{shell:?}, \"-c\", \"…\"], or name a script"
    )]
    BareShell {
        /// Shell, as written in the file.
        shell: String,
    },
    /// The command names no program.
    #[error("the command names no program; write command = [\"./program\", \"argument\"]")]
    EmptyCommand,
    /// The timeout is not a duration.
    #[error(
        "invalid duration {text:?}; expected a number and a unit, such as 500ms, 10s, 1.5m or 1h"
    )]
    InvalidDuration {
        /// Text, as written in the file.
        text: String,
    },
    /// No call could ever start.
    #[error("max-concurrent must be 1 or more; omit it for no limit")]
    NoConcurrency,
    /// The schema is not that of an object.
    #[error(
        "parameters must be the JSON Schema of an object; write {{ type = \"object\", properties = {{ … }} }}"
    )]
    NotAnObjectSchema,
    /// The schema does not compile.
    #[error("parameters: {0}")]
    Schema(SchemaError),
    /// An example is not a valid call.
    #[error(transparent)]
    Example(Box<ToolboxError>),
    /// The value is one that TOML has and JSON lacks.
    #[error("{value} cannot be written in JSON; use a finite number")]
    NotJson {
        /// Value, as written in the file.
        value: String,
    },
}

impl Classified for GadgetFileProblem {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
