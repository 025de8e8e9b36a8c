//! The measured scenes of VS Code: each has a window of its own, and asserts that what it measures has happened.
//!
//! Never compares a figure with its bar.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use adjutant_testkit::model::{ModelServer, Reply, Request};
use serde_json::{Value, json};

use super::driver::{self, Driver};
use super::past::Past;
use super::samples::Samples;
use super::stage::{Stage, wait_for};

pub const FILE: &str = "greet.py";
const ID: &str = "s-0123456789abcdef";
/// The prompts and the changes of one run.
const PROMPTS: usize = 10;
/// Runs of a session with at least ten thousand items: a prompt, 49 reads with their texts, an answer and an end.
const LONG: usize = 100;
/// Between two deltas of the stream: 500 a second.
const PAUSE: Duration = Duration::from_millis(2);
/// The replies of one stream, which lasts a minute: each is as long as what a person reads.
pub const REPLIES: usize = 12;
const DELTAS: usize = 2_500;
/// The stream and what comes before its end.
pub const PATIENCE: Duration = Duration::from_secs(180);

struct Window {
    driver: MutexGuard<'static, Driver>,
    name: String,
}

impl Window {
    fn open(stage: &Stage, server: &str) -> Window {
        static OPENED: AtomicUsize = AtomicUsize::new(0);
        let name = format!("bench-{}", OPENED.fetch_add(1, Ordering::Relaxed));
        // Nobody reads the messages, so they are not logged.
        stage.server_is(&format!("exec '{server}' \"$@\""));
        let environment: String =
            stage.env().iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        fs::write(stage.beside(driver::ENVIRONMENT), environment).expect("write the environment");
        let mut driver = driver::take();
        driver.say("", "open", json!([name, stage.workspace.path(), FILE]));
        let mut window = Window { driver, name };
        wait_for("the server", || {
            let status = window.say("status", json!([]));
            status.as_str().is_some_and(|all| all.split(" | ").any(|item| item == "Adjutant")).then_some(())
        });
        window
    }

    fn say(&mut self, op: &str, arguments: Value) -> Value {
        self.driver.say(&self.name, op, arguments)
    }

    fn number(&mut self, op: &str, arguments: Value) -> Option<f64> {
        self.say(op, arguments).as_f64()
    }

    /// Gives a prompt in the chat.
    fn prompt(&mut self, text: &str) {
        self.say("chatType", json!([text]));
        self.say("chatKey", json!(["Enter"]));
    }

    fn wait_ends(&mut self, count: usize) {
        let until = Instant::now() + PATIENCE;
        while self.say("chatEnds", json!([])) != json!(count) {
            assert!(
                Instant::now() < until,
                "{count} runs have not ended: {}",
                self.say("chatShows", json!([]))
            );
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let _ = self.driver.try_say("", "close", json!([self.name]));
    }
}

/// Returns a moment as milliseconds of the wall clock, which the browser has, too.
fn wall(moment: Instant) -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    (since.as_secs_f64() - moment.elapsed().as_secs_f64()) * 1e3
}

/// Measures the load and the activation of the extension.
pub fn activation(server: &str, samples: &mut Samples) {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    let mut window = Window::open(&stage, server);
    let took = window.number("activation", json!([])).expect("a time");
    samples.add("activation", vec![took]);
}

/// Measures from the first token at the model to the picture with it.
pub fn tokens(server: &str, samples: &mut Samples) {
    const TOKENS: usize = 25;
    /// The finish reason and `[DONE]` are events too.
    const EVENTS: usize = TOKENS + 2;
    let replies = (0..PROMPTS).map(|number| {
        let words: String = (0..TOKENS).map(|token| format!("w{number}.{token:03} ")).collect();
        Reply::text(&words).paced(Duration::from_millis(10))
    });
    let stage = Stage::new("//- /greet.py\nprint(1)\n", replies);
    let mut window = Window::open(&stage, server);
    window.say("chatOpen", json!([]));
    let mut took = Vec::new();
    for number in 0..PROMPTS {
        let first = format!("w{number}.000");
        window.say("noteInChat", json!([first]));
        window.prompt("Say something");
        window.wait_ends(number + 1);
        let drawn = window.number("notedInChat", json!([first])).expect("it was drawn");
        took.push(drawn - wall(stage.model.paced()[number * EVENTS]));
    }
    samples.add("first token", took);
}

