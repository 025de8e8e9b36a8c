//! The surfaces of a plain client: popups, progress, diagnostics, documents.
//!
//! Never acts by itself: the test is the user.

use serde_json::{Value, json};

use super::{Editor, Popup};

impl Editor {
    /// Waits for the next popup of a plain client.
    #[track_caller]
    pub fn await_popup(&self) -> Popup {
        self.shared.wait("a window/showMessageRequest", |inner| {
            let popup = inner.popups.get(inner.popups_taken)?.clone();
            inner.popups_taken += 1;
            Some(popup)
        })
    }

    /// Presses a button of a popup, or closes it.
    #[track_caller]
    pub fn press(&self, popup: &Popup, title: Option<&str>) {
        let item = title.map(|title| {
            let found = popup.items.iter().find(|item| item["title"] == title);
            found.unwrap_or_else(|| panic!("there is no button {title:?} among {:?}", popup.actions)).clone()
        });
        self.shared.lock().respond(&popup.id, Ok(item.unwrap_or(Value::Null)));
    }

    /// Answers a popup with any value, also one that no button has.
    pub fn answer_popup(&self, popup: &Popup, value: Value) {
        self.shared.lock().respond(&popup.id, Ok(value));
    }

    /// Waits until the server withdraws a popup.
    #[track_caller]
    pub fn await_popup_withdrawn(&self, popup: &Popup) {
        let what = format!("the popup {:?} to be withdrawn", popup.message);
        self.shared.wait(&what, |inner| inner.withdrawn.contains(&popup.id).then_some(()));
    }

    /// Returns all popups so far.
    pub fn popups(&self) -> Vec<Popup> {
        self.shared.lock().popups.clone()
    }

    /// Returns the number of popups that this editor answered with `MethodNotFound`.
    pub fn popups_refused(&self) -> usize {
        self.shared.lock().popups_refused
    }

    /// Returns all values of `$/progress` so far.
    pub fn progress(&self) -> Vec<Value> {
        self.shared.lock().progress.shown().to_vec()
    }

    /// Returns the number of progresses that are open now.
    pub fn open_progress(&self) -> usize {
        self.shared.lock().progress.open()
    }

    /// Returns the latest diagnostics of a document.
    pub fn diagnostics(&self, uri: &str) -> Value {
        self.shared.lock().diagnostics.get(uri).cloned().unwrap_or(Value::Null)
    }

    /// Waits for a value of `$/progress`.
    #[track_caller]
    pub fn await_progress(&self, what: &str, matches: impl Fn(&Value) -> bool) -> Value {
        let what = format!("progress: {what}");
        self.shared.wait(&what, |inner| inner.progress.shown().iter().find(|value| matches(value)).cloned())
    }

    /// Cancels the progress of the last notification.
    #[track_caller]
    pub fn cancel_progress(&self) {
        let token = self.shared.lock().progress.last_token();
        let token = token.unwrap_or_else(|| panic!("no progress was begun"));
        self.notify("window/workDoneProgress/cancel", json!({ "token": token }));
    }

    /// Waits until a document has `count` diagnostics, and returns them.
    #[track_caller]
    pub fn await_diagnostics(&self, uri: &str, count: usize) -> Vec<Value> {
        self.shared.wait(&format!("{count} diagnostics of {uri}"), |inner| {
            let now = inner.diagnostics.get(uri).and_then(Value::as_array).cloned().unwrap_or_default();
            (now.len() == count).then_some(now)
        })
    }

    /// Waits until the server asks to read this again: a method, and a URI if it has one. The next wait is for another request.
    #[track_caller]
    pub fn await_refresh(&self, what: &str) {
        self.shared.wait(&format!("the request {what}"), |inner| {
            let at = inner.refreshes.iter().position(|seen| seen == what)?;
            inner.refreshes.remove(at);
            Some(())
        });
    }

    /// Waits for `window/showDocument` number `count`, from one, and returns its params.
    #[track_caller]
    pub fn await_shown(&self, count: usize) -> Value {
        let what = format!("the document number {count} to be shown");
        self.shared.wait(&what, |inner| inner.shown.get(count.checked_sub(1)?).cloned())
    }
}
