//! What is sent in the words of LSP, and what counts of the answers.

use adjutant_protocol::AskId;

use super::*;
use crate::client::Choice;
use crate::client::face::AskDiagnostic;

const PLAIN: Words = Words { item_properties: false, diagnostic_data: false, annotations: false };
const ABLE: Words = Words { item_properties: true, diagnostic_data: true, annotations: true };

fn offer(title: &str, id: &str) -> Offer {
    Offer { title: title.to_owned(), choice: Choice::Option { id: id.to_owned(), approves: id == "allow" } }
}

#[test]
fn n02_nothing_but_an_offered_button_is_an_answer() {
    let ask = AskId::from("ask-1");
    let buttons = [offer("Reject", "reject"), offer("Yes, once", "allow"), offer("red (2)", "option-2")];
    let popup = Popup { ask: &ask, text: "Run echo", buttons: &buttons };
    let answer = |reply: Value| PLAIN.pressed(&popup, &reply).map(Offer::id);
    assert_eq!(answer(json!({ "title": "Yes, once" })), Some("allow"));
    assert_eq!(answer(json!({ "title": "red (2)" })), Some("option-2"));
    let whole = json!({ "title": "Yes, once", "askId": "ask-1", "optionId": "allow" });
    assert_eq!(answer(whole), Some("allow"));
    for wrong in [
        json!(null),
        json!(true),
        json!("Yes, once"),
        json!([{ "title": "Yes, once" }]),
        json!({}),
        json!({ "title": "allow" }),
        json!({ "title": "Allow" }),
        json!({ "title": "Yes, always…" }),
        json!({ "title": 1 }),
        json!({ "title": "Yes, once", "askId": "ask-2", "optionId": "allow" }),
        json!({ "title": "Yes, once", "askId": "ask-1" }),
        json!({ "title": "Yes, once", "optionId": "allow" }),
        json!({ "title": "Yes, once", "askId": "ask-1", "optionId": "reject" }),
        json!({ "title": "Reject", "askId": "ask-1", "optionId": "allow" }),
        json!({ "title": "Yes, once", "askId": null, "optionId": null }),
    ] {
        assert_eq!(answer(wrong.clone()), None, "{wrong}");
    }
}

#[test]
fn an_item_carries_what_it_means_only_where_it_comes_back_whole() {
    let ask = AskId::from("ask-1");
    let buttons = [offer("Yes, once", "allow")];
    let popup = Popup { ask: &ask, text: "Run echo", buttons: &buttons };
    assert_eq!(PLAIN.popup_params(&popup)["actions"], json!([{ "title": "Yes, once" }]));
    let whole = json!([{ "title": "Yes, once", "askId": "ask-1", "optionId": "allow" }]);
    assert_eq!(ABLE.popup_params(&popup)["actions"], whole);
}

#[test]
fn finding_d4_data_and_version_are_sent_to_clients_that_take_them() {
    let diagnostics = vec![AskDiagnostic { ask: "one".into(), line: 3, message: "Run echo".to_owned() }];
    let document = |version| MarkedDocument {
        uri: "file:///a".to_owned(),
        version,
        diagnostics: diagnostics.clone(),
        hunks: Vec::new(),
    };
    let params = PLAIN.diagnostics(&document(None)).expect("LSP has diagnostics").params;
    let diagnostic = &params["diagnostics"][0];
    assert_eq!((&diagnostic["severity"], &diagnostic["source"]), (&json!(3), &json!("adjutant")));
    assert_eq!((&diagnostic["range"]["start"]["line"], diagnostic.get("data")), (&json!(3), None));
    assert_eq!(params.get("version"), None);
    let params = ABLE.diagnostics(&document(Some(7))).expect("LSP has diagnostics").params;
    assert_eq!(params["diagnostics"][0]["data"], json!({ "askId": "one" }));
    assert_eq!(params["version"], 7);
}
