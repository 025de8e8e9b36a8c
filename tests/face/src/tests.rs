//! Starts, answers and cancels runs over JSON lines, without LSP.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use adjutant::model::Models;
use adjutant::settings::Sources;
use adjutant::transport::pipe;
use adjutant_protocol::methods::{
    ASK_RESOLVED, REQUEST_PERMISSION, SESSION_CANCEL, SESSION_NEW, SESSION_PROMPT, SESSION_UPDATE,
};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use super::*;

const DEADLINE: Duration = Duration::from_secs(10);

struct Client {
    writer: Option<std::io::PipeWriter>,
    received: Receiver<Value>,
    ended: Receiver<ConnectionEnd>,
    last_id: u64,
    /// Messages that no `wait_for` has returned yet.
    kept: RefCell<Vec<Value>>,
}

impl Client {
    fn connect(workspace: &Workspace) -> Client {
        let (near, far) = pipe().expect("the system gives a pipe");
        let environment: BTreeMap<String, String> = workspace.env().into_iter().collect();
        let home = environment.get("HOME").map(PathBuf::from);
        let keys = environment.clone();
        let sources = Sources { environment, home, ..Sources::default() };
        let options = Options::new(sources, Models::with_keys(move |name| keys.get(name).cloned()));
        let (end, ended) = channel();
        thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
            let ended = runtime.block_on(serve(options, near.reader, near.writer));
            runtime.shutdown_timeout(DEADLINE);
            let _ = end.send(ended);
        });
        let (queue, received) = channel();
        thread::spawn(move || {
            for line in BufReader::new(far.reader).lines() {
                let message = serde_json::from_str(&line.expect("a line")).expect("a message a line");
                if queue.send(message).is_err() {
                    return;
                }
            }
        });
        Client { writer: Some(far.writer), received, ended, last_id: 0, kept: RefCell::default() }
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.writer.as_mut().expect("it is open"), "{message}").expect("the server reads");
    }

    /// Waits for a message and keeps all others: an update may arrive before the answer that caused it.
    fn wait_for(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut kept = self.kept.borrow_mut();
        loop {
            if let Some(at) = kept.iter().position(&wanted) {
                return kept.remove(at);
            }
            match self.received.recv_timeout(DEADLINE) {
                Ok(message) => kept.push(message),
                Err(why) => panic!("{why} in {DEADLINE:?}, after {kept:#?}"),
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = json!(self.last_id);
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.wait_for(|message| message["id"] == id && message.get("method").is_none())
    }

    fn prompt(&mut self, session: &Value, text: &str) -> Value {
        let prompt = json!([{"type": "text", "text": text}]);
        let answer = self.request(SESSION_PROMPT, json!({"sessionId": session, "prompt": prompt}));
        assert!(answer["result"]["runId"].is_string(), "{answer}");
        answer["result"]["runId"].clone()
    }

    /// Waits for the end of a run and returns its outcome.
    fn outcome(&self, run: &Value) -> Value {
        let ends = |message: &Value| {
            let update = &message["params"]["update"];
            message["method"] == SESSION_UPDATE && update["phase"] == "ended" && update["runId"] == *run
        };
        self.wait_for(ends)["params"]["update"]["end"]["outcome"].clone()
    }
}

#[test]
fn a_run_is_started_answered_and_cancelled_over_lines() {
    let write = json!({"path": "new.txt", "content": "made\n"});
    let held = Reply::text("one two three four").hold_after(60);
    let model = ModelServer::start([Reply::call("write_file", write), Reply::text("Done."), held]);
    let workspace = Workspace::new("//- /a.txt\nhello\n");
    workspace.openai(&model.base_url());
    let mut client = Client::connect(&workspace);

    let early = client.request(SESSION_NEW, json!({}));
    assert!(early["error"]["message"].as_str().expect("a reason").contains("hello"), "{early}");
    let agent = json!({"version": 0, "updates": {"chunks": true}, "asks": {"request": true}});
    let hello = json!({"folders": [workspace.path()], "agent": agent});
    assert_eq!(client.request("hello", hello.clone())["result"], json!({"problems": []}));
    assert!(client.request("hello", hello)["error"].is_object(), "once");
    assert_eq!(client.request("textDocument/hover", json!({}))["error"]["code"], -32601);
    let session = client.request(SESSION_NEW, json!({}))["result"]["sessionId"].clone();

    let run = client.prompt(&session, "Make it.");
    let ask = client.wait_for(|message| message["method"] == REQUEST_PERMISSION);
    assert_eq!(ask["params"]["subject"]["newFile"], true, "{ask}");
    let allow = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
    client.say(&json!({"jsonrpc": "2.0", "id": ask["id"], "result": allow}));
    client.wait_for(|message| message["method"] == ASK_RESOLVED);
    assert_eq!(client.outcome(&run), "stopped");
    assert_eq!(workspace.read("new.txt"), "made\n");

    let run = client.prompt(&session, "Say much.");
    model.wait_for_holding(1);
    let cancel = json!({"sessionId": session, "runId": run});
    client.say(&json!({"jsonrpc": "2.0", "method": SESSION_CANCEL, "params": cancel}));
    assert_eq!(client.outcome(&run), "cancelled");

    client.writer = None;
    let ended = client.ended.recv_timeout(DEADLINE).expect("the server ends with its client");
    assert!(matches!(ended, ConnectionEnd::InputClosed), "{ended:?}");
}

#[test]
fn the_server_behind_this_face_has_no_lsp() {
    let tree = |options: &[&str]| {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none"])
            .args(options)
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("names")
    };
    let has_lsp = |tree: &str| tree.lines().any(|line| line.contains("lsp"));
    let bare = tree(&["-p", "adjutant-face"]);
    assert!(bare.contains("adjutant-core"), "{bare}");
    assert!(!has_lsp(&bare), "{bare}");
    assert!(has_lsp(&tree(&["-p", "adjutant"])), "the check sees one where it is");
}
