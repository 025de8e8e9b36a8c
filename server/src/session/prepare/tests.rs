//! Tests that preparing a call never blocks a thread of the runtime.

use std::path::Path;
use std::sync::{Arc, Mutex};

use adjutant_core::config::Settings;
use adjutant_core::prompt::message::{Reply, RequestedCall};
use adjutant_core::prompt::models::EditTool;
use adjutant_core::session::run::CallPhase;
use adjutant_core::tool::Effect;
use futures_util::poll;

use super::*;
use crate::client::ClientLink;
use crate::documents::Documents;
use crate::model::Models;
use crate::session::World;
use crate::session::blobs::Blobs;
use crate::session::catalog::Catalog;
use crate::session::mailbox::Mailbox;
use crate::session::storage::Disk;
use crate::session::watermark::Syncer;

fn place(dir: &Path) -> SessionWorld {
    let world = World {
        documents: Documents::default(),
        link: ClientLink::to_nobody(),
        edit_turns: Default::default(),
        models: Models::new(),
        tools: Default::default(),
        settings: Mutex::new(Arc::new(Settings::default())),
        reread: Default::default(),
        catalog: Catalog::new(Arc::new(Disk), Syncer::start().expect("threads"), dir),
        own: Default::default(),
        write_locks: Default::default(),
        images: Default::default(),
        inboxes: Default::default(),
        file_reports: Default::default(),
        list_changes: Default::default(),
        is_brief: false,
        reviews: Default::default(),
        asks: Mutex::default(),
    };
    SessionWorld {
        world: Arc::new(world),
        id: "s-1".into(),
        roots: Roots::open(&[dir.to_owned()]).0,
        blobs: Arc::new(Blobs::new(Arc::new(Disk), dir)),
        dir: dir.to_owned(),
        mailbox: Mailbox::new().0,
        looks: Default::default(),
        surroundings: Default::default(),
    }
}

fn read(path: &str) -> Call {
    let arguments = serde_json::json!({ "path": path }).to_string();
    let requested =
        RequestedCall { id: "1".to_owned(), name: "read_file".to_owned(), arguments, free_form: false };
    Call {
        id: "call-1".into(),
        index: 0,
        tool: "read_file".to_owned(),
        effect: Effect::Read,
        reply: Arc::new(Reply { calls: vec![requested], ..Reply::default() }),
        provider_id: "1".into(),
        title: "Read".to_owned(),
        phase: CallPhase::Opened,
        payload: None,
        seen: None,
        change_set: None,
        names: Vec::new(),
        output_asked: false,
        saves: Vec::new(),
        output: None,
    }
}

#[test]
fn finding_b2_the_names_of_a_file_are_looked_for_on_a_thread_that_may_wait() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .expect("runtime");
    runtime.block_on(async {
        let dir = tempfile::tempdir().expect("folder");
        std::fs::create_dir(dir.path().join("private")).expect("folder");
        std::fs::write(dir.path().join("private/plan.md"), "plan").expect("file");
        std::fs::hard_link(dir.path().join("private/plan.md"), dir.path().join("copy.md")).expect("link");
        let (place, call) = (Arc::new(place(dir.path())), read("copy.md"));
        let deny = vec!["read_file(private/**)".to_owned()];
        let tools = place.world.tools.current(EditTool::EditFile);
        let rules = Rules { tools, deny, skills: RunSkills::default() };
        // The only blocking thread is busy.
        let (release, released) = std::sync::mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || released.recv());
        let mut prepared =
            Box::pin(prepare(&place, std::slice::from_ref(&call), Mode::Code, &rules, Default::default()));
        for _ in 0..3 {
            assert!(poll!(prepared.as_mut()).is_pending(), "the runtime waited for the disk");
            tokio::task::yield_now().await;
        }
        release.send(()).expect("it waits");
        busy.await.expect("a thread").expect("a word");
        match prepared.await {
            Report::Prepared(prepared) => {
                let also = prepared.seen.expect("what was seen").other_names;
                assert!(also.iter().any(|name| name.ends_with("private/plan.md")), "{also:?}");
            }
            other => panic!("{other:?}"),
        }
    });
}
