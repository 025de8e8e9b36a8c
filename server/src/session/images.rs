//! Images of prompts: kept as blobs before their fact, and read again for a call.
//!
//! Never decides what a model is shown: core's `image` does.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use adjutant_core::prompt::image::Image;
use adjutant_core::prompt::{Base64Image, ModelMessage, ModelRequest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::blobs::{BlobError, Blobs};
use crate::{aside, scarce};

/// Bytes of images that wait, in all sessions together, until they are kept; a prompt beyond it is
/// refused as `Overloaded`.
const MAX_WAITING: usize = 128 << 20;
/// What one permit stands for: so few are counted that a number of them fits.
const PERMIT: usize = 1 << 10;

/// An image of a prompt that is not yet kept.
#[derive(Debug)]
pub struct NewImage {
    pub image: Image,
    pub content: Vec<u8>,
}

/// The images of one prompt, as long as they wait to be kept.
#[derive(Debug, Default)]
pub struct PendingImages {
    images: Vec<NewImage>,
    /// What they take up of the room.
    _room: Option<OwnedSemaphorePermit>,
}

impl PendingImages {
    pub(super) fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    pub(super) fn names(&self) -> Vec<Image> {
        self.images.iter().map(|new| new.image.clone()).collect()
    }
}

/// Room for images that wait to be kept.
#[derive(Clone)]
pub struct ImageRoom(Arc<Semaphore>);

impl Default for ImageRoom {
    fn default() -> Self {
        ImageRoom(Arc::new(Semaphore::new(MAX_WAITING / PERMIT)))
    }
}

impl ImageRoom {
    /// Lets these images wait; none where too many do already.
    pub fn reserve(&self, images: Vec<NewImage>) -> Option<PendingImages> {
        let bytes = images.iter().map(|new| new.content.len()).sum::<usize>();
        let permits = u32::try_from(bytes.div_ceil(PERMIT)).ok()?;
        let room = Arc::clone(&self.0).try_acquire_many_owned(permits).ok()?;
        Some(PendingImages { images, _room: Some(room) })
    }
}

/// Keeps the images of a prompt durably; a failure says why.
pub(super) async fn keep(blobs: Arc<Blobs>, waiting: PendingImages) -> io::Result<()> {
    let put = move || waiting.images.iter().try_for_each(|new| blobs.put(&new.content).map(drop));
    let kept = aside::attempt(put).await.map_err(|_| io::Error::other("writing them broke"))?;
    kept.map_err(|error| match error {
        BlobError::Io { source, .. } if scarce::descriptors(&source).is_some() => source,
        error => io::Error::other(error.to_string()),
    })
}

/// Reads what the pictures of a request show, as base64. One that is missing or damaged is left out,
/// which the model is told in its place.
pub(super) async fn load(blobs: Arc<Blobs>, request: &mut ModelRequest) {
    let messages = request.messages.iter();
    let pictures = messages.flat_map(|message| match message {
        ModelMessage::User { pictures, .. } => pictures.as_slice(),
        ModelMessage::Assistant { .. } | ModelMessage::Tool { .. } => &[],
    });
    let shown = pictures.filter(|picture| picture.withheld.is_none());
    let hashes: Vec<String> = shown.map(|picture| picture.image.hash.clone()).collect();
    if hashes.is_empty() {
        return;
    }
    let read = move || {
        let mut images = BTreeMap::new();
        for hash in hashes {
            if images.contains_key(&hash) {
                continue;
            }
            match blobs.get(&hash) {
                Ok(content) => _ = images.insert(hash, Base64Image(STANDARD.encode(content).into())),
                Err(error) => tracing::warn!(%error, "an image of a prompt cannot be shown"),
            }
        }
        images
    };
    request.images = aside::attempt(read).await.unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use adjutant_core::prompt::image::MediaType;

    use super::*;

    fn images(bytes: usize) -> Vec<NewImage> {
        let image = Image { mime_type: MediaType::Png, bytes: bytes as u64, hash: String::new() };
        vec![NewImage { image, content: vec![0; bytes] }]
    }

    #[test]
    fn s85_images_that_wait_are_bounded_until_they_are_kept() {
        let room = ImageRoom::default();
        let half = room.reserve(images(MAX_WAITING / 2)).expect("there is room");
        let other = room.reserve(images(MAX_WAITING / 2)).expect("there is room");
        assert!(room.reserve(images(1)).is_none());
        assert!(room.reserve(Vec::new()).is_some(), "words need none");
        drop(half);
        assert!(room.reserve(images(MAX_WAITING / 2)).is_some());
        drop(other);
    }
}
