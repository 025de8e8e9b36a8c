//! Scenarios of approvals and of a failing system: each line of `tests/corpus/{approvals,os_faults}.jsonl`
//! describes a scenario in words, and at least one test plays it.
//!
//! Two tables cover all lines: the tests of a line, or the feature that the line waits for. A line fails if it
//! is in neither table, in both, or has another expectation than its row.

mod approvals;
pub mod system;

use std::collections::BTreeSet;

use adjutant_testkit::corpus;

use super::tidy::source::{blank, read, rust};

const APPROVALS: &str = include_str!("../corpus/approvals.jsonl");
const OS_FAULTS: &str = include_str!("../corpus/os_faults.jsonl");

/// The id of a line, its expectation, and the tests that show it.
type Shown = (&'static str, &'static str, &'static [&'static str]);

/// The lines with tests. A comment says where the words of a line mean something different in Adjutant.
const SHOWN: &[Shown] = &[
    (
        "appr-001",
        "not_executed",
        &["f22_whatever_is_changed_in_a_command_that_was_asked_about_its_digest_changes"],
    ),
    ("appr-005", "reask", &["appr_005_a_path_that_changed_since_the_ask_is_asked_anew"]),
    // Adjutant closes the ask and opens another one: the approved command does not run.
    ("appr-009", "not_executed", &["l05_a_command_whose_environment_changed_meanwhile_is_asked_anew"]),
    ("appr-011", "refused", &["a2_commands_that_cannot_be_shown_are_refused"]),
    ("appr-013", "shows_exact", &["appr_013_white_space_of_a_command_is_shown_and_run_as_it_is"]),
    ("appr-015", "no_injection", &["appr_015_a_command_that_looks_like_an_answer_answers_nothing"]),
    ("appr-019", "summary_plus_full", &["d15_what_is_too_long_is_shown_first_and_then_allowed"]),
    // Adjutant never shortens a text that can be approved.
    ("appr-021", "refused", &["d15_what_does_not_fit_can_be_shown_or_rejected_and_nothing_else"]),
    (
        "appr-023",
        "not_executed",
        &["f1_f4_a_server_that_dies_at_any_moment_loses_nothing_told_and_runs_no_command_twice"],
    ),
    (
        "appr-025",
        "unknown_outcome_ask",
        &["s05_a_command_that_outlives_a_killed_server_is_ended_by_the_next_one"],
    ),
    ("appr-027", "not_executed", &["appr_027_a_rejection_outlives_its_server"]),
    ("appr-029", "reask", &["f9_editors_that_die_with_an_ask_open_leave_it_open_and_nothing_running"]),
    ("appr-031", "not_executed", &["appr_031_a_cancel_wins_over_an_answer_behind_it"]),
    ("appr-033", "executed_once", &["s54_the_first_answer_wins_and_later_ones_get_the_winner"]),
    (
        "appr-035",
        "invariants_hold",
        &["f1_f4_a_server_that_dies_at_any_moment_loses_nothing_told_and_runs_no_command_twice"],
    ),
    ("appr-036", "ignored", &["appr_036_words_of_the_model_approve_nothing"]),
    ("appr-039", "ignored", &["a5_a_guessed_id_an_unknown_option_and_an_empty_text_answer_nothing"]),
    ("appr-043", "refused", &["appr_043_a_tool_that_sounds_like_consent_is_unknown"]),
    // The name of the option says that it covers only the line, not the programs that the line runs.
    ("appr-045", "ask", &["appr_045_always_says_that_it_binds_the_line_alone"]),
    ("appr-047", "not_offered", &["a6_a_command_with_a_substitution_is_asked_about_each_time"]),
    // A rule belongs to one session, and a session to one workspace.
    ("appr-049", "ask", &["appr_049_a_rule_of_one_session_is_none_of_another"]),
    ("appr-051", "denied", &["where_nobody_is_every_kind_is_denied_or_left_open_and_none_allowed"]),
    (
        "os-001",
        "refuse_turn",
        &["f10_a_disk_of_64_kib_fills_up_with_one_clear_message_and_all_it_holds_is_sound"],
    ),
    ("os-003", "refuse_turn", &["os_003_where_no_file_can_be_made_a_prompt_is_refused"]),
    // A session without a log would lose its prompts, so Adjutant refuses the prompt and says why.
    (
        "os-005",
        "memory_only_notice",
        &["os_005_where_nothing_can_be_written_a_prompt_is_refused_and_says_so"],
    ),
    ("os-007", "tool_error", &["os_007_a_command_that_cannot_be_started_is_an_error_of_its_call"]),
    ("os-009", "bounded", &["os_009_a_storm_of_reports_is_one_look_and_stops_nobody"]),
    ("os-012", "ok", &["f11_a_machine_whose_clock_runs_elsewhere_retries_waits_and_resumes_as_ever"]),
    ("os-014", "ok", &["os_014_another_time_zone_changes_nothing_that_is_kept"]),
    ("os-016", "ok", &["f11_a_machine_whose_clock_runs_elsewhere_retries_waits_and_resumes_as_ever"]),
    (
        "os-017",
        "invariants_hold",
        &["f1_f4_a_server_that_dies_at_any_moment_loses_nothing_told_and_runs_no_command_twice"],
    ),
    (
        "os-019",
        "clean_exit",
        &[
            "s90_two_interrupts_end_a_run_whose_model_is_silent",
            "os_019_an_interrupt_ends_a_run_with_its_command",
        ],
    ),
    ("os-021", "ok", &["os_021_a_server_that_was_stopped_goes_on"]),
    (
        "os-023",
        "isolated",
        &["s30_a_step_that_breaks_at_any_point_leaves_one_end_and_a_session_that_goes_on"],
    ),
    ("os-025", "acked_survive", &["f2_power_lost_anywhere_in_200_operations_keeps_what_was_acknowledged"]),
    ("os-027", "killed_with_session", &["background_processes_do_not_outlive_their_command"]),
    ("os-029", "bounded", &["s44_a_line_without_end_and_a_flood_are_bounded"]),
    ("os-031", "no_tty", &["s56_a_command_has_no_key_no_input_and_no_terminal"]),
    ("os-033", "returns", &["a_held_pipe_does_not_hold_the_tool"]),
    // It does not matter which program made the link.
    ("os-039", "blocked", &["p1_a_link_exchanged_while_the_ask_is_open_is_not_followed"]),
];

