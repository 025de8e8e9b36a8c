//! The ways to print a session: as text, as one JSON update a line, or not at all.
//!
//! Never mixes them: with JSON, standard output has nothing else.

use std::io::{IsTerminal, sink, stdout};
use std::time::{Duration, Instant};

use adjutant_core::policy::detail::Detail;
use adjutant_protocol::model::ModelView;
use adjutant_protocol::state::{State, SubState};
use adjutant_protocol::update::{SessionUpdateParams, Update};
use serde_json::value::RawValue;

use crate::cli::page::{self, Ink, Look, Printer, USUAL_WIDTH};
use crate::cli::pages::Pages;
use crate::cli::show::Show;
use crate::clock::now_ms;

use super::work::WorkStatus;

/// How long the page may stay unchanged before it says what the run waits for.
const SILENCE: Duration = Duration::from_secs(10);

/// How updates are printed.
pub struct View {
    form: Form,
    quiet: bool,
    /// Whether everything goes to one page even if standard output is no terminal.
    together: bool,
    waiting: Option<WaitNotice>,
    /// In the loop.
    work: Option<WorkStatus>,
}

enum Form {
    Text(Box<Show>),
    Json,
    /// Another command looks only at how the run ends.
    Silent,
}

/// What the run waits for, and when the page says so next.
struct WaitNotice {
    what: &'static str,
    since: Instant,
    next: Instant,
    said: bool,
}

impl View {
    /// Prints text. With `person`, a person decides what comes after a limit.
    pub fn text(quiet: bool, person: bool) -> Self {
        let show = Show::new(quiet);
        View::of(if person { show.with_person() } else { show }, quiet)
    }

    /// Prints the loop: one page with a status line, for the person who types there.
    pub fn of_loop() -> Self {
        View { work: Some(WorkStatus::default()), ..View::of(Show::new(false).with_person(), false) }
    }

    /// Prints everything on standard output, also if that is no terminal.
    pub fn together() -> Self {
        View { together: true, ..View::of(Show::new(false), false) }
    }

    /// Prints the whole conversation, with the user's messages.
    pub fn transcript() -> Self {
        View { together: true, ..View::of(Show::new(false).with_user(), false) }
    }

    /// Prints one update a line.
    pub fn json(quiet: bool) -> Self {
        View { form: Form::Json, quiet, together: false, waiting: None, work: None }
    }

    /// Prints nothing, not even notices.
    pub fn unseen() -> Self {
        View { form: Form::Silent, quiet: true, together: false, waiting: None, work: None }
    }

    fn of(show: Show, quiet: bool) -> Self {
        View { form: Form::Text(Box::new(show)), quiet, together: false, waiting: None, work: None }
    }

    /// Sets how much of a run is printed as text from now on.
    pub fn draw(&mut self, detail: Detail) {
        if let Form::Text(show) = &mut self.form {
            show.draw(detail);
        }
    }

    /// Returns the pages. If standard output goes to a file or a program, it gets only the answer.
    pub fn pages(&self) -> Pages {
        if matches!(self.form, Form::Silent) {
            let look = Look { width: USUAL_WIDTH, colour: false, wrap: false };
            Pages::one(Printer::new(sink(), look))
        } else if self.work.is_some() {
            Pages::one(Printer::of_loop())
        } else if self.is_text() && (self.together || stdout().is_terminal()) {
            Pages::one(Printer::of_stdout())
        } else {
            Pages::two(Printer::of_stdout(), Printer::of_stderr())
        }
    }

    /// Whether text is printed, and not JSON.
    pub fn is_text(&self) -> bool {
        matches!(self.form, Form::Text(_))
    }

    /// Whether remarks of the command itself are printed.
    pub fn shows_remarks(&self) -> bool {
        matches!(self.form, Form::Text(_)) && !self.quiet
    }

    pub fn update(&mut self, pages: &mut Pages, raw: &RawValue, params: &SessionUpdateParams) {
        self.watch(&params.update);
        if let Some(work) = &mut self.work {
            work.update(&params.update);
        }
        match &mut self.form {
            Form::Text(show) => show.update(pages, &params.update, now_ms()),
            Form::Silent => {}
            Form::Json if self.quiet && !is_answer(&params.update) => {}
            Form::Json => pages.answer().json(&one_line(raw)),
        }
    }

    /// Whether the line of the last call already has the text of this notice.
    pub fn has_printed(&self, notice: &str) -> bool {
        match &self.form {
            Form::Text(show) => show.has_printed(notice),
            Form::Json | Form::Silent => false,
        }
    }

    /// Ends an open line.
    pub fn aside(&mut self, pages: &mut Pages) {
        match &mut self.form {
            Form::Text(show) => show.aside(pages),
            Form::Json | Form::Silent => pages.fresh_line(),
        }
    }

    /// Shows the end of a run that stopped at a limit, unless the person continues it.
    pub fn limit_decided(&mut self, pages: &mut Pages, continues: bool) {
        match &mut self.form {
            Form::Text(show) if continues => show.drop_held_end(),
            Form::Text(show) => show.release(pages),
            Form::Json | Form::Silent => {}
        }
    }

