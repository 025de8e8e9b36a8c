//! How full the context of the model is: after each reply, and on resume.

use adjutant_protocol::session::{ContextUsage, ReplayFrom};
use adjutant_protocol::update::Update;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Reply};
use serde_json::json;

use crate::rig::Rig;

fn usages(rig: &Rig) -> Vec<ContextUsage> {
    let updates = rig.updates().into_iter();
    let usages = updates.filter_map(|params| match params.update {
        Update::UsageUpdate(usage) => Some((usage, params.sub)),
        _ => None,
    });
    usages.inspect(|(_, sub)| assert!(sub.is_some(), "it has no number")).map(|(usage, _)| usage).collect()
}

/// Runs three turns, one of them without a usage, and returns what was published of the window.
fn published(config: &str) -> Option<u32> {
    let read = || Reply::call("read_file", json!({"path": "a.txt"}));
    let model = ModelServer::start([read().usage(900, 40), read(), Reply::text("Done.").usage(1_200, 7)]);
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.openai(&model.base_url()).add_config(config);
    let rig = Rig::start(&workspace);
    let session = rig.new_session();
    assert_eq!(rig.resume(&session, None).usage, None, "nothing is known before a reply");
    rig.run_to_end(&session, "Look.");
    let told = usages(&rig);
    let size = told.first().and_then(|usage| usage.context_size);
    let usage = |context_used| ContextUsage { context_used, context_size: size };
    assert_eq!(told, [usage(940), usage(1_207)], "after each reply whose usage is known");
    rig.end();

    let rig = Rig::start(&workspace);
    assert_eq!(rig.resume(&session, Some(ReplayFrom::Start)).usage, Some(usage(1_207)));
    rig.resume(&session, None);
    assert_eq!(usages(&rig), [], "it is not replayed");
    rig.end();
    size
}

#[test]
fn s73_the_context_in_use_is_told_after_each_reply_and_on_resume() {
    assert_eq!(published(""), None, "the window of an unknown model is not guessed");
    assert_eq!(published("context_window = 32000"), Some(32_000));
}
