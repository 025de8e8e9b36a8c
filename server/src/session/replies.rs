//! Requests to a session, and replies that wait for the disk or for a run.
//!
//! Never sends a reply before the events it speaks of are durable (L1).

use std::collections::VecDeque;

use adjutant_core::machine::accept::{Refusal, accept};
use adjutant_core::machine::input::{Answer, Choice, Input, Prompt};
use adjutant_core::policy::choices::Follows;
use adjutant_core::prompt::image::{self, Image};
use adjutant_core::record::{Event, KeyUse, Outcome};
use adjutant_core::wire::{plan, state, usage};
use adjutant_protocol::ask::{AskRespondResult, AskView, RespondStatus};
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::session::{
    Delivery, Disposition, PromptResult, ReplayFrom, ResumeResult, WaitResult, WaitStatus,
};
use adjutant_protocol::{AskId, RunId};
use tokio::sync::oneshot;

use super::deciding::ReviewWait;
use super::images::{self, NewImage, PendingImages};
use super::mailbox::{ClientError, MAX_WORDS, Message, PostedPrompt, Reply, ResumePoint, Wording};
use super::paging::PublishedPage;
use super::publish::Follower;
use super::recording::RecordError;
use super::{SessionTask, choosing};
use crate::client::RenderedFile;
use crate::client::backfill::PastUpdates;
use crate::clock::now_ms;
use crate::faults::point;
use crate::scarce;

type DurableAction = Box<dyn FnOnce(Result<(), ClientError>) + Send>;

/// Replies that are not yet sent.
#[derive(Default)]
pub struct Replies {
    after: VecDeque<(u64, DurableAction)>,
    waits: Vec<Wait>,
    /// Decisions of the review that are being carried out.
    pub(super) reviews: Vec<ReviewWait>,
    numbered: u64,
    durable: u64,
    ended: bool,
    /// Set once nothing becomes durable any more: requests that would wait for the disk are refused with it.
    failed: Option<ClientError>,
}

struct Wait {
    number: u64,
    run: RunId,
    reply: Reply<WaitResult>,
    /// Dropping it ends the timer of this wait.
    _timer: oneshot::Sender<()>,
}

impl Replies {
    pub(super) fn after_durable(
        &mut self,
        seq: u64,
        action: impl FnOnce(Result<(), ClientError>) + Send + 'static,
    ) {
        match &self.failed {
            _ if seq <= self.durable => action(Ok(())),
            Some(refused) => action(Err(refused.clone())),
            None => self.after.push_back((seq, Box::new(action))),
        }
    }

    pub fn durable_up_to(&mut self, seq: u64) {
        self.durable = self.durable.max(seq);
        while self.after.front().is_some_and(|(needs, _)| *needs <= self.durable) {
            if let Some((_, action)) = self.after.pop_front() {
                action(Ok(()));
            }
        }
    }

    pub fn of_event(&mut self, event: &Event) {
        self.ended |= matches!(event, Event::RunEnded { .. });
    }

    pub fn fail_all(&mut self, why: &str) {
        self.refuse_all(&ClientError::new(ErrorName::SessionReadOnly, why));
    }

    /// Refuses all replies that wait, and all that come later.
    pub fn refuse_all(&mut self, refused: &ClientError) {
        for (_, action) in self.after.drain(..) {
            action(Err(refused.clone()));
        }
        for wait in self.waits.drain(..) {
            let _ = wait.reply.send(Err(refused.clone()));
        }
        for wait in self.reviews.drain(..) {
            wait.refuse(refused.clone());
        }
        self.failed = Some(refused.clone());
    }
}

impl SessionTask {
    pub(super) async fn prompt(&mut self, prompt: PostedPrompt, reply: Reply<PromptResult>) {
        self.place.mailbox.note_handled();
        let result = self.prompted(prompt).await;
        let barrier = self.barrier;
        match result {
            Ok(result) => self.replies.after_durable(barrier, move |durable| {
                let _ = reply.send(durable.map(|()| result));
            }),
            Err(refused) => {
                let _ = reply.send(Err(refused));
            }
        }
    }

