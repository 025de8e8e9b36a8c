//! Tests which prompts are accepted, and the errors for the others.

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand more";

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text { text: text.to_owned() }
}

fn coded(mime_type: &str, content: &[u8]) -> ContentBlock {
    ContentBlock::Image { mime_type: mime_type.to_owned(), data: STANDARD.encode(content) }
}

fn png_of(bytes: usize) -> ContentBlock {
    let mut content = PNG.to_vec();
    content.resize(bytes, 0);
    coded("image/png", &content)
}

#[test]
fn s85_words_and_images_are_taken_and_named() {
    let content = read(vec![text("look"), coded("image/png", PNG), text("here")]).unwrap();
    assert_eq!(content.text, "look\nhere");
    let [NewImage { image, content }] = content.images.as_slice() else { panic!("it is one image") };
    assert_eq!(image, &Image { mime_type: MediaType::Png, bytes: 16, hash: hash_of(PNG) });
    assert_eq!(content, PNG);
    // A prompt may have no text.
    assert_eq!(read(vec![png_of(9)]).unwrap().images.len(), 1);
    let most = MAX_BYTES as usize;
    assert_eq!(read(vec![png_of(most)]).unwrap().images.len(), 1);
    assert_eq!(read(vec![png_of(most); 4]).unwrap().images.len(), 4);
    assert_eq!(read((0..MAX_IMAGES).map(|_| png_of(9)).collect()).unwrap().images.len(), MAX_IMAGES);
}

#[test]
fn s85_what_is_no_image_or_too_much_is_refused_with_what_to_do() {
    let most = MAX_BYTES as usize;
    let unpadded = ContentBlock::Image { mime_type: "image/png".to_owned(), data: "iVBORw0KGgo".to_owned() };
    let url =
        ContentBlock::Image { mime_type: "image/png".into(), data: "data:image/png;base64,iVBO".into() };
    for (blocks, says) in [
        (vec![], "the prompt is empty; say what to do"),
        (vec![text(" ")], "the prompt is empty; say what to do"),
        (vec![png_of(9); 9], "at most 8 images and this one has 9; send the others with the next prompt"),
        (vec![text("x"), png_of(most + 1)], "and may have 3932160 at most; make it smaller"),
        (
            vec![png_of(most); 5],
            "at most 15.7 MB together and these have 19.6 MB; make them smaller, or send",
        ),
        (
            vec![coded("image/svg+xml", b"<svg/>")],
            "is of the type \"image/svg+xml\"; send it as one of image/png",
        ),
        (vec![png_of(9), unpadded], "image 2 of the prompt is not valid base64; encode its bytes"),
        (vec![url], "image 1 of the prompt is not valid base64"),
        (
            vec![coded("image/jpeg", PNG)],
            "image 1 of the prompt is declared as image/jpeg but is image/png; send it with its own type",
        ),
        (vec![coded("image/gif", b"BM..")], "does not begin as image/gif does; send one of image/png"),
        (vec![coded("image/png", b"")], "does not begin as image/png does"),
    ] {
        let why = read(blocks).expect_err(says);
        assert!(why.contains(says), "{why:?} does not say {says:?}");
    }
}
