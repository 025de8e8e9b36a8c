//! Rules that deny: `tool` or `tool(pattern)`.
//!
//! Only ever denies. A rule that cannot be understood blocks what it may have
//! meant, so a slip of the pen is never a hole. A rule with a path binds the file,
//! whichever tool of its kind touches it.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::{SettingOrigin, keys};
use crate::tool;

mod paths;
use paths::{Names, folded};

/// The names a rule can begin with: the tools that are there without any other being added.
pub const TOOLS: [&str; 10] = [
    "list_files",
    "read_file",
    "find_files",
    "search_text",
    "edit_file",
    "write_file",
    "run_command",
    "ask_user",
    "task_complete",
    "fail",
];

/// Returns the names a rule can begin with.
fn tools() -> impl Iterator<Item = &'static str> {
    TOOLS.into_iter()
}

/// What users call these tools elsewhere; a rule that says so is honoured and the right name told.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("shell", "run_command"),
    ("bash", "run_command"),
    ("command", "run_command"),
    ("execute", "run_command"),
    ("terminal", "run_command"),
    ("edit", "edit_file"),
    ("write", "write_file"),
    ("read", "read_file"),
    ("search", "search_text"),
    ("grep", "search_text"),
];

/// The longest rule that is read.
const MOST_TEXT: usize = 1024;

/// One denial, as written and as it is matched.
#[derive(Clone, Debug)]
pub struct DenyRule {
    pub text: String,
    pub origin: SettingOrigin,
    /// `None`: every tool.
    tool: Option<String>,
    /// `None`: whatever the tool is asked to do.
    pattern: Option<Pattern>,
    /// The pattern could not be read, so that it may have meant any file or command.
    unread: bool,
}

/// What a tool does with files. A rule with a path binds every tool that does the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    Reads,
    Writes,
}

fn file_use(tool: &str) -> Option<FileUse> {
    match tool {
        "list_files" | "read_file" | "find_files" | "search_text" => Some(FileUse::Reads),
        "edit_file" | "write_file" => Some(FileUse::Writes),
        _ => None,
    }
}

#[derive(Clone, Debug)]
enum Pattern {
    Path {
        whole: GlobSet,
        /// It has no slash.
        name_only: bool,
        /// It begins with one.
        from_top: bool,
        /// The leading folders of an absolute pattern that have no wildcard.
        below: Option<String>,
    },
    Command {
        either: GlobSet,
    },
}

impl PartialEq for DenyRule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
            && self.tool == other.tool
            && self.pattern.is_some() == other.pattern.is_some()
    }
}

/// What was wrong with a rule, and what it does instead.
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) what_to_do: String,
}

impl DenyRule {
    /// Returns the rule that denies every tool, standing for something unreadable.
    pub(super) fn everything(origin: SettingOrigin) -> Self {
        Self { text: "*".to_owned(), origin, tool: None, pattern: None, unread: false }
    }

    /// Reads a rule; with a fault it is stricter than written, never looser.
    pub(super) fn parse(text: &str, origin: SettingOrigin) -> (Self, Option<Fault>) {
        let shown = super::values::shorten(text);
        let trimmed = text.trim();
        if trimmed.is_empty() || text.len() > MOST_TEXT || trimmed.chars().any(char::is_control) {
            let fault = blocks(format!("{shown:?} is not a rule"), "every tool");
            return (Self::everything(origin), Some(fault));
        }
        let (name, inner) = match trimmed.split_once('(') {
            None => (trimmed, Ok(None)),
            Some((name, rest)) => (name.trim_end(), rest.strip_suffix(')').map(Some).ok_or(())),
        };
        if name == "*" {
            return Self::for_every_tool(trimmed, inner, origin);
        }
        if !is_name(name) {
            let fault = blocks(format!("{shown:?} does not begin with the name of a tool"), "every tool");
            return (Self::everything(origin), Some(fault));
        }
        let (tool, renamed) = known_name(name);
        let rule = |pattern, unread| {
            let (text, tool) = (trimmed.to_owned(), Some(tool.clone()));
            Self { text, origin, tool, pattern, unread }
        };
        let pattern = match inner {
            Ok(None) => Ok(None),
            Ok(Some(pattern)) => Pattern::parse(&tool, pattern).map(Some),
            Err(()) => Err("the closing \")\" is missing".to_owned()),
        };
        match pattern {
            Ok(pattern) => (rule(pattern, false), renamed),
            Err(why) => (rule(None, true), Some(blocks(format!("{shown:?} is not a rule: {why}"), &tool))),
        }
    }

    fn for_every_tool(
        text: &str,
        inner: Result<Option<&str>, ()>,
        origin: SettingOrigin,
    ) -> (Self, Option<Fault>) {
        let fault = match inner {
            Ok(None) => None,
            _ => Some(blocks(format!("{text:?} gives a pattern for \"*\", which takes none"), "every tool")),
        };
        (Self::everything(origin), fault)
    }

