//! Tests of the files that count as Adjutant's own.

use super::*;

#[test]
fn finding_h4_a_key_script_in_a_line_of_a_shell_is_our_own() {
    let directory = tempfile::tempdir().expect("temp dir");
    let home = directory.path().canonicalize().expect("home");
    std::fs::create_dir(home.join("keys")).expect("folder");
    let script = home.join("keys/getkey.sh");
    std::fs::write(&script, "echo key").expect("script");
    let path = script.to_str().expect("utf-8");
    let from_root = path.strip_prefix('/').expect("absolute");
    let lines = [
        format!("{path} | head -1"),
        format!("K=$({path}); echo \"$K\""),
        format!("sh<'{path}'>/dev/null"),
        format!("`{path}`&&true"),
        format!("exec {from_root}"),
        from_root.to_owned(),
        "~/keys/getkey.sh --raw".to_owned(),
        "cat \"$HOME/keys/getkey.sh\"".to_owned(),
        "cat ${HOME}/keys/getkey.sh".to_owned(),
    ];
    for line in lines {
        let words = ["sh".to_owned(), "-c".to_owned(), line.clone()];
        assert!(of_command(&words, Some(&home)).contains(&script), "{line}");
    }
    // The folder in which a program works is not Adjutant's own.
    let words = ["git", "-C", home.to_str().expect("utf-8"), "config", "key"].map(str::to_owned);
    assert!(of_command(&words, Some(&home)).is_empty());
    // A whole word counts even if its file does not exist; a part of a line counts only if it is a file.
    let words = [home.join("new key").display().to_string(), "~/keys | ./gone".to_owned()];
    assert_eq!(of_command(&words, Some(&home)), [home.join("new key")]);
}
