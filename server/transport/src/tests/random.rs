//! Random sequences of valid and invalid messages, checked against a model (F23): one answer for each
//! request, none for other messages, and an invalid message never answers a request of the server.
//!
//! The number of a sequence determines it, so a failure can be repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Once;

use adjutant_testkit::campaign::{self, Dice};
use serde_json::{Value, json};

use super::super::framing;
use super::rig::Rig;

/// The number of sequences that are played on one connection.
const ON_ONE: u64 = 200;
/// The text in every answer that the server must not accept.
const FORGED: &str = "forged";

/// Methods without params.
const BARE: [&str; 4] = ["test/hang", "test/panicNow", "test/panicLater", "test/panicDropped"];

/// The messages that one sequence has sent and received.
#[derive(Default)]
struct Model {
    number: u64,
    ids: u64,
    bytes: Vec<u8>,
    /// The sent messages, which are printed if the sequence fails.
    sent: Vec<String>,
    /// For each id of the client, the codes that its answers may have: one entry a request; zero is a result.
    expected: BTreeMap<String, Vec<Vec<i64>>>,
    answered: BTreeMap<String, usize>,
    /// Requests that end only when the client cancels or answers.
    open: Vec<Value>,
    /// The numbers of answers without an id: expected and received.
    nameless: (usize, usize),
    /// The open requests of the server.
    questions: Vec<Value>,
    /// The client's request for which the server sent each of its requests.
    about: BTreeMap<String, String>,
    /// The requests that the client has cancelled.
    cancelled: BTreeSet<String>,
    /// The requests of the server that the client has answered.
    replied: BTreeSet<String>,
    /// The requests that the server has withdrawn.
    withdrawn: BTreeSet<String>,
}

impl Model {
    fn id(&mut self, dice: &mut Dice) -> Value {
        self.ids += 1;
        let number = self.number * 1_000 + self.ids;
        match dice.roll(3) {
            0 => json!(number),
            1 => json!(format!("{number}")),
            _ => json!(format!("é\u{0}{number}")),
        }
    }

    fn frame(&mut self, body: &[u8], dice: &mut Dice) {
        self.sent.push(String::from_utf8_lossy(body).into_owned());
        match dice.roll(4) {
            0 => self.bytes.extend(format!("content-length:{}\r\nX-Odd: 1\r\n\r\n", body.len()).bytes()),
            1 => self.bytes.extend(format!("Content-Length: {}\n\n", body.len()).bytes()),
            _ => framing::push_header(&mut self.bytes, body.len()),
        }
        self.bytes.extend_from_slice(body);
    }

    fn say(&mut self, message: &Value, dice: &mut Dice) {
        self.frame(message.to_string().as_bytes(), dice);
    }

    fn request(&mut self, id: &Value, method: &str, codes: &[i64], dice: &mut Dice) {
        // A used id may still be in flight, and then the request is refused. If it is not, a cancel of the
        // earlier request may cancel this one.
        let used = self.expected.entry(id.to_string()).or_default();
        let mut codes = codes.to_vec();
        if !used.is_empty() {
            codes.extend([-32600, -32800]);
        }
        used.push(codes);
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !BARE.contains(&method) {
            message["params"] = json!({"id": id});
        }
        self.say(&message, dice);
    }

    fn one_request(&mut self, dice: &mut Dice) {
        let mut id = self.id(dice);
        let methods: &[(&str, &[i64], bool)] = &[
            ("test/echo", &[0], false),
            ("test/ask", &[0, -32800], true),
            ("test/hang", &[-32800], true),
            ("test/panicNow", &[-32603], false),
            ("test/panicLater", &[-32603], false),
            ("test/panicDropped", &[-32603], true),
            ("no/such", &[-32601], false),
            ("$/noSuch", &[-32601], false),
            ("initialize", &[-32602], false),
            ("exit", &[-32600], false),
            ("test/note", &[-32600], false),
            ("$/cancelRequest", &[-32600], false),
        ];
        let (method, codes, stays) = *dice.pick(methods);
        if dice.roll(8) == 0 && !self.open.is_empty() {
            // An id in flight: one of the two requests is refused, and both get an answer.
            id = dice.pick(&self.open.clone()).clone();
        }
        self.request(&id, method, codes, dice);
        if stays {
            self.open.push(id);
        }
    }