    /// Writes a line about the program itself: in the loop on its page, else on standard error.
    pub fn note(&mut self, pages: &mut Pages, text: &str) {
        self.aside(pages);
        if self.work.is_some() {
            text.lines().for_each(|line| pages.rest().line(line));
        } else if !matches!(self.form, Form::Silent) {
            page::note(text);
        }
    }

    /// Sets the windows of the models, for the status line.
    pub fn know_models(&mut self, models: &[ModelView]) {
        if let Some(work) = &mut self.work {
            work.know(models);
        }
    }

    /// Begins the time of a run of the loop.
    pub fn begin_work(&mut self) {
        if let Some(work) = &mut self.work {
            work.begin(Instant::now());
        }
    }

    /// Ends the time of a run of the loop.
    pub fn end_work(&mut self) {
        if let Some(work) = &mut self.work {
            work.end();
        }
    }

    /// Returns when `still` will print or draw, unless an update comes before.
    pub fn wakes_at(&self) -> Option<Instant> {
        let work = self.work.as_ref().and_then(WorkStatus::draws_at);
        [work, self.remark_at()].into_iter().flatten().min()
    }

    fn remark_at(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|waiting| waiting.next)
    }

    /// Draws the status of a run in the loop, if the terminal can erase. Else prints what the run waits for,
    /// if that is due: first after `SILENCE`, then at growing distances.
    pub fn still(&mut self, pages: &mut Pages, now: Instant) {
        let what = self.waiting.as_ref().map(|waiting| waiting.what);
        if let Some(work) = &mut self.work
            && let Some(status) = work.status(what, now)
            && pages.rest().has_status()
        {
            return pages.rest().status(&status);
        }
        let Some(waiting) = self.waiting.as_mut().filter(|waiting| now >= waiting.next) else { return };
        let waited = now.saturating_duration_since(waiting.since);
        waiting.next = now + waited.max(SILENCE);
        waiting.said = true;
        let text = format!("… still {} ({} s)", waiting.what, waited.as_secs());
        self.aside(pages);
        pages.rest().line_in(Ink::Dim, &text);
    }

    fn watch(&mut self, update: &Update) {
        if !self.shows_remarks() {
            return;
        }
        let what = match update {
            Update::StateUpdate(state) => match (state.state, state.sub) {
                (State::Running, Some(SubState::Model)) => Some("waiting for the model"),
                (State::Running, Some(SubState::Streaming)) => Some("waiting for the rest of the answer"),
                (State::Running, Some(SubState::Stalled)) => return self.silent(state.since),
                (State::Running, Some(SubState::Compacting)) => {
                    Some("waiting for a summary of the conversation")
                }
                (State::Running, Some(SubState::Tools)) => Some("waiting for the tool"),
                _ => None,
            },
            // Any other update shows progress: the wait goes on, and its time starts again.
            _ => self.waiting.as_ref().map(|waiting| waiting.what),
        };
        let since = Instant::now();
        self.waiting = what.map(|what| WaitNotice { what, since, next: since + SILENCE, said: false });
    }

    /// Makes the remark due at once, because the session reports a stall, unless it was already printed.
    fn silent(&mut self, since_ms: u64) {
        let now = Instant::now();
        let Some(waiting) = self.waiting.as_mut().filter(|waiting| !waiting.said) else { return };
        let waited = Duration::from_millis(now_ms().saturating_sub(since_ms));
        waiting.since = now.checked_sub(waited).unwrap_or(now);
        waiting.next = now;
    }
}

fn is_answer(update: &Update) -> bool {
    matches!(
        update,
        Update::AgentMessage { .. }
            | Update::AgentMessageChunk { .. }
            | Update::Complete { .. }
            | Update::Ask(_)
    )
}

/// Returns the update on one line, also if its JSON has line ends.
fn one_line(raw: &RawValue) -> String {
    if !raw.get().contains(|character: char| character.is_ascii_control()) {
        return raw.get().to_owned();
    }
    let value: Option<serde_json::Value> = serde_json::from_str(raw.get()).ok();
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use adjutant_protocol::state::{RequiredAction, StateView};

    use super::*;

    fn running(sub: SubState, since: u64) -> Update {
        Update::StateUpdate(StateView {
            state: State::Running,
            sub: Some(sub),
            since,
            run_id: None,
            asks: Vec::new(),
            ask_kind: None,
            required_action: RequiredAction::None,
            stop_reason: None,
        })
    }

    #[test]
    fn remarks_on_a_wait_keep_their_distance_whatever_the_clock_says() {
        let mut view = View::text(false, false);
        let look = Look { width: 80, colour: false, wrap: true };
        let mut pages = Pages::one(Printer::new(std::io::sink(), look));
        view.watch(&running(SubState::Model, 0));
        // The wait began in the future, because the clock was set back.
        view.watch(&running(SubState::Stalled, u64::MAX));
        let first = view.remark_at().expect("there is something to say");
        view.still(&mut pages, first);
        let second = view.remark_at().expect("it is said again");
        assert!(second >= first + SILENCE, "{:?} later", second - first);
    }
}
