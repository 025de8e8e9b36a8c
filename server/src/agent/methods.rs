//! The `agent/*` requests: one small function each.
//!
//! Each posts to the mailbox of a session before it waits for anything, so that requests
//! take effect in the order of their arrival. Never decides anything about a session.

use std::path::PathBuf;
use std::sync::Arc;

use adjutant_core::config::{Settings, editor_schema};
use adjutant_core::machine::input::Choice;
use adjutant_core::wire::round;
use adjutant_protocol::ask::{AskListParams, AskListResult, AskRespondParams, AskRespondResult};
use adjutant_protocol::config::{ConfigSchemaParams, ConfigSchemaResult};
use adjutant_protocol::doctor::{DoctorParams, DoctorResult};
use adjutant_protocol::errors::ErrorName;
use adjutant_protocol::items::MAX_PAGE_ITEMS;
use adjutant_protocol::model::{ModelListParams, ModelListResult};
use adjutant_protocol::option::{ConfigScope, SetConfigOptionParams, SetConfigOptionResult};
use adjutant_protocol::review::{
    ReviewBaseParams, ReviewBaseResult, ReviewCommentParams, ReviewCommentResult, ReviewDecideParams,
    ReviewDecideResult, ReviewDiffParams, ReviewDiffResult, ReviewHunk, ReviewListParams, ReviewListResult,
    ReviewSendParams, StagedParams,
};
use adjutant_protocol::rewind::{PreviewParams, RewindParams, RewindPreview};
use adjutant_protocol::session::{
    CancelParams, ContentBlock, Delivery, Done, NewSessionParams, NewSessionResult, Overrides, PromptParams,
    PromptResult, ReplayFrom, ResumeParams, ResumeResult, SessionListParams, SessionListResult,
    SessionParams, SessionRenameParams, WaitParams, WaitResult,
};
use adjutant_protocol::{AskId, SessionId};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use super::content::{self, Content};
use super::{Agent, Result};
use crate::aside::aside;
use crate::doctor::examine;
use crate::reviews::{self, earlier::EarlierTexts};
use crate::session::attached::AttachedBlocks;
use crate::session::inbox::ReviewRequest;
use crate::session::mailbox::{ClientError, Mailbox, Message, PostedPrompt, ResumePoint, Wording};
use crate::session::mentions::ClientContext;
use crate::session::{self, SURFACE_OF_CLIENTS, World};
use crate::sessions::list::{Cursor, ListFilter};
use crate::sessions::{committing, unreviewed};
use crate::tools::paths::{ResolvedPath, Roots};
use crate::transport::ErrorBody;
use crate::uri;

/// The longest wait of one `agent/session/wait`: an hour.
const MAX_WAIT_MS: u64 = 3_600_000;

impl Agent {
    /// Reads the user's settings file again if it changed, and returns the settings. Shows the user each mistake in that file.
    pub(super) fn settings_now(&self) -> Arc<Settings> {
        self.sessions.world().settings_now()
    }

    pub(super) async fn session_new(&self, params: Option<NewSessionParams>) -> Result<NewSessionResult> {
        // Read before the first wait: settings that arrive later do not count.
        let config_options = session::options_of_new(&self.settings_now());
        let open = self.configured.folders();
        let roots = aside(move || {
            let folders = match params.and_then(|params| params.cwd) {
                Some(cwd) => vec![folder(&cwd)?],
                None => open,
            };
            Ok::<_, ErrorBody>(Roots::open(&folders))
        });
        // Created after the last wait: a request that is withdrawn before leaves no session without a known id.
        let session_id = self.sessions.create(roots.await?)?;
        Ok(NewSessionResult { session_id, config_options })
    }

    pub(super) async fn session_list(&self, params: Option<SessionListParams>) -> Result<SessionListResult> {
        let SessionListParams { cwd, query, cursor } = params.unwrap_or_default();
        let root = match cwd {
            Some(cwd) => Some(root_of(cwd).await?),
            None => None,
        };
        let cursor = cursor.map(|text| {
            Cursor::parse(&text)
                .ok_or_else(|| ErrorBody::invalid_params(format!("{text:?} was never a `nextCursor`")))
        });
        let wanted = ListFilter { root, query, after: cursor.transpose()? };
        if self.sessions.world().link.surfaces().sessions {
            self.sessions.follow_list(wanted.root.clone()).await?;
        }
        Ok(self.sessions.list(wanted).await?)
    }

