//! Which command lines may have a standing answer ("always"), as one pure function.
//!
//! Strict on purpose: a line that this file cannot parse has no standing answer. Never says that a
//! line is safe: a line that may have a standing answer still asks the first time.
//!
//! A standing answer covers one exact line. It is useful only if the same line does the same kind of
//! thing the next time. So these have none:
//! - expansion (variables, substitutions, globs, `~`), because the line runs something else each time;
//! - a program that is in no list of `programs`: interpreters, starters of other programs (`env`,
//!   `fakeroot`), network clients, compilers, programs of the workspace;
//! - builtins of the shell that evaluate their arguments or set variables;
//! - an option that names a program or a file to run.
//!
//! Build tools and test runners (`make`, `cargo test`, `npm test`) may have one: the ask says that the
//! answer covers whatever the line runs at that time.

mod programs;
#[cfg(test)]
mod tests;
mod words;

/// Whether a command line may have a standing answer.
pub fn may_be_standing(line: &str) -> bool {
    words::commands(line).is_some_and(|commands| {
        !commands.is_empty() && commands.iter().all(|words| programs::may_be_standing(words))
    })
}
