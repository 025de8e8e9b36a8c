//! `Prepare` and `RunTool` for every call that edits nothing.
//!
//! Observes the world and returns what it found; never decides, because the verdict
//! is core's. Before a tool runs, everything that was approved is read again (A3).

mod outputs;
mod saving;
mod skills;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use adjutant_core::config::{Denials, KeySource};
use adjutant_core::machine::input::{Preparation, PreparedEdits, RefusedEdit, Report};
use adjutant_core::policy::cause::{Cause, Reason};
use adjutant_core::policy::observation::ObservedPath;
use adjutant_core::policy::permission::{Act, forbidden_by};
use adjutant_core::policy::unsaved::MAX_LISTED;
use adjutant_core::record::{CallEnd, CallResult, FileRead, Mode, Payload, UnsavedText};
use adjutant_core::session::{Call, Reads};
use adjutant_core::text::display::shown;
use adjutant_core::tool::Arguments;
use adjutant_protocol::ToolCallId;

use super::context::elsewhere;
use outputs::SavedOutputs;
pub use skills::RunSkills;

use super::edits::{EditAct, EditPart, GivenEdit};
use super::stream::Stream;
use super::{SessionWorld, World, edits, outside};
use crate::aside::aside;
use crate::faults::point;
use crate::settings::private_dir;
use crate::tools::apply_patch::{PartAct, PatchPart};
use crate::tools::exclusions::Exclusions;
use crate::tools::paths::{PathRefusal, PathType, ResolvedPath, Roots, resolve};
use crate::tools::process::{Containment, Launch, MAX_OUTPUT, child_environment, pin_directory, pin_shell};
use crate::tools::protected::held_by;
use crate::tools::run_command::{run_command, time_limit};
use crate::tools::{Action, AllowedRead, ReadTarget as At, ToolOutput, Toolbox, read};

/// The tools, deny rules and skills of a run.
pub struct Rules {
    pub tools: Arc<Toolbox>,
    pub deny: Vec<String>,
    pub skills: RunSkills,
}

/// Makes the observations for the verdict about one call, or about edits next to each other.
///
/// `reads` are the lines of files that the model knows.
pub async fn prepare(
    place: &Arc<SessionWorld>,
    calls: &[Call],
    mode: Mode,
    rules: &Rules,
    reads: Reads,
) -> Report {
    match calls {
        [call] if !call.is_edit() => prepare_one(place, call, mode, rules).await,
        edits => Report::PreparedEdits(prepare_edits(place, edits, mode, rules, reads).await),
    }
}

async fn prepare_edits(
    place: &Arc<SessionWorld>,
    calls: &[Call],
    mode: Mode,
    rules: &Rules,
    reads: Reads,
) -> PreparedEdits {
    let mut refused = Vec::new();
    let mut edits = Vec::new();
    for call in calls {
        let given = rules.tools.set().parse(mode, &call.tool, call.arguments());
        match given.and_then(|given| parts_of(call, given, rules)) {
            Ok(parts) => edits.push(GivenEdit { call: call.id.clone(), tool: call.tool.clone(), parts }),
            Err(why) => {
                let why = Some(why);
                refused.push(RefusedEdit { call: call.id.clone(), seen: None, why, may_reveal: false });
            }
        }
    }
    let mut prepared = edits::prepare(place, edits, deny_rules(place, &rules.deny), reads).await;
    prepared.refused.extend(refused);
    prepared
}

/// Returns the edits of one call: one for each file of a patch, else one.
fn parts_of(call: &Call, given: Arguments, rules: &Rules) -> Result<Vec<EditPart>, Reason> {
    let text = |after, whole| EditAct::Text { after, whole };
    let act = match rules.tools.act(&call.tool) {
        Some(Action::Edit(after)) => text(after, false),
        Some(Action::Write(after)) => text(after, true),
        Some(Action::Delete) => EditAct::Delete,
        Some(Action::Move) => EditAct::Move,
        Some(Action::Patch(parts)) => {
            let part = |PatchPart { given, act }| {
                let act = match act {
                    PartAct::Text(after) => text(after, false),
                    PartAct::TextTo(after) => EditAct::TextTo(after),
                    PartAct::Delete => EditAct::Delete,
                    PartAct::Move => EditAct::Move,
                };
                EditPart { given, act }
            };
            return Ok(parts(&given)?.into_iter().map(part).collect());
        }
        _ => return Err(no_such_tool(call)),
    };
    Ok(vec![EditPart { given, act }])
}

