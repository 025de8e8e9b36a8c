//! Cached tool lists: the same bytes for the same list.

use serde_json::json;

use super::*;

struct Names;

impl WireFormat for Names {
    fn tool(tool: &ToolSpec, _: bool) -> impl Serialize {
        tool.name.clone()
    }

    fn begin(_: &mut List, _: &str) -> serde_json::Result<()> {
        Ok(())
    }

    fn reminder(text: &str) -> impl Serialize {
        text.to_owned()
    }

    fn add(_: &mut List, _: &[ModelMessage], _: &Source<'_>) -> serde_json::Result<()> {
        Ok(())
    }
}

#[test]
fn s20_frozen_tools_are_bounded_and_known_by_identity() {
    let tools = FrozenTools::default();
    let list = |name: &'static str| {
        let (name, description) = (name.into(), "".into());
        Arc::<[ToolSpec]>::from([ToolSpec { name, description, parameters: json!({}), free_form: false }])
    };
    let (one, other) = (list("one"), list("other"));
    let written = |list: &Arc<[ToolSpec]>| tools.json_of::<Names>(list, false).unwrap().unwrap();
    assert!(Arc::ptr_eq(&written(&one), &written(&one)));
    assert_ne!(written(&one).get(), written(&other).get());
    for _ in 0..100 {
        written(&list("more"));
    }
    assert_eq!(tools.cached.lock().unwrap().len(), MAX_TOOL_LISTS);
    assert!(tools.json_of::<Names>(&Arc::from([]), false).unwrap().is_none());
}