/// The lines without tests: the row of `docs/rows.md` that each waits for, and why.
const LATER: &[(&str, &str, &str)] = &[
    ("appr-003", "S51", "Adjutant does not unwrap command lines yet, so it does not know the script"),
    ("appr-007", "S56", "Adjutant does not confine commands yet, so it cannot bind where they write"),
    ("appr-017", "S121", "no tool opens an address yet"),
    ("appr-041", "N16", "a process has one connection, and the ids of asks cannot be guessed"),
    ("os-035", "S56", "there is no sandbox yet"),
    ("os-037", "S56", "there is no sandbox yet"),
];

fn lines() -> Vec<corpus::Line> {
    let mut lines = corpus::read("approvals.jsonl", APPROVALS);
    lines.extend(corpus::read("os_faults.jsonl", OS_FAULTS));
    lines
}

#[test]
fn every_scenario_is_shown_by_a_test_or_waits_for_a_row() {
    let functions = functions();
    let page = read("docs/rows.md");
    let mut wrong = Vec::new();
    for line in lines() {
        let shown: Vec<&Shown> = SHOWN.iter().filter(|(id, ..)| *id == line.id).collect();
        let later: Vec<_> = LATER.iter().filter(|(id, ..)| *id == line.id).collect();
        match (&shown[..], &later[..]) {
            ([(_, expect, tests)], []) => {
                if line.expect != *expect {
                    wrong.push(format!("{} expects {}, but the table has {expect}", line.id, line.expect));
                }
                let missing = tests.iter().filter(|test| !functions.contains(**test));
                wrong.extend(missing.map(|test| format!("{}: there is no test `{test}`", line.id)));
            }
            ([], [(_, row, _)]) => {
                let row_of = |text: &&str| text.starts_with(&format!("| {row} |"));
                let open = page.lines().find(row_of).is_some_and(|text| !text.contains("| works |"));
                if !open {
                    wrong.push(format!(
                        "{} waits for {row}, which works or does not exist: add a test",
                        line.id
                    ));
                }
            }
            (shown, later) => {
                wrong.push(format!("{} is in the tables {} times", line.id, shown.len() + later.len()));
            }
        }
    }
    let known: BTreeSet<String> = lines().into_iter().map(|line| line.id).collect();
    let named = SHOWN.iter().map(|row| row.0).chain(LATER.iter().map(|row| row.0));
    wrong.extend(named.filter(|id| !known.contains(*id)).map(|id| format!("there is no line {id}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the names of all functions in the repository.
fn functions() -> BTreeSet<String> {
    let sources = rust();
    let code: Vec<String> = sources.iter().map(|source| blank(&source.text)).collect();
    let names = code.iter().flat_map(|code| code.split("fn ").skip(1));
    names.map(|after| after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()).collect()
}
