//! Who may hold state and who may write to standard output.

use super::source;

/// Files that keep something for the whole process, and why it is no state of the agent.
const KEPT: [(&str, &str); 5] = [
    ("server/store/src/storage.rs", "names of temporary files"),
    ("server/host/src/faults.rs", "points of death, in debug builds alone"),
    (
        "server/tools/src/process/orphans.rs",
        "which children of this process it started; the kernel keeps the others",
    ),
    ("server/tools/src/process/group.rs", "where the kernel lets this process make control groups"),
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
        assert!(source::read(path).contains("static "), "{path} keeps nothing any more ({why})");
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
