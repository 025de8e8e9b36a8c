//! Mentions in the words of a prompt, through the whole server: what reaches the model, what is left as it is, what is refused.
//!
//! Never trusts the update alone; also reads the request to the model.

use std::fs;
use std::os::unix::fs::symlink;

use adjutant_protocol::SessionId;
use adjutant_protocol::methods;
use adjutant_protocol::session::PromptResult;
use adjutant_protocol::start::StartResult;
use adjutant_protocol::update::Update;
use adjutant_testkit::editor::RpcError;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::cli::lines;
use crate::images::{coded, png};
use crate::plain::range;
use crate::rig::{Rig, refused};
use crate::stage::edit;

const FILES: &str = "
    //- /src/a.rs
    fn main() {
        let x = 1
    }
    //- /src/deep/b.rs
    pub fn parse() {}
    //- /Makefile
    all:
    //- /.env
    TOKEN=hunter2
    //- /private/plan.md
    a plan of gold
";

struct Talk {
    // Dropped first, so that the model lives as long as the server.
    rig: Rig,
    model: ModelServer,
    session: SessionId,
    workspace: Workspace,
}

impl Talk {
    fn new(settings: &str) -> Self {
        let model = ModelServer::answering(|_| Reply::text("Seen."));
        let workspace = Workspace::new(FILES);
        workspace.openai(&model.base_url()).add_config("images = true\n").add_config(settings);
        let rig = Rig::start(&workspace);
        let session = rig.new_session();
        Self { rig, model, session, workspace }
    }

    fn try_prompt(&self, words: &str, more: Value) -> Result<PromptResult, RpcError> {
        let mut params = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": words }] });
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        self.rig.try_call(methods::SESSION_PROMPT, params)
    }

    /// Prompts, and returns what was added to the words, and the names that clients show. The model gets the same.
    fn prompt(&self, words: &str, more: Value) -> (String, Vec<String>) {
        let before = self.rig.updates().len();
        let result = self.try_prompt(words, more).expect("it is accepted");
        self.rig.await_run_end(&self.session, &result.run_id);
        let shown = self.rig.updates().into_iter().skip(before).find_map(|update| match update.update {
            Update::UserMessage { text, added, attached, .. } => {
                Some((text, added.unwrap_or_default(), attached))
            }
            _ => None,
        });
        let (text, added, attached) = shown.expect("the prompt is shown");
        assert_eq!(text.strip_suffix(added.as_str()), Some(words), "the words stay as they are");
        let last = self.last_request();
        let coded = json!(text).to_string();
        assert!(last.contains(coded.trim_matches('"')), "{last} has {coded}");
        (added, attached)
    }

    fn last_request(&self) -> String {
        let requests = self.model.requests();
        String::from_utf8(requests.last().expect("there is one").body.clone()).expect("a request is text")
    }
}

#[test]
fn n08_what_a_prompt_mentions_is_quoted_as_the_editor_has_it() {
    let talk = Talk::new("");
    talk.rig.open("src/a.rs");
    talk.rig.type_at("src/a.rs", 0, "// unsaved\n");
    let (added, attached) = talk.prompt(
        "Compare @src/a.rs:1-2 with @src/deep/b.rs and the @Makefile, see @src/ and @symbol:parse, @open.",
        json!({}),
    );
    assert_eq!(
        attached,
        [
            "src/a.rs, lines 1 to 2",
            "src/deep/b.rs",
            "Makefile",
            "src/",
            "definitions of `parse`",
            "documents that are open in the editor"
        ]
    );
    for part in [
        "- src/a.rs, lines 1 to 2:\n1\t// unsaved\n2\tfn main() {\n- src/deep/b.rs:\n1\tpub fn parse() {}\n",
        "- Makefile:\n1\tall:\n- src/:\n\ta.rs\n\tdeep/\n",
        "- definitions of `parse`:\n\tsrc/deep/b.rs:1:pub fn parse() {}\n",
        "- documents that are open in the editor:\n\tsrc/a.rs (not saved)\n",
    ] {
        assert!(added.contains(part), "{added} has {part}");
    }
    talk.rig.end();
}

#[test]
fn n08_words_with_an_at_sign_that_name_nothing_are_left_as_they_are() {
    let talk = Talk::new("");
    let words = "mail me@example.org about @Override, @babel/core, @src, @private and `@src/a.rs`\n```\n@Makefile\n```";
    assert_eq!(talk.prompt(words, json!({})), (String::new(), Vec::new()));
    // A mention that can only be a path, and that no file has, is named to the model, which would look for the file.
    let (added, attached) = talk.prompt("see @src/nope.rs and @symbol:nothing_of_this", json!({}));
    assert_eq!(
        attached,
        [
            "@src/nope.rs (the workspace has no such file)",
            "definitions of `nothing_of_this` (no line looks like one)"
        ]
    );
    assert!(added.ends_with("(no line looks like one)\n"), "{added}");
    talk.rig.end();
}

#[test]
fn n08_a_mention_reads_no_more_than_a_read_without_a_question() {
    let talk = Talk::new("[permissions]\ndeny = [\"read_file(private/**)\"]");
    symlink(talk.workspace.path().join("private/plan.md"), talk.workspace.path().join("other.md"))
        .expect("a link");
    fs::hard_link(talk.workspace.path().join("private/plan.md"), talk.workspace.path().join("third.md"))
        .expect("a second name");
    let (added, attached) =
        talk.prompt("@.env @private/plan.md @other.md @third.md @private/ @symbol:TOKEN", json!({}));
    assert_eq!(attached[..4], [".env", "private/plan.md", "private/plan.md", "third.md"]);
    assert!(!added.contains("hunter2") && !added.contains("gold") && !added.contains("\tplan.md"), "{added}");

    let outside = talk.workspace.write_beside("secret.txt", "x\n");
    symlink(&outside, talk.workspace.path().join("way-out.txt")).expect("a link");
    let name = outside.display().to_string();
    for words in
        [format!("see @{name}"), "see @../config/secret.txt".to_owned(), "see @way-out.txt".to_owned()]
    {
        let error = talk.try_prompt(&words, json!({})).expect_err("it is refused");
        assert!(error.message.contains("is outside the workspace folders"), "{words}: {error}");
        assert_eq!(refused::<Value>(Err(error)), (-33017, "PromptInvalid".to_owned()), "{words}");
    }
    talk.rig.end();
}