    pub(super) async fn session_resume(&self, params: ResumeParams) -> Result<ResumeResult> {
        if let Some(ReplayFrom::Last { items }) = params.replay_from {
            check_limit("items", items, MAX_PAGE_ITEMS)?;
        }
        let ResumePoint { result, place } =
            self.sessions.resume(&params.session_id, params.replay_from, params.unattended).await?;
        let release = place.reached().await;
        self.out.after_next_answer(release);
        Ok(result)
    }

    pub(super) async fn session_close(&self, params: SessionParams) -> Result<Done> {
        self.sessions.close(&params.session_id).await?;
        Ok(Done {})
    }

    pub(super) async fn set_option(&self, params: SetConfigOptionParams) -> Result<SetConfigOptionResult> {
        let SetConfigOptionParams { session_id, config_id, value, scope } = params;
        let chosen = session::chosen(config_id, &value, &self.settings_now())?;
        let mailbox = self.mailbox(&session_id)?;
        let text = match scope {
            ConfigScope::Session => None,
            // First, because a choice that cannot be written is refused as a whole.
            ConfigScope::User => {
                let (key, choice) = session::setting_of(&chosen)?;
                Some(self.write_choice(key, choice).await?)
            }
        };
        let done: Result<SetConfigOptionResult> =
            answered(mailbox.request(|reply| Message::Choose { chosen, reply })).await;
        done.map(|result| SetConfigOptionResult { text, ..result })
    }

    pub(super) async fn model_list(&self, params: Option<ModelListParams>) -> Result<ModelListResult> {
        let ModelListParams {} = params.unwrap_or_default();
        let settings = self.settings_now();
        Ok(ModelListResult { models: settings.model_views() })
    }

    pub(super) async fn schema(&self, params: Option<ConfigSchemaParams>) -> Result<ConfigSchemaResult> {
        let ConfigSchemaParams {} = params.unwrap_or_default();
        Ok(ConfigSchemaResult { schema_text: editor_schema().to_string() })
    }

    pub(super) async fn doctor(&self, params: Option<DoctorParams>) -> Result<DoctorResult> {
        let DoctorParams { call_models } = params.unwrap_or_default();
        let mut checks = Vec::new();
        let models = &self.sessions.world().models;
        // Each call of a model costs tokens.
        let _held = match call_models.then(|| self.probing.try_acquire()).transpose() {
            Ok(held) => held,
            Err(_) => {
                let why = "the models are being called already; wait for that answer";
                return Err(ClientError::new(ErrorName::Overloaded, why).into());
            }
        };
        examine(self.configured.sources(), call_models.then_some(models), |check| checks.push(check)).await;
        Ok(DoctorResult { checks })
    }

    pub(super) async fn session_delete(&self, params: SessionParams) -> Result<Done> {
        self.sessions.delete(&params.session_id).await?;
        Ok(Done {})
    }

    pub(super) async fn session_rename(&self, params: SessionRenameParams) -> Result<Done> {
        let SessionRenameParams { session_id, title } = params;
        let mailbox = self.mailbox(&session_id)?;
        let renamed = mailbox.request(|reply| Message::Rename { title, reply })?;
        let renamed: std::result::Result<Done, ClientError> =
            renamed.await.unwrap_or_else(|_| Err(ClientError::gone()));
        Ok(renamed.map_err(|refused| match refused.name {
            ErrorName::SessionLocked => {
                let why = format!("{refused}; rename it in the window that has it open, or close it there");
                ClientError::new(refused.name, why)
            }
            _ => refused,
        })?)
    }

    pub(super) async fn session_prompt(&self, params: PromptParams) -> Result<PromptResult> {
        // Only a prompt with a key needs the digest. It is computed here, although images may have megabytes,
        // because a cancel that follows must not overtake the prompt.
        let body = params.key.as_ref().map(|_| digest_of(&params)).transpose()?.unwrap_or_default();
        let context = ClientContext {
            selection: params.origin.clone(),
            problems: params.diagnostics.clone(),
            begins_prompt: true,
            is_worded: false,
        };
        let words = content::words(&params.prompt);
        let attached = self.attached(&params.prompt, &words, context).map_err(ErrorBody::invalid_params)?;
        self.post_prompt(params, Wording { attached, ..Wording::default() }, body).await
    }