async fn prepare_one(place: &Arc<SessionWorld>, call: &Call, mode: Mode, rules: &Rules) -> Report {
    let given = match rules.tools.set().parse(mode, &call.tool, call.arguments()) {
        Ok(given) => given,
        Err(why) => return Report::Prepared(Box::new(Preparation::refused(why))),
    };
    point("call-prepared");
    if let Some(skill) = rules.skills.read_by(call, &given) {
        return Report::Prepared(Box::new(read_of(skill.seen())));
    }
    let text = |name| given.text(name).to_owned();
    Report::Prepared(Box::new(match rules.tools.act(&call.tool) {
        Some(Action::Read(read)) => match (read.target)(&given) {
            At::At(path) => {
                let (path, outputs) = (path.to_owned(), SavedOutputs::of(place));
                let read = move |roots: &Roots, exclusions| reading(roots, &exclusions, &outputs, &path);
                observe(place, &rules.deny, read).await
            }
            At::Everywhere(_) if place.roots.is_empty() => {
                let text = "no workspace folder is open, so there is nothing to search";
                Preparation::refused(Reason::new(Cause::NoPlace, text))
            }
            At::Everywhere(what) => {
                Preparation::of(Payload::Read { path: what.to_owned(), everywhere: true })
            }
        },
        Some(Action::Command) => {
            let (place, call, given) = (place.clone(), call.id.clone(), given.clone());
            aside(move || match launch(&place, &call, &given) {
                Ok(launch) => {
                    let can_save = place.world.link.surfaces().abilities.save;
                    let (unsaved, payload) = (unsaved(&place), command_payload(&launch));
                    Preparation { unsaved, can_save, host: elsewhere(), ..Preparation::of(payload) }
                }
                Err(why) => Preparation::refused(why),
            })
            .await
        }
        Some(Action::Question) => {
            Preparation::of(Payload::Question { question: text("question"), options: given.texts("options") })
        }
        Some(Action::Plan) => Preparation::of(Payload::Plan { steps: given.steps("plan") }),
        Some(Action::Complete) => Preparation::of(Payload::Complete { summary: text("summary") }),
        Some(Action::Fail) => Preparation::of(Payload::Fail { reason: text("reason") }),
        Some(Action::Edit(_) | Action::Write(_) | Action::Patch(_) | Action::Delete | Action::Move)
        | None => Preparation::refused(no_such_tool(call)),
    }))
}

/// The reason for a call of a tool that does not exist.
fn no_such_tool(call: &Call) -> Reason {
    Reason::new(Cause::UnknownTool, format!("there is no tool `{}`", call.tool))
}

/// The deny rules of the run, and the rules that the settings have now.
pub fn deny_rules(place: &SessionWorld, deny: &[String]) -> Denials {
    Denials::of_texts(deny).joined(&place.world.settings().deny)
}

/// Runs `work` with new exclusions on a thread that may block. To find the other names of a file takes a walk
/// through the workspace, so the exclusions are made once for each call.
async fn observe<T: Send + 'static>(
    place: &SessionWorld,
    deny: &[String],
    work: impl FnOnce(&Roots, Exclusions) -> T + Send + 'static,
) -> T {
    let (world, roots, rules) = (place.world.clone(), place.roots.clone(), deny_rules(place, deny));
    aside(move || {
        let own = world.own(&roots);
        work(&roots, Exclusions::new(&roots, rules, own))
    })
    .await
}

fn reading(roots: &Roots, exclusions: &Exclusions, outputs: &SavedOutputs, path: &str) -> Preparation {
    match resolve(roots, &outputs.path_of(path)) {
        Ok(at) if outputs.holds(&at) => read_of(outputs.seen(&at)),
        // The user is not asked for a read that is never possible.
        Ok(at) if at.kind == Some(PathType::Special) && (at.inside || at.absolute.starts_with("/dev")) => {
            let text = format!("\"{}\" is a device, pipe or socket, which is not read", at.display);
            Preparation::refused(Reason::new(Cause::Special, text))
        }
        Ok(at) => read_of(seen(exclusions, &at)),
        // Before an answer, nothing about a path outside may be revealed.
        Err(PathRefusal::Outside { .. }) => read_of(ObservedPath::outside(shown(path))),
        Err(why) => Preparation::refused(why.into()),
    }
}

