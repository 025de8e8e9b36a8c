//! Images of prompts: which may be sent, and how they are named. `withheld` says which a model is shown.
//!
//! Never holds what an image shows: its content is a blob of the session.

pub mod withheld;

use serde::{Deserialize, Serialize};

/// Images one prompt may have; together with `MAX_TOGETHER` far below the 64 MiB of one message.
pub const MAX_IMAGES: usize = 8;
/// The longest image, in characters of base64. Anthropic documents 5 MB an image and counts them so,
/// OpenAI takes more.
pub const MAX_ENCODED: u64 = 5 << 20;
/// The largest image in bytes: what that is before base64 makes four characters of three bytes.
pub const MAX_BYTES: u64 = MAX_ENCODED / 4 * 3;
/// The base64 of all images of one request to a model, and so of one prompt. Anthropic takes 32 MB a
/// request, OpenAI 50 MB: the words have to fit too.
pub const MAX_TOGETHER: u64 = 20 << 20;
/// Images one request shows: beyond so many Anthropic allows only smaller ones.
pub const MAX_SHOWN: usize = 20;

/// The kinds of image every provider takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MediaType {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/gif")]
    Gif,
    #[serde(rename = "image/webp")]
    Webp,
}

impl MediaType {
    pub const ALL: [MediaType; 4] = [MediaType::Png, MediaType::Jpeg, MediaType::Gif, MediaType::Webp];

    /// Its name as providers and clients spell it.
    pub fn name(self) -> &'static str {
        match self {
            MediaType::Png => "image/png",
            MediaType::Jpeg => "image/jpeg",
            MediaType::Gif => "image/gif",
            MediaType::Webp => "image/webp",
        }
    }

    /// The type of this name.
    pub fn of_name(name: &str) -> Option<MediaType> {
        MediaType::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }

    /// The type of these bytes, by how they begin.
    pub fn of_bytes(bytes: &[u8]) -> Option<MediaType> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(MediaType::Png),
            [0xff, 0xd8, 0xff, ..] => Some(MediaType::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(MediaType::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(MediaType::Webp),
            _ => None,
        }
    }

    /// The names of all, as a person reads them.
    pub fn names() -> String {
        MediaType::ALL.map(MediaType::name).join(", ")
    }
}

/// An image by name, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    pub mime_type: MediaType,
    /// Its length before base64.
    pub bytes: u64,
    /// The name of the blob that holds it.
    pub hash: String,
}

impl Image {
    /// The characters its base64 has.
    pub fn encoded(&self) -> u64 {
        self.bytes.div_ceil(3).saturating_mul(4)
    }
}

/// An image in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub image: Image,
    /// Why a text stands in its place.
    pub withheld: Option<ImageRefusal>,
}

/// Why a model is told of an image in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageRefusal {
    /// The model takes no images.
    NotTaken,
    /// Newer ones fill the request.
    TooMany,
    /// A provider refused the conversation for its images.
    Refused,
    /// Its blob is missing or damaged.
    Lost,
}

impl Picture {
    /// What stands in its place for this reason.
    pub fn in_words(&self, why: ImageRefusal) -> String {
        let why = match why {
            ImageRefusal::NotTaken => "not shown to this model",
            ImageRefusal::TooMany => "not shown any more: newer images fill the request",
            ImageRefusal::Refused => "not shown: the provider refused it",
            ImageRefusal::Lost => "not shown: its content is lost",
        };
        format!("[image: {}, {}, {why}]", self.image.mime_type.name(), size(self.image.bytes))
    }
}

/// A size for people; kilobytes are rounded up, so that nothing is empty that is not.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests;
