//! Images on every wire: sent if the model supports them, else replaced by a text.

use adjutant_core::prompt::Base64Image;
use adjutant_core::prompt::image::{Image, ImageRefusal, MediaType, Picture};
use serde_json::{Value, json};

use super::*;

const BASE64: &str = "iVBORw0KGgo+/w==";

fn picture(hash: &str, withheld: Option<ImageRefusal>) -> Picture {
    let image = Image { mime_type: MediaType::Png, bytes: 11_500, hash: hash.to_owned() };
    Picture { image, withheld }
}

fn request_with(text: &str, pictures: Vec<Picture>) -> ModelRequest {
    let messages = vec![ModelMessage::User { text: text.into(), pictures, words: 0 }];
    let images = BTreeMap::from([("known".to_owned(), Base64Image(BASE64.into()))]);
    ModelRequest { messages, images, ..request("") }
}

/// Sends the requests one after the other, and returns their bodies as the double received them.
async fn sent(wire: Dialect, models: &Models, requests: &[ModelRequest]) -> Vec<String> {
    let server = ModelServer::start(requests.iter().map(|_| Answer::text("ok")));
    let provider = provider_on(wire, &server.base_url());
    for request in requests {
        models.call(&provider, &LIMITS, request, 1, |_| {}).await.expect("it is answered");
    }
    server.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap()).collect()
}

/// Returns the content of the last message of a body.
fn content(wire: Dialect, body: &str) -> Value {
    let body: Value = serde_json::from_str(body).unwrap();
    let list = if wire == Dialect::Responses { &body["input"] } else { &body["messages"] };
    list.as_array().and_then(|list| list.last()).expect("it has a message")["content"].clone()
}

fn text_part(wire: Dialect, text: &str) -> Value {
    let kind = if wire == Dialect::Responses { "input_text" } else { "text" };
    json!({"type": kind, "text": text})
}

fn image_part(wire: Dialect) -> Value {
    let url = format!("data:image/png;base64,{BASE64}");
    match wire {
        Dialect::Chat => json!({"type": "image_url", "image_url": {"url": url}}),
        Dialect::Responses => json!({"type": "input_image", "image_url": url}),
        Dialect::Messages => json!({
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": BASE64},
        }),
    }
}

/// A list of parts, with the cache mark that only the last block of Messages has.
fn parts(wire: Dialect, mut parts: Vec<Value>) -> Value {
    if wire == Dialect::Messages {
        parts.last_mut().expect("there is a part")["cache_control"] = json!({"type": "ephemeral"});
    }
    Value::Array(parts)
}

#[tokio::test]
async fn s85_an_image_is_shown_as_each_wire_has_it_and_stands_before_the_words() {
    for wire in Dialect::ALL {
        let requests = [
            request_with("What is this?", vec![picture("known", None)]),
            request_with("", vec![picture("known", None)]),
            request_with(
                "And these?",
                vec![picture("known", None), picture("known", Some(ImageRefusal::TooMany))],
            ),
        ];
        let bodies = sent(wire, &models(), &requests).await;
        let image = image_part(wire);
        assert_eq!(
            content(wire, &bodies[0]),
            parts(wire, vec![image.clone(), text_part(wire, "What is this?")])
        );
        assert_eq!(content(wire, &bodies[1]), parts(wire, vec![image.clone()]), "without a word");
        let placeholder =
            "[image: image/png, 12 kB, not shown any more: newer images fill the request]\nAnd these?";
        assert_eq!(content(wire, &bodies[2]), parts(wire, vec![image, text_part(wire, placeholder)]));
    }
}

#[tokio::test]
async fn s85_what_is_not_shown_is_a_text_in_its_place_and_one_that_every_model_takes() {
    for wire in Dialect::ALL {
        for (hash, withheld, why) in [
            ("known", Some(ImageRefusal::NotTaken), "not shown to this model"),
            ("known", Some(ImageRefusal::Refused), "not shown: the provider refused it"),
            ("gone", None, "not shown: its content is lost"),
        ] {
            let request = request_with("What is this?", vec![picture(hash, withheld)]);
            let bodies = sent(wire, &models(), &[request]).await;
            let placeholder = format!("[image: image/png, 12 kB, {why}]\nWhat is this?");
            let expected = match wire {
                // Many servers without image support do not support lists of parts either.
                Dialect::Chat => Value::String(placeholder),
                _ => parts(wire, vec![text_part(wire, &placeholder)]),
            };
            assert_eq!(content(wire, &bodies[0]), expected);
        }
    }
}

#[tokio::test]
async fn s35_s85_the_beginning_stays_the_same_bytes_with_images_in_it() {
    for wire in Dialect::ALL {
        let models = models();
        let first = request_with("What is this?", vec![picture("known", None)]);
        let mut second = first.clone();
        let reply = Reply { text: "A cat.".to_owned(), ..Reply::default() };
        second.messages.push(ModelMessage::Assistant { reply: Arc::new(reply) });
        let more =
            ModelMessage::User { text: "And this?".into(), pictures: vec![picture("known", None)], words: 0 };
        second.messages.push(more);
        // The same with empty caches, as after a restart.
        let fresh = sent(wire, &self::models(), std::slice::from_ref(&second)).await;
        // The same text without images is another conversation.
        let mut blind = first.clone();
        let ModelMessage::User { pictures, .. } = &mut blind.messages[0] else { panic!("it is the user's") };
        pictures[0].withheld = Some(ImageRefusal::NotTaken);
        let bodies_without = sent(wire, &self::models(), &[first.clone(), blind]).await;
        let bodies = sent(wire, &models, &[first, second]).await;
        let bare = |body: &str| {
            let body = body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
            body.strip_suffix("]}").expect("the conversation stands last").to_owned()
        };
        assert!(bare(&bodies[1]).starts_with(&bare(&bodies[0])), "{wire:?}:\n{}\n{}", bodies[0], bodies[1]);
        assert_eq!(bodies[1], fresh[0], "{wire:?}");
        assert_eq!(bodies[1].matches(BASE64).count(), 2);
        assert!(!bodies_without[1].contains(BASE64), "{wire:?}: {}", bodies_without[1]);
    }
}
