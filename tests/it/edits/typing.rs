//! The user types while the agent edits (N04): no character is lost. An approved edit is placed again or
//! refused, but never changed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use adjutant_protocol::update::{AskChange, HunkState, RunView, Update};
use adjutant_testkit::campaign::{self, Dice};
use adjutant_testkit::editor::{
    Answer, ApplyBehaviour, Buffers, Capabilities, Editor, Encoding, Place, Rule,
};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::Reply;
use serde_json::json;

use super::super::stage::{Stage, as_read, conversation_of, edit, edit_arguments, states, write};

const TEXT: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";

fn stage() -> Stage {
    let stage = Stage::new("//- /keep.txt\n");
    stage.workspace.write("a.txt", TEXT);
    stage.rig.open("a.txt");
    stage
}

/// Proposes an edit, runs `user` while the ask is open, and allows the edit.
fn meanwhile(stage: &Stage, old: &str, new: &str, user: impl FnOnce(&mut Buffers)) -> String {
    let run = stage.send([edit("a.txt", old, new)]);
    let ask = stage.rig.await_ask();
    stage.rig.edit(user);
    stage.rig.answer(&ask.ask_id, "allow");
    stage.finish(&run).remove(0)
}

#[test]
fn n04_typing_elsewhere_while_the_ask_is_open_is_kept() {
    let stage = stage();
    let output = meanwhile(&stage, "h", "H\nHH", |buffers| {
        buffers.type_at("a.txt", Place::Start, "mine 😀\n");
        buffers.type_at("a.txt", Place::End, "also mine");
        buffers.replace("a.txt", "b\nc\n", "");
    });
    assert!(output.starts_with("Edited "), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), "mine 😀\na\nd\ne\nf\ng\nH\nHH\ni\nj\nalso mine");
    assert_eq!(stage.rig.applies().len(), 1);
}

#[test]
fn s54_an_approval_binds_the_lines_around_the_change() {
    let stage = stage();
    // An inserted line replaces none, so only the lines around it can locate it.
    let run = stage.send([edit("a.txt", "e", "e\nnew")]);
    let ask = stage.rig.await_ask();
    stage.rig.replace("a.txt", "d", "d //");
    stage.rig.answer(&ask.ask_id, "allow");
    // The approval is void. A new ask shows the edit as it would be made now, with the current lines.
    let new_ask = stage.rig.await_ask();
    assert!(
        json!(new_ask.subject)["diff"].as_str().unwrap().contains(" d //\n e\n+new\n f\n"),
        "{new_ask:?}"
    );
    let why = new_ask.description.clone().unwrap();
    assert!(why.contains("the lines around it changed since it was shown"), "{why}");
    assert!(stage.rig.applies().is_empty(), "nothing was sent to the editor");
    assert_eq!(states(&stage.change_set()), [HunkState::Proposed]);
    stage.rig.answer(&new_ask.ask_id, "reject");
    assert_eq!(stage.finish(&run), ["The user rejected this."]);
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('d', "d //"));
    assert_eq!(states(&stage.change_set()), [HunkState::Rejected]);

    // The user changes the same line: there is no edit left to show.
    let output = meanwhile(&stage, "e", "E", |buffers| buffers.replace("a.txt", "\ne\n", "\ne!\n"));
    assert!(
        output.contains("was not applied: apply hunk \"h1\":") && output.contains("read the file"),
        "{output}"
    );
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('d', "d //").replace('e', "e!"));
    assert!(stage.rig.applies().is_empty(), "nothing was sent to the editor");
}

#[test]
fn n04_a_rewritten_file_is_merged_with_what_was_typed_meanwhile_and_shown() {
    let stage = stage();
    let run = stage.send([write("a.txt", &TEXT.replace("e\n", "e\nE\n").replace('i', "I"))]);
    let ask = stage.rig.await_ask();
    stage.rig.replace("a.txt", "d\n", "d, mine\n");
    stage.rig.replace("a.txt", "a\n", "also mine\na\n");
    stage.rig.answer(&ask.ask_id, "allow_always");
    // Not even "always" covers a change whose surrounding lines the user has not seen.
    let new_ask = stage.rig.await_ask();
    let diff = json!(new_ask.subject)["diff"].as_str().unwrap().to_owned();
    assert!(diff.contains(" d, mine\n e\n+E\n"), "{diff}");
    assert!(!diff.contains("-d") && !diff.contains("-also"), "the user's lines stay: {diff}");
    stage.rig.answer(&new_ask.ask_id, "allow");
    assert!(stage.finish(&run)[0].starts_with("Edited "));
    let wanted = TEXT.replace("e\n", "e\nE\n").replace('i', "I").replace('d', "d, mine");
    assert_eq!(stage.rig.text_of("a.txt"), format!("also mine\n{wanted}"));
}

