//! The measured scenes: one function for each, with a new server.
//!
//! Asserts that the server did the work, because a figure of failed work is worth nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Client, Draws, Message};
use super::process::{cpu, memory};
use super::samples::{Samples, ms};
use super::workspace::{Workspace, line_of_edited};

/// The prompts of one run of a quick scene.
const PROMPTS: usize = 20;
/// The turns of the long run.
const LONG: usize = 210;
/// The tokens of a burst, one word each.
const BURST: usize = 10_000;

/// The program under measurement and its files.
pub struct Bench<'a> {
    pub program: &'a Path,
    pub directory: &'a Path,
    pub workspace: &'a Workspace,
}

/// A server with its model, its home and one session.
pub struct Stage {
    pub model: ModelServer,
    pub client: Client,
    pub session: String,
    pub home: TempDir,
    started: Duration,
}

impl Bench<'_> {
    /// Starts a server that uses this model.
    pub fn stage(&self, model: ModelServer) -> Stage {
        self.stage_with(model, "")
    }

    /// The same with further lines of settings; the first ones belong to the provider's table.
    pub fn stage_with(&self, model: ModelServer, more: &str) -> Stage {
        self.stage_at(&model.base_url(), model, more)
    }

    /// The same with a provider at another address than the model's.
    pub fn stage_at(&self, url: &str, model: ModelServer, more: &str) -> Stage {
        self.stage_of(url, model, more, Draws::Nothing)
    }

    /// The same with a client that may draw hunks.
    pub fn stage_of(&self, url: &str, model: ModelServer, more: &str, draws: Draws) -> Stage {
        let home = TempDir::new_in(self.directory).expect("the directory can be written");
        let settings = format!("model = \"bench/scripted\"\n[providers.bench]\nbase_url = \"{url}\"\n{more}");
        std::fs::write(home.path().join("config.toml"), settings).expect("the settings can be written");
        model.forget_bodies();
        let (mut client, started) = Client::start_as(self.program, home.path(), &self.workspace.root, draws);
        let (session, _) = client.new_session();
        Stage { model, client, session, home, started }
    }
}

impl Stage {
    /// Runs a prompt to its end; returns the time of sending and the time at which the client got the end.
    pub fn run(&mut self) -> (Instant, Instant) {
        let sent = self.client.prompt(&self.session, "Do the next part of the work.");
        (sent, self.client.wait(Message::is_idle).at)
    }

    /// Returns the milliseconds between each complete reply and the next request, for replies `from..to`.
    fn overheads(&self, from: usize, to: usize) -> Vec<f64> {
        let requests = self.model.requests();
        let answered = self.model.answered();
        (from..to)
            .map(|turn| ms(requests[turn + 1].arrived.saturating_duration_since(answered[turn])))
            .collect()
    }
}

/// Measures the start, a new session, and the begin and the end of a prompt.
pub fn prompts(bench: &Bench, samples: &mut Samples) {
    let mut stage = bench.stage(ModelServer::answering(|_| Reply::text("Done.").at_once()));
    samples.add("start", vec![ms(stage.started)]);
    samples.add("new", (0..PROMPTS).map(|_| ms(stage.client.new_session().1)).collect());
    let (mut to_request, mut to_idle) = (Vec::new(), Vec::new());
    for number in 0..=PROMPTS {
        let (sent, idle) = stage.run();
        let answered = stage.model.wait_for_answered(number + 1)[number];
        // The first prompt opens the connection.
        if number > 0 {
            to_request.push(ms(stage.model.requests()[number].arrived - sent));
            to_idle.push(ms(idle.saturating_duration_since(answered)));
        }
    }
    samples.add("first kB", vec![stage.model.requests()[0].size as f64 / 1e3]);
    samples.add("prompt", to_request);
    samples.add("idle", to_idle);
}

/// Measures only the start, for a median over many runs.
pub fn starts(bench: &Bench, samples: &mut Samples) {
    let stage = bench.stage(ModelServer::answering(|_| Reply::text("Done.").at_once()));
    samples.add("start", vec![ms(stage.started)]);
}

/// Measures a task: fifty reads, one edit, an answer of 200 tokens.
pub fn task(bench: &Bench, samples: &mut Samples) {
    let replies = reads(bench.workspace, 50).chain([edit(bench.workspace, 3), answer(200)]);
    let mut stage = bench.stage(ModelServer::start(replies));
    stage.client.open(&bench.workspace.root.join(&bench.workspace.edited));
    let pid = stage.client.pid();
    samples.add("rss", vec![memory(pid).0]);
    let before = cpu(pid);
    let (sent, idle) = stage.run();
    samples.add("task cpu", vec![(cpu(pid) - before).as_secs_f64()]);
    samples.add("task", vec![(idle - sent).as_secs_f64()]);
    samples.add("peak", vec![memory(pid).1]);
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 52, "the task takes 52 requests");
    assert_eq!(stage.client.asked.len(), 1, "the edit is asked about");
    samples.add("connections", vec![stage.model.connections() as f64]);
    samples.add("body kB", vec![requests[51].size as f64 / 1e3]);
    samples.add("first kB", vec![requests[0].size as f64 / 1e3]);
    samples.add("all MB", vec![requests.iter().map(|request| request.size).sum::<usize>() as f64 / 1e6]);
    samples.add("read", stage.overheads(1, 49));
}

