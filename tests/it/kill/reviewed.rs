//! A review whose server dies again and again: the user types, decides, undoes and saves while the agent edits.
//!
//! The text of the editor double decides: each word of the user stays until the user takes it away, or decides about a hunk
//! that shows it. Never looks into the server.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use adjutant_core::record::AskKind;
use adjutant_protocol::methods;
use adjutant_protocol::review::{ReviewDecideResult, ReviewHunk, ReviewListResult};
use adjutant_protocol::update::HunkState;
use adjutant_protocol::{RunId, SessionId};
use adjutant_testkit::campaign::{self, Dice};
use adjutant_testkit::editor::{
    Answer, ApplyBehaviour, Buffers, Capabilities, Editor, Encoding, Options, Rule,
};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply, Request};
use adjutant_testkit::process::{Server, wait_until};
use serde_json::{Value, json};

use super::story::{BINARY, facts, fold};
use crate::stage::{conversation_of, edit_arguments};

/// The number of deaths of one session.
const LIVES: usize = 10;
/// The longest life of a server.
const LONGEST_LIFE: Duration = Duration::from_millis(250);
/// The two files that are open, and one that is closed.
const FILES: [&str; 3] = ["a", "b", "c"];
/// The lines of each file.
const LINES: usize = 12;
/// The points of an edit and of a decision.
const POINTS: [&str; 13] = [
    "facts-written",
    "facts-durable",
    "call-prepared",
    "before-image-kept",
    "ask-answered",
    "edit-sent",
    "edit-answered",
    "edit-landed",
    "edit-saved",
    "write-whole",
    "write-compared",
    "write-exchanged",
    "write-proved",
];

/// One user at one desk: the files, the words in them, and the session.
struct Desk {
    workspace: Workspace,
    // Kept alive because it answers the requests of the session.
    _model: ModelServer,
    dice: Dice,
    seed: u64,
    encoding: Encoding,
    session: Option<SessionId>,
    /// The texts of the open documents when the last server died, and whether they were saved.
    left: BTreeMap<&'static str, (String, bool)>,
    /// The user's words in each open document.
    words: BTreeMap<&'static str, BTreeSet<String>>,
    /// Words and lines of the files that the user saw in the place of a hunk and decided about.
    given_up: BTreeSet<String>,
    count: usize,
    /// Whether the user types at all.
    types: bool,
    landed: usize,
    /// What happened, for a failure.
    story: Vec<String>,
}

impl Desk {
    fn new(seed: u64) -> Desk {
        let workspace = Workspace::new("//- /keep.txt\n");
        FILES.iter().for_each(|name| workspace.write(name, &original(name)));
        let (numbers, dice) = (AtomicUsize::new(0), Mutex::new(campaign::dice(seed ^ 0xed17)));
        let model = ModelServer::answering(move |request: &Request| {
            let conversation = conversation_of(request);
            let last_prompt = conversation.iter().rposition(|(role, _)| role == "user").unwrap_or(0);
            if conversation[last_prompt..].iter().any(|(role, _)| role == "tool") {
                return Reply::text("Done.");
            }
            let mut dice = dice.lock().unwrap();
            (0..1 + dice.roll(4)).fold(Reply::text("I edit."), |reply, _| {
                let number = numbers.fetch_add(1, Ordering::SeqCst);
                let (name, word) = (FILES[dice.roll(3)], format!("agent {number};"));
                let anchor = line(name, dice.roll(LINES));
                let new = match dice.roll(3) {
                    0 => format!("{anchor}\n{word}"),
                    1 => format!("{word}\n{anchor}"),
                    _ => format!("{anchor} {word}"),
                };
                reply.and_call("edit_file", edit_arguments(name, &anchor, &new))
            })
        });
        let mut dice = campaign::dice(seed);
        let mode = ["review", "auto", "ask"][dice.roll(3)];
        workspace.openai(&model.base_url()).add_config(&format!("[edits]\nmode = \"{mode}\""));
        Desk {
            workspace,
            _model: model,
            seed,
            encoding: [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32][seed as usize % 3],
            session: None,
            left: BTreeMap::new(),
            words: BTreeMap::new(),
            given_up: BTreeSet::new(),
            count: 0,
            types: dice.roll(4) > 0,
            landed: 0,
            story: Vec::new(),
            dice,
        }
    }

