//! Files with instructions, memory and skills, of the user and of the workspace (S47, S58, S114).
//!
//! All of them are texts: never runs what they say, never follows a link or an include out of their folder, and never reads more
//! than the bounds below.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use adjutant_core::policy::observation::ObservedPath;
use adjutant_core::policy::permission::{Act, forbidden_by};
use adjutant_core::record::{ContextKind, ContextText};
use adjutant_core::session::Reads;
use adjutant_core::text::display::{one_line, shown};
use adjutant_core::text::start_of;

use super::text_of;
use crate::documents::Text;
use crate::session::World;
use crate::session::prepare::read_denied;
use crate::tools::paths::{ResolvedPath, Roots, open_read, resolve};
use crate::tools::protected::held_by;
use crate::uri;

/// Bytes of all instructions together, and of all memory files.
const MAX_INSTRUCTIONS: usize = 32 << 10;
const MAX_MEMORY: usize = 16 << 10;
/// Bytes of the text of one skill, and how many skills there may be.
const MAX_SKILL: usize = 64 << 10;
const MAX_SKILLS: usize = 50;
/// Characters of the summary of a skill.
const MAX_SUMMARY: usize = 300;
/// Files of a folder of rules.
const MAX_RULES: usize = 20;

/// The file with instructions that most agents read, at the top of a workspace and in its folders.
const INSTRUCTIONS: &str = "AGENTS.md";
/// The files of other agents, the first of which counts where there is no `AGENTS.md`.
const OTHERS: [&str; 3] = ["CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"];
/// The folder with the rules of Cursor, each a file.
const RULES: &str = ".cursor/rules";
/// The memory of a workspace. It is no place of Adjutant's own, because the model may add to it.
const MEMORY: &str = "AGENTS.memory.md";
/// The folders with the skills of a workspace.
const SKILLS: [&str; 2] = [".agents/skills", ".adjutant/skills"];
const SKILL: &str = "SKILL.md";

/// Returns the instructions, memory files and skills for a run that begins. Blocks.
pub fn all(world: &World, roots: &Roots) -> Vec<ContextText> {
    let mut texts = TextBudget::new(ContextKind::Instructions, MAX_INSTRUCTIONS);
    let user = user_folder(world);
    let of_user = |name: &str| user.as_ref().and_then(|folder| read_own(&folder.join(name)));
    texts.extend(of_user(INSTRUCTIONS));
    let folders: Vec<PathBuf> = roots.paths().map(Path::to_owned).collect();
    for root in &folders {
        texts.extend(instructions_of(world, roots, root));
    }
    let mut memory = TextBudget::new(ContextKind::Memory, MAX_MEMORY);
    memory.extend(of_user("memory.md"));
    for root in &folders {
        memory.extend(read_inside(world, roots, &root.join(MEMORY)));
    }
    let mut all = texts.texts;
    all.extend(skills(world, roots, user.as_deref()));
    all.extend(memory.texts);
    all
}

/// Returns the instructions of a workspace folder: `AGENTS.md`, else those that another agent would read.
fn instructions_of(world: &World, roots: &Roots, root: &Path) -> Vec<FoundFile> {
    if let Some(found) = read_inside(world, roots, &root.join(INSTRUCTIONS)) {
        return vec![found];
    }
    if let Some(found) = OTHERS.iter().find_map(|name| read_inside(world, roots, &root.join(name))) {
        return vec![found];
    }
    let is_rule = |path: &PathBuf| path.extension().is_some_and(|end| end == "md" || end == "mdc");
    let rules = entries(&root.join(RULES)).into_iter().filter(is_rule).take(MAX_RULES);
    rules.filter_map(|path| read_inside(world, roots, &path)).collect()
}

/// Returns the instructions of the folders between a workspace folder and the files that the model knows, the outer ones first.
/// Blocks.
pub fn nested_instructions(world: &World, roots: &Roots, reads: &Reads) -> Vec<ContextText> {
    let mut folders = BTreeSet::new();
    for target in reads.by_file().keys() {
        let Ok(path) = uri::to_path(target) else { continue };
        let Some(root) = roots.paths().find(|root| path.starts_with(root)) else { continue };
        let above = path.ancestors().skip(1).take_while(|folder| *folder != root && folder.starts_with(root));
        folders.extend(above.map(Path::to_owned));
    }
    let mut texts = TextBudget::new(ContextKind::Instructions, MAX_INSTRUCTIONS);
    for folder in folders {
        texts.extend(read_inside(world, roots, &folder.join(INSTRUCTIONS)));
    }
    texts.texts
}

