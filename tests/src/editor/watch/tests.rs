//! Each rule is seen broken once, and a legal story breaks none.

use adjutant_protocol::ask::{AskKind, AskView, Resolution};
use adjutant_protocol::session::{Mode, ReplayFrom, ResumeResult, RunEnd, UsageView};
use adjutant_protocol::state::{Outcome, RequiredAction, State, StateView, StopReason};
use adjutant_protocol::update::{
    AskChange, ChangeSetView, HunkState, HunkView, RunView, SessionUpdateParams, ToolCallView, ToolStatus,
    TurnPhase, TurnView, Update,
};

use super::{Watch, World, is_lasting};
use crate::editor::options::Chunks;
use crate::editor::violation::Rule;

/// Numbers updates as a server would, and notes the rules they break.
struct Story {
    watch: Watch,
    world: World,
    seq: u64,
    sub: u64,
    run: Option<&'static str>,
    broken: Vec<Rule>,
}

impl Story {
    fn new() -> Self {
        let mut watch = Watch::new(Chunks::Equal, false);
        watch.created(&"s".into());
        Self { watch, world: World::default(), seq: 0, sub: 0, run: None, broken: Vec::new() }
    }

    fn tell(mut self, update: Update) -> Self {
        let sub = if is_lasting(update.kind()) {
            (self.seq, self.sub) = (self.seq + 1, 0);
            None
        } else {
            self.sub += 1;
            Some(self.sub)
        };
        let seq = self.seq;
        self.tell_numbered(seq, sub, update)
    }

    fn tell_numbered(mut self, seq: u64, sub: Option<u64>, update: Update) -> Self {
        let run_id = self.run.map(Into::into);
        let params = SessionUpdateParams { session_id: "s".into(), seq, sub, run_id, update };
        self.broken.extend(self.watch.update(&params, &self.world).into_iter().map(|fault| fault.rule));
        self
    }

    fn of_run(mut self, run: &'static str) -> Self {
        self.run = Some(run);
        self
    }

    /// A run with a turn that streamed "hello", up to its tool call.
    fn to_tool_call() -> Self {
        Self::to_turn()
            .tell(chunk("m1", "hel"))
            .tell(chunk("m1", "lo"))
            .tell(message("m1", "hello", false))
            .tell(turn(TurnPhase::Ended))
            .tell(call("c1", ToolStatus::Pending))
    }

    fn to_turn() -> Self {
        Self::new()
            .of_run("r1")
            .tell(started("r1"))
            .tell(state(State::Running, &[]))
            .tell(Update::UserMessage { message_id: "u1".into(), text: "go".into(), images: Vec::new() })
            .tell(turn(TurnPhase::Started))
    }

    fn ended() -> Self {
        Self::to_turn()
            .tell(message("m1", "done", false))
            .tell(turn(TurnPhase::Ended))
            .tell(ended("r1"))
            .tell(state(State::Idle, &[]))
    }

    #[track_caller]
    fn breaks(self, rules: &[Rule]) {
        assert_eq!(self.broken, rules);
    }
}

fn chunk(id: &str, text: &str) -> Update {
    Update::AgentMessageChunk { message_id: id.into(), text: text.into() }
}

fn message(id: &str, text: &str, interrupted: bool) -> Update {
    Update::AgentMessage { message_id: id.into(), text: text.into(), interrupted }
}

fn started(run: &str) -> Update {
    Update::Run(RunView::Started {
        run_id: run.into(),
        continues: None,
        not_before: None,
        previous_model: None,
        model: "play/script".into(),
        title: String::new(),
        origin: None,
    })
}

fn ended(run: &str) -> Update {
    let end = RunEnd {
        ended_at: 1,
        outcome: Outcome::Stopped,
        stop_reason: StopReason::EndTurn,
        summary: None,
        usage: UsageView::default(),
        turns: 1,
    };
    Update::Run(RunView::Ended { run_id: run.into(), end })
}

fn turn(phase: TurnPhase) -> Update {
    Update::Turn(TurnView {
        turn: 1,
        phase,
        attempt: 1,
        usage: None,
        failure: None,
        message: None,
        model: None,
        retry_at: None,
    })
}

