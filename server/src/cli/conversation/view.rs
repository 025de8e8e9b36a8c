//! The two ways a session is printed: as text, or as one update a line.
//!
//! Never mixes them: with JSON, standard output holds nothing else.

use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

use adjutant_protocol::state::{State, SubState};
use adjutant_protocol::update::{SessionUpdateParams, Update};
use serde_json::value::RawValue;

use crate::cli::page::{Ink, Printer};
use crate::cli::pages::Pages;
use crate::cli::show::Show;
use crate::clock::now_ms;

/// How long nothing may be seen before the page says what is waited for.
const SILENCE: Duration = Duration::from_secs(10);

/// How updates are printed.
pub struct View {
    form: Form,
    quiet: bool,
    /// Whether everything goes to one page even where nobody reads it.
    together: bool,
    waiting: Option<WaitNotice>,
}

enum Form {
    Text(Box<Show>),
    Json,
}

/// What has been waited for, and when the page says so next.
struct WaitNotice {
    what: &'static str,
    since: Instant,
    next: Instant,
    said: bool,
}

impl View {
    /// Prints text to read; `somebody` can say what comes after a limit.
    pub fn text(quiet: bool, somebody: bool) -> Self {
        let show = Show::new(quiet);
        View::of(if somebody { show.with_somebody() } else { show }, quiet)
    }

    /// Prints everything on standard output, wherever that goes.
    pub fn together() -> Self {
        View { together: true, ..View::of(Show::new(false), false) }
    }

    /// Prints the whole conversation, the user's part too.
    pub fn transcript() -> Self {
        View { together: true, ..View::of(Show::new(false).with_user(), false) }
    }

    /// Prints one update a line.
    pub fn json(quiet: bool) -> Self {
        View { form: Form::Json, quiet, together: false, waiting: None }
    }

    fn of(show: Show, quiet: bool) -> Self {
        View { form: Form::Text(Box::new(show)), quiet, together: false, waiting: None }
    }

    /// Returns the pages: where standard output goes to a file or a program, it gets the answer alone.
    pub fn pages(&self) -> Pages {
        let text = matches!(self.form, Form::Text(_));
        match text && (self.together || stdout().is_terminal()) {
            true => Pages::one(Printer::of_stdout()),
            false => Pages::two(Printer::of_stdout(), Printer::of_stderr()),
        }
    }

    /// Says whether text to read is printed, and no JSON.
    pub fn is_text(&self) -> bool {
        matches!(self.form, Form::Text(_))
    }

    /// Says whether remarks of ours may stand on the page.
    pub fn shows_remarks(&self) -> bool {
        matches!(self.form, Form::Text(_)) && !self.quiet
    }

    pub fn update(&mut self, pages: &mut Pages, raw: &RawValue, params: &SessionUpdateParams) {
        self.watch(&params.update);
        match &mut self.form {
            Form::Text(show) => show.update(pages, &params.update, now_ms()),
            Form::Json if self.quiet && !is_answer(&params.update) => {}
            Form::Json => pages.answer().json(&one_line(raw)),
        }
    }

    /// Says whether the page has just said why an effect failed, in a line of its call.
    pub fn has_printed(&self, notice: &str) -> bool {
        match &self.form {
            Form::Text(show) => show.has_printed(notice),
            Form::Json => false,
        }
    }

    /// Ends whatever line is open.
    pub fn aside(&mut self, pages: &mut Pages) {
        match &mut self.form {
            Form::Text(show) => show.aside(pages),
            Form::Json => pages.fresh_line(),
        }
    }

    /// Shows the end of a run that stopped at a limit, or forgets it where somebody goes on.
    pub fn limit_decided(&mut self, pages: &mut Pages, goes_on: bool) {
        match &mut self.form {
            Form::Text(show) if goes_on => show.went_on(),
            Form::Text(show) => show.release(pages),
            Form::Json => {}
        }
    }

    /// When `still` has something to say, unless something is heard before.
    pub fn remark_at(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|waiting| waiting.next)
    }

    /// Says what has been waited for, a silence apart at first and then ever less often.
    pub fn still(&mut self, pages: &mut Pages, now: Instant) {
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
                (State::Running, Some(SubState::Tools)) => Some("waiting for the tool"),
                _ => None,
            },
            // Whatever else is heard says that the wait is not over, but not in vain.
            _ => self.waiting.as_ref().map(|waiting| waiting.what),
        };
        let since = Instant::now();
        self.waiting = what.map(|what| WaitNotice { what, since, next: since + SILENCE, said: false });
    }

    /// The session says that nothing comes: so does the page, at once, unless it has said so already.
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

/// Returns the update on one line, whatever way it was written.
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
        let look = crate::cli::page::Look { width: 80, colour: false, wrap: true };
        let mut pages = Pages::one(Printer::new(std::io::sink(), look));
        view.watch(&running(SubState::Model, 0));
        // The wait began in the future, for the clock was set back.
        view.watch(&running(SubState::Stalled, u64::MAX));
        let first = view.remark_at().expect("there is something to say");
        view.still(&mut pages, first);
        let second = view.remark_at().expect("it is said again");
        assert!(second >= first + SILENCE, "{:?} later", second - first);
    }
}