#[test]
fn n04_what_the_user_did_by_hand_is_not_done_again() {
    let stage = stage();
    let output = meanwhile(&stage, "e\n", "e\nnew\n", |buffers| buffers.replace("a.txt", "e\n", "e\nnew\n"));
    assert!(output.starts_with("Edited "), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace("e\n", "e\nnew\n"));
    assert!(stage.rig.applies().is_empty());
    // The test editor cannot know that the user typed exactly the approved edit.
    stage.rig.forgive(Rule::BehindTheEditor);
}

#[test]
fn n04_a_file_opened_while_the_ask_is_open_is_the_users_to_save() {
    let stage = Stage::new("//- /keep.txt\n");
    stage.workspace.write("a.txt", TEXT);
    let output = meanwhile(&stage, "h", "H", |buffers| {
        buffers.open("a.txt").unwrap();
        buffers.type_at("a.txt", Place::Start, "half a thought");
    });
    assert_eq!(output, "Edited a.txt: +1 -1 lines. The file is open in the editor and not saved yet.");
    assert_eq!(stage.rig.text_of("a.txt"), format!("half a thought{}", TEXT.replace('h', "H")));
    assert_eq!(stage.workspace.read("a.txt"), TEXT, "the user's text is not saved without a request");
    assert!(stage.rig.saves_asked().is_empty());
}

#[test]
fn n04_a_file_closed_while_the_ask_is_open_is_edited_as_closed() {
    let stage = stage();
    let output = meanwhile(&stage, "h", "H", |buffers| buffers.close("a.txt"));
    assert!(output.starts_with("Edited "), "{output}");
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('h', "H"));
    assert_eq!(stage.workspace.read("a.txt"), TEXT.replace('h', "H"), "it was closed, so it is saved");
    // The test editor had it open when the edit was proposed.
    stage.rig.forgive(Rule::BehindTheEditor);
}

#[test]
fn n04_an_edit_overtaken_by_typing_is_placed_anew_twice_at_most() {
    // The edit is sent three times, then the user is asked again; after three asks the model gets a failure.
    for (times, sent, asks) in [(1, 2, 1), (2, 3, 1), (3, 4, 2), (9, 9, 3)] {
        let stage = stage().answering("allow");
        let mut left = times;
        stage.rig.before_apply(move |buffers| {
            if left > 0 {
                left -= 1;
                buffers.type_at("a.txt", Place::Start, "😀\n");
            }
        });
        let output = stage.edit("a.txt", "h", "H");
        let mine = "😀\n".repeat(times);
        assert_eq!(stage.rig.applies().len(), sent, "typed {times} times");
        assert_eq!(stage.asks().len(), asks, "typed {times} times");
        if times < 9 {
            assert!(output.starts_with("Edited "), "{output}");
            assert_eq!(stage.rig.text_of("a.txt"), mine + &TEXT.replace('h', "H"));
        } else {
            assert!(output.contains("was not applied: the text kept changing"), "{output}");
            assert!(output.contains("read the file and try again"), "says what to do: {output}");
            assert_eq!(stage.rig.text_of("a.txt"), mine + TEXT);
        }
    }
}

#[test]
fn n04_an_edit_typed_over_at_once_is_known_to_have_landed() {
    let workspace = Workspace::new("//- /keep.txt\n");
    workspace.write("a.txt", TEXT);
    let stage =
        Stage::configured(workspace, "[limits]\neditor_seconds = 1", |options| options).answering("allow");
    stage.rig.open("a.txt");
    stage.rig.set_apply(ApplyBehaviour::ApplyNeverAnswer);
    let run = stage.send([edit("a.txt", "e", "E")]);
    stage.rig.await_text("a.txt", &TEXT.replace('e', "E"));
    stage.rig.replace("a.txt", "E", "Eh, no");
    let outputs = stage.finish(&run);
    assert!(outputs[0].starts_with("Edited a.txt: +1 -1 lines."), "{outputs:?}");
    assert!(
        outputs[0].contains("Something else in the file changed at the same time; read the file"),
        "{outputs:?}"
    );
    assert_eq!(stage.rig.text_of("a.txt"), TEXT.replace('e', "Eh, no"));
    assert_eq!(stage.rig.applies().len(), 1);
}