fn read_of(seen: ObservedPath) -> Preparation {
    Preparation::of(Payload::Read { path: seen.path.clone(), everywhere: false }).about(seen)
}

/// The observation of a path that will be read.
fn seen(exclusions: &Exclusions, at: &ResolvedPath) -> ObservedPath {
    let also = exclusions.other_names(at);
    ObservedPath {
        path: at.display.clone(),
        inside: at.inside,
        secret: held_by(at, exclusions.own()),
        names_unknown: also.is_none(),
        other_names: also.unwrap_or_default(),
        ..ObservedPath::default()
    }
}

/// Returns why the settings deny to read a file of a workspace. Blocks.
pub fn read_denied(world: &World, roots: &Roots, at: &ResolvedPath) -> Option<String> {
    let denials = world.settings().deny.clone();
    let folders: Vec<String> = roots.paths().map(|path| path.to_string_lossy().into_owned()).collect();
    let exclusions = Exclusions::new(roots, denials.clone(), world.own(roots));
    let denied = forbidden_by(&denials, &folders, "read_file", Act::Read(&seen(&exclusions, at)));
    denied.map(|reason| reason.text)
}

/// Runs a call that is safe or was allowed.
pub async fn run(place: &Arc<SessionWorld>, stream: &Stream, call: &Call, rules: &Rules) -> Report {
    let started = Instant::now();
    let (output, reads) = match run_allowed(place, stream, call, rules).await {
        Ok(done) => done,
        Err(why) => (ToolOutput::refused(why.cause, why.text), Vec::new()),
    };
    Report::Finished(CallResult {
        end: if output.failed { CallEnd::Failed } else { CallEnd::Completed },
        output: output.text.into(),
        summary: output.summary,
        elapsed_ms: started.elapsed().as_millis() as u64,
        cause: output.cause,
        whole: output.whole.map(|path| path.display().to_string()),
        unsaved: output.unsaved,
        reads,
    })
}

async fn run_allowed(
    place: &Arc<SessionWorld>,
    stream: &Stream,
    call: &Call,
    rules: &Rules,
) -> Result<(ToolOutput, Vec<FileRead>), Reason> {
    let given = rules.tools.set().parse(Mode::Code, &call.tool, call.arguments())?;
    let tool = match rules.tools.act(&call.tool) {
        Some(Action::Read(tool)) => tool,
        Some(Action::Command) => return Ok((run_launched(place, stream, call, given).await?, Vec::new())),
        Some(
            Action::Edit(_)
            | Action::Write(_)
            | Action::Patch(_)
            | Action::Delete
            | Action::Move
            | Action::Question
            | Action::Plan
            | Action::Complete
            | Action::Fail,
        ) => {
            return Err(Reason::new(Cause::Other, "this call is not run as a tool"));
        }
        None => return Err(no_such_tool(call)),
    };
    if let Some(skill) = rules.skills.read_by(call, &given) {
        if call.seen != Some(skill.seen()) {
            let text = "the skill is another one than when this was allowed; call again";
            return Err(Reason::new(Cause::Changed, text));
        }
        return Ok((skill.output(&given), Vec::new()));
    }
    let (allowed, outputs) = (call.seen.clone(), SavedOutputs::of(place));
    let documents = place.world.documents.clone();
    let (reading, buffers, exclusions) = observe(place, &rules.deny, move |roots, exclusions| {
        let at = match (tool.target)(&given) {
            At::At(path) => Some(allowed_path(path, allowed.as_ref(), roots, &exclusions, &outputs)?),
            At::Everywhere(_) => None,
        };
        let exclusions = exclusions.beginning_at(at.as_ref());
        Ok::<_, Reason>((AllowedRead { run: tool.run, given, at }, documents.buffers(), exclusions))
    })
    .await?;
    let file = reading.at.clone().filter(|at| at.inside);
    let output = read(reading, place.roots.clone(), buffers, exclusions).await;
    let reads = outside::reads_of(place, file, &output.known).await;
    Ok((output, reads))
}

