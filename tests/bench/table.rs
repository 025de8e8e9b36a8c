//! The printed table in Markdown: the peers, the bar and Adjutant.
//!
//! Never measures: the figures of the peers are constants from an earlier measurement.

use super::samples::{Samples, shown};

/// The title, the figures of the peers in the order of `HEAD`, the bar, and the text of Adjutant's figure.
type Row = (&'static str, [&'static str; 8], &'static str, fn(&Samples) -> String);

const HEAD: [&str; 8] = ["codex", "pi", "opencode", "copilot", "gemini", "qwen", "codex-acp", "floor"];

const ROWS: &[Row] = &[
    (
        "start → `initialize` reply, ms",
        ["119", "269", "1299", "464", "1393", "1504", "64", "–"],
        "5",
        |s| shown(s.median("start")),
    ),
    ("new session, ms", ["26", "26", "815", "18", "109", "77", "33", "–"], "3", |s| shown(s.median("new"))),
    (
        "warm prompt → model request, ms",
        ["34.7", "3.6", "77", "7.5", "2.8", "2.8", "65", "–"],
        "0.5",
        |s| shown(s.median("prompt")),
    ),
    (
        "last byte of the reply → idle at the client, ms",
        ["13.6", "3.2", "131", "9.5", "5.3", "320", "5.5", "–"],
        "0.8",
        |s| shown(s.median("idle")),
    ),
    (
        "read-tool turn overhead p50 / p99, ms",
        ["61 / 107", "5.7 / 17", "168 / 277", "14.5 / 20", "10.5 / 70", "19 / 483", "89 / 138", "0.55 / 1.0"],
        "0.8 / 3, session durable",
        |s| both(s.median("read"), s.over_all("read", 99)),
    ),
    ("the same at turn 5", NONE, "", |s| both(s.median("turn 5"), s.over_all("turn 5", 99))),
    ("the same at turn 200", NONE, "", |s| {
        let body = shown(s.median("long body kB"));
        format!("{}, request of {body} kB", both(s.median("turn 200"), s.over_all("turn 200", 99)))
    }),
    ("ten reads of one turn / the slowest of them in a turn of its own, ms", NONE, "the slowest + 2", |s| {
        both(s.median("ten at once"), s.median("slowest of ten"))
    }),
    (
        "51-tool task: wall / CPU s",
        [
            "3.3 / 2.1",
            "0.38 / 0.41",
            "9.4 / 11.2",
            "0.81 / 0.96",
            "0.71 / 0.81",
            "2.3 / 3.4",
            "4.7 / 3.7",
            "– / 0.03",
        ],
        "0.08 / 0.06",
        |s| {
            let body = shown(s.median("body kB"));
            format!("{}, last request {body} kB", both(s.median("task"), s.median("task cpu")))
        },
    ),
    (
        "first request, kB / all requests of the 51-tool task, MB",
        ["–", "5.8 / 5.41", "–", "–", "–", "–", "–", "–"],
        "9 / 5.2",
        |s| both(s.median("first kB"), s.median("all MB")),
    ),
    (
        "token latency at 100/s p50 / p99, ms",
        [
            "0.39 / 1.6",
            "0.39 / 1.5",
            "2.0 / 27",
            "0.35 / 0.64",
            "0.5 / 1.6",
            "0.37 / 5.8",
            "0.27 / 0.96",
            "–",
        ],
        "0.3 / 1 for the first chunk, 0.6 / 9 for later ones",
        |s| {
            let first = both(s.median("first token"), s.over_all("first token", 99));
            format!("{first}; later ones {}", both(s.median("later token"), s.over_all("later token", 99)))
        },
    ),
    (
        "burst 10k: last token at client ms / CPU s",
        [
            "375 / 0.62",
            "455 / 0.61",
            "1707 / 3.0",
            "session dies",
            "5748 / 6.3",
            "1052 / 1.8",
            "284 / 0.36",
            "–",
        ],
        "30 / 0.03",
        |s| both(s.median("burst"), s.median("burst cpu")),
    ),
    (
        "burst 10k: messages to the client",
        ["10 011", "10 012", "10 002", "–", "10 001", "10 002", "10 002", "–"],
        "≤ 200, no token lost",
        |s| shown(s.median("burst messages")),
    ),
    (
        "approval: reply → question / answer → next request, ms",
        ["7 / 47", "–", "54 / 167", "6 / 7", "52 / 8", "–", "–", "–"],
        "2.5 / 2",
        |s| both(s.median("question"), s.median("approved")),
    ),
    (
        "cancel → client notified / model connection closed, ms",
        ["11 / 0.9", "10 / 8", "103 / 11", "10 / 3.8", "9 / 2.7", "5 / 2", "6 / 20", "–"],
        "2 / 0.5",
        |s| both(s.median("notified"), s.median("closed")),
    ),
    ("cancel while it waits to try again → client notified p50 / worst, ms", NONE, "– / 50", |s| {
        worst(s, "cancel: back-off")
    }),
    (
        "cancel while it waits as long as the provider asked → client notified p50 / worst, ms",
        NONE,
        "– / 50",
        |s| worst(s, "cancel: Retry-After"),
    ),
    ("cancel before any header → client notified p50 / worst, ms", NONE, "– / 50", |s| {
        worst(s, "cancel: headers")
    }),
    ("cancel in a stall → client notified p50 / worst, ms", NONE, "– / 50", |s| {
        worst(s, "cancel: stall")
    }),
    ("cancel while something is asked → client notified p50 / worst, ms", NONE, "– / 50", |s| {
        worst(s, "cancel: ask")
    }),
    ("cancel while the key is fetched → client notified p50 / worst, ms", NONE, "– / 50", |s| {
        worst(s, "cancel: key")
    }),
    (
        "cancel at a host that accepts no connection → client notified p50 / worst, ms",
        NONE,
        "– / 50",
        |s| worst(s, "cancel: connection"),
    ),
    ("`adjutant setup` → settings written, typed at once, s", NONE, "30", |s| shown(s.median("setup"))),
    ("20 sessions streaming: prompt acknowledged p50 / p99, ms", NONE, "– / 5", |s| {
        both(s.median("acknowledged in a crowd"), s.over_all("acknowledged in a crowd", 99))
    }),
    ("20 sessions streaming: `didChange` handled p50 / p99, ms", NONE, "– / 1", |s| {
        both(s.median("typed in a crowd"), s.over_all("typed in a crowd", 99))
    }),
    ("a trivial request p50, ms: quiet / 20 sessions streaming", NONE, "0.05 / –", |s| {
        let part = |name| match s.median(name) {
            Some(value) => format!("{value:.3}"),
            None => shown(None),
        };
        format!("{} / {}", part("trivial"), part("trivial in a crowd"))
    }),
    (
        "resident memory idle / peak, MB",
        ["127 / 176", "110 / 232", "398 / 2376", "329 / 382", "417 / 525", "495 / 554", "115 / 188", "–"],
        "14 / 22",
        |s| both(s.median("rss"), s.median("peak")),
    ),
    (
        "8 MiB of tool arguments: s / MB",
        ["0.9 / 372", "> 150", "12.4 / 1916", "loops, 4 GB", "stops, exit 0", "1.0 / 677", "–", "–"],
        "0.3 / 100, linear in size",
        |s| {
            let part = |time, peak| both(s.median(time), s.median(peak));
            let halves = [part("arguments", "arguments MB"), part("arguments 4", "arguments 4 MB")];
            let whole = part("arguments 8", "arguments 8 MB");
            format!("{whole} (2 MiB: {}, 4 MiB: {})", halves[0], halves[1])
        },
    ),
    ("100 000 lasting updates to a client that reads, s", NONE, "0.5", |s| shown(s.median("updates"))),
    (
        "1 M deltas to a client that does not read: growth MiB / cancel ms / all text there, ms",
        NONE,
        "64",
        |s| {
            let healed = shown(s.median("deaf heals"));
            format!("{} / {healed}", both(s.median("deaf growth MiB"), s.median("deaf cancel")))
        },
    ),
    ("nine floods of a provider: most growth MiB / longest s", NONE, "64 / –", |s| {
        both(s.median("hostile MiB"), s.median("hostile s"))
    }),
    ("decoding a stream of events, MB/s", NONE, "at least 500", |s| shown(s.median("sse MB/s"))),
    ("decoding one line of 1 / 8 MiB in packets, ms", NONE, "linear", |s| {
        both(s.median("line ms"), s.median("long line ms"))
    }),
    ("opening a session of 10 000 records: ms / peak MB", NONE, "200 / –", |s| {
        both(s.median("opening 10k"), s.median("opening 10k MB"))
    }),
    ("opening a session of 1 M records: s / peak MiB", NONE, "5 / 128", |s| {
        both(s.median("opening 1M"), s.median("opening 1M MiB"))
    }),
    ("listing 10 000 sessions: the first page, ms", NONE, "–", |s| shown(s.median("listing 10k"))),
    ("the same to the last page, ms", NONE, "1000", |s| shown(s.median("paging 10k"))),
    ("first request of a session, kB", NONE, "12", |s| shown(s.median("first kB"))),
    // The review, with 1 000 hunks in 100 files.
    ("1 000 hunks to review: `didChange` → the next answer p50 / p99, ms", NONE, "– / 1", |s| {
        tail(s, "typed")
    }),
    ("the same in a document of 10 MB", NONE, "– / 1", |s| tail(s, "typed 10 MB")),
    ("completion of a mention among 100 000 files p50 / p99, ms", NONE, "– / 20", |s| tail(s, "mention")),
    ("the same: the first letter → all names are known, ms", NONE, "–", |s| {
        shown(s.median("mention names"))
    }),
    ("undo of a hunk in an open document → `workspace/applyEdit` p50 / p99, ms", NONE, "5", |s| {
        tail(s, "undo: applyEdit")
    }),
    ("the same in a document of 10 MB", NONE, "–", |s| tail(s, "undo: applyEdit 10 MB")),
    ("end of a reply with 200 hunks in 40 files → its question p50 / p99, ms", NONE, "100", |s| {
        tail(s, "ask 200")
    }),
    ("listing 1 000 hunks p50 / p99, ms", NONE, "10", |s| tail(s, "list")),
    ("the same with a document of 10 MB among the files", NONE, "–", |s| tail(s, "list 10 MB")),
    ("undo of a hunk in a closed file p50 / p99, ms", NONE, "20", |s| tail(s, "undo: closed")),
    ("undo of a run over 40 closed files: the preview p50 / worst, ms", NONE, "300", |s| worst(s, "preview")),
    ("the same: the undo", NONE, "300", |s| worst(s, "rewind")),
    ("a reply over 40 closed files: first to last change p50 / worst, ms", NONE, "50", |s| {
        worst(s, "writes")
    }),
    ("the same: of its undo", NONE, "50", |s| worst(s, "writes: undo")),
    ("hover on a changed line, the first of a server, ms", NONE, "5", |s| shown(s.median("hover: first"))),
    ("the same after a typed character p50 / p99", NONE, "5", |s| tail(s, "hover: typed")),
    ("the same without a change since the last hover p50 / p99", NONE, "5", |s| tail(s, "hover")),
    ("hover in a document of 10 MB, the first of a server, ms", NONE, "5", |s| {
        shown(s.median("hover: first 10 MB"))
    }),
    ("the same after a typed character p50 / p99", NONE, "5", |s| tail(s, "hover: typed 10 MB")),
    ("the same without a change since the last hover p50 / p99", NONE, "5", |s| tail(s, "hover 10 MB")),
    ("`adjutant why`, the whole process p50 / p99, ms", NONE, "5", |s| tail(s, "why")),
    ("the same with a document of 10 MB among the files", NONE, "–", |s| tail(s, "why 10 MB")),
    ("`adjutant --version`, the start of a process p50 / p99, ms", NONE, "–", |s| tail(s, "version")),
    ("connections for 52 requests", ["52", "1", "1", "1", "2", "1", "–", "–"], "1", |s| {
        shown(s.median("connections"))
    }),
];

const NONE: [&str; 8] = ["–"; 8];

fn both(one: Option<f64>, other: Option<f64>) -> String {
    format!("{} / {}", shown(one), shown(other))
}

/// Returns the median and the 99th percentile of one name.
fn tail(samples: &Samples, name: &str) -> String {
    both(samples.median(name), samples.over_all(name, 99))
}

/// Returns the median and the largest measurement of one name.
fn worst(samples: &Samples, name: &str) -> String {
    both(samples.median(name), samples.over_all(name, 100))
}

/// Returns the table; `megabytes` is the size of the program.
pub fn write(samples: &Samples, megabytes: f64) -> String {
    let mut table = format!("| | {} | ours, at most | **ours** |\n", HEAD.join(" | "));
    table.push_str(&"|---".repeat(HEAD.len() + 3));
    table.push_str("|\n");
    for (title, peers, bar, ours) in ROWS {
        table.push_str(&format!("| {title} | {} | {bar} | **{}** |\n", peers.join(" | "), ours(samples)));
    }
    let installed = ["404", "159 + node", "354", "189", "100 + node", "152 + node", "223", "–"].join(" | ");
    table.push_str(&format!("| installed, MB | {installed} | 20 | **{}** |\n", shown(Some(megabytes))));
    table
}
