//! A session with a long history: the core creates the records, from a task that reads one file a turn.
//!
//! Never touches the disk.

use std::path::Path;

use adjutant::session::log::line;
use adjutant_core::machine::accept::accept;
use adjutant_core::machine::input::{Input, Preparation, Prompt, Report, Stamp};
use adjutant_core::machine::step::{Step, next_steps};
use adjutant_core::policy::choices::Follows;
use adjutant_core::policy::observation::ObservedPath;
use adjutant_core::prompt::message::{GenerationSettings, Reply, RequestedCall, StopCause};
use adjutant_core::record::{CallEnd, CallResult, Event, Payload, Policy, Record};
use adjutant_core::session::Session;

/// The turns of one run.
pub const TURNS: u32 = 50;

/// A session that the core decides, with the log of its records.
pub struct Past {
    id: String,
    pub session: Session,
    pub log: Vec<u8>,
    now: u64,
}

impl Past {
    /// Begins the session in a folder.
    pub fn new(id: &str, root: &Path) -> Past {
        let session = Session::new(id.into(), vec![root.display().to_string()]);
        let mut past = Past { id: id.to_owned(), session, log: Vec::new(), now: 0 };
        line::put_header(&mut past.log, id, 1);
        line::put_epoch(&mut past.log, id, 1, 1);
        past
    }

    /// Adds a run of [`TURNS`] turns.
    pub fn run(&mut self) {
        self.input(Input::prompted(Prompt {
            added: String::new(),
            text: "Look at it.".to_owned(),
            title: None,
            expected_run: None,
            model: "bench/scripted".to_owned(),
            generation_settings: GenerationSettings::default(),
            images: Vec::new(),
            takes_images: true,
            policy: Policy::default(),
            follows: Follows { mode: true, model: true, effort: true, verbosity: true },
            origin: None,
            comments: Vec::new(),
            key: None,
        }));
        (1..=TURNS).for_each(|number| self.turn(number));
    }

    fn input(&mut self, input: Input) {
        self.now += 1;
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&self.now.to_le_bytes());
        let stamp = Stamp::new(1_700_000_000_000 + self.now, seed);
        let events: Vec<Event> = accept(&self.session, &stamp, input).expect("it is legal");
        for (index, event) in events.iter().enumerate() {
            let last = index + 1 == events.len();
            let record = Record { seq: self.session.seq + 1, at: stamp.now, last, event: event.clone() };
            line::put_record(&mut self.log, &self.id, (record.seq, record.at, !last), event)
                .expect("a record");
            self.session.apply(&record);
        }
    }

    fn report(&mut self, report: Report) {
        let step = next_steps(&self.session).into_iter().find(|step| !matches!(step, Step::Wake(_)));
        self.input(Input::Step { step: step.expect("there is work"), report });
    }

    fn turn(&mut self, number: u32) {
        let call = RequestedCall {
            id: format!("call_{number}"),
            name: "read_file".to_owned(),
            arguments: r#"{"path":"src/main.rs"}"#.to_owned(),
            free_form: false,
        };
        let calls = if number == TURNS { Vec::new() } else { vec![call] };
        let stop = if calls.is_empty() { StopCause::EndTurn } else { StopCause::ToolCalls };
        self.report(Report::TurnBegan);
        self.report(Report::ReplyStarted);
        self.report(Report::Replied(Reply {
            text: "I read it.".to_owned(),
            calls,
            stop,
            ..Reply::default()
        }));
        if number == TURNS {
            return;
        }
        let payload = Payload::Read { path: "src/main.rs".to_owned(), everywhere: false };
        self.report(Report::Prepared(Box::new(
            Preparation::of(payload).about(ObservedPath::inside("src/main.rs")),
        )));
        self.report(Report::Finished(CallResult {
            end: CallEnd::Completed,
            output: "fn main() {}\n".into(),
            summary: "1 line".to_owned(),
            elapsed_ms: 1,
            cause: None,
            whole: None,
            unsaved: Vec::new(),
            reads: Vec::new(),
        }));
    }
}