#[test]
fn n04_lines_changed_on_the_way_to_the_editor_are_not_run_over() {
    for behaviour in
        [ApplyBehaviour::Faithful, ApplyBehaviour::StaleError, ApplyBehaviour::SkipStaleButSayApplied]
    {
        let stage = stage();
        stage.rig.set_apply(behaviour);
        stage.rig.before_apply(|buffers| {
            if buffers.text("a.txt").as_deref() == Some(TEXT) {
                buffers.replace("a.txt", "g\n", "g, and I am not done\n");
            }
        });
        let run = stage.send([edit("a.txt", "h", "H")]);
        stage.rig.answer(&stage.rig.await_ask().ask_id, "allow");
        assert!(stage.finish(&run)[0].starts_with("Edited "));
        assert_eq!(stage.asks().len(), 1, "the line it replaces is untouched");
        let mine = TEXT.replace('g', "g, and I am not done");
        assert_eq!(stage.rig.text_of("a.txt"), mine.replace('h', "H"));
    }
}

#[test]
fn n04_two_sessions_edit_one_document_without_losing_each_other() {
    let stage = Stage::new("//- /keep.txt\n").answering("allow");
    let lines: String = (0..60).map(|line| format!("line {line:02}\n")).collect();
    stage.workspace.write("a.txt", &lines);
    stage.rig.open("a.txt");
    let second = stage.rig.new_session();
    let edits = |from: usize| {
        let mut reply = Reply::text("Working.");
        for line in (from..60).step_by(12) {
            let (old, new) = (format!("line {line:02}"), format!("LINE {line:02}"));
            reply = reply.and_call("edit_file", json!({"path": "a.txt", "old_text": old, "new_text": new}));
        }
        reply
    };
    // Both first requests arrive before any second one, so each session gets its own turn.
    stage.model.push(edits(0).hold_after(0));
    stage.model.push(edits(6).hold_after(0));
    let runs = [&stage.session, &second].map(|session| {
        let run = stage.rig.prompt(session, "go on").run_id;
        (session.clone(), run)
    });
    stage.model.wait_for_holding(2);
    stage.model.push(Reply::text("Done."));
    stage.model.push(Reply::text("Done."));
    stage.model.release();
    stage.model.release();
    for (session, run) in &runs {
        stage.rig.await_run_end(session, run);
    }
    let requests = stage.model.requests();
    let edited: usize = requests[2..]
        .iter()
        .flat_map(conversation_of)
        .filter(|(_, output)| output.starts_with("Edited "))
        .count();
    let text = stage.rig.text_of("a.txt");
    assert_eq!(text.lines().filter(|line| line.starts_with("LINE")).count(), edited);
    assert_eq!(text.to_lowercase(), lines, "no line is lost or doubled");
    assert_eq!(edited, 10, "one edit is on its way at a time, so none is overtaken");
}

/// A user who types at random places, and remembers every word.
struct Typist {
    dice: Dice,
    words: BTreeSet<String>,
    count: usize,
}

impl Typist {
    fn types(&mut self, buffers: &mut Buffers, most: usize) {
        for _ in 0..self.dice.roll(most + 1) {
            let text = buffers.text("a.txt").unwrap();
            if self.dice.roll(6) == 0
                && let Some(word) = self.words.pop_first()
            {
                buffers.replace("a.txt", &word, "");
                continue;
            }
            self.count += 1;
            let rest = ["", "\n", "😀", "e\u{301}", "\u{1d11e}\n"][self.dice.roll(5)];
            let word = format!("«{}{rest}»", self.count);
            let mut at = self.dice.roll(text.len() + 1);
            // Not inside a word that was typed before, or it could not be found again.
            while !text.is_char_boundary(at) || splits_a_word(&text, at) {
                at -= 1;
            }
            buffers.type_at("a.txt", at, &word);
            self.words.insert(word);
        }
    }
}

fn splits_a_word(text: &str, at: usize) -> bool {
    let before = &text[..at];
    before.rfind('«').is_some_and(|open| !before[open..].contains('»'))
}

/// Returns a text without the typist's words.
fn without_words(text: &str) -> String {
    let mut parts = text.split('«');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('»').map_or("", |(_, rest)| rest))
}

