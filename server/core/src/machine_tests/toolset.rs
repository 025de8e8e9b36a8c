//! A run keeps the tools that it began with, also when tools are added or a fallback model continues.

use std::sync::Arc;

use super::tools::{tool, tools};
use super::{Bench, done, is_model, is_prepare, is_tool, read_of};
use crate::machine::input::{Input, Report};
use crate::policy::observation::ObservedPath;
use crate::prompt::request;
use crate::record::{CallEnd, Event, Mode};
use crate::tool::{Effect, Toolset};

/// Returns the names of the tools in the next request.
pub fn tools_of(bench: &Bench) -> Vec<String> {
    let run = bench.session.open_run().expect("a run");
    let request = request(&bench.session, "any", run.policy.mode, &crate::prompt::models::UNKNOWN);
    request.tools.iter().map(|spec| spec.name.to_string()).collect()
}

fn hash_of_run(bench: &Bench) -> String {
    let started = bench.log.iter().rev().find_map(|record| match &record.event {
        Event::RunStarted { toolset, .. } => Some(toolset.clone()),
        _ => None,
    });
    started.expect("a run")
}

#[test]
fn a_tool_that_is_added_counts_from_the_next_run_on() {
    let mut bench = Bench::new();
    let more = tools().names(Mode::Code).map(str::to_owned).collect::<Vec<_>>();
    let before = tools();
    let counting = tool("count_lines", Effect::Read, &["path"]);
    let all = Toolset::new(vec![tool("read_file", Effect::Read, &["path"]), counting]).expect("two names");
    let all = Arc::new(all);
    bench.prompt("go").unwrap();
    assert_eq!((tools_of(&bench), hash_of_run(&bench)), (more, before.hash().to_owned()));
    bench.session.equip(all.clone());
    assert_eq!(tools_of(&bench).len(), 11, "the run keeps what it began with");
    bench.reply("", &[("count_lines", r#"{"path":"a"}"#)]);
    let call = bench.session.runnable_calls().next().unwrap();
    assert_eq!((call.effect, &*call.title), (Effect::Opaque, "count_lines"), "it is not there");
    bench.input(Input::Cancel { run: None }).unwrap();

    bench.session.equip(all.clone());
    bench.prompt("again").unwrap();
    assert_eq!((tools_of(&bench).len(), hash_of_run(&bench)), (2, all.hash().to_owned()));
    bench.reply("", &[("count_lines", r#"{"path":"a"}"#)]);
    let call = bench.session.runnable_calls().next().unwrap();
    assert_eq!((call.effect, &*call.title), (Effect::Read, "a"));
    bench.report(is_prepare, read_of(ObservedPath::inside("a")));
    bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    // The effect of a tool is in the log, so a version without this tool knows that it changed nothing.
    assert!(bench.replayed().runnable_calls().next().is_none());
    bench.report(is_model, Report::TurnBegan);
}

#[test]
fn the_hash_of_a_set_follows_every_word_of_it_and_names_are_used_once() {
    let one = || tool("one", Effect::Read, &["path"]);
    let hash = |tools: Vec<crate::tool::Tool>| Toolset::new(tools).map(|set| set.hash().to_owned());
    let mut others = vec![
        hash(vec![one()]),
        hash(vec![]),
        hash(vec![tool("other", Effect::Read, &["path"])]),
        hash(vec![tool("one", Effect::Opaque, &["path"])]),
        hash(vec![tool("one", Effect::Read, &["place"])]),
        hash(vec![crate::tool::Tool { description: "Another.".into(), ..one() }]),
        hash(vec![one(), tool("two", Effect::Read, &[])]),
        hash(vec![tool("two", Effect::Read, &[]), one()]),
    ];
    let all = others.len();
    others.sort_by_key(|hash| hash.clone().ok());
    others.dedup();
    assert_eq!(others.len(), all);
    assert_eq!(hash(vec![one(), one()]).unwrap_err().0, "one");
}
