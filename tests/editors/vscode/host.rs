//! Another machine, as far as one computer can be one: a VS Code of its own behind an ssh server, and the tunnel to it.
//!
//! Never touches the keys, the accounts or the settings of ssh on this computer.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::driver;
use crate::stage::{SERVER, Stage, installed, shipped, wait_for};

/// Who logs in. Only the files of the host know this name.
const USER: &str = "dev";

/// The other machine. VS Code runs there with the extension that carries the program, and without a setting.
pub struct Host {
    /// Has all files of the host but the workspace.
    folder: TempDir,
    sshd: Child,
    ssh_port: u16,
    code: SocketAddr,
}

impl Host {
    /// Starts the host for the workspace and the model of a stage.
    pub fn start(stage: &Stage) -> Host {
        let folder = tempfile::tempdir().expect("make the folder of the host");
        let (sshd, ssh_port) = start_sshd(folder.path());
        let mut variables: serde_json::Map<_, _> =
            stage.env().into_iter().map(|(name, value)| (name, json!(value))).collect();
        // The program of the stage is not on the host.
        variables.remove("PATH");
        let places = json!({
            "scratch": folder.path(),
            "extension": package_with_program(folder.path()),
            "variables": variables,
        });
        let code = driver::take().say("", "hostStart", json!([places]));
        let code = code.as_str().and_then(|code| code.parse().ok()).expect("where VS Code listens");
        Host { folder, sshd, ssh_port, code }
    }

    /// Opens a tunnel to the VS Code of the host, at a port of this computer that stays the same for all tunnels of `way`.
    pub fn tunnel(&self, way: SocketAddr) -> Tunnel {
        let file = |name: &str| self.folder.path().join(name);
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "/dev/null", "-N", "-T", "-p", &self.ssh_port.to_string()]);
        for option in
            ["StrictHostKeyChecking=yes", "IdentitiesOnly=yes", "ExitOnForwardFailure=yes", "BatchMode=yes"]
        {
            ssh.args(["-o", option]);
        }
        ssh.args(["-o", &format!("UserKnownHostsFile={}", file("known_hosts").display())]);
        ssh.arg("-i").arg(file("key")).arg("-L").arg(format!("{way}:{}", self.code));
        let ssh = ssh.arg(format!("{USER}@127.0.0.1")).stdin(Stdio::null()).spawn();
        let mut tunnel = Tunnel(ssh.expect("ssh is installed: run tests/editors/install.sh"));
        wait_for("the tunnel", || {
            let ended = tunnel.0.try_wait().expect("look at ssh");
            assert!(ended.is_none(), "ssh ended with {ended:?}");
            answers(way).then_some(())
        });
        tunnel
    }
}

/// Whether VS Code answers at an address: an ssh that listens may have no way to it yet.
fn answers(way: SocketAddr) -> bool {
    let ask = || -> std::io::Result<usize> {
        let mut stream = TcpStream::connect(way)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
        stream.read(&mut [0; 16])
    };
    ask().is_ok_and(|bytes| bytes > 0)
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = driver::take().try_say("", "hostStop", json!([self.code]));
        end(&mut self.sshd);
    }
}

/// A running `ssh -L`. Its drop is the cut of the connection.
pub struct Tunnel(Child);

impl Drop for Tunnel {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

fn end(child: &mut Child) {
    // It may have ended already.
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns an address of loopback that nobody listens on now.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
    listener.local_addr().expect("a bound listener has an address")
}

/// Starts an ssh server with its own key, accounts and settings, and returns it with its port. It wants to be root, and a folder and
/// an account that a machine with an ssh server has: only its own view of the files has them.
fn start_sshd(folder: &Path) -> (Child, u16) {
    let file = |name: &str| folder.join(name);
    for key in ["host_key", "key"] {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file(key));
        let made = keygen.status().expect("ssh-keygen is installed: run tests/editors/install.sh");
        assert!(made.success(), "make the key {key}");
    }
    let port = free_address().port();
    let write = |name: &str, text: String| fs::write(file(name), text).expect("write a file of ssh");
    let public = fs::read_to_string(file("host_key.pub")).expect("the public key of the host");
    write("known_hosts", format!("[127.0.0.1]:{port} {public}"));
    let nobody = "65534:65534";
    write("passwd", format!("{USER}:*:0:0::/:/bin/sh\nsshd:*:{nobody}::/run/sshd:/bin/false\n"));
    let settings = format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
         AuthenticationMethods publickey\nAllowUsers {USER}\nAllowTcpForwarding local\n",
        file("host_key").display(),
        file("key.pub").display(),
    );
    write("sshd_config", settings);
    let own_view = "mount -t tmpfs none /run && mkdir /run/sshd && mount --bind \"$1\" /etc/passwd && exec \"$0\" -D -e -f \"$2\"";
    let mut sshd = Command::new("unshare");
    sshd.args(["--mount", "sh", "-c", own_view]).arg(installed("sshd/usr/sbin/sshd"));
    sshd.args([file("passwd"), file("sshd_config")]).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut sshd = sshd.spawn().expect("unshare is part of every system");
    let mut said = String::new();
    let mut errors = BufReader::new(sshd.stderr.take().expect("its errors"));
    while !said.contains("listening on 127.0.0.1") {
        let more = errors.read_line(&mut said).expect("read what sshd says");
        assert!(more > 0, "sshd ended; it needs root, as the install script does: {said}");
    }
    // It writes a line for each connection, and would end when nobody reads them.
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    (sshd, port)
}

/// Makes the package of the extension that carries the program, as users get it; the program is the one under test, which writes
/// its debug log.
pub fn package_with_program(folder: &Path) -> std::path::PathBuf {
    let program = folder.join("adjutant");
    fs::write(&program, format!("#!/bin/sh\nexec '{SERVER}' --debug \"$@\"\n")).expect("write the program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("make it run");
    let package = folder.join("adjutant-linux-x64.vsix");
    let mut made = Command::new("python3");
    made.arg(shipped("packages/platform_vsix.py")).arg(installed("vscode-extension/adjutant.vsix"));
    let made =
        made.arg(program).arg(&package).status().expect("python3 is installed: run tests/editors/install.sh");
    assert!(made.success(), "make the package");
    package
}

#[test]
fn two_hosts_end_each_by_itself() {
    let stage = Stage::new("//- /shop.py\n", []);
    let first = Host::start(&stage);
    let second = Host::start(&stage);
    let (one, other) = (first.code, second.code);
    drop(first);
    assert!(!answers(one) && answers(other));
    drop(second);
    assert!(!answers(other));
}
