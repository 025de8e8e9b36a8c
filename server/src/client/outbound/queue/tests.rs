//! What the queue keeps, what it withholds, and where it leaves gaps.

use adjutant_protocol::ask::Resolution;

use super::*;

fn lasting(session: &str, seq: u64, bytes: usize) -> SessionUpdateParams {
    let update = Update::AgentMessage { message_id: "m".into(), text: "x".repeat(bytes), interrupted: false };
    SessionUpdateParams { session_id: session.into(), seq, sub: None, run_id: None, update }
}

fn chunk(session: &str, item: &str, text: &str) -> SessionUpdateParams {
    let update = Update::AgentMessageChunk { message_id: item.into(), text: text.to_owned() };
    SessionUpdateParams { session_id: session.into(), seq: 1, sub: Some(1), run_id: None, update }
}

fn passing(session: &str, seq: u64) -> SessionUpdateParams {
    let state =
        adjutant_core::wire::state::view(&adjutant_core::session::Session::new(session.into(), Vec::new()));
    let update = Update::StateUpdate(state);
    SessionUpdateParams { session_id: session.into(), seq, sub: Some(1), run_id: None, update }
}

fn resolved(session: &str) -> AskResolvedParams {
    let resolution = Resolution::Answered { text: "yes".to_owned(), surface: "test".to_owned() };
    AskResolvedParams { session_id: session.into(), ask_id: "a".into(), resolution }
}

fn request() -> QueueEntry {
    QueueEntry::Request { send: Box::new(|out| out.request("test/ask", &())), pending: oneshot::channel().0 }
}

/// One word for each entry that waits.
fn words(queue: &mut Queue) -> Vec<String> {
    std::iter::from_fn(|| queue.pop())
        .map(|waiting| match waiting {
            QueueEntry::Piece(params) => {
                format!("piece {}", piece(&params.update).map_or(0, |it| it.1.len()))
            }
            QueueEntry::Update(body) => {
                let params: SessionUpdateParams = serde_json::from_str(body.get()).unwrap();
                format!("{} {}", params.session_id, params.seq)
            }
            QueueEntry::Resolved(_) => "resolved".to_owned(),
            QueueEntry::Gap(session, UpdateRange { first, last }) => {
                let cursor =
                    |cursor: UpdateCursor| format!("{}{}", cursor.seq, if cursor.behind { "+" } else { "" });
                format!("gap {session} {}..{}", cursor(first), cursor(last))
            }
            QueueEntry::Replay(session, PastUpdates { range: UpdateRange { first, last }, .. }) => {
                format!("replay {session} {}..{}", first.seq, last.seq)
            }
            QueueEntry::Notification { method, .. } => method.to_owned(),
            QueueEntry::Marker(_) => "marker".to_owned(),
            QueueEntry::Request { .. } => "request".to_owned(),
            QueueEntry::Barrier { .. } => "barrier".to_owned(),
        })
        .collect()
}

/// A queue with no room left: session `s` up to number `n`.
fn full() -> (Queue, u64) {
    let mut queue = Queue::default();
    let mut seq = 0;
    while queue.bytes < ROOM {
        seq += 1;
        queue.update(lasting("s", seq, 1 << 20));
    }
    (queue, seq)
}

#[test]
fn f8_what_is_lasting_and_has_no_room_becomes_one_gap() {
    let (mut queue, n) = full();
    for seq in n + 1..n + 100_000 {
        queue.update(lasting("s", seq, 10));
        queue.update(chunk("s", "item", "never shown"));
    }
    queue.resolved(&resolved("s"), n + 99_999);
    assert_eq!(queue.len() as u64, n + 1);
    assert!(queue.bytes < ROOM + (2 << 20));
    let words = words(&mut queue);
    assert_eq!(words.last(), Some(&format!("gap s {}..{}+", n + 1, n + 99_999)));
    assert_eq!(queue.bytes, 0);
    assert_eq!(words[..words.len() - 1], (1..=n).map(|seq| format!("s {seq}")).collect::<Vec<_>>());
}

#[test]
fn f8_a_gap_that_waits_grows_though_there_is_room_again() {
    let (mut queue, n) = full();
    queue.update(lasting("s", n + 1, 10));
    queue.update(lasting("t", 1, 10));
    for _ in 0..n {
        queue.pop();
    }
    queue.update(lasting("s", n + 2, 10));
    queue.update(chunk("s", "item", "after the gap"));
    queue.update(lasting("u", 1, 10));
    queue.update(lasting("t", 2, 10));
    let expected = [format!("gap s {}..{}", n + 1, n + 2), "gap t 1..2".to_owned(), "u 1".to_owned()];
    assert_eq!(words(&mut queue), expected);
    // After the gap was removed, later updates are queued again.
    queue.update(lasting("s", n + 3, 10));
    assert_eq!(words(&mut queue), [format!("s {}", n + 3)]);
}

