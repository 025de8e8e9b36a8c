//! What is behind the edge: the methods of one face.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::envelope::{ErrorBody, code};

/// A handler at work.
pub type Serving<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What a request is answered with: the JSON of its result without line ends, or the error.
pub type Answer = Result<Box<RawValue>, ErrorBody>;

/// The params of a message, or why they cannot be read. Some methods count whatever their params are.
pub type Params = Result<Option<Value>, String>;

/// The methods of one face. A call and the first poll of what it returns happen in the order of arrival.
///
/// A handler whose order matters posts before it first waits. A panic ends its own call.
pub trait Backend: Send + Sync + 'static {
    /// Serves a request. Dropping the future cancels it.
    fn request(&self, method: &str, params: Params) -> Serving<Answer>;

    /// Serves a notification.
    fn notification(&self, method: &str, params: Params) -> NotificationOutcome;

    /// A message of the client could not be read. It may have been any notification.
    fn lost(&self);
}

/// What becomes of a notification.
pub enum NotificationOutcome {
    Serving(Serving<()>),
    /// Nobody has to do anything.
    PassedOver,
    /// Its params are not what its method says.
    Unreadable(String),
    /// It ends the connection.
    Exit {
        /// Whether the client asked for `shutdown` before, as it should.
        after_shutdown: bool,
    },
}

impl ErrorBody {
    /// Returns an error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Returns the error of params that the method does not take.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Returns the error of params that are no JSON this server reads, such as those nested too deep.
    pub fn unreadable(why: &str) -> Self {
        Self::invalid_params(format!("the params cannot be read: {why}"))
    }

    /// Returns the error of a method that nobody serves.
    pub fn no_method(method: &str) -> Self {
        Self { data: Some(method.into()), ..Self::new(code::METHOD_NOT_FOUND, "there is no such method") }
    }
}

/// Returns the answer that a result makes.
pub fn answer<R: Serialize>(result: Result<R, ErrorBody>) -> Answer {
    let written = |result: R| serde_json::value::to_raw_value(&result);
    result.and_then(|result| {
        written(result).map_err(|why| ErrorBody::new(code::INTERNAL_ERROR, why.to_string()))
    })
}