    async fn prompted(&mut self, mut posted: PostedPrompt) -> Result<PromptResult, ClientError> {
        let images = std::mem::take(&mut posted.images);
        let attached = std::mem::take(&mut posted.wording.attached);
        let invalid = |why| ClientError::new(ErrorName::PromptInvalid, why);
        if attached.wants_compaction().map_err(invalid)? {
            return self.compacted_by_prompt().await;
        }
        let mut prompt = self.read_prompt(posted, images.names())?;
        // Nothing is read or saved for a prompt that will be refused, or that was accepted before.
        let is_accepted = || accept(&self.session, &super::stamp(), Input::prompted(prompt.clone())).is_ok();
        if self.stopped.is_none() && is_accepted() {
            let attached = attached.worded(&self.place).await;
            let attached = attached.map_err(invalid)?;
            prompt.added.push_str(&attached.text);
            let mentioned = self.mentioned_images(&mut prompt, attached.images)?;
            self.save_images(images).await?;
            self.save_images(mentioned).await?;
        }
        let key = prompt.key.as_ref().map(|key| key.key.clone());
        let accepted = self.record_input(Input::prompted(prompt)).await;
        point("prompt-accepted");
        match accepted {
            Ok(events) => events
                .iter()
                .find_map(|event| match event {
                    Event::Prompted { run, steer, .. } => Some(PromptResult {
                        run_id: run.clone(),
                        accepted_at: self.accepted_at(key.as_deref()),
                        disposition: disposition(*steer),
                    }),
                    _ => None,
                })
                .ok_or_else(|| self.refused(Refusal::Nothing)),
            Err(RecordError::Refused(Refusal::Repeat { run, steered, at })) => {
                Ok(PromptResult { run_id: run, accepted_at: at, disposition: disposition(steered) })
            }
            Err(why) => Err(self.not_recorded(why)),
        }
    }

    /// Adds the images that a prompt mentions to its others.
    fn mentioned_images(
        &self,
        prompt: &mut Prompt,
        mentioned: Vec<NewImage>,
    ) -> Result<PendingImages, ClientError> {
        if mentioned.is_empty() {
            return Ok(PendingImages::default());
        }
        prompt.images.extend(mentioned.iter().map(|new| new.image.clone()));
        if let Some(why) = image::too_many(&prompt.images) {
            return Err(ClientError::new(ErrorName::PromptInvalid, why));
        }
        // Nothing is saved for a model that accepts no images.
        accept(&self.session, &super::stamp(), Input::prompted(prompt.clone()))
            .map_err(|why| self.refused(why))?;
        self.place.world.images.reserve(mentioned).ok_or_else(|| {
            ClientError::new(
                ErrorName::Overloaded,
                "too many images wait to be saved; send the prompt again later",
            )
        })
    }

    /// Saves the images of a prompt as blobs, before the event that names them. The session waits for
    /// it, so that the next message finds the prompt accepted or refused.
    async fn save_images(&mut self, images: PendingImages) -> Result<(), ClientError> {
        if images.is_empty() {
            return Ok(());
        }
        let saved = images::save(self.place.blobs.clone(), images).await;
        point("images-kept");
        saved.map_err(|why| {
            let (name, why) = match scarce::descriptors(&why) {
                Some(why) => (ErrorName::Overloaded, why.to_owned()),
                None => (ErrorName::SessionReadOnly, why.to_string()),
            };
            ClientError::new(
                name,
                format!("the images of the prompt could not be saved, so nothing was started: {why}"),
            )
        })
    }

    /// When a prompt was accepted, in milliseconds since the Unix epoch. A repeated key gets the first time.
    fn accepted_at(&self, key: Option<&str>) -> u64 {
        let seen = self.session.keys.iter().rev().find(|seen| Some(seen.used.key.as_str()) == key);
        seen.map_or_else(now_ms, |seen| seen.at)
    }

