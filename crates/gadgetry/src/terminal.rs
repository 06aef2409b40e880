//! Commands in terminals that others own: an editor, or a client of the Agent Client Protocol.

use std::path::PathBuf;
use std::time::Duration;

/// A command for a terminal.
///
/// ```
/// use std::time::Duration;
/// use gadgetry::terminal::TerminalCommand;
/// let make = TerminalCommand {
///     program: "make".into(),
///     arguments: vec!["check".to_owned()],
///     folder: "/home/me/project".into(),
///     timeout: Duration::from_secs(60),
///     output: 64 << 10,
/// };
/// assert_eq!(make.arguments, ["check"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalCommand {
    /// The program.
    pub program: PathBuf,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// The folder that it runs in, an absolute path.
    pub folder: PathBuf,
    /// Maximum time. After it, the command ends.
    pub timeout: Duration,
    /// Maximum bytes of output that are kept, from its end.
    pub output: usize,
}

/// A command that has ended in a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalRun {
    /// The end of the output, as the terminal has it: stdout and stderr, perhaps with escape sequences.
    pub output: String,
    /// The end of the command.
    pub end: TerminalEnd,
}

/// The end of a command in a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalEnd {
    /// The command has ended with this exit code.
    Exited(u32),
    /// This signal has ended the command.
    Killed(String),
    /// The command took too long.
    TimedOut,
}
