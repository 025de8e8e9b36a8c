//! Parses the content of a prompt before it is posted: its text, and its images, decoded.
//!
//! Nothing is recorded of a prompt that is refused here. Never depends on the model that will get it.

use adjutant_core::prompt::image::{
    Image, MAX_BYTES, MAX_ENCODED, MAX_IMAGES, MAX_TOGETHER, MediaType, size,
};
use adjutant_protocol::session::ContentBlock;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::session::blobs::hash_of;
use crate::session::images::NewImage;
use crate::session::mailbox::MAX_WORDS;

/// The content of one prompt.
#[derive(Debug)]
pub(super) struct Content {
    pub text: String,
    pub images: Vec<NewImage>,
}

/// Parses the blocks of a prompt. An error is one sentence that says what to do.
pub(super) fn read(blocks: Vec<ContentBlock>) -> Result<Content, String> {
    let (mut texts, mut encoded) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text { text } => texts.push(text),
            ContentBlock::Image { mime_type, data } => encoded.push((mime_type, data)),
            // The session words them; see `session/attached.rs`.
            ContentBlock::ResourceLink { .. } | ContentBlock::Resource { .. } => {}
        }
    }
    check_length(texts.iter().map(String::len).sum())?;
    if encoded.is_empty() && texts.iter().all(|text| text.trim().is_empty()) {
        return Err("the prompt is empty; say what to do".to_owned());
    }
    if encoded.len() > MAX_IMAGES {
        return Err(format!(
            "a prompt has at most {MAX_IMAGES} images and this one has {}; send the others with the next prompt",
            encoded.len()
        ));
    }
    let together = encoded.iter().map(|(_, data)| data.len() as u64).sum::<u64>();
    // If one image alone is too large, the error below names that image.
    if together > MAX_TOGETHER && encoded.iter().all(|(_, data)| data.len() as u64 <= MAX_ENCODED) {
        return Err(format!(
            "the images of a prompt have at most {} together and these have {}; make them smaller, or send some with \
             the next prompt",
            size(MAX_TOGETHER / 4 * 3),
            size(together / 4 * 3)
        ));
    }
    let numbered = encoded.into_iter().zip(1..);
    let images = numbered.map(|((mime_type, data), number)| {
        image(&mime_type, &data).map_err(|why| format!("image {number} of the prompt {why}"))
    });
    Ok(Content { images: images.collect::<Result<_, _>>()?, text: texts.join("\n") })
}

/// Returns the words of a prompt.
pub(super) fn words(blocks: &[ContentBlock]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Refuses more text than a prompt may have.
pub(super) fn check_length(bytes: usize) -> Result<(), String> {
    if bytes > MAX_WORDS {
        return Err(format!("a prompt has at most {MAX_WORDS} bytes"));
    }
    Ok(())
}

/// Decodes one image. An error continues a sentence that begins with the number of the image.
fn image(mime_type: &str, data: &str) -> Result<NewImage, String> {
    let Some(known) = MediaType::of_name(mime_type) else {
        let given: String = mime_type.chars().take(40).collect();
        return Err(format!("is of the type {given:?}; send it as one of {}", MediaType::names()));
    };
    if data.len() as u64 > MAX_ENCODED {
        let bytes = data.len() as u64 / 4 * 3;
        return Err(format!("has {bytes} bytes and may have {MAX_BYTES} at most; make it smaller"));
    }
    let content = STANDARD.decode(data).map_err(|_| {
        "is not valid base64; encode its bytes with the standard alphabet and padding".to_owned()
    })?;
    match MediaType::of_bytes(&content) {
        Some(found) if found == known => {}
        Some(found) => {
            let (known, found) = (known.name(), found.name());
            return Err(format!("is declared as {known} but is {found}; send it with its own type"));
        }
        None => {
            return Err(format!(
                "does not begin as {} does; send one of {}",
                known.name(),
                MediaType::names()
            ));
        }
    }
    let image = Image { mime_type: known, bytes: content.len() as u64, hash: hash_of(&content) };
    Ok(NewImage { image, content })
}

#[cfg(test)]
mod tests;
