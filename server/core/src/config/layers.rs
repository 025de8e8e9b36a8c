//! Merges the layers of settings; only this file decides which layer wins.
//!
//! Never reads a file, a clock or the process: all its input comes as arguments.

use std::collections::BTreeMap;

use super::cells::{Cell, MOST_RULES, Source, Value, names_in, provider_names};
use super::keys::{self, KEYS, Key, Literal, Project};
use super::rules::DenyRule;
use super::tree::{self, Entries, Node, Raw};
use super::values::{self, Complaint};
use super::well_known::{WELL_KNOWN, WellKnown};
use super::{Content, File, Flag, Flaw, Layer, Problem, SettingOrigin, Settings, build, check};

/// The most problems that are reported one by one; the rest is only counted.
const MOST_PROBLEMS: usize = 100;
/// The most providers that all layers may have together.
const MOST_PROVIDERS: usize = 100;
/// The most models with prices: a run's log has all of them.
const MOST_PRICES: usize = 100;

/// Resolves the layers into settings and problems. Layers of different kinds may come in any order.
pub fn resolve(mut layers: Vec<Layer>) -> (Settings, Vec<Problem>) {
    layers.sort_by_key(rank);
    let mut resolver = Resolver::new();
    for layer in layers {
        match layer {
            Layer::UserFile(file) => {
                resolver.user_file = Some(file.path.clone());
                resolver.file(file, false);
            }
            Layer::ProjectFile(file) => resolver.file(file, true),
            Layer::Editor(value) => resolver.editor(&value),
            Layer::Environment(variables) => resolver.environment(variables),
            Layer::Flags(flags) => flags.into_iter().for_each(|flag| resolver.flag(flag)),
        }
    }
    resolver.finish()
}

fn rank(layer: &Layer) -> u8 {
    match layer {
        Layer::UserFile(_) => 1,
        Layer::ProjectFile(_) => 2,
        Layer::Editor(_) => 3,
        Layer::Environment(_) => 4,
        Layer::Flags(_) => 5,
    }
}

struct Resolver {
    cells: BTreeMap<String, Cell>,
    problems: Vec<Problem>,
    unreported: usize,
    environment: Option<BTreeMap<String, String>>,
    user_file: Option<String>,
    /// Why the user's own file is not fully used, and what to do.
    broken: Option<String>,
}

impl Resolver {
    fn new() -> Self {
        let mut cells = BTreeMap::new();
        for key in KEYS {
            if let Some(value) = Value::of(key.default) {
                cells
                    .insert(key.name.to_owned(), Cell { value, origin: SettingOrigin::Default, bound: None });
            }
        }
        Self { cells, problems: Vec::new(), unreported: 0, environment: None, user_file: None, broken: None }
    }

    fn problem(&mut self, source: &Source, line: Option<u32>, key: Option<&str>, complaint: Complaint) {
        if self.problems.len() >= MOST_PROBLEMS {
            self.unreported += 1;
            return;
        }
        let (file, line) = match &source.origin {
            SettingOrigin::UserFile { path, .. } | SettingOrigin::ProjectFile { path, .. } => {
                (Some(path.clone()), line)
            }
            SettingOrigin::Editor => (Some("editor settings".to_owned()), None),
            SettingOrigin::Environment(name) => (Some(format!("environment variable {name}")), None),
            SettingOrigin::Flag(name) => (Some(format!("flag {name}")), None),
            SettingOrigin::Default => (None, None),
        };
        let key = key.map(|key| values::shorten(&key.escape_debug().to_string()));
        let Complaint { flaw, message, what_to_do } = complaint;
        self.problems.push(Problem { flaw, file, line, key, message, what_to_do });
    }