    /// Takes what is attached from the blocks of a prompt that has just arrived, and what its words mention, before the first wait, so that text typed later
    /// does not count.
    pub fn attached(
        &self,
        blocks: &[ContentBlock],
        words: &str,
        context: ClientContext,
    ) -> std::result::Result<AttachedBlocks, String> {
        let documents = &self.sessions.world().documents;
        AttachedBlocks::of(blocks, words, context, documents, self.configured.folders())
    }

    /// Posts a prompt without a wait before it, so that prompts and cancels keep their order; `body` is the digest of its request.
    pub async fn post_prompt(
        &self,
        mut params: PromptParams,
        wording: Wording,
        body: String,
    ) -> Result<PromptResult> {
        // The session takes the settings for its run from the world.
        self.settings_now();
        let blocks = std::mem::take(&mut params.prompt);
        let Content { text, images } = content::read(blocks).map_err(ErrorBody::invalid_params)?;
        let images = self.sessions.world().images.reserve(images).ok_or_else(|| {
            ClientError::new(
                ErrorName::Overloaded,
                "too many images wait to be saved; send the prompt again later",
            )
        })?;
        let session = params.session_id.clone();
        let mailbox = self.mailbox(&session)?;
        let before = self.starts.set_last(&session);
        let prompt = Box::new(PostedPrompt { params, text, images, wording, body });
        // Popups that were closed without an answer come back, except those that the prompt answers.
        let _acts = self.sessions.world().link.user_acts();
        let result = answered(mailbox.request(|reply| Message::Prompt { prompt, reply })).await;
        if result.is_err() && self.sessions.in_memory(&session).is_none() {
            self.starts.restore_last(&session, before);
        }
        result
    }

    pub(super) async fn session_wait(&self, params: WaitParams) -> Result<WaitResult> {
        let mailbox = self.mailbox(&params.session_id)?;
        let timeout_ms = params.timeout_ms.min(MAX_WAIT_MS);
        answered(mailbox.request(|reply| Message::Wait { run: params.run_id, timeout_ms, reply })).await
    }

    pub(super) async fn session_cancel(&self, params: CancelParams) {
        if let Some(mailbox) = self.sessions.in_memory(&params.session_id) {
            // The wait also ends if the session is gone or cannot be opened: it has nothing to cancel then.
            let _ = mailbox.cancel(params.run_id).await;
        }
    }

    pub(super) async fn ask_list(&self, params: Option<AskListParams>) -> Result<AskListResult> {
        let mailboxes = match params.and_then(|params| params.session_id) {
            Some(id) => vec![self.sessions.get(&id)?],
            None => self.sessions.all(),
        };
        // All requests are posted before the first wait, so that a later close comes after them.
        let posted: Vec<_> =
            mailboxes.iter().map(|mailbox| mailbox.request(|reply| Message::Asks { reply })).collect();
        let mut asks = Vec::new();
        for request in posted {
            asks.extend(answered(request).await?);
        }
        Ok(AskListResult { asks })
    }

    pub(super) async fn ask_respond(&self, params: AskRespondParams) -> Result<AskRespondResult> {
        let choice = Choice::of(params.option_id, params.answer, params.reason)
            .ok_or_else(|| ErrorBody::invalid_params("give either `optionId` or `answer`"))?;
        self.post(params.ask_id, choice, SURFACE_OF_CLIENTS, params.unattended).await
    }

