//! Images of prompts: their types, their limits and the text that replaces one. `withheld` decides which images a
//! model sees.
//!
//! Never has the content of an image: that is a blob of the session.

pub mod withheld;

use serde::{Deserialize, Serialize};

/// The most images of one prompt. With `MAX_TOGETHER` a prompt stays far below the 64 MiB of one message.
pub const MAX_IMAGES: usize = 8;
/// The most characters of one image in base64. Anthropic documents 5 MB an image and counts base64; OpenAI
/// accepts more.
pub const MAX_ENCODED: u64 = 5 << 20;
/// The same limit in bytes before base64, which makes four characters of three bytes.
pub const MAX_BYTES: u64 = MAX_ENCODED / 4 * 3;
/// The most characters of all images in one request, and so in one prompt. Anthropic accepts 32 MB a request,
/// OpenAI 50 MB; the text has to fit too.
pub const MAX_TOGETHER: u64 = 20 << 20;
/// The most images in one request. With more, Anthropic accepts only smaller ones.
pub const MAX_SHOWN: usize = 20;

/// Returns why a prompt cannot have all of these images: one sentence for the user. `None` if it can.
pub fn too_many(images: &[Image]) -> Option<String> {
    if images.len() > MAX_IMAGES {
        return Some(format!(
            "a prompt has at most {MAX_IMAGES} images and this one has {}; send the others with the next prompt",
            images.len()
        ));
    }
    let bytes = images.iter().map(|image| image.bytes).sum::<u64>();
    (bytes > MAX_TOGETHER / 4 * 3).then(|| {
        format!(
            "the images of a prompt have at most {} together and these have {}; make them smaller, or send some with \
             the next prompt",
            size(MAX_TOGETHER / 4 * 3),
            size(bytes)
        )
    })
}

/// The image types that every provider accepts.
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

    /// Returns its MIME type.
    pub fn name(self) -> &'static str {
        match self {
            MediaType::Png => "image/png",
            MediaType::Jpeg => "image/jpeg",
            MediaType::Gif => "image/gif",
            MediaType::Webp => "image/webp",
        }
    }

    /// Returns the type with this MIME type, in any case.
    pub fn of_name(name: &str) -> Option<MediaType> {
        MediaType::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }

    /// Returns the type of an image by its first bytes.
    pub fn of_bytes(bytes: &[u8]) -> Option<MediaType> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(MediaType::Png),
            [0xff, 0xd8, 0xff, ..] => Some(MediaType::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(MediaType::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(MediaType::Webp),
            _ => None,
        }
    }

    /// Returns all names as text for people.
    pub fn names() -> String {
        MediaType::ALL.map(MediaType::name).join(", ")
    }
}

/// A reference to an image, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    pub mime_type: MediaType,
    /// Its length before base64.
    pub bytes: u64,
    /// The name of the blob with its content.
    pub hash: String,
}

impl Image {
    /// Returns its length in base64, in characters.
    pub fn encoded(&self) -> u64 {
        self.bytes.div_ceil(3).saturating_mul(4)
    }
}

/// An image in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub image: Image,
    /// Why a text replaces it; `None` if the model sees the image.
    pub withheld: Option<ImageRefusal>,
}

/// Why a text replaces an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageRefusal {
    /// The model does not support images.
    NotTaken,
    /// Newer images fill the request.
    TooMany,
    /// A provider refused the conversation because of its images.
    Refused,
    /// Its blob is missing or damaged.
    Lost,
}

impl Picture {
    /// Returns the text that replaces the image.
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

/// Returns a size for people. Kilobytes are rounded up.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests;
