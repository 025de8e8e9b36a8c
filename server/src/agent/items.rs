//! The requests for past items of a session, and for what a tool call gave.
//!
//! Never holds an update longer than its answer takes.

use adjutant_protocol::items::{ItemReadParams, ItemReadResult, ItemsParams, ItemsResult, MAX_PAGE_ITEMS};

use super::methods::{answered, check_limit};
use super::{Agent, Result};
use crate::aside::aside;
use crate::session::mailbox::Message;
use crate::session::paging;
use crate::transport::{ErrorBody, code};

impl Agent {
    pub(super) async fn item_read(&self, params: ItemReadParams) -> Result<ItemReadResult> {
        Ok(self.sessions.result_of(params.session_id, params.tool_call_id).await?)
    }

    pub(super) async fn session_items(&self, params: ItemsParams) -> Result<ItemsResult> {
        let ItemsParams { session_id, before, limit } = params;
        check_limit("limit", limit, MAX_PAGE_ITEMS)?;
        let mailbox = self.sessions.get(&session_id)?;
        let request = mailbox.request(|reply| Message::Items { before, limit: limit as usize, reply });
        let page = answered(request).await?;
        if let Some(before) = before.filter(|before| *before == 0 || *before > page.last) {
            let last = page.last;
            return Err(ErrorBody::invalid_params(format!(
                "`before` is {before}, and the session has the updates 1 to {last}; resume it again"
            )));
        }
        let world = self.sessions.world().clone();
        let read = move || {
            paging::read(&world.catalog, &session_id, page, paging::MAX_PAGE_BYTES, |update| {
                world.link.wants(update)
            })
        };
        aside(read).await.map_err(|why| ErrorBody::new(code::INTERNAL_ERROR, format!("read the log: {why}")))
    }
}