async fn run_launched(
    place: &Arc<SessionWorld>,
    stream: &Stream,
    call: &Call,
    given: Arguments,
) -> Result<ToolOutput, Reason> {
    saving::save_first(place, call).await?;
    let (here, id, allowed) = (place.clone(), call.id.clone(), call.payload.clone());
    let ready = aside(move || {
        let launch = launch(&here, &id, &given)?;
        if allowed != Some(command_payload(&launch)) {
            let text = "the shell or the directory changed since this was allowed; call again";
            return Err(Reason::new(Cause::Changed, text));
        }
        let folder = private_dir(&outputs::folder(&here));
        Ok(folder.map(|()| (launch, unsaved(&here))))
    })
    .await?;
    let (launch, unsaved) = match ready {
        Ok(ready) => ready,
        Err(error) => {
            let text = format!("the folder for its output cannot be made: {error:#}; nothing was run");
            return Ok(ToolOutput::failed(text));
        }
    };
    let mut live = |text: &str| stream.output(text);
    point("command-started");
    // A cancel drops this future, which ends the whole process tree of the command.
    let output = run_command(&launch, &unsaved, &mut live, std::future::pending()).await;
    point("command-ended");
    Ok(output)
}

/// Resolves a path again; an error if the observation differs from the approved one.
fn allowed_path(
    path: &str,
    allowed: Option<&ObservedPath>,
    roots: &Roots,
    exclusions: &Exclusions,
    outputs: &SavedOutputs,
) -> Result<ResolvedPath, Reason> {
    let at = resolve(roots, &outputs.path_of(path)).map_err(PathRefusal::revealed)?;
    let now = if outputs.holds(&at) { outputs.seen(&at) } else { seen(exclusions, &at) };
    if allowed != Some(&now) {
        let text = format!("\"{path}\" leads elsewhere than when it was allowed; call again");
        return Err(Reason::new(Cause::Changed, text));
    }
    Ok(at)
}

/// The open documents of the workspace whose text on disk differs from the editor's, at most `MAX_LISTED`.
fn unsaved(place: &SessionWorld) -> Vec<UnsavedText> {
    let paths = place.world.documents.buffers().unsaved();
    let at = |path: PathBuf| resolve(&place.roots, &path.display().to_string()).ok();
    let inside = paths.into_iter().filter_map(at).filter(|at| at.inside);
    let unsaved =
        |at: ResolvedPath| UnsavedText { uri: place.world.documents.name_of(&at.absolute), path: at.display };
    inside.take(MAX_LISTED).map(unsaved).collect()
}

/// Returns everything that a command would run with now (A1).
fn launch(place: &SessionWorld, call: &ToolCallId, given: &Arguments) -> Result<Launch, Reason> {
    let cwd = given.optional("cwd");
    let nowhere = "no workspace folder is open, so there is nowhere to run it";
    // Only the given name is shown, because nothing outside may be read.
    let outside = || {
        let text =
            format!("\"{}\" is outside the workspace; commands run inside it", shown(cwd.unwrap_or(".")));
        Reason::new(Cause::Outside, text)
    };
    let at = match cwd {
        Some(cwd) => resolve(&place.roots, cwd).map_err(|why| match why {
            PathRefusal::Outside { .. } => outside(),
            why => why.into(),
        })?,
        None => place.roots.folder(0).ok_or_else(|| Reason::new(Cause::NoPlace, nowhere))?,
    };
    if !at.inside {
        return Err(outside());
    }
    let other = |text: String| Reason::new(Cause::Other, text);
    Ok(Launch {
        command: given.text("command").to_owned(),
        shell: pin_shell().map_err(|error| other(format!("find a shell: {error}")))?,
        directory: pin_directory(&at).map_err(other)?,
        environment: child_environment(std::env::vars_os(), &own_keys(place), place.roots.paths()),
        call: call.to_string(),
        containment: Containment::of_environment(),
        time_limit: time_limit(given.number("timeout_seconds")),
        output_limit: MAX_OUTPUT,
        whole: outputs::folder(place).join(format!("{call}.txt")),
    })
}

/// The variables that hold Adjutant's own keys: no child process gets them (S1).
fn own_keys(place: &SessionWorld) -> Vec<String> {
    let settings = place.world.settings();
    let names = settings.providers.values().filter_map(|provider| match &provider.key {
        Some(KeySource::Variable(name)) => Some(name.clone()),
        _ => None,
    });
    names.collect()
}

fn command_payload(launch: &Launch) -> Payload {
    let bound = format!("{:?} {:?} {:?}", launch.shell, launch.directory, launch.environment);
    Payload::Command {
        line: launch.command.clone(),
        cwd: launch.directory.path.display().to_string(),
        timeout_seconds: launch.time_limit.as_secs(),
        binding: adjutant_core::digest_parts(&[bound.as_bytes()]),
    }
}

#[cfg(test)]
mod tests;