fn state_view(state: State, asks: &[&str]) -> StateView {
    StateView {
        state,
        sub: None,
        since: 1,
        run_id: None,
        asks: asks.iter().map(|ask| (*ask).into()).collect(),
        ask_kind: None,
        required_action: RequiredAction::None,
        stop_reason: None,
    }
}

fn state(state: State, asks: &[&str]) -> Update {
    Update::StateUpdate(state_view(state, asks))
}

fn call(id: &str, status: ToolStatus) -> Update {
    Update::ToolCallUpdate(ToolCallView {
        tool_call_id: id.into(),
        tool: "edit_file".into(),
        title: "Edit".into(),
        status,
        summary: None,
        elapsed_ms: None,
    })
}

fn ask(id: &str, kind: AskKind) -> AskView {
    AskView {
        session_id: "s".into(),
        ask_id: id.into(),
        kind,
        group: kind.group(),
        title: "May I?".into(),
        description: None,
        subject: None,
        run_id: None,
        tool_call_id: None,
        origin: None,
        options: Vec::new(),
        free_text: false,
        opened_at: 1,
    }
}

fn opened(id: &str, kind: AskKind) -> Update {
    Update::Ask(AskChange::Opened { ask: Box::new(ask(id, kind)) })
}

fn closed(id: &str) -> Update {
    Update::Ask(AskChange::Closed { ask_id: id.into(), resolution: Resolution::Withdrawn })
}

fn change_set(state: HunkState) -> Update {
    Update::ChangeSet(ChangeSetView {
        change_set_id: "x1".into(),
        tool_call_id: "c1".into(),
        uri: "file:///w/a%2Ers".into(),
        path: "a.rs".into(),
        hunks: vec![HunkView { hunk_id: "h1".into(), state, removed: 1, inserted: 1 }],
        mark: None,
    })
}

fn resume_result(seq: u64) -> ResumeResult {
    ResumeResult {
        config_options: Vec::new(),
        gap: false,
        state: state_view(State::Running, &[]),
        seq,
        title: "t".into(),
        mode: Mode::Code,
        model: None,
        asks: Vec::new(),
        notices: Vec::new(),
    }
}

#[test]
fn a_legal_story_breaks_nothing() {
    Story::to_tool_call()
        .tell(change_set(HunkState::Proposed))
        .tell(opened("a1", AskKind::Tool))
        .tell(state(State::RequiresAction, &["a1"]))
        .tell(closed("a1"))
        .tell(state(State::Running, &[]))
        .tell(call("c1", ToolStatus::InProgress))
        .tell(Update::ToolCallContentChunk { tool_call_id: "c1".into(), text: "…".into() })
        .tell(change_set(HunkState::Applied))
        .tell(call("c1", ToolStatus::Completed))
        .tell(turn(TurnPhase::Started))
        .tell(chunk("m2", "half"))
        .tell(message("m2", "half", true))
        .tell(turn(TurnPhase::AttemptFailed))
        .tell(chunk("m2", "whole"))
        .tell(message("m2", "whole", false))
        .tell(Update::Complete { summary: "done".into() })
        .tell(turn(TurnPhase::Ended))
        .tell(ended("r1"))
        .tell(opened("a2", AskKind::CompletionResult))
        .tell(state(State::Idle, &["a2"]))
        .breaks(&[]);
}

#[test]
fn numbers_that_go_back_or_stand_still() {
    let notice = || Update::Notice { message: "n".into() };
    let rule = || Update::Rule { text: "r".into() };
    Story::new().tell_numbered(5, None, rule()).tell_numbered(5, None, rule()).breaks(&[Rule::Sequence]);
    Story::new().tell_numbered(5, None, rule()).tell_numbered(4, None, rule()).breaks(&[Rule::Sequence]);
    Story::new().tell_numbered(5, None, rule()).tell_numbered(7, None, rule()).breaks(&[Rule::Sequence]);
    let one = || Story::new().tell_numbered(5, None, rule()).tell_numbered(5, Some(1), notice());
    one().tell_numbered(5, Some(2), notice()).breaks(&[]);
    one().tell_numbered(5, Some(1), notice()).breaks(&[Rule::Sequence]);
    one().tell_numbered(6, Some(1), notice()).breaks(&[Rule::Sequence]);
    one().tell_numbered(4, Some(2), notice()).breaks(&[Rule::Sequence]);
}

