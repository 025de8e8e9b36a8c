//! Tests an inbox on the real disk: which files are answers, and which are removed.
//! Never in a session: the integration tests do that with real processes.

use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use adjutant_core::machine::input::Choice;
use adjutant_protocol::ask::AskRespondParams;
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::review::{DecidedHunk, ReviewAction, ReviewDecideParams};
use adjutant_protocol::update::HunkState;
use tempfile::TempDir;

use super::*;
use crate::session::log::LogPlace;
use crate::session::mailbox::ClientError;
use crate::session::storage::Disk;
use crate::session::watermark::Syncer;

fn place(folder: &TempDir) -> LogPlace {
    LogPlace {
        storage: Arc::new(Disk),
        syncer: Syncer::start().expect("threads"),
        dir: folder.path().join("sessions/s-1"),
        session: "s-1".to_owned(),
    }
}

fn answer(option: &str) -> AskRespondParams {
    AskRespondParams {
        ask_id: "ask-1".into(),
        option_id: Some(option.to_owned()),
        answer: None,
        reason: Some("because".to_owned()),
        unattended: false,
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("a file").permissions().mode() & 0o777
}

#[test]
fn what_is_left_is_found_once_and_can_be_taken_back() {
    let folder = folder();
    let place = place(&folder);
    let inbox = place.dir.join(INBOX);
    assert!(scan(&inbox).expect("no inbox is an empty one").messages.is_empty());
    let left = leave(&place, &answer("allow")).expect("left");
    assert_eq!((mode(&inbox), mode(&left.path)), (0o700, 0o600));
    let found = scan(&inbox).expect("readable");
    let [message] = &found.messages[..] else { panic!("{found:?}") };
    let Letter::Answer { ask, choice } = &message.letter else { panic!("{message:?}") };
    assert_eq!(*ask, "ask-1".into());
    assert_eq!(*choice, Choice::Option { id: "allow".to_owned(), text: Some("because".to_owned()) });
    assert!(left.is_there(), "a scan removes no answer");
    remove(&inbox, message).expect("removed");
    assert!(!left.is_there());
    assert!(!left.withdraw().expect("nothing to take back"));
    let left = leave(&place, &answer("allow")).expect("left");
    assert!(left.withdraw().expect("taken back") && !left.is_there());
}

#[test]
fn another_file_under_the_name_of_a_judged_one_stays() {
    let folder = folder();
    let place = place(&folder);
    let inbox = place.dir.join(INBOX);
    let left = leave(&place, &answer("allow")).expect("left");
    let found = scan(&inbox).expect("readable");
    let other = leave(&place, &answer("reject")).expect("left");
    fs::rename(&other.path, &left.path).expect("renamed");
    remove(&inbox, &found.messages[0]).expect("no error");
    assert!(left.is_there(), "an answer was removed before it was judged");
}

#[test]
fn g1_a_folder_that_others_can_write_into_or_that_is_a_link_is_not_read() {
    let folder = folder();
    let place = place(&folder);
    let inbox = place.dir.join(INBOX);
    let left = leave(&place, &answer("allow")).expect("left");
    for open in [0o720, 0o702, 0o755, 0o777] {
        fs::set_permissions(&inbox, Permissions::from_mode(open)).expect("its mode");
        assert!(scan(&inbox).is_err(), "{open:o}");
    }
    fs::set_permissions(&inbox, Permissions::from_mode(0o700)).expect("its mode");
    let link = folder.path().join("link");
    symlink(&inbox, &link).expect("a link");
    assert!(scan(&link).is_err());
    assert!(left.is_there());
    assert_eq!(scan(&inbox).expect("readable").messages.len(), 1);
}

#[test]
fn one_look_takes_few_files_and_says_that_there_are_more() {
    let folder = folder();
    let place = place(&folder);
    let inbox = place.dir.join(INBOX);
    for _ in 0..MAX_AT_ONCE + 1 {
        leave(&place, &answer("allow")).expect("left");
    }
    let found = scan(&inbox).expect("readable");
    assert_eq!((found.messages.len(), found.more), (MAX_AT_ONCE, true));
    found.messages.iter().for_each(|message| remove(&inbox, message).expect("removed"));
    let found = scan(&inbox).expect("readable");
    assert_eq!((found.messages.len(), found.more), (1, false));
}

#[test]
fn an_unfinished_file_is_left_alone_until_its_writer_must_be_dead() {
    let folder = folder();
    let place = place(&folder);
    let inbox = place.dir.join(INBOX);
    place.storage.create_dir(&inbox).expect("made");
    let (young, old) = (inbox.join(".new-young"), inbox.join(".new-old"));
    for path in [&young, &old] {
        fs::write(path, b"{").expect("written");
    }
    let then = SystemTime::now() - 2 * LEFT_BEHIND;
    let file = File::options().write(true).open(&old).expect("opened");
    file.set_times(FileTimes::new().set_modified(then)).expect("its time");
    let found = scan(&inbox).expect("readable");
    assert_eq!((found.messages.len(), found.junk), (0, 0));
    assert!(young.exists() && !old.exists());
}

#[test]
fn an_answer_that_is_too_large_is_not_left() {
    let folder = folder();
    let place = place(&folder);
    let large = AskRespondParams {
        ask_id: "ask-1".into(),
        option_id: None,
        answer: Some("x".repeat(MAX_MESSAGE as usize)),
        reason: None,
        unattended: false,
    };
    assert!(leave(&place, &large).is_err());
    assert!(!place.dir.exists());
}

#[test]
fn a_decision_is_found_and_its_reply_is_read_once() {
    let folder = folder();
    let place = place(&folder);
    let inbox = place.dir.join(INBOX);
    let decision = ReviewDecideParams {
        session_id: "s-1".into(),
        targets: Vec::new(),
        action: ReviewAction::Undo,
        reason: Some("no".to_owned()),
    };
    let request = ReviewRequest::Decide(decision);
    let refused = Err(ClientError::new(ErrorName::AnswerInvalid, "it was undone; restore it first"));
    let why = Some("its place is not there".to_owned());
    let hunk =
        DecidedHunk { change_set_id: "c".into(), hunk_id: "h1".to_owned(), state: HunkState::Undone, why };
    for result in [serde_json::to_value([hunk]).map_err(|_| unreachable!()), refused] {
        let left = leave_request(&place, &request).expect("left");
        let found = take(&inbox, scan(&inbox).expect("readable").messages).expect("taken");
        let [message] = &found[..] else { panic!("{found:?}") };
        let Letter::Request(read) = &message.letter else { panic!("{message:?}") };
        assert_eq!(**read, request);
        assert!(left.is_there() && !left.withdraw().expect("readable"), "its reader has it");
        assert!(scan(&inbox).expect("readable").messages.is_empty(), "and no other one gets it");
        put_back(&inbox, message).expect("put back");
        let found = take(&inbox, scan(&inbox).expect("readable").messages).expect("taken");
        let [message] = &found[..] else { panic!("{found:?}") };
        assert!(left.reply().is_none());
        reply_to(&inbox, message, &LetterReply::of(&result)).expect("replied");
        remove(&inbox, message).expect("removed");
        assert!(scan(&inbox).expect("readable").messages.is_empty(), "a reply is no letter");
        let reply = left.reply().expect("a reply");
        assert_eq!(reply.map_err(|refused| refused.message), result.map_err(|refused| refused.message));
        assert!(left.reply().is_none() && !left.is_there());
    }
    // It was withdrawn before its reader took it.
    let left = leave_request(&place, &request).expect("left");
    let found = scan(&inbox).expect("readable").messages;
    assert!(left.withdraw().expect("withdrawn"));
    assert!(take(&inbox, found).expect("readable").is_empty());
    // Its reader has gone.
    let left = leave_request(&place, &request).expect("left");
    assert_eq!(take(&inbox, scan(&inbox).expect("readable").messages).expect("taken").len(), 1);
    assert!(left.withdraw_from_gone().expect("withdrawn") && !left.is_there());
    // Its writer died: nothing is undone a day later.
    let left = leave_request(&place, &request).expect("left");
    let old = FileTimes::new().set_modified(SystemTime::now() - 2 * LEFT_BEHIND);
    File::options().write(true).open(&left.path).expect("a file").set_times(old).expect("older");
    let found = scan(&inbox).expect("readable");
    assert!(found.messages.is_empty() && found.junk == 1 && !left.is_there(), "{found:?}");
}
