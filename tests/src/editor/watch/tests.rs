//! Each rule is broken once, and a legal story breaks none.

use adjutant_protocol::ask::{AskKind, AskView, Resolution};
use adjutant_protocol::session::{Mode, ReplayFrom, ResumeResult, RunEnd, UsageView};
use adjutant_protocol::state::{Outcome, RequiredAction, State, StateView, StopReason};
use adjutant_protocol::update::{
    AskChange, ChangeSetView, HunkState, HunkView, RunView, SessionUpdateParams, ToolCallView, ToolKind,
    ToolStatus, TurnPhase, TurnView, Update,
};

use super::{Watch, World, is_lasting};
use crate::editor::options::Chunks;
use crate::editor::violation::Rule;

/// Numbers updates as a server would, and records the rules they break.
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

    fn add(mut self, update: Update) -> Self {
        let sub = if is_lasting(update.kind()) {
            (self.seq, self.sub) = (self.seq + 1, 0);
            None
        } else {
            self.sub += 1;
            Some(self.sub)
        };
        let seq = self.seq;
        self.add_numbered(seq, sub, update)
    }

    fn add_numbered(mut self, seq: u64, sub: Option<u64>, update: Update) -> Self {
        let run_id = self.run.map(Into::into);
        let params = SessionUpdateParams { session_id: "s".into(), seq, sub, run_id, update };
        self.broken.extend(self.watch.update(&params, &self.world).into_iter().map(|fault| fault.rule));
        self
    }

    fn of_run(mut self, run: &'static str) -> Self {
        self.run = Some(run);
        self
    }

    /// Returns a run with a turn that streamed "hello", up to its tool call.
    fn to_tool_call() -> Self {
        Self::to_turn()
            .add(chunk("m1", "hel"))
            .add(chunk("m1", "lo"))
            .add(message("m1", "hello", false))
            .add(turn(TurnPhase::Ended))
            .add(call("c1", ToolStatus::Pending))
    }

    fn to_turn() -> Self {
        Self::new()
            .of_run("r1")
            .add(started("r1"))
            .add(state(State::Running, &[]))
            .add(Update::UserMessage {
                message_id: "u1".into(),
                text: "go".into(),
                images: Vec::new(),
                attached: Vec::new(),
                added: None,
            })
            .add(turn(TurnPhase::Started))
    }

    fn ended() -> Self {
        Self::to_turn()
            .add(message("m1", "done", false))
            .add(turn(TurnPhase::Ended))
            .add(ended("r1"))
            .add(state(State::Idle, &[]))
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
        cost: None,
        turns: 1,
        edits: None,
    };
    Update::Run(RunView::Ended { run_id: run.into(), end })
}

fn turn(phase: TurnPhase) -> Update {
    Update::Turn(TurnView {
        turn: 1,
        phase,
        attempt: 1,
        usage: None,
        cost: None,
        failure: None,
        message: None,
        model: None,
        retry_at: None,
        cache_break: None,
        compacts: false,
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
        kind: ToolKind::Other,
        locations: Vec::new(),
        arguments_text: String::new(),
        minor: false,
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
        tool_call_ids: Vec::new(),
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
        tool_call_ids: Vec::new(),
        uri: "file:///w/a%2Ers".into(),
        path: "a.rs".into(),
        operation: None,
        hunks: vec![HunkView { hunk_id: "h1".into(), state, removed: 1, inserted: 1 }],
        mark: None,
    })
}

fn resume_result(seq: u64) -> ResumeResult {
    ResumeResult {
        config_options: Vec::new(),
        gap: false,
        before: None,
        state: state_view(State::Running, &[]),
        seq,
        title: "t".into(),
        mode: Mode::Code,
        model: None,
        asks: Vec::new(),
        plan: Vec::new(),
        usage: None,
        notices: Vec::new(),
    }
}

