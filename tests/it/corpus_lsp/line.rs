//! One line about the connection: its fields, and its bytes if it has some.
//!
//! Never guesses: the only assertion it knows is a bound on memory.

use adjutant_testkit::corpus;

/// One line.
#[derive(Debug)]
pub struct Line {
    pub id: String,
    pub class: String,
    pub expect: String,
    pub why: String,
    /// The bytes to send; `None` if the line consists of steps.
    pub bytes: Option<Vec<u8>>,
    /// The most bytes the server may grow by.
    pub growth: Option<u64>,
}

/// Reads all lines of a file.
pub fn read(name: &str, text: &str) -> Vec<Line> {
    corpus::read(name, text).into_iter().map(one).collect()
}

fn one(line: corpus::Line) -> Line {
    let framed = line.input["framed"] == true;
    let bytes = line.bytes().map(|bytes| if framed { super::raw::framed(&bytes) } else { bytes });
    let growth = line.asserts.iter().map(|one| {
        let limit = one.strip_prefix("rss_growth_mib<=").and_then(|limit| limit.parse::<u64>().ok());
        limit.unwrap_or_else(|| panic!("{}: {one}", line.id)) << 20
    });
    let growth = growth.min();
    Line { id: line.id, class: line.class, expect: line.expect, why: line.why, bytes, growth }
}
