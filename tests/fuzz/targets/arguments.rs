//! Tool arguments: the accepted arguments are exactly those in the text, and their JSON is accepted again.

use adjutant::tools::Toolbox;
use adjutant_core::config::TOOLS;
use adjutant_core::record::Mode;
use adjutant_core::text::display::hidden;
use adjutant_core::tool::MAX_TITLE;
use serde_json::{Map, Value};

use super::{number, text};

/// A name that no tool has.
const UNKNOWN: &str = "read_files";

pub fn check(mut input: &[u8]) {
    let tool = TOOLS.get(number(&mut input) % (TOOLS.len() + 1)).copied().unwrap_or(UNKNOWN);
    let given = text(input);
    let tools = Toolbox::default();
    let parse = |given: &str| tools.set().parse(Mode::Code, tool, given);
    let parsed = parse(&given);
    for mode in Mode::ALL {
        match tools.set().parse(mode, tool, &given) {
            Ok(in_mode) => assert_eq!(Some(&in_mode), parsed.as_ref().ok()),
            Err(why) => assert!(parsed.is_err() || why.text.contains("not offered in this mode"), "{why}"),
        }
    }
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(why) => {
            assert!(!why.text.is_empty() && why.text.len() <= 4096, "{} bytes: {why}", why.text.len());
            assert!(!why.text.chars().any(hidden), "{why:?}");
            return;
        }
    };
    let written = arguments.to_json();
    // Another JSON parser must find the same arguments in the text.
    let read: Value = serde_json::from_str(&given).expect("accepted arguments are JSON");
    let read: Map<String, Value> = read.as_object().expect("an object").clone();
    let given_keys: Map<String, Value> = read.into_iter().filter(|(_, value)| !value.is_null()).collect();
    assert_eq!(Value::Object(given_keys), written);
    assert_eq!(parse(&written.to_string()).as_ref(), Ok(&arguments));
    let title = tools.set().title_of(tool, &given);
    assert!(title.chars().count() <= MAX_TITLE && !title.chars().any(hidden), "{title:?}");
}