    fn one_notification(&mut self, dice: &mut Dice) {
        let cancelled = if self.open.is_empty() { json!("unknown") } else { dice.pick(&self.open).clone() };
        let all = [
            ("test/note", json!({"n": 0})),
            ("test/panicNote", json!({"later": true})),
            ("test/panicNote", json!({})),
            ("no/such", json!([])),
            ("$/noSuch", json!({})),
            ("shutdown", json!({})),
            ("initialize", json!({"capabilities": {}})),
            ("test/echo", json!({})),
            ("textDocument/didChange", json!({"textDocument": 5})),
            ("$/cancelRequest", json!({"id": cancelled})),
            ("$/cancelRequest", json!({"id": [1]})),
            ("$/cancelRequest", json!({})),
        ];
        let (method, params) = dice.pick(&all).clone();
        if method == "$/cancelRequest" {
            self.cancelled.insert(params["id"].to_string());
        }
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}), dice);
    }

    /// Sends an invalid message. If its id can be read, the answer has that id.
    fn one_mistake(&mut self, dice: &mut Dice) {
        let bodies: [&[u8]; 12] = [
            b"{",
            b"",
            b"\xff\xfe",
            b"[1,2]",
            b"[]",
            b"null",
            b"{}",
            br#"{"jsonrpc":"2.0"}"#,
            br#"{"jsonrpc":"2.0","id":1.5,"method":"test/echo"}"#,
            br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"test/echo"}"#,
            br#"{"jsonrpc":"2.0","method":"test/note","params":7}"#,
            br#"{"jsonrpc":"1.0","method":"test/note"}"#,
        ];
        match dice.roll(4) {
            0 => {
                let id = self.id(dice);
                self.expected.entry(id.to_string()).or_default().push(vec![-32600]);
                let bad = [
                    json!({"jsonrpc": "2.0", "id": id}),
                    json!({"jsonrpc": "2.0", "id": id, "method": 5}),
                    json!({"jsonrpc": "1.0", "id": id, "method": "test/echo"}),
                    json!({"jsonrpc": "2.0", "id": id, "method": "test/echo", "params": "x"}),
                ];
                self.say(dice.pick(&bad), dice);
                return;
            }
            1 => {
                self.sent.push("a stray print".to_owned());
                self.bytes.extend_from_slice(b"Traceback: it broke\r\n\r\n");
            }
            _ => self.frame(bodies[dice.roll(bodies.len())], dice),
        }
        self.nameless.0 += 1;
    }

    /// Sends an invalid answer to an open request of the server.
    fn one_forgery(&mut self, dice: &mut Dice) {
        let Some(id) = self.questions.get(dice.roll(self.questions.len().max(1))).cloned() else { return };
        let error = json!({"code": 1, "message": FORGED});
        let malformed = [
            json!({"jsonrpc": "2.0", "id": id, "result": FORGED, "error": error}),
            json!({"jsonrpc": "1.0", "id": id, "result": FORGED}),
            json!({"id": id, "result": FORGED}),
            json!({"jsonrpc": "2.0", "id": id, "result": FORGED, "params": {}}),
            json!({"jsonrpc": "2.0", "result": FORGED}),
            json!({"jsonrpc": "2.0", "id": id, "error": FORGED}),
            json!([{"jsonrpc": "2.0", "id": id, "result": FORGED}]),
        ];
        let of_others = [
            json!({"jsonrpc": "2.0", "id": id.to_string(), "result": FORGED}),
            json!({"jsonrpc": "2.0", "id": -1, "result": FORGED}),
            json!({"jsonrpc": "2.0", "id": null, "result": FORGED}),
            json!({"jsonrpc": "2.0", "id": 2_000_000_000, "error": error}),
        ];
        if dice.roll(2) == 0 {
            self.nameless.0 += 1;
            self.say(dice.pick(&malformed), dice);
        } else {
            self.say(dice.pick(&of_others), dice);
        }
    }

    fn one_answer(&mut self, dice: &mut Dice) {
        if self.questions.is_empty() {
            return;
        }
        let at = dice.roll(self.questions.len());
        let id = self.questions.swap_remove(at);
        self.replied.insert(id.to_string());
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": "true"}), dice);
        if dice.roll(3) == 0 {
            self.say(&json!({"jsonrpc": "2.0", "id": id, "result": FORGED}), dice);
        }
    }

    fn hear(&mut self, message: &Value) {
        let id = message["id"].to_string();
        match message["method"].as_str() {
            Some("client/ask") => {
                self.about.insert(id, message["params"]["id"].to_string());
                self.questions.push(message["id"].clone());
            }
            Some("$/cancelRequest") => {
                let id = &message["params"]["id"];
                self.questions.retain(|question| question != id);
                assert!(self.withdrawn.insert(id.to_string()), "withdrawn twice: {message}");
                // Answer and withdrawal may cross only if the client has cancelled the request behind the question.
                let crossed = self.about.get(&id.to_string()).is_some_and(|of| self.cancelled.contains(of));
                assert!(crossed || !self.replied.contains(&id.to_string()), "answered already: {message}");
            }
            Some(other) => panic!("the server says {other}"),
            None if message["id"].is_null() => {
                let code = &message["error"]["code"];
                assert!(*code == -32700 || *code == -32600, "{message}");
                self.nameless.1 += 1;
                assert!(self.nameless.1 <= self.nameless.0, "an answer to nothing: {message}");
            }
            None => {
                assert!(!message["result"].to_string().contains(FORGED), "a forged answer counts: {message}");
                let expected = self.expected.get(&id).unwrap_or_else(|| panic!("nobody asked: {message}"));
                let count = self.answered.entry(id).or_default();
                *count += 1;
                assert!(*count <= expected.len(), "answered twice: {message}");
                let code = message["error"]["code"].as_i64().unwrap_or(0);
                assert!(expected.iter().flatten().any(|one| *one == code), "{message}");
            }
        }
    }

    fn is_done(&self) -> bool {
        let all: usize = self.expected.values().map(Vec::len).sum();
        self.answered.values().sum::<usize>() == all && self.nameless.0 == self.nameless.1
    }

    /// Sends the collected messages and a last request; receives until that request is answered.
    fn flush(&mut self, rig: &mut Rig, dice: &mut Dice) {
        let sync = self.id(dice);
        self.request(&sync, "test/echo", &[0], dice);
        rig.bytes(&std::mem::take(&mut self.bytes));
        while !self.answered.contains_key(&sync.to_string()) {
            let message = rig.hear();
            self.hear(&message);
        }
    }
}