    /// Starts a server, whose editor has the same documents as before.
    fn serve(&self, fault: Option<&str>) -> (Server, Editor) {
        let mut server = Server::spawn_with(BINARY, &self.workspace, &["lsp"], |command| {
            command.envs(fault.map(|fault| ("ADJUTANT_FAULT", fault)));
        });
        let can = Capabilities::full().with_encodings(&[self.encoding]);
        let editor = server.editor(Options::new(&self.workspace).capabilities(can));
        for name in &FILES[..2] {
            match self.left.get(name) {
                Some((text, true)) => editor.edit(|buffers| buffers.open_unsaved(name, text)),
                _ => editor.open(name),
            }
        }
        (server, editor)
    }

    /// Plays one life of a server, and checks the texts that it leaves.
    fn lives_once(&mut self) {
        let point = POINTS[self.dice.roll(POINTS.len())];
        let fault = (self.dice.roll(3) > 0).then(|| format!("{point}:{}", 1 + self.dice.roll(3)));
        let life = match fault {
            Some(_) => LONGEST_LIFE,
            None => Duration::from_micros(self.dice.roll(LONGEST_LIFE.as_micros() as usize) as u64),
        };
        self.story.push(format!("a server, {fault:?}"));
        let (mut server, editor) = self.serve(fault.as_deref());
        editor.expect_loss();
        let mut answers = campaign::dice(self.dice.0 ^ 0x5eed);
        editor.on_ask(move |ask| match answers.roll(6) {
            _ if ask.options.iter().any(|option| option.option_id == "resume") => Answer::option("resume"),
            0..3 => Answer::option("allow"),
            3 => Answer::option("reject"),
            _ => Answer::Close,
        });
        let end = Instant::now() + life;
        self.opens(&editor, &mut server);
        let lives = Cell::new(true);
        while lives.get() && Instant::now() < end {
            self.acts(&editor, &mut server);
            lives.set(server.is_alive());
        }
        server.kill();
        self.looks(&editor, "at its death");
        let text = |name: &&'static str| {
            let buffer = editor.buffer(name).expect("it is open");
            (*name, (buffer.text, buffer.dirty))
        };
        self.left = FILES[..2].iter().map(text).collect();
        no_rule_is_broken(editor);
    }

    /// Opens the session. Until it is created, each life tries again.
    fn opens(&mut self, editor: &Editor, server: &mut Server) {
        let created = |id: &SessionId| {
            let log = self.workspace.state_dir().join("sessions").join(&id.0).join("events.jsonl");
            log.exists() && fold(&facts(&self.workspace, &id.0)).created
        };
        self.session = self.session.take().filter(created);
        let (method, params) = match &self.session {
            Some(id) => (methods::SESSION_RESUME, json!({"sessionId": id})),
            None => (methods::SESSION_NEW, json!({})),
        };
        let answer = answered(editor, server, method, params);
        if let (None, Some(answer)) = (&self.session, answer) {
            self.session = serde_json::from_value(answer["sessionId"].clone()).ok();
        }
    }

    /// One act of the user.
    fn acts(&mut self, editor: &Editor, server: &mut Server) {
        let Some(session) = self.session.clone() else { return };
        let name = FILES[self.dice.roll(2)];
        match self.dice.roll(12) {
            0 | 1 => {
                let prompt = json!([{"type": "text", "text": "go on"}]);
                let prompt = json!({"sessionId": session, "prompt": prompt});
                let id = editor.request_nowait(methods::SESSION_PROMPT, prompt);
                wait_until("the prompt or the end", || editor.is_answered(&id) || !server.is_alive());
            }
            2..7 if self.types => self.changes(editor, name, |desk, buffers| desk.types(buffers, name)),
            7 if self.types => self.changes(editor, name, |_, buffers| {
                if buffers.has_undo(name) {
                    buffers.undo(name);
                }
            }),
            8 => self.changes(editor, name, |_, buffers| buffers.save(name).expect("the disk has room")),
            9 => editor.set_apply(match self.dice.roll(6) {
                0 => ApplyBehaviour::ReplyFirst,
                1 => ApplyBehaviour::ApplyButSayFailed,
                2 => ApplyBehaviour::AnswerTwice,
                3 => ApplyBehaviour::Faithful,
                _ => ApplyBehaviour::StaleRefuse,
            }),
            _ => {
                let listed = answered(editor, server, methods::REVIEW_LIST, json!({"all": true}));
                let Some(listed) = listed else { return };
                let hunks = read::<ReviewListResult>(listed).hunks;
                self.landed = self.landed.max(hunks.len());
                if !hunks.is_empty() {
                    let hunk = &hunks[self.dice.roll(hunks.len())];
                    let action = match hunk.state {
                        HunkState::Proposed => ["apply", "reject"][self.dice.roll(2)],
                        HunkState::Undone => "restore",
                        _ => ["undo", "keep"][self.dice.roll(2)],
                    };
                    self.gives_up(hunk);
                    self.story.push(format!("{action} {hunk:?}"));
                    editor.request_nowait(methods::REVIEW_DECIDE, decision(hunk, action));
                }
            }
        }
    }

    /// Changes a document. Checks its text in the moment before, so that only the user changes it in between.
    fn changes(&mut self, editor: &Editor, name: &'static str, change: impl FnOnce(&mut Desk, &mut Buffers)) {
        editor.edit(|buffers| {
            self.story.push(format!("{name} {:?}", buffers.text(name)));
            self.has_words(name, &buffers.text(name).expect("it is open"), "before the user acts");
            change(self, buffers);
            self.words.insert(name, words(&buffers.text(name).expect("it is open")));
        });
    }

    /// Types a word somewhere, or takes a line of the user away.
    fn types(&mut self, buffers: &mut Buffers, name: &str) {
        let text = buffers.text(name).expect("it is open");
        self.count += 1;
        let rest = ["", "\n", "😀", "e\u{301}", "\u{1d11e}\n"][self.dice.roll(5)];
        let mut at = self.dice.roll(text.len() + 1);
        // Not inside a word, which could not be found again.
        while !text.is_char_boundary(at) || is_inside_of_a_word(&text, at) {
            at -= 1;
        }
        buffers.type_at(name, at, &format!("«{}»{rest}", self.count));
    }

    /// The user sees what is in the place of a hunk, and decides.
    fn gives_up(&mut self, hunk: &ReviewHunk) {
        if hunk.state == HunkState::Undone {
            // A restore brings back what the user had made of the hunk, perhaps without a word that the undo brought back.
            self.given_up.extend(words(&hunk.removed));
        }
        if let Some(text) = &hunk.text {
            self.given_up.extend(words(text));
            let lines = FILES.iter().flat_map(|name| (0..LINES).map(|number| line(name, number)));
            self.given_up.extend(lines.filter(|line| text.contains(line.as_str())));
        }
    }

    /// Checks all texts.
    fn looks(&self, editor: &Editor, when: &str) {
        for name in &FILES[..2] {
            self.has_words(name, &editor.text_of(name), when);
        }
        for name in FILES {
            let text = editor.text_of(name);
            for number in 0..LINES {
                let own = line(name, number);
                let spread: String = without_words(&text);
                let is_there = spread.contains(&own) || self.given_up.contains(&own);
                assert!(is_there, "{}: {own:?} is lost in {text:?}", self.place(when));
            }
        }
    }

    fn has_words(&self, name: &str, text: &str, when: &str) {
        for word in self.words.get(name).into_iter().flatten() {
            let is_there = text.contains(word.as_str()) || self.given_up.contains(word);
            assert!(is_there, "{}: {word} is lost in {text:?}", self.place(when));
        }
    }

    fn place(&self, when: &str) -> String {
        format!("seed {}, {when}, after {:#?}", self.seed, self.story)
    }

    /// The last server lives. All that can be undone is undone, one by one.
    fn ends(&mut self) {
        let (mut server, editor) = self.serve(None);
        self.opens(&editor, &mut server);
        let session = self.session.clone().expect("a session");
        self.comes_to_rest(&editor, &session);
        self.looks(&editor, "at rest");
        for round in 0..4 {
            let mut tried = BTreeSet::new();
            // Each decision may move all others.
            while let Some(hunk) = self.listed(&editor).into_iter().find(|hunk| {
                let is_in_text =
                    matches!(hunk.state, HunkState::Applied | HunkState::Amended | HunkState::Kept);
                is_in_text && tried.insert((hunk.change_set_id.to_string(), hunk.hunk_id.clone()))
            }) {
                self.is_drawn_where_it_is(&editor, &hunk);
                self.undoes(&editor, &hunk, round);
            }
        }
        let left = self.listed(&editor);
        self.looks(&editor, "after all was undone");
        if !self.types && left.iter().all(|hunk| hunk.state != HunkState::Kept) {
            for name in FILES {
                let is_of_it = |hunk: &&ReviewHunk| hunk.path == name;
                if left.iter().filter(is_of_it).all(|hunk| hunk.state == HunkState::Undone) {
                    let unlisted = agents(&editor.text_of(name));
                    let text = editor.text_of(name);
                    assert!(unlisted.is_empty(), "{}: {unlisted:?} in {text:?}", self.place("undone"));
                    assert_eq!(text, original(name), "{}", self.place("undone"));
                }
            }
        }
        editor.shutdown();
        server.wait();
        no_rule_is_broken(editor);
    }

    fn comes_to_rest(&self, editor: &Editor, session: &SessionId) {
        editor.on_ask(|_| Answer::option("allow"));
        wait_until("the session to rest", || {
            let now = fold(&facts(&self.workspace, &session.0));
            let open: Option<RunId> = now.open_run().map(|run| run.id.clone());
            for ask in now.open_asks() {
                let option = match ask.kind {
                    AskKind::ResumeTask => "resume",
                    AskKind::Tool => "allow",
                    // Too many edits failed, for example.
                    _ => {
                        editor.notify("agent/session/cancel", json!({"sessionId": session}));
                        continue;
                    }
                };
                let _ = editor.request("agent/ask/respond", json!({"askId": ask.id, "optionId": option}));
            }
            open.is_none()
        });
        // Decisions of an earlier life are carried out, too.
        let is_on_its_way =
            |hunk: &ReviewHunk| matches!(hunk.state, HunkState::Applying | HunkState::Undoing);
        wait_until(&format!("{} to be over", self.place("all decisions")), || {
            !self.listed(editor).iter().any(is_on_its_way)
        });
    }

    fn listed(&self, editor: &Editor) -> Vec<ReviewHunk> {
        editor.call::<ReviewListResult>(methods::REVIEW_LIST, json!({"all": true})).hunks
    }

    /// A hunk has to be drawn where its text is, and nowhere else.
    fn is_drawn_where_it_is(&self, editor: &Editor, hunk: &ReviewHunk) {
        let Some(end) = hunk.end_line.filter(|_| hunk.beneath.is_empty()) else { return };
        let text = editor.text_of(&hunk.path);
        let has_a_line = hunk.inserted.lines().any(|own| text.lines().any(|line| line == own));
        // A kept one in which the user wrote until none of its lines could be told any more.
        if hunk.state == HunkState::Kept && end == hunk.line && !has_a_line {
            return;
        }
        let there: String =
            text.split_inclusive('\n').skip(hunk.line as usize).take((end - hunk.line) as usize).collect();
        let wanted = hunk.text.as_ref().unwrap_or(&hunk.inserted);
        assert_eq!(there.trim_end(), wanted.trim_end(), "{}: {hunk:?} in {text:?}", self.place("listed"));
    }

    /// Undoes one hunk: only its own lines go, and what the list showed in their place.
    fn undoes(&mut self, editor: &Editor, hunk: &ReviewHunk, round: usize) {
        self.gives_up(hunk);
        self.story.push(format!("undo {hunk:?}"));
        let all = |editor: &Editor| -> BTreeSet<(&str, String)> {
            let of = |name: &&'static str| {
                agents(&editor.text_of(name)).into_iter().map(|word| (*name, word)).collect::<Vec<_>>()
            };
            FILES.iter().flat_map(of).collect()
        };
        let before = all(editor);
        let decided: ReviewDecideResult = editor.call(methods::REVIEW_DECIDE, decision(hunk, "undo"));
        let gone: Vec<_> = before.difference(&all(editor)).cloned().collect();
        let shown = format!("{}{}", hunk.inserted, hunk.text.as_deref().unwrap_or_default());
        let place = self.place(&format!("round {round}"));
        for (name, word) in &gone {
            assert!(shown.contains(word) && *name == hunk.path, "{place}: {word:?} went with {hunk:?}");
        }
        if decided.hunks[0].state != HunkState::Undone {
            assert!(gone.is_empty(), "{place}: {gone:?} of {hunk:?}: {decided:?}");
        }
        self.looks(editor, &format!("round {round} of undoing"));
        // The user may have left none of its words, and another hunk may stand on it.
        assert!(decided.hunks[0].why.is_some() || decided.hunks[0].state == HunkState::Undone, "{decided:?}");
    }
}

