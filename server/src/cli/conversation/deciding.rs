//! What comes after a limit: the person at the terminal says, before the command ends.
//!
//! Never decides by itself; where nobody is, the question stays open for later.

use std::time::Instant;

use adjutant_core::policy::ask::STOP;
use adjutant_protocol::ask::{
    AskKind, AskListParams, AskListResult, AskRespondParams, AskRespondResult, AskView, PermissionOutcome,
    RespondStatus,
};
use adjutant_protocol::methods;
use adjutant_protocol::session::RunEnd;
use adjutant_protocol::state::Outcome;

use crate::cli::asks::PendingAsk;

use super::ears::IncomingEvent;
use super::{Answers, Conversation, IDLE_LIMIT, LeaveReason};

impl Conversation {
    /// Hears everything up to the end of the run that is followed, and of those that a person lets
    /// go on from it.
    pub async fn until_over(&mut self) -> Result<RunEnd, LeaveReason> {
        loop {
            let end = self.until_ended().await?;
            let goes_on = match end.outcome {
                Outcome::Limit => self.ask_to_continue().await,
                _ => Ok(false),
            };
            // Also where the question could not be put: the end of the run was not shown yet.
            self.view.limit_decided(&mut self.pages, matches!(goes_on, Ok(true)));
            if !goes_on? {
                return Ok(end);
            }
        }
    }

    /// Returns the open asks of the session.
    pub async fn open_asks(&mut self) -> Result<Vec<AskView>, LeaveReason> {
        let params = AskListParams { session_id: self.session.clone() };
        let listed: AskListResult = self.request(methods::ASK_LIST, &params).await?;
        Ok(listed.asks)
    }

    /// Puts the question that a limit left before the person, and answers it as they say; `true` when
    /// another run has begun.
    async fn ask_to_continue(&mut self) -> Result<bool, LeaveReason> {
        if !matches!(self.answers, Answers::Person(_)) {
            return Ok(false);
        }
        let asks = self.open_asks().await?;
        let of_limit =
            |kind| matches!(kind, AskKind::MistakeLimitReached | AskKind::AutoApprovalMaxReqReached);
        let Some(ask) = asks.into_iter().find(|ask| of_limit(ask.kind)) else { return Ok(false) };
        // The run that the answer begins, here or at another door, is followed.
        (self.run, self.ended, self.idle) = (None, None, false);
        let ask_id = ask.ask_id.clone();
        self.desk.add(PendingAsk { request: None, ask });
        self.put_next();
        while self.decided.is_none() && self.desk.holds(&ask_id) {
            self.ears.wake_at(self.next_wake());
            match self.ears.next(&mut self.answers).await {
                IncomingEvent::Interrupt => {
                    self.at_once = true;
                    return Err(LeaveReason::Interrupted);
                }
                heard => self.hear(heard).await?,
            }
        }
        let (option_id, answer, reason) = match self.decided.take() {
            None => return self.begins_elsewhere().await,
            Some(PermissionOutcome::Cancelled | PermissionOutcome::Absent) => return Ok(false),
            Some(PermissionOutcome::Selected { option_id, text }) => (Some(option_id), None, text),
            Some(PermissionOutcome::Answered { text }) => (None, Some(text), None),
        };
        // Every other answer goes on.
        let stops = option_id.as_deref() == Some(STOP);
        // Who is at the terminal is asked from here on.
        let params = AskRespondParams { ask_id, option_id, answer, reason, unattended: false };
        let answered: AskRespondResult = self.request(methods::ASK_RESPOND, &params).await?;
        match answered.status {
            RespondStatus::Accepted => Ok(!stops),
            RespondStatus::AlreadyResolved => {
                self.ask_closed(&answered.resolution);
                self.begins_elsewhere().await
            }
        }
    }

    /// The question was answered at another door; says whether a run begins by that.
    async fn begins_elsewhere(&mut self) -> Result<bool, LeaveReason> {
        let until = Instant::now() + IDLE_LIMIT;
        while self.run.is_none() && Instant::now() < until {
            self.ears.wake_at(Some(until));
            let heard = self.ears.next(&mut self.answers).await;
            self.hear(heard).await?;
        }
        Ok(self.run.is_some())
    }
}