/// Plays one sequence. Prints its messages if it fails.
fn play(number: u64, rig: &mut Rig) {
    let mut dice = campaign::dice(number);
    let mut model = Model { number, ..Model::default() };
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..2 {
            for _ in 0..1 + dice.roll(8) {
                match dice.roll(10) {
                    0..4 => model.one_request(&mut dice),
                    4..6 => model.one_notification(&mut dice),
                    6 => model.one_mistake(&mut dice),
                    7..9 => model.one_forgery(&mut dice),
                    _ => model.one_answer(&mut dice),
                }
            }
            model.flush(rig, &mut dice);
        }
        for id in std::mem::take(&mut model.open) {
            model.cancelled.insert(id.to_string());
            model.say(
                &json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}}),
                &mut dice,
            );
        }
        model.flush(rig, &mut dice);
        while !model.is_done() || !model.questions.is_empty() {
            let message = rig.hear();
            model.hear(&message);
        }
        rig.assert_serving();
        assert_eq!((rig.alive(), rig.out.open_requests()), (0, 0), "nothing is left over");
    }));
    if let Err(why) = outcome {
        eprintln!("sequence {number}:\n{}", model.sent.join("\n"));
        std::panic::resume_unwind(why);
    }
}

/// Prints no message for the panics that the tests ask the backend for.
fn hide_expected_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let expected = ["at once", "later", "in a notification", "while dropped"];
            if !info.payload_as_str().is_some_and(|text| expected.contains(&text)) {
                others(info);
            }
        }));
    });
}

#[test]
fn f23_random_sequences_are_answered_exactly_once_each() {
    let count = campaign::size("ADJUTANT_SEQUENCES", 100_000, 2_000) as u64;
    hide_expected_panics();
    let mut played = 0;
    while played < count {
        let mut rig = Rig::new();
        for number in played..(played + ON_ONE).min(count) {
            play(number + 1, &mut rig);
        }
        rig.assert_quiet();
        played += ON_ONE;
    }
}
