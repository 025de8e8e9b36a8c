//! The files that may have state for the whole process, and those that may write to standard output.

use super::source;

/// Files with a `static`, and what it is. None of them is state of the agent.
const KEPT: [(&str, &str); 5] = [
    ("server/store/src/storage.rs", "names of temporary files"),
    ("server/host/src/faults.rs", "points of faults, only in debug builds"),
    (
        "server/tools/src/process/orphans.rs",
        "the children that this process started; the kernel has the others",
    ),
    ("server/tools/src/process/group.rs", "the folder in which this process may create control groups"),
    ("server/tools/src/protected.rs", "the table of protected names, which never changes"),
];

#[test]
fn b6_2_no_state_lives_outside_its_owner() {
    for file in source::files("server", &[".rs"]).iter().filter(|file| !file.is_test()) {
        let kept = KEPT.iter().any(|(path, _)| *path == file.path);
        for line in file.text.lines().map(str::trim_start) {
            let line = line.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            let state = line.starts_with("static ") || line.starts_with("thread_local!");
            assert!(kept || !state, "{}: \"{line}\": give it to a task that owns it", file.path);
        }
    }
    for (path, why) in KEPT {
        assert!(
            source::read(path).contains("static "),
            "{path} has no `static` any more ({why}); remove it from KEPT"
        );
    }
}

#[test]
fn b6_8_only_the_writer_and_the_command_line_reach_standard_output() {
    for file in source::files("server", &[".rs"]).iter().filter(|file| !file.is_test()) {
        let may = file.path == "server/transport/src/lib.rs" || file.path.starts_with("server/src/cli");
        for line in file.text.lines() {
            let prints =
                ["stdout()", " println!", " print!(", "dbg!("].iter().any(|word| line.contains(word));
            assert!(may || !prints, "{}: \"{}\": only the writer may", file.path, line.trim());
        }
    }
}
