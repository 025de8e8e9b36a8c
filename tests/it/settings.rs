//! Real settings files on disk, and the page about them.
//!
//! Never reads the settings of the user who runs the tests: every test has its own home.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use adjutant::settings::{LoadedSettings, Sources, load, private_dir};
use adjutant_core::config::{SettingOrigin, configuration_markdown, editor_schema};
use serde_json::{Map, Value, json};

/// A home and a workspace for one test.
struct Place {
    _directory: tempfile::TempDir,
    home: PathBuf,
    workspace: PathBuf,
    sources: Sources,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (home, workspace) = (directory.path().join("home"), directory.path().join("workspace"));
        fs::create_dir_all(home.join(".config/adjutant")).unwrap();
        fs::create_dir_all(workspace.join(".adjutant")).unwrap();
        let sources =
            Sources { home: Some(home.clone()), roots: vec![workspace.clone()], ..Sources::default() };
        Self { _directory: directory, home, workspace, sources }
    }

    fn user_file(&self) -> PathBuf {
        self.home.join(".config/adjutant/config.toml")
    }

    fn project_file(&self) -> PathBuf {
        self.workspace.join(".adjutant/config.toml")
    }

    fn set(&mut self, name: &str, value: &Path) {
        self.sources.environment.insert(name.into(), value.to_str().unwrap().into());
    }

    /// Loads the settings. Panics if that lasts ten seconds or more.
    fn load(&self) -> LoadedSettings {
        let started = Instant::now();
        let loaded = load(&self.sources);
        assert!(started.elapsed() < Duration::from_secs(10), "loading hung");
        loaded
    }

    /// Loads broken settings. Checks that there is one problem with `why`, and that nothing is allowed unattended.
    fn is_strict(&self, why: &str) -> LoadedSettings {
        let loaded = self.load();
        let texts: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        assert!(texts.len() == 1 && texts[0].contains(why), "{texts:?}");
        assert!(!loaded.settings.unattended.edit && !loaded.settings.unattended.command);
        loaded
    }
}

#[test]
fn the_user_file_is_found_where_xdg_says_or_where_it_is_named() {
    let mut place = Place::new();
    fs::write(place.user_file(), "model = \"a/home\"").unwrap();
    assert_eq!(place.load().settings.model.as_deref(), Some("a/home"));

    let xdg = place.home.join("xdg");
    fs::create_dir_all(xdg.join("adjutant")).unwrap();
    fs::write(xdg.join("adjutant/config.toml"), "model = \"a/xdg\"").unwrap();
    place.set("XDG_CONFIG_HOME", &xdg);
    assert_eq!(place.load().settings.model.as_deref(), Some("a/xdg"));
    place.set("XDG_CONFIG_HOME", Path::new("relative"));
    assert_eq!(place.load().settings.model.as_deref(), Some("a/home"));

    let named = place.home.join("mine.toml");
    fs::write(&named, "model = \"a/named\"\n[providers.demo]\nscript = \"scripts/demo.jsonl\"").unwrap();
    place.set("ADJUTANT_CONFIG", &named);
    let settings = place.load().settings;
    assert_eq!(settings.model.as_deref(), Some("a/named"));
    let path = named.to_str().unwrap().to_owned();
    assert_eq!(settings.origin_of("model"), Some(&SettingOrigin::UserFile { path, line: Some(1) }));
    let script = settings.providers["demo"].script.clone().unwrap();
    assert_eq!(Path::new(&script), place.home.join("scripts/demo.jsonl"));
}

#[test]
fn no_file_is_no_problem_unless_it_was_named() {
    let mut place = Place::new();
    assert_eq!(place.load().problems, []);
    assert!(place.load().settings.unattended.edit);
    place.set("ADJUTANT_CONFIG", &place.home.join("absent.toml"));
    assert_eq!(place.load().problems[0].what_to_do, "create it, or unset ADJUTANT_CONFIG");
    place.set("ADJUTANT_CONFIG", Path::new("/dev/null"));
    assert_eq!(place.load().problems.len(), 1);
    place.sources.environment.clear();
    place.sources.home = None;
    assert_eq!(place.load().problems, []);
}

#[test]
fn f26_what_cannot_be_read_is_strict_and_said() {
    let place = Place::new();
    let file = place.user_file();
    fs::create_dir(&file).unwrap();
    place.is_strict("is no regular file");
    fs::remove_dir(&file).unwrap();

    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    place.is_strict("is no regular file");
    fs::remove_file(&file).unwrap();

    symlink(&file, &file).unwrap();
    place.is_strict("is a link");
    fs::remove_file(&file).unwrap();

    // A sparse file: its length is 500 MiB, but it has no blocks on disk.
    fs::File::create(&file).unwrap().set_len(500 * 1024 * 1024).unwrap();
    place.is_strict("is larger than 1 MiB");

    fs::write(&file, b"model = \"\xff\xfe\"").unwrap();
    place.is_strict("is not UTF-8 text");

    fs::write(&file, "model = \"a/b\"\n[unattended").unwrap();
    place.is_strict("config.toml:2: not valid TOML");

    fs::write(&file, "model = \"a/b\"").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    // Root can read it anyway. Any other user gets a problem.
    match fs::read(&file) {
        Ok(_) => assert_eq!(place.load().settings.model.as_deref(), Some("a/b")),
        Err(_) => drop(place.is_strict("may not be read")),
    }
}

