//! `adjutant demo`: a scripted model fixes a small project, for real.
//!
//! The model reads its replies from a file and says so; the server, the edits, the
//! asks and the test are the real ones. Never touches the user's own files,
//! settings or sessions, and never leaves a file.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use adjutant_protocol::session::{ContentBlock, Overrides, RunEnd};
use adjutant_protocol::state::Outcome;
use anyhow::Context;

use crate::settings::Sources;

use super::Exit;
use super::conversation::{Answers, Conversation, LeaveReason, View, report_leaving};
use super::page::{Ink, Printer};
use super::present::Person;
use crate::uri;

const GREET: &str = include_str!("demo/greet.sh");
const TEST: &str = include_str!("demo/test.sh");
const SCRIPT: &str = include_str!("demo/script.toml");
const SETTINGS: &str = "\
model = \"demo/scripted\"

[providers.demo]
wire = \"scripted\"
script = \"script.toml\"
";
const PROMPT: &str = "The test of this project fails. Find out why, fix it, and run the test.";

/// A folder that is removed when the demo ends.
struct DemoFolder {
    folder: PathBuf,
}

impl DemoFolder {
    fn make() -> anyhow::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("draw a random name: {error}"))?;
        let name = format!("adjutant-demo-{:016x}", u64::from_le_bytes(random));
        let folder = std::env::temp_dir().join(name);
        let make = || format!("make the scratch folder \"{}\"", folder.display());
        fs::DirBuilder::new().mode(0o700).create(&folder).with_context(make)?;
        let scratch = DemoFolder { folder: folder.canonicalize().with_context(make)? };
        fs::create_dir(scratch.project()).with_context(make)?;
        let files = [
            ("project/greet.sh", GREET),
            ("project/test.sh", TEST),
            ("script.toml", SCRIPT),
            ("config.toml", SETTINGS),
        ];
        for (name, text) in files {
            fs::write(scratch.folder.join(name), text).with_context(make)?;
        }
        Ok(scratch)
    }

    fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// Returns only the settings of the demo, with its own state directory.
    fn sources(&self, mut sources: Sources) -> Sources {
        let path = |name: &str| self.folder.join(name).to_string_lossy().into_owned();
        sources.environment.insert("ADJUTANT_CONFIG".to_owned(), path("config.toml"));
        sources.environment.insert("ADJUTANT_STATE_DIR".to_owned(), path("state"));
        sources.environment.remove("ADJUTANT_MODEL");
        sources
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        // If it cannot be removed, it is in the system's folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Plays the demo.
pub async fn demo(sources: Sources) -> anyhow::Result<Exit> {
    let scratch = DemoFolder::make()?;
    let project = scratch.project();
    let mut page = Printer::of_stdout();
    page.line_in(
        Ink::Bold,
        "Adjutant demo. The model is scripted: it reads its words from a file, without network or key.",
    );
    page.line("The server, the edit, the questions and the test are real.");
    page.line(&format!("Folder: {} (removed at the end)", project.display()));
    page.line("");
    if test(&mut page, &project, "before")? {
        page.line_in(Ink::Red, "The test should fail before the demo begins, and it passed.");
        return Ok(Exit::Failed);
    }
    page.line("");
    page.line_in(Ink::Bold, &format!("> {PROMPT}"));
    let answers = Person::at_terminal(false, false).map_or(Answers::Demo, Answers::Person);
    let mut talk = Conversation::start(
        scratch.sources(sources),
        std::slice::from_ref(&project),
        View::together(),
        answers,
    )
    .await?;
    let ended = carry_out(&mut talk, &project).await;
    talk.finish().await;
    let end = match ended {
        Ok(end) => end,
        Err(left) => return report_leaving(left),
    };
    page.line("");
    if end.outcome == Outcome::Cancelled {
        page.line("You stopped the task, so the demo ends here. `adjutant demo` begins it again.");
        page.written()?;
        return Ok(Exit::Failed);
    }
    let passed = test(&mut page, &project, "after")?;
    page.line("");
    page.written()?;
    if page.is_broken() {
        return Ok(Exit::Fine);
    }
    if !passed {
        page.line_in(Ink::Red, "The test still fails. If you rejected the change, that is why. If not, this is a fault of Adjutant.");
        return Ok(Exit::Failed);
    }
    page.line_in(Ink::Green, "The test failed before and passes now.");
    what_next(&mut page);
    page.written()?;
    Ok(Exit::Fine)
}

async fn carry_out(talk: &mut Conversation, project: &Path) -> Result<RunEnd, LeaveReason> {
    talk.begin_session(Some(uri::of_path(project))).await?;
    let words = vec![ContentBlock::Text { text: PROMPT.to_owned() }];
    talk.prompt(words, &Overrides::default()).await?;
    talk.until_over().await
}

/// Runs the test of the project and prints its output. Returns whether it passed.
fn test(page: &mut Printer, project: &Path, when: &str) -> anyhow::Result<bool> {
    page.line_in(Ink::Dim, &format!("The test {when} (sh test.sh):"));
    let mut command = Command::new("sh");
    command.arg("test.sh").current_dir(project).stdin(Stdio::null());
    let ran = command.output().context("run the test with `sh`")?;
    page.block(&String::from_utf8_lossy(&ran.stdout));
    page.block(&String::from_utf8_lossy(&ran.stderr));
    Ok(ran.status.success())
}

fn what_next(page: &mut Printer) {
    page.line("");
    page.line("With a model of your own:");
    page.block("  adjutant setup\n  adjutant run \"make the failing test pass\"");
    page.line("In your editor:");
    page.block(
        "  adjutant editor EDITOR    installs its client\n  adjutant lsp              is the language server",
    );
}