#[test]
fn a_legal_story_breaks_nothing() {
    Story::to_tool_call()
        .add(change_set(HunkState::Proposed))
        .add(opened("a1", AskKind::Tool))
        .add(state(State::RequiresAction, &["a1"]))
        .add(closed("a1"))
        .add(state(State::Running, &[]))
        .add(call("c1", ToolStatus::InProgress))
        .add(Update::ToolCallContentChunk { tool_call_id: "c1".into(), text: "…".into() })
        .add(change_set(HunkState::Applied))
        .add(call("c1", ToolStatus::Completed))
        .add(turn(TurnPhase::Started))
        .add(chunk("m2", "half"))
        .add(message("m2", "half", true))
        .add(turn(TurnPhase::AttemptFailed))
        .add(chunk("m2", "whole"))
        .add(message("m2", "whole", false))
        .add(Update::Complete { summary: "done".into(), said: false })
        .add(turn(TurnPhase::Ended))
        .add(ended("r1"))
        .add(opened("a2", AskKind::CompletionResult))
        .add(state(State::Idle, &["a2"]))
        .breaks(&[]);
}

#[test]
fn numbers_that_go_back_or_stand_still() {
    let notice = || Update::Notice { message: "n".into() };
    let rule = || Update::Rule { text: "r".into() };
    Story::new().add_numbered(5, None, rule()).add_numbered(5, None, rule()).breaks(&[Rule::Sequence]);
    Story::new().add_numbered(5, None, rule()).add_numbered(4, None, rule()).breaks(&[Rule::Sequence]);
    Story::new().add_numbered(5, None, rule()).add_numbered(7, None, rule()).breaks(&[Rule::Sequence]);
    let one = || Story::new().add_numbered(5, None, rule()).add_numbered(5, Some(1), notice());
    one().add_numbered(5, Some(2), notice()).breaks(&[]);
    one().add_numbered(5, Some(1), notice()).breaks(&[Rule::Sequence]);
    one().add_numbered(6, Some(1), notice()).breaks(&[Rule::Sequence]);
    one().add_numbered(4, Some(2), notice()).breaks(&[Rule::Sequence]);
}

#[test]
fn lasting_and_ephemeral_updates_are_marked_as_such() {
    Story::new().add_numbered(1, Some(1), Update::Rule { text: "r".into() }).breaks(&[Rule::EphemeralMark]);
    Story::new().add_numbered(1, None, Update::Notice { message: "n".into() }).breaks(&[Rule::EphemeralMark]);
}

#[test]
fn a_client_that_opted_out_may_miss_numbers_and_gets_none_of_those_kinds() {
    let mut story = Story::new();
    story.watch = Watch::new(Chunks::Equal, true);
    story.world.unwanted = vec!["_rule".to_owned()];
    story
        .add_numbered(1, None, started("r1"))
        .add_numbered(9, None, turn(TurnPhase::Started))
        .add_numbered(10, None, Update::Rule { text: "r".into() })
        .breaks(&[Rule::NotOffered]);
}

#[test]
fn chunks_come_within_their_item() {
    Story::new().add(chunk("m1", "early")).breaks(&[Rule::ChunkBeforeItem]);
    Story::to_tool_call().add(chunk("m2", "between turns")).breaks(&[Rule::ChunkBeforeItem]);
    Story::to_turn()
        .add(chunk("m1", "all"))
        .add(message("m1", "all", false))
        .add(chunk("m1", " and more"))
        .breaks(&[Rule::ChunkAfterItem]);
    let of_call = |id: &str| Update::ToolCallContentChunk { tool_call_id: id.into(), text: "out".into() };
    Story::to_turn().add(of_call("c1")).breaks(&[Rule::ChunkBeforeItem]);
    Story::to_tool_call()
        .add(call("c1", ToolStatus::Failed))
        .add(of_call("c1"))
        .breaks(&[Rule::ChunkAfterItem]);
}

#[test]
fn s14_chunks_add_up_to_their_item() {
    let two = |text: &str| {
        Story::to_turn().add(chunk("m1", "a")).add(chunk("m1", "b")).add(message("m1", text, false))
    };
    two("ab").breaks(&[]);
    two("abb").breaks(&[Rule::ChunksDiffer]);
    two("aab").breaks(&[Rule::ChunksDiffer]);
    let mut lenient = Story::to_turn();
    lenient.watch.chunks = Chunks::Prefix;
    lenient.add(chunk("m1", "ab")).add(message("m1", "abc", false)).breaks(&[]);
    let mut lenient = Story::to_turn();
    lenient.watch.chunks = Chunks::Prefix;
    lenient.add(chunk("m1", "bc")).add(message("m1", "abc", false)).breaks(&[Rule::ChunksDiffer]);
    let thought = Update::AgentThoughtChunk { message_id: "m1".into(), text: "hm".into() };
    Story::to_turn()
        .add(thought)
        .add(Update::AgentThought { message_id: "m1".into(), text: "ah".into() })
        .breaks(&[Rule::ChunksDiffer]);
}

