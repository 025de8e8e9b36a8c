//! Properties of every legal log.
//!
//! Never checked only at the end: each property must be true after every record or every batch.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_protocol::state::{RequiredAction, State, SubState};
use adjutant_protocol::update::Update;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::Bench;
use super::allowed::{consent, edits_mode, was_free};
use super::oracle::{Guess, guess};
use super::random::{Dice, input, report};
use crate::machine::accept::{Refusal, accept};
use crate::machine::input::{Answer, Choice, Decision, Input, Prompt, Stamp};
use crate::machine::step::{BatchPart, Step, Wake, WakeReason, next_steps};
use crate::prompt::message::{GenerationSettings, ModelMessage};
use crate::prompt::models::known;
use crate::prompt::request;
use crate::record::{AllowedBy, AskKind, BatchId, EditsMode, Event, HunkSet, Record, read, read_for_review};
use crate::session::Session;
use crate::session::applied::changes_of_lines;
use crate::wire::state::{EDGES, Projector, Updates, view};

pub fn drive(bytes: &[u8]) -> Bench {
    let mut bench = Bench::new();
    let mut dice = Dice::new(bytes);
    while !dice.is_used_up() {
        let input = input(&bench, &mut dice);
        let _ = bench.input(input);
    }
    bench
}

pub fn numbers() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..400)
}

/// Folds the log again and calls `check` with the session after each record.
pub fn at_each_record(log: &[Record], mut check: impl FnMut(&Session, &[Record])) {
    let mut session = Session::new("s1".into(), vec!["/ws".to_owned()]).with_tools(super::tools::tools());
    check(&session, &[]);
    for (index, record) in log.iter().enumerate() {
        session.apply(record);
        check(&session, &log[..=index]);
    }
}

/// The same after each batch: the states that a process can find when it opens the log.
fn at_each_batch(bench: &Bench, mut check: impl FnMut(&Session)) {
    at_each_record(&bench.log, |session, log| {
        if log.is_empty() || bench.batches.contains(&log.len()) {
            check(session);
        }
    });
}