/// Waits for the next ask of a run; `None` if the run ends.
fn asked(stage: &Stage) -> Option<adjutant_protocol::AskId> {
    let found = stage.rig.await_update(|params| {
        matches!(&params.update, Update::Ask(AskChange::Opened { .. }) | Update::Run(RunView::Ended { .. }))
    });
    match found.update {
        Update::Ask(AskChange::Opened { ask }) => Some(ask.ask_id),
        _ => None,
    }
}

/// Plays `rounds` edits against one document, with typing wherever it can occur. Returns how many edits of
/// several hunks landed.
fn interleave(seed: u64, rounds: usize) -> usize {
    let line = |line| format!("line {line:02}\n{}", if line % 8 == 3 { "count 0;\n" } else { "" });
    let lines: String = (0..30).map(line).collect();
    let workspace = Workspace::new("//- /keep.txt\n");
    workspace.write("a.txt", &lines);
    let encoding = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32][seed as usize % 3];
    let can = Capabilities::full().with_encodings(&[encoding]);
    let stage = Stage::with(workspace, |options| options.capabilities(can));
    stage.rig.open("a.txt");
    let mut dice = campaign::dice(seed);
    let typist = Arc::new(Mutex::new(Typist {
        dice: campaign::dice(seed ^ 0x5eed),
        words: BTreeSet::new(),
        count: 0,
    }));
    let on_the_way = typist.clone();
    // How often the user may still type while edits are on their way.
    let types_on_the_way = Arc::new(AtomicUsize::new(0));
    let left = types_on_the_way.clone();
    stage.rig.before_apply(move |buffers| {
        if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            on_the_way.lock().unwrap().types(buffers, 1);
        }
    });
    let mut landed = BTreeSet::new();
    let mut several = 0;
    for round in 0..rounds {
        let place = format!("seed {seed}, round {round}");
        let behaviour = match dice.roll(20) {
            // Each such lie costs the full time that Adjutant waits for the text.
            0 => ApplyBehaviour::SkipStaleButSayApplied,
            1..4 => ApplyBehaviour::Faithful,
            4..7 => ApplyBehaviour::ReplyFirst,
            7..10 => ApplyBehaviour::ApplyButSayFailed,
            10..13 => ApplyBehaviour::StaleError,
            13..16 => ApplyBehaviour::IgnoreVersions,
            _ => ApplyBehaviour::StaleRefuse,
        };
        // An edit at the wrong place can be undone if the user does not type over it.
        let most = if behaviour == ApplyBehaviour::IgnoreVersions { 1 } else { 100 };
        types_on_the_way.store(dice.roll(2) * most, Ordering::SeqCst);
        stage.rig.set_apply(behaviour);
        let word = format!("agent {seed} {round};");
        let anchor = format!("line {:02}", dice.roll(30));
        let new = match dice.roll(3) {
            0 => format!("{anchor}\n{word}"),
            1 => format!("{word}\n{anchor}"),
            _ => format!("{anchor} {word}"),
        };
        stage.rig.edit(|buffers| typist.lock().unwrap().types(buffers, 3));
        let before = stage.rig.text_of("a.txt");
        // Sometimes replaces all counts at once: several hunks, which land together or not at all.
        let counts = (dice.roll(4) == 0).then(|| before.matches("count 0;").count());
        let call = match counts {
            Some(_) => {
                let arguments = edit_arguments("a.txt", "count 0;", &format!("count 0;\n{word}"));
                let mut all = arguments.as_object().unwrap().clone();
                all.insert("replace_all".to_owned(), json!(true));
                Reply::call("edit_file", json!(all))
            }
            None => edit("a.txt", &anchor, &new),
        };
        let read = (round % 3 == 0).then(|| Reply::call("read_file", json!({"path": "a.txt"})));
        let run = stage.send([Some(call), read].into_iter().flatten());
        let mut asks = 0;
        while let Some(ask) = asked(&stage) {
            stage.rig.edit(|buffers| typist.lock().unwrap().types(buffers, 2));
            stage.rig.answer_with(&ask, Answer::option("allow"));
            asks += 1;
        }
        assert!(asks <= 3, "{place}: asked {asks} times");
        let outputs = stage.finish(&run);
        let text = stage.rig.text_of("a.txt");
        if let Some(mirror) = outputs.get(1) {
            assert_eq!(*mirror, as_read(&text), "{place}: the mirror is the buffer");
        }
        if outputs[0].starts_with("Edited ") {
            let times = counts.unwrap_or(1);
            several += usize::from(times > 1);
            landed.insert((word, times));
        } else {
            assert!(
                outputs[0].contains("not applied") || outputs[0].contains("not changed"),
                "{place}: {outputs:?}"
            );
        }
        let agents = without_words(&text);
        for (word, times) in &landed {
            assert_eq!(agents.matches(word.as_str()).count(), *times, "{place}: {word:?} in {text:?}");
        }
        let all: usize = landed.iter().map(|(_, times)| times).sum();
        assert_eq!(agents.matches("agent").count(), all, "{place}: {outputs:?}\n{text}");
        for word in &typist.lock().unwrap().words {
            assert_eq!(text.matches(word.as_str()).count(), 1, "{place}: {word:?} in {text:?}");
        }
        assert!(outputs[0].len() < 4_000, "{place}");
    }
    assert!(landed.len() * 5 > rounds, "seed {seed}: only {} of {rounds} edits landed", landed.len());
    let mirror = stage.call("read_file", json!({"path": "a.txt"}));
    assert_eq!(mirror, as_read(&stage.rig.text_of("a.txt")), "seed {seed}: the mirror is the buffer");
    // Adjutant saves edits only if the user has typed nothing; the user saves typed text.
    let disk = stage.workspace.read("a.txt");
    assert_eq!(without_words(&disk), disk, "seed {seed}: what the user typed was saved");
    assert!(disk == lines || disk.contains("agent"), "seed {seed}: {disk:?}");
    several
}

