//! The editor and the terminal answer the same ask at the same time.
//!
//! Never requires a certain winner: only that exactly one answer wins, and every side learns which.

use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use adjutant_protocol::ask::{AskKind, Resolution};
use adjutant_testkit::editor::Answer;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::inbox;
use adjutant_testkit::model::{ModelServer, Reply};
use adjutant_testkit::process::wait_until;
use notify::{RecursiveMode, Watcher};
use serde_json::json;

use super::{Held, command, ledger, run};
use crate::rig::{Rig, count, facts_named};

/// Number of races in one process.
const RACES: usize = 200;
/// Longer than the pause between two reads of the inbox where the system has no file events.
const IDLE: Duration = Duration::from_millis(1_500);

#[test]
fn n02_two_doors_race_two_hundred_times_and_each_time_one_effect() {
    // One more than there are races: an answer after the end of its ask is found when the next ask opens.
    let turns = (0..=RACES).map(|_| command("echo ran >> ledger"));
    let model = ModelServer::start(turns.chain([Reply::text("Done.")]));
    let workspace = Workspace::new("");
    workspace.openai(&model.base_url());
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    let run = rig.prompt(&session, "go on").run_id;
    let (mut by_inbox, mut allowed) = (0, 0);
    for race in 0..RACES {
        let ask = rig.await_ask_of(AskKind::Command).ask_id;
        rig.await_delivery(&ask);
        // One allows and one rejects, alternating, so that the ledger shows the winner.
        let options = if race % 2 == 0 { ["allow", "reject"] } else { ["reject", "allow"] };
        let start = Barrier::new(2);
        let letter = thread::scope(|scope| {
            let other = scope.spawn(|| {
                start.wait();
                inbox::leave(&workspace, &session, &ask, &Answer::option(options[0]))
            });
            start.wait();
            // The head start changes, so that each side wins sometimes.
            (0..(race % 8) * 20_000).for_each(|_| std::hint::spin_loop());
            rig.respond(&ask, options[1]);
            other.join().expect("the other thread")
        });
        let Resolution::Selected { option_id, surface, .. } = rig.await_resolved(&ask) else {
            panic!("closed in another way");
        };
        let won = usize::from(surface == "inbox");
        assert_eq!(option_id, options[1 - won], "{surface}");
        by_inbox += won;
        allowed += usize::from(option_id == "allow");
        wait_until("the answer to be removed", || letter.is_gone());
    }
    let last = rig.await_ask_of(AskKind::Command).ask_id;
    rig.respond(&last, "reject");
    rig.await_run_end(&session, &run);
    eprintln!("{by_inbox} of {RACES} won by the inbox");
    assert_eq!(ledger(&workspace), allowed);
    assert_eq!(count(&workspace, &session, "ask_closed"), RACES + 1);
    assert_eq!(facts_named(&workspace, &session, "tool_started").len(), allowed);
    assert!(by_inbox > 0 && by_inbox < RACES, "one side always wins: this is no race");
    rig.end();
}

#[test]
fn n02_two_terminals_and_an_editor_race_and_all_are_told_who_won() {
    for race in 0..6 {
        let held = Held::at_command();
        held.editor.await_delivery(&held.ask.ask_id);
        let ask = held.ask.ask_id.0.as_str();
        let terminals = thread::scope(|scope| {
            let one = scope.spawn(|| run(&held.workspace, &["answer", ask, "allow"]));
            let two = scope.spawn(|| run(&held.workspace, &["answer", ask, "reject", "--reason", "no"]));
            if race % 2 == 0 {
                held.editor.respond(&held.ask.ask_id, "reject");
            }
            [one, two].map(|terminal| terminal.join().expect("a terminal"))
        });
        let resolution = held.editor.await_resolved(&held.ask.ask_id);
        let Resolution::Selected { option_id, text, surface } = &resolution else { panic!("{resolution:?}") };
        for (terminal, given) in terminals.iter().zip([("allow", None), ("reject", Some("no"))]) {
            let won = surface == "inbox" && (option_id.as_str(), text.as_deref()) == given;
            if won {
                assert_eq!(terminal.expect(0).stdout, "accepted\n");
            } else {
                let line = terminal.expect(4).stdout.replace("\n  ", " ");
                assert!(
                    line.contains("already answered: ")
                        && line.contains(if surface == "inbox" {
                            "from another"
                        } else {
                            "where its session"
                        }),
                    "{line}"
                );
            }
        }
        held.editor.await_run_end(&held.session, &held.run);
        assert_eq!(held.ledger(), usize::from(option_id == "allow"));
        assert_eq!(count(&held.workspace, &held.session, "ask_closed"), 1);
        held.end();
    }
}

#[test]
fn n02_an_answer_is_taken_by_an_event_and_nothing_looks_while_idle() {
    let question = Reply::call("ask_user", json!({"question": "Which?", "options": []}));
    let held = Held::at_ask([question], AskKind::Followup);
    let folder = inbox::folder(&held.workspace, &held.session);
    wait_until("the inbox", || folder.is_dir());
    let (heard, events) = channel();
    let mut watch = notify::recommended_watcher(heard).expect("events");
    watch.watch(&folder, RecursiveMode::NonRecursive).expect("a watch");
    // The first reads may still be under way; a server that polls would never be quiet for so long.
    let quiet = (0..1_000).find(|_| events.recv_timeout(IDLE).is_err());
    let last = events.try_recv();
    assert!(quiet.is_some_and(|looks| looks < 20) && last.is_err(), "{quiet:?} looks, {last:?}");
    let since = Instant::now();
    let letter =
        inbox::leave(&held.workspace, &held.session, &held.ask.ask_id, &Answer::Text("blue".to_owned()));
    wait_until("the answer to be accepted", || letter.is_gone());
    eprintln!("accepted after {:?}", since.elapsed());
    held.editor.await_run_end(&held.session, &held.run);
    held.end();
}
