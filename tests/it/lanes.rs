//! Many sessions at once, and one run in each session.
//!
//! Delays some replies and checks what happens meanwhile; never judges by time.

use adjutant_protocol::SessionId;
use adjutant_protocol::methods;
use adjutant_protocol::session::PromptResult;
use adjutant_protocol::update::{RunView, Update};
use adjutant_testkit::editor::Answer;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::rig::{Rig, facts, facts_named};

fn prompt(session: &SessionId, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

#[test]
fn s92_prompts_of_one_session_never_interleave_and_sessions_run_side_by_side() {
    let model = ModelServer::answering(|_| Reply::text("one two three").hold_after(10));
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let sessions: Vec<SessionId> = (0..8).map(|_| rig.new_session()).collect();
    // Sends two prompts to each session and waits for no reply in between.
    let sent: Vec<_> = sessions
        .iter()
        .flat_map(|session| ["first", "second"].map(|text| (session, prompt(session, text))))
        .map(|(session, params)| (session, rig.request_nowait(methods::SESSION_PROMPT, params)))
        .collect();
    // Each session has an open request to the model: no session waits for another.
    model.wait_for_holding(sessions.len());
    assert_eq!(model.requests().len(), sessions.len(), "one request for each session");
    let mut answers = Vec::new();
    for (session, id) in &sent {
        let answer = rig.await_response(id).expect("the prompt is accepted while the model is silent");
        let answer: PromptResult = serde_json::from_value(answer).expect("a result");
        answers.push(((*session).clone(), answer));
    }
    for pair in answers.chunks(2) {
        let dispositions =
            pair.iter().map(|(_, answer)| format!("{:?}", answer.disposition)).collect::<Vec<_>>();
        assert_eq!(dispositions, ["Started", "Steered"]);
        assert_eq!(pair[0].1.run_id, pair[1].1.run_id);
    }
    let mut waiting: Vec<_> = answers.iter().step_by(2).collect();
    while !waiting.is_empty() {
        model.release();
        waiting.retain(|(session, answer)| {
            let ended = |update: &Update| matches!(update, Update::Run(RunView::Ended { run_id, .. }) if *run_id == answer.run_id);
            !rig.updates().iter().any(|update| update.session_id == *session && ended(&update.update))
        });
        std::thread::yield_now();
    }
    for session in &sessions {
        let published = rig.updates().into_iter().filter(|update| update.session_id == *session);
        let phases: Vec<bool> = published
            .filter_map(|update| match update.update {
                Update::Run(RunView::Started { .. }) => Some(true),
                Update::Run(RunView::Ended { .. }) => Some(false),
                _ => None,
            })
            .collect();
        assert_eq!(phases, [true, false], "one run got both prompts");
        assert_eq!(facts_named(&workspace, session, "prompted").len(), 2);
    }
    rig.end();
}

#[test]
fn s98_l10_twenty_sessions_edit_and_ask_at_once_without_cross_talk() {
    let model = ModelServer::answering(|request| {
        let body = request.json();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let number = messages[1]["content"].as_str().unwrap_or_default().to_owned();
        let edit = json!({
            "path": format!("file{number}.txt"), "old_text": "old line", "new_text": format!("new line of {number}")
        });
        match messages.len() {
            2 => Reply::call("edit_file", edit),
            _ => Reply::text(&format!("edited {number}")),
        }
    });
    let files: String = (10..30).map(|number| format!("//- /file{number}.txt\nold line\nend\n")).collect();
    let workspace = Workspace::new(&files);
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    rig.on_ask(|_| Answer::Hold);
    let sessions: Vec<(SessionId, String)> =
        (10..30).map(|number| (rig.new_session(), number.to_string())).collect();
    for (_, number) in &sessions {
        rig.open(&format!("file{number}.txt"));
    }
    let runs: Vec<_> = sessions.iter().map(|(session, number)| rig.prompt(session, number).run_id).collect();
    adjutant_testkit::process::wait_until("every session asks", || rig.held_asks().len() == sessions.len());
    // Answers the last ask first. Each answer lets only its own session continue.
    for ask in rig.held_asks().into_iter().rev() {
        let (at, (session, number)) = sessions
            .iter()
            .enumerate()
            .find(|(_, (session, _))| *session == ask.session_id)
            .expect("the ask is of one of them");
        assert_eq!(ask.title, format!("Edit file{number}.txt"));
        rig.answer(&ask.ask_id, "allow");
        let end = rig.await_run_end(session, &runs[at]);
        assert_eq!(end.summary, Some(format!("edited {number}")));
    }
    for (session, number) in &sessions {
        assert_eq!(rig.text_of(&format!("file{number}.txt")), format!("new line of {number}\nend\n"));
        let published: Vec<_> =
            rig.updates().into_iter().filter(|update| update.session_id == *session).collect();
        let text = format!("{published:?} {:?}", facts(&workspace, session));
        for (other, other_number) in sessions.iter().filter(|(other, _)| other != session) {
            assert!(!text.contains(&other.0) && !text.contains(&format!("file{other_number}.txt")), "{text}");
        }
    }
    rig.end();
}