/// Measures ten reads in one turn, and the same reads in one turn each.
pub fn together(bench: &Bench, samples: &mut Samples) {
    const READS: usize = 10;
    const ROUNDS: usize = 5;
    let names = || bench.workspace.read.iter().take(READS);
    let mut replies: Vec<Reply> = Vec::new();
    for _ in 0..ROUNDS {
        replies.extend(reads(bench.workspace, READS));
        let all =
            names().fold(Reply::text(""), |reply, name| reply.and_call("read_file", json!({"path": name})));
        replies.push(all.usage(1000, 200).at_once());
    }
    let mut stage = bench.stage(ModelServer::start(replies.into_iter().chain([answer(5)])));
    stage.run();
    assert_eq!(stage.model.requests().len(), ROUNDS * (READS + 1) + 1, "every reply is a turn");
    for round in 0..ROUNDS {
        let first = round * (READS + 1);
        let alone = stage.overheads(first, first + READS);
        samples.add("slowest of ten", vec![alone.into_iter().fold(0.0, f64::max)]);
        samples.add("ten at once", stage.overheads(first + READS, first + READS + 1));
    }
}

/// Measures more than two hundred reads, for the cost of a turn late in a session.
pub fn long(bench: &Bench, samples: &mut Samples) {
    let replies = reads(bench.workspace, LONG).chain([answer(20)]);
    let mut stage = bench.stage(ModelServer::start(replies));
    stage.run();
    let requests = stage.model.requests();
    assert_eq!(requests.len(), LONG + 1, "every read is a turn");
    samples.add("turn 5", stage.overheads(2, 8));
    samples.add("turn 200", stage.overheads(190, LONG));
    samples.add("long", stage.overheads(1, LONG));
    samples.add("long body kB", vec![requests[LONG].size as f64 / 1e3]);
    samples.add("long peak", vec![memory(stage.client.pid()).1]);
}

/// Measures replies of a quarter of a second with one hundred tokens a second.
pub fn tokens(bench: &Bench, samples: &mut Samples) {
    const TOKENS: usize = 25;
    /// The finish reason and `[DONE]` are events too.
    const EVENTS: usize = TOKENS + 2;
    let words: String = (0..TOKENS).map(|number| format!("w{number:03} ")).collect();
    let reply = move || Reply::text(&words).paced(Duration::from_millis(10));
    let mut stage = bench.stage(ModelServer::answering(move |_| reply()));
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for number in 0..PROMPTS {
        stage.client.prompt(&stage.session, "Say something.");
        let mut pieces: Vec<(Instant, usize)> = Vec::new();
        stage.client.wait(|message| {
            pieces.extend(message.chunk().map(|text| (message.at, text.len() / 5)));
            message.is_idle()
        });
        let written = stage.model.paced();
        let mut token = 0;
        for (at, count) in pieces {
            for _ in 0..count {
                let latency = ms(at.saturating_duration_since(written[number * EVENTS + token]));
                if token == 0 {
                    first.push(latency)
                } else {
                    later.push(latency)
                }
                token += 1;
            }
        }
        assert_eq!(token, TOKENS, "every token arrived once");
    }
    samples.add("first token", first);
    samples.add("later token", later);
}

/// Measures ten thousand tokens as fast as the server accepts them.
pub fn burst(bench: &Bench, samples: &mut Samples) {
    let whole = "word ".repeat(BURST);
    let reply = Reply::text(&whole).in_pieces_of(16 * 1024);
    let mut stage = bench.stage(ModelServer::start([Reply::text("Ready.").at_once(), reply]));
    stage.run();
    let pid = stage.client.pid();
    let before = cpu(pid);
    stage.client.prompt(&stage.session, "Say very much.");
    let (mut text, mut last, mut messages) = (String::new(), None, 0_usize);
    stage.client.wait(|message| {
        messages += 1;
        if let Some(piece) = message.chunk() {
            text.push_str(piece);
            if text.len() == whole.len() {
                last = Some(message.at);
            }
        }
        message.is_idle()
    });
    samples.add("burst cpu", vec![(cpu(pid) - before).as_secs_f64()]);
    assert!(text == whole, "every token arrived once, in order: {} of {} bytes", text.len(), whole.len());
    let last = last.expect("the last token came");
    samples.add("burst", vec![ms(last - stage.model.begun()[1])]);
    samples.add("burst messages", vec![messages as f64]);
}