    pub async fn review_list(&self, params: ReviewListParams) -> Result<ReviewListResult> {
        let ReviewListParams { session_id, uri, all, new, staged } = params;
        let is_wanted = |hunk: &ReviewHunk| {
            session_id.as_ref().is_none_or(|id| *id == hunk.session_id) && !(new && hunk.earlier)
        };
        let is_of_file = |hunk: &ReviewHunk| uri.as_ref().is_none_or(|uri| *uri == hunk.uri);
        if let Some(staged) = staged {
            let mut hunks = self.staged_hunks(staged).await?;
            hunks.retain(|hunk| is_wanted(hunk) && is_of_file(hunk));
            return Ok(ReviewListResult { hunks, formatted: Vec::new() });
        }
        let mailboxes = match &session_id {
            Some(id) => vec![self.sessions.get(id)?],
            None => {
                // Before the sessions are asked: it may open one and finish writes of it.
                unreviewed::load(&self.sessions, self.configured.folders(), all).await;
                self.sessions.all()
            }
        };
        let posted: Vec<_> =
            mailboxes.iter().map(|mailbox| mailbox.request(|reply| Message::Hunks { reply })).collect();
        committing::look(&self.sessions, uri.clone()).await;
        let mut hunks = Vec::new();
        for request in posted {
            let waiting: Vec<ReviewHunk> = answered(request).await?;
            hunks.extend(waiting.into_iter().filter(&is_of_file));
        }
        let world = self.sessions.world().clone();
        let of = uri.clone();
        let listed = aside(move || {
            let mut hunks = reviews::hunks(&world.reviews, &world.documents, all, of.as_deref());
            let moved = of.map(|uri| reviews::renamed::hunks(&world.reviews, &world.documents, &uri));
            hunks.extend(moved.into_iter().flatten().filter(|hunk| all || !hunk.is_decided()));
            let formatted = reviews::formatted_of(&world.reviews, &hunks);
            (hunks, formatted)
        });
        let (applied, mut formatted) = listed.await;
        hunks.extend(applied);
        hunks.retain(is_wanted);
        // Stable: within a rank the order stays.
        hunks.sort_by_key(|hunk| hunk.state.rank());
        formatted.retain(|file| {
            let is_of = |hunk: &ReviewHunk| {
                (&hunk.session_id, &hunk.change_set_id) == (&file.session_id, &file.change_set_id)
            };
            hunks.iter().any(is_of)
        });
        Ok(ReviewListResult { hunks, formatted })
    }

    /// Returns the hunks that the next commit would have and that nobody has kept. A repository that cannot be read is an error,
    /// because nothing may be concluded from it.
    async fn staged_hunks(&self, staged: StagedParams) -> Result<Vec<ReviewHunk>> {
        let folders = self.configured.folders();
        // Also of sessions whose changes are all decided: what was undone may still be staged.
        for all in [false, true] {
            let left = unreviewed::load(&self.sessions, folders.clone(), all).await;
            if let Some(id) = left.first() {
                let why = format!("what was cut short in session {id} is not finished");
                return Err(ErrorBody::invalid_params(why));
            }
        }
        let world = self.sessions.world().clone();
        let found =
            aside(move || reviews::staged::of_folders(&world.reviews, &folders, staged.index.as_deref()))
                .await;
        found.map_err(|why| ErrorBody::invalid_params(format!("the staged texts cannot be read: {why}")))
    }

    pub async fn review_decide(&self, params: ReviewDecideParams) -> Result<ReviewDecideResult> {
        Ok(ReviewDecideResult { hunks: self.about_changes(ReviewRequest::Decide(params)).await? })
    }

    /// Carries out a request about the changes of a session, whichever process has it open.
    async fn about_changes<R: DeserializeOwned>(&self, request: ReviewRequest) -> Result<R> {
        let id = request.session().clone();
        let done = self.sessions.about_changes(request).await?;
        if self.sessions.in_memory(&id).is_none() {
            // Another process did it: what this one shows is older.
            unreviewed::load(&self.sessions, self.configured.folders(), true).await;
        }
        Ok(done)
    }

    /// Fails with `SessionNotFound` if there is no such session.
    pub async fn review_diff(&self, params: ReviewDiffParams) -> Result<ReviewDiffResult> {
        let ReviewDiffParams { session_id, run_id, uri } = params;
        if let Some(id) = &session_id {
            self.sessions.check(id).await?;
        }
        unreviewed::load(&self.sessions, self.configured.folders(), true).await;
        let world = self.sessions.world().clone();
        let diff = move || {
            let target = uri.map(|uri| reviews::target_of(&uri));
            earlier_texts(&world).diff(|owned| {
                session_id.as_ref().is_none_or(|id| *id == owned.session)
                    && run_id.as_ref().is_none_or(|id| *id == owned.change.maker.run)
                    && target.as_ref().is_none_or(|target| *target == owned.change.target)
            })
        };
        Ok(aside(diff).await)
    }

    pub async fn review_base(&self, params: ReviewBaseParams) -> Result<ReviewBaseResult> {
        let world = self.sessions.world().clone();
        let base = move || earlier_texts(&world).base(&reviews::target_of(&params.uri));
        aside(base).await.map_err(ErrorBody::invalid_params)
    }

    pub async fn review_preview(&self, params: PreviewParams) -> Result<RewindPreview> {
        // Changes of other sessions may stand on these.
        unreviewed::load(&self.sessions, self.configured.folders(), true).await;
        self.about_changes(ReviewRequest::Preview(params)).await
    }

