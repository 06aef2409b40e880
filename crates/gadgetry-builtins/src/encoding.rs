//! Encodings of text files: UTF-8, and UTF-16 with a mark at the beginning.

use std::borrow::Cow;

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    /// The encoding of a file that begins so. Without a mark it is UTF-8.
    pub(crate) fn of(beginning: &[u8]) -> Self {
        match beginning {
            // The mark of UTF-32 begins as that of UTF-16 does.
            [0xff, 0xfe, 0, 0, ..] => Self::Utf8,
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// The name for users and models.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
        }
    }

    fn unit(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::Utf16Be => u16::from_be_bytes(pair),
            Self::Utf8 | Self::Utf16Le => u16::from_le_bytes(pair),
        }
    }

    /// The text of a file; that of UTF-16 without its mark. `None` if a part of it is not text.
    pub(crate) fn text(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        if self == Self::Utf8 {
            return std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
        }
        let (pairs, rest) = bytes.as_chunks::<2>();
        let units = pairs.iter().skip(1).map(|pair| self.unit(*pair));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        let text = text.ok().filter(|it| rest.is_empty() && !it.contains('\0'));
        text.map(Cow::Owned)
    }

    /// The bytes of a file with this text.
    pub(crate) fn bytes(self, text: String) -> Vec<u8> {
        if self == Self::Utf8 {
            return text.into_bytes();
        }
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        let bytes = units.flat_map(|unit| match self {
            Self::Utf16Be => unit.to_be_bytes(),
            Self::Utf8 | Self::Utf16Le => unit.to_le_bytes(),
        });
        bytes.collect()
    }
}

/// The text of a file in the encoding that its beginning has, and that. `None` if a part of it is not text.
pub(crate) fn decoded(bytes: &[u8]) -> Option<(Cow<'_, str>, Encoding)> {
    let encoding = Encoding::of(bytes);
    Some((encoding.text(bytes)?, encoding))
}