/// Returns the skills of the user and of the workspace; of two with one name, the first counts.
fn skills(world: &World, roots: &Roots, user: Option<&Path>) -> Vec<ContextText> {
    let of_user = user.into_iter().flat_map(|folder| {
        let files = entries(&folder.join("skills")).into_iter().map(|skill| skill.join(SKILL));
        files.filter(|file| !own_denied(world, roots, file)).filter_map(|file| read_own(&file))
    });
    let of_roots = roots.paths().flat_map(|root| {
        let folders = SKILLS.iter().flat_map(move |name| entries(&root.join(name)));
        folders.filter_map(|skill| read_inside(world, roots, &skill.join(SKILL)))
    });
    let mut names = BTreeSet::new();
    let all = of_user.chain(of_roots).filter_map(skill);
    all.filter(|skill| names.insert(skill.name.clone())).take(MAX_SKILLS).collect()
}

/// Returns a skill; `None` if its file has no name and description at its beginning.
fn skill(file: FoundFile) -> Option<ContextText> {
    let head = file.text.strip_prefix("---\n")?;
    let (head, _) = head.split_once("\n---")?;
    let field = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let value = line.trim().trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| one_line(value, MAX_SUMMARY))
    };
    let (name, summary) = (field("name")?, field("description")?);
    // Hidden characters are shown, as in instructions.
    let text = shown(&file.text);
    let (text, left_out) = beginning(&text, MAX_SKILL);
    Some(ContextText { name, summary, ..text_of(ContextKind::Skill, file.source, text.to_owned(), left_out) })
}

/// A file that was read, with its path for people.
struct FoundFile {
    source: String,
    text: String,
}

/// Texts of one kind that have a bound together.
struct TextBudget {
    kind: ContextKind,
    left: usize,
    texts: Vec<ContextText>,
}

impl TextBudget {
    fn new(kind: ContextKind, most: usize) -> Self {
        Self { kind, left: most, texts: Vec::new() }
    }

    fn extend(&mut self, files: impl IntoIterator<Item = FoundFile>) {
        for FoundFile { source, text } in files {
            if text.trim().is_empty() || self.texts.iter().any(|known| known.source == source) {
                continue;
            }
            // Hidden characters are shown: a text that people cannot see must not steer the model.
            let text = shown(&text);
            let (text, left_out) = beginning(&text, self.left);
            self.left -= text.len();
            self.texts.push(text_of(self.kind, source, text.to_owned(), left_out));
        }
    }
}

/// Returns at most so many bytes of a text, and how many are left out.
fn beginning(text: &str, most: usize) -> (&str, u64) {
    let kept = start_of(text, most);
    (kept, (text.len() - kept.len()) as u64)
}

/// Returns the user's own folder for Adjutant.
fn user_folder(world: &World) -> Option<PathBuf> {
    world.own.settings.as_deref().and_then(Path::parent).map(Path::to_owned)
}

/// Reads a file of the user's own folder. Its links are the user's own.
fn read_own(path: &Path) -> Option<FoundFile> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let text = read_bounded(File::open(path).ok()?)?;
    Some(FoundFile { source: path.display().to_string(), text })
}

/// Whether the settings deny to read a file of the user's own folder, by its name or by the one that its links lead to.
fn own_denied(world: &World, roots: &Roots, path: &Path) -> bool {
    let denials = world.settings().deny.clone();
    let folders: Vec<String> = roots.paths().map(|path| path.to_string_lossy().into_owned()).collect();
    [Some(path.to_owned()), path.canonicalize().ok()].into_iter().flatten().any(|path| {
        let seen = ObservedPath::outside(path.to_string_lossy());
        forbidden_by(&denials, &folders, "read_file", Act::Read(&seen)).is_some()
    })
}

/// Reads a file of the workspace as the editor has it. A link out of the workspace or to a file that looks like a secret, and what the
/// settings deny to read, is not read.
fn read_inside(world: &World, roots: &Roots, path: &Path) -> Option<FoundFile> {
    // Most of these files do not exist, and to resolve a path and to ask the rules takes long.
    if path.symlink_metadata().is_err() && matches!(world.documents.text(path), Text::Closed) {
        return None;
    }
    let at: ResolvedPath = resolve(roots, path.to_str()?).ok()?;
    if !at.inside || held_by(&at, &world.own(roots)).is_some() || read_denied(world, roots, &at).is_some() {
        return None;
    }
    let text = match world.documents.text(&at.absolute) {
        Text::Open(snapshot) => snapshot.text.to_string(),
        Text::Unsynced(_) => return None,
        Text::Closed => read_bounded(open_read(&at).ok()?)?,
    };
    Some(FoundFile { source: at.display, text })
}

/// Reads a text of at most [`MAX_SKILL`] bytes more than any bound; what follows is not needed.
fn read_bounded(file: File) -> Option<String> {
    let most = 4 * MAX_SKILL as u64;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Some(text.replace("\r\n", "\n"))
}

/// Returns what is in a folder, in the order of the names.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.take(1_000).filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}