    /// Whether the rule binds this tool. A rule binds the tool it names. A rule with a path also binds every tool
    /// that does the same with files. An edit shows the text of its file, so a rule for reading binds edits too.
    fn binds(&self, tool: &str, used: Option<FileUse>) -> bool {
        let Some(own) = self.tool.as_deref() else { return true };
        let names_files = self.unread || matches!(self.pattern, Some(Pattern::Path { .. }));
        let alike = file_use(own).is_some_and(|what| used == Some(what));
        // A file that is written whole is not shown.
        let shows = used == Some(FileUse::Writes) && tool != "write_file";
        let tells = file_use(own) == Some(FileUse::Reads) && shows;
        own == tool || names_files && (alike || tells)
    }

    /// `subject` is none where a call does not say what it touches.
    pub(super) fn denies(&self, tool: &str, subject: Option<&Subject<'_>>) -> bool {
        // A tool that is not always there is known by what it does.
        let used = match subject {
            Some(Subject::File(_, used)) => Some(*used),
            _ => None,
        };
        if !self.binds(tool, used.or_else(|| file_use(tool))) {
            return false;
        }
        match (&self.pattern, subject) {
            (None, _) => true,
            // A call that does not say what it touches cannot be shown to be outside the rule.
            (Some(_), None) => true,
            // It names no file; `Exclusions` filters its results.
            (Some(_), Some(Subject::Everywhere)) => false,
            (Some(pattern), Some(Subject::Line(line))) => pattern.matches_line(line),
            (Some(pattern), Some(Subject::File(names, _))) => pattern.matches_file(names),
        }
    }
}

/// What a call is about.
pub(super) enum Subject<'a> {
    Line(&'a str),
    File(Names, FileUse),
    /// The folders of the workspace as a whole.
    Everywhere,
}

fn blocks(message: String, what: &str) -> Fault {
    let what_to_do = format!(
        "{what} is denied until you write `tool` or `tool(pattern)`, for example \"edit_file(**/*.lock)\""
    );
    Fault { message, what_to_do }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Returns the tool a name stands for, with a fault when it is not its name.
fn known_name(name: &str) -> (String, Option<Fault>) {
    if tools().any(|tool| tool == name) {
        return (name.to_owned(), None);
    }
    let lower = name.to_ascii_lowercase();
    let meant = OTHER_NAMES
        .iter()
        .find(|(other, _)| *other == lower)
        .map(|(_, tool)| *tool)
        .or_else(|| keys::nearest(&lower, tools()));
    match meant {
        Some(tool) => {
            let fault = Fault {
                message: format!("no tool is called {name:?}; the rule is taken for {tool}"),
                what_to_do: format!("write \"{tool}\""),
            };
            (tool.to_owned(), Some(fault))
        }
        None => {
            let fault = Fault {
                message: format!(
                    "no tool of this version is called {name:?}, so the rule denies nothing yet"
                ),
                what_to_do: format!("use one of {}", tools().collect::<Vec<_>>().join(", ")),
            };
            (name.to_owned(), Some(fault))
        }
    }
}

impl Pattern {
    fn parse(tool: &str, text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        if tool == "run_command" {
            if text.contains(BETWEEN_COMMANDS) {
                return Err("the pattern is more than one command, write a rule for each".to_owned());
            }
            let text = without_quotes(text);
            let stem = text.strip_suffix(" *").unwrap_or(&text).trim_end();
            let stem = stem.split_whitespace().collect::<Vec<_>>().join(" ");
            if stem.is_empty() {
                return Err("the pattern names no command".to_owned());
            }
            return Ok(Self::Command { either: matcher(&[stem.clone(), format!("{stem} *")], false)? });
        }
        if text == "~" || text.starts_with("~/") {
            return Err("\"~\" stands for no folder here, write the whole path".to_owned());
        }
        let path = text.replace('\\', "/");
        // A slash at the end says that it is a folder: nothing else has anything below it.
        let path = path.strip_prefix("./").unwrap_or(&path).trim_end_matches('/');
        if matches!(path, "" | ".") {
            return Err("the pattern names no path inside the workspace".to_owned());
        }
        let (name_only, from_top) = (!path.contains('/'), path.starts_with('/'));
        let plain = path
            .split('/')
            .take_while(|name| !name.contains(['*', '?', '[', '{']))
            .collect::<Vec<_>>()
            .join("/");
        let below = (from_top && plain.len() > 1).then_some(plain);
        Ok(Self::Path { whole: matcher(&[folded(path)], true)?, name_only, from_top, below })
    }

    fn matches_file(&self, names: &Names) -> bool {
        match self {
            Self::Path { whole, name_only, from_top, .. } => {
                names.of(*from_top).any(|path| matches_path(path, whole, *name_only))
            }
            Self::Command { .. } => false,
        }
    }

    fn matches_line(&self, line: &str) -> bool {
        match self {
            Self::Path { .. } => self.matches_file(&Names::of_path(line, &[])),
            // A longer line cannot be run either; it is not compared, but denied.
            Self::Command { either } => line.len() > tool::MAX_COMMAND || a_command_matches(line, either),
        }
    }
}

/// A pattern without a slash means that name in any folder, and all below a folder of that name.
fn matches_path(path: &str, whole: &GlobSet, name_only: bool) -> bool {
    whole.is_match(path)
        || name_only && path.split('/').any(|part| whole.is_match(part))
        || path.match_indices('/').any(|(at, _)| at > 0 && whole.is_match(&path[..at]))
}

/// Compiles globs into one matcher; in paths, letters match in either case,
/// because some disks do not tell them apart.
fn matcher(globs: &[String], path: bool) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let glob = GlobBuilder::new(glob)
            .literal_separator(path)
            .case_insensitive(path)
            .backslash_escape(false)
            .build()
            .map_err(|error| error.kind().to_string())?;
        set.add(glob);
    }
    // Built as a set even when it is one: only this way reports a glob that is
    // too large instead of panicking.
    set.build().map_err(|error| error.kind().to_string())
}