/// Returns how many logs to try. A long run tries ten thousand (S01); `tests/run --long` sets this variable.
fn logs() -> u32 {
    if std::env::var_os("ADJUTANT_SLOW").is_some() { 10_000 } else { 300 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: logs(), ..ProptestConfig::default() })]

    #[test]
    fn s01_s09_a_replayed_session_equals_the_live_one_after_every_fact(bytes in numbers()) {
        let mut bench = Bench::new();
        let mut dice = Dice::new(&bytes);
        while !dice.is_used_up() {
            let input = input(&bench, &mut dice);
            let _ = bench.input(input);
            prop_assert_eq!(&bench.replayed(), &bench.session);
        }
        // The log also survives a round trip through JSON.
        let text: Vec<String> =
            bench.log.iter().map(|record| serde_json::to_string(&record.event).unwrap()).collect();
        let mut session = Session::new("s1".into(), vec!["/ws".to_owned()]).with_tools(super::tools::tools());
        let mut unread = session.clone().without_reads();
        let mut bare = unread.clone();
        for (record, line) in bench.log.iter().zip(&text) {
            let event: Event = serde_json::from_str(line).unwrap();
            prop_assert_eq!(&event, &record.event);
            prop_assert_eq!(read(line).unwrap(), Some(event.clone()));
            let of = |event| Record { seq: record.seq, at: record.at, last: record.last, event };
            bare.apply(&of(read_for_review(line).unwrap().expect("a known event")));
            let record = of(event);
            session.apply(&record);
            unread.apply(&record);
        }
        prop_assert_eq!(&session, &bench.session);
        // Neither what the model said nor what tools returned decides which changes there are.
        prop_assert_eq!((&bare.applied, &bare.changes, &bare.roots), (&session.applied, &session.changes, &session.roots));
        // Nor is anything of them lost where a reader keeps them.
        let kept = bench.session.applied.to_lines(usize::MAX).expect("they fit");
        let kept = changes_of_lines(&String::from_utf8(kept).unwrap().into()).expect("it reads what it wrote");
        let known: Vec<_> = kept.iter().map(|change| change.read().expect("its line is whole")).collect();
        prop_assert!(known.iter().eq(bench.session.applied.all()));
        // What the model knows of files changes nothing else.
        prop_assert_eq!(&unread, &session.without_reads());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn s09_s10_a_snapshot_and_the_updates_after_it_equal_the_snapshot_at_the_end(bytes in numbers()) {
        let bench = drive(&bytes);
        // After every batch, the state that the updates published is the state of the session.
        let mut session = Session::new("s1".into(), vec!["/ws".to_owned()]).with_tools(super::tools::tools());
        let mut published = view(&session);
        let mut open: BTreeSet<String> = BTreeSet::new();
        let mut projector = Projector::new(&session);
        for record in &bench.log {
            session.apply(record);
            let updates = match projector.project(&session, record) {
                Updates::Lasting(updates) => {
                    prop_assert!(record.event.is_barrier(), "{} may be lost", record.event.name());
                    updates
                }
                Updates::Passing(updates) => updates,
            };
            for update in updates {
                match update {
                    Update::StateUpdate(state) => published = state,
                    Update::Ask(adjutant_protocol::update::AskChange::Opened { ask }) => {
                        open.insert(ask.ask_id.0);
                    }
                    Update::Ask(adjutant_protocol::update::AskChange::Closed { ask_id, .. }) => {
                        open.remove(&ask_id.0);
                    }
                    _ => {}
                }
            }
            if record.last {
                prop_assert_eq!(&published, &view(&session));
            }
            let now: BTreeSet<String> = session.open_asks().map(|ask| ask.id.0.clone()).collect();
            prop_assert_eq!(&open, &now);
        }
    }

    #[test]
    fn s09_what_is_told_again_is_the_same_for_a_reader_that_forgets_what_it_told(bytes in numbers()) {
        let new = || Session::new("s1".into(), vec!["/ws".to_owned()]).with_tools(super::tools::tools());
        let (mut whole, mut forgetful) = (new(), new());
        let (mut first, mut again) = (Projector::new(&whole), Projector::new(&forgetful));
        for record in &drive(&bytes).log {
            prop_assert_eq!(whole.is_out_of_place(&record.event), forgetful.is_out_of_place(&record.event));
            whole.apply(record);
            forgetful.apply(record);
            prop_assert_eq!(first.project(&whole, record), again.project(&forgetful, record));
            prop_assert_eq!(first.run_of(&whole, record), again.run_of(&forgetful, record));
            forgetful.forget_published(&record.event);
        }
    }

    #[test]
    fn s71_each_request_begins_with_the_one_before_it_unless_its_turn_names_what_changed(bytes in numbers()) {
        let mut last: Option<(String, Vec<ModelMessage>)> = None;
        let mut is_broken = false;
        at_each_record(&drive(&bytes).log, |session, log| {
            let Some(Event::TurnStarted { compacts, .. }) = log.last().map(|record| &record.event) else { return };
            let run = session.open_run().expect("a turn is of a run");
            is_broken |= run.turn.as_ref().is_some_and(|turn| turn.cache_break.is_some());
            if compacts.is_some() {
                return;
            }
            // As to a model without images: an image that a newer one pushes out is named by no turn.
            let request = request(session, "m", run.policy.mode, &known("m"));
            let now = (request.system.to_string(), request.messages);
            if let (Some((system, messages)), false) = (&last, is_broken) {
                assert_eq!(&now.0, system);
                let differing = messages.iter().zip(&now.1).position(|(before, now)| before != now);
                assert_eq!(differing, None, "{:?}", differing.map(|at| (&messages[at], &now.1[at])));
                assert!(messages.len() <= now.1.len(), "{messages:?}");
            }
            (last, is_broken) = (Some(now), false);
        });
    }

    #[test]
    fn s02_a_run_requires_action_exactly_while_a_blocking_ask_is_open(bytes in numbers()) {
        at_each_record(&drive(&bytes).log, |session, _| {
            assert_eq!(view(session).state == State::RequiresAction, session.has_blocking_ask());
        });
    }

    #[test]
    fn l01_the_rule_of_seed_000_agrees_with_the_computed_state(bytes in numbers()) {
        at_each_record(&drive(&bytes).log, |session, log| {
            let view = view(session);
            let computed = match (view.state, view.sub) {
                (State::None, _) => Guess::NoTask,
                (State::Running, Some(SubState::Streaming)) => Guess::Streaming,
                // The seed has no silent state: a silent stream counts as streaming.
                (State::Running, Some(SubState::Stalled)) if streams(session) => Guess::Streaming,
                (State::Running, _) => Guess::Running,
                (State::RequiresAction, _) => Guess::WaitingForInput,
                (State::Idle, _) => Guess::Idle,
                (State::Resumable, _) => Guess::Resumable,
            };
            // The first events of a new session are not messages, as in seed 000.
            let messages = log.iter().any(|record| matches!(record.event, Event::RunStarted { .. }));
            if messages {
                assert_eq!(guess(log), computed, "after {:?}", log.last().map(|record| &record.event));
            }
        });
    }

    #[test]
    fn s08_s11_every_state_names_what_is_required(bytes in numbers()) {
        at_each_record(&drive(&bytes).log, |session, _| {
            let view = view(session);
            match view.state {
                State::Running => assert_eq!(view.required_action, RequiredAction::None),
                _ => assert_ne!(view.required_action, RequiredAction::None),
            }
            if view.state == State::RequiresAction {
                assert!(!view.asks.is_empty() && view.ask_kind.is_some());
            }
        });
    }

    #[test]
    fn s30_s90_s91_cancel_at_every_fact_gives_one_terminal_fact_the_last_of_its_run(bytes in numbers()) {
        let bench = drive(&bytes);
        at_each_record(&bench.log, |session, log| {
            let Some(run) = session.open_run().map(|run| run.id.clone()) else { return };
            let stamp = Stamp::new(9_999, [7; 16]);
            let events = accept(session, &stamp, Input::Cancel { run: None }).expect("an open run is cancelled");
            let mut after = session.clone();
            let mut whole: Vec<Record> = log.to_vec();
            for event in events {
                let record = Record { seq: after.seq + 1, at: stamp.now, last: true, event };
                after.apply(&record);
                whole.push(record);
            }
            check_one_end(&whole, &run.0);
            assert!(after.open_run().is_none());
            let left = next_steps(&after);
            // A review is the user's own, and of no run.
            let may_stay = |step: &Step| matches!(step, Step::Settle { .. } | Step::Review { .. });
            assert!(left.iter().all(may_stay), "{left:?}");
            if bench.batches.contains(&log.len()) {
                check_history_is_valid(&after);
            }
        });
    }

    #[test]
    fn s30_every_ended_run_has_one_terminal_fact(bytes in numbers()) {
        let bench = drive(&bytes);
        let mut ended = BTreeMap::new();
        for record in &bench.log {
            if let Event::RunEnded { run, .. } = &record.event {
                *ended.entry(run.0.clone()).or_insert(0) += 1;
            }
        }
        for run in ended.keys() {
            check_one_end(&bench.log, run);
        }
    }

    #[test]
    fn s41_s42_l7_every_request_pairs_each_call_with_one_output(bytes in numbers()) {
        at_each_batch(&drive(&bytes), |session| {
            if next_steps(session).iter().any(|step| matches!(step, Step::CallModel { .. })) {
                check_history_is_valid(session);
            }
        });
    }

    #[test]
    fn s02_an_open_run_always_has_work_or_an_open_question(bytes in numbers()) {
        at_each_batch(&drive(&bytes), |session| {
            if session.open_run().is_some() && session.open_asks().next().is_none() {
                assert!(!next_steps(session).is_empty(), "stuck in {:?}", session.open_run());
            }
        });
    }

    #[test]
    fn s43_every_started_call_ends_and_only_once(bytes in numbers()) {
        let mut bench = drive(&bytes);
        let _ = bench.input(Input::Cancel { run: None });
        let mut open = BTreeSet::new();
        for record in &bench.log {
            match &record.event {
                Event::CallOpened { call, .. } => assert!(open.insert(call.0.clone())),
                Event::ToolFinished { call, .. } => assert!(open.remove(&call.0), "{call} ended twice"),
                _ => {}
            }
        }
        prop_assert!(open.is_empty(), "{:?} never ended", open);
    }

    #[test]
    fn a4_an_ask_is_closed_once(bytes in numbers()) {
        let mut open = BTreeSet::new();
        for record in drive(&bytes).log {
            match &record.event {
                Event::AskOpened { ask } => prop_assert!(open.insert(ask.id.0.clone())),
                Event::AskClosed { ask, .. } => prop_assert!(open.remove(&ask.0), "{} was not open", ask),
                _ => {}
            }
        }
    }

    #[test]
    fn l02_no_two_things_share_an_id(bytes in numbers()) {
        let mut seen = BTreeSet::new();
        for record in drive(&bytes).log {
            let id = match &record.event {
                Event::RunStarted { run, .. } => run.0.clone(),
                Event::Prompted { message, .. } => message.0.clone(),
                Event::CallOpened { call, .. } => call.0.clone(),
                Event::AskOpened { ask } => ask.id.0.clone(),
                Event::ChangeProposed { change, .. } | Event::OperationProposed { change, .. } => {
                    change.change_set.0.clone()
                }
                _ => continue,
            };
            prop_assert!(seen.insert(id.clone()), "{} was used twice", id);
        }
    }

    #[test]
    fn s23_a_run_completes_at_most_once_and_ends_with_it(bytes in numbers()) {
        let mut complete = BTreeSet::new();
        for record in drive(&bytes).log {
            if let Event::Completed { run, .. } = &record.event {
                prop_assert!(complete.insert(run.0.clone()));
            }
        }
    }

    #[test]
    fn a1_nothing_runs_that_was_neither_allowed_nor_safe(bytes in numbers()) {
        let log = drive(&bytes).log;
        for (index, record) in log.iter().enumerate() {
            let (call, allowed_by, edit) = match &record.event {
                Event::ApplyStarted { call, allowed_by, .. } => (call, allowed_by, true),
                Event::ToolStarted { call, allowed_by, .. } => (call, allowed_by, false),
                _ => continue,
            };
            let asked: Vec<crate::record::AskId> = log[..index]
                .iter()
                .filter_map(|past| match &past.event {
                    Event::AskOpened { ask } if ask.is_about(call) => Some(ask.id.clone()),
                    _ => None,
                })
                .collect();
            let allowed = |id: &crate::record::AskId| log[..index].iter().any(|past| match &past.event {
                Event::AskClosed { ask, resolution: crate::record::Resolution::Selected { option_id, .. } } => {
                    ask == id && option_id.starts_with("allow")
                }
                Event::HunkDecided { ask: Some(ask), apply: true, .. } => edit && ask == id,
                _ => false,
            });
            let answered = asked.iter().any(allowed);
            prop_assert!(answered || was_free(&log[..index], call, edit), "{} ran unasked", call);
            // `allowed_by` in the log is true.
            let is_true = match allowed_by {
                Some(AllowedBy::Answer { ask }) => asked.contains(ask) && allowed(ask),
                Some(AllowedBy::Standing { rule }) => log[..index]
                    .iter()
                    .any(|past| matches!(&past.event, Event::RuleAdded { rule: added } if added == rule)),
                Some(AllowedBy::Consent) => consent(&log[..index]).is_some(),
                Some(AllowedBy::EditsMode { mode }) => edit && *mode == edits_mode(&log[..index]) && *mode != EditsMode::Ask,
                Some(AllowedBy::Default) => !edit && was_free(&log[..index], call, edit),
                Some(AllowedBy::Unknown) | None => false,
            };
            prop_assert!(is_true, "{} was allowed by {:?}", call, allowed_by);
        }
    }

    /// Inputs of every kind, legal or not, in every state give events or a refusal, never a panic.
    #[test]
    fn accept_never_panics(bytes in numbers(), wild in numbers(), text in ".{0,40}") {
        let bench = drive(&bytes);
        let mut dice = Dice::new(&wild);
        let call = crate::record::ToolCallId(text.clone());
        let wake = |at| Step::Wake(Wake { at, why: WakeReason::StillRunning { call: call.clone() } });
        while !dice.is_used_up() {
            let step = match dice.roll(9) {
                0 => Step::CallModel { turn: dice.roll(9) as u32, attempt: dice.roll(9) as u32 },
                1 => Step::Prepare { calls: vec![call.clone()], epoch: dice.roll(3) as u64 },
                2 => Step::RunTool { call: call.clone() },
                3 => Step::Settle { change_set: text.as_str().into() },
                4 => Step::DeliverAsk { ask: text.as_str().into() },
                5 => wake(dice.roll(200) as u64),
                6 => Step::Apply { batch: BatchId(text.clone()), part: BatchPart::Closed },
                7 => Step::Reobserve { changes: vec![text.as_str().into()], epoch: dice.roll(3) as u64 },
                _ => next_steps(&bench.session).pop().unwrap_or(wake(0)),
            };
            let other = match dice.roll(5) {
                0 => Step::CallModel { turn: 1, attempt: 1 },
                1 => Step::RunTool { call: call.clone() },
                2 => Step::Settle { change_set: "".into() },
                3 => Step::Apply { batch: BatchId(text.clone()), part: BatchPart::Open { change_set: "".into() } },
                _ => step.clone(),
            };
            let report = report(&bench, &other, &mut dice);
            let asks: Vec<_> = bench.session.open_asks().map(|ask| ask.id.clone()).collect();
            let ask = asks.get(dice.roll(asks.len() + 1)).cloned().unwrap_or_else(|| text.as_str().into());
            let inputs = [
                Input::Step { step, report },
                Input::Decide(Decision {
                    targets: vec![HunkSet { change_set: text.as_str().into(), hunks: vec![text.clone()] }],
                    apply: dice.roll(2) == 0,
                    reason: None,
                }),
                Input::Woke(Wake { at: u64::MAX, why: WakeReason::CallModel }),
                Input::Opened { epoch: 0 },
                Input::Stopping,
                Input::Cancel { run: Some(text.as_str().into()) },
                Input::Answer(Answer { ask, choice: Choice::Text(text.clone()), surface: text.clone(), consent: None , budget: None}),
                Input::prompted(Prompt {
                    added: String::new(),
                    text: text.clone(),
                    images: Vec::new(),
                    takes_images: true,
                    title: None,
                    expected_run: Some(text.as_str().into()),
                    model: text.clone(),
                    generation_settings: GenerationSettings::default(),
                    policy: Default::default(),
            follows: Default::default(),
                    origin: None, key: None, comments: Vec::new(),
                }),
            ];
            for input in inputs {
                let stamp = Stamp::new(dice.roll(256) as u64, [dice.roll(256) as u8; 16]);
                let _ = accept(&bench.session, &stamp, input);
            }
        }
    }
}