#[test]
fn lasting_and_ephemeral_updates_are_marked_as_such() {
    Story::new().tell_numbered(1, Some(1), Update::Rule { text: "r".into() }).breaks(&[Rule::EphemeralMark]);
    Story::new()
        .tell_numbered(1, None, Update::Notice { message: "n".into() })
        .breaks(&[Rule::EphemeralMark]);
}

#[test]
fn a_client_that_opted_out_may_miss_numbers_and_gets_none_of_those_kinds() {
    let mut story = Story::new();
    story.watch = Watch::new(Chunks::Equal, true);
    story.world.unwanted = vec!["_rule".to_owned()];
    story
        .tell_numbered(1, None, started("r1"))
        .tell_numbered(9, None, turn(TurnPhase::Started))
        .tell_numbered(10, None, Update::Rule { text: "r".into() })
        .breaks(&[Rule::NotOffered]);
}

#[test]
fn chunks_come_within_their_item() {
    Story::new().tell(chunk("m1", "early")).breaks(&[Rule::ChunkBeforeItem]);
    Story::to_tool_call().tell(chunk("m2", "between turns")).breaks(&[Rule::ChunkBeforeItem]);
    Story::to_turn()
        .tell(chunk("m1", "all"))
        .tell(message("m1", "all", false))
        .tell(chunk("m1", " and more"))
        .breaks(&[Rule::ChunkAfterItem]);
    let of_call = |id: &str| Update::ToolCallContentChunk { tool_call_id: id.into(), text: "out".into() };
    Story::to_turn().tell(of_call("c1")).breaks(&[Rule::ChunkBeforeItem]);
    Story::to_tool_call()
        .tell(call("c1", ToolStatus::Failed))
        .tell(of_call("c1"))
        .breaks(&[Rule::ChunkAfterItem]);
}

#[test]
fn s14_chunks_add_up_to_their_item() {
    let two = |text: &str| {
        Story::to_turn().tell(chunk("m1", "a")).tell(chunk("m1", "b")).tell(message("m1", text, false))
    };
    two("ab").breaks(&[]);
    two("abb").breaks(&[Rule::ChunksDiffer]);
    two("aab").breaks(&[Rule::ChunksDiffer]);
    let mut lenient = Story::to_turn();
    lenient.watch.chunks = Chunks::Prefix;
    lenient.tell(chunk("m1", "ab")).tell(message("m1", "abc", false)).breaks(&[]);
    let mut lenient = Story::to_turn();
    lenient.watch.chunks = Chunks::Prefix;
    lenient.tell(chunk("m1", "bc")).tell(message("m1", "abc", false)).breaks(&[Rule::ChunksDiffer]);
    let thought = Update::AgentThoughtChunk { message_id: "m1".into(), text: "hm".into() };
    Story::to_turn()
        .tell(thought)
        .tell(Update::AgentThought { message_id: "m1".into(), text: "ah".into() })
        .breaks(&[Rule::ChunksDiffer]);
}

#[test]
fn s14_only_the_last_attempt_counts() {
    let again = |text: &str| {
        Story::to_turn()
            .tell(chunk("m1", "first "))
            .tell(turn(TurnPhase::AttemptFailed))
            .tell(chunk("m1", "second"))
            .tell(message("m1", text, false))
    };
    again("second").breaks(&[]);
    again("first second").breaks(&[Rule::ChunksDiffer]);
    // What was kept of a cut text may lag behind what was shown, but it is the same text.
    let cut = |text: &str| Story::to_turn().tell(chunk("m1", "shown")).tell(message("m1", text, true));
    cut("sho").breaks(&[]);
    cut("other").breaks(&[Rule::ChunksDiffer]);
}