#[test]
fn f8_no_gap_grows_across_a_past_that_is_told_again() {
    let (mut queue, n) = full();
    queue.update(lasting("s", n + 1, 10));
    let past = PastUpdates { range: UpdateRange::of_updates(1, n + 1), only: None };
    queue.barrier(QueueEntry::Replay("s".into(), past));
    queue.update(lasting("s", n + 2, 10));
    let words = words(&mut queue);
    let gap = |seq| format!("gap s {seq}..{seq}");
    let expected = [gap(n + 1), format!("replay s 1..{}", n + 1), gap(n + 2)];
    assert_eq!(words[words.len() - 3..], expected);
}

#[test]
fn f8_a_state_that_no_log_has_comes_behind_the_gap_before_it() {
    let after_gap = |then: fn(&mut Queue, u64)| {
        let (mut queue, n) = full();
        queue.update(lasting("s", n + 1, 10));
        queue.update(passing("s", n + 1));
        queue.update(passing("s", n + 1));
        then(&mut queue, n + 2);
        let words = words(&mut queue);
        assert_eq!(queue.bytes, 0);
        assert!(words[n as usize].starts_with("gap s "), "{words:?}");
        words[n as usize + 1..].to_vec()
    };
    assert_eq!(after_gap(|_, _| {}), ["piece 0"]);
    let newer = |queue: &mut Queue, seq| assert!(queue.update(lasting("s", seq, 10)));
    assert_eq!(after_gap(newer), [""; 0], "the log has a newer state");
    let asked = |queue: &mut Queue, _| assert!(queue.barrier(request()));
    assert_eq!(after_gap(asked), ["piece 0", "request"]);
    let another = |queue: &mut Queue, _| {
        queue.update(lasting("t", 1, 10));
        queue.update(lasting("t", 2, 10));
    };
    assert_eq!(after_gap(another), ["piece 0", "gap t 1..2"], "every number is as before");
    // Without a gap the state is queued, though there is no room.
    let (mut queue, n) = full();
    queue.update(passing("s", n));
    assert_eq!(words(&mut queue).last().map(String::as_str), Some("piece 0"));
}

#[test]
fn f8_nothing_slips_past_a_request_or_an_answer() {
    let (mut queue, n) = full();
    queue.update(lasting("s", n + 1, 10));
    queue.barrier(request());
    queue.update(lasting("s", n + 2, 10));
    queue.resolved(&resolved("s"), n + 2);
    queue.barrier(QueueEntry::Marker(oneshot::channel().0));
    queue.resolved(&resolved("s"), n + 2);
    let all = words(&mut queue);
    let gap = |from: u64| format!("gap s {from}..{from}");
    let expected = [
        gap(n + 1),
        "request".to_owned(),
        format!("gap s {}..{}+", n + 2, n + 2),
        "marker".to_owned(),
        format!("gap s {}+..{}+", n + 2, n + 2),
    ];
    assert_eq!(all[n as usize..], expected);
}

#[test]
fn pieces_of_one_item_are_one_entry_and_of_bounded_size() {
    let mut queue = Queue::default();
    for _ in 0..100 {
        queue.update(chunk("s", "item", &"x".repeat(100_000)));
    }
    queue.update(chunk("s", "other", "y"));
    queue.update(chunk("t", "other", "z"));
    let words = words(&mut queue);
    assert_eq!(words[1..], ["piece 1", "piece 1"]);
    let merged: usize = words[0].trim_start_matches("piece ").parse().unwrap();
    assert!((MAX_MERGED..MAX_MERGED + 200_000).contains(&merged), "{merged}");
    assert_eq!(queue.bytes, 0);
}

#[test]
fn a_last_word_is_kept_though_there_is_no_room_and_nothing_after_the_end() {
    let (mut queue, n) = full();
    queue.last_word(&lasting("s", n + 1, 10));
    assert_eq!(queue.len() as u64, n + 1);
    queue.close();
    assert!(!queue.update(lasting("s", n + 2, 10)) && !queue.barrier(request()));
    assert!(!queue.resolved(&resolved("s"), 1) && !queue.last_word(&lasting("s", 1, 1)));
    assert_eq!(words(&mut queue), [""; 0]);
}
