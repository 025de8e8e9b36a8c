//! Passes on to the sessions that the client reports changed files.
//!
//! Never believes a report: a session compares the files that its model knows.

use std::time::Duration;

use super::Sessions;
use crate::session::mailbox::Message;

/// The reports of this time count as one: a switch of the branch changes many files.
const TOGETHER: Duration = Duration::from_millis(200);

/// Follows the reports until the connection is over.
pub async fn follow(sessions: Sessions) {
    let mut reports = sessions.world().file_reports.subscribe();
    while reports.changed().await.is_ok() {
        tokio::time::sleep(TOGETHER).await;
        reports.mark_unchanged();
        sessions.all().iter().for_each(|mailbox| mailbox.post(Message::FilesChanged));
    }
}
