//! Errors that end a command early, and their exit codes.

mod habits;

use std::fmt::{self, Display};
use std::io;

/// Reason why a command ended early.
#[derive(Debug)]
pub(crate) enum Error {
    /// The user's mistake. Exit code 2.
    Input(String),
    /// A failure at run time that the input did not cause. Exit code 1.
    Failed(String),
    /// The run has ended, but calls were denied because no user was there. Exit code 3.
    Denied(String),
    /// Stdout was closed by its reader. Exit code 0, without a message.
    Closed,
    /// The user asked for help or the version: this text goes to stdout. Exit code 0.
    Help(String),
}

impl Error {
    /// A mistake in the user's input.
    pub(crate) fn input(message: impl Display) -> Self {
        Self::Input(message.to_string())
    }

    /// A failure of the system: no temporary folder, no threads.
    pub(crate) fn machine(error: &io::Error) -> Self {
        Self::Failed(format!("system error: {error}"))
    }

    /// A mistake of ours.
    pub(crate) fn bug(error: &dyn Display) -> Self {
        Self::Failed(format!("internal error (please report): {error}"))
    }

    /// A mistake in a file, or on a line, or anywhere else that has a name.
    pub(crate) fn at(place: impl Display, message: impl Display) -> Self {
        Self::Input(format!("{place}: {message}"))
    }
}

/// Displays the reason, without the exit code.
impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input(words) | Self::Failed(words) | Self::Denied(words) | Self::Help(words) => {
                words.trim_end()
            }
            Self::Closed => "the output is closed",
        })
    }
}

impl From<clap::Error> for Error {
    fn from(error: clap::Error) -> Self {
        let text = error.render().to_string();
        if error.use_stderr() {
            let line = one_line(&text);
            Self::Input(match habits::tip(&error) {
                // Not clap's own, which takes an option for a value.
                Some(tip) => {
                    let problem = line.split("; tip: ").next().unwrap_or_default();
                    format!("{problem}; tip: {tip}")
                }
                None => line,
            })
        } else {
            Self::Help(text)
        }
    }
}

/// Converts a failure to write to stdout.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Failed(format!("cannot write: {error}"))
        }
    }
}

/// Shortens an error of clap to one line, without the usage.
fn one_line(text: &str) -> String {
    let paragraphs = text.trim().split("\n\n");
    let relevant = paragraphs.take_while(|paragraph| {
        !paragraph.starts_with("Usage:") && !paragraph.starts_with("For more information")
    });
    let words = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = relevant.map(words).collect::<Vec<_>>().join("; ");
    line.strip_prefix("error: ")
        .map(str::to_owned)
        .unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clap_says_in_one_line() {
        let check = |text: &str, line: &str| assert_eq!(one_line(text), line);
        check(
            "error: unexpected argument '--tags' found\n\n  tip: a similar argument exists: '--tag'\n\n\
             Usage: gadgetry parse --tag <NAME> [FILE]\n\nFor more information, try '--help'.\n",
            "unexpected argument '--tags' found; tip: a similar argument exists: '--tag'",
        );
        check(
            "error: the following required arguments were not provided:\n  --model <MODEL>\n  <PROMPT>\n\n\
             Usage: gadgetry agent\n",
            "the following required arguments were not provided: --model <MODEL> <PROMPT>",
        );
    }
}