fn check_one_end(log: &[Record], run: &str) {
    let ends: Vec<usize> = log
        .iter()
        .enumerate()
        .filter(|(_, record)| matches!(&record.event, Event::RunEnded { run: id, .. } if id.0 == run))
        .map(|(index, _)| index)
        .collect();
    assert_eq!(ends.len(), 1, "run {run} has {} ends", ends.len());
    for record in &log[ends[0] + 1..] {
        let of_run = match &record.event {
            Event::Prompted { run: id, .. }
            | Event::TurnStarted { run: id, .. }
            | Event::Completed { run: id, .. } => id.0 == run,
            _ => false,
        };
        assert!(!of_run, "{:?} came after the end of its run", record.event);
    }
}

/// Checks the history as a strict provider does: each call of a reply has exactly one output right after it.
fn check_history_is_valid(session: &Session) {
    let mut waiting: Vec<String> = Vec::new();
    for message in &session.history {
        match message {
            ModelMessage::Tool { call_id, .. } => {
                let at = waiting.iter().position(|id| **id == **call_id).expect("an output has its call");
                waiting.remove(at);
            }
            ModelMessage::User { .. } | ModelMessage::Assistant { .. } => {
                assert!(waiting.is_empty(), "calls {waiting:?} have no output");
                if let ModelMessage::Assistant { reply } = message {
                    waiting = reply.calls.iter().map(|call| call.id.clone()).collect();
                }
            }
        }
    }
    assert!(waiting.is_empty(), "calls {waiting:?} have no output");
}

