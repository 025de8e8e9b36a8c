//! Keys from commands and files: when Adjutant reads them, and the error when there is none.
//!
//! Runs real programs and reads real files. Only the provider is a double.

mod hidden;

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant::model::Models;
use adjutant::tools::process::run_own;
use adjutant_core::config::{KeySource, ModelLimits, Provider, Reach, Wire};
use adjutant_core::machine::retry::{CallFailure, FailureClass};
use adjutant_core::prompt::{GenerationSettings, ModelMessage, ModelRequest, Reply};
use adjutant_testkit::model::{ModelServer, Reply as Answer, Request};
use adjutant_testkit::process::wait_until;
use tempfile::TempDir;

/// The most time that one call may take.
const DEADLINE: Duration = Duration::from_secs(20);
const LIMITS: ModelLimits =
    ModelLimits { first_byte_ms: 10_000, idle_ms: 10_000, total_ms: 10_000, silence_ms: 10_000 };

fn provider(base_url: &str) -> Provider {
    Provider {
        name: "acme".to_owned(),
        wire: Wire::OpenaiChat,
        base_url: Some(base_url.to_owned()),
        key: Some(KeySource::Variable("ACME_KEY".to_owned())),
        script: None,
        headers: BTreeMap::new(),
        reach: Reach::default(),
        context_window: None,
        max_output_tokens: None,
        temperature: None,
        tools: true,
        images: None,
        edit_tool: None,
    }
}

/// Makes one call, as the first attempt.
async fn call(models: &Models, provider: &Provider, limits: &ModelLimits) -> Result<Reply, CallFailure> {
    let request = ModelRequest {
        model: "m1".to_owned(),
        system: "Be brief.".into(),
        tools: Arc::new([]),
        messages: vec![ModelMessage::user("hello")],
        free_form: false,
        max_output_tokens: None,
        generation_settings: GenerationSettings::default(),
        whole: false,
        images: Default::default(),
        reminder: None,
        is_summary: false,
        replaced_replies: 0,
    };
    let called = tokio::time::timeout(DEADLINE, models.call(provider, limits, &request, 1, |_| {}));
    called.await.expect("the call ends within its deadline")
}

/// A folder with a program that prints the file `key` and counts its runs.
struct Printer {
    folder: TempDir,
}

impl Printer {
    fn new(key: &str) -> Printer {
        let printer = Printer { folder: tempfile::tempdir().unwrap() };
        printer.prints(key);
        printer
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn prints(&self, key: &str) {
        std::fs::write(self.at("key"), key).unwrap();
    }

    fn provider(&self, server: &ModelServer) -> Provider {
        let script = format!(
            "echo run >> {count}; cat {key}",
            count = self.at("count").display(),
            key = self.at("key").display()
        );
        by_command(server, &["sh", "-c", &script])
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.at("count")).unwrap_or_default().lines().count()
    }
}

fn by_command(server: &ModelServer, words: &[&str]) -> Provider {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Provider { key: Some(KeySource::Command(words)), ..provider(&server.base_url()) }
}

fn by_file(server: &ModelServer, path: &Path) -> Provider {
    let path = path.to_str().unwrap().to_owned();
    Provider { key: Some(KeySource::File(path)), ..provider(&server.base_url()) }
}

/// Returns models that may run key commands.
fn models() -> Models {
    let models = Models::with_keys(|_| None);
    models.start_key_commands_by(run_own);
    models
}

fn key_of(request: &Request) -> &str {
    request.header("authorization").unwrap_or_default()
}

fn sent(server: &ModelServer) -> Vec<String> {
    server.requests().iter().map(|request| key_of(request).to_owned()).collect()
}

/// Makes one call that has no key, and returns its error message.
async fn refused(server: &ModelServer, provider: &Provider) -> String {
    let failed = call(&models(), provider, &LIMITS).await.unwrap_err();
    assert_eq!(failed.class, FailureClass::Auth, "{failed:?}");
    assert_eq!(server.connections(), 0, "no request without a key");
    failed.message
}

#[tokio::test]
async fn s1_a_command_gives_the_key_once_for_many_calls() {
    let server = ModelServer::answering(|_| Answer::text("ok"));
    let printer = Printer::new("  first-Secret\n");
    let (models, provider) = (models(), printer.provider(&server));
    assert_eq!(printer.runs(), 0);
    let one = || call(&models, &provider, &LIMITS);
    let (a, b) = tokio::join!(one(), one());
    for called in [a, b, one().await] {
        assert_eq!(called.unwrap().text, "ok");
    }
    assert_eq!(sent(&server), ["Bearer first-Secret"; 3]);
    assert_eq!(printer.runs(), 1, "calls at once wait for one run");
}