#[test]
fn s1_files_that_settings_name_are_looked_at_when_they_are_read() {
    let place = Place::new();
    let sibling = |name: &str| place.user_file().with_file_name(name);
    let text = "[providers.p]\nbase_url = \"https://p.example\"\napi_key_file = \"p.key\"\n[http]\nca_file = \"ca.pem\"";
    fs::write(place.user_file(), text).unwrap();
    let problems = || {
        let found = place.load().problems;
        let shown =
            found.iter().map(|problem| problem.to_string().replace(place.home.to_str().unwrap(), "~"));
        shown.collect::<Vec<_>>()
    };
    assert_eq!(
        problems(),
        [
            "~/.config/adjutant/config.toml:5: http.ca_file: the file \"~/.config/adjutant/ca.pem\" does not exist; \
             name a PEM file with the certificate of the authority",
            "~/.config/adjutant/config.toml:3: providers.p.api_key_file: the file \"~/.config/adjutant/p.key\" does not \
             exist; put the key into it",
        ]
    );
    fs::write(sibling("ca.pem"), "no certificate").unwrap();
    fs::write(sibling("p.key"), "secret-key").unwrap();
    fs::set_permissions(sibling("p.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let found = problems();
    assert!(found[0].contains("holds no certificate in PEM form; name a PEM file"), "{found:?}");
    assert!(found[1].ends_with("is open to other users; run `chmod 600` on it"), "{found:?}");
    fs::write(sibling("ca.pem"), adjutant_testkit::authority::Authority::new("Work").pem()).unwrap();
    fs::set_permissions(sibling("p.key"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(problems(), [""; 0]);
}

#[test]
fn t3_links_of_a_workspace_are_not_followed() {
    let place = Place::new();
    let outside = place.home.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("config.toml"), "[permissions]\ndeny = [\"*\"]").unwrap();

    symlink(outside.join("config.toml"), place.project_file()).unwrap();
    assert_eq!(place.is_strict("not followed").settings.deny.rules, []);
    fs::remove_dir_all(place.workspace.join(".adjutant")).unwrap();

    symlink(&outside, place.workspace.join(".adjutant")).unwrap();
    assert_eq!(place.is_strict(".adjutant/config.toml: the file ").settings.deny.rules, []);
}

#[test]
fn t3_a_project_tightens_from_every_root_and_loosens_from_none() {
    let mut place = Place::new();
    let second = place.home.join("second");
    fs::create_dir_all(second.join(".adjutant")).unwrap();
    place.sources.roots.push(second.clone());
    fs::write(place.project_file(), "[permissions]\ndeny = [\"run_command\"]").unwrap();
    fs::write(second.join(".adjutant/config.toml"), "model = \"evil/m\"\n[unattended]\nedit = false")
        .unwrap();
    let LoadedSettings { settings, problems, .. } = place.load();
    assert!(settings.deny.denial("run_command", Some("ls")).is_some() && !settings.unattended.edit);
    assert_eq!((settings.model.as_deref(), problems.len()), (None, 1));
    assert_eq!(problems[0].line, Some(1));
}

#[test]
fn t3_a_dotenv_of_the_workspace_is_never_read() {
    let place = Place::new();
    let dotenv =
        format!("ADJUTANT_MODEL=evil/m\nADJUTANT_CONFIG={}\n", place.workspace.join("c.toml").display());
    fs::write(place.workspace.join(".env"), dotenv).unwrap();
    fs::write(place.workspace.join("c.toml"), "model = \"evil/m\"").unwrap();
    let loaded = place.load();
    assert_eq!((loaded.settings.model, loaded.problems), (None, vec![]));
}

#[test]
fn editor_environment_and_flag_stand_on_top() {
    let mut place = Place::new();
    fs::write(place.user_file(), "model = \"a/user\"\n[limits]\nmistakes = 7").unwrap();
    place.sources.editor = Some(serde_json::json!({"model": "a/editor", "limits": {"idle_seconds": 9}}));
    assert_eq!(place.load().settings.model.as_deref(), Some("a/editor"));
    place.set("ADJUTANT_MODEL", Path::new("a/environment"));
    assert_eq!(place.load().settings.model.as_deref(), Some("a/environment"));
    place.sources = place.sources.clone().with_model_flag(None).with_model_flag(Some("a/flag"));
    let settings = place.load().settings;
    assert_eq!(settings.model.as_deref(), Some("a/flag"));
    assert_eq!((settings.limits.mistakes, settings.limits.model.idle_ms), (7, 9_000));
}

#[test]
fn the_state_directory_is_the_owners_alone() {
    let mut place = Place::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let by_default = place.sources.state_dir().unwrap();
    assert_eq!(by_default, place.home.join(".local/state/adjutant"));
    assert!(!by_default.exists(), "a query of the path must not create it");
    private_dir(&by_default).unwrap();
    assert_eq!(mode(&by_default), 0o700);

    place.set("XDG_STATE_HOME", &place.home.join("state"));
    assert_eq!(place.sources.state_dir().unwrap(), place.home.join("state/adjutant"));
    let open = place.home.join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    place.set("ADJUTANT_STATE_DIR", &open);
    private_dir(&place.sources.state_dir().unwrap()).unwrap();
    assert_eq!(mode(&open), 0o700);

    fs::write(place.home.join("file"), "").unwrap();
    let error = private_dir(&place.home.join("file")).unwrap_err().to_string();
    assert!(error.starts_with("create the directory"), "{error}");
    let nowhere = Sources { environment: BTreeMap::new(), home: None, ..Sources::default() };
    assert!(nowhere.state_dir().unwrap_err().to_string().contains("ADJUTANT_STATE_DIR"));
}

#[test]
fn the_configuration_page_is_generated() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&page, configuration_markdown()).unwrap();
    }
    let written = fs::read_to_string(&page).unwrap_or_default();
    assert!(
        written == configuration_markdown(),
        "docs/configuration.md does not match the table of keys: run `UPDATE_DOCS=1 cargo test -p adjutant --test it configuration_page`"
    );
}