    fn file(&mut self, file: File, project: bool) {
        let path = file.path.clone();
        let origin = if project {
            SettingOrigin::ProjectFile { path, line: None }
        } else {
            SettingOrigin::UserFile { path, line: None }
        };
        let directory =
            std::path::Path::new(&file.path).parent().map(|dir| dir.to_string_lossy().into_owned());
        let mut source = Source { origin, project, only_stricter: project, directory };
        let text = match file.content {
            Content::Missing => return,
            Content::Text(text) => text,
            Content::Unreadable(why) => {
                self.note_broken_user_file(&source, None, &why, "make it a file that you can read");
                self.problem(
                    &source,
                    None,
                    None,
                    Complaint::new(format!("the file {why}"), format!("correct it; {UNTIL_THEN}"))
                        .of(Flaw::Unreadable),
                );
                self.make_strict(&source);
                return;
            }
            Content::Doubtful { text, why } => {
                let (why, what) = why.split_once("; ").unwrap_or((&why, "make it yours alone"));
                self.note_broken_user_file(&source, None, why, what);
                let complaint = Complaint::new(format!("the file {why}"), format!("{what}; {UNTIL_THEN}"));
                self.problem(&source, None, None, complaint.of(Flaw::Unreadable));
                source.only_stricter = true;
                self.make_strict(&source);
                text
            }
        };
        let parsed = tree::from_toml(&text);
        if !parsed.faults.is_empty() {
            for (line, message) in parsed.faults {
                self.note_broken_user_file(&source, line, "is not valid TOML", "correct that line");
                self.problem(
                    &source,
                    line,
                    None,
                    Complaint::new(
                        format!("not valid TOML: {message}"),
                        format!("correct this line; {UNTIL_THEN}"),
                    )
                    .of(Flaw::Syntax),
                );
            }
            source.only_stricter = true;
            self.make_strict(&source);
        }
        self.table(&mut Vec::new(), &parsed.entries, &source);
    }

    /// Remembers why the user's own file is not fully used: a missing setting may be in it.
    fn note_broken_user_file(&mut self, source: &Source, line: Option<u32>, why: &str, what_to_do: &str) {
        if let SettingOrigin::UserFile { path, .. } = &source.origin {
            let place = SettingOrigin::UserFile { path: path.clone(), line };
            self.broken.get_or_insert_with(|| format!("the {place} {why}; {what_to_do}"));
        }
    }

    /// Applies the strict values, without denials and refusals: an unusable file may have turned something off.
    fn make_strict(&mut self, source: &Source) {
        for key in KEYS
            .iter()
            .filter(|key| !matches!(key.strict, Literal::DenyAll | Literal::Refuse | Literal::Nothing))
        {
            self.strict_value(key, key.name, source.origin.clone(), source.project);
        }
    }

    fn editor(&mut self, value: &serde_json::Value) {
        let source = Source::plain(SettingOrigin::Editor);
        let inner = value.get("adjutant").filter(|inner| inner.is_object()).unwrap_or(value);
        match tree::from_json(inner) {
            Some(entries) => self.table(&mut Vec::new(), &entries, &source),
            None if inner.is_null() => {}
            None => self.problem(
                &source,
                None,
                None,
                Complaint::new("these are not a JSON object", "send an object of keys").of(Flaw::Shape),
            ),
        }
    }

    fn environment(&mut self, variables: BTreeMap<String, String>) {
        if let Some(model) = variables.get("ADJUTANT_MODEL").filter(|model| !model.is_empty()) {
            let source = Source::plain(SettingOrigin::Environment("ADJUTANT_MODEL".to_owned()));
            let node = Node { line: None, raw: Raw::Text(model.clone()) };
            self.set_named(&["model"], &node, &source);
        }
        WELL_KNOWN.iter().for_each(|known| self.well_known(known, &variables));
        self.environment = Some(variables);
    }

    /// Defines a well-known provider by its variables, unless a layer sets its address or script.
    fn well_known(&mut self, known: &WellKnown, variables: &BTreeMap<String, String>) {
        let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
        let (url, has_key) = (set(known.address), set(known.key).is_some());
        let name_of = |key: &str| format!("providers.{}.{key}", known.provider);
        // Adjutant must not send the key of a variable to a configured address.
        let has_address = ["base_url", "script"].iter().any(|key| self.cells.contains_key(&name_of(key)));
        if has_address || (url.is_none() && !has_key) {
            return;
        }
        let (variable, address) = match url {
            Some(url) => (known.address, known.whole_address(url)),
            None => (known.key, known.home.to_owned()),
        };
        let wire = known.wire_at(&address);
        let mut settings = vec![(variable, "base_url", address)];
        if has_key && build::keys_of(&self.cells, known.provider).is_empty() {
            settings.push((known.key, "api_key_env", known.key.to_owned()));
        }
        if !self.cells.contains_key(&name_of("wire")) {
            settings.push((variable, "wire", wire.name().to_owned()));
        }
        for (variable, key, text) in settings {
            let source = Source::plain(SettingOrigin::Environment(variable.to_owned()));
            let node = Node { line: None, raw: Raw::Text(text) };
            self.set_named(&["providers", known.provider, key], &node, &source);
        }
    }

