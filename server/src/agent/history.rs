//! The request for the prompts of a folder.
//!
//! Never opens a session.

use adjutant_protocol::history::{MAX_PAGE_PROMPTS, PromptHistoryParams, PromptHistoryResult};

use super::methods::{check_limit, root_of};
use super::{Agent, Result};
use crate::sessions::prompts::{PromptFilter, PromptPlace};
use crate::transport::ErrorBody;

impl Agent {
    pub(super) async fn prompt_history(&self, params: PromptHistoryParams) -> Result<PromptHistoryResult> {
        let PromptHistoryParams { cwd, limit, before } = params;
        check_limit("limit", limit, MAX_PAGE_PROMPTS)?;
        let before = before.map(|text| {
            PromptPlace::parse(&text)
                .ok_or_else(|| ErrorBody::invalid_params(format!("{text:?} was never a `before`")))
        });
        let before = before.transpose()?;
        let root = root_of(cwd).await?;
        Ok(self.sessions.prompts(PromptFilter { root, limit: limit as usize, before }).await?)
    }
}
