//! The interface between a connection and the methods of one face.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::envelope::{ErrorBody, code};

/// The future of a running handler.
pub type Serving<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The answer to a request: the JSON of its result without line ends, or the error.
pub type Answer = Result<Box<RawValue>, ErrorBody>;

/// The params of a message, or why they cannot be read. Some methods ignore unreadable params.
pub type Params = Result<Option<Value>, String>;

/// The methods of one face.
///
/// Each call and the first poll of its future happen in the order of arrival. A handler whose order
/// matters must post before it waits. A panic ends only its own call.
pub trait Backend: Send + Sync + 'static {
    /// Serves a request. Dropping the future cancels it.
    fn request(&self, method: &str, params: Params) -> Serving<Answer>;

    /// Serves a notification.
    fn notification(&self, method: &str, params: Params) -> NotificationOutcome;

    /// Reports that a message of the client could not be read. It may have been any notification.
    fn lost(&self);
}

/// The result of a notification.
pub enum NotificationOutcome {
    /// A handler runs.
    Serving(Serving<()>),
    /// The notification is ignored.
    PassedOver,
    /// Its params are not those of its method.
    Unreadable(String),
    /// It ends the connection.
    Exit {
        /// Whether the client sent `shutdown` before, as it should.
        after_shutdown: bool,
    },
}

impl ErrorBody {
    /// Returns an error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Returns the error for params that the method does not accept.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Returns the error for params that cannot be parsed, for example because they are nested too deep.
    pub fn unreadable(why: &str) -> Self {
        Self::invalid_params(format!("the params cannot be read: {why}"))
    }

    /// Returns the error for an unknown method.
    pub fn no_method(method: &str) -> Self {
        Self { data: Some(method.into()), ..Self::new(code::METHOD_NOT_FOUND, "there is no such method") }
    }
}

/// Converts a result into an answer. Fails with `INTERNAL_ERROR` if it cannot be serialised.
pub fn answer<R: Serialize>(result: Result<R, ErrorBody>) -> Answer {
    let written = |result: R| serde_json::value::to_raw_value(&result);
    result.and_then(|result| {
        written(result).map_err(|why| ErrorBody::new(code::INTERNAL_ERROR, why.to_string()))
    })
}