    /// Checks a prompt and resolves its model, mode and policy by the settings.
    fn read_prompt(&self, posted: PostedPrompt, images: Vec<Image>) -> Result<Prompt, ClientError> {
        let PostedPrompt {
            params, text, wording: Wording { title, added, comments, .. }, body: digest, ..
        } = posted;
        if !matches!(params.delivery, Delivery::Auto | Delivery::Steer) {
            return Err(ClientError::new(
                ErrorName::DeliveryUnsupported,
                "only the deliveries \"auto\" and \"steer\" are supported",
            ));
        }
        if params.delivery == Delivery::Steer && self.session.open_run().is_none() {
            return Err(ClientError::new(ErrorName::RunMismatch, "there is no open run to steer"));
        }
        let settings = self.place.world.settings();
        let (provider, model) = settings
            .provider_for(
                params.overrides.model.as_ref().or(self.session.choices.model.as_ref()).map(String::as_str),
            )
            .map_err(|why| ClientError::new(ErrorName::ProviderUnavailable, why.to_string()))?;
        let overrides = &params.overrides;
        let mode = overrides.mode.map_or(self.session.choices.mode, Into::into);
        let generation_settings = choosing::generation_settings(overrides, &self.session.choices, &settings)?;
        let follows = Follows {
            mode: overrides.mode.is_none(),
            model: overrides.model.is_none(),
            effort: overrides.effort.is_none(),
            verbosity: overrides.verbosity.is_none(),
        };
        let model = format!("{}/{model}", provider.name);
        let policy = settings.policy_for(&model, mode, self.place.world.edits_mode(), overrides.unattended);
        let seen_by = self.session.open_run().map_or(model.as_str(), |run| run.current_model());
        Ok(Prompt {
            text,
            added,
            takes_images: settings.takes_images(seen_by),
            images,
            title,
            expected_run: params.expected_run_id,
            model,
            generation_settings,
            policy,
            follows,
            origin: params.origin.map(Into::into),
            key: params.key.map(|key| KeyUse { key, digest }),
            comments,
        })
    }

    pub(super) async fn answer(
        &mut self,
        ask: AskId,
        choice: Choice,
        surface: &'static str,
        unattended: bool,
        reply: Option<Reply<AskRespondResult>>,
    ) {
        let result = self.answered(ask, choice, surface, unattended).await;
        point("ask-answered");
        let Some(reply) = reply else { return };
        match result {
            Ok(result) => {
                let barrier = self.barrier;
                self.replies.after_durable(barrier, move |durable| {
                    let _ = reply.send(durable.map(|()| result));
                });
            }
            Err(refused) => {
                let _ = reply.send(Err(refused));
            }
        }
    }

    async fn answered(
        &mut self,
        ask: AskId,
        choice: Choice,
        surface: &'static str,
        unattended: bool,
    ) -> Result<AskRespondResult, ClientError> {
        if bytes_of(&choice) > MAX_WORDS {
            let why = format!("an answer has at most {MAX_WORDS} bytes");
            return Err(ClientError::new(ErrorName::AnswerInvalid, why));
        }
        let settings = self.place.world.settings_now();
        let consent = unattended.then_some(settings.unattended);
        let budget = Some(settings.budget.clone());
        let answer = Answer { ask: ask.clone(), choice, surface: surface.to_owned(), consent, budget };
        let (status, resolution) = match self.record_input(Input::Answer(answer)).await {
            Ok(_) => match self.session.resolution(&ask) {
                Some(resolution) => (RespondStatus::Accepted, resolution.clone()),
                None => return Err(self.refused(Refusal::Nothing)),
            },
            Err(RecordError::Refused(Refusal::AlreadyResolved(resolution))) => {
                (RespondStatus::AlreadyResolved, resolution)
            }
            Err(why) => return Err(self.not_recorded(why)),
        };
        Ok(AskRespondResult { status, resolution: resolution.into() })
    }

