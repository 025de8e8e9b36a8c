//! The command line as clap sees it.

use clap::{CommandFactory, Parser};

use super::run::{OutputFormat, RunLine};
use super::*;

fn run_line(arguments: &[&str]) -> Result<RunLine, clap::Error> {
    let line = CommandLine::try_parse_from(["adjutant", "run"].iter().chain(arguments))?;
    match line.command {
        Command::Run(run) => Ok(run),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_command_line_is_sound() {
    CommandLine::command().debug_assert();
}

#[test]
fn flags_that_contradict_are_a_usage_error() {
    assert!(run_line(&["--allow-commands", "x"]).is_err(), "commands without -y");
    assert!(run_line(&["--continue", "--session", "s"]).is_err());
    assert!(run_line(&["--mode", "plan", "x"]).is_err());
    let line = run_line(&["-y", "--allow-commands", "--output", "json", "-q", "--session", "s", "-"]);
    let line = line.unwrap_or_else(|error| panic!("{error}"));
    assert!(line.unattended && line.allow_commands && line.quiet && !line.continue_newest);
    assert_eq!((line.output, line.prompt.as_deref()), (OutputFormat::Json, Some("-")));
}

#[test]
fn the_debug_flag_stands_before_or_after_the_command() {
    for arguments in [["adjutant", "-d", "demo"], ["adjutant", "demo", "-d"]] {
        let line = CommandLine::try_parse_from(arguments).unwrap_or_else(|error| panic!("{error}"));
        assert!(line.debug);
    }
}