#[test]
fn s08_every_state_is_reached() {
    let mut seen = BTreeSet::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..400 {
        let bytes = numbers().new_tree(&mut runner).expect("a tree").current();
        at_each_record(&drive(&bytes).log, |session, _| {
            let view = view(session);
            seen.insert(format!("{:?} {:?}", view.state, view.sub));
        });
    }
    for wanted in [
        "None None",
        "Running Some(Preparing)",
        "Running Some(Model)",
        "Running Some(Streaming)",
        "Running Some(Tools)",
        "Running Some(Retrying)",
        "RequiresAction None",
        "Idle Some(Completed)",
        "Idle Some(Stopped)",
        "Idle Some(Failed)",
        "Idle Some(Limit)",
        "Idle Some(Cancelled)",
        "Resumable None",
    ] {
        assert!(seen.contains(wanted), "{wanted} was never reached; seen: {seen:#?}");
    }
}

#[test]
fn s08_no_edge_is_taken_that_is_not_in_the_table_and_none_is_there_for_nothing() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..1_500 {
        let bytes = numbers().new_tree(&mut runner).expect("a tree").current();
        let mut before = crate::session::run::SessionState::None;
        at_each_batch(&drive(&bytes), |session| {
            let (now, _) = session.current_state();
            if now != before {
                assert!(EDGES.contains(&(before, now)), "{before:?} -> {now:?} is not in the table");
                seen.insert(format!("{before:?} {now:?}"));
            }
            before = now;
        });
    }
    for (from, to) in EDGES {
        assert!(seen.contains(&format!("{from:?} {to:?}")), "{from:?} -> {to:?} never happens");
    }
}

