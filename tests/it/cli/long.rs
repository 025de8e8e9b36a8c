//! A task that is too long for its model, in a terminal.
//!
//! Never looks into the server.

use adjutant_testkit::command::Line;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::long;
use adjutant_testkit::model::ModelServer;

use super::lines::BINARY;
use super::newcomer::session_of;

#[test]
fn s76_a_compaction_is_a_line_in_the_terminal_and_its_text_is_in_the_transcript() {
    let model = ModelServer::answering(long::model(|summary| summary));
    let workspace = Workspace::new(&long::fixture());
    workspace.openai(&model.base_url()).add_config(long::SETTINGS);
    let ran = Line::new(BINARY, &workspace, &["run", "--detail", "brief", "Read all parts"]).run();
    let lines: Vec<&str> = ran.expect(0).stderr.lines().filter(|line| line.contains("ompact")).collect();
    assert_eq!(lines.len(), 1, "{ran}");
    assert!(
        lines[0].starts_with("• Compacted the conversation (about ") && lines[0].contains(" → "),
        "{ran}"
    );
    let transcript =
        Line::new(BINARY, &workspace, &["sessions", "export", &session_of(&workspace), "--markdown"]).run();
    let text = &transcript.expect(0).stdout;
    assert!(text.contains("\n**In their place the model reads:**\n\n"), "{text}");
    assert!(text.contains(long::GOAL), "{text}");
}
