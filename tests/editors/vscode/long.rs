//! Scenes of a conversation that is too long for its model: what the chat shows while it is made smaller, and after it. And what it
//! says of length and cost before that.
//!
//! Never looks into the server: it checks the screen.

use adjutant_testkit::long;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::Code;
use crate::scenes;
use crate::stage::{Stage, wait_for};

/// One item, from its begin to its end, whatever the chat draws.
#[test]
fn s76_a_compaction_is_one_item_of_the_chat_that_opens_to_what_the_model_reads() {
    let stage = Stage::long();
    let code = Code::open(&stage, "parts/part1.txt");
    code.do_("chatOpen", json!([]));
    code.say_in_chat("Read all parts");
    stage.model.wait_for_holding(1);
    let compactions = || -> Vec<String> {
        let items = code.chat()["items"].as_array().cloned().unwrap_or_default();
        let texts = items.iter().filter_map(|item| item.as_str());
        texts.filter_map(|item| item.strip_prefix("compaction: ")).map(str::to_owned).collect()
    };
    let one = |begins: &str| {
        let mut last = Vec::new();
        let mut shows = || {
            last = compactions();
            (last.len() == 1 && last[0].starts_with(begins)).then(|| last[0].clone())
        };
        let found = crate::stage::wait_or(&mut shows);
        found.unwrap_or_else(|| panic!("not one compaction that begins with {begins:?}: {last:?}"))
    };
    one("◐ Compacting the conversation (about ");
    let state = wait_for("the state", || {
        let state = code.chat()["state"].as_str().unwrap_or_default().to_owned();
        state.contains("Compacting").then_some(state)
    });
    assert_eq!(state, "Compacting the conversation");
    code.picture("compaction-at-work");
    stage.model.release();
    wait_for("the end", || code.chat()["items"].to_string().contains(long::LAST).then_some(()));
    let folded = one("✓ Compacted the conversation (about ");
    assert!(!folded.contains("Goal"), "{folded}");
    wait_for("the end of the state", || {
        (!code.chat()["state"].to_string().contains("Compact")).then_some(())
    });
    let choose = |label: &str| {
        code.do_("palette", json!(["Adjutant: Choose How Much the Chat Shows…"]));
        wait_for("the choices", || code.do_("picks", json!([])).to_string().contains("Brief").then_some(()));
        code.do_("pick", json!([label]));
    };
    choose("Brief");
    wait_for("a brief chat", || (!code.chat()["items"].to_string().contains("tool: ")).then_some(()));
    assert_eq!(one("✓ Compacted"), folded);
    choose("Full");
    let reads = wait_for("what the model reads", || {
        Some(one("✓ Compacted")).filter(|text| text.contains(long::GOAL))
    });
    assert!(reads.contains("In place of what was before, the model reads:"), "{reads}");
    code.picture("compaction");
    // From the server alone.
    code.do_("reload", json!(["part1.txt"]));
    code.do_("chatOpen", json!([]));
    wait_for("the same", || (compactions() == [reads.clone()]).then_some(()));
    choose("Normal");
    wait_for("a folded one", || (compactions() == [folded.clone()]).then_some(()));
}

#[test]
fn s73_the_chat_says_how_full_the_context_is_and_what_the_session_cost() {
    let stage =
        scenes::stage(["First words.", "Second words."].map(|words| Reply::text(words).usage(2_500, 500)));
    let file = stage.workspace.config_file();
    let settings = std::fs::read_to_string(&file).expect("the settings");
    let with_window = settings.replace("api_key_env", "context_window = 10000\napi_key_env");
    let with_price = with_window + "\n[prices.\"local/test\"]\ninput = 10\noutput = 50\n";
    std::fs::write(&file, with_price).expect("write the settings");
    let code = Code::open(&stage, scenes::FILE);
    code.do_("chatOpen", json!([]));
    let says = |prompt: &str, wanted: &str| {
        code.say_in_chat(prompt);
        let mut last = String::new();
        wait_for(&format!("the state {wanted:?}"), || {
            last = code.chat()["state"].as_str().unwrap_or_default().to_owned();
            last.ends_with(wanted).then_some(())
        });
    };
    says("Say something", "30 % of the context · 0.0500 USD");
    says("Say more", "30 % of the context · 0.1000 USD");
    code.picture("cost");
}
