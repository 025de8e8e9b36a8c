//! The `agent/*` methods that a client may send, for every face: one table from method to function.
//!
//! Posts to sessions and answers. Never holds state of a session, and never depends on a face: a face passes in what
//! its client can do, and routes the methods of the table here.

mod completing;
pub mod configured;
mod content;
mod context;
mod file_names;
mod fork;
mod history;
mod items;
mod methods;
mod opening;
mod prompt_buffer;
pub mod reopen;
mod setup;
pub mod start;

use std::sync::Arc;
use std::time::Duration;

use adjutant_protocol::errors::ErrorDetail;
use adjutant_protocol::methods::{self as names, Direction, METHODS};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use methods::{answered, digest_of};
pub use opening::{OpenedAgent, Opening};

use crate::client::REACTION;
use crate::model::Models;
use crate::session::mailbox::ClientError;
use crate::session::storage::{Disk, Storage};
use crate::sessions::Sessions;
use crate::settings::Sources;
use crate::tools::ToolRegistry;
use crate::transport::{Answer, ErrorBody, Out, Serving, answer};
use configured::ClientConfiguration;
use file_names::NameIndex;
use start::Starts;

/// The result of a method before it is serialised.
pub type Result<T> = std::result::Result<T, ErrorBody>;

/// The options that a server is started with.
#[derive(Clone)]
pub struct Options {
    /// All sources of settings except the workspace and the editor.
    pub sources: Sources,
    pub models: Models,
    /// The tools of its runs; a tool that is added later is used from the next run on.
    pub tools: ToolRegistry,
    /// How long a popup must have been on the screen before an approval in it counts.
    pub reaction: Duration,
    /// The disk that sessions are kept on; tests pass in a simulated one.
    pub storage: Arc<dyn Storage>,
    /// Whether the server ends with one command of the user.
    pub is_brief: bool,
}

impl Options {
    pub fn new(sources: Sources, models: Models) -> Self {
        models.start_key_commands_by(crate::tools::process::run_own);
        let (tools, storage) = (ToolRegistry::default(), Arc::new(Disk));
        Self { sources, models, tools, reaction: REACTION, storage, is_brief: false }
    }
}

/// The server as one client uses it.
pub struct Agent {
    pub sessions: Sessions,
    pub configured: Arc<ClientConfiguration>,
    /// What this connection has started.
    pub starts: Starts,
    /// Held while the models are called for a check, and while a provider is set up.
    probing: Arc<tokio::sync::Semaphore>,
    /// The names that a mention can have.
    names: Arc<NameIndex>,
    out: Out,
}

/// How a method of the table is served.
#[derive(Clone, Copy)]
pub enum Serve {
    Request(fn(Arc<Agent>, Option<Value>) -> Serving<Answer>),
    Notification(fn(Arc<Agent>, Option<Value>) -> Result<Serving<()>>),
}

/// Makes the table, a row for each method: its name and the function of [`Agent`] that serves it.
macro_rules! table {
    (requests { $($request:path => $serve:ident,)* } notifications { $($notification:path => $note:ident,)* }) => {
        /// Every `agent/*` method that a client may send, and the function that serves it.
        pub const METHODS_OF_CLIENTS: &[(&str, Serve)] = &[
            $(($request, Serve::Request(|agent, params| match read(params) {
                Ok(params) => Box::pin(async move { answer(agent.$serve(params).await) }),
                Err(why) => Box::pin(std::future::ready(Err(why))),
            })),)*
            $(($notification, Serve::Notification(|agent, params| {
                let params = read(params)?;
                Ok(Box::pin(async move { agent.$note(params).await }))
            })),)*
        ];
    };
}

table! {
    requests {
        names::SESSION_NEW => session_new,
        names::SESSION_LIST => session_list,
        names::SESSION_RESUME => session_resume,
        names::SESSION_ITEMS => session_items,
        names::ITEM_READ => item_read,
        names::SESSION_CLOSE => session_close,
        names::SESSION_DELETE => session_delete,
        names::SESSION_RENAME => session_rename,
        names::SESSION_FORK => session_fork,
        names::SESSION_CONTEXT => session_context,
        names::SESSION_COMPACT => session_compact,
        names::SESSION_PROMPT => session_prompt,
        names::SESSION_WAIT => session_wait,
        names::SESSION_SET_CONFIG_OPTION => set_option,
        names::PROMPT_HISTORY => prompt_history,
        names::PROMPT_COMPLETE => prompt_complete,
        names::MODEL_LIST => model_list,
        names::CONFIG_SCHEMA => schema,
        names::DOCTOR => doctor,
        names::SETUP_PROVIDERS => services,
        names::SETUP_TRY => setup_try,
        names::SETUP_WRITE => setup_write,
        names::START => start,
        names::ASK_LIST => ask_list,
        names::ASK_RESPOND => ask_respond,
        names::REVIEW_LIST => review_list,
        names::REVIEW_DECIDE => review_decide,
        names::REVIEW_DIFF => review_diff,
        names::REVIEW_BASE => review_base,
        names::REVIEW_PREVIEW => review_preview,
        names::REVIEW_REWIND => review_rewind,
        names::REVIEW_COMMENT => review_comment,
        names::REVIEW_SEND => review_send,
    }
    notifications {
        names::SESSION_CANCEL => session_cancel,
    }
}

/// Returns the function that serves a method; `None` if the method is not in the table.
pub fn method(name: &str) -> Option<Serve> {
    METHODS_OF_CLIENTS.iter().find(|(known, _)| *known == name).map(|(_, serve)| *serve)
}

/// Fails to compile unless the table of the protocol and the table above have the same methods.
const _: () = {
    let mut of_clients = 0;
    let mut at = 0;
    while at < METHODS.len() {
        let request = match METHODS[at].direction {
            Direction::ClientRequest => true,
            Direction::ClientNotification => false,
            Direction::ServerRequest | Direction::ServerNotification => {
                at += 1;
                continue;
            }
        };
        assert!(is_served(METHODS[at].name, request), "a method of the protocol is served by no function");
        of_clients += 1;
        at += 1;
    }
    assert!(
        of_clients == METHODS_OF_CLIENTS.len(),
        "a function serves a method that the protocol does not have"
    );
};

/// Whether the table has the method, as a request or as a notification.
const fn is_served(name: &str, request: bool) -> bool {
    let mut at = 0;
    while at < METHODS_OF_CLIENTS.len() {
        let (served, by) = METHODS_OF_CLIENTS[at];
        if is_same(served, name) {
            return matches!(by, Serve::Request(_)) == request;
        }
        at += 1;
    }
    false
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Parses the params of a method. Absent params count as `null`, which some methods accept.
pub fn read<P: DeserializeOwned>(params: Option<Value>) -> Result<P> {
    match params {
        Some(params) => {
            serde_json::from_value(params).map_err(|why| ErrorBody::invalid_params(why.to_string()))
        }
        None => serde_json::from_value(Value::Null)
            .map_err(|_| ErrorBody::invalid_params("the params are missing")),
    }
}

impl From<ClientError> for ErrorBody {
    fn from(refused: ClientError) -> Self {
        let data = serde_json::to_value(ErrorDetail::of(refused.name)).ok();
        Self { code: refused.name.code(), message: refused.message, data }
    }
}
