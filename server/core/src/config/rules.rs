//! Rules that deny: `tool` or `tool(pattern)`.
//!
//! Never allows anything. A rule that cannot be parsed denies all that it may have meant, so a
//! typing error never opens a hole. A rule with a path binds the file for every tool of its kind.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::{SettingOrigin, keys};
use crate::tool;

mod paths;
use paths::{Names, folded};

/// The names that a rule can begin with: the built-in tools.
pub const TOOLS: [&str; 14] = [
    "list_files",
    "read_file",
    "find_files",
    "search_text",
    "edit_file",
    "write_file",
    "move_file",
    "delete_file",
    "apply_patch",
    "run_command",
    "update_plan",
    "ask_user",
    "task_complete",
    "fail",
];

/// Returns the names that a rule can begin with.
fn tools() -> impl Iterator<Item = &'static str> {
    TOOLS.into_iter()
}

/// Names that users know from other programs. A rule with such a name counts, and its fault gives the right name.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("shell", "run_command"),
    ("bash", "run_command"),
    ("command", "run_command"),
    ("execute", "run_command"),
    ("terminal", "run_command"),
    ("edit", "edit_file"),
    ("write", "write_file"),
    ("move", "move_file"),
    ("rename", "move_file"),
    ("delete", "delete_file"),
    ("remove", "delete_file"),
    ("patch", "apply_patch"),
    ("read", "read_file"),
    ("search", "search_text"),
    ("grep", "search_text"),
];

/// The longest rule that is parsed, in bytes.
const MOST_TEXT: usize = 1024;

/// One deny rule: its text and its parsed form.
#[derive(Clone, Debug)]
pub struct DenyRule {
    pub text: String,
    pub origin: SettingOrigin,
    /// `None` means every tool.
    tool: Option<String>,
    /// `None` means every call of the tool.
    pattern: Option<Pattern>,
    /// Whether the pattern could not be parsed, so it may have meant any file or command.
    unparsed: bool,
}

/// What a tool does with files. A rule with a path binds every tool with the same use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    Reads,
    Writes,
}

fn file_use(tool: &str) -> Option<FileUse> {
    match tool {
        "list_files" | "read_file" | "find_files" | "search_text" => Some(FileUse::Reads),
        "edit_file" | "write_file" | "move_file" | "delete_file" | "apply_patch" => Some(FileUse::Writes),
        _ => None,
    }
}

#[derive(Clone, Debug)]
enum Pattern {
    Path {
        whole: GlobSet,
        /// Whether the pattern has no slash.
        name_only: bool,
        /// Whether the pattern begins with a slash.
        from_top: bool,
        /// The leading folders of an absolute pattern, up to the first wildcard.
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

/// What is wrong with a rule, and what to do.
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) what_to_do: String,
}

impl DenyRule {
    /// Returns a rule that denies every tool, in place of one that cannot be parsed.
    pub(super) fn everything(origin: SettingOrigin) -> Self {
        Self { text: "*".to_owned(), origin, tool: None, pattern: None, unparsed: false }
    }

    /// Parses a rule. A rule with a fault is stricter than its text, never looser.
    pub(super) fn parse(text: &str, origin: SettingOrigin) -> (Self, Option<Fault>) {
        let quoted = super::values::shorten(text);
        let trimmed = text.trim();
        if trimmed.is_empty() || text.len() > MOST_TEXT || trimmed.chars().any(char::is_control) {
            let fault = fault_that_denies(format!("{quoted:?} is not a rule"), "every tool");
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
            let fault =
                fault_that_denies(format!("{quoted:?} does not begin with the name of a tool"), "every tool");
            return (Self::everything(origin), Some(fault));
        }
        let (tool, renamed) = tool_by_name(name);
        let rule = |pattern, unparsed| {
            let (text, tool) = (trimmed.to_owned(), Some(tool.clone()));
            Self { text, origin, tool, pattern, unparsed }
        };
        let pattern = match inner {
            Ok(None) => Ok(None),
            Ok(Some(pattern)) => Pattern::parse(&tool, pattern).map(Some),
            Err(()) => Err("the closing \")\" is missing".to_owned()),
        };
        match pattern {
            Ok(pattern) => (rule(pattern, false), renamed),
            Err(why) => {
                (rule(None, true), Some(fault_that_denies(format!("{quoted:?} is not a rule: {why}"), &tool)))
            }
        }
    }

    fn for_every_tool(
        text: &str,
        inner: Result<Option<&str>, ()>,
        origin: SettingOrigin,
    ) -> (Self, Option<Fault>) {
        let fault = match inner {
            Ok(None) => None,
            _ => Some(fault_that_denies(
                format!("{text:?} gives a pattern for \"*\", which has none"),
                "every tool",
            )),
        };
        (Self::everything(origin), fault)
    }

    /// Returns whether the rule binds this tool. A rule binds the tool that it names. A rule with a path also
    /// binds every tool with the same file use. An edit shows the text of its file, and so does a deletion; a move takes the
    /// file from under the rule. So a rule for reading also binds them.
    fn binds(&self, tool: &str, used: Option<FileUse>) -> bool {
        let Some(own) = self.tool.as_deref() else { return true };
        let names_files = self.unparsed || matches!(self.pattern, Some(Pattern::Path { .. }));
        let same_use = file_use(own).is_some_and(|what| used == Some(what));
        // `write_file` replaces a file without showing its text.
        let shows_text = used == Some(FileUse::Writes) && tool != "write_file";
        let reveals = file_use(own) == Some(FileUse::Reads) && shows_text;
        own == tool || names_files && (same_use || reveals)
    }

