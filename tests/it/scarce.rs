//! Too few descriptors for a while: the error of a refused request says what to do, and the request works when
//! there are enough again (finding F5).
//!
//! Limits only processes that the test started.

use adjutant_protocol::methods;
use adjutant_protocol::session::{PromptResult, SessionListResult};
use adjutant_protocol::state::Outcome;
use adjutant_testkit::editor::{Editor, Options, RpcError};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::Server;
use serde_json::{Value, json};

use crate::rig::assert_overloaded;
use crate::scenarios::system::{descriptors, open_now};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
/// The most free numbers below the open descriptors. A limit is on the number of a descriptor, not on the count.
const HOLES: u64 = 6;
/// The number of steps from no free descriptor to more than any request needs.
const STEPS: u64 = 22;

fn says_what_to_do(answer: Result<Value, RpcError>, when: &str) {
    let message = answer.as_ref().map_or_else(|error| error.message.clone(), Value::to_string);
    assert!(message.contains("too many files are open in this process"), "{when}: {message}");
    assert!(message.contains("`ulimit -n`"), "{when}: {message}");
    assert_overloaded(answer);
}

fn ends_well(editor: &Editor, session: &adjutant_protocol::SessionId, when: &str) {
    let run = editor.prompt(session, "Once more.").run_id;
    assert_eq!(editor.await_run_end(session, &run).outcome, Outcome::Stopped, "{when}");
}

#[test]
fn finding_f5_a_prompt_without_free_descriptors_is_refused_and_its_session_lives_on() {
    let model = ModelServer::answering(|_| Reply::text("Here."));
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let editor = server.editor(Options::new(&workspace));
    // The server keeps the connection to the model from now on.
    ends_well(&editor, &editor.new_session(), "with room");
    let mut was_refused = 0;
    for step in 0..STEPS {
        let when = format!("step {step}");
        let session = editor.new_session();
        let before = descriptors(&server, open_now(&server) + step - HOLES);
        let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go on"}]});
        let answer = editor.request(methods::SESSION_PROMPT, prompt);
        descriptors(&server, before);
        match answer {
            Ok(accepted) => {
                let accepted: PromptResult = serde_json::from_value(accepted).expect("a result");
                assert_eq!(
                    editor.await_run_end(&session, &accepted.run_id).outcome,
                    Outcome::Stopped,
                    "{when}"
                );
            }
            refusal => {
                was_refused += 1;
                says_what_to_do(refusal, &when);
            }
        }
        ends_well(&editor, &session, &when);
    }
    assert!((1..STEPS).contains(&was_refused), "{was_refused} of {STEPS} were refused");
    editor.shutdown();
}

#[test]
fn finding_f5_lists_and_sessions_on_disk_without_free_descriptors_are_refused_and_nothing_is_damaged() {
    let model = ModelServer::answering(|_| Reply::text("Here."));
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url());
    let mut server = Server::spawn(BINARY, &workspace, &["lsp"]);
    let editor = server.editor(Options::new(&workspace));
    let session = editor.new_session();
    ends_well(&editor, &session, "with room");
    editor.request(methods::SESSION_CLOSE, json!({"sessionId": session})).expect("the session closes");
    let (mut lists, mut resumes) = (0, 0);
    for step in 0..STEPS {
        let when = format!("step {step}");
        let before = descriptors(&server, open_now(&server) + step - HOLES);
        let listed = editor.request(methods::SESSION_LIST, json!({}));
        let resumed = editor.request(methods::SESSION_RESUME, json!({"sessionId": session}));
        descriptors(&server, before);
        match listed {
            Ok(listed) => {
                let listed: SessionListResult = serde_json::from_value(listed).expect("a list");
                assert_eq!(listed.sessions.len(), 1, "{when}");
                assert_eq!(listed.sessions[0].damaged, None, "{when}");
            }
            refusal => {
                lists += 1;
                says_what_to_do(refusal, &when);
            }
        }
        if resumed.is_err() {
            resumes += 1;
            says_what_to_do(resumed, &when);
        }
        ends_well(&editor, &session, &when);
        editor.request(methods::SESSION_CLOSE, json!({"sessionId": session})).expect("the session closes");
    }
    assert!(
        (1..STEPS).contains(&lists) && (1..STEPS).contains(&resumes),
        "{lists} and {resumes} were refused"
    );
    editor.shutdown();
}