    pub(super) fn wait(&mut self, run: RunId, timeout_ms: u64, reply: Reply<WaitResult>) {
        self.place.mailbox.note_handled();
        if let Some(result) = self.ended(&run) {
            let _ = reply.send(Ok(result));
        } else if self.stopped.is_some() {
            let _ = reply.send(Err(self.refused(Refusal::Nothing)));
        } else if self.session.open_run().is_some_and(|open| open.id == run) {
            // Waits whose client has withdrawn are removed, so there are never more than its calls in flight.
            self.replies.waits.retain(|wait| !wait.reply.is_closed());
            self.replies.numbered += 1;
            let number = self.replies.numbered;
            let (timer, withdrawn) = oneshot::channel();
            self.replies.waits.push(Wait { number, run: run.clone(), reply, _timer: timer });
            let mailbox = self.place.mailbox.clone();
            tokio::spawn(async move {
                let over = tokio::time::sleep(std::time::Duration::from_millis(timeout_ms));
                tokio::select! {
                    () = over => mailbox.post(Message::WaitOver { run, number }),
                    _ = withdrawn => {}
                }
            });
        } else {
            let _ = reply.send(Err(ClientError::new(ErrorName::RunMismatch, "this session has no such run")));
        }
    }

    /// Answers a wait whose time is over; the run continues (S29).
    pub(super) fn wait_over(&mut self, run: &RunId, number: u64) {
        let started_at = self.session.open_run().map_or(0, |open| open.started_at);
        let Some(at) = self.replies.waits.iter().position(|wait| wait.number == number && wait.run == *run)
        else {
            return;
        };
        let wait = self.replies.waits.swap_remove(at);
        let _ = wait.reply.send(Ok(WaitResult { status: WaitStatus::Timeout, started_at, ended: None }));
    }

    /// Answers the waits for a run that has just ended.
    pub(super) fn answer_waits(&mut self) {
        if !std::mem::take(&mut self.replies.ended) {
            return;
        }
        let barrier = self.barrier;
        for wait in std::mem::take(&mut self.replies.waits) {
            match self.ended(&wait.run) {
                Some(result) => self.replies.after_durable(barrier, move |durable| {
                    let _ = wait.reply.send(durable.map(|()| result));
                }),
                None => self.replies.waits.push(wait),
            }
        }
    }

    fn ended(&self, run: &RunId) -> Option<WaitResult> {
        let ended = self.session.ended.iter().rev().find(|ended| ended.run == *run)?;
        let status = match ended.end.outcome {
            Outcome::Completed | Outcome::Stopped => WaitStatus::Ok,
            Outcome::Failed | Outcome::Limit => WaitStatus::Error,
            Outcome::Cancelled => WaitStatus::Cancelled,
        };
        Some(WaitResult { status, started_at: ended.started_at, ended: Some(ended.end.clone().into()) })
    }

    pub(super) fn asks(&mut self, reply: Reply<Vec<AskView>>) {
        self.place.mailbox.note_handled();
        let asks =
            self.session.open_asks().map(|ask| adjutant_core::wire::ask::view(&self.session, ask)).collect();
        let _ = reply.send(Ok(asks));
    }

    pub(super) fn transcript(&mut self, reply: Reply<RenderedFile>) {
        self.place.mailbox.note_handled();
        self.publisher.transcribe(reply);
    }