#[test]
fn n08_a_mention_that_cannot_be_served_is_refused_in_words() {
    let talk = Talk::new("");
    let many: String = (0..21).map(|number| format!("@many/{number}.txt ")).collect();
    (0..21).for_each(|number| talk.workspace.write(&format!("many/{number}.txt"), "x\n"));
    for (words, why) in [
        ("read @https://a.example/b", "cannot read web pages yet; paste the text"),
        ("fix @selection", "no selection came with it; select lines"),
        ("fix @diagnostics", "no problems of the workspace came with it"),
        ("see @src/a.rs:9", "mentions line 9 of \"src/a.rs\", which has 3 lines"),
        (&many, "mentions at most 20 files, folders and lists and this one has 21"),
    ] {
        let error = talk.try_prompt(words, json!({})).expect_err("it is refused");
        assert!(error.message.contains(why), "{words}: {error}");
        assert_eq!(refused::<Value>(Err(error)), (-33017, "PromptInvalid".to_owned()), "{words}");
    }
    assert_eq!(talk.model.requests().len(), 0);
    talk.rig.end();
}

#[test]
fn n08_the_selection_and_the_problems_are_those_that_came_with_the_prompt() {
    let talk = Talk::new("");
    talk.rig.open("src/a.rs");
    let uri = talk.workspace.uri("src/a.rs");
    let problem = json!({ "message": "expected `;`", "range": range((1, 13), (1, 13)), "severity": 1, "source": "rustc" });
    let outside = json!({ "uri": "file:///etc/hosts", "diagnostics": [{ "message": "not this" }] });
    let secret =
        json!({ "uri": talk.workspace.uri(".env"), "diagnostics": [{ "message": "hunter2 is weak" }] });
    let more = json!({
        "origin": { "uri": uri, "range": range((1, 0), (2, 0)) },
        "diagnostics": [{ "uri": uri, "diagnostics": [problem] }, outside, secret],
    });
    let (added, attached) = talk.prompt("Fix @diagnostics in @selection", more);
    assert_eq!(attached, ["problems that the editor reports", "src/a.rs, line 2"]);
    assert!(added.contains("\tsrc/a.rs:2: error [rustc]: expected `;`\n"), "{added}");
    assert!(added.contains("- src/a.rs, line 2:\n2\t    let x = 1\n"), "{added}");
    assert!(!added.contains("not this") && !added.contains("hunter2"), "{added}");
    // A start comes with its place: nothing is quoted twice.
    let started: StartResult = talk.rig.call(
        methods::START,
        json!({ "text": "Why @selection, see @Makefile", "uri": uri, "range": range((1, 0), (2, 0)) }),
    );
    talk.rig.await_run_end(&started.session_id, &started.run_id);
    let last = talk.last_request();
    assert_eq!(last.matches("let x = 1").count(), 1, "{last}");
    assert!(last.contains("- Makefile:"), "{last}");
    talk.rig.end();
}

#[test]
fn n08_the_diff_is_what_this_session_has_changed() {
    let model = ModelServer::start([
        edit("src/a.rs", "let x = 1", "let x = 2"),
        Reply::text("Done."),
        Reply::text("Seen."),
    ]);
    let workspace = Workspace::new(FILES);
    workspace.openai(&model.base_url()).add_config("[edits]\nmode = \"auto\"\n");
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    rig.run_to_end(&session, "make it two");
    rig.run_to_end(&session, "look at @diff");
    let request = model.requests().pop().expect("there is one");
    let request = String::from_utf8(request.body).expect("text");
    for line in ["- changes of this session:", "\\t-    let x = 1", "\\t+    let x = 2"] {
        assert!(request.contains(line), "{request} has {line}");
    }
    rig.end();
}

#[test]
fn n08_an_image_that_is_mentioned_goes_along_as_an_image() {
    let talk = Talk::new("");
    fs::write(talk.workspace.path().join("shot.png"), png(1)).expect("a file");
    let (_, attached) = talk.prompt("What is in @shot.png?", json!({}));
    assert_eq!(attached, ["shot.png (as an image)"]);
    assert!(talk.last_request().contains(&coded(&png(1))));
    let shown = talk.rig.updates().into_iter().find_map(|update| match update.update {
        Update::UserMessage { images, .. } => Some(images.len()),
        _ => None,
    });
    assert_eq!(shown, Some(1));
    talk.rig.end();
}

#[test]
fn n08_at_a_terminal_a_task_mentions_files_too() {
    let model = ModelServer::answering(|_| Reply::text("Seen."));
    let workspace = Workspace::new(FILES);
    workspace.openai(&model.base_url());
    lines::run(&workspace, &["run", "look at @src/a.rs:2"]).expect(0);
    let request = model.requests().pop().expect("there is one");
    let request = String::from_utf8(request.body).expect("text");
    assert!(request.contains("- src/a.rs, line 2:\\n2\\t    let x = 1\\n"), "{request}");
    let ran = lines::run(&workspace, &["run", "look at @https://a.example/"]);
    assert!(ran.expect(1).stderr.contains("cannot read web pages yet"), "{ran}");
}
