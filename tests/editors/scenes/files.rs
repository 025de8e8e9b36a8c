//! What the scenes of deleted and moved files share: the files, and what the disk has before and after.
//!
//! Never opens an editor.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use adjutant_testkit::model::Reply;
use serde_json::json;

use super::{BEFORE, FILE};
use crate::stage::Stage;

/// The name that the open file gets.
pub const MOVED: &str = "parts/hello.py";
/// The file that goes.
pub const GONE: &str = "gone.py";
/// Its text as an editor shows it, and its bytes: a byte order mark, line ends of Windows, no last line end.
pub const GONE_TEXT: &str = "one\ntwo";
const GONE_BYTES: &[u8] = b"\xef\xbb\xbfone\r\ntwo";
/// What it takes beside its bytes.
const MODE: u32 = 0o750;
/// A file that the agent makes and gives another name in one run, which needs no question.
pub const DRAFT: &str = "draft.txt";
pub const NAMED: &str = "named.txt";

/// Returns a stage whose model moves one file and deletes another in one reply. In a second run it makes a file and moves it.
pub fn files() -> Stage {
    let both = Reply::call("move_file", json!({"from": FILE, "to": MOVED}))
        .and_call("delete_file", json!({"path": GONE}));
    let made = Reply::call("write_file", json!({"path": DRAFT, "content": "made\nby it\n"}))
        .and_call("move_file", json!({"from": DRAFT, "to": NAMED}));
    let replies = [both, Reply::text("Done."), made, Reply::text("Done.")];
    let stage = Stage::new(&format!("//- /{FILE}\n{BEFORE}"), replies).without_edits_mode();
    stage.workspace.add_config("[edits]\nmode = \"review\"\n");
    let gone = path(&stage, GONE);
    fs::write(&gone, GONE_BYTES).expect("write the file");
    fs::set_permissions(&gone, fs::Permissions::from_mode(MODE)).expect("set its permissions");
    stage
}

fn path(stage: &Stage, name: &str) -> PathBuf {
    stage.workspace.path().join(name)
}

/// Returns whether the file that is moved is under this name.
fn has(stage: &Stage, name: &str) -> bool {
    fs::read(path(stage, name)).is_ok_and(|bytes| bytes == BEFORE.as_bytes())
}

/// Returns whether the disk is as it was before both, byte for byte.
pub fn is_before(stage: &Stage) -> bool {
    let gone = path(stage, GONE);
    let mode = fs::metadata(&gone).map(|about| about.permissions().mode() & 0o777).unwrap_or_default();
    let is_whole = fs::read(&gone).is_ok_and(|bytes| bytes == GONE_BYTES) && mode == MODE;
    is_whole && has(stage, FILE) && !path(stage, MOVED).exists()
}

/// Returns whether the disk has what both leave.
pub fn is_after(stage: &Stage) -> bool {
    has(stage, MOVED) && !path(stage, FILE).exists() && !path(stage, GONE).exists()
}