    /// Answers with the present state. Past updates follow, read from the log.
    pub(super) fn resume(&mut self, from: Option<ReplayFrom>, reply: Reply<ResumePoint>) {
        self.place.mailbox.note_handled();
        if self.stopped.is_some() {
            // The answer would wait for the disk for ever.
            let _ = reply.send(Err(self.refused(Refusal::Nothing)));
            return;
        }
        let page = match from {
            Some(ReplayFrom::Last { items }) => Some(self.publisher.last_items(items as usize)),
            _ => None,
        };
        let result = ResumeResult {
            state: state::view(&self.session),
            seq: self.publisher.seq(),
            title: self.session.title.clone(),
            mode: self.session.open_run().map_or(self.session.choices.mode, |run| run.policy.mode).into(),
            model: self.session.open_run().map(|run| run.model.clone()),
            config_options: super::options_of(&self.session, &self.place.world.settings()),
            before: page.as_ref().and_then(|page| page.before),
            gap: matches!(from, Some(ReplayFrom::Seq { seq }) if seq > self.publisher.seq()),
            asks: self
                .session
                .open_asks()
                .map(|ask| adjutant_core::wire::ask::view(&self.session, ask))
                .collect(),
            plan: plan::entries(&self.session.plan),
            usage: usage::context(&self.session, &self.place.world.settings()),
            notices: self.notices.clone(),
        };
        let past = match from {
            None => None,
            Some(ReplayFrom::Start) => PastUpdates::all(1, result.seq),
            Some(ReplayFrom::Seq { seq }) => PastUpdates::all(seq.saturating_add(1), result.seq),
            Some(ReplayFrom::Last { .. }) => {
                let mut updates = page.map(|page| page.updates).unwrap_or_default();
                // A client that follows the updates alone learns the state too.
                if let Some(state) = self.publisher.last_state() {
                    updates.insert(updates.partition_point(|seq| *seq < state), state);
                }
                PastUpdates::only(updates)
            }
        };
        self.publisher.resumed(&self.session, Follower { result, past, reply }, self.barrier);
    }

    /// Answers with the numbers of the updates of a page of items.
    pub(super) fn items(&mut self, before: Option<u64>, limit: usize, reply: Reply<PublishedPage>) {
        self.place.mailbox.note_handled();
        let _ = reply.send(Ok(self.publisher.items_before(before, limit)));
    }

    /// Returns the error for a request whose input was not recorded. If only the log had no room for the moment, the
    /// client may send the request again.
    pub(super) fn not_recorded(&self, why: RecordError) -> ClientError {
        match why {
            RecordError::Refused(refusal) => self.refused(refusal),
            RecordError::TooLarge { limit } => ClientError::new(
                ErrorName::AnswerInvalid,
                format!("this is larger than a record of the log may be ({} MiB); send less", limit >> 20),
            ),
            RecordError::Later(why) => ClientError::new(ErrorName::Overloaded, why),
        }
    }

    pub(super) fn refused(&self, refusal: Refusal) -> ClientError {
        if let Some(why) = &self.stopped {
            return ClientError::new(ErrorName::SessionReadOnly, why.clone());
        }
        let (name, message) = match refusal {
            Refusal::RunMismatch { open: Some(open) } => {
                (ErrorName::RunMismatch, format!("the open run is \"{open}\""))
            }
            Refusal::RunMismatch { open: None } => (ErrorName::RunMismatch, "no run is open".to_owned()),
            Refusal::AskNotFound => (ErrorName::AskNotFound, "no ask has this id".to_owned()),
            Refusal::AnswerInvalid(why) => (ErrorName::AnswerInvalid, why),
            Refusal::KeyReused => {
                (ErrorName::KeyReused, "this key was used before with another body".to_owned())
            }
            Refusal::ImagesUnsupported { model } => (
                ErrorName::ImagesUnsupported,
                format!(
                    "{model} does not support images: choose another model by the option `model`, or send only \
                     text; if it does support images, set `images = true` for its provider"
                ),
            ),
            Refusal::Overloaded => {
                (ErrorName::Overloaded, "too many prompts wait for the next turn".to_owned())
            }
            Refusal::AlreadyResolved(_) | Refusal::Stale | Refusal::Nothing | Refusal::Repeat { .. } => {
                (ErrorName::AskClosed, "the ask is already closed, or its run has ended".to_owned())
            }
        };
        ClientError::new(name, message)
    }
}

/// The size of the text in a choice, in bytes.
fn bytes_of(choice: &Choice) -> usize {
    match choice {
        Choice::Option { text, .. } => text.as_ref().map_or(0, String::len),
        Choice::Text(text) => text.len(),
    }
}

pub(super) fn disposition(steered: bool) -> Disposition {
    if steered { Disposition::Steered } else { Disposition::Started }
}