#[test]
fn s14_only_the_last_attempt_counts() {
    let again = |text: &str| {
        Story::to_turn()
            .add(chunk("m1", "first "))
            .add(turn(TurnPhase::AttemptFailed))
            .add(chunk("m1", "second"))
            .add(message("m1", text, false))
    };
    again("second").breaks(&[]);
    again("first second").breaks(&[Rule::ChunksDiffer]);
    // The kept text of a cut message may be shorter than its streamed text, but not different.
    let cut = |text: &str| Story::to_turn().add(chunk("m1", "shown")).add(message("m1", text, true));
    cut("sho").breaks(&[]);
    cut("other").breaks(&[Rule::ChunksDiffer]);
}

#[test]
fn nothing_of_a_run_comes_after_its_end() {
    Story::ended().add(message("m1", "late", false)).breaks(&[Rule::AfterRunEnd]);
    Story::ended().add(chunk("m2", "late")).breaks(&[Rule::AfterRunEnd, Rule::ChunkBeforeItem]);
    Story::ended().add(opened("a1", AskKind::Tool)).breaks(&[Rule::AfterRunEnd]);
    // Idle asks and the change sets of an edit in flight may come after the end.
    Story::ended().add(opened("a1", AskKind::ApiReqFailed)).add(change_set(HunkState::Applied)).breaks(&[]);
}

#[test]
fn s30_a_run_starts_once_and_ends_once() {
    Story::new().add(ended("r1")).breaks(&[Rule::RunOrder]);
    Story::new().add(started("r1")).add(started("r2")).breaks(&[Rule::RunOrder]);
    Story::ended().add(ended("r1")).breaks(&[Rule::RunOrder]);
    Story::ended().add(started("r1")).breaks(&[Rule::RunOrder]);
}

#[test]
fn s20_turns_come_in_pairs_within_a_run() {
    Story::to_turn().add(turn(TurnPhase::Started)).breaks(&[Rule::TurnOrder]);
    Story::to_tool_call().add(turn(TurnPhase::Ended)).breaks(&[Rule::TurnOrder]);
    Story::new().add(turn(TurnPhase::Started)).breaks(&[Rule::TurnOrder]);
}

#[test]
fn s43_tool_calls_end_once_and_before_their_run() {
    Story::to_tool_call()
        .add(call("c1", ToolStatus::Denied))
        .add(call("c1", ToolStatus::InProgress))
        .breaks(&[Rule::CallOrder]);
    Story::to_tool_call().add(ended("r1")).breaks(&[Rule::CallOrder]);
    Story::to_tool_call()
        .add(call("c1", ToolStatus::InProgress))
        .add(call("c1", ToolStatus::Pending))
        .breaks(&[Rule::CallOrder]);
}

#[test]
fn s23_a_run_completes_at_most_once() {
    let complete = || Update::Complete { summary: "done".into(), said: false };
    Story::to_turn().add(complete()).add(complete()).breaks(&[Rule::SecondCompletion]);
}

#[test]
fn asks_open_before_they_are_named_and_close_once() {
    Story::to_turn().add(closed("a1")).breaks(&[Rule::AskOrder]);
    let open = || Story::to_turn().add(opened("a1", AskKind::Tool));
    open().add(opened("a1", AskKind::Tool)).breaks(&[Rule::AskOrder]);
    open().add(closed("a1")).add(closed("a1")).breaks(&[Rule::AskOrder]);
    open().add(ended("r1")).breaks(&[Rule::AskOrder]);
    Story::to_turn()
        .add(opened("a1", AskKind::CommandOutput))
        .add(state(State::Running, &["a2"]))
        .breaks(&[Rule::AskOrder]);
    open().add(closed("a1")).add(state(State::Running, &["a1"])).breaks(&[Rule::AskOrder]);
    let mut wrong = ask("a1", AskKind::Tool);
    wrong.group = AskKind::ResumeTask.group();
    Story::to_turn().add(Update::Ask(AskChange::Opened { ask: Box::new(wrong) })).breaks(&[Rule::AskOrder]);
}

