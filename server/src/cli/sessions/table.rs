//! The list of sessions as lines of a table that fits its page.
//!
//! Never drops the id or the title, because the list is useless without them.

use adjutant_core::text::cells::{cells, cut};
use adjutant_protocol::session::SessionEntry;
use adjutant_protocol::state::State;

/// The least characters of a shortened id.
const LEAST_ID: usize = 8;
/// The least cells of a title; with less room, columns are dropped.
const LEAST_TITLE: usize = 16;

/// Returns the table, its head first; `now` is in milliseconds since the Unix epoch.
pub fn table(entries: &[SessionEntry], now: u64, width: usize) -> Vec<String> {
    let ids: Vec<&str> = entries.iter().map(|entry| entry.session_id.0.as_str()).collect();
    let short = short_ids(&ids);
    let mut rows = vec![["ID".to_owned(), "WHEN".to_owned(), "STATE".to_owned(), "TITLE".to_owned()]];
    rows.extend(entries.iter().zip(&short).map(|(entry, id)| {
        let title = match &entry.damaged {
            Some(why) => format!("{} (damaged: {why})", entry.title),
            None => entry.title.clone(),
        };
        [id.clone(), age(now, entry.updated_at), state(entry), one_line(&title)]
    }));
    let widest = |column: usize| rows.iter().map(|row| cells(&row[column])).max().unwrap_or(0);
    let (id, when, state) = (widest(0), widest(1), widest(2));
    let left = |taken: usize| width.saturating_sub(taken);
    let columns: &[(usize, usize)] = if left(id + when + state + 6) >= LEAST_TITLE {
        &[(0, id), (1, when), (2, state)]
    } else if left(id + when + 4) >= LEAST_TITLE {
        &[(0, id), (1, when)]
    } else {
        &[(0, id)]
    };
    let title = left(columns.iter().map(|(_, width)| width + 2).sum()).max(1);
    let line = |row: &[String; 4]| {
        let mut line = String::new();
        for (column, width) in columns {
            line.push_str(&row[*column]);
            line.push_str(&" ".repeat(width + 2 - cells(&row[*column]).min(*width)));
        }
        line + &cut(&row[3], title)
    };
    rows.iter().map(line).collect()
}

/// Returns the id of this name, or the only id that begins with it.
pub fn find<'a>(ids: &[&'a str], name: &str) -> Result<&'a str, String> {
    if let Some(id) = ids.iter().find(|id| **id == name) {
        return Ok(id);
    }
    let begins = |id: &&&str| !name.is_empty() && (id.starts_with(name) || tail(id).starts_with(name));
    let matching: Vec<&&str> = ids.iter().filter(begins).collect();
    match matching[..] {
        [id] => Ok(id),
        [] => Err(format!("there is no session \"{name}\"; `adjutant sessions list` shows them")),
        _ => Err(format!("{} sessions begin with \"{name}\"; type more of the id", matching.len())),
    }
}

/// Returns the part of an id after its kind.
fn tail(id: &str) -> &str {
    id.split_once('-').map_or(id, |(_, tail)| tail)
}

/// Returns the shortest beginning of each id, after its kind, that finds it; all have the same length.
pub fn short_ids(ids: &[&str]) -> Vec<String> {
    let tails: Vec<&str> = ids.iter().map(|id| tail(id)).collect();
    let mut sorted = tails.clone();
    sorted.sort_unstable();
    let shared = |two: &[&str]| two[0].chars().zip(two[1].chars()).take_while(|(a, b)| a == b).count();
    let most = sorted.windows(2).map(shared).max().unwrap_or(0);
    let length = LEAST_ID.max(most + 1);
    tails.iter().map(|tail| tail.chars().take(length).collect()).collect()
}

fn one_line(text: &str) -> String {
    adjutant_core::text::display::one_line(text, 200)
}

fn state(entry: &SessionEntry) -> String {
    let state = match entry.state {
        State::None => "new",
        State::Running => "running",
        State::RequiresAction => "asks",
        State::Idle => "idle",
        State::Resumable => "interrupted",
    };
    state.to_owned()
}

fn age(now: u64, then: u64) -> String {
    let minutes = now.saturating_sub(then) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..=59 => format!("{minutes} min"),
        60..=1439 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, title: &str, state: State, age_minutes: u64) -> SessionEntry {
        SessionEntry {
            session_id: id.into(),
            title: title.to_owned(),
            cwd: String::new(),
            state,
            updated_at: 10_000_000_000 - age_minutes * 60_000,
            since: None,
            waits_for: None,
            open_asks: 0,
            unreviewed_hunks: 0,
            turns: 1,
            parent_session_id: None,
            open_in: None,
            damaged: None,
        }
    }

    fn three() -> Vec<SessionEntry> {
        vec![
            entry(
                "ses-0123456789abcdef",
                "Mend the greeting so that it greets the world again",
                State::Idle,
                0,
            ),
            entry(
                "ses-0123456799abcdef",
                "日本語の題名はもっと幅を取るので切られなければならない",
                State::Resumable,
                90,
            ),
            entry("ses-ffff", "odd\u{1b}[2J\u{202e} title", State::RequiresAction, 5_000),
        ]
    }

    #[test]
    fn a_wide_page_has_every_column() {
        let lines = table(&three(), 10_000_000_000, 100);
        assert_eq!(lines[0], "ID         WHEN  STATE        TITLE");
        assert_eq!(
            lines[1],
            "012345678  now   idle         Mend the greeting so that it greets the world again"
        );
        assert!(lines[2].starts_with("012345679  1 h   interrupted  日本語"));
        assert!(
            lines[3].starts_with("ffff       3 d   asks         odd\\u{1b}[2J\\u{202e} title"),
            "{}",
            lines[3]
        );
    }

    #[test]
    fn forty_columns_are_enough() {
        for width in [20, 30, 40, 60] {
            for line in table(&three(), 10_000_000_000, width) {
                assert!(cells(&line) <= width, "{line:?} is wider than {width}");
            }
        }
        assert_eq!(table(&three(), 10_000_000_000, 40)[0], "ID         WHEN  TITLE");
    }

    #[test]
    fn a_session_is_found_by_what_the_table_shows() {
        let entries = three();
        let ids: Vec<&str> = entries.iter().map(|entry| entry.session_id.0.as_str()).collect();
        for (id, short) in ids.iter().zip(short_ids(&ids)) {
            assert_eq!(find(&ids, &short), Ok(*id));
            assert_eq!(find(&ids, id), Ok(*id));
        }
        assert!(find(&ids, "01").is_err_and(|why| why.starts_with("2 sessions")));
        assert!(find(&ids, "").is_err() && find(&ids, "nothing").is_err());
    }
}
