//! The image in the clipboard, as the desktop's own program for it gives it.

use std::env;
use std::process::Stdio;
use std::time::Duration;

use gadgetry::Media;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::images;
use crate::error::Error;
use crate::media;

/// Maximum time for the owner of the clipboard to give the image.
const PATIENCE: Duration = Duration::from_secs(2);

/// A program that prints the image in the clipboard.
struct Program {
    /// The variable that says that its desktop runs.
    desktop: &'static str,
    /// Program and arguments.
    words: &'static [&'static str],
    /// The package that has it.
    package: &'static str,
}

/// The first whose desktop runs is used.
const PROGRAMS: &[Program] = &[
    #[cfg(target_os = "macos")]
    Program {
        desktop: "HOME",
        words: &["pngpaste", "-"],
        package: "pngpaste",
    },
    Program {
        desktop: "WAYLAND_DISPLAY",
        words: &["wl-paste", "--type", "image/png"],
        package: "wl-clipboard",
    },
    Program {
        desktop: "DISPLAY",
        words: &[
            "xclip",
            "-selection",
            "clipboard",
            "-target",
            "image/png",
            "-out",
        ],
        package: "xclip",
    },
];

/// The name that the image gets.
const NAME: &str = "clipboard.png";

/// Returns the image in the clipboard.
///
/// Cancel safety: dropping the future kills the program.
pub(super) async fn image() -> Result<Media, Error> {
    let mut programs = PROGRAMS.iter();
    let runs = |it: &&Program| env::var_os(it.desktop).is_some_and(|value| !value.is_empty());
    let program = programs.find(runs).ok_or_else(|| {
        Error::input("there is no clipboard here: no desktop runs, or it is not reached from here")
    })?;
    let printed = timeout(PATIENCE, printed(program)).await;
    let bytes = printed.unwrap_or_else(|_| {
        Err(Error::input(format_args!(
            "the clipboard gave no image within {} s",
            PATIENCE.as_secs()
        )))
    })?;
    images::refuse_large(bytes.len() as u64, &NAME)?;
    // Some owners of a text give it, whatever the request names.
    let image = media::image_of_bytes(&bytes, NAME);
    image.ok_or_else(|| Error::input("there is no image in the clipboard"))
}

/// The bytes that a program prints, at most one more than an image may have.
async fn printed(program: &Program) -> Result<Vec<u8>, Error> {
    let (name, arguments) = program.words.split_first().unwrap_or((&"", &[]));
    let mut command = Command::new(name);
    let command = command.args(arguments).kill_on_drop(true);
    let command = command.stdin(Stdio::null()).stderr(Stdio::null());
    let started = command.stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| {
        Error::input(format_args!(
            "cannot run {name}, which reads images from the clipboard: {error}. The package {} has it",
            program.package
        ))
    })?;
    let mut bytes = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let mut limited = stdout.take(images::LARGEST + 1);
        let read = limited.read_to_end(&mut bytes).await;
        read.map_err(|error| Error::at(name, error))?;
    }
    Ok(bytes)
}