    fn flag(&mut self, flag: Flag) {
        let source = Source::plain(SettingOrigin::Flag(flag.flag));
        let raw = match flag.value.as_str() {
            "true" => Raw::Truth(true),
            "false" => Raw::Truth(false),
            "[]" => Raw::List(Vec::new()),
            text => text.parse().map_or_else(|_| Raw::Text(text.to_owned()), Raw::Whole),
        };
        let path: Vec<&str> = flag.key.split('.').collect();
        self.set_named(&path, &Node { line: None, raw }, &source);
    }

    fn set_named(&mut self, path: &[&str], node: &Node, source: &Source) {
        let path: Vec<String> = path.iter().map(|segment| (*segment).to_owned()).collect();
        match keys::find(&path) {
            Some(key) => self.set(key, &path.join("."), node, source),
            None => self.unknown(&path, node.line, source),
        }
    }

    fn table(&mut self, path: &mut Vec<String>, entries: &Entries, source: &Source) {
        for (name, node) in entries {
            path.push(name.clone());
            if let Some(key) = keys::find(path) {
                let full = path.iter().map(|s| s.as_str()).collect::<Vec<_>>().join(".");
                self.set(key, &full, node, source);
            } else if !keys::is_group(path) {
                self.unknown(path, node.line, source);
            } else if let Raw::Table(inner) = &node.raw {
                self.group(path, inner, node.line, source);
            } else {
                self.not_a_table(path, node, source);
            }
            path.pop();
        }
    }