/// Measures from the last byte of a reply with an edit to the picture with the changed text.
pub fn changes(server: &str, samples: &mut Samples) {
    let lines: String = (0..PROMPTS).map(|number| format!("value_{number} = 0\n")).collect();
    let replies = (0..PROMPTS).flat_map(|number| {
        let (old, new) = (format!("value_{number} = 0"), format!("value_{number} = 10{number}"));
        let edit = json!({"path": FILE, "old_text": old, "new_text": new});
        [Reply::text("So.").and_call("edit_file", edit), Reply::text("Done.")]
    });
    let stage = Stage::new(&format!("//- /greet.py\n{lines}"), replies).without_edits_mode();
    let mut window = Window::open(&stage, server);
    window.say("chatOpen", json!([]));
    let mut took = Vec::new();
    for number in 0..PROMPTS {
        let text = format!("value_{number} = 10{number}");
        window.say("noteInEditor", json!([text]));
        window.prompt("Change it");
        window.wait_ends(number + 1);
        let drawn = wait_for("the change", || window.number("notedInEditor", json!([text])));
        took.push(drawn - wall(stage.model.answered()[2 * number]));
    }
    samples.add("change", took);
}

/// Writes the log of a session with ten thousand items, `Look at it`, whose last text is `I read it.`
pub fn long_past(stage: &Stage) {
    let folder = stage.workspace.state_dir().join("sessions").join(ID);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).expect("a folder");
    let mut past = Past::new(ID, stage.workspace.path());
    (0..LONG).for_each(|_| past.run());
    let log = folder.join("events.jsonl");
    fs::write(&log, &past.log).expect("a log");
    fs::set_permissions(&log, fs::Permissions::from_mode(0o600)).expect("for its owner");
}

/// Measures how long a conversation of ten thousand items takes from the user's choice until its end is on the screen. The server
/// reads its log for that.
pub fn opening(server: &str, samples: &mut Samples) {
    let stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    long_past(&stage);
    let mut window = Window::open(&stage, server);
    window.say("chatOpen", json!([]));
    window.say("noteInChat", json!(["I read it."]));
    window.say("palette", json!(["Adjutant: Conversations…"]));
    let chosen = window.number("openConversation", json!(["Look at it"])).expect("a time");
    let drawn = wait_for("the conversation", || window.number("notedInChat", json!(["I read it."])));
    samples.add("opening", vec![drawn - chosen]);
}

/// Returns a reply as models write them: paragraphs, lists and code.
fn long_reply(number: usize) -> String {
    let words = (0..DELTAS).map(|word| match word % 100 {
        0 => format!("\n\n## Part {number}.{word}\n\n"),
        60 => "\n\n```python\n".to_owned(),
        70 => "\n```\n\n- ".to_owned(),
        _ => format!("w{:03} ", word % 1_000),
    });
    words.collect()
}

/// Returns a model that streams; a run has so many replies.
pub fn streaming(replies: usize) -> impl FnMut(&Request) -> Reply + Send + 'static {
    let mut asked = 0;
    move |_| {
        asked += 1;
        let reply = Reply::text(&long_reply(asked)).paced(PAUSE);
        if asked % replies == 0 { reply } else { reply.and_call("read_file", json!({"path": FILE})) }
    }
}

/// Measures a minute of five hundred deltas a second while the user types in a file, and the memory after it, twice.
pub fn stream(server: &str, samples: &mut Samples) {
    let mut stage = Stage::new("//- /greet.py\nprint(1)\n", []);
    stage.model = ModelServer::answering(streaming(REPLIES));
    let stage = stage.without_edits_mode();
    let mut window = Window::open(&stage, server);
    window.say("chatOpen", json!([]));
    let quiet = window.say("typing", json!([10]));
    samples.add("typing quiet", numbers(&quiet));
    memory(&mut window, samples, ["heap before", "resident before"]);
    for names in [["heap after", "resident after"], ["heap later", "resident later"]] {
        let before = stage.model.paced().len();
        window.say("countMessages", json!([]));
        window.prompt("Say very much");
        wait_for("the stream", || (stage.model.paced().len() > before).then_some(()));
        let typed = window.say("typing", json!([50]));
        samples.add("typing", numbers(&typed));
        window.wait_ends(1);
        let sent = &stage.model.paced()[before..];
        let took = sent[sent.len() - 1] - sent[0];
        samples.add("rate", vec![sent.len() as f64 / took.as_secs_f64()]);
        let counted = window.say("countedMessages", json!([]));
        samples.add("messages", vec![counted["most"].as_f64().expect("a number")]);
        window.say("palette", json!(["Adjutant: New Conversation"]));
        window.wait_ends(0);
        memory(&mut window, samples, names);
    }
}

fn numbers(all: &Value) -> Vec<f64> {
    let numbers: Vec<f64> = all.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    assert!(numbers.len() > 20, "too little was typed: {all}");
    numbers
}

fn memory(window: &mut Window, samples: &mut Samples, [heap, resident]: [&'static str; 2]) {
    let now = window.say("memory", json!([]));
    samples.add(heap, vec![now["heap"].as_f64().expect("a number")]);
    samples.add(resident, vec![now["resident"].as_f64().expect("a number")]);
}
