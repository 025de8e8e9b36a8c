//! What comes after a limit: the person at the terminal decides, before the command ends.
//!
//! Never decides by itself. If no person is present, the question stays open for later.

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
    /// Handles events until the end of the followed run, and of the runs with which a person continues
    /// it after a limit.
    pub async fn until_over(&mut self) -> Result<RunEnd, LeaveReason> {
        loop {
            let end = self.until_ended().await?;
            let continues = match end.outcome {
                Outcome::Limit => self.ask_to_continue().await,
                _ => Ok(false),
            };
            // Also if the question failed, because the end of the run was not shown yet.
            self.view.limit_decided(&mut self.pages, matches!(continues, Ok(true)));
            if !continues? {
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

    /// Asks the person the question that a limit left, and sends their answer. Returns `true` if another
    /// run has begun.
    async fn ask_to_continue(&mut self) -> Result<bool, LeaveReason> {
        if !matches!(self.answers, Answers::Person(_)) {
            return Ok(false);
        }
        let asks = self.open_asks().await?;
        let of_limit =
            |kind| matches!(kind, AskKind::MistakeLimitReached | AskKind::AutoApprovalMaxReqReached);
        let Some(ask) = asks.into_iter().find(|ask| of_limit(ask.kind)) else { return Ok(false) };
        // Follow the run that the answer begins, here or at another client.
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
                event => self.on_event(event).await?,
            }
        }
        let (option_id, answer, reason) = match self.decided.take() {
            None => return self.begins_elsewhere().await,
            Some(PermissionOutcome::Cancelled | PermissionOutcome::Absent) => return Ok(false),
            Some(PermissionOutcome::Selected { option_id, text }) => (Some(option_id), None, text),
            Some(PermissionOutcome::Answered { text }) => (None, Some(text), None),
        };
        // Every other answer continues.
        let stops = option_id.as_deref() == Some(STOP);
        // Not unattended: the person at the terminal answers from here on.
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

    /// Waits after an answer from another client. Returns whether a run has begun.
    async fn begins_elsewhere(&mut self) -> Result<bool, LeaveReason> {
        let until = Instant::now() + IDLE_LIMIT;
        while self.run.is_none() && Instant::now() < until {
            self.ears.wake_at(Some(until));
            let event = self.ears.next(&mut self.answers).await;
            self.on_event(event).await?;
        }
        Ok(self.run.is_some())
    }
}