/// The settings page of VS Code has each key that an editor may set, with its type, bounds and default.
#[test]
fn p26_the_settings_of_vscode_are_those_of_the_server() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../editors/vscode/package.json");
    let mut wanted = Map::new();
    settings_of("adjutant", &editor_schema(), &mut wanted);
    let mut text = fs::read_to_string(&path).expect("the extension has a package.json");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let lines: Vec<String> =
            wanted.iter().map(|(name, of)| format!("        \"{name}\": {of}")).collect();
        // The one setting that is written by hand is the first.
        let own = text.find("\"adjutant.server.path\"").expect("the extension's own setting");
        let from =
            text[own..].find("        },\n").map(|at| own + at + "        },\n".len()).expect("its end");
        let to =
            text[from..].find("\n      }\n    }\n").map(|at| from + at).expect("the end of the settings");
        text.replace_range(from..to, &lines.join(",\n"));
        fs::write(&path, &text).unwrap();
    }
    let package: Value = serde_json::from_str(&text).expect("package.json is JSON");
    let mut written =
        package["contributes"]["configuration"]["properties"].as_object().expect("settings").clone();
    written.remove("adjutant.server.path").expect("the extension's own setting");
    assert!(
        written == wanted,
        "the settings of package.json are not those of the server: run `UPDATE_DOCS=1 cargo test -p adjutant --test it \
         settings_of_vscode`"
    );
}

/// Adds the settings of VS Code below `name`: a group is one setting for each of its keys, a table with names of the user's own is
/// one setting.
fn settings_of(name: &str, schema: &Value, settings: &mut Map<String, Value>) {
    if let (Some(keys), Some(false)) =
        (schema["properties"].as_object(), schema["additionalProperties"].as_bool())
    {
        keys.iter().for_each(|(key, schema)| settings_of(&format!("{name}.{key}"), schema, settings));
        return;
    }
    let mut setting = schema.as_object().expect("a schema").clone();
    // Of the user alone: a workspace can only make Adjutant stricter, in its own file.
    setting.insert("scope".to_owned(), json!("application"));
    let description = setting.remove("description").unwrap_or_else(|| json!(TABLES));
    setting.insert("markdownDescription".to_owned(), description);
    let kind = setting["type"].as_str().unwrap_or_default().to_owned();
    if !setting.contains_key("default") && !matches!(&*kind, "array" | "object") {
        // Without a default VS Code shows 0, an empty text or the first choice as if Adjutant used it.
        setting.insert("default".to_owned(), Value::Null);
        setting.insert("type".to_owned(), json!([kind, "null"]));
        if let Some(choices) = setting.get_mut("enum").and_then(Value::as_array_mut) {
            choices.push(Value::Null);
        }
    }
    settings.insert(name.to_owned(), Value::Object(setting));
}

/// Says what the one table is that has no key of its own.
const TABLES: &str = "Where models are, by name: `{\"local\": {\"base_url\": \"http://127.0.0.1:11434/v1\"}}`. Keys of services are not \
                      written here: *Adjutant: Add a Provider…* puts them in a file of yours.";