#[test]
fn nothing_of_a_run_comes_after_its_end() {
    Story::ended().tell(message("m1", "late", false)).breaks(&[Rule::AfterRunEnd]);
    Story::ended().tell(chunk("m2", "late")).breaks(&[Rule::AfterRunEnd, Rule::ChunkBeforeItem]);
    Story::ended().tell(opened("a1", AskKind::Tool)).breaks(&[Rule::AfterRunEnd]);
    // Idle asks, and what became of an edit that was on its way, belong there.
    Story::ended().tell(opened("a1", AskKind::ApiReqFailed)).tell(change_set(HunkState::Applied)).breaks(&[]);
}

#[test]
fn s30_a_run_starts_once_and_ends_once() {
    Story::new().tell(ended("r1")).breaks(&[Rule::RunOrder]);
    Story::new().tell(started("r1")).tell(started("r2")).breaks(&[Rule::RunOrder]);
    Story::ended().tell(ended("r1")).breaks(&[Rule::RunOrder]);
    Story::ended().tell(started("r1")).breaks(&[Rule::RunOrder]);
}

#[test]
fn s20_turns_come_in_pairs_within_a_run() {
    Story::to_turn().tell(turn(TurnPhase::Started)).breaks(&[Rule::TurnOrder]);
    Story::to_tool_call().tell(turn(TurnPhase::Ended)).breaks(&[Rule::TurnOrder]);
    Story::new().tell(turn(TurnPhase::Started)).breaks(&[Rule::TurnOrder]);
}

#[test]
fn s43_tool_calls_end_once_and_before_their_run() {
    Story::to_tool_call()
        .tell(call("c1", ToolStatus::Denied))
        .tell(call("c1", ToolStatus::InProgress))
        .breaks(&[Rule::CallOrder]);
    Story::to_tool_call().tell(ended("r1")).breaks(&[Rule::CallOrder]);
    Story::to_tool_call()
        .tell(call("c1", ToolStatus::InProgress))
        .tell(call("c1", ToolStatus::Pending))
        .breaks(&[Rule::CallOrder]);
}

#[test]
fn s23_a_run_completes_at_most_once() {
    let complete = || Update::Complete { summary: "done".into() };
    Story::to_turn().tell(complete()).tell(complete()).breaks(&[Rule::SecondCompletion]);
}

#[test]
fn asks_open_before_they_are_named_and_close_once() {
    Story::to_turn().tell(closed("a1")).breaks(&[Rule::AskOrder]);
    let open = || Story::to_turn().tell(opened("a1", AskKind::Tool));
    open().tell(opened("a1", AskKind::Tool)).breaks(&[Rule::AskOrder]);
    open().tell(closed("a1")).tell(closed("a1")).breaks(&[Rule::AskOrder]);
    open().tell(ended("r1")).breaks(&[Rule::AskOrder]);
    Story::to_turn()
        .tell(opened("a1", AskKind::CommandOutput))
        .tell(state(State::Running, &["a2"]))
        .breaks(&[Rule::AskOrder]);
    open().tell(closed("a1")).tell(state(State::Running, &["a1"])).breaks(&[Rule::AskOrder]);
    let mut wrong = ask("a1", AskKind::Tool);
    wrong.group = AskKind::ResumeTask.group();
    Story::to_turn().tell(Update::Ask(AskChange::Opened { ask: Box::new(wrong) })).breaks(&[Rule::AskOrder]);
}

#[test]
fn s02_the_state_agrees_with_run_and_asks() {
    Story::to_turn().tell(state(State::Idle, &[])).breaks(&[Rule::StateOrder]);
    Story::ended().tell(state(State::Running, &[])).breaks(&[Rule::StateOrder]);
    Story::to_turn().tell(state(State::RequiresAction, &[])).breaks(&[Rule::StateOrder]);
    Story::to_turn()
        .tell(state(State::RequiresAction, &["a1"]))
        .tell(opened("a1", AskKind::Tool))
        .breaks(&[Rule::AskOrder]);
    Story::to_turn()
        .tell(opened("a1", AskKind::Tool))
        .tell(state(State::Running, &["a1"]))
        .breaks(&[Rule::StateOrder]);
}

