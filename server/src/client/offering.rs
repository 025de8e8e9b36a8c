//! An ask at a client without the `agent/*` methods: popups, one after the other,
//! until the user presses a button that answers.
//!
//! Never asks again by itself: a popup that was closed comes back when the user
//! does something.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use adjutant_protocol::AskId;
use adjutant_protocol::ask::{AskGroup, AskView, PermissionOutcome};
use futures_util::FutureExt;
use serde_json::Value;
use serde_json::value::RawValue;

use super::face::Popup;
use super::popup::{self, Choice, Offer, SurfaceRoom};
use super::{AskDelivery, ClientLink};
use crate::transport::code::METHOD_NOT_FOUND;
use crate::transport::{PendingReply, ReplyError};

/// Approvals that came too early before the popup waits for the user.
const MAX_EARLY: u32 = 3;

/// The client has no popups, or its user turned them off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPopups;

/// The result of one popup.
enum PopupOutcome {
    Option {
        id: String,
        approves: bool,
        after: Duration,
    },
    Show,
    /// Closed, or an answer that is none of its buttons.
    Nothing,
    /// This client has no popups.
    Never,
}

impl ClientLink {
    /// Offers an ask by popups, without a time limit. Dropping the future withdraws it.
    pub(super) async fn offer(&self, ask: &AskView) -> AskDelivery {
        if !popup::is_for_popups(ask) {
            return AskDelivery::Closed;
        }
        let mut acted = self.acted.subscribe();
        loop {
            let mut shown = Instant::now();
            match self.round(ask, &mut shown).await {
                PopupOutcome::Option { id, .. } => {
                    let outcome = PermissionOutcome::Selected { option_id: id, text: None };
                    return AskDelivery::Outcome { outcome, surface: "popup" };
                }
                PopupOutcome::Never => return AskDelivery::Closed,
                PopupOutcome::Nothing | PopupOutcome::Show => {}
            }
            // An action that began before the popup, such as the command that led to it, does not bring it back.
            if acted.wait_for(|began| *began > shown).await.is_err() {
                return AskDelivery::Closed;
            }
        }
    }

    /// Holds the popup lock until an answer counts or the popup is closed.
    async fn round(&self, ask: &AskView, shown: &mut Instant) -> PopupOutcome {
        let _guard = self.popup_lock.acquire(ask.group != AskGroup::NonBlocking, ask.opened_at).await;
        // The time spent waiting for another popup does not count.
        *shown = Instant::now();
        let mut early = 0;
        loop {
            if self.no_popups() {
                return PopupOutcome::Never;
            }
            if self.popups_off() {
                return PopupOutcome::Nothing;
            }
            match self.put_up(ask).await {
                PopupOutcome::Show => {
                    // The user can read the whole now, so the next popup may offer to allow it.
                    self.open_subject(ask).await;
                }
                PopupOutcome::Option { approves: true, after, .. } if after < self.timing.reaction => {
                    early += 1;
                    if early >= MAX_EARLY {
                        tracing::info!(ask = %ask.ask_id, "approved faster than anybody reads, again and again");
                        return PopupOutcome::Nothing;
                    }
                    tokio::time::sleep(self.timing.reaction - after).await;
                }
                pressed => return pressed,
            }
        }
    }

    /// Shows one popup and waits for its answer.
    async fn put_up(&self, ask: &AskView) -> PopupOutcome {
        let at = self.items.seen_at(&ask.ask_id);
        let room = SurfaceRoom { one_line: self.surfaces.popup_line, ..self.items.room() };
        let mut buttons = popup::buttons(ask, at.is_some(), room);
        if self.items.carried(&ask.ask_id).is_some() {
            // Only a code action can carry the edit; a button cannot.
            buttons.retain(|offer| !matches!(offer.choice, Choice::Option { approves: true, .. }));
        }
        let text = popup::text(ask, at.as_deref(), room);
        self.pressed(&Popup { ask: &ask.ask_id, text: &text, buttons: &buttons }).await
    }

    /// Lets the user choose once among buttons that are about no ask. Returns the id of the option that was pressed; `None`
    /// also if the popup was closed. `Err` if the client has no popups.
    pub async fn choose(&self, text: &str, buttons: &[Offer]) -> Result<Option<String>, NoPopups> {
        let _guard = self.popup_lock.acquire(false, u64::MAX).await;
        let ask = AskId::from("choice");
        for _ in 0..MAX_EARLY {
            if self.no_popups() || self.popups_off() {
                return Err(NoPopups);
            }
            match self.pressed(&Popup { ask: &ask, text, buttons }).await {
                PopupOutcome::Option { approves: true, after, .. } if after < self.timing.reaction => {
                    tokio::time::sleep(self.timing.reaction - after).await;
                }
                PopupOutcome::Option { id, .. } => return Ok(Some(id)),
                PopupOutcome::Nothing | PopupOutcome::Show => return Ok(None),
                PopupOutcome::Never => return Err(NoPopups),
            }
        }
        Ok(None)
    }

    /// Sends one popup and waits for its answer.
    async fn pressed(&self, popup: &Popup<'_>) -> PopupOutcome {
        let Some(request) = self.face.popup(popup) else { return PopupOutcome::Never };
        let Some(reply) = self.outbound.request(request).await else { return PopupOutcome::Never };
        let since = Instant::now();
        let reply = match (OpenPopup { reply: Some(reply), link: self }).await {
            Ok(reply) => serde_json::from_str::<Value>(reply.get()).unwrap_or(Value::Null),
            Err(ReplyError::ConnectionClosed) => return PopupOutcome::Never,
            Err(error) => {
                if self.has_no_popups(&error) {
                    return PopupOutcome::Never;
                }
                tracing::info!(%error, ask = %popup.ask, "the popup was not answered");
                return PopupOutcome::Nothing;
            }
        };
        match self.face.pressed(popup, &reply).map(|offer| &offer.choice) {
            Some(Choice::Show) => PopupOutcome::Show,
            Some(Choice::Option { id, approves }) => {
                PopupOutcome::Option { id: id.clone(), approves: *approves, after: since.elapsed() }
            }
            None => PopupOutcome::Nothing,
        }
    }

    /// Whether the error means that this client has no popups. Remembers it if so.
    fn has_no_popups(&self, error: &ReplyError) -> bool {
        let unknown = matches!(error, ReplyError::Refused { code: METHOD_NOT_FOUND, .. });
        if unknown {
            self.popups_are_unknown();
        }
        unknown
    }
}

/// A popup on the screen. Dropping it withdraws it. A reply that has already come is still read then,
/// because it may say that this client has no popups.
struct OpenPopup<'a> {
    /// `None` after the reply was read.
    reply: Option<PendingReply>,
    link: &'a ClientLink,
}

impl Future for OpenPopup<'_> {
    type Output = Result<Box<RawValue>, ReplyError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(reply) = &mut self.reply else { return Poll::Pending };
        let result = ready!(Pin::new(reply).poll(cx));
        self.reply = None;
        Poll::Ready(result)
    }
}

impl Drop for OpenPopup<'_> {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.reply.as_mut().and_then(FutureExt::now_or_never) {
            self.link.has_no_popups(&error);
        }
    }
}