/// Number of edits against one document.
const ROUNDS: usize = 30;

/// Plays half of the seeds: three hundred interleavings in all, ten thousand in the campaign of `tests/run
/// --long`. The encoding changes with the seed.
fn half_of_them(half: u64) {
    let seeds = campaign::size("ADJUTANT_INTERLEAVINGS", 10_000, 300).div_ceil(ROUNDS) as u64;
    let several: usize =
        (0..seeds).filter(|seed| seed % 2 == half).map(|seed| interleave(seed, ROUNDS)).sum();
    assert!(several > 2, "only {several} edits of several hunks landed");
}

#[test]
fn n04_no_character_is_lost_in_three_hundred_interleavings_first_half() {
    half_of_them(0);
}

#[test]
fn n04_no_character_is_lost_in_three_hundred_interleavings_second_half() {
    half_of_them(1);
}

#[test]
fn n04_a_storm_of_typing_costs_no_character() {
    let stage = Stage::new("//- /keep.txt\n").answering("allow");
    let lines: String = (0..200).map(|line| format!("line {line:03}\n")).collect();
    stage.workspace.write("a.txt", &lines);
    stage.rig.open("a.txt");
    let over = AtomicBool::new(false);
    let editor: &Editor = &stage.rig;
    let (outputs, typed) = std::thread::scope(|scope| {
        let storm = scope.spawn(|| {
            let mut dice = Dice(7);
            let mut typed = 0;
            while !over.load(Ordering::SeqCst) && typed < 3_000 {
                editor.edit(|buffers| {
                    let text = buffers.text("a.txt").unwrap();
                    // Types whole lines, so that versions collide and not words.
                    let line = dice.roll(text.lines().count());
                    let at = text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
                    buffers.type_at("a.txt", at, &format!("«{typed}»\n"));
                });
                typed += 1;
                std::thread::yield_now();
            }
            typed
        });
        let turns = (0..15).map(|turn| {
            let old = format!("line {:03}", turn * 13);
            edit("a.txt", &old, &format!("{old} agent"))
        });
        let outputs = stage.play(turns);
        over.store(true, Ordering::SeqCst);
        (outputs, storm.join().unwrap())
    });
    let text = stage.rig.text_of("a.txt");
    for word in 0..typed {
        assert_eq!(text.matches(&format!("«{word}»\n")).count(), 1, "«{word}»");
    }
    let edited = outputs.iter().filter(|output| output.starts_with("Edited ")).count();
    assert_eq!(text.matches("agent").count(), edited, "{outputs:#?}");
    assert_eq!(text.lines().filter(|line| line.starts_with("line")).count(), 200);
    let refused = outputs.iter().filter(|output| output.contains("was not applied: ")).count();
    assert_eq!(edited + refused, 15, "every refusal has a reason: {outputs:#?}");
    // The mirror equals the buffer.
    let output = stage.call("search_text", json!({"pattern": "agent", "path": "a.txt"}));
    let shown = if output.starts_with("no match") { 0 } else { output.lines().count() };
    assert_eq!(shown, edited, "{output}");
}
