//! Where asks are shown, and which documents are published.

use adjutant_core::policy::ask::options;
use adjutant_core::wire::ask::options as shown_options;
use adjutant_protocol::ask::AskKind;
use adjutant_protocol::ask::{AskSubject, EditedFile};
use adjutant_protocol::origin::{Origin, Position, Range};

use super::*;

const LINES: SurfaceRoom = SurfaceRoom { lines: popup::MAX_LINES, one_line: false };
const URI: &str = "file:///project/a.rs";

fn ask(id: &str, origin: Option<u32>, subject: Option<AskSubject>) -> AskView {
    let kind = AskKind::Command;
    let at = |line| Range { start: Position { line, character: 4 }, end: Position { line, character: 9 } };
    AskView {
        session_id: "s-1".into(),
        ask_id: id.into(),
        kind,
        group: kind.group(),
        title: format!("Run {id}"),
        description: None,
        subject,
        run_id: None,
        tool_call_id: None,
        tool_call_ids: Vec::new(),
        origin: origin.map(|line| Origin { uri: URI.to_owned(), range: Some(at(line)) }),
        options: shown_options(&options(kind.into(), Some("Always"), &[])),
        free_text: true,
        opened_at: 0,
    }
}

fn lines(published: &MarkedDocument) -> Vec<u32> {
    published.diagnostics.iter().map(|diagnostic| diagnostic.line).collect()
}

#[test]
fn s03_an_ask_is_shown_at_its_origin_and_taken_back() {
    let (documents, mut diagnostics) = (Documents::default(), Diagnostics::new(true));
    let one = ask("one", Some(3), None);
    let published = diagnostics.changed([(&one, false)].into_iter(), std::iter::empty(), &documents, LINES);
    assert_eq!((published.len(), lines(&published[0])), (1, vec![3]));
    assert_eq!(published[0].diagnostics[0].ask, one.ask_id);
    let message = &published[0].diagnostics[0].message;
    assert!(message.contains("code action here: Reject · Yes, once"), "{message}");
    assert!(
        diagnostics.changed([(&one, false)].into_iter(), std::iter::empty(), &documents, LINES).is_empty(),
        "nothing is published twice"
    );

    let two = ask("two", Some(7), None);
    let published = diagnostics.changed(
        [(&one, false), (&two, false)].into_iter(),
        std::iter::empty(),
        &documents,
        LINES,
    );
    assert_eq!(lines(&published[0]), [3, 7], "a list is always whole");
    let published = diagnostics.changed([(&two, false)].into_iter(), std::iter::empty(), &documents, LINES);
    assert_eq!(lines(&published[0]), [7]);
    let published = diagnostics.changed([].into_iter(), std::iter::empty(), &documents, LINES);
    assert_eq!(
        published,
        [MarkedDocument { uri: URI.to_owned(), version: None, diagnostics: Vec::new(), hunks: Vec::new() }]
    );
    assert!(diagnostics.changed([].into_iter(), std::iter::empty(), &documents, LINES).is_empty());
}

#[test]
fn an_edit_without_origin_is_shown_at_its_first_changed_line() {
    let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -5,4 +5,4 @@\n five\n six\n-seven\n+SEVEN\n eight\n";
    assert_eq!(first_line(diff), 6);
    let subject = |new_file| {
        AskSubject::Edit(EditedFile {
            uri: URI.to_owned(),
            path: "a.rs".to_owned(),
            diff: diff.into(),
            new_file,
            operation: None,
        })
    };
    let (documents, mut diagnostics) = (Documents::default(), Diagnostics::new(true));
    let edit = ask("edit", None, Some(subject(false)));
    assert_eq!(
        lines(&diagnostics.changed([(&edit, false)].into_iter(), std::iter::empty(), &documents, LINES)[0]),
        [6]
    );
    let made = ask("made", None, Some(subject(true)));
    diagnostics.changed([].into_iter(), std::iter::empty(), &documents, LINES);
    assert!(
        diagnostics.changed([(&made, false)].into_iter(), std::iter::empty(), &documents, LINES).is_empty(),
        "there is no such document"
    );
    for odd in ["", "@@ -", "@@ -x,1 +1 @@\n", "@@ -0,0 +1,1 @@\n+a\n"] {
        assert_eq!(first_line(odd), 0, "{odd:?}");
    }
}

#[test]
fn finding_d4_a_diagnostic_follows_its_line_and_is_not_told_at_each_keystroke() {
    let (documents, mut diagnostics) = (Documents::default(), Diagnostics::new(true));
    documents.opened(URI, 1, "a\nb\nc\nd\n");
    let one = ask("one", Some(2), None);
    let mut publish =
        || diagnostics.changed([(&one, false)].into_iter(), std::iter::empty(), &documents, LINES);
    assert_eq!(publish()[0].version, Some(1));
    let insert = |version, text: &str| {
        let range = adjutant_core::text::position::Range::default();
        let change =
            adjutant_core::text::document::ContentChange { range: Some(range), text: text.to_owned() };
        documents.changed(URI, version, &[change]);
    };
    insert(2, "new\nnew\n");
    let published = publish();
    assert_eq!(
        (lines(&published[0]), published[0].version),
        (vec![4], Some(2)),
        "it is at the line \"c\" again"
    );
    insert(3, "x");
    assert_eq!(publish()[0].version, Some(3), "published again for clients that drop old versions");
    let published = (4..104).filter(|version| {
        insert(*version, "x");
        !publish().is_empty()
    });
    assert!(published.count() < 8, "not at each keystroke");
    documents.closed(URI);
    assert_eq!(publish()[0].version, None);
}

#[test]
fn a_client_that_does_not_want_versions_is_told_none() {
    let (documents, mut diagnostics) = (Documents::default(), Diagnostics::default());
    documents.opened(URI, 1, "a\nb\n");
    let one = ask("one", Some(1), None);
    let published = diagnostics.changed([(&one, false)].into_iter(), std::iter::empty(), &documents, LINES);
    assert_eq!((published.len(), published[0].version), (1, None));
}