#[tokio::test]
async fn s1_a_kept_key_that_is_refused_is_asked_for_once_more() {
    let server = ModelServer::answering(|request| match key_of(request) {
        "Bearer second-Secret" => Answer::text("ok"),
        _ if request.header("x-first").is_some() => Answer::text("ok"),
        _ => Answer::status(401).body("{}"),
    });
    let printer = Printer::new("first-Secret");
    let (models, provider) = (models(), printer.provider(&server));
    let mut lenient = provider.clone();
    lenient.headers.insert("X-First".to_owned(), "yes".to_owned());
    call(&models, &lenient, &LIMITS).await.unwrap();
    printer.prints("second-Secret");
    assert_eq!(call(&models, &provider, &LIMITS).await.unwrap().text, "ok");
    assert_eq!(sent(&server), ["Bearer first-Secret", "Bearer first-Secret", "Bearer second-Secret"]);
    assert_eq!(printer.runs(), 2);
    assert_eq!(call(&models, &provider, &LIMITS).await.unwrap().text, "ok");
    assert_eq!(printer.runs(), 2, "the new key is kept");
}

#[tokio::test]
async fn s1_a_key_that_stays_refused_is_tried_no_more_than_that() {
    let server = ModelServer::answering(|_| {
        Answer::status(401).body(r#"{"error":{"message":"bad key first-Secret"}}"#)
    });
    let printer = Printer::new("first-Secret");
    let (models, provider) = (models(), printer.provider(&server));
    let failed = call(&models, &provider, &LIMITS).await.unwrap_err();
    assert_eq!(
        failed.message,
        "the key that `api_key_command` printed was refused by provider \"acme\" (401: \"bad key [hidden]\"); \
         see that the command prints a valid key and try again"
    );
    assert_eq!((failed.class, server.requests().len(), printer.runs()), (FailureClass::Auth, 1, 1));
    // A refused key is not kept, and not sent again.
    printer.prints("second-Secret");
    call(&models, &provider, &LIMITS).await.unwrap_err();
    assert_eq!(sent(&server), ["Bearer first-Secret", "Bearer second-Secret"]);
    assert_eq!(printer.runs(), 2);
}

#[tokio::test]
async fn s1_a_key_of_a_command_stays_with_its_address() {
    let (server, other) =
        (ModelServer::answering(|_| Answer::text("ok")), ModelServer::answering(|_| Answer::text("ok")));
    let printer = Printer::new("first-Secret");
    let (models, provider) = (models(), printer.provider(&server));
    call(&models, &provider, &LIMITS).await.unwrap();
    printer.prints("second-Secret");
    let moved = Provider { base_url: Some(other.base_url()), ..provider };
    call(&models, &moved, &LIMITS).await.unwrap();
    assert_eq!(
        (sent(&server), sent(&other)),
        (vec!["Bearer first-Secret".to_owned()], vec!["Bearer second-Secret".to_owned()])
    );
}

#[tokio::test]
async fn s1_a_command_that_fails_is_told_with_its_complaint_and_without_its_secrets() {
    let server = ModelServer::start([]);
    let check = async |words: &[&str], expected: &str| {
        let message = refused(&server, &by_command(&server, words)).await;
        assert_eq!(message, format!("provider \"acme\" has no key: its `api_key_command` {expected}"));
    };
    check(
        &["sh", "-c", "echo my-Secret-1; echo 'no entry for my-Secret-1 or sk-abcdefgh' >&2; exit 3"],
        "failed (exit status: 3): \"no entry for [hidden] or [hidden]\"",
    )
    .await;
    check(&["false"], "failed (exit status: 1)").await;
    check(&["sh", "-c", "kill -9 $$"], "failed (signal: 9 (SIGKILL))").await;
    check(&["sh", "-c", "echo"], "printed nothing; let it print the key").await;
    check(&["head", "-c", "100000", "/dev/zero"], "printed more than 8 KiB").await;
    check(&["/nowhere/at/all"], "could not be started: No such file or directory (os error 2)").await;
    let lines = refused(&server, &by_command(&server, &["printf", "line-One\nline-Two\n"])).await;
    assert_eq!(
        lines,
        "what the `api_key_command` printed contains characters that a key cannot have; make it print only the key, on one line"
    );
}

#[tokio::test]
async fn s1_a_command_has_no_input_no_shell_and_no_workspace() {
    let server = ModelServer::answering(|_| Answer::text("ok"));
    let models = models();
    for (words, key) in [
        (&["sh", "-c", "cat; pwd"][..], "Bearer /"),
        // No shell interprets the values of a list.
        (&["echo", "$HOME;`id`"], "Bearer $HOME;`id`"),
    ] {
        call(&models, &by_command(&server, words), &LIMITS).await.unwrap();
        assert_eq!(sent(&server).last().unwrap(), key);
    }
    let without_programs = Models::with_keys(|_| None);
    let failed = call(&without_programs, &by_command(&server, &["echo", "key"]), &LIMITS).await.unwrap_err();
    assert!(failed.message.ends_with("cannot be run here"), "{:?}", failed);
}

#[tokio::test]
async fn s1_a_command_that_hangs_ends_with_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let server = ModelServer::start([]);
    // The script writes its process id. Its child survives a plain kill of the script.
    let script = format!("sleep 600 & echo $! $$ > {0}.new; mv {0}.new {0}; wait", mark.display());
    let provider = by_command(&server, &["sh", "-c", &script]);
    let limits = ModelLimits { total_ms: 1500, ..LIMITS };
    let failed = call(&models(), &provider, &limits).await.unwrap_err();
    assert_eq!(failed.class, FailureClass::Total, "{failed:?}");
    let numbers = std::fs::read_to_string(&mark).unwrap();
    for number in numbers.split_whitespace() {
        let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }
}

