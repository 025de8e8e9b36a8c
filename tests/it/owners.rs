//! Owners and modes of the files that Adjutant trusts and the folders that it writes: settings, state, outputs
//! (finding B8).
//!
//! The binary runs without the rights of root, because owners and modes do not restrict root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;

use adjutant_testkit::command::{Line, Ran};
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::nobody::{STRANGER, give, is_root, unprivileged_id};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");

const SCRIPT: &str = "[[turn]]\ntext = \"Hello.\"\n";

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Returns a workspace whose settings name a key program, and the file that the program creates.
fn with_key_program() -> (Workspace, std::path::PathBuf) {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let ran = workspace.path().with_file_name("ran");
    workspace.config(&format!(
        "model = \"p/m\"\n[providers.p]\nwire = \"openai_chat\"\nbase_url = \"http://127.0.0.1:9\"\n\
         api_key_command = [\"touch\", \"{}\"]\n[permissions]\ndeny = [\"run_command\"]\n[retry]\nattempts = 1\n",
        ran.display()
    ));
    (workspace, ran)
}

fn run(workspace: &Workspace, args: &[&str]) -> Ran {
    Line::new(BINARY, workspace, args).as_nobody().run()
}

#[test]
fn finding_b8_settings_that_others_can_write_are_not_believed() {
    let (workspace, ran) = with_key_program();
    let workspace = workspace.given_to_nobody();
    run(&workspace, &["run", "hello"]);
    assert!(ran.exists(), "the program of the user's own settings runs");
    for wide in [0o620, 0o602] {
        fs::remove_file(&ran).ok();
        mode(&workspace.config_file(), wide);
        let output = run(&workspace, &["run", "hello"]);
        let file = workspace.config_file();
        let expected = format!("can be written by other users; run `chmod go-w {}`", file.display());
        assert!(output.stderr.contains(&expected), "{output}");
        assert!(!ran.exists(), "{output}");
        // A setting that makes the permissions stricter is used anyway.
        let shown = run(&workspace, &["config"]);
        assert!(shown.stdout.contains("\"run_command\"") && !shown.stdout.contains("touch"), "{shown}");
    }
    mode(&workspace.config_file(), 0o644);
    run(&workspace, &["run", "hello"]);
    assert!(ran.exists(), "others may read it");
    // A user who can write the directory can replace the file.
    fs::remove_file(&ran).unwrap();
    let directory = workspace.config_file().parent().unwrap().to_owned();
    mode(&directory, 0o777);
    let output = run(&workspace, &["run", "hello"]);
    let expected =
        format!("lies in a directory that other users can write; run `chmod go-w {}`", directory.display());
    assert!(output.stderr.contains(&expected) && !ran.exists(), "{output}");
}

#[test]
fn finding_h5_settings_below_a_directory_that_others_can_write_are_not_believed() {
    assert!(is_root(), "only root can give a directory to another user");
    let (workspace, ran) = with_key_program();
    let top = workspace.path().with_file_name("top");
    let directory = top.join("middle/inner");
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("config.toml");
    fs::copy(workspace.config_file(), &file).unwrap();
    let workspace = workspace.given_to_nobody();
    for place in [&top, &top.join("middle"), &directory] {
        mode(place, 0o755);
    }
    let run = |file: &Path| {
        fs::remove_file(&ran).ok();
        Line::new(BINARY, &workspace, &["run", "hello"]).env("ADJUTANT_CONFIG", file).as_nobody().run()
    };
    run(&file);
    assert!(ran.exists(), "settings below an open but sticky directory are trusted");
    for above in [top.join("middle"), top.clone()] {
        for wide in [0o777, 0o757] {
            mode(&above, wide);
            let output = run(&file);
            let expected = format!(
                "lies below a directory that other users can write; run `chmod go-w {}`",
                above.display()
            );
            assert!(output.stderr.contains(&expected) && !ran.exists(), "{output}");
        }
        mode(&above, 0o1777);
        run(&file);
        assert!(ran.exists(), "no other user can replace a file in a sticky directory");
        mode(&above, 0o755);
    }
    // A directory above belongs to another user.
    lchown(&top, Some(STRANGER), Some(STRANGER)).unwrap();
    let output = run(&file);
    assert!(output.stderr.contains("lies below a directory of another user") && !ran.exists(), "{output}");
    lchown(&top, Some(unprivileged_id()), None).unwrap();
    // The settings are a link in an open directory, so another user could replace the link.
    let named = top.join("open");
    fs::create_dir(&named).unwrap();
    give(&named, unprivileged_id());
    mode(&named, 0o777);
    symlink(&file, named.join("config.toml")).unwrap();
    let output = run(&named.join("config.toml"));
    assert!(
        output.stderr.contains("lies in a directory that other users can write") && !ran.exists(),
        "{output}"
    );
}

