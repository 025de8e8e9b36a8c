//! Compaction when something goes wrong, through a real server: summaries that are none, and a provider that refuses the length.
//!
//! Never looks into the server: the requests that the model got and the log say what happened.

use adjutant_protocol::state::State;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use serde_json::json;

use crate::rig::{Rig, assert_paired, count, facts_named};

/// About a thousand tokens.
const THOUSAND: usize = 155;
const LINE: &str = "the quick brown fox jumps over\n";
const SUMMARY: &str = "## Goal\nMend it.\n## Done\nLooked around.\n## Files\n`src/parser.rs`: the parser\n## Decisions\nnone\n\
                       ## Open\nnothing\n## Next\nthe rest";
const TASK: &str = "Mend the parser, and never touch vendor/.";
/// What stands in a summary that no model wrote.
const BY_NOBODY: &str = "No model wrote a summary of this part.";

fn text_of(request: &Request) -> String {
    String::from_utf8_lossy(&request.body).into_owned()
}

fn is_summary(request: &Request) -> bool {
    text_of(request).contains("The conversation is about to be shortened.")
}

/// A workspace whose model has a window of 20 000 tokens.
fn workspace(model: &ModelServer) -> Workspace {
    let workspace = Workspace::new("//- /a.txt\nhello\n//- /src/parser.rs\nfn parse() {}\n");
    workspace.openai(&model.base_url()).add_config("context_window = 20000\nmax_output_tokens = 1000");
    workspace
}

/// A reply of about this many lines that reads a file.
fn talk(lines: usize) -> Reply {
    Reply::text(&LINE.repeat(lines)).and_call("read_file", json!({"path": "a.txt"})).at_once()
}

fn too_long() -> Reply {
    let error = json!({"error": {"code": "context_length_exceeded", "message": "prompt is too long"}});
    Reply::status(400).body(error.to_string())
}