#[tokio::test]
async fn s1_what_a_command_leaves_running_holds_nothing_up() {
    let server = ModelServer::start([Answer::text("ok")]);
    let folder = tempfile::tempdir().unwrap();
    let (stop, number) = (folder.path().join("stop"), folder.path().join("number"));
    // The command starts an agent, which keeps the output open. The agent ends when the file exists, and
    // also if this test ends before it writes the file.
    let script = format!(
        "(while [ -d {folder} ] && [ ! -e {stop} ] && kill -0 {test}; do sleep 0.05; done) 2>/dev/null & \
         echo $! > {number}; echo agent-Secret",
        folder = folder.path().display(),
        stop = stop.display(),
        test = std::process::id(),
        number = number.display(),
    );
    let called = call(&models(), &by_command(&server, &["sh", "-c", &script]), &LIMITS).await;
    assert_eq!(called.unwrap().text, "ok");
    let number = std::fs::read_to_string(number).unwrap();
    let lives = || {
        std::fs::read_to_string(format!("/proc/{}/stat", number.trim()))
            .is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(lives(), "the process that the command started continues");
    std::fs::write(stop, "").unwrap();
    wait_until("the agent has ended", || !lives());
    assert_eq!(sent(&server), ["Bearer agent-Secret"]);
}

#[tokio::test]
async fn s1_a_private_file_gives_the_key_and_is_read_at_each_call() {
    let server = ModelServer::answering(|_| Answer::text("ok"));
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("key"), folder.path().join("link"));
    symlink(&file, &link).unwrap();
    let models = models();
    for (key, mode) in [("file-Secret", 0o600), ("other-Secret", 0o400)] {
        let _ = std::fs::remove_file(&file);
        std::fs::write(&file, format!("{key}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        call(&models, &by_file(&server, &link), &LIMITS).await.unwrap();
        assert_eq!(sent(&server).last().unwrap(), &format!("Bearer {key}"));
    }
}

#[tokio::test]
async fn s1_a_file_that_is_not_private_is_refused_with_what_to_do() {
    let server = ModelServer::start([]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    let with = |text: &[u8], mode: u32| {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let check = async |path: &Path, expected: &str| {
        let message = refused(&server, &by_file(&server, path)).await;
        assert_eq!(message, expected.replace("KEY", &format!("{:?}", path.to_str().unwrap())));
    };
    check(&file, "provider \"acme\" has no key: the file KEY does not exist").await;
    check(folder.path(), "provider \"acme\" has no key: the file KEY is no regular file").await;
    for mode in [0o644, 0o640, 0o604, 0o620] {
        with(b"file-Secret", mode);
        check(
            &file,
            "provider \"acme\" has no key: the file KEY is open to other users; run `chmod 600` on it",
        )
        .await;
    }
    with(b" \n", 0o600);
    check(&file, "provider \"acme\" has no key: the file KEY is empty; put the key into it").await;
    with(b"two\nlines", 0o600);
    check(
        &file,
        "what is in the file KEY contains characters that a key cannot have; put only the key into it, on one line",
    )
    .await;
    with(&[0xff; 10], 0o600);
    check(&file, "provider \"acme\" has no key: the file KEY is not text; let it hold the key alone").await;
    with(&[b'a'; 9000], 0o600);
    check(
        &file,
        "provider \"acme\" has no key: the file KEY is larger than any key; let it hold the key alone",
    )
    .await;
    // Reading a named pipe would wait without end.
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    check(&pipe, "provider \"acme\" has no key: the file KEY is no regular file").await;
}

#[tokio::test]
async fn s1_a_file_of_another_user_is_refused() {
    let server = ModelServer::start([]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "file-Secret").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    // Only a privileged user can change the owner of a file. Other users test a file of root.
    let is_given = rustix::fs::chown(&file, Some(rustix::fs::Uid::from_raw(1)), None).is_ok();
    let path = if is_given { file } else { PathBuf::from("/etc/passwd") };
    let message = refused(&server, &by_file(&server, &path)).await;
    assert!(message.ends_with("belongs to another user; make one of your own"), "{message}");
}

#[tokio::test]
async fn s1_a_key_in_a_header_of_the_settings_needs_no_other() {
    let server = ModelServer::start([Answer::text("ok")]);
    let printer = Printer::new("first-Secret");
    let mut provider = printer.provider(&server);
    provider.headers.insert("Authorization".to_owned(), "Bearer own".to_owned());
    call(&models(), &provider, &LIMITS).await.unwrap();
    assert_eq!((sent(&server), printer.runs()), (vec!["Bearer own".to_owned()], 0));
}