    fn group(&mut self, path: &mut Vec<String>, inner: &Entries, line: Option<u32>, source: &Source) {
        if let [providers, name] = path.as_slice()
            && providers == "providers"
        {
            let known = self.cells.keys().any(|key| key.starts_with(&format!("providers.{name}.")));
            let fine = !name.is_empty() && name.len() <= 64 && !name.contains(['/', '.']);
            if !fine || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
                let what = "use a short name without slashes, dots and spaces";
                let complaint = Complaint::new("this is no name for a provider", what);
                return self.problem(source, line, Some(&path.join(".")), complaint);
            }
            if !known && provider_names(&self.cells).len() >= MOST_PROVIDERS {
                let complaint =
                    Complaint::new("there are too many providers", format!("keep to {MOST_PROVIDERS}"))
                        .of(Flaw::TooMany);
                return self.problem(source, line, Some(&path.join(".")), complaint);
            }
        }
        if let [prices, model] = path.as_slice()
            && prices == "prices"
        {
            if values::split_model(model).is_none() {
                let what = "write it as [prices.\"PROVIDER/MODEL\"]";
                let complaint = Complaint::new("this does not name a model", what);
                return self.problem(source, line, Some(&path.join(".")), complaint);
            }
            let priced = names_in("prices", &self.cells);
            if !priced.contains(model.as_str()) && priced.len() >= MOST_PRICES {
                let complaint = Complaint::new("there are too many prices", format!("keep to {MOST_PRICES}"))
                    .of(Flaw::TooMany);
                return self.problem(source, line, Some(&path.join(".")), complaint);
            }
        }
        self.table(path, inner, source);
    }

    fn unknown(&mut self, path: &[String], line: Option<u32>, source: &Source) {
        // This file is already reported as broken or not trusted.
        if source.only_stricter && !source.project {
            return;
        }
        let what = match (path.last().map(String::as_str), keys::nearest_key(path)) {
            (Some("api_key" | "key" | "token"), _) => {
                "keys do not belong in files: put the key into an environment variable and name the variable in `api_key_env`".into()
            }
            (_, Some(near)) => format!("did you mean `{near}`?"),
            (_, None) => "remove it; `adjutant config` lists all keys".to_owned(),
        };
        self.problem(
            source,
            line,
            Some(&path.join(".")),
            Complaint::new("there is no such key", what).of(Flaw::UnknownKey),
        );
    }

    fn not_a_table(&mut self, path: &[String], node: &Node, source: &Source) {
        let name = path.join(".");
        let complaint = Complaint::shape(&node.raw, format!("a table, `[{name}]`"));
        self.problem(source, node.line, Some(&name), complaint);
        for key in keys::below(path) {
            self.strict_value(key, key.name, source.origin_at(node.line), source.project);
        }
    }

    /// Sets one value of one layer, or reports why not.
    fn set(&mut self, key: &'static Key, full: &str, node: &Node, source: &Source) {
        if source.only_stricter && key.project == Project::Never {
            if source.project {
                let complaint = Complaint::new(
                    "a project file can only make Adjutant stricter, so this is ignored",
                    self.set_in_the_user_file(),
                )
                .of(Flaw::Loosens);
                self.problem(source, node.line, Some(full), complaint);
            }
            return;
        }
        let origin = source.origin_at(node.line);
        // An editor may read its settings from a workspace, and a workspace must not send a variable anywhere.
        let is_withheld = !key.kind.is_for_editors() && origin == SettingOrigin::Editor;
        if is_withheld || key.kind.is_for_the_user_file() && !matches!(origin, SettingOrigin::UserFile { .. })
        {
            let complaint = Complaint::new(
                "only your own settings file may set this, so it is ignored",
                self.set_in_the_user_file(),
            )
            .of(Flaw::OwnFileOnly);
            return self.problem(source, node.line, Some(full), complaint);
        }
        let mut notes = Vec::new();
        let checked = check::check(key, node, source, &mut notes);
        for (line, complaint) in notes {
            self.problem(source, line, Some(full), complaint);
        }
        match checked {
            Ok(Value::Rules(rules)) => self.add_rules(full, rules, source, node.line),
            Ok(value) => self.put(key, full, value, source, node.line),
            Err(complaint) => {
                self.problem(source, node.line, Some(full), complaint);
                self.strict_value(key, full, origin, source.project);
            }
        }
    }

    fn set_in_the_user_file(&self) -> String {
        format!("set it in {}", self.user_file.as_deref().unwrap_or("your own settings file"))
    }

    /// Sets a checked value, unless it is less strict than this layer may be.
    fn put(&mut self, key: &Key, full: &str, value: Value, source: &Source, line: Option<u32>) {
        let origin = source.origin_at(line);
        let below = self.cells.get(full);
        let bound = below.and_then(|below| below.bound.clone());
        // A workspace must not loosen what is not set either.
        let unset = below.is_none() && source.project;
        let loosens =
            (below.is_some() || unset) && value.is_looser_than(below.map(|below| &below.value), key.kind);
        if loosens && source.project {
            let what = format!("a project file may set it {}", key.project);
            let complaint =
                Complaint::new("this is less strict than the value it would replace, so it is ignored", what)
                    .of(Flaw::Loosens);
            return self.problem(source, line, Some(full), complaint);
        }
        if loosens && source.only_stricter {
            return;
        }
        if let Some((_, set_by)) =
            bound.as_ref().filter(|(limit, _)| value.is_looser_than(Some(limit), key.kind))
        {
            let what = format!("it is set in {set_by}");
            let complaint = Complaint::new("a project file sets a stricter value, so this is ignored", what)
                .of(Flaw::Loosens);
            return self.problem(source, line, Some(full), complaint);
        }
        let bound = if source.project { Some((value.clone(), origin.clone())) } else { bound };
        self.cells.insert(full.to_owned(), Cell { value, origin, bound });
    }

    /// Adds deny rules to those of the other layers. Too many rules deny every tool.
    fn add_rules(&mut self, full: &str, rules: Vec<DenyRule>, source: &Source, line: Option<u32>) {
        let cell = self.cells.entry(full.to_owned()).or_insert_with(|| Cell {
            value: Value::Rules(Vec::new()),
            origin: SettingOrigin::Default,
            bound: None,
        });
        let Value::Rules(all) = &mut cell.value else { return };
        let room = MOST_RULES.saturating_sub(all.len());
        let too_many = rules.len() > room;
        all.extend(rules.into_iter().take(room));
        if too_many {
            all.push(DenyRule::everything(source.origin_at(line)));
        }
        if !all.is_empty() {
            cell.origin = source.origin_at(line);
        }
        if too_many {
            let what = format!("keep to {MOST_RULES}; until then every tool is denied");
            let complaint = Complaint::new("there are too many rules", what).of(Flaw::TooMany);
            self.problem(source, line, Some(full), complaint);
        }
    }

    /// Sets the strict value of a key in place of an invalid one.
    fn strict_value(&mut self, key: &Key, full: &str, origin: SettingOrigin, project: bool) {
        match key.strict {
            Literal::None => {}
            Literal::DenyAll => {
                let rule = DenyRule::everything(origin.clone());
                self.add_rules(full, vec![rule], &Source::plain(origin), None);
            }
            Literal::Refuse => {
                self.cells.insert(full.to_owned(), Cell { value: Value::Refused, origin, bound: None });
            }
            Literal::Truth(_) | Literal::Whole(_) | Literal::Text(_) | Literal::Nothing => {
                let Some(value) = Value::of(key.strict) else { return };
                let below = self.cells.get(full);
                let mut bound = below.and_then(|below| below.bound.clone());
                if project
                    && bound.as_ref().is_none_or(|(limit, _)| limit.is_looser_than(Some(&value), key.kind))
                {
                    bound = Some((value.clone(), origin.clone()));
                }
                let keep = below.filter(|below| !below.value.is_looser_than(Some(&value), key.kind)).cloned();
                let cell = keep.unwrap_or(Cell { value, origin, bound: None });
                self.cells.insert(full.to_owned(), Cell { bound, ..cell });
            }
        }
    }

    /// Reports each provider with more than one key source.
    fn report_double_keys(&mut self) {
        let mut found = Vec::new();
        for name in provider_names(&self.cells) {
            if let [(first, _), (second, origin), ..] = build::keys_of(&self.cells, name).as_slice() {
                let message = format!("`{}` and `{}` are both set", first.setting(), second.setting());
                found.push((format!("providers.{name}"), message, (*origin).clone()));
            }
        }
        for (full, message, origin) in found {
            let line = match &origin {
                SettingOrigin::UserFile { line, .. } | SettingOrigin::ProjectFile { line, .. } => *line,
                _ => None,
            };
            let complaint = Complaint::new(message, "keep one of them; until then the provider is not used")
                .of(Flaw::Conflict);
            self.problem(&Source::plain(origin), line, Some(&full), complaint);
        }
    }

    /// Reports each model with a price for only one direction: the other one is not free, so neither is used.
    fn report_half_prices(&mut self) {
        let mut found = Vec::new();
        for model in names_in("prices", &self.cells) {
            let full = |key: &str| format!("prices.{model}.{key}");
            let missing = ["input", "output"].into_iter().find(|key| !self.cells.contains_key(&full(key)));
            let given = self.cells.range(full("")..).next().map(|(_, cell)| cell.origin.clone());
            found.extend(missing.zip(given).map(|(key, origin)| (full(key), origin)));
        }
        for (full, origin) in found {
            let what = "set it too; until then the model has no price";
            let complaint = Complaint::new("the price of this is missing", what);
            let line = match &origin {
                SettingOrigin::UserFile { line, .. } => *line,
                _ => None,
            };
            self.problem(&Source::plain(origin), line, Some(&full), complaint);
        }
    }

    fn finish(mut self) -> (Settings, Vec<Problem>) {
        self.report_double_keys();
        self.report_half_prices();
        if self.unreported > 0 {
            self.problems.push(Problem {
                flaw: Flaw::TooMany,
                file: None,
                line: None,
                key: None,
                message: format!("there are {} more problems", self.unreported),
                what_to_do: "correct these first".to_owned(),
            });
        }
        (build::settings(self.cells, self.environment, self.user_file, self.broken), self.problems)
    }
}

const UNTIL_THEN: &str =
    "until then Adjutant uses only those of its values that are stricter, and does nothing unattended";