fn original(name: &str) -> String {
    // The last line of a file may have no line end.
    let text: String = (0..LINES).map(|number| format!("{}\n", line(name, number))).collect();
    if name == "b" { text.trim_end().to_owned() } else { text }
}

fn line(name: &str, number: usize) -> String {
    format!("{name} line {number:02}")
}

fn is_inside_of_a_word(text: &str, at: usize) -> bool {
    let is_inside =
        |open: char, close: char| text[..at].rfind(open).is_some_and(|from| !text[from..at].contains(close));
    // Nor inside a word of the agent or the words of a line, which are counted too.
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let is_at_edge = at == begin || text[at..].starts_with('\n') || at == text.len();
    is_inside('«', '»') || !is_at_edge
}

/// Returns the words of the user in a text.
fn words(text: &str) -> BTreeSet<String> {
    let word = |part: &str| part.split_once('»').map(|(word, _)| format!("«{word}»"));
    text.split('«').skip(1).filter_map(word).collect()
}

fn without_words(text: &str) -> String {
    words(text).iter().fold(text.to_owned(), |text, word| text.replace(word.as_str(), ""))
}

/// Returns the words of the agent in a text.
fn agents(text: &str) -> Vec<String> {
    let word = |part: &str| part.split_once(';').map(|(number, _)| format!("agent {number};"));
    text.split("agent ").skip(1).filter_map(word).collect()
}

