//! Which of many images a model sees, and the types and sizes of images.

use super::withheld::withhold;
use super::*;
use crate::prompt::message::ModelMessage;

fn prompt(bytes: u64, images: usize) -> ModelMessage {
    let image = |at: usize| Image { mime_type: MediaType::Png, bytes, hash: format!("{at}") };
    let picture = |at| Picture { image: image(at), withheld: None };
    ModelMessage::User { text: "look".into(), pictures: (0..images).map(picture).collect(), words: 4 }
}

/// Returns how many images of each message the model sees.
fn shown_of(messages: &[ModelMessage]) -> Vec<usize> {
    let shown = messages.iter().map(|message| match message {
        ModelMessage::User { pictures, .. } => {
            pictures.iter().filter(|picture| picture.withheld.is_none()).count()
        }
        _ => 0,
    });
    shown.collect()
}

fn after_withholding(messages: &[ModelMessage]) -> Vec<usize> {
    let mut messages = messages.to_vec();
    withhold(&mut messages, true);
    shown_of(&messages)
}

#[test]
fn s85_a_request_shows_the_newest_images_and_its_beginning_changes_seldom() {
    let few: Vec<ModelMessage> = (0..20).map(|_| prompt(1_000, 1)).collect();
    assert_eq!(after_withholding(&few), [1; 20]);
    // One image too many withholds half of them. Then as many fit again.
    let mut more = few.clone();
    more.push(prompt(1_000, 1));
    let first = after_withholding(&more);
    assert_eq!((first[..11].iter().sum::<usize>(), first[11..].iter().sum::<usize>()), (0, 10));
    for _ in 0..10 {
        more.push(prompt(1_000, 1));
        assert_eq!(after_withholding(&more)[..21], first[..]);
    }
    // The newest prompt always has all its images, however large the older ones are.
    let large = [prompt(MAX_BYTES, 4), prompt(MAX_BYTES, 4), prompt(1, 1)];
    assert_eq!(after_withholding(&large[..1]), [4]);
    assert_eq!(after_withholding(&large[..2]), [0, 4]);
    assert_eq!(after_withholding(&large), [0, 0, 1]);
}

#[test]
fn s85_what_a_request_shows_is_never_more_than_it_may_carry() {
    for (bytes, images) in [(MAX_BYTES, 1), (MAX_BYTES, 3), (700_000, 8), (10, 8), (2_000_000, 5)] {
        let mut messages = Vec::new();
        for _ in 0..40 {
            messages.push(prompt(bytes, images));
            let shown: usize = after_withholding(&messages).iter().sum();
            let encoded = shown as u64 * bytes.div_ceil(3) * 4;
            assert!(shown <= MAX_SHOWN && encoded <= MAX_TOGETHER, "{bytes} {images}: {shown}, {encoded}");
            assert!(shown >= images, "the newest prompt is shown whole");
        }
    }
}

#[test]
fn s85_a_model_that_takes_no_images_is_told_of_each_in_words() {
    let mut messages = [prompt(12_345, 2)];
    withhold(&mut messages, false);
    let [ModelMessage::User { pictures, .. }] = &messages else { panic!("it is the user's") };
    let words = pictures[1].in_words(pictures[1].withheld.expect("it is withheld"));
    assert_eq!(words, "[image: image/png, 13 kB, not shown to this model]");
    assert_eq!(shown_of(&messages), [0]);
}

#[test]
fn s85_the_type_of_an_image_is_told_by_its_first_bytes() {
    for (bytes, is) in [
        (b"\x89PNG\r\n\x1a\n..".as_slice(), Some(MediaType::Png)),
        (b"\xff\xd8\xff\xe0", Some(MediaType::Jpeg)),
        (b"GIF89a", Some(MediaType::Gif)),
        (b"GIF87a", Some(MediaType::Gif)),
        (b"RIFF\x10\0\0\0WEBPVP8 ", Some(MediaType::Webp)),
        (b"RIFF\x10\0\0\0WAVE", None),
        (b"\x89PNG", None),
        (b"<svg/>", None),
        (b"", None),
    ] {
        assert_eq!(MediaType::of_bytes(bytes), is, "{bytes:?}");
    }
    assert!(MediaType::ALL.iter().all(|known| MediaType::of_name(known.name()) == Some(*known)));
    assert_eq!(MediaType::of_name("image/svg+xml"), None);
}

#[test]
fn s85_sizes_are_for_people() {
    assert_eq!([1, 999, 1_000, 11_001, 999_999].map(size), ["1 B", "999 B", "1 kB", "12 kB", "1000 kB"]);
    assert_eq!([1_000_000, MAX_BYTES].map(size), ["1.0 MB", "3.9 MB"]);
}
