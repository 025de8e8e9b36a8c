//! Lines that cannot be played yet, each with the feature it waits for.
//!
//! Never a place for a failing line: the test checks each time that the feature is missing. If it exists, the
//! line must be played.

use adjutant::tools::Toolbox;
use adjutant_core::config::KEYS;
use adjutant_core::record::Mode;
use adjutant_testkit::corpus::Line;

use crate::tidy::source::read;

/// What a line needs before it can be played.
#[derive(Debug)]
enum Lacks {
    Tool(&'static str),
    Setting(&'static str),
    System(&'static str),
}

/// The line, what it lacks, and the row of `docs/rows.md` for that feature.
const LATER: &[(&str, Lacks, &str)] = &[
    ("path-073", Lacks::System("windows"), "S55"),
    ("path-075", Lacks::System("windows"), "S55"),
    ("path-096", Lacks::Tool("unpack"), "S48"),
    ("path-098", Lacks::Tool("unpack"), "S48"),
    ("path-100", Lacks::Tool("unpack"), "S48"),
    ("cfg-012", Lacks::Setting("permissions.allow"), "P10"),
    ("cfg-047", Lacks::Setting("trust"), "P29"),
];

/// Whether a line waits for its feature.
pub fn waits(line: &Line) -> bool {
    LATER.iter().any(|(id, ..)| *id == line.id)
}

/// Fails if an entry names an unknown line, a line that could be played, or no open row.
pub fn is_true(lines: &[Line]) {
    let page = read("docs/rows.md");
    for (id, lacks, row) in LATER {
        let line = lines.iter().find(|line| line.id == *id);
        let line = line.unwrap_or_else(|| panic!("{id} waits for {row} and is no line"));
        let cells = page.lines().find(|line| line.starts_with(&format!("| {row} |")));
        let cells = cells.unwrap_or_else(|| panic!("{id} waits for {row}, which is no row"));
        let state = cells.split('|').nth(3).unwrap_or_default().trim();
        let here = match lacks {
            Lacks::Tool(name) => Toolbox::default().set().names(Mode::Code).any(|known| known == *name),
            Lacks::Setting(key) => KEYS.iter().any(|known| known.name.starts_with(key)),
            Lacks::System(name) => std::env::consts::OS == *name,
        };
        assert!(!here && state != "works", "{id} can be played now ({lacks:?}, {row} {state}): {}", line.why);
        assert!(line.os.is_none() || matches!(lacks, Lacks::System(_)), "{id} is about a system");
    }
}