#[test]
fn finding_h5_settings_in_a_home_are_believed_whatever_lies_above_it() {
    let (workspace, ran) = with_key_program();
    let home = workspace.path().with_file_name("open").join("home");
    let folder = home.join(".config/adjutant");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(workspace.config_file(), folder.join("config.toml")).unwrap();
    let workspace = workspace.given_to_nobody();
    mode(home.parent().unwrap(), 0o777);
    let line = || {
        let line = Line::new(BINARY, &workspace, &["run", "hello"]).env("HOME", home.to_str().unwrap());
        line.without("ADJUTANT_CONFIG").without("XDG_CONFIG_HOME").as_nobody()
    };
    line().run();
    assert!(ran.exists());
    fs::remove_file(&ran).unwrap();
    mode(&home, 0o777);
    let output = line().run();
    assert!(
        output.stderr.contains("lies below a directory that other users can write") && !ran.exists(),
        "{output}"
    );
}

#[test]
fn finding_b8_settings_of_another_user_are_not_believed() {
    assert!(is_root(), "only root can give a file to another user");
    let (workspace, ran) = with_key_program();
    let workspace = workspace.given_to_nobody();
    mode(&workspace.config_file(), 0o644);
    give(&workspace.config_file(), STRANGER);
    let output = run(&workspace, &["run", "hello"]);
    assert!(
        output.stderr.contains("config.toml: the file belongs to another user; make one of your own"),
        "{output}"
    );
    assert!(!ran.exists(), "{output}");
    // Settings of root are trusted, because root can do everything anyway.
    give(&workspace.config_file(), 0);
    run(&workspace, &["run", "hello"]);
    assert!(ran.exists());
}

#[test]
fn finding_b8_certificates_and_scripts_that_others_can_write_are_not_believed() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script(SCRIPT);
    let workspace = workspace.given_to_nobody();
    let script = workspace.config_file().with_file_name("script.toml");
    assert!(run(&workspace, &["run", "hello"]).expect(0).stdout.contains("Hello."));
    mode(&script, 0o666);
    let output = run(&workspace, &["run", "hello"]);
    let words = output.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("can be written by other users; run `chmod go-w"), "{output}");
    assert!(!words.contains("Hello."), "{output}");
}

#[test]
fn finding_b8_a_state_directory_open_to_others_is_made_private_and_that_is_said() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    workspace.script(SCRIPT);
    let sessions = workspace.state_dir().join("sessions");
    fs::create_dir(&sessions).unwrap();
    let workspace = workspace.given_to_nobody();
    mode(&workspace.state_dir(), 0o777);
    mode(&sessions, 0o757);
    let output = run(&workspace, &["run", "hello"]);
    assert!(output.expect(0).stderr.contains("was open to other users (mode 0777)"), "{output}");
    assert!(output.stderr.contains("(mode 0757)"), "{output}");
    assert_eq!((mode_of(&workspace.state_dir()), mode_of(&sessions)), (0o700, 0o700));
    let quiet = run(&workspace, &["run", "hello"]);
    assert!(!quiet.expect(0).stderr.contains("open to other users"), "{quiet}");
    // A command that only reads reports it as well.
    mode(&sessions, 0o755);
    let output = run(&workspace, &["sessions", "list"]);
    assert!(output.expect(0).stderr.contains("(mode 0755)"), "{output}");
}

#[test]
fn finding_b8_a_state_directory_of_another_user_is_not_used() {
    assert!(is_root(), "only root can give a directory to another user");
    for which in ["", "sessions"] {
        let workspace = Workspace::new("//- /a.txt\none\n");
        workspace.script(SCRIPT);
        fs::create_dir(workspace.state_dir().join("sessions")).unwrap();
        let workspace = workspace.given_to_nobody();
        let place = workspace.state_dir().join(which);
        give(&place, STRANGER);
        mode(&workspace.state_dir(), 0o777);
        mode(&place, 0o777);
        let output = run(&workspace, &["run", "hello"]);
        assert!(
            output.stderr.contains("belongs to another user") && !output.stdout.contains("Hello."),
            "{output}"
        );
        let listed = run(&workspace, &["sessions", "list"]);
        assert!(listed.stderr.contains("belongs to another user"), "{listed}");
    }
}

#[test]
fn finding_b8_outputs_that_are_a_link_are_not_followed() {
    let workspace = Workspace::new("//- /a.txt\none\n");
    let run_one = "[[turn]]\n[[turn.call]]\ntool = \"run_command\"\narguments = { command = \"echo one\" }\n\
                   [[turn]]\ntext = \"I was told: {{last_output}}\"\n";
    workspace.script(&run_one.repeat(2));
    let workspace = workspace.given_to_nobody();
    let elsewhere = workspace.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    give(&elsewhere, unprivileged_id());
    run(&workspace, &["run", "-y", "--allow-commands", "hello"]).expect(0);
    let session =
        fs::read_dir(workspace.state_dir().join("sessions")).unwrap().next().unwrap().unwrap().path();
    let outputs = session.join("outputs");
    fs::remove_dir_all(&outputs).unwrap();
    symlink(&elsewhere, &outputs).unwrap();
    let output = run(&workspace, &["run", "-y", "--allow-commands", "--continue", "again"]);
    let words = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("it is a link; remove it"), "{output}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "{output}");
}