#[test]
fn s12_every_ask_kind_has_a_group_and_a_way_to_answer() {
    for kind in AskKind::ALL {
        let options = crate::policy::ask::options(kind, Some("Always"), &["a".to_owned()]);
        assert!(!options.is_empty(), "{kind:?} cannot be answered");
        let ids: BTreeSet<_> = options.iter().map(|option| &option.option_id).collect();
        assert_eq!(ids.len(), options.len(), "{kind:?} has two options of one id");
    }
}

#[test]
fn s16_a_key_repeats_its_first_result_and_refuses_another_body() {
    let mut bench = Bench::new();
    let prompt = |digest: &str| {
        let key = crate::record::KeyUse { key: "k".to_owned(), digest: digest.to_owned() };
        Input::prompted(Prompt { key: Some(key), ..super::prompt("x") })
    };
    bench.input(prompt("one")).expect("the first is accepted");
    assert!(matches!(bench.input(prompt("one")), Err(Refusal::Repeat { .. })));
    assert_eq!(bench.input(prompt("two")), Err(Refusal::KeyReused));
    bench.reply("hello", &[]);
    assert!(matches!(bench.input(prompt("one")), Err(Refusal::Repeat { .. })), "also after the run");
}

fn streams(session: &Session) -> bool {
    session.open_run().and_then(|run| run.turn.as_ref()).is_some_and(|turn| turn.streaming)
}
