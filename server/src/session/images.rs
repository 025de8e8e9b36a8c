//! Images of prompts: kept as blobs before their fact, and read again for a call.
//!
//! Never decides what a model is shown: core's `image` does.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::image::Image;
use adjutant_core::prompt::{Encoded, ModelMessage, ModelRequest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::blobs::Blobs;

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

/// Room for images that wait to be kept.
#[derive(Clone)]
pub struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Room(Arc::new(Semaphore::new(MAX_WAITING / PERMIT)))
    }
}

impl Room {
    /// Takes the room of these images until it is dropped; none where too many wait already.
    pub fn take(&self, images: &[NewImage]) -> Option<OwnedSemaphorePermit> {
        let bytes = images.iter().map(|new| new.content.len()).sum::<usize>();
        let permits = u32::try_from(bytes.div_ceil(PERMIT)).ok()?;
        Arc::clone(&self.0).try_acquire_many_owned(permits).ok()
    }
}

/// Keeps the images of a prompt durably; a failure says why.
pub(super) async fn keep(blobs: Arc<Blobs>, images: Vec<NewImage>) -> Result<(), String> {
    let put = move || images.iter().try_for_each(|new| blobs.put(&new.content).map(drop));
    match tokio::task::spawn_blocking(put).await {
        Ok(kept) => kept.map_err(|error| error.to_string()),
        Err(_) => Err("writing them broke".to_owned()),
    }
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
                Ok(content) => _ = images.insert(hash, Encoded(STANDARD.encode(content).into())),
                Err(error) => tracing::warn!(%error, "an image of a prompt cannot be shown"),
            }
        }
        images
    };
    request.images = tokio::task::spawn_blocking(read).await.unwrap_or_default();
}
