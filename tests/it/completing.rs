//! Completion of mentions and commands in a prompt that is being written, over the wire.
//!
//! Never looks into the server.

use std::fs;

use adjutant_protocol::complete::{PromptCompleteResult, PromptItem, PromptItemKind};
use adjutant_protocol::methods;
use adjutant_testkit::fixture::Workspace;
use serde_json::{Value, json};

use crate::rig::Rig;

const FILES: &str = "
    //- /src/main.rs
    fn main() {}
    //- /src/domain.rs
    one
    //- /docs/my notes.md
    notes
    //- /private/plan.md
    plan
    //- /.gitignore
    target/
    //- /target/main.o
    object
";

fn workspace() -> Workspace {
    let workspace = Workspace::new(FILES);
    workspace.config("[permissions]\ndeny = [\"read_file(private/**)\"]\n");
    fs::create_dir(workspace.path().join(".git")).expect("a repository");
    workspace
}

/// Completes a text at its end, once the names are known.
fn complete(rig: &Rig, text: &str) -> PromptCompleteResult {
    let offset = text.encode_utf16().count();
    loop {
        let params = json!({ "text": text, "offset": offset });
        let done: PromptCompleteResult = rig.call(methods::PROMPT_COMPLETE, params);
        if !done.incomplete {
            return done;
        }
    }
}

fn labels(done: &PromptCompleteResult) -> Vec<&str> {
    done.items.iter().map(|item| item.label.as_str()).collect()
}

#[test]
fn n11_a_mention_is_completed_with_what_fits_the_best_first() {
    let workspace = workspace();
    let rig = Rig::start(&workspace);
    let done = complete(&rig, "é: see @main");
    assert_eq!((done.start, labels(&done)), (7, vec!["src/main.rs", "src/domain.rs"]));
    assert_eq!(done.items[0].insert, "@src/main.rs");
    let kinds: Vec<PromptItemKind> = complete(&rig, "@src").items.iter().map(|item| item.kind).collect();
    assert_eq!(kinds[0], PromptItemKind::Folder);
    // A name with blanks is written so that it is read as one.
    assert_eq!(complete(&rig, "@notes").items[0].insert, "@\"docs/my notes.md\"");
    assert_eq!(labels(&complete(&rig, "@\"docs/my n")), ["docs/my notes.md"]);
    assert_eq!(labels(&complete(&rig, "@dif"))[0], "@diff");
    assert_eq!(
        labels(&complete(&rig, "@"))[..5],
        ["@selection", "@diagnostics", "@diff", "@open", "@symbol:"]
    );
    // What a rule denies, what ignore files exclude, and what is no mention.
    for text in ["@plan", "@main.o", "me@main", "`@main`", "no mention", "@symbol:ma", "@main and more"] {
        assert_eq!(labels(&complete(&rig, text)), [""; 0], "{text}");
    }
    rig.end();
}

#[test]
fn n11_what_was_opened_comes_first_and_new_files_come_by_themselves() {
    let workspace = workspace();
    let rig = Rig::start(&workspace);
    assert_eq!(labels(&complete(&rig, "@rs"))[0], "src/main.rs");
    rig.open("src/domain.rs");
    assert_eq!(labels(&complete(&rig, "@"))[5], "src/domain.rs");
    workspace.write("src/newcomer.rs", "new\n");
    rig.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [{ "uri": workspace.uri("src/newcomer.rs"), "type": 1 }] }),
    );
    while labels(&complete(&rig, "@newcomer")) != ["src/newcomer.rs"] {}
    rig.end();
}

#[test]
fn n11_a_place_that_is_none_is_refused() {
    let workspace = workspace();
    let rig = Rig::start(&workspace);
    for (text, offset) in [("@a", 3), ("𝄞", 1)] {
        let params = json!({ "text": text, "offset": offset });
        let error = rig.try_call::<Value>(methods::PROMPT_COMPLETE, params).expect_err("no place");
        assert!(error.code == -32602 && error.message.contains("no place between two characters"), "{error}");
    }
    rig.end();
}

#[test]
fn p19_commands_are_completed_at_the_beginning_of_a_prompt() {
    let workspace = workspace();
    workspace.write(
        ".adjutant/commands/release.md",
        "---\ndescription: Make a release\nargument-hint: VERSION\n---\nDo it.\n",
    );
    workspace.write(".adjutant/commands/notes.txt", "no command\n");
    let rig = Rig::start(&workspace);
    let done = complete(&rig, "/re");
    let release = PromptItem {
        label: "/release VERSION".to_owned(),
        insert: "/release ".to_owned(),
        kind: PromptItemKind::Command,
        detail: Some("Make a release".to_owned()),
    };
    assert_eq!((done.start, &done.items[..]), (0, &[done.items[0].clone(), release][..]));
    assert_eq!(labels(&done), ["/review", "/release VERSION"]);
    assert_eq!(labels(&complete(&rig, "/")), ["/init", "/review", "/compact", "/release VERSION"]);
    for text in ["see /re", "/usr/re", "/release 1"] {
        assert_eq!(labels(&complete(&rig, text)), [""; 0], "{text}");
    }
    rig.end();
}
