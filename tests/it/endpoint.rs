//! "My endpoint works": the settings file alone is enough for a company's network.
//!
//! Uses the real binary. The test proxy maps names to loopback, so that no name is resolved.

use std::fs;
use std::path::Path;

use adjutant_testkit::authority::Authority;
use adjutant_testkit::command::{Line, Ran};
use adjutant_testkit::editor::Options;
use adjutant_testkit::fixture::Workspace;
use adjutant_testkit::model::{ModelServer, Offer, Reply, TlsFront};
use adjutant_testkit::process::Server;
use adjutant_testkit::proxy::{ProxyServer, Rules};

const BINARY: &str = env!("CARGO_BIN_EXE_adjutant");
const KEY: &str = "kQ7-wholly-unshaped-key";
const PASSWORD: &str = "wQ9-proxy-word";
/// The login as the proxy receives it.
const LOGIN: &str = "YWRhOndROS1wcm94eS13b3Jk";

/// A provider behind a proxy with a private authority, and a user with settings for both.
struct Company {
    model: ModelServer,
    front: TlsFront,
    proxy: ProxyServer,
    workspace: Workspace,
}

impl Company {
    fn new() -> Company {
        let model = ModelServer::answering(|_| Reply::text("It works."));
        let authority = Authority::new("Company");
        let front = TlsFront::start(&model, &authority, &["models.example", "localhost"], Offer::Http2);
        let rules = Rules::default().lead("models.example:443", front.address()).login("ada", PASSWORD);
        let proxy = ProxyServer::start(rules);
        let workspace = Workspace::new("//- /a.txt\none\n");
        workspace.config("");
        workspace.write_beside("company.pem", authority.pem());
        let company = Company { model, front, proxy, workspace };
        company.settings("models.example", &company.command());
        company
    }

    /// Returns the setting for a program that leaves a mark and prints the key.
    fn command(&self) -> String {
        let mark = self.workspace.state_dir().with_file_name("config").join("ran");
        format!("api_key_command = [\"sh\", \"-c\", \"echo >> {}; echo {KEY}\"]", mark.display())
    }

    fn ran(&self) -> usize {
        let mark = self.workspace.config_file().with_file_name("ran");
        fs::read_to_string(mark).unwrap_or_default().lines().count()
    }

    fn settings(&self, host: &str, key: &str) {
        let url = self.proxy.url(&format!("ada:{PASSWORD}@"));
        self.workspace.config(&format!(
            "model = \"work/m\"\n[providers.work]\nbase_url = \"https://{host}/v1\"\n{key}\n\
             headers = {{ \"X-Team\" = \"blue\" }}\n[http]\nproxy = \"{url}\"\nca_file = \"company.pem\"\n\
             [retry]\nattempts = 1\n"
        ));
    }

    fn run(&self, args: &[&str]) -> Ran {
        Line::new(BINARY, &self.workspace, args).run()
    }
}

/// Returns the bytes of every file below a folder, with its name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push((entry.path().display().to_string(), fs::read(entry.path()).unwrap_or_default()));
        }
    }
    found
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

#[test]
fn d3_a_private_authority_an_authenticated_proxy_and_a_key_command_work_by_settings_alone() {
    let company = Company::new();
    let ran = company.run(&["run", "-d", "Hello?"]);
    assert!(ran.expect(0).stdout.contains("It works."), "{ran}");
    let sent = &company.model.requests()[0];
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!((sent.header("x-team"), sent.path.as_str()), (Some("blue"), "/v1/chat/completions"));
    assert_eq!(company.proxy.connects().len(), 1);
    assert_eq!(company.ran(), 1);
    // Checks everything written or printed, including the debug log.
    let mut all = files(&company.workspace.state_dir());
    assert!(all.iter().any(|(name, _)| name.contains("/log/")), "there is a debug log");
    all.push(("stdout".to_owned(), ran.stdout.into_bytes()));
    all.push(("stderr".to_owned(), ran.stderr.into_bytes()));
    let shown = company.run(&["config"]);
    all.push(("settings".to_owned(), shown.stdout.into_bytes()));
    for secret in [KEY, PASSWORD, LOGIN] {
        for (name, bytes) in &all {
            assert!(!holds(bytes, secret), "{secret} is in {name}");
        }
    }
}

#[test]
fn s1_no_command_of_a_key_runs_before_the_first_call() {
    let company = Company::new();
    for args in [&["config"][..], &["sessions", "list"], &["asks"]] {
        company.run(args).expect(0);
    }
    let mut server = Server::spawn(BINARY, &company.workspace, &["lsp"]);
    let editor = server.editor(Options::new(&company.workspace));
    let session = editor.new_session();
    assert_eq!((company.ran(), company.model.connections(), company.proxy.connects().len()), (0, 0, 0));
    editor.run_to_end(&session, "Hello?");
    assert_eq!(company.ran(), 1);
}

#[test]
fn d3_without_the_authority_the_run_fails_and_says_what_to_set() {
    let company = Company::new();
    company.workspace.write_beside("company.pem", Authority::new("Other").pem());
    let ran = company.run(&["run", "Hello?"]);
    assert!(
        ran.expect(1).stderr.contains("set `http.ca_file`") || ran.stdout.contains("set `http.ca_file`"),
        "{ran}"
    );
    assert!(company.model.requests().is_empty());
}

#[test]
fn d3_the_variables_everybody_knows_work_too() {
    let company = Company::new();
    let pem = company.workspace.config_file().with_file_name("company.pem");
    company.workspace.config(
        "model = \"work/m\"\n[providers.work]\nbase_url = \"https://models.example/v1\"\n[retry]\nattempts = 1\n",
    );
    let line = || {
        Line::new(BINARY, &company.workspace, &["run", "Hello?"])
            .env("HTTPS_PROXY", company.proxy.url(&format!("ada:{PASSWORD}@")))
    };
    assert!(line().env("SSL_CERT_FILE", &pem).run().expect(0).stdout.contains("It works."));
    assert_eq!(company.proxy.connects().len(), 1);
    // The settings' certificates are added to it, and never replace it.
    let own = format!(
        "{}[http]\nca_file = \"other.pem\"\n",
        fs::read_to_string(company.workspace.config_file()).unwrap()
    );
    company.workspace.write_beside("other.pem", Authority::new("Other").pem());
    company.workspace.config(&own);
    assert!(line().env("SSL_CERT_FILE", &pem).run().expect(0).stdout.contains("It works."));
    company.workspace.config(own.split("[http]").next().unwrap());
    // A variable that names no file trusts no authority, rather than every one.
    let ran = line().env("SSL_CERT_FILE", pem.with_file_name("absent.pem")).run();
    let said = format!("{}{}", ran.expect(1).stdout, ran.stderr);
    assert!(
        said.contains("`SSL_CERT_FILE` or `http.ca_file`") || said.contains("set `http.ca_file`"),
        "{said}"
    );
    let near = company.front.base_url("localhost");
    company.workspace.config(&format!(
        "model = \"work/m\"\n[providers.work]\nbase_url = \"{near}\"\n[http]\nca_file = \"company.pem\"\n"
    ));
    // This machine is reached without the proxy; the authority of the settings is added to the others.
    assert!(line().run().expect(0).stdout.contains("It works."));
    assert_eq!(company.proxy.connects().len(), 2, "one for each run that came so far");
}