/// What ends one command and may begin another; braces too, but those are globs in a pattern.
const BETWEEN_COMMANDS: [char; 10] = [';', '|', '&', '(', ')', '`', '\n', '\r', '<', '>'];

fn without_quotes(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect()
}

/// Says whether a command anywhere in the line matches.
///
/// No shell grammar here: quotes and backslashes are dropped, every word may
/// begin a command (`sudo`, `env`, `xargs`), and a program is also compared by
/// its bare name. That denies some harmless lines and misses no plain one.
fn a_command_matches(line: &str, globs: &GlobSet) -> bool {
    without_quotes(line).split(BETWEEN_COMMANDS).flat_map(|part| part.split(['{', '}'])).any(|command| {
        let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut rest = command.as_str();
        loop {
            let word = rest.split(' ').next().unwrap_or_default();
            let bare = word.rfind('/').and_then(|slash| rest.get(slash + 1..));
            if globs.is_match(rest) || bare.is_some_and(|bare| globs.is_match(bare)) {
                return true;
            }
            match rest.split_once(' ') {
                Some((_, tail)) => rest = tail,
                None => return false,
            }
        }
    })
}

/// All denials of all layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Denials {
    pub rules: Vec<DenyRule>,
}

impl Denials {
    /// Reads rules as the log keeps them; one that cannot be understood denies more, never less.
    pub fn of_texts(texts: &[String]) -> Self {
        Self { rules: texts.iter().map(|text| DenyRule::parse(text, SettingOrigin::Default).0).collect() }
    }

    /// Adds the rules of another list that are not in this one.
    pub fn joined(mut self, other: &Denials) -> Self {
        let more: Vec<DenyRule> =
            other.rules.iter().filter(|rule| !self.rules.contains(rule)).cloned().collect();
        self.rules.extend(more);
        self
    }

    /// Returns the first rule that denies a call about `subject`: a command line, or a path where no folder of a
    /// workspace is known; `None` when the call does not say what it touches.
    pub fn denial(&self, tool: &str, subject: Option<&str>) -> Option<&DenyRule> {
        self.first(tool, subject.map(Subject::Line).as_ref())
    }

    /// Returns the first rule that keeps a file from this use by a tool: a path as it is shown (inside the first
    /// folder of the workspace, else whole), and the folders of the workspace.
    pub fn denial_of_use(
        &self,
        tool: &str,
        used: FileUse,
        (path, folders): (&str, &[String]),
    ) -> Option<&DenyRule> {
        self.first(tool, Some(&Subject::File(Names::of_path(path, folders), used)))
    }

    /// The same of a tool that is always there.
    pub fn denial_of_file(&self, tool: &str, path: &str, folders: &[String]) -> Option<&DenyRule> {
        self.denial_of_use(tool, file_use(tool).unwrap_or(FileUse::Reads), (path, folders))
    }

    /// Returns the first rule that denies this tool whatever it touches.
    pub fn denial_of_tool(&self, tool: &str) -> Option<&DenyRule> {
        self.first(tool, Some(&Subject::Everywhere))
    }

    /// Returns whether a rule keeps files from being read by their path.
    pub fn keep_files(&self) -> bool {
        let of_files = |rule: &&DenyRule| matches!(rule.pattern, Some(Pattern::Path { .. }));
        self.rules.iter().filter(of_files).any(|rule| rule.binds("read_file", Some(FileUse::Reads)))
    }

    /// Returns the folders that rules about reading name from the top of the file system.
    pub fn folders_named_whole(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter(|rule| rule.binds("read_file", Some(FileUse::Reads))).filter_map(|rule| {
            match &rule.pattern {
                Some(Pattern::Path { below, .. }) => below.as_deref(),
                _ => None,
            }
        })
    }

    fn first(&self, tool: &str, subject: Option<&Subject<'_>>) -> Option<&DenyRule> {
        self.rules.iter().find(|rule| rule.denies(tool, subject))
    }

    /// Returns the rules as text; [`Denials::of_texts`] reads each back as it is here.
    pub fn texts(&self) -> Vec<String> {
        self.rules.iter().map(|rule| rule.text.clone()).collect()
    }
}
