//! Images of prompts: saved as blobs before their event, and read again for a model call.
//!
//! Never decides which images a model gets: core's `image` does.

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

/// Bytes of images that wait to be saved, in all sessions together. A prompt beyond it is refused as
/// `Overloaded`.
const MAX_WAITING: usize = 128 << 20;
/// Bytes of one permit, so that the permits of one prompt fit in a `u32`.
const PERMIT: usize = 1 << 10;

/// An image of a prompt that is not yet saved.
#[derive(Debug)]
pub struct NewImage {
    pub image: Image,
    pub content: Vec<u8>,
}

/// The images of one prompt that wait to be saved.
#[derive(Debug, Default)]
pub struct PendingImages {
    images: Vec<NewImage>,
    /// Their permits.
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

/// The limit for images that wait to be saved.
#[derive(Clone)]
pub struct ImageRoom(Arc<Semaphore>);

impl Default for ImageRoom {
    fn default() -> Self {
        ImageRoom(Arc::new(Semaphore::new(MAX_WAITING / PERMIT)))
    }
}

impl ImageRoom {
    /// Reserves permits for these images; `None` if too many bytes wait already.
    pub fn reserve(&self, images: Vec<NewImage>) -> Option<PendingImages> {
        let bytes = images.iter().map(|new| new.content.len()).sum::<usize>();
        let permits = u32::try_from(bytes.div_ceil(PERMIT)).ok()?;
        let room = Arc::clone(&self.0).try_acquire_many_owned(permits).ok()?;
        Some(PendingImages { images, _room: Some(room) })
    }
}

/// Saves the images of a prompt durably.
pub(super) async fn save(blobs: Arc<Blobs>, pending: PendingImages) -> io::Result<()> {
    let put = move || pending.images.iter().try_for_each(|new| blobs.put(&new.content).map(drop));
    let saved = aside::attempt(put).await.map_err(|_| io::Error::other("writing them broke"))?;
    saved.map_err(|error| match error {
        BlobError::Io { source, .. } if scarce::descriptors(&source).is_some() => source,
        error => io::Error::other(error.to_string()),
    })
}

/// Reads the images of a request as base64. A missing or damaged image is left out, and the model gets a
/// note in its place.
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
