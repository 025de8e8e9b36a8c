//! Bad input from an editor, one line each: what is sent, and what must follow.
//!
//! The lines are data in `tests/corpus`; this file defines their words. A line without a player fails, and none
//! is skipped.

mod answers;
mod documents;
mod lifecycle;
mod line;
mod raw;
mod streams;

use std::collections::BTreeSet;

use line::Line;
use raw::Heard;

/// The original lines and lines added later, each file with its number of lines.
const FILES: [(&str, &str, usize); 2] = [
    ("lsp.jsonl", include_str!("../corpus/lsp.jsonl"), 50),
    ("lsp_more.jsonl", include_str!("../corpus/lsp_more.jsonl"), 14),
];

/// The outcome of a line.
#[derive(Debug)]
pub enum Seen {
    /// Bytes were sent: the answers, and whether the connection survived.
    Heard(Heard),
    /// A scene was played and proved this by its own assertions.
    Shown(&'static str),
}

type Check = fn(&Seen) -> bool;
type Scene = fn() -> Seen;

/// The check for each word of `expect`.
const WORDS: &[(&str, Check)] = &[
    ("ok", |seen| shown(seen, "ok") || heard(seen, |heard| heard.lives && heard.served())),
    ("continue", |seen| heard(seen, |heard| heard.lives && heard.results() == 1)),
    ("ignore", |seen| shown(seen, "ignore") || heard(seen, |heard| heard.lives && heard.answers.is_empty())),
    ("close_clean", |seen| heard(seen, Heard::closed_cleanly)),
    ("close_or_ok", |seen| heard(seen, |heard| heard.closed_cleanly() || (heard.lives && heard.served()))),
    ("close_or_continue", |seen| heard(seen, |heard| heard.closed_cleanly() || heard.lives)),
    ("-32700", |seen| refused(seen, -32700)),
    ("-32600", |seen| refused(seen, -32600)),
    ("-32601", |seen| refused(seen, -32601)),
    ("-32602", |seen| refused(seen, -32602)),
    ("-32002", |seen| refused(seen, -32002)),
    ("exit_code_0", |seen| shown(seen, "exit_code_0")),
    ("exit_soon", |seen| shown(seen, "exit_soon")),
    ("stays", |seen| shown(seen, "stays")),
    ("ok_no_workspace", |seen| shown(seen, "ok_no_workspace")),
    ("ok_no_disk", |seen| shown(seen, "ok_no_disk")),
    ("resync", |seen| shown(seen, "resync")),
    ("clamp_or_resync", |seen| shown(seen, "clamped") || shown(seen, "resync")),
    ("degraded", |seen| shown(seen, "degraded")),
    ("tool_error", |seen| shown(seen, "tool_error")),
    ("reask", |seen| shown(seen, "reask")),
    ("rejected", |seen| shown(seen, "rejected")),
    ("cancelled", |seen| shown(seen, "cancelled")),
    ("backpressure", |seen| shown(seen, "backpressure")),
];

/// The scenes of lines that are steps, by their ids.
const SCENES: &[(&str, Scene)] = &[
    ("lsp-023", lifecycle::byte_by_byte),
    ("lsp-047", lifecycle::request_before_initialize),
    ("lsp-049", lifecycle::request_after_shutdown),
    ("lsp-051", lifecycle::farewell),
    ("lsp-053", lifecycle::parent_killed),
    ("lsp-055", lifecycle::root_of_another_scheme),
    ("lsp-057", lifecycle::no_apply_edit),
    ("lsp-059", lifecycle::capabilities_of_the_future),
    ("lsp-061", documents::inside_a_pair),
    ("lsp-063", documents::opened_twice),
    ("lsp-065", documents::version_goes_back),
    ("lsp-067", documents::inverted_range),
    ("lsp-069", documents::largest_line),
    ("lsp-071", documents::huge_document),
    ("lsp-073", documents::uri_of_another_host),
    ("lsp-075", answers::edit_refused),
    ("lsp-077", answers::edit_answered_with_an_error),
    ("lsp-079", answers::user_types_before_the_edit),
    ("lsp-081", answers::file_deleted_before_the_edit),
    ("lsp-083", answers::option_not_offered),
    ("lsp-085", answers::answer_to_another_id),
    ("lsp-087", answers::everything_unknown),
    ("lsp-089", streams::cancel_of_what_is_over),
    ("lsp-091", streams::cancel_of_a_command),
    ("lsp-093", streams::id_used_twice),
    ("lsp-095", streams::client_does_not_read),
    ("lsp-097", streams::output_closed),
    ("lsp-099", streams::unknown_progress),
    ("more-039c", lifecycle::initialize_in_wrong_shape_twice),
    ("more-053a", lifecycle::named_process_ends),
    ("more-053b", lifecycle::named_process_unknown),
    ("more-069a", documents::line_beyond_the_largest),
    ("more-069b", documents::open_that_cannot_be_read),
    ("more-071a", documents::huge_change),
    ("more-071b", documents::change_that_is_no_json),
    ("more-071c", documents::malformed_answer),
    ("more-095a", streams::client_does_not_read_lasting),
    ("more-095b", streams::client_does_not_read_and_cancels),
    ("more-097a", streams::output_closed_in_silence),
    ("more-097b", streams::output_closed_while_a_command_runs),
];

fn shown(seen: &Seen, word: &str) -> bool {
    matches!(seen, Seen::Shown(shown) if *shown == word)
}

fn heard(seen: &Seen, holds: impl Fn(&Heard) -> bool) -> bool {
    matches!(seen, Seen::Heard(heard) if holds(heard))
}

/// Whether there is exactly one answer, an error with this code, and the connection survived.
fn refused(seen: &Seen, code: i64) -> bool {
    heard(seen, |heard| heard.lives && heard.answers.len() == 1 && heard.answers[0]["error"]["code"] == code)
}

fn lines() -> Vec<Line> {
    FILES.iter().flat_map(|(name, text, _)| line::read(name, text)).collect()
}

/// Plays the lines of a class. Bytes go to a server after the handshake; some lines also go to one without it.
fn play(class: &str) {
    let mut played = 0;
    for line in lines().iter().filter(|line| line.class == class) {
        let scene = SCENES.iter().find(|(id, _)| *id == line.id).map(|(_, scene)| scene);
        let seen = match (scene, &line.bytes) {
            (Some(scene), None) => vec![scene()],
            (None, Some(bytes)) => {
                raw::plays(line).iter().map(|play| raw::send(line, bytes, *play)).collect()
            }
            _ => panic!("{}: there is no way to play this line", line.id),
        };
        let (_, check) = WORDS.iter().find(|(word, _)| *word == line.expect).unwrap_or_else(|| {
            panic!("{}: unknown word {:?}", line.id, line.expect);
        });
        for seen in seen {
            assert!(check(&seen), "{}: {} is expected ({}), seen: {seen:?}", line.id, line.expect, line.why);
        }
        played += 1;
    }
    assert!(played > 0, "there is no line of the class {class}");
}

#[test]
fn g1_corpus_framing() {
    play("framing");
}

#[test]
fn g1_corpus_json_rpc() {
    play("json-rpc");
}

#[test]
fn g1_corpus_lifecycle() {
    play("lifecycle");
}

#[test]
fn g1_corpus_documents() {
    play("documents");
}

#[test]
fn g1_corpus_client_answers() {
    play("client-answers");
}

#[test]
fn g1_corpus_flow_and_cancel() {
    play("flow-cancel");
}

#[test]
fn g1_corpus_no_line_is_skipped() {
    for (name, text, count) in FILES {
        assert_eq!(line::read(name, text).len(), count, "{name}: the count here follows the file");
    }
    let lines = lines();
    let ids: BTreeSet<&str> = lines.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(ids.len(), lines.len(), "an id occurs twice");
    let classes = ["framing", "json-rpc", "lifecycle", "documents", "client-answers", "flow-cancel"];
    for line in &lines {
        assert!(classes.contains(&line.class.as_str()), "{}: no test plays {:?}", line.id, line.class);
        assert!(WORDS.iter().any(|(word, _)| *word == line.expect), "{}: {:?}", line.id, line.expect);
        let scene = SCENES.iter().any(|(id, _)| *id == line.id);
        assert!(scene != line.bytes.is_some(), "{} is bytes or a scene", line.id);
    }
    for (id, _) in SCENES {
        assert!(ids.contains(id), "the scene {id} has no line");
    }
}
