//! A file that the user gave another name: a hover still says who wrote its lines.

use super::*;

#[test]
fn n09_a_hover_follows_a_file_that_the_user_moved() {
    let reviewed = Reviewed::start();
    let four = reviewed.hunk("4");
    assert_eq!(reviewed.decide(&four, "keep").state, HunkState::Kept);
    let path = |name: &str| reviewed.workspace.path().join(name);
    std::fs::rename(path("b.txt"), path("moved.txt")).expect("it is moved");
    let rig = &reviewed.rig;
    rig.open("moved.txt");
    let hover = |line: u32| {
        let params = json!({
            "textDocument": {"uri": reviewed.workspace.uri("moved.txt")},
            "position": {"line": line, "character": 0},
        });
        rig.request("textDocument/hover", params).expect("a hover is answered").to_string()
    };
    assert!(hover(0).contains("make them numbers"), "{}", hover(0));
    rig.replace("moved.txt", "4\n", "mine\n4\n");
    assert_eq!(hover(0), "null", "the user wrote it");
    assert!(hover(1).contains("make them numbers"), "{}", hover(1));
    reviewed.rig.end();
}
