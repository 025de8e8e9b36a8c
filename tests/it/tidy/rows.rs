//! `docs/rows.md` has every row, and every claim in it has a test.
//!
//! Never judges whether the test is good; readers do.

use std::collections::BTreeSet;

use super::source::{blank, files, read, rust};

/// Every row id of the design's feature list.
const ROWS: &str = "
S01 S02 S03 S04 S05 S06 S07 S08 S09 S10 S11 S12 S13 S14 S15 S16 S17 S18 S20 S21 S22 S23 S24 S25 S26 S27 S28 S29 S30 S31
S35 S36 S37 S38 S39 S40 S41 S42 S43 S44 S45 S46 S47 S48 S50 S51 S52 S53 S54 S55 S56 S57 S58 S59 S60 S61 S62 S65 S66 S67
S68 S69 S70 S71 S72 S73 S74 S75 S76 S80 S81 S82 S83 S84 S85 S90 S91 S92 S93 S94 S95 S96 S97 S98 S100 S101 S102 S103
S104 S105 S106 S107 S108 S109 S110 S111 S112 S113 S114 S115 S116 S117 S118 S119 S120 S121
L01 L02 L03 L04 L05 L06 L07 L08 L09 L10 L11 L12 L13 L14 L15 L16
P01 P02 P03 P04 P05 P06 P07 P08 P09 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19 P20 P21 P22 P23 P24 P25 P26 P27 P28 P29 P30
P31 P32 P33 P34
N01 N02 N03 N04 N05 N06 N07 N08 N09 N10 N11 N12 N13 N14 N15 N16 N17 N18 N19 N20 N21 N22 N23
N24 N25 N26 N27 N28 N29 N30
";

pub struct Row {
    pub id: String,
    state: String,
    pub tests: Vec<String>,
}

/// Returns the rows of the table.
pub fn rows() -> Vec<Row> {
    let page = read("docs/rows.md");
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let is_id = |id: &str| {
        id.starts_with(['S', 'L', 'P', 'N']) && id.len() > 2 && id[1..].chars().all(|c| c.is_ascii_digit())
    };
    page.lines()
        .filter(|line| line.starts_with("| "))
        .map(cells)
        .filter(|cells| is_id(&cells[0]))
        .map(|cells| {
            assert_eq!(cells.len(), 4, "row {} needs four cells: row, what, state, tests", cells[0]);
            let tests = cells[3].split(',').map(|name| name.trim().trim_matches('`').to_owned());
            let tests = tests.filter(|name| !name.is_empty()).collect();
            Row { id: cells[0].clone(), state: cells[2].clone(), tests }
        })
        .collect()
}

#[test]
fn every_row_is_there_once() {
    let expected: Vec<&str> = ROWS.split_whitespace().collect();
    assert_eq!(expected.len(), 186, "the design has 186 rows");
    let found: Vec<String> = rows().into_iter().map(|row| row.id).collect();
    for id in &expected {
        let times = found.iter().filter(|found| found == id).count();
        assert_eq!(times, 1, "docs/rows.md has row {id} {times} times; it needs it once");
    }
    let unknown: Vec<&String> = found.iter().filter(|id| !expected.contains(&id.as_str())).collect();
    assert!(unknown.is_empty(), "docs/rows.md has rows that the design does not have: {unknown:?}");
}

#[test]
fn every_claim_names_a_test_that_exists() {
    let mut functions = BTreeSet::new();
    for source in rust() {
        let code = blank(&source.text);
        for after in code.split("fn ").skip(1) {
            functions
                .insert(after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>());
        }
    }
    // The names of the client tests have the same form, but are strings.
    let clients: String =
        files("editors", &[".ts", ".mjs", ".js", ".lua"]).into_iter().map(|file| file.text).collect();
    let mut wrong = Vec::new();
    for Row { id, state, tests } in rows() {
        if !["works", "partly", "open"].contains(&state.as_str()) {
            wrong.push(format!("{id}: the state is {state:?}; write works, partly or open"));
        }
        if state != "open" && tests.is_empty() {
            wrong.push(format!("{id}: the state is {state}, but no test is named; name one, or write open"));
        }
        let prefix = format!("{}_", id.to_lowercase());
        for test in tests {
            if !functions.contains(&test) && !clients.contains(&test) {
                wrong.push(format!("{id}: there is no test `{test}`; was it renamed?"));
            }
            if !format!("_{test}").contains(&format!("_{prefix}")) {
                wrong.push(format!("{id}: the name of the test `{test}` does not have `{prefix}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "docs/rows.md:\n{}", wrong.join("\n"));
}
