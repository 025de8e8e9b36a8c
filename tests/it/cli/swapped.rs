//! `adjutant run` while another program repeatedly exchanges a folder of the path for a link and back
//! (finding B3). Nothing is written through the link, and an edit reported as done is in the file.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_core::record::{CallEnd, Event};
use adjutant_testkit::command::Line;
use adjutant_testkit::fixture::Workspace;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::kill::story::{BINARY, facts, only_session};

const TURNS: usize = 4;
/// Number of calls in one turn: edits and new files, alternating.
const CALLS: usize = 60;

/// Returns the file of a call, its text before (if any) and its text after.
fn file(number: usize) -> (String, Option<String>, String) {
    match number % 2 {
        0 => (format!("e{number}.txt"), Some(format!("old {number}\n")), format!("new {number}\n")),
        _ => (format!("n{number}.txt"), None, format!("made {number}\n")),
    }
}

fn script() -> String {
    let call = |number: usize| match file(number) {
        (name, Some(_), _) => format!(
            "[[turn.call]]\ntool = \"edit_file\"\n\
             arguments = {{ path = \"d/{name}\", old_text = \"old\", new_text = \"new\" }}\n"
        ),
        (name, None, _) => format!(
            "[[turn.call]]\ntool = \"write_file\"\n\
             arguments = {{ path = \"d/{name}\", content = \"made {number}\\n\" }}\n"
        ),
    };
    let turn = |turn: usize| {
        let calls: String = (turn * CALLS..(turn + 1) * CALLS).map(call).collect();
        format!("[[turn]]\n{calls}")
    };
    (0..TURNS).map(turn).collect::<String>() + "[[turn]]\ntext = \"Done.\"\n"
}

/// Fills a folder with all files to edit, so that an edit would succeed there.
fn fill(folder: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    for (name, before, _) in (0..TURNS * CALLS).map(file) {
        if let Some(before) = before {
            fs::write(folder.join(name), before).expect("a file");
        }
    }
}

fn content(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).expect("the folder").flatten();
    let read = |path: &Path| fs::read_to_string(path).expect("a text");
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), read(&entry.path()))).collect()
}

/// Runs the script while `d` is exchanged for a link to `forbidden`.
fn race(workspace: &Workspace, forbidden: &Path) {
    workspace.script(&script()).add_config("[limits]\nmistakes = 100\n");
    let (folder, link) = (workspace.path().join("d"), workspace.path().join("link"));
    fill(&folder);
    fill(forbidden);
    symlink(forbidden, &link).expect("a link");
    let before = content(forbidden);
    let over = AtomicBool::new(false);
    let (ran, swaps) = std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            let mut swaps = 0_u32;
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).expect("an exchange");
                swaps += 1;
                match swaps % 100 {
                    // Pauses sometimes, and now and then for longer, so that some writes succeed on any machine.
                    0 => std::thread::park_timeout(Duration::from_millis(2 << (swaps / 100 % 5))),
                    _ => std::thread::yield_now(),
                }
            }
            swaps
        });
        let ran = Line::new(BINARY, workspace, &["run", "-y", "go"]).run();
        over.store(true, Ordering::Relaxed);
        (ran, swapping.join().expect("it swaps"))
    });
    let mut there = content(forbidden);
    there.retain(|name, text| before.get(name) != Some(text));
    assert!(there.is_empty(), "this was written through the link: {there:?}; {ran}");
    assert_eq!(content(forbidden).len(), before.len(), "a file in the linked folder is gone: {ran}");

    let real = if folder.is_symlink() { &link } else { &folder };
    let now = content(real);
    let all = facts(workspace, &only_session(workspace));
    let mut opened = BTreeMap::new();
    let (mut done, mut failed) = (0, 0);
    for record in &all {
        match &record.event {
            Event::CallOpened { call, turn, index, .. } => {
                let number = (*turn as usize - 1) * CALLS + *index as usize;
                opened.insert(call.to_string(), number);
            }
            Event::ToolFinished { call, result } if result.end == CallEnd::Completed => {
                done += 1;
                let (name, _, after) = file(opened[&call.to_string()]);
                assert_eq!(now.get(&name), Some(&after), "{name} is reported as done: {ran}");
            }
            Event::ToolFinished { .. } => failed += 1,
            _ => {}
        }
    }
    assert!(done > 0 && failed > 0 && swaps > 100, "no race: {done} done, {failed} failed, {swaps} swaps");
    let left = now.keys().find(|name| name.starts_with(".adjutant-"));
    assert_eq!(left, None, "a temporary file is left");
}

#[test]
fn finding_b3_run_writes_nothing_outside_while_a_folder_becomes_a_link() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let outside = tempfile::tempdir().expect("a folder");
    race(&workspace, &outside.path().join("theirs"));
}

#[test]
fn finding_b3_run_writes_no_hook_while_a_folder_becomes_a_link() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    race(&workspace, &workspace.path().join(".git/hooks"));
}
