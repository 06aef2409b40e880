//! What is wrong with a gadget file.

use std::io;
use std::path::PathBuf;

use gadgetry_proto::schema::SchemaError;

use crate::toolbox::ToolboxError;

/// A gadget file that cannot be used. The mistake is in the file or in its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GadgetFileError {
    /// The file cannot be read.
    #[error("cannot read the gadget file {path}: {source}", path = path.display())]
    Read {
        /// As given.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something in it is wrong.
    #[error("{path}:{line}:{column}: {problem}", path = path.display())]
    Invalid {
        /// As given.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// What.
        problem: GadgetFileProblem,
    },
}

/// What is wrong at a place of a gadget file, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GadgetFileProblem {
    /// It is not TOML, or a key is unknown or has a value of the wrong type.
    #[error("{0}")]
    Toml(String),
    /// A key is left out.
    #[error("this gadget has no {key}; add {key} = {example}")]
    MissingKey {
        /// The key.
        key: &'static str,
        /// A value that would do.
        example: &'static str,
    },
    /// A model could not write the name.
    #[error(
        "{name:?} cannot be the name of a gadget; a name is not empty, has no `:`, whitespace or control character, and does not begin with `!!!`"
    )]
    InvalidName {
        /// As written.
        name: String,
    },
    /// Another gadget has the name.
    #[error(
        "the name {name:?} is taken by the gadget on line {first_line}; names must differ in more than case"
    )]
    DuplicateName {
        /// As written.
        name: String,
        /// The line of the other one.
        first_line: usize,
    },
    /// The program does not exist, or is not executable.
    #[error(
        "cannot find an executable program {program:?}; correct the command (a path with / counts from this file's folder), or make the file executable"
    )]
    UnknownProgram {
        /// As written.
        program: String,
    },
    /// A shell without a script would run what the model writes.
    #[error(
        "{shell:?} without a script would run the parameters, which the model writes, as one; \
         write command = [{shell:?}, \"-c\", \"…\"], or name a script"
    )]
    BareShell {
        /// As written.
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
        /// As written.
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
    /// An example would be refused if a model wrote it.
    #[error(transparent)]
    Example(Box<ToolboxError>),
    /// TOML has values that JSON lacks.
    #[error("{value} cannot be written in JSON; use a finite number")]
    NotJson {
        /// As written.
        value: String,
    },
}