#[test]
fn s02_the_state_agrees_with_run_and_asks() {
    Story::to_turn().add(state(State::Idle, &[])).breaks(&[Rule::StateOrder]);
    Story::ended().add(state(State::Running, &[])).breaks(&[Rule::StateOrder]);
    Story::to_turn().add(state(State::RequiresAction, &[])).breaks(&[Rule::StateOrder]);
    Story::to_turn()
        .add(state(State::RequiresAction, &["a1"]))
        .add(opened("a1", AskKind::Tool))
        .breaks(&[Rule::AskOrder]);
    Story::to_turn()
        .add(opened("a1", AskKind::Tool))
        .add(state(State::Running, &["a1"]))
        .breaks(&[Rule::StateOrder]);
}

#[test]
fn asks_are_delivered_while_they_are_open_and_told_when_they_close() {
    let story = Story::to_turn().add(opened("a1", AskKind::Tool)).add(closed("a1"));
    let fault = story.watch.delivered(&ask("a1", AskKind::Tool)).map(|fault| fault.rule);
    assert_eq!(fault, Some(Rule::AskOrder));
    let left: Vec<Rule> = story.watch.end().iter().map(|fault| fault.rule).collect();
    assert_eq!(left, [Rule::ResolutionUntold]);

    let mut story = Story::to_turn().add(opened("a1", AskKind::Tool));
    assert_eq!(story.watch.delivered(&ask("a1", AskKind::Tool)), None);
    let idle = story.watch.delivered(&ask("a9", AskKind::ApiReqFailed)).map(|fault| fault.rule);
    assert_eq!(idle, Some(Rule::AskOrder));
    let unknown = story.watch.resolved(&"s".into(), &"a9".into()).map(|fault| fault.rule);
    assert_eq!(unknown, Some(Rule::AskOrder));
    assert_eq!(story.watch.resolved(&"s".into(), &"a1".into()), None);
    assert_eq!(story.add(closed("a1")).watch.end(), []);
}

#[test]
fn open_documents_are_edited_through_the_editor() {
    let to_completion = |edits: Option<u32>, open: bool| {
        let mut story = Story::to_tool_call();
        if open {
            story.world.open = vec![super::plain_uri("file:///w/a.rs")];
        }
        let mut story = story.add(change_set(HunkState::Proposed)).add(change_set(HunkState::Applying));
        story.world.edits.extend(edits.map(|edits| (super::plain_uri("file:///w/a.rs"), edits)));
        story.add(change_set(HunkState::Applied)).add(call("c1", ToolStatus::Completed))
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
        .add(chunk("m7", "of it"))
        .add(message("m7", "the end of it", false))
        .add(turn(TurnPhase::Ended))
        .add(call("c7", ToolStatus::Completed))
        .add(closed("a7"));
    assert_eq!(story.broken, []);
    // The replay sends every update, and its numbers start again.
    story.watch.resumed(&"s".into(), Some(ReplayFrom::Start), &resume_result(3));
    (story.seq, story.sub) = (0, 0);
    let story = story
        .add(started("r1"))
        .add(Update::UserMessage {
            message_id: "u1".into(),
            text: "go".into(),
            images: Vec::new(),
            attached: Vec::new(),
            added: None,
        })
        .add(turn(TurnPhase::Started))
        .add(chunk("m8", "rest"))
        .add(Update::UserMessage {
            message_id: "u2".into(),
            text: "steer".into(),
            images: Vec::new(),
            attached: Vec::new(),
            added: None,
        })
        .add(chunk("m8", "."))
        .add(message("m8", "the rest.", false));
    assert_eq!(story.broken, []);
    story.add(turn(TurnPhase::Ended)).add(closed("a9")).breaks(&[Rule::AskOrder]);
}

#[test]
fn a_resumed_client_counts_on_from_where_it_is() {
    let mut story = Story::new();
    story.watch.resumed(&"s".into(), Some(ReplayFrom::Seq { seq: 4 }), &resume_result(20));
    story.add_numbered(4, None, Update::Rule { text: "again".into() }).breaks(&[Rule::Sequence]);
    let mut story = Story::new();
    story.watch.resumed(&"s".into(), None, &resume_result(20));
    story.add_numbered(22, None, Update::Rule { text: "gap".into() }).breaks(&[Rule::Sequence]);
}