#[test]
fn asks_are_delivered_while_they_are_open_and_told_when_they_close() {
    let story = Story::to_turn().tell(opened("a1", AskKind::Tool)).tell(closed("a1"));
    let fault = story.watch.delivered(&ask("a1", AskKind::Tool)).map(|fault| fault.rule);
    assert_eq!(fault, Some(Rule::AskOrder));
    let left: Vec<Rule> = story.watch.end().iter().map(|fault| fault.rule).collect();
    assert_eq!(left, [Rule::ResolutionUntold]);

    let mut story = Story::to_turn().tell(opened("a1", AskKind::Tool));
    assert_eq!(story.watch.delivered(&ask("a1", AskKind::Tool)), None);
    let idle = story.watch.delivered(&ask("a9", AskKind::ApiReqFailed)).map(|fault| fault.rule);
    assert_eq!(idle, Some(Rule::AskOrder));
    let unknown = story.watch.resolved(&"s".into(), &"a9".into()).map(|fault| fault.rule);
    assert_eq!(unknown, Some(Rule::AskOrder));
    assert_eq!(story.watch.resolved(&"s".into(), &"a1".into()), None);
    assert_eq!(story.tell(closed("a1")).watch.end(), []);
}

#[test]
fn open_documents_are_edited_through_the_editor() {
    let to_completion = |edits: Option<u32>, open: bool| {
        let mut story = Story::to_tool_call();
        if open {
            story.world.open = vec![super::plain_uri("file:///w/a.rs")];
        }
        let mut story = story.tell(change_set(HunkState::Proposed)).tell(change_set(HunkState::Applying));
        story.world.edits.extend(edits.map(|edits| (super::plain_uri("file:///w/a.rs"), edits)));
        story.tell(change_set(HunkState::Applied)).tell(call("c1", ToolStatus::Completed))
    };
    to_completion(Some(1), true).breaks(&[]);
    to_completion(None, false).breaks(&[]);
    to_completion(None, true).breaks(&[Rule::BehindTheEditor]);
}

#[test]
fn what_a_resumed_client_missed_is_no_fault() {
    let mut story = Story::new().of_run("r1");
    story.watch.resumed(&"s".into(), None, &resume_result(20));
    story.seq = 20;
    let mut story = story
        .tell(chunk("m7", "of it"))
        .tell(message("m7", "the end of it", false))
        .tell(turn(TurnPhase::Ended))
        .tell(call("c7", ToolStatus::Completed))
        .tell(closed("a7"));
    assert_eq!(story.broken, []);
    // The replay tells everything, and starts to count again.
    story.watch.resumed(&"s".into(), Some(ReplayFrom::Start), &resume_result(3));
    (story.seq, story.sub) = (0, 0);
    let story = story
        .tell(started("r1"))
        .tell(Update::UserMessage { message_id: "u1".into(), text: "go".into(), images: Vec::new() })
        .tell(turn(TurnPhase::Started))
        .tell(chunk("m8", "rest"))
        .tell(Update::UserMessage { message_id: "u2".into(), text: "steer".into(), images: Vec::new() })
        .tell(chunk("m8", "."))
        .tell(message("m8", "the rest.", false));
    assert_eq!(story.broken, []);
    story.tell(turn(TurnPhase::Ended)).tell(closed("a9")).breaks(&[Rule::AskOrder]);
}

#[test]
fn a_resumed_client_counts_on_from_where_it_is() {
    let mut story = Story::new();
    story.watch.resumed(&"s".into(), Some(ReplayFrom::Seq { seq: 4 }), &resume_result(20));
    story.tell_numbered(4, None, Update::Rule { text: "again".into() }).breaks(&[Rule::Sequence]);
    let mut story = Story::new();
    story.watch.resumed(&"s".into(), None, &resume_result(20));
    story.tell_numbered(22, None, Update::Rule { text: "gap".into() }).breaks(&[Rule::Sequence]);
}
