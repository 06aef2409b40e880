//! `ReadFile`.

use std::io::{BufRead, BufReader, Read as _};
use std::sync::Arc;

use gadgetry::proto::schema::OnInterrupt;
use gadgetry::{CallPreview, ExecutionContext, Gadget, GadgetError, GadgetInfo, GadgetOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::blocking::{Scan, blocking, preview_of, reads};
use crate::encoding::Encoding;
use crate::workspace::{FileError, Workspace, WorkspacePath};

/// Bytes of a file that is read as a whole, or of a range of it.
const TEXT_LIMIT: usize = 1 << 20;

/// Bytes of a file in UTF-16.
const UTF_16_LIMIT: u64 = 10 << 20;

/// Bytes of an image.
const IMAGE_LIMIT: u64 = 10 << 20;

/// Bytes by which binary content is recognised.
const HEAD: usize = 8 << 10;

/// Reads a text file, or a range of its lines, or shows an image.
#[derive(Debug)]
pub(crate) struct ReadFile {
    pub(crate) workspace: Arc<Workspace>,
    /// Whether the model sees images.
    pub(crate) images: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReadFileParams {
    /// relative to the workspace
    file_path: String,
    /// from 1
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// inclusive
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
}

impl Gadget for ReadFile {
    type Params = ReadFileParams;
    type Output = GadgetOutput;

    fn info(&self) -> GadgetInfo {
        let images = if self.images {
            " PNG, JPEG, GIF and WebP images are shown."
        } else {
            ""
        };
        GadgetInfo::new(
            "ReadFile",
            format!("Reads a text file, or some lines of it.{images}"),
        )
        .on_interrupt(OnInterrupt::Rerun)
    }

    async fn execute(
        &self,
        params: ReadFileParams,
        context: ExecutionContext,
    ) -> Result<GadgetOutput, GadgetError> {
        let (workspace, images) = (Arc::clone(&self.workspace), self.images);
        blocking(move || read(&workspace, &params, images, &context)).await
    }

    async fn preview(&self, params: ReadFileParams) -> Result<CallPreview, GadgetError> {
        preview_of(&self.workspace, params.file_path).await
    }
}

fn read(
    workspace: &Workspace,
    params: &ReadFileParams,
    images: bool,
    context: &ExecutionContext,
) -> Result<GadgetOutput, GadgetError> {
    let path = workspace.resolve(&params.file_path)?;
    context.check_approved(&reads(workspace, &path))?;
    let (mut file, metadata) = workspace.open_file(&path)?;
    let mut head = Vec::new();
    (&mut file).take(HEAD as u64).read_to_end(&mut head)?;
    if let Some(mime_type) = image_type(&head) {
        if !images {
            return Err(GadgetError::new(format_args!(
                "{path} is an image ({mime_type}, {} bytes), which this model cannot see",
                metadata.len()
            )));
        }
        let bytes = workspace.read(&path, IMAGE_LIMIT)?;
        let (shown, length) = (path.on_one_line(), bytes.len());
        let text = format!("path={shown} type={mime_type} bytes={length}");
        return Ok(GadgetOutput::new(text).with_image(mime_type, bytes));
    }
    let encoding = Encoding::of(&head);
    if encoding == Encoding::Utf8 && head.contains(&0) {
        return Err(GadgetError::new(format_args!(
            "{path} is a binary file of {} bytes",
            metadata.len()
        )));
    }
    let known = match encoding {
        Encoding::Utf8 => workspace.unsaved(&path),
        Encoding::Utf16Le | Encoding::Utf16Be => Some(utf16(workspace, &path, encoding)?),
    };
    let mut text = match (params.start_line, params.end_line) {
        (None, None) => {
            let bytes = match known {
                Some(bytes) if bytes.len() > TEXT_LIMIT => Err(FileError::TooLarge {
                    path: path.clone(),
                    bytes: bytes.len() as u64,
                    limit: TEXT_LIMIT as u64,
                }),
                Some(bytes) => Ok(bytes),
                None => workspace.read(&path, TEXT_LIMIT as u64),
            };
            let bytes = bytes.map_err(|error| {
                GadgetError::new(format_args!(
                    "{error}; read a part of it with startLine and endLine"
                ))
            })?;
            let text = String::from_utf8_lossy(&bytes);
            format!("path={}\n\n{text}", path.on_one_line())
        }
        (start, end) => {
            let lines = (start.unwrap_or(1).max(1), end.unwrap_or(usize::MAX));
            if let Some(bytes) = known {
                range(&path, bytes.as_slice(), lines)?
            } else {
                let is_cancelled = || context.cancellation().is_cancelled();
                let source = Scan::new(head.chain(file), &is_cancelled);
                let text = range(&path, BufReader::new(source), lines);
                if is_cancelled() {
                    return Err(GadgetError::cancelled());
                }
                text?
            }
        }
    };
    if encoding != Encoding::Utf8 {
        let name = format!(" encoding={}", encoding.name());
        text.insert_str("path=".len() + path.on_one_line().len(), &name);
    }
    Ok(GadgetOutput::new(text))
}

/// The text of a file in UTF-16. All of it is read, whatever lines are wanted.
fn utf16(
    workspace: &Workspace,
    path: &WorkspacePath,
    encoding: Encoding,
) -> Result<Vec<u8>, GadgetError> {
    let bytes = workspace.read(path, UTF_16_LIMIT)?;
    let text = encoding.text(&bytes).ok_or_else(|| {
        GadgetError::new(format_args!(
            "{path} is a binary file of {} bytes, though it begins as text in {} does",
            bytes.len(),
            encoding.name()
        ))
    })?;
    Ok(text.into_owned().into_bytes())
}

/// The lines from `start` to `end`, with a head that says which these are.
fn range(
    path: &WorkspacePath,
    mut source: impl BufRead,
    (start, end): (usize, usize),
) -> Result<String, GadgetError> {
    if start > end {
        return Err(GadgetError::new(format_args!(
            "startLine {start} is after endLine {end}"
        )));
    }
    let failed = |error| GadgetError::new(FileError::io(path, error));
    let mut number = 0;
    while number + 1 < start && skip_line(path, &mut source)? {
        number += 1;
    }
    let mut text = Vec::new();
    while number < end && text.len() <= TEXT_LIMIT {
        let room = (TEXT_LIMIT + 1 - text.len()) as u64;
        let mut line = (&mut source).take(room);
        if line.read_until(b'\n', &mut text).map_err(failed)? == 0 {
            break;
        }
        number += 1;
    }
    if text.len() > TEXT_LIMIT {
        return Err(GadgetError::new(format_args!(
            "lines {start} to {number} of {path} have more than {TEXT_LIMIT} bytes; read fewer lines"
        )));
    }
    if number < start {
        return Err(GadgetError::new(format_args!(
            "{path} has {number} lines; startLine is {start}"
        )));
    }
    Ok(format!(
        "path={} lines={start}-{number}\n\n{}",
        path.on_one_line(),
        String::from_utf8_lossy(&text)
    ))
}

/// Skips a line; returns whether there was one.
fn skip_line(path: &WorkspacePath, source: &mut impl BufRead) -> Result<bool, GadgetError> {
    let mut any = false;
    loop {
        let buffer = source.fill_buf();
        let buffer = buffer.map_err(|error| FileError::io(path, error))?;
        if buffer.is_empty() {
            return Ok(any);
        }
        any = true;
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let length = newline.map_or(buffer.len(), |index| index + 1);
        // The holes of a file of terabytes are such.
        if buffer[..length].contains(&0) {
            return Err(GadgetError::new(format_args!(
                "{path} is a binary file: there are NUL characters before startLine"
            )));
        }
        source.consume(length);
        if newline.is_some() {
            return Ok(true);
        }
    }
}

/// The MIME type of an image, by its first bytes.
fn image_type(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}
