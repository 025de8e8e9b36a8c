//! Files that are no answers are removed, and have no effect whatever their content.
//!
//! Never relies on an order: a final valid answer shows that all files before it were processed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use adjutant_testkit::editor::Answer;
use adjutant_testkit::inbox::{body, folder, leave, leave_bytes};
use adjutant_testkit::process::wait_until;
use serde_json::json;

use super::{Held, letters};
use crate::rig::count;

#[test]
fn g1_what_is_no_answer_is_removed_and_approves_nothing() {
    let held = Held::at_command();
    let inbox = folder(&held.workspace, &held.session);
    let ask = &held.ask.ask_id;
    let whole = body(ask, &Answer::option("allow")).to_string();
    let mut big = format!("{{\"askId\":\"{ask}\",\"answer\":\"").into_bytes();
    big.resize((256 << 10) + 1, b'x');
    let cut = &whole[..whole.len() - 1];
    let bodies: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\0\0\0\0".to_vec(),
        b"[]".to_vec(),
        b"null".to_vec(),
        cut.as_bytes().to_vec(),
        format!("{whole}{whole}").into_bytes(),
        format!("{whole} x").into_bytes(),
        format!("\u{feff}{whole}").into_bytes(),
        big,
        "[".repeat(100_000).into_bytes(),
        json!({"askId": ask, "optionId": "allow", "more": 1}).to_string().into_bytes(),
        json!({"askId": ask, "optionId": "allow", "answer": "both"}).to_string().into_bytes(),
        json!({"askId": ask}).to_string().into_bytes(),
        json!({"askId": ask, "optionId": ["allow"]}).to_string().into_bytes(),
        json!({"askId": ask, "optionId": "Allow"}).to_string().into_bytes(),
        json!({"askId": ask, "optionId": "allow "}).to_string().into_bytes(),
        json!({"askId": ask, "answer": " "}).to_string().into_bytes(),
        json!({"askId": "ask-of-nobody", "optionId": "allow"}).to_string().into_bytes(),
        format!("{{\"askId\":\"{ask}\",\"optionId\":\"reject\",\"optionId\":\"allow\"}}").into_bytes(),
    ];
    let mut left: Vec<_> = bodies.iter().map(|body| leave_bytes(&inbox, body, 0o600)).collect();
    // A valid answer in a file that others could have written, or that is no regular file of its own.
    for mode in [0o644, 0o620, 0o602, 0o666, 0o777] {
        left.push(leave_bytes(&inbox, whole.as_bytes(), mode));
    }
    let elsewhere = held.workspace.write_beside("true-answer", &whole);
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o600)).expect("its mode");
    symlink(&elsewhere, inbox.join("link")).expect("a link");
    fs::hard_link(&elsewhere, inbox.join("second-name")).expect("a second name");
    rustix::fs::mkfifoat(rustix::fs::CWD, inbox.join("pipe"), rustix::fs::Mode::from_raw_mode(0o600))
        .expect("a pipe");
    symlink("/dev/zero", inbox.join("zeros")).expect("a link");
    wait_until("an empty inbox", || letters(&held.workspace, &held.session).is_empty());
    assert!(left.iter().all(|letter| letter.is_gone()));
    assert!(elsewhere.exists(), "the target of a link is not touched");
    assert_eq!(count(&held.workspace, &held.session, "ask_closed"), 0, "junk answered the ask");
    fs::create_dir(inbox.join("folder")).expect("a folder");

    let letter = leave(&held.workspace, &held.session, ask, &Answer::option("allow"));
    held.editor.await_resolved(ask);
    wait_until("the answer to be removed", || letter.is_gone());
    held.editor.await_run_end(&held.session, &held.run);
    assert_eq!(held.ledger(), 1);
    held.end();
}

#[test]
fn g1_an_answer_behind_ten_thousand_files_is_found() {
    let held = Held::at_command();
    let inbox = folder(&held.workspace, &held.session);
    wait_until("the inbox", || inbox.is_dir());
    for number in 0..10_000 {
        let path = inbox.join(format!("junk-{number}"));
        fs::write(&path, b"junk").unwrap_or_else(|error| panic!("write {path:?}: {error}"));
    }
    let letter = leave(&held.workspace, &held.session, &held.ask.ask_id, &Answer::option("allow"));
    wait_until("the answer to be removed", || letter.is_gone());
    held.editor.await_run_end(&held.session, &held.run);
    assert_eq!(held.ledger(), 1);
    wait_until("an empty inbox", || letters(&held.workspace, &held.session).is_empty());
    held.end();
}
