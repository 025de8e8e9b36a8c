//! Decides which images of a conversation a model sees.
//!
//! Never drops an image: a text replaces a withheld one.

use std::collections::VecDeque;

use super::{ImageRefusal, MAX_SHOWN, MAX_TOGETHER, Picture};
use crate::prompt::message::ModelMessage;

/// Withholds all images if the model does not support them, otherwise the oldest beyond the limits of one request.
/// At the limit, half of the images are withheld at once. Withholding them one by one would change the beginning of
/// the conversation with every new image, and providers could not cache it.
pub fn withhold(messages: &mut [ModelMessage], supported: bool) {
    let mut window = Window::default();
    for at in 0..messages.len() {
        let pictures = pictures_of(&mut messages[at]);
        if !supported {
            pictures.iter_mut().for_each(|picture| picture.withheld = Some(ImageRefusal::NotTaken));
            continue;
        }
        let shown = pictures.iter().filter(|picture| picture.withheld.is_none());
        let load = shown.fold(Load::default(), |load, picture| load.and(picture.image.encoded()));
        for old in window.add(at, load) {
            for picture in pictures_of(&mut messages[old]) {
                picture.withheld.get_or_insert(ImageRefusal::TooMany);
            }
        }
    }
}

/// Withholds every image of these messages, because a provider refused one of them and did not say which.
pub fn refuse(messages: &mut [ModelMessage]) {
    let pictures = messages.iter_mut().flat_map(pictures_of);
    pictures.for_each(|picture| picture.withheld = Some(ImageRefusal::Refused));
}

fn pictures_of(message: &mut ModelMessage) -> &mut [Picture] {
    match message {
        ModelMessage::User { pictures, .. } => pictures,
        ModelMessage::Assistant { .. } | ModelMessage::Tool { .. } => &mut [],
    }
}

/// The number of images of a message, and their characters in base64.
#[derive(Clone, Copy, Default)]
struct Load {
    images: usize,
    encoded: u64,
}

impl Load {
    fn and(self, encoded: u64) -> Load {
        Load { images: self.images + 1, encoded: self.encoded.saturating_add(encoded) }
    }

    fn is_more_than(self, images: usize, encoded: u64) -> bool {
        self.images > images || self.encoded > encoded
    }
}

/// The messages whose images the model sees, oldest first.
#[derive(Default)]
struct Window {
    shown: VecDeque<(usize, Load)>,
    all: Load,
}

impl Window {
    /// Adds a message, and returns the older messages whose images are withheld because of it.
    fn add(&mut self, at: usize, load: Load) -> Vec<usize> {
        if load.images == 0 {
            return Vec::new();
        }
        self.all.images += load.images;
        self.all.encoded = self.all.encoded.saturating_add(load.encoded);
        let full = self.all.is_more_than(MAX_SHOWN, MAX_TOGETHER);
        let mut gone = Vec::new();
        while full && self.all.is_more_than(MAX_SHOWN / 2, MAX_TOGETHER / 2) {
            let Some((old, load)) = self.shown.pop_front() else { break };
            self.all.images -= load.images;
            self.all.encoded = self.all.encoded.saturating_sub(load.encoded);
            gone.push(old);
        }
        self.shown.push_back((at, load));
        gone
    }
}
