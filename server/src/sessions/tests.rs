//! Tests that a session leaves memory together with its task.

use std::path::Path;
use std::sync::Mutex;

use adjutant_core::config::Settings;

use super::*;
use crate::client::ClientLink;
use crate::documents::Documents;
use crate::model::Models;
use crate::session::catalog::Catalog;
use crate::session::storage::Disk;
use crate::session::watermark::Syncer;

fn sessions(dir: &Path) -> Sessions {
    let link = ClientLink::to_nobody();
    Sessions::new(Arc::new(World {
        documents: Documents::default(),
        link,
        edit_turns: Default::default(),
        models: Models::new(),
        tools: Default::default(),
        settings: Mutex::new(Arc::new(Settings::default())),
        reread: Default::default(),
        catalog: Catalog::new(Arc::new(Disk), Syncer::start().unwrap(), dir),
        own: Default::default(),
        write_locks: Default::default(),
        images: Default::default(),
        inboxes: crate::session::inbox::Watch::default(),
        file_reports: Default::default(),
        list_changes: Default::default(),
        is_brief: false,
        reviews: Default::default(),
        asks: Mutex::default(),
    }))
}

#[tokio::test]
async fn a_session_whose_task_is_gone_is_not_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = sessions(dir.path());
    let id = sessions.create(Roots::open(&[])).unwrap();
    let ask = AskId("ask-1".to_owned());
    sessions.world.asks.lock().unwrap().insert(ask.clone(), id.clone());
    assert!(sessions.in_memory(&id).is_some() && sessions.of_ask(&ask).is_some());
    assert_eq!(sessions.all().len(), 1);
    sessions.in_memory(&id).unwrap().post(Message::Stop);
    let over = sessions.registry.leave(&id, |_| {}).unwrap();
    assert_eq!(over.reached().await, Some(true));
    assert!(sessions.in_memory(&id).is_none());
    assert!(sessions.of_ask(&ask).is_none());
    assert!(sessions.all().is_empty());
    assert!(sessions.world.asks.lock().unwrap().is_empty(), "its asks are forgotten with it");
}