#[test]
fn s66_s68_l08_three_summaries_that_are_none_give_way_to_a_list_of_the_steps_and_the_next_one_is_asked_for_again()
 {
    let without_heading = SUMMARY.replace("## Open\n", "");
    let without_file = SUMMARY.replace("src/parser.rs", "a file");
    let too_much = format!("{SUMMARY}\n{}", LINE.repeat(20 * THOUSAND));
    let mut summaries = [without_heading, without_file, too_much, SUMMARY.to_owned()].into_iter();
    let (mut turns, mut summed) = (0, 0);
    let model = ModelServer::answering(move |request| {
        if is_summary(request) {
            summed += 1;
            return summaries.next().map_or_else(too_long, |text| Reply::text(&text).at_once());
        }
        turns += 1;
        match turns {
            // Refused, because the file has no such text; but the work is about this file.
            1 => Reply::call(
                "edit_file",
                json!({"path": "src/parser.rs", "old_text": "nowhere", "new_text": "x"}),
            ),
            _ if summed == 4 => Reply::text("Mended."),
            _ => talk(THOUSAND),
        }
    });
    let workspace = workspace(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();

    let end = rig.run_to_end(&session, TASK);

    assert_eq!(end.summary.as_deref(), Some("Mended."));
    let reasons = facts_named(&workspace, &session, "summary_failed");
    let reasons: Vec<&str> = reasons.iter().map(|failed| failed["why"].as_str().expect("a reason")).collect();
    assert_eq!(
        reasons,
        [
            "it lacks the heading \"## Open\"",
            "it names none of the files of the work, such as src/parser.rs",
            "it is longer than what it would replace",
        ]
    );
    let compacted = facts_named(&workspace, &session, "compacted");
    let by_model: Vec<bool> = compacted.iter().map(|one| one["by"].is_object()).collect();
    assert_eq!(by_model, [false, true], "a list after three failures; then a model is asked once more");
    let requests = model.requests();
    requests.iter().for_each(assert_paired);
    let third =
        requests.iter().rposition(|request| is_summary(request) && !text_of(request).contains(BY_NOBODY));
    let after = text_of(&requests[third.expect("three summaries were asked for") + 1]);
    assert!(after.contains(BY_NOBODY) && after.contains("never touch vendor/"), "{after}");
    let last = text_of(requests.last().expect("some"));
    assert!(last.contains("`src/parser.rs`: the parser") && last.contains("never touch vendor/"), "{last}");
    rig.await_state(State::Idle);
    rig.end();
}

#[test]
fn s67_a_provider_that_refuses_the_length_gets_less_each_time_and_then_the_user_is_asked() {
    // Short turns: the summary leaves several of them, so that the cut has something to take.
    const TURNS: usize = 12;
    let mut turns = 0;
    let mut summaries = 0;
    let model = ModelServer::answering(move |request| {
        if is_summary(request) {
            summaries += 1;
            // The request for the second summary is refused as well.
            return if summaries == 1 { Reply::text(SUMMARY) } else { too_long() };
        }
        turns += 1;
        if turns <= TURNS { talk(THOUSAND / 4) } else { too_long() }
    });
    let workspace = workspace(&model);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();

    let run = rig.prompt(&session, TASK).run_id;
    rig.await_run_end(&session, &run);

    let requests = model.requests();
    requests.iter().for_each(assert_paired);
    let refused: Vec<&Request> = requests.iter().filter(|request| !is_summary(request)).skip(TURNS).collect();
    let sizes: Vec<usize> = refused.iter().map(|request| request.size).collect();
    assert_eq!(sizes.len(), 3, "the whole, with a summary, and cut");
    assert!(sizes[1] < sizes[0] && sizes[2] < sizes[1], "less each time: {sizes:?}");
    for request in &refused {
        assert!(text_of(request).contains("never touch vendor/"), "the task stays");
    }
    assert!(text_of(refused[1]).contains("the parser") && text_of(refused[2]).contains(BY_NOBODY));
    let summaries = requests.len() - refused.len() - TURNS;
    assert_eq!((summaries, count(&workspace, &session, "compacted")), (2, 2));
    let asks = facts_named(&workspace, &session, "ask_opened");
    assert_eq!(asks.len(), 1, "the user decides how it goes on: {asks:?}");
    rig.end();
}

#[test]
fn s66_at_60_percent_the_middle_gives_way_to_a_summary_and_at_75_all_but_the_last_turns() {
    // The reply after the count has about three thousand tokens.
    for (counted, reach, keeps_the_beginning) in [(9_500, "middle", true), (12_500, "all", false)] {
        let mut turns = 0;
        let model = ModelServer::answering(move |request| {
            if is_summary(request) {
                return Reply::text(SUMMARY).at_once();
            }
            turns += 1;
            match turns {
                1 => Reply::call(
                    "edit_file",
                    json!({"path": "src/parser.rs", "old_text": "nowhere", "new_text": "x"}),
                ),
                2 => talk(3 * THOUSAND),
                3 => talk(3 * THOUSAND).usage(counted, 100),
                _ => Reply::text("Mended."),
            }
        });
        let workspace = workspace(&model);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        rig.run_to_end(&session, TASK);
        let began = facts_named(&workspace, &session, "turn_started");
        let compacts: Vec<_> = began.iter().filter(|turn| !turn["compacts"].is_null()).collect();
        let [compacts] = compacts[..] else { panic!("{reach}: {compacts:?}") };
        assert_eq!(compacts["compacts"]["reach"], reach);
        assert_eq!(
            compacts["compacts"]["from"].as_u64() > Some(0),
            keeps_the_beginning,
            "{reach}: {compacts}"
        );
        let last = text_of(model.requests().last().expect("a request"));
        assert!(last.contains("Looked around.") && last.contains(TASK), "{reach}: {last}");
        // The last turn before it is there word for word.
        assert!(last.contains(LINE.trim_end()), "{reach}");
        rig.end();
    }
}

#[test]
fn s66_a_cheaper_model_of_the_settings_writes_the_summary_and_no_other_request() {
    let (mut turns, mut last) = (0, false);
    let model = ModelServer::answering(move |request| {
        if is_summary(request) {
            last = true;
            return Reply::text(SUMMARY).at_once();
        }
        turns += 1;
        match turns {
            _ if last => Reply::text("Mended."),
            1 => Reply::call(
                "edit_file",
                json!({"path": "src/parser.rs", "old_text": "nowhere", "new_text": "x"}),
            ),
            _ => talk(3 * THOUSAND),
        }
    });
    let workspace = workspace(&model);
    workspace.add_config("[compact]\nmodel = \"local/small\"\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let end = rig.run_to_end(&session, TASK);
    assert_eq!(end.summary.as_deref(), Some("Mended."));
    let called: Vec<(bool, String)> = model
        .requests()
        .iter()
        .map(|request| (is_summary(request), request.json()["model"].as_str().unwrap_or_default().to_owned()))
        .collect();
    let of_summary = |is_summary| if is_summary { "small" } else { "test" };
    assert!(called.iter().all(|(is_summary, model)| model == of_summary(*is_summary)), "{called:?}");
    assert_eq!(called.iter().filter(|(is_summary, _)| *is_summary).count(), 1, "{called:?}");
    rig.end();
}
