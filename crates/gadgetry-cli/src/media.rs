//! Images and audio from the command line.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gadgetry::{Content, Media, MediaData, MediaKind};
use gadgetry_files as files;
use reqwest::Url;

use crate::error::Error;
use crate::fetch::is_address;
use crate::input::unreadable;
use crate::lines::one_line;

/// Media types by how files of them begin; `?` is any byte.
const IMAGES: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF????WEBP", "image/webp"),
];
const A_PICTURE: &str = "a PNG, JPEG, GIF or WebP picture";
const SOUNDS: [(&[u8], &str); 5] = [
    (b"RIFF????WAVE", "audio/wav"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
];

/// A text and pictures as one message.
pub(crate) fn message(text: String, images: Vec<Media>) -> Vec<Content> {
    let images = images.into_iter().map(Content::Media);
    [Content::Text { text }].into_iter().chain(images).collect()
}

/// The pictures that the user has named.
pub(crate) fn images(typed: &[String]) -> Result<Vec<Media>, Error> {
    typed.iter().map(|it| image(it)).collect()
}

/// A picture: the bytes of a file, or an address for the provider to read.
fn image(typed: &str) -> Result<Media, Error> {
    if !is_address(typed) {
        return image_of(typed.as_ref());
    }
    if Url::parse(typed).is_err() {
        return Err(Error::input(format_args!(
            "{} is not a URL",
            one_line(typed)
        )));
    }
    Ok(Media {
        kind: MediaKind::Image,
        mime_type: type_of_address(&typed.to_ascii_lowercase()).to_owned(),
        data: MediaData::Url(typed.to_owned()),
        name: None,
    })
}

/// A picture: the bytes of a file.
pub(crate) fn image_of(path: &Path) -> Result<Media, Error> {
    file(path, MediaKind::Image, &IMAGES, A_PICTURE)
}

/// A picture of this name; `None` if the bytes are not one.
#[cfg(feature = "chat")]
pub(crate) fn image_of_bytes(bytes: &[u8], name: &str) -> Option<Media> {
    media(bytes, name, MediaKind::Image, &IMAGES, A_PICTURE).ok()
}

/// A sound: the bytes of a file.
pub(crate) fn audio(path: &Path) -> Result<Media, Error> {
    file(path, MediaKind::Audio, &SOUNDS, "a WAV or MP3 file")
}

/// Bytes of a picture or a sound; no provider takes as many.
const LIMIT: u64 = 64 << 20;

fn file(
    path: &Path,
    kind: MediaKind,
    types: &[(&[u8], &str)],
    wanted: &str,
) -> Result<Media, Error> {
    let place = path.display();
    let bytes = files::read(path, LIMIT).map_err(|error| unreadable(&place, &error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let read = media(&bytes, &name, kind, types, wanted);
    read.map_err(|problem| Error::at(place, problem))
}

/// The bytes of a file of this name.
fn media(
    bytes: &[u8],
    name: &str,
    kind: MediaKind,
    types: &[(&[u8], &str)],
    wanted: &str,
) -> Result<Media, String> {
    let begins = |pattern: &[u8]| {
        let pairs = pattern.iter().zip(bytes);
        bytes.len() >= pattern.len()
            && pairs
                .into_iter()
                .all(|(wanted, byte)| *wanted == b'?' || wanted == byte)
    };
    let found = types.iter().find(|(pattern, _)| begins(pattern));
    let Some((_, mime_type)) = found else {
        return Err(format!("not {wanted}"));
    };
    Ok(Media {
        kind,
        mime_type: (*mime_type).to_owned(),
        data: MediaData::Base64(STANDARD.encode(bytes)),
        name: Some(name.to_owned()),
    })
}

/// The likely media type of an image at a URL; the provider detects the real one from its bytes.
fn type_of_address(address: &str) -> &'static str {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    match path.rsplit_once('.') {
        Some((_, "png")) => "image/png",
        Some((_, "gif")) => "image/gif",
        Some((_, "webp")) => "image/webp",
        _ => "image/jpeg",
    }
}
