//! What `run` reports about edits equals the files on disk (finding C1): in the text, the log, the JSON and the
//! exit code.
//!
//! Runs without the rights of root, because root can write every file.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_protocol::update::{HunkState, ToolStatus, Update};
use adjutant_testkit::nobody::{NOBODY, as_nobody, give};

use super::{DONE, EDIT, Place, Ran, Running};

/// Runs the edit as a user who is not root.
fn as_user(place: &Place, arguments: &[&str]) -> Ran {
    give(place.directory.path(), NOBODY);
    let mut command = place.command(arguments);
    as_nobody(&mut command);
    Running { child: command.spawn().unwrap() }.ended()
}

/// Asserts that every output reports the edit as not made.
fn reports_failure(place: &Place, text: &Ran, json: &Ran, why: &str) {
    let err = text.err().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!err.contains("+1 −1") && err.contains("Edit greeting.txt … ✗ not applied: "), "{err}");
    assert!(err.contains(why), "{err}");
    assert_eq!(err.matches("not applied").count(), 1, "reported once: {err}");
    assert!(err.contains("allowed edits are not on disk: greeting.txt"), "{err}");
    let updates = json.updates();
    let failed =
        |update: &Update| matches!(update, Update::ToolCallUpdate(call) if call.status == ToolStatus::Failed);
    assert!(updates.iter().any(|params| failed(&params.update)), "{}", json.out());
    let hunks = updates.iter().rev().find_map(|params| match &params.update {
        Update::ChangeSet(change) => Some(change.hunks.iter().map(|hunk| hunk.state).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(hunks.as_deref(), Some(&[HunkState::NotApplied][..]), "{}", json.out());
    assert_eq!(place.greeting(), "Helo, world\n");
}

#[test]
fn finding_c1_an_edit_of_a_read_only_file_or_folder_fails_everywhere() {
    for (path, mode, why) in
        [("workspace/greeting.txt", 0o444, "is read-only"), ("workspace", 0o555, "Permission denied")]
    {
        let place = Place::new(&format!("{EDIT}{DONE}"));
        fs::set_permissions(place.path(path), fs::Permissions::from_mode(mode)).unwrap();
        let text = as_user(&place, &["run", "-y", "fix it"]).exits(5);
        let json = as_user(&place, &["run", "-y", "--output", "json", "fix it"]).exits(5);
        reports_failure(&place, &text, &json, why);
        fs::set_permissions(place.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn finding_c1_why_an_edit_was_not_made_is_told_once_whatever_its_file_is_called() {
    // In a message, a client would show this as a link.
    let name = "[a](https:b).txt";
    let place = Place::new(&format!("{}{DONE}", EDIT.replace("greeting.txt", name)));
    fs::rename(place.workspace().join("greeting.txt"), place.workspace().join(name)).unwrap();
    fs::set_permissions(place.workspace().join(name), fs::Permissions::from_mode(0o444)).unwrap();
    let ran = as_user(&place, &["run", "-y", "fix it"]).exits(5);
    let err = ran.err().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(err.matches("is read-only").count(), 1, "{err}");
}

#[test]
fn finding_c6_a_full_disk_is_called_a_full_disk() {
    let place = Place::new(&format!("{EDIT}{DONE}"));
    // Puts the workspace on its own disk, filled to the last block.
    let script = "mount -t tmpfs -o size=64k none . && cd . && printf 'Helo, world\\n' >greeting.txt && \
                  { dd if=/dev/zero of=fill bs=4k 2>/dev/null; ls -A >before; \"$@\"; code=$?; \
                  cat greeting.txt; ls -A; exit $code; }";
    let plain = place.command(&[]);
    let mut command = Command::new("unshare");
    command.args(["-rm", "--", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_adjutant")]);
    command.args(["run", "-y", "fix it"]).current_dir(place.workspace()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = Running { child: command.spawn().unwrap() }.ended().exits(5);
    assert!(
        ran.err().contains("No space left on device") && !ran.err().contains("changed on disk"),
        "{}",
        ran.err()
    );
    assert!(ran.out().contains("Helo, world\n"), "half a file is left: {}", ran.out());
    assert!(!ran.out().contains(".tmp"), "a temporary file is left: {}", ran.out());
}

#[test]
fn finding_c1_n05_what_is_reported_as_done_is_on_disk_while_another_program_writes() {
    let lines: String = (0..40).map(|line| format!("line {line:02}\n")).collect();
    let turn = |line| {
        format!(
            "[[turn]]\n[[turn.call]]\ntool = \"edit_file\"\narguments = {{ path = \"many.txt\", \
             old_text = \"line {line:02}\", new_text = \"LINE {line:02}\" }}\n"
        )
    };
    let place = Place::new(&((0..40).map(turn).collect::<String>() + DONE));
    let many = place.workspace().join("many.txt");
    fs::write(&many, &lines).unwrap();
    let mut settings = fs::read_to_string(place.path("config.toml")).unwrap();
    settings.push_str("[limits]\nmistakes = 50\n");
    fs::write(place.path("config.toml"), settings).unwrap();
    let stop = AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0_u64.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                // Writes beyond the end and truncates again: the file changes its time, but not its text.
                if let Ok(file) = fs::File::options().write(true).open(&many) {
                    let _ = file.write_at(b"l", 1 << 20).and(file.set_len(lines.len() as u64));
                }
                // Pauses sometimes, so that some edits succeed on any machine.
                match round % 200 {
                    0 => std::thread::park_timeout(Duration::from_millis(5)),
                    _ => std::thread::yield_now(),
                }
            }
        });
        let ran = place.run(&["run", "-y", "--output", "json", "fix it"]);
        stop.store(true, Ordering::Relaxed);
        ran
    });
    let text = fs::read_to_string(&many).unwrap();
    let (mut done, mut open) = (0, 0);
    for params in ran.updates() {
        let Update::ChangeSet(change) = params.update else { continue };
        match change.hunks[0].state {
            HunkState::Applied => done += 1,
            HunkState::NotApplied => open += 1,
            _ => {}
        }
    }
    assert_eq!(text.matches("LINE").count(), done, "reported as done {done}, as not done {open}:\n{text}");
    assert!(done > 0, "no edit ever went through: {}", ran.out());
    assert!(done == 40 || ran.code() != Some(0) || open > 0, "{}", ran.err());
}
