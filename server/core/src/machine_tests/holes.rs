//! Logs with a record missing or out of order: Adjutant notices it, folds the log without a panic, and continues.
//!
//! Never tests how much of a damaged log can be read; `store` does.

use proptest::prelude::*;

use super::random::{Dice, input};
use super::*;
use crate::policy::observation::ObservedPath;
use crate::prompt;
use crate::prompt::message::ModelMessage;

fn drive(bench: &mut Bench, bytes: &[u8]) {
    let mut dice = Dice::new(bytes);
    while !dice.is_used_up() {
        let input = input(bench, &mut dice);
        let _ = bench.input(input);
    }
}

/// Returns the session folded from a log, and the number of its events that are out of order.
fn folded(log: &[Record]) -> (Session, usize) {
    let mut session = Session::new("s1".into(), vec!["/ws".to_owned()]).with_tools(super::tools::tools());
    let mut strays = 0;
    for record in log {
        strays += usize::from(session.is_out_of_place(&record.event));
        session.apply(record);
    }
    (session, strays)
}

/// Whether each call of a reply has exactly one output, after the reply and before any other message.
fn is_paired(messages: &[ModelMessage]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match message {
            ModelMessage::Tool { call_id, .. } => match open.iter().position(|id| **id == **call_id) {
                Some(at) => _ = open.remove(at),
                None => return false,
            },
            _ if !open.is_empty() => return false,
            ModelMessage::Assistant { reply } => open.extend(reply.calls.iter().map(|call| call.id.as_str())),
            ModelMessage::User { .. } => {}
        }
    }
    open.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn l3_no_fact_of_a_sound_log_is_out_of_its_place(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut bench = Bench::new();
        drive(&mut bench, &bytes);
        prop_assert_eq!(folded(&bench.log).1, 0);
    }

    #[test]
    fn l3_l7_a_session_goes_on_whatever_fact_is_missing(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        more in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
        swap in any::<bool>(),
    ) {
        let mut bench = Bench::new();
        drive(&mut bench, &bytes);
        if bench.log.is_empty() {
            return Ok(());
        }
        let at = at.index(bench.log.len());
        if swap && at > 0 {
            bench.log.swap(at - 1, at);
        } else {
            bench.log.remove(at);
        }
        bench.session = folded(&bench.log).0;
        bench.input(Input::Opened { epoch: bench.session.epoch + 1 }).expect("it opens");
        // Nothing blocks for ever: a call of each open ask still waits for its answer. Others may have ended with hunks that
        // were decided by themselves.
        for ask in bench.session.open_asks() {
            let over = |call| bench.session.call(call).is_none_or(crate::session::Call::is_finished);
            prop_assert!(ask.calls.is_empty() || !ask.calls.iter().all(over), "{:?} has no open call", ask);
        }
        drive(&mut bench, &more);
        let _ = bench.input(Input::Cancel { run: None });
        prop_assert!(bench.session.open_run().is_none());
        let request = prompt::request(&bench.session, "m", crate::record::Mode::Code, &crate::prompt::models::UNKNOWN);
        prop_assert!(is_paired(&request.messages), "{:?}", request.messages);
    }
}

#[test]
fn log_073_an_outcome_without_its_intent_is_out_of_place() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.reply("", &[("run_command", r#"{"command":"true"}"#)]);
    let call = bench.session.runnable_calls().next().expect("a call").id.clone();
    let outcome = |end| Event::ToolFinished { call: call.clone(), result: done(end) };
    assert!(bench.session.is_out_of_place(&outcome(CallEnd::Completed)));
    // A refused call is never started, so it needs no intent.
    assert!(!bench.session.is_out_of_place(&outcome(CallEnd::Denied)));
    let stranger = Event::ToolFinished { call: "c-other".into(), result: done(CallEnd::Denied) };
    assert!(bench.session.is_out_of_place(&stranger));
}

#[test]
fn log_043_a_call_whose_reply_is_lost_takes_no_arguments_of_another() {
    let mut bench = Bench::new();
    bench.prompt("go").unwrap();
    bench.reply("", &[("read_file", r#"{"path":"a"}"#)]);
    bench.report(is_prepare, super::read_of(ObservedPath::inside("a")));
    bench.report(is_tool, Report::Finished(done(CallEnd::Completed)));
    bench.reply("", &[("run_command", r#"{"command":"true"}"#)]);
    assert!(bench.session.runnable_calls().next().is_some());
    let last = bench.log.iter().rposition(|record| matches!(record.event, Event::Replied { .. })).unwrap();
    bench.log.remove(last);
    assert!(folded(&bench.log).0.runnable_calls().next().is_none());
}
