//! The page about the prompt, `docs/prompt.md`: it is made from the sections themselves, and `UPDATE_DOCS=1` writes it again.
//!
//! Never has words of its own about a section; what the page says around them is here.

use std::fs;
use std::path::Path;

use adjutant::tools::ToolRegistry;
use adjutant_core::prompt::estimate;
use adjutant_core::prompt::models::{EditTool, UNKNOWN};
use adjutant_core::prompt::sections::{Lifetime, sections};
use adjutant_core::prompt::words::{BY_APPLY_PATCH, EDITS, NO_TOOLS, SUMMARISE};
use adjutant_core::record::{ContextKind, ContextText, Mode};
use adjutant_core::session::Session;
use tiktoken_rs::{cl100k_base_singleton, o200k_base_singleton};

/// The most tokens of the first request, with the tools and without what a user or a workspace adds.
const MAX_FIRST: usize = 2_100;

const HEAD: &str = "# The prompt

What the model gets besides the conversation, in the order of a request. A test makes this page from the words themselves; \
change those, and run `UPDATE_DOCS=1 cargo test -p adjutant --test it prompt_page`. What your own session has is shown by \
`adjutant sessions context ID --texts`.

What never changes comes first, so that a provider has it in its cache. Of the examples, everything in `<…>` is made up. \
No word on this page was tried on a real model by these tests; [eval.md](eval.md) says how you choose words and models by \
figures.
";

fn text(kind: ContextKind, source: &str, text: &str) -> ContextText {
    let (name, summary) = match kind {
        ContextKind::Skill => ("<release>".to_owned(), "<how a release is made>".to_owned()),
        _ => Default::default(),
    };
    ContextText { kind, source: source.to_owned(), text: text.into(), name, summary, left_out: 0 }
}

fn example() -> Session {
    let tools = ToolRegistry::default().current(EditTool::EditFile).set().clone();
    let session = Session::new("s-0".into(), vec!["</home/you/project>".to_owned()]).with_tools(tools);
    session.with_texts(&[
        text(
            ContextKind::Surroundings,
            "this machine",
            "# Surroundings\nPlatform: <linux x86_64>; commands run in </bin/sh>.\nDate: <Monday, 2026-11-30 (UTC, UTC+00:00)>.\n\
             Git: <main>; <changed: src/lib.rs>.\nCommit <1a2b3c4d> is called by its author: \"<a title>\"",
        ),
        text(ContextKind::Instructions, "AGENTS.md", "<the text of the file>"),
        text(ContextKind::Skill, "<.agents/skills/release/SKILL.md>", ""),
        text(ContextKind::Memory, "AGENTS.memory.md", "<the text of the file>"),
    ])
}

fn page() -> String {
    let session = example();
    let code = sections(&session, Mode::Code, &UNKNOWN);
    let mut page = HEAD.to_owned();
    page.push_str("\n| part | from | changes | bytes | about tokens |\n|---|---|---|---|---|\n");
    for section in &code {
        let changes = match section.lifetime {
            Lifetime::Version => "with the version",
            Lifetime::Session => "with the session",
            Lifetime::Run => "when a run begins",
        };
        let (bytes, tokens) = (section.text.len(), estimate::of_text(&section.text));
        let source = section.source.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        page.push_str(&format!("| `{}` | {source} | {changes} | {bytes} | {tokens:.0} |\n", section.name));
    }
    let specs = session.tools.specs(Mode::Code);
    let json: usize = specs
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len())
        .sum();
    page.push_str(&format!(
        "| `tools` | Adjutant | with the session, its mode and its model | {json} | {:.0} |\n",
        estimate::of_tools(&specs)
    ));
    page.push_str("| `conversation` | you and the model | grows, until it is compacted | | |\n");
    page.push_str("| `reminder` | the editor, the plan, this machine | every request; never part of the conversation | | |\n");
    let block = |title: &str, text: &str| format!("\n## {title}\n\n```text\n{}\n```\n", text.trim_end());
    for section in &code {
        page.push_str(&block(&format!("`{}`", section.name), &section.text));
    }
    let mode = sections(&session, Mode::Ask, &UNKNOWN).into_iter().find(|section| section.name == "mode");
    page.push_str(&block("`mode`, only in ask mode", &mode.expect("ask mode has one").text));
    page.push_str("\n## Variants\n\nA model that edits by `apply_patch` has this line instead of the one about edit_file:\n");
    page.push_str(&format!("\n```text\n{}\n```\n", BY_APPLY_PATCH.replace(EDITS, "")));
    page.push_str(&format!(
        "\nA model without tools has these rules:\n\n```text\n{}\n```\n",
        NO_TOOLS.trim_end()
    ));
    page.push_str(&block("The request for a summary", SUMMARISE));
    page.push_str("\n## Tools\n\n| tool | in ask mode | what the model is told |\n|---|---|---|\n");
    let ask: Vec<&str> = session.tools.names(Mode::Ask).collect();
    for tool in specs.iter() {
        let is_in_ask = if ask.contains(&&*tool.name) { "yes" } else { "no" };
        let told = tool.description.replace('|', "\\|").replace('\n', " ");
        page.push_str(&format!("| `{}` | {is_in_ask} | {told} |\n", tool.name));
    }
    page
}

#[test]
fn s60_the_page_about_the_prompt_has_the_words_that_are_sent() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/prompt.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).expect("it is written");
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == page,
        "the words changed: run `UPDATE_DOCS=1 cargo test -p adjutant --test it prompt_page`, and read them"
    );
}

#[test]
fn s60_the_first_request_is_small() {
    for edits in EditTool::ALL {
        let tools = ToolRegistry::default().current(edits).set().clone();
        let surroundings = example().texts[0].clone();
        let session = Session::new("s-0".into(), vec!["/home/you/project".to_owned()])
            .with_tools(tools)
            .with_texts(&[surroundings]);
        let texts =
            sections(&session, Mode::Code, &UNKNOWN).into_iter().map(|section| section.text.to_string());
        let specs = session.tools.specs(Mode::Code);
        let tools =
            specs.iter().map(|tool| format!("{} {} {}", tool.name, tool.description, tool.parameters));
        let all: Vec<String> = texts.chain(tools).collect();
        for (name, tokenizer) in [("o200k", o200k_base_singleton()), ("cl100k", cl100k_base_singleton())] {
            let count: usize = all.iter().map(|text| tokenizer.encode_ordinary(text).len()).sum();
            assert!(count <= MAX_FIRST, "{edits:?}: {count} tokens of {name}");
        }
    }
}