    pub async fn review_rewind(&self, params: RewindParams) -> Result<ReviewDecideResult> {
        unreviewed::load(&self.sessions, self.configured.folders(), true).await;
        Ok(ReviewDecideResult { hunks: self.about_changes(ReviewRequest::Rewind(params)).await? })
    }

    pub async fn review_comment(&self, params: ReviewCommentParams) -> Result<ReviewCommentResult> {
        self.about_changes(ReviewRequest::Comment(params)).await
    }

    pub async fn review_send(&self, params: ReviewSendParams) -> Result<PromptResult> {
        let body = digest_of(&params)?;
        let mailbox = self.mailbox(&params.session_id)?;
        let comments = answered(mailbox.request(|reply| Message::Comments { reply })).await?;
        if comments.is_empty() {
            return Err(ErrorBody::invalid_params("no comment waits; comment on a change first"));
        }
        let text = round::prompt(params.text.as_deref(), &comments);
        content::check_length(text.len()).map_err(ErrorBody::invalid_params)?;
        let title = match comments.len() {
            1 => "One comment on the changes".to_owned(),
            count => format!("{count} comments on the changes"),
        };
        let prompt = PromptParams {
            session_id: params.session_id,
            prompt: vec![ContentBlock::Text { text }],
            delivery: Delivery::Auto,
            expected_run_id: None,
            origin: None,
            diagnostics: Vec::new(),
            overrides: Overrides::default(),
            key: None,
        };
        let comments = comments.into_iter().map(|about| about.comment).collect();
        let wording = Wording { title: Some(title), comments, ..Wording::default() };
        self.post_prompt(prompt, wording, body).await
    }

    /// Posts an answer that came by `surface`.
    pub async fn post_answer(
        &self,
        ask: AskId,
        choice: Choice,
        surface: &'static str,
    ) -> Result<AskRespondResult> {
        self.post(ask, choice, surface, false).await
    }

    async fn post(
        &self,
        ask: AskId,
        choice: Choice,
        surface: &'static str,
        unattended: bool,
    ) -> Result<AskRespondResult> {
        let sessions = &self.sessions;
        let mailbox = match sessions.of_ask(&ask) {
            Some(mailbox) => mailbox,
            None => sessions.opened_for(&ask).await?,
        };
        // Never refused as `Overloaded`, because a run waits for the answer.
        let reply =
            mailbox.admit(|reply| Message::Answer { ask, choice, surface, unattended, reply: Some(reply) });
        answered(Ok(reply)).await
    }

    fn mailbox(&self, id: &SessionId) -> Result<Mailbox> {
        Ok(self.sessions.get(id)?)
    }
}

/// Returns the digest of a request, to compare requests with the same key. If it cannot be computed, the request is
/// refused, because an empty digest would equal that of any other request.
pub fn digest_of(params: &impl serde::Serialize) -> Result<String> {
    let body = serde_json::to_vec(params).map_err(|why| ErrorBody::invalid_params(why.to_string()))?;
    Ok(adjutant_core::digest_parts(&[&body]))
}

/// Refuses a number of items that no page has.
pub fn check_limit(name: &str, items: u32, most: u32) -> Result<()> {
    if (1..=most).contains(&items) {
        return Ok(());
    }
    Err(ErrorBody::invalid_params(format!("`{name}` is {items}; give 1 to {most}")))
}

/// Returns the URI by which sessions of a folder are found.
pub async fn root_of(cwd: String) -> Result<String> {
    aside(move || folder(&cwd).map(|path| uri::of_path(&path.canonicalize().unwrap_or(path)))).await
}

/// Waits for the reply to a posted request.
pub async fn answered<T>(
    posted: std::result::Result<oneshot::Receiver<std::result::Result<T, ClientError>>, ClientError>,
) -> Result<T> {
    match posted?.await {
        Ok(result) => Ok(result?),
        Err(_) => Err(ClientError::gone().into()),
    }
}

/// The texts without changes, of the files that may be read.
fn earlier_texts(world: &World) -> EarlierTexts<'_, impl Fn(&Roots, &ResolvedPath) -> Option<String>> {
    let denied = |roots: &Roots, at: &ResolvedPath| session::read_denied(world, roots, at);
    EarlierTexts { reviews: &world.reviews, documents: &world.documents, denied }
}

fn folder(uri: &str) -> Result<PathBuf> {
    uri::to_path(uri)
        .ok()
        .filter(|path| path.is_dir())
        .ok_or_else(|| ErrorBody::invalid_params(format!("\"{uri}\" is not a folder; give a file: URI")))
}