fn decision(hunk: &ReviewHunk, action: &str) -> Value {
    let mut target = json!({"changeSetId": hunk.change_set_id, "hunkIds": [hunk.hunk_id]});
    if let Some(text) = &hunk.text {
        target["seen"] = json!({hunk.hunk_id.clone(): text});
    }
    json!({"sessionId": hunk.session_id, "targets": [target], "action": action})
}

/// Returns the result of a request; `None` if it failed, or if the server died before.
fn answered(editor: &Editor, server: &mut Server, method: &str, params: Value) -> Option<Value> {
    let id = editor.request_nowait(method, params);
    wait_until("an answer or the end", || editor.is_answered(&id) || !server.is_alive());
    if editor.is_answered(&id) { editor.await_response(&id).ok() } else { None }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{error}"))
}

/// The user of this test reads no message.
fn no_rule_is_broken(editor: Editor) {
    let broken: Vec<_> =
        editor.finish().into_iter().filter(|fault| fault.rule != Rule::UnreadMessage).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

/// Plays half of the seeds, or only the one that `ADJUTANT_ORDER` names.
fn half_of_them(half: u64) {
    let seeds = campaign::size("ADJUTANT_REVIEW_KILLS", 10_000, 300).div_ceil(LIVES) as u64;
    let mut landed = 0;
    let only: Option<u64> = std::env::var("ADJUTANT_ORDER").ok().and_then(|seed| seed.parse().ok());
    for seed in (0..seeds).filter(|seed| seed % 2 == half && only.is_none_or(|only| only == *seed)) {
        let mut desk = Desk::new(seed);
        (0..LIVES).for_each(|_| desk.lives_once());
        desk.ends();
        landed += desk.landed;
    }
    assert!(landed as u64 > seeds || only.is_some(), "only {landed} hunks were listed");
}

#[test]
fn n01_n03_n13_p01_three_hundred_kills_in_a_review_lose_nothing_first_half() {
    half_of_them(0);
}

#[test]
fn n01_n03_n13_p01_three_hundred_kills_in_a_review_lose_nothing_second_half() {
    half_of_them(1);
}
