//! `adjutant review`: the applied changes that nobody has looked at. `adjutant why`: who wrote a line.
//!
//! Never decides where a change is: the server in this process finds it in the text.

mod comments;
mod deciding;
mod place;
mod runs;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;

use adjutant_core::text::display::one_line;
use adjutant_core::text::edit::{lines, split_bom};
use adjutant_protocol::SessionId;
use adjutant_protocol::methods;
use adjutant_protocol::operation::FileOperation;
use adjutant_protocol::review::{
    AwayPlace, FormattedFile, LeftOutFile, ReviewAction, ReviewDiffParams, ReviewDiffResult, ReviewHunk,
    ReviewListParams, ReviewListResult, StagedParams,
};
use adjutant_protocol::update::HunkState;
use anyhow::Context;
use clap::{Args, Subcommand};

use super::Exit;
use super::asks::put_diff;
use super::client::Client;
use super::conversation::hearing::last_word;
use super::folder::Folder;
use super::page::{Ink, Printer, note};
use crate::clock::now_ms;
use crate::origin::Origin;
use crate::settings::Sources;
use crate::uri;
use deciding::{PlaceDecision, chosen, decide};
use place::Place;
use runs::{LAST, RunChoice};

/// The arguments of `adjutant review`.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ReviewLine {
    /// Exit with 1 if the commit that is being made would have changes that nobody has looked at
    #[arg(long)]
    check: bool,
    /// Print one JSON object a line
    #[arg(long, conflicts_with = "check")]
    json: bool,
    #[command(subcommand)]
    action: Option<ReviewVerb>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum ReviewVerb {
    /// Print the changes of these places as diffs; of all without a place
    Show {
        /// FILE or FILE:LINE
        places: Vec<String>,
    },
    /// Print everything that was changed and not undone as one diff for git
    Diff {
        /// Only the changes of this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Keep the changes of these places
    Keep {
        /// FILE or FILE:LINE
        #[arg(required_unless_present = "all")]
        places: Vec<String>,
        /// Every change of this workspace
        #[arg(long, conflicts_with = "places")]
        all: bool,
    },
    /// Take the changes of these places, or of a whole run, out of the text
    Undo {
        /// FILE or FILE:LINE
        #[arg(required_unless_present_any = ["all", "run"], conflicts_with = "run")]
        places: Vec<String>,
        /// Every change of this workspace
        #[arg(long, conflicts_with_all = ["places", "run"])]
        all: bool,
        #[command(flatten)]
        run: RunChoice,
    },
    /// Write a comment on a change; it waits until you send your comments
    Comment {
        /// FILE:LINE
        place: String,
        /// What the agent is to read; an empty text takes the comment back
        text: String,
    },
    /// Send your comments on changes as one task, and follow it to its end
    Send {
        /// Words about all of them
        text: Option<String>,
        /// Only those of this session; the beginning of its id is enough
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Make undone changes again: those of these places, or of a whole run that were undone together
    Restore {
        /// FILE or FILE:LINE
        #[arg(conflicts_with = "run")]
        places: Vec<String>,
        #[command(flatten)]
        run: RunChoice,
    },
}

/// The arguments of `adjutant why`.
#[derive(Clone, Debug, Args)]
pub struct WhyLine {
    /// FILE:LINE
    place: String,
}

/// Lists, shows, keeps or undoes changes, or checks that none is left.
pub async fn review(sources: Sources, line: ReviewLine) -> anyhow::Result<Exit> {
    if line.check {
        // Git commits another index than its own for `commit -a` and `commit FILE`, and says so to its hooks.
        let index = sources.environment.get("GIT_INDEX_FILE").filter(|path| !path.is_empty()).cloned();
        let staged = Some(StagedParams { index });
        let params = ReviewListParams { staged, ..ReviewListParams::default() };
        return with_changes(sources, |_| params, async |_, _, listed| Ok(check(&listed.hunks))).await;
    }
    if let Some(ReviewVerb::Send { text, session }) = line.action {
        return comments::send(sources, session, text).await;
    }
    let all = match &line.action {
        // A change that is kept can be undone, too, and is shown before.
        Some(ReviewVerb::Show { .. } | ReviewVerb::Undo { .. } | ReviewVerb::Restore { .. }) => true,
        _ => false,
    };
    let params = ReviewListParams { all, ..ReviewListParams::default() };
    with_changes(
        sources,
        |_| params,
        async |folder, client, ReviewListResult { mut hunks, formatted }| {
            if let Some(
                ReviewVerb::Show { places }
                | ReviewVerb::Keep { places, .. }
                | ReviewVerb::Undo { places, .. },
            ) = &line.action
            {
                add_renamed(folder, client, places, all, &mut hunks).await?;
            }
            match line.action {
                None if line.json => {
                    let mut page = Printer::of_stdout();
                    for hunk in &hunks {
                        page.json(&serde_json::to_string(hunk)?);
                    }
                    page.written()?;
                    Ok(Exit::Fine)
                }
                None => list(&hunks, &formatted),
                Some(ReviewVerb::Show { places }) => {
                    match chosen(folder, &hunks, &places, ReviewAction::Undo) {
                        Some(hunks) => show(&hunks),
                        None => Ok(Exit::Usage),
                    }
                }
                Some(ReviewVerb::Diff { session }) => print_diff(client, session).await,
                Some(ReviewVerb::Keep { places, all: _ }) => {
                    let decision = PlaceDecision { places: &places, action: ReviewAction::Keep, mine: false };
                    decide(folder, client, &hunks, decision).await
                }
                Some(ReviewVerb::Undo { places, all: _, run }) => match &run.run {
                    Some(name) => runs::rewind(client, &hunks, name, &run, false).await,
                    None => {
                        let (action, mine) = (ReviewAction::Undo, run.mine);
                        decide(folder, client, &hunks, PlaceDecision { places: &places, action, mine }).await
                    }
                },
                Some(ReviewVerb::Restore { places, .. }) if !places.is_empty() => {
                    let decision =
                        PlaceDecision { places: &places, action: ReviewAction::Restore, mine: false };
                    decide(folder, client, &hunks, decision).await
                }
                Some(ReviewVerb::Restore { run, .. }) => {
                    runs::rewind(client, &hunks, run.run.as_deref().unwrap_or(LAST), &run, true).await
                }
                Some(ReviewVerb::Comment { place, text }) => {
                    comments::comment(folder, client, &hunks, place, text).await
                }
                // It is a conversation of its own.
                Some(ReviewVerb::Send { .. }) => Ok(Exit::Usage),
            }
        },
    )
    .await
}

/// Adds the changes of files that have another name now than when the agent made the changes. The server finds them by the name of
/// now. If another file has taken the old name, the server finds them in git's index; so the user can decide under the name that
/// the commit hook prints.
async fn add_renamed(
    folder: &Folder,
    client: &Client,
    places: &[String],
    all: bool,
    hunks: &mut Vec<ReviewHunk>,
) -> anyhow::Result<()> {
    for text in places {
        let Some(Place { uri, .. }) = Place::parse(folder, text, hunks) else { continue };
        let file = Place { uri, line: None };
        if hunks.iter().any(|hunk| file.has(hunk)) {
            continue;
        }
        let params = ReviewListParams { all, uri: Some(file.uri), ..ReviewListParams::default() };
        let renamed: ReviewListResult = client.request(methods::REVIEW_LIST, &params).await?;
        if !renamed.hunks.is_empty() {
            hunks.extend(renamed.hunks);
            continue;
        }
        let params = ReviewListParams { staged: Some(StagedParams::default()), ..params };
        // Without a repository there is no index.
        let staged: Result<ReviewListResult, _> = client.request(methods::REVIEW_LIST, &params).await;
        hunks.extend(staged.map(|staged| staged.hunks).unwrap_or_default());
    }
    Ok(())
}

/// Says who wrote a line, on which task, and whether a person looked at it.
pub async fn why(sources: Sources, line: WhyLine) -> anyhow::Result<Exit> {
    // A file that is there needs the changes of no other.
    let params = |folder: &Folder| {
        let uri = Place::parse(folder, &line.place, &[]).map(|place| place.uri);
        ReviewListParams { all: true, uri, ..ReviewListParams::default() }
    };
    with_changes(sources, params, async |folder, _, ReviewListResult { hunks, .. }| {
        let Some(place) = Place::parse(folder, &line.place, &hunks).filter(|place| place.line.is_some())
        else {
            note(&format!("\"{}\" is no FILE:LINE with a file of this folder", line.place));
            return Ok(Exit::Usage);
        };
        let mut page = Printer::of_stdout();
        let text = uri::to_path(&place.uri).ok().and_then(|path| text_of(&path));
        let number = place.line.unwrap_or_default() as usize;
        let own = text.and_then(|text| lines(split_bom(&text).1).nth(number).map(str::to_owned));
        let mut found = 0;
        for hunk in hunks.iter().filter(|hunk| place.has(hunk) && is_in_text(hunk)) {
            found += usize::from(put_origin(&mut page, hunk, &place, own.as_deref()));
        }
        if found == 0 {
            page.line("No session of this workspace knows of a change of Adjutant at this line.");
        }
        page.written()?;
        Ok(Exit::Fine)
    })
    .await
}

/// The largest file whose line is looked at, in bytes. No larger one has changes of Adjutant.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Returns the text of a file, if it is text and not too large.
fn text_of(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MAX_FILE + 1).read_to_string(&mut text).ok().filter(|bytes| *bytes as u64 <= MAX_FILE)?;
    Some(text)
}

/// Lists changes of the workspace with a server of its own.
async fn with_changes(
    sources: Sources,
    params: impl FnOnce(&Folder) -> ReviewListParams,
    act: impl AsyncFnOnce(&Folder, &Client, ReviewListResult) -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    let folder = Folder::find(None, sources.home.as_deref())?;
    let (client, incoming) = Client::start(sources, &folder.workspace()).await?;
    let listed: Result<ReviewListResult, _> = client.request(methods::REVIEW_LIST, &params(&folder)).await;
    let exit = match listed {
        Ok(listed) => act(&folder, &client, listed).await,
        Err(failure) => Err(failure.into()),
    };
    client.stop(incoming, last_word).await;
    exit
}

/// Whether a hunk is in the text and nobody has decided about it.
fn is_open(hunk: &ReviewHunk) -> bool {
    // One whose undo was cut short is still in the text.
    !hunk.is_decided()
}

fn is_in_text(hunk: &ReviewHunk) -> bool {
    hunk.operation.is_none() && (hunk.is_unreviewed() || hunk.state == HunkState::Kept)
}

fn size(hunk: &ReviewHunk) -> String {
    format!("-{} +{}", hunk.removed.lines().count(), hunk.inserted.lines().count())
}

fn place_of(hunk: &ReviewHunk) -> String {
    match &hunk.operation {
        Some(FileOperation::Delete) => return format!("{} (deleted)", hunk.path),
        Some(FileOperation::Move { path, .. }) => return format!("{} (moved to {path})", hunk.path),
        None => {}
    }
    match hunk.state {
        HunkState::Away => format!("{} ({})", hunk.path, where_away(hunk)),
        _ => format!("{}:{}", hunk.path, hunk.line + 1),
    }
}

/// Returns where the text of a change is that is not in its file.
fn where_away(hunk: &ReviewHunk) -> String {
    match &hunk.away {
        Some(AwayPlace::Branch { name }) => format!("on branch {name}"),
        Some(AwayPlace::Commit { id }) => format!("in commit {id:.12}"),
        Some(AwayPlace::Stash) => "in the stash".to_owned(),
        None => "its place is not in the file now".to_owned(),
    }
}

/// Returns a count of comments that wait.
fn comments(count: usize) -> String {
    if count == 1 { "1 comment waits".to_owned() } else { format!("{count} comments wait") }
}

/// Characters of a comment in a list.
const MAX_COMMENT: usize = 200;
/// Characters of a value that says who wrote a line.
const MOST_CHARACTERS: usize = 300;
/// Characters of the id of a run in a list; enough to name it.
const RUN_CHARS: usize = 12;

fn list(hunks: &[ReviewHunk], formatted: &[FormattedFile]) -> anyhow::Result<Exit> {
    let mut page = Printer::of_stdout();
    let open: Vec<&ReviewHunk> = hunks.iter().filter(|hunk| is_open(hunk)).collect();
    let mut tasks: BTreeMap<(&str, &str), Vec<&ReviewHunk>> = BTreeMap::new();
    for hunk in &open {
        let task = hunk.made_by.as_ref().map_or("", |made| &made.task);
        tasks.entry((task, &hunk.run_id.0)).or_default().push(hunk);
    }
    for ((task, run), hunks) in tasks {
        page.line_in(Ink::Dim, &format!("{task} ({})", run.chars().take(RUN_CHARS).collect::<String>()));
        for hunk in hunks {
            let yours = match hunk.state {
                HunkState::Amended => " · you changed it since",
                _ => "",
            };
            page.line(&format!("  {}  {}{yours}", place_of(hunk), size(hunk)));
            if let Some(comment) = &hunk.comment {
                page.line_in(Ink::Dim, &format!("    » {}", one_line(comment, MAX_COMMENT)));
            }
        }
    }
    if !formatted.is_empty() {
        page.line_in(Ink::Dim, "formatting by your editor");
        for file in formatted {
            let lines = if file.lines == 1 { "line" } else { "lines" };
            page.line_in(Ink::Dim, &format!("  {}  {} {lines}", file.path, file.lines));
        }
    }
    let waiting = hunks.iter().filter(|hunk| hunk.comment.is_some()).count();
    if waiting > 0 {
        page.line_in(Ink::Dim, &format!("{} to send with `adjutant review send`", comments(waiting)));
    }
    match open.len() {
        0 => page.line("Nothing is left to review."),
        _ => page.line_in(
            Ink::Dim,
            "adjutant review show · keep · undo FILE[:LINE] · comment FILE:LINE TEXT · undo --run RUN",
        ),
    }
    page.written()?;
    Ok(Exit::Fine)
}

fn show(hunks: &[&ReviewHunk]) -> anyhow::Result<Exit> {
    let mut page = Printer::of_stdout();
    for hunk in hunks {
        page.line_in(Ink::Dim, &place_of(hunk));
        put_diff(&mut page, &hunk.diff);
        if let Some(text) = &hunk.text {
            for (side, lines) in
                [("before:", &hunk.removed), ("the agent's:", &hunk.inserted), ("in its place is now:", text)]
            {
                page.line_in(Ink::Dim, side);
                page.block(lines);
            }
        }
    }
    if hunks.is_empty() {
        page.line("Nothing is left to review.");
    }
    page.written()?;
    Ok(Exit::Fine)
}

/// Prints one diff of all changes, byte for byte unless a person reads it at a terminal.
async fn print_diff(client: &Client, session: Option<String>) -> anyhow::Result<Exit> {
    let params = ReviewDiffParams { session_id: session.map(SessionId), run_id: None, uri: None };
    let result: ReviewDiffResult = client.request(methods::REVIEW_DIFF, &params).await?;
    let mut stdout = std::io::stdout();
    if stdout.is_terminal() {
        let mut page = Printer::of_stdout();
        put_diff(&mut page, &result.diff);
        page.written()?;
    } else {
        stdout.write_all(result.diff.as_bytes()).context("write the diff")?;
    }
    for LeftOutFile { path, why } in &result.left_out {
        note(&format!("not in the diff, or not whole: {path}: {why}"));
    }
    Ok(if result.cut || !result.left_out.is_empty() { Exit::Failed } else { Exit::Fine })
}

/// Fails if the next commit would have changes that nobody has kept.
fn check(left: &[ReviewHunk]) -> Exit {
    if left.is_empty() {
        return Exit::Fine;
    }
    let changes = if left.len() == 1 { "change" } else { "changes" };
    note(&format!("{} unreviewed agent {changes} in staged files:", left.len()));
    left.iter().for_each(|hunk| note(&format!("  {}  {}", place_of(hunk), size(hunk))));
    note(
        "look at them with `adjutant review show`, then `adjutant review keep` or `undo`, and stage the files again",
    );
    Exit::Failed
}

/// Prints who wrote the line of a hunk. Returns whether it is a line of this hunk.
fn put_origin(page: &mut Printer, hunk: &ReviewHunk, place: &Place, own: Option<&str>) -> bool {
    let line = place.line.unwrap_or(hunk.line);
    let Some(origin) = Origin::of(hunk, line, own, now_ms()) else { return false };
    page.line(&origin.headline);
    let row = |(label, value): &(&str, String)| format!("  {label:<10}{}", one_line(value, MOST_CHARACTERS));
    origin.rows.iter().for_each(|of| page.line(&row(of)));
    true
}