    /// Returns whether the rule denies a call. `subject` is `None` if the call does not name what it touches.
    pub(super) fn denies(&self, tool: &str, subject: Option<&Subject<'_>>) -> bool {
        // The use in the call also classifies a tool that is not built in.
        let used = match subject {
            Some(Subject::File(_, used)) => Some(*used),
            _ => None,
        };
        if !self.binds(tool, used.or_else(|| file_use(tool))) {
            return false;
        }
        match (&self.pattern, subject) {
            (None, _) => true,
            // Such a call may touch what the rule protects.
            (Some(_), None) => true,
            // The call names no file; `Exclusions` filters its results.
            (Some(_), Some(Subject::Everywhere)) => false,
            (Some(pattern), Some(Subject::Line(line))) => pattern.matches_line(line),
            (Some(pattern), Some(Subject::File(names, _))) => pattern.matches_file(names),
        }
    }
}

/// What a call touches.
pub(super) enum Subject<'a> {
    Line(&'a str),
    File(Names, FileUse),
    /// All folders of the workspace.
    Everywhere,
}

fn fault_that_denies(message: String, what: &str) -> Fault {
    let what_to_do = format!(
        "{what} is denied until you write `tool` or `tool(pattern)`, for example \"edit_file(**/*.lock)\""
    );
    Fault { message, what_to_do }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Returns the tool that a name means, with a fault if the name is not exact.
fn tool_by_name(name: &str) -> (String, Option<Fault>) {
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
                message: format!("no tool is called {name:?}; the rule is read as one for {tool}"),
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
            return Err("\"~\" does not mean your home folder here, write the whole path".to_owned());
        }
        let path = text.replace('\\', "/");
        // A slash at the end means a folder. The match is the same without it.
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
            // A longer line cannot run anyway, so it is denied without a comparison.
            Self::Command { either } => line.len() > tool::MAX_COMMAND || a_command_matches(line, either),
        }
    }
}

/// Returns whether a path matches. With `name_only`, the pattern matches a name in any folder, and all below it.
fn matches_path(path: &str, whole: &GlobSet, name_only: bool) -> bool {
    whole.is_match(path)
        || name_only && path.split('/').any(|part| whole.is_match(part))
        || path.match_indices('/').any(|(at, _)| at > 0 && whole.is_match(&path[..at]))
}

/// Compiles globs into one matcher. Paths match in upper and lower case, because some disks do not
/// distinguish them.
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
    // A set reports a glob that is too large; a single glob would panic.
    set.build().map_err(|error| error.kind().to_string())
}

/// Characters that end one command and may begin another. Braces do too, but in a pattern they are globs.
const BETWEEN_COMMANDS: [char; 10] = [';', '|', '&', '(', ')', '`', '\n', '\r', '<', '>'];

fn without_quotes(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect()
}

/// Returns whether a command anywhere in the line matches.
///
/// This is no shell grammar. It drops quotes and backslashes, treats every word as a possible
/// beginning of a command (`sudo`, `env`, `xargs`), and also compares a program by its name without
/// folders. So it denies some harmless lines, but misses no plain one.
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

/// The deny rules of all layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Denials {
    pub rules: Vec<DenyRule>,
}

impl Denials {
    /// Parses rules from the log. A rule that cannot be parsed denies more, never less.
    pub fn of_texts(texts: &[String]) -> Self {
        Self { rules: texts.iter().map(|text| DenyRule::parse(text, SettingOrigin::Default).0).collect() }
    }

    /// Returns these rules and those of `other` that are not among them.
    pub fn joined(mut self, other: &Denials) -> Self {
        let more: Vec<DenyRule> =
            other.rules.iter().filter(|rule| !self.rules.contains(rule)).cloned().collect();
        self.rules.extend(more);
        self
    }

    /// Returns the first rule that denies a call. `subject` is a command line, or a path if no workspace folder
    /// is known; `None` if the call does not name what it touches.
    pub fn denial(&self, tool: &str, subject: Option<&str>) -> Option<&DenyRule> {
        self.first(tool, subject.map(Subject::Line).as_ref())
    }

    /// Returns the first rule that denies a tool this use of a file. `path` is as the user sees it: relative to
    /// the first workspace folder, else absolute. `folders` are the workspace folders.
    pub fn denial_of_use(
        &self,
        tool: &str,
        used: FileUse,
        path: &str,
        folders: &[String],
    ) -> Option<&DenyRule> {
        self.first(tool, Some(&Subject::File(Names::of_path(path, folders), used)))
    }

    /// Returns the first rule that denies a built-in tool its use of a file.
    pub fn denial_of_file(&self, tool: &str, path: &str, folders: &[String]) -> Option<&DenyRule> {
        self.denial_of_use(tool, file_use(tool).unwrap_or(FileUse::Reads), path, folders)
    }

    /// Returns the first rule that denies every call of this tool.
    pub fn denial_of_tool(&self, tool: &str) -> Option<&DenyRule> {
        self.first(tool, Some(&Subject::Everywhere))
    }

    /// Returns whether a rule denies reading files by their path.
    pub fn keep_files(&self) -> bool {
        let of_files = |rule: &&DenyRule| matches!(rule.pattern, Some(Pattern::Path { .. }));
        self.rules.iter().filter(of_files).any(|rule| rule.binds("read_file", Some(FileUse::Reads)))
    }

    /// Returns the absolute folders in rules about reading.
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

    /// Returns the rules as text; [`Denials::of_texts`] parses each back to the same rule.
    pub fn texts(&self) -> Vec<String> {
        self.rules.iter().map(|rule| rule.text.clone()).collect()
    }
}