/// Measures edits of an open document, each with an ask that is allowed at once.
pub fn approvals(bench: &Bench, samples: &mut Samples) {
    const EDITS: usize = 8;
    let edits: Vec<Reply> = (0..EDITS).map(|number| edit(bench.workspace, number)).collect();
    let mut stage = bench.stage(ModelServer::start(edits.into_iter().chain([answer(5)])));
    stage.client.open(&bench.workspace.root.join(&bench.workspace.edited));
    stage.run();
    let (answered, requests) = (stage.model.answered(), stage.model.requests());
    assert_eq!(stage.client.asked.len(), EDITS, "every edit is asked about");
    let asked = &stage.client.asked;
    let question = (1..EDITS).map(|turn| ms(asked[turn].0.saturating_duration_since(answered[turn])));
    samples.add("question", question.collect());
    let next = (1..EDITS).map(|turn| ms(requests[turn + 1].arrived - asked[turn].1));
    samples.add("approved", next.collect());
}

/// Measures cancels in the middle of a reply.
pub fn cancels(bench: &Bench, samples: &mut Samples) {
    let reply = || Reply::text("one two three four five six seven").hold_after(400);
    let mut stage = bench.stage(ModelServer::answering(move |_| reply()));
    let (mut notified, mut closed) = (Vec::new(), Vec::new());
    for number in 0..PROMPTS / 2 {
        stage.client.prompt(&stage.session, "Say something long.");
        stage.client.wait(|message| message.chunk().is_some());
        let sent = Instant::now();
        stage.client.notify("agent/session/cancel", &json!({"sessionId": stage.session}));
        let idle = stage.client.wait(Message::is_idle);
        assert_eq!(idle.update().map(|update| &update["stopReason"]), Some(&json!("cancelled")));
        notified.push(ms(idle.at - sent));
        stage.model.wait_for_closed(number + 1);
        closed.push(ms(stage.model.closed_at()[number].saturating_duration_since(sent)));
    }
    samples.add("notified", notified);
    samples.add("closed", closed);
}

/// Measures a call with very long arguments, from the first byte of the reply to the question. Asserts that
/// the file was written.
pub fn arguments(bench: &Bench, samples: &mut Samples, mebibytes: usize) {
    let (time, peak) = match mebibytes {
        8 => ("arguments 8", "arguments 8 MB"),
        4 => ("arguments 4", "arguments 4 MB"),
        _ => ("arguments", "arguments MB"),
    };
    let reply = long_call(mebibytes << 20).in_pieces_of(64 * 1024);
    let mut stage = bench.stage(ModelServer::start([reply, answer(5)]));
    stage.client.prompt(&stage.session, "Write a large file.");
    let mut question = None;
    let idle = stage.client.wait(|message| {
        if message.body["method"] == "agent/session/request_permission" {
            question = Some(message.at);
        }
        message.is_idle()
    });
    assert_eq!(idle.update().map(|update| &update["sub"]), Some(&json!("stopped")), "the edit was made");
    let end = question.expect("the edit is shown to the user");
    samples.add(time, vec![(end - stage.model.begun()[0]).as_secs_f64()]);
    samples.add(peak, vec![memory(stage.client.pid()).1]);
    // The next run needs the same workspace.
    std::fs::remove_file(bench.workspace.root.join(LARGE)).expect("the server wrote the new file");
}

/// Returns replies that each read one file.
fn reads(workspace: &Workspace, count: usize) -> impl Iterator<Item = Reply> {
    let names: Vec<String> = workspace.read.iter().cycle().take(count).cloned().collect();
    names.into_iter().map(|name| Reply::call("read_file", json!({"path": name})).usage(1000, 20).at_once())
}

fn edit(workspace: &Workspace, number: usize) -> Reply {
    let arguments = json!({
        "path": workspace.edited,
        "old_text": line_of_edited(number),
        "new_text": format!("    let value_0_{number} = compute_anew(input[{number}]);"),
    });
    Reply::call("edit_file", arguments).usage(1000, 60).at_once()
}

fn answer(words: usize) -> Reply {
    Reply::text(&"word ".repeat(words)).usage(1000, words as u64).at_once()
}

/// The file that the long call creates.
const LARGE: &str = "large.txt";

/// Returns a call of `write_file` with `bytes` bytes of arguments, in events of 4 KiB.
fn long_call(bytes: usize) -> Reply {
    let frame = json!({"path": LARGE, "content": ""}).to_string().len();
    let line = "all work and no play makes a long file of text; ";
    let content: String = line.chars().cycle().take(bytes - frame).collect();
    let arguments = json!({"path": LARGE, "content": content}).to_string();
    let piece = |function: Value, finish: Option<&str>| {
        json!({"choices": [{"index": 0, "finish_reason": finish, "delta": {"tool_calls": [
            {"index": 0, "id": "call_1", "type": "function", "function": function}]}}]})
        .to_string()
    };
    let mut events = vec![piece(json!({"name": "write_file", "arguments": ""}), None)];
    let bytes = arguments.as_bytes().chunks(4096);
    events.extend(bytes.map(|bytes| piece(json!({"arguments": String::from_utf8_lossy(bytes)}), None)));
    events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}).to_string());
    Reply::events(events)
}
