//! `adjutant doctor`: the checks of the set-up at a terminal.
//!
//! One line each; a line with a mistake never has `✓`. Never changes anything. It asks each model for one
//! word, except with `--offline`.

use adjutant_protocol::doctor::{Check, Health};
use clap::Args;

use super::Exit;
use super::folder::Folder;
use super::page::{Ink, Printer};
use crate::doctor::{examine, own_models};
use crate::settings::Sources;

/// The arguments of `adjutant doctor`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct DoctorLine {
    /// Check the settings and call no model
    #[arg(long)]
    offline: bool,
}

/// Checks everything. The exit code says whether a run would work.
pub async fn doctor(mut sources: Sources, line: DoctorLine) -> anyhow::Result<Exit> {
    sources.roots =
        Folder::find(None, sources.home.as_deref()).map_or_else(|_| Vec::new(), |folder| folder.workspace());
    let mut page = Printer::of_stdout();
    let mut is_bad = false;
    let models = own_models();
    let has_model = examine(sources, (!line.offline).then_some(&models), |check| {
        is_bad |= check.health == Health::Error;
        print(&mut page, &check);
    })
    .await;
    page.written()?;
    Ok(match (has_model, is_bad) {
        (false, _) => Exit::Usage,
        (true, true) => Exit::Failed,
        (true, false) => Exit::Fine,
    })
}

fn print(page: &mut Printer, check: &Check) {
    let (sign, ink) = match check.health {
        Health::Ok => ("✓", Ink::Green),
        Health::Note => ("•", Ink::Plain),
        Health::Warning => ("!", Ink::Bold),
        Health::Error => ("✗", Ink::Red),
    };
    page.line_in(ink, &format!("{sign} {:<9} {}", check.check, check.text));
}
