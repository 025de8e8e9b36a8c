//! Tests that open logs in every state: whole, cut, damaged, out of order, and of another session.

use std::path::PathBuf;

use super::*;
use crate::storage::faulty::{Fault, Op};
use crate::storage::{Storage, read_whole};

fn notices(opened: &OpenedLog) -> String {
    opened.notices.iter().map(|notice| format!("{notice:?}\n")).collect()
}

fn read_bytes(bytes: &[u8]) -> Result<ReadBack, OpenError> {
    Log::read(&holding(bytes), Path::new(DIR), ID)
}

/// Returns a line with a correct checksum, whatever its body.
fn sealed(body: &str) -> Vec<u8> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(ID.as_bytes());
    hasher.update(body.as_bytes());
    format!("{body},\"sum\":\"{:08x}\"}}\n", hasher.finalize()).into_bytes()
}

fn record(seq: u64, at: u64) -> Vec<u8> {
    sealed(&format!(r#"{{"seq":{seq},"at":{at},"event":{{"type":"prompted","text":"x"}}"#))
}

fn header(format: u64) -> Vec<u8> {
    sealed(&format!(r#"{{"adjutant_log":{format},"session":"s-1","created_at":1000"#))
}

#[test]
fn l2_lines_are_plain_json_and_turns_can_be_counted() {
    let text = String::from_utf8(valid_log(50)).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("\"turn_started\"")).count(), 10);
    for line in text.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    expect_test::expect![[r#"
        {"adjutant_log":1,"session":"s-1","created_at":1000,"sum":"f12d2fd9"}
        {"epoch":1,"at":1000,"sum":"a59c2b1d"}
        {"seq":5,"at":1005,"event":{"type":"turn_started","turn":1},"sum":"4ff37960"}"#]]
    .assert_eq(&[0, 1, 6].map(|line| text.lines().nth(line).unwrap()).join("\n"));
}

#[test]
fn l2_what_was_appended_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = Log::create(real_place(dir.path()), 5);
    let long = "ä\u{1}\"\n".repeat(100_000);
    assert_eq!(log.append(7, &[prompted("a"), prompted(&long)], true).unwrap(), 1..3);
    assert_eq!(log.append(6, &[prompted("c")], true).unwrap(), 3..4);
    assert_eq!(synced(&log), Ok(3));
    let mark = log.summary_mark();
    drop(log);
    let read = Log::read(&crate::storage::Disk, &real_place(dir.path()).dir, ID).unwrap();
    assert_eq!(read.mark, mark);
    let opened = Log::open(real_place(dir.path()), 9).unwrap();
    assert_eq!((seqs(&opened.records), opened.epoch), (vec![1, 2, 3], 2));
    assert_eq!(opened.notices, []);
    assert_eq!(opened.log.created_at(), 5);
    assert_eq!(opened.records[2].at_ms, 6);
    let event: serde_json::Value = serde_json::from_str(opened.records[1].event.get()).unwrap();
    assert_eq!(event["text"], long);
}

/// Returns the offset after each line.
fn ends(bytes: &[u8]) -> Vec<usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect()
}

#[test]
fn f3_every_prefix_of_a_log_opens_and_goes_on() {
    let bytes = valid_log(50);
    let ends = ends(&bytes);
    for cut in 0..=bytes.len() {
        let disk = holding(&bytes[..cut]);
        let opened = open(&disk).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let whole = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(opened.records.len(), whole.saturating_sub(2), "cut at {cut}");
        let clean = ends.contains(&cut);
        assert_eq!(opened.notices.is_empty(), clean, "cut at {cut}: {}", notices(&opened));
        if !clean && cut > 0 {
            let from = ends.iter().rfind(|end| **end < cut).copied().unwrap_or(0);
            let copy = disk.content(&Path::new(DIR).join("events.jsonl.torn-1")).unwrap();
            assert_eq!(copy, bytes[from..cut], "cut at {cut}");
        }
        if cut % 7 == 0 {
            check_continues(&disk, opened);
        }
    }
}

#[test]
fn l3_a_damaged_log_keeps_its_original_and_goes_on() {
    let bytes = valid_log(50);
    let mut start = 0;
    // Changes one byte in each line except the last one, which would be a torn tail.
    for (number, end) in ends(&bytes).into_iter().enumerate().take(51) {
        let mut damaged = bytes.clone();
        damaged[start + 9] ^= 4;
        start = end;
        let disk = holding(&damaged);
        let opened = open(&disk).unwrap();
        let lost = usize::from(number >= 2);
        assert_eq!(opened.records.len(), 50 - lost, "line {number}");
        assert!(opened.notices.iter().any(Notice::is_damage), "line {number}");
        let copy = disk.content(&Path::new(DIR).join("events.jsonl.damaged-1")).unwrap();
        assert!(copy == damaged, "line {number}: the original has changed");
        check_continues(&disk, opened);
        let again = open(&disk).unwrap();
        assert!(!notices(&again).contains("Damaged"), "{}", notices(&again));
    }
}

/// One bad log and the expected result of opening it.
struct Case {
    id: &'static str,
    bytes: Vec<u8>,
    /// The records after opening, or a part of the error.
    expect: Result<Vec<u64>, &'static str>,
    /// A word of an expected notice; empty if there must be no notice.
    notice: &'static str,
    /// The name of an expected copy; empty if there need be none.
    copy: &'static str,
}

fn case(id: &'static str, bytes: Vec<u8>, notice: &'static str, copy: &'static str) -> Case {
    Case { id, bytes, expect: Ok((1..=50).collect()), notice, copy }
}

fn refused(id: &'static str, bytes: Vec<u8>, error: &'static str) -> Case {
    Case { id, bytes, expect: Err(error), notice: "", copy: "" }
}

impl Case {
    fn without(self, seq: u64) -> Self {
        Self { expect: Ok((1..=50).filter(|other| *other != seq).collect()), ..self }
    }

    fn only(self, last: u64) -> Self {
        Self { expect: Ok((1..=last).collect()), ..self }
    }
}

/// Returns a valid log of 50 records with changed lines. Record N is at index N + 1.
fn with(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let mut all = lines(&valid_log(50));
    change(&mut all);
    all.concat()
}

/// Returns a valid log of 50 records in which `line` replaces record 20.
fn with_20(line: Vec<u8>) -> Vec<u8> {
    with(|all| all[21] = line)
}

fn torn_cases() -> Vec<Case> {
    let bytes = valid_log(50);
    let end = |more: &[u8]| [&bytes[..], more].concat();
    let torn = "events.jsonl.torn-1";
    vec![
        case("log-001", bytes[..bytes.len() - 1].to_vec(), "TornTail", torn).only(49),
        case("log-003", with(|all| all[51].truncate(1)), "TornTail", torn).only(49),
        case("log-005", end(&[0; 12]), "TornTail", torn),
        case("log-007", end(b"garbage garbage\n"), "TornTail", torn),
        case("log-009", Vec::new(), "Empty", "").only(0),
        case("log-011", bytes[..20].to_vec(), "Header", torn).only(0),
        case("log-011 zeros", vec![0; 512], "Header", torn).only(0),
        case("log-014", with(|all| all[51][40] ^= 1), "DamagedTail", torn).only(49),
    ]
}

fn damage_cases() -> Vec<Case> {
    let kept = "events.jsonl.damaged-1";
    let head = |change: fn(&mut Vec<u8>)| with(|all| change(&mut all[0]));
    let crlf = |line: &mut Vec<u8>| drop(line.splice(line.len() - 1.., *b"\r\n"));
    let huge = with(|all| all[11] = b"{\"seq\":4294967295,".to_vec());
    let reversed = with(|all| all.iter_mut().for_each(|line| line.reverse()));
    vec![
        // The next line is found although this one has no line end.
        case("log-016", huge, "Damaged", kept).without(10),
        case("log-018", head(|line| line[3] ^= 1), "Header", kept),
        case("log-018 format", head(|line| line[16] ^= 2), "Header", kept),
        case("log-018 joined", head(|line| line.truncate(9)), "Header", kept),
        case("log-018 gone", head(Vec::clear), "Header", kept),
        case("log-020", with(|all| all[11] = b"{not json\n".to_vec()), "Damaged", kept).without(10),
        case("log-022", with(|all| drop(all[11].splice(0..0, [0; 3]))), "Damaged", kept),
        case("log-024", with(|all| all.iter_mut().for_each(crlf)), "LineEnds", ""),
        refused("log-026", reversed, "not a log"),
        refused("log-026 text", b"dear diary\n".to_vec(), "not a log"),
        case("log-035", with_20(sealed(r#"{"seq":20,"parent":20"#)), "Damaged", kept).without(20),
        case("log-043", with_20(sealed(r#"{"seq":20,"event":{}"#)), "Damaged", kept).without(20),
        case("log-043 text", with_20(sealed(r#"{"seq":20,"at":1,"event":{]"#)), "Unreadable", "").without(20),
    ]
}

fn order_cases() -> Vec<Case> {
    let block = |all: &mut Vec<Vec<u8>>| drop(all.splice(22..22, all[11..=21].to_vec()));
    let renamed = String::from_utf8(valid_log(50)).unwrap().replacen(ID, "s-2", 1).into_bytes();
    let foreign = {
        let disk = FaultyDisk::new();
        let dir = PathBuf::from("/state/sessions/s-2");
        let there = LogPlace { dir: dir.clone(), session: "s-2".to_owned(), ..place(&disk) };
        Log::create(there, 1).append(1, &[prompted("a")], false).unwrap();
        disk.content(&dir.join(EVENTS)).unwrap()
    };
    let twice = [valid_log(50), valid_log(50)].concat();
    let far = 253_402_300_799_000;
    vec![
        case("log-027", with(|all| all.insert(22, all[21].clone())), "Copies", ""),
        case("log-029", with(|all| all.swap(21, 22)), "OutOfOrder", ""),
        case("log-031", with(block), "Copies", ""),
        case("log-031 whole file", twice, "Copies", ""),
        case("log-033", with_20(record(u64::MAX, 1)), "ImpossibleSeq", "").without(20),
        case("log-033 conflict", with_20(record(19, 1)), "Conflict", "").without(20),
        case("log-033 gap", with_20(Vec::new()), "Gap", "").without(20),
        case("log-037", with_20(record(20, far)), "", ""),
        case("log-037 overflow", with_20(record(20, u64::MAX)), "", ""),
        case("log-039", renamed, "Header", "events.jsonl.damaged-1"),
        refused("log-039 whole", foreign, "belongs to session \"s-2\""),
        case("log-041", with(|all| all[0] = header(0)), "Migrated", "events.jsonl.older-1"),
        refused("log-041 newer", with(|all| all[0] = header(2)), "has format 2"),
        case("log-065", with(|all| all.truncate(30)), "", "").only(28),
    ]
}

#[test]
fn l3_bad_logs_open_as_they_should() {
    for case in torn_cases().into_iter().chain(damage_cases()).chain(order_cases()) {
        let id = case.id;
        let disk = holding(&case.bytes);
        match (open(&disk), case.expect) {
            (Ok(opened), Ok(expected)) => {
                let found = notices(&opened);
                assert_eq!(seqs(&opened.records), expected, "{id}: {found}");
                assert!(found.contains(case.notice), "{id}: {found}");
                assert_eq!(case.notice.is_empty(), found.is_empty(), "{id}: {found}");
                if !case.copy.is_empty() {
                    let copy = disk.content(&Path::new(DIR).join(case.copy)).unwrap();
                    assert!(case.bytes.ends_with(&copy) && !copy.is_empty(), "{id}");
                }
                check_continues(&disk, opened);
            }
            (Err(error), Err(text)) => {
                assert!(error.to_string().contains(text), "{id}: {error}");
                assert!(disk.content(&events_path()).unwrap() == case.bytes, "{id}");
                let names = disk.list(Path::new(DIR)).unwrap();
                assert_eq!(names.len(), 2, "{id}: {names:?}");
            }
            (Ok(opened), Err(text)) => panic!("{id} opened, not {text}: {}", notices(&opened)),
            (Err(error), Ok(_)) => panic!("{id}: {error}"),
        }
    }
}

#[test]
fn f31_a_newer_format_is_read_and_not_continued() {
    let bytes = with(|all| all[0] = header(2));
    let read = read_bytes(&bytes).unwrap();
    assert_eq!(read.records.len(), 50);
    assert_eq!(read.notices, [Notice::NewerFormat { found: 2 }]);
    assert!(matches!(open(&holding(&bytes)), Err(OpenError::NewerFormat { found: 2, .. })));
    // A newer version may use another checksum.
    let strange = b"{\"adjutant_log\":3,\"session\":\"s-1\"}\n{\"new\":1}\n";
    assert!(matches!(open(&holding(strange)), Err(OpenError::NewerFormat { found: 3, .. })));
}

#[test]
fn l3_a_second_torn_tail_does_not_replace_the_first_copy() {
    let disk = holding(&[valid_log(3), b"one".to_vec()].concat());
    drop(open(&disk).unwrap());
    let now = disk.content(&events_path()).unwrap();
    disk.plant(&events_path(), &[now, b"two".to_vec()].concat());
    drop(open(&disk).unwrap());
    for (name, text) in [("events.jsonl.torn-1", b"one"), ("events.jsonl.torn-2", b"two")] {
        assert_eq!(disk.content(&Path::new(DIR).join(name)).unwrap(), text);
    }
}

#[test]
fn l3_the_tail_is_not_cut_before_its_copy_is_safe() {
    let bytes = [valid_log(3), b"torn".to_vec()].concat();
    let disk = holding(&bytes);
    disk.fail_from(Op::Sync, 1, Fault::Broken);
    assert!(matches!(open(&disk), Err(OpenError::Io { .. })));
    assert_eq!(disk.content(&events_path()).unwrap(), bytes);
    disk.heal();
    check_continues(&disk, open(&disk).unwrap());
}

#[test]
fn f10_a_disk_that_fails_while_a_log_is_opened_loses_nothing() {
    let torn = [valid_log(9), b"torn".to_vec()].concat();
    let damaged = with(|all| all[11][40] ^= 1);
    for (bytes, records) in [(valid_log(9), 9), (torn, 9), (damaged, 49), (Vec::new(), 0)] {
        for op in [Op::Read, Op::Write, Op::Sync, Op::SyncDir, Op::Cut, Op::Create, Op::Rename] {
            for nth in 1..=8 {
                let disk = holding(&bytes);
                disk.fail(op, nth, Fault::Broken);
                let failed = open(&disk).is_err();
                disk.heal();
                let opened = open(&disk).unwrap();
                assert_eq!(opened.records.len(), records, "{op:?} {nth} {failed}");
                check_continues(&disk, opened);
                let entries = disk.list(Path::new(DIR)).unwrap();
                let has_copy = |kind: &str| entries.iter().any(|entry| entry.name.contains(kind));
                assert_eq!(has_copy("torn"), bytes.ends_with(b"torn"), "{op:?} {nth} {failed}");
                assert_eq!(has_copy("damaged"), records == 49, "{op:?} {nth} {failed}");
            }
        }
    }
}

#[test]
fn a_log_without_numbers_left_takes_no_record() {
    let disk = holding(&with_20(record(line::MAX_SEQ - 1, 1)));
    let mut opened = open(&disk).unwrap();
    assert_eq!(opened.log.last_seq(), line::MAX_SEQ - 1);
    let error = opened.log.append(1, &[prompted("a")], false).unwrap_err();
    assert!(matches!(error, AppendError::Exhausted), "{error}");
}

/// Found by fuzzing: after such an opening, the log could no longer be read.
#[test]
fn a_log_without_epochs_left_is_refused_and_left_as_it_is() {
    let ending_in =
        |epoch: u64| holding(&with(|all| all.push(sealed(&format!(r#"{{"epoch":{epoch},"at":1"#)))));
    let last = ending_in(line::MAX_SEQ - 2);
    assert_eq!(open(&last).unwrap().epoch, line::MAX_SEQ - 1);
    for disk in [last, ending_in(line::MAX_SEQ - 1)] {
        let bytes = || read_whole(&disk, &events_path(), u64::MAX).unwrap();
        let before = bytes();
        let error = open(&disk).err().expect("no epoch is left");
        assert!(matches!(error, OpenError::Exhausted { .. }), "{error}");
        assert!(bytes() == before, "the log was changed");
        let read = Log::read(&disk, Path::new(DIR), ID).unwrap();
        assert_eq!((read.records.len(), read.notices), (50, Vec::new()));
    }
}
