//! The parts of a user message, the same for every wire: images first, then the text.
//!
//! Never decides which images the model gets: an image that is withheld or lost becomes a text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use adjutant_core::prompt::Base64Image;
use adjutant_core::prompt::image::{ImageRefusal, Picture};

/// One part of a user message.
#[derive(Debug, PartialEq)]
pub(super) enum UserPart<'a> {
    Text(Cow<'a, str>),
    Image(Inline<'a>),
}

/// An image in base64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Inline<'a> {
    pub media_type: &'static str,
    pub base64: &'a str,
}

impl fmt::Display for Inline<'_> {
    /// Writes the image as a `data:` URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data:{};base64,{}", self.media_type, self.base64)
    }
}

impl serde::Serialize for Inline<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Returns the parts of a message, at least one.
///
/// Adjacent texts become one part. So a message without images is a single text, which every model accepts.
pub(super) fn parts<'a>(
    text: &'a str,
    pictures: &[Picture],
    images: &'a BTreeMap<String, Base64Image>,
) -> Vec<UserPart<'a>> {
    let mut parts = Vec::new();
    for picture in pictures {
        let content = images.get(&picture.image.hash);
        let part = match (picture.withheld, content) {
            (None, Some(content)) => {
                let media_type = picture.image.mime_type.name();
                UserPart::Image(Inline { media_type, base64: &content.0 })
            }
            (reason, _) => UserPart::Text(picture.in_words(reason.unwrap_or(ImageRefusal::Lost)).into()),
        };
        push(&mut parts, part);
    }
    if parts.is_empty() || !text.trim().is_empty() {
        push(&mut parts, UserPart::Text(text.into()));
    }
    parts
}

fn push<'a>(parts: &mut Vec<UserPart<'a>>, part: UserPart<'a>) {
    match (parts.last_mut(), part) {
        (Some(UserPart::Text(before)), UserPart::Text(text)) => {
            let before = before.to_mut();
            before.push('\n');
            before.push_str(&text);
        }
        (_, part) => parts.push(part),
    }
}
