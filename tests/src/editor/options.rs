//! The capabilities and start options of an editor double.
//!
//! Never acts: it is data alone. A preset is a kind of client, not one editor or version.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant_protocol::capability::{
    ClientAgentCapabilities, ClientAsks, ClientDocuments, ClientReview, ClientUpdates, ClientWindow,
    ClientWorkspace, VERSION,
};
use serde_json::{Value, json};

use super::apply::ApplyBehaviour;
use super::position::Encoding;
use crate::fixture::{Workspace, uri_of_path};

/// The capabilities that the client announces.
#[derive(Clone, Debug, PartialEq)]
pub struct Capabilities {
    /// `experimental.agent`; a client without it is a plain client.
    pub agent: Option<ClientAgentCapabilities>,
    pub apply_edit: bool,
    /// Only the announcement: the double always supports `documentChanges`, as Neovim does.
    pub document_changes: bool,
    /// Makes, renames and deletes files.
    pub file_operations: bool,
    /// The encodings in order of preference. If empty, the client announces none, which means utf-16.
    pub encodings: Vec<Encoding>,
    pub progress: bool,
    pub show_document: bool,
    pub configuration: bool,
    /// Merged over the capabilities from the fields above.
    pub extra: Value,
}

impl Capabilities {
    /// Returns a rich client with every capability.
    pub fn full() -> Self {
        Self {
            agent: Some(ClientAgentCapabilities {
                version: VERSION,
                updates: ClientUpdates { chunks: true, opt_out: Vec::new() },
                asks: ClientAsks { request: true, ..ClientAsks::default() },
                documents: ClientDocuments { save: true, complete: true },
                review: ClientReview { hunks: true },
                overview: true,
                sessions: true,
                workspace: ClientWorkspace::default(),
                window: ClientWindow::default(),
            }),
            ..Self::plain()
        }
    }

    /// Returns an LSP editor without a plugin for Adjutant.
    pub fn plain() -> Self {
        Self {
            agent: None,
            apply_edit: true,
            document_changes: true,
            file_operations: true,
            encodings: vec![Encoding::Utf16],
            progress: true,
            show_document: true,
            configuration: true,
            extra: Value::Null,
        }
    }

    /// Returns a client that announces nothing.
    pub fn bare() -> Self {
        Self {
            apply_edit: false,
            document_changes: false,
            file_operations: false,
            encodings: Vec::new(),
            progress: false,
            show_document: false,
            configuration: false,
            ..Self::plain()
        }
    }

    /// Returns the same client with other encodings.
    pub fn with_encodings(self, encodings: &[Encoding]) -> Self {
        Self { encodings: encodings.to_vec(), ..self }
    }

    /// Returns the capabilities in the form of `initialize`.
    pub fn to_value(&self) -> Value {
        let mut workspace = json!({"workspaceFolders": true, "workspaceEdit": {}});
        if self.apply_edit {
            workspace["applyEdit"] = json!(true);
        }
        if self.configuration {
            workspace["configuration"] = json!(true);
        }
        if self.document_changes {
            workspace["workspaceEdit"]["documentChanges"] = json!(true);
        }
        if self.file_operations {
            workspace["workspaceEdit"]["resourceOperations"] = json!(["create", "rename", "delete"]);
        }
        let mut all = json!({
            "workspace": workspace,
            "textDocument": {
                "synchronization": {"didSave": true},
                "publishDiagnostics": {"dataSupport": true, "versionSupport": true},
            },
            "window": {
                "workDoneProgress": self.progress,
                "showDocument": {"support": self.show_document},
                "showMessage": {"messageActionItem": {"additionalPropertiesSupport": true}},
            },
        });
        if !self.encodings.is_empty() {
            let names: Vec<&str> = self.encodings.iter().map(|encoding| encoding.name()).collect();
            all["general"] = json!({"positionEncodings": names});
        }
        if let Some(agent) = &self.agent {
            all["experimental"] = json!({"agent": agent});
        }
        merge(&mut all, &self.extra);
        all
    }
}

fn merge(into: &mut Value, over: &Value) {
    match (into, over) {
        (_, Value::Null) => {}
        (Value::Object(into), Value::Object(over)) => {
            for (name, value) in over {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, over) => *into = over.clone(),
    }
}

/// The answer to a request that the client does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownRequests {
    #[default]
    MethodNotFound,
    /// The answer of eglot.
    NullAsSuccess,
}

/// The answer to a request to save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SaveBehaviour {
    #[default]
    Faithful,
    Refuse(String),
    SaySavedDoNothing,
    /// A formatter replaces this text by the other one wherever it stands, and then the editor saves.
    Format(String, String),
    /// The file becomes a folder while the editor saves it.
    SaySavedLeaveFolder,
}

/// The answer to `window/showMessageRequest`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Popups {
    /// The user sees the popup; `Editor::press` answers.
    #[default]
    Shown,
    /// The editor does not know the method, as Helix before 25.07.
    Unknown,
    /// The editor closes the popup at once, as an editor in batch mode does.
    Null,
}

/// The answer to `window/workDoneProgress/create`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokens {
    #[default]
    Created,
    Refused,
    NeverAnswered,
}

/// The rule for the sum of the chunks of an item (S14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chunks {
    /// They are the begin of the item: a server may withhold the rest from a slow reader.
    #[default]
    Prefix,
    /// They are the whole item, or there are none.
    Equal,
}

/// The start options of an editor double.
#[derive(Clone)]
pub struct Options {
    pub root: PathBuf,
    /// The name in `clientInfo`.
    pub name: String,
    pub capabilities: Capabilities,
    pub initialization_options: Value,
    /// The answer to `workspace/configuration` for the section `adjutant`.
    pub settings: Value,
    pub apply: ApplyBehaviour,
    pub save: SaveBehaviour,
    pub unknown_requests: UnknownRequests,
    pub popups: Popups,
    pub tokens: Tokens,
    pub chunks: Chunks,
    /// The version of a document at its opening.
    pub first_version: i64,
    /// The longest wait for something that must happen.
    pub deadline: Duration,
    /// Further text for the report of a failed wait, usually the server's stderr.
    pub also_show: Option<Arc<dyn Fn() -> String + Send + Sync>>,
}

impl Options {
    /// Returns a rich client in a workspace.
    pub fn new(workspace: &Workspace) -> Self {
        Self::at(workspace.path())
    }

    /// Returns a rich client in a folder.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            name: "adjutant-testkit".to_owned(),
            capabilities: Capabilities::full(),
            initialization_options: Value::Null,
            settings: Value::Null,
            apply: ApplyBehaviour::default(),
            save: SaveBehaviour::default(),
            unknown_requests: UnknownRequests::default(),
            popups: Popups::default(),
            tokens: Tokens::default(),
            chunks: Chunks::default(),
            first_version: 1,
            deadline: Duration::from_secs(10),
            also_show: None,
        }
    }

    /// Returns the same editor with other capabilities.
    pub fn capabilities(self, capabilities: Capabilities) -> Self {
        Self { capabilities, ..self }
    }

    /// Returns the same editor with another behaviour for edits.
    pub fn apply(self, apply: ApplyBehaviour) -> Self {
        Self { apply, ..self }
    }

    pub(super) fn initialize_params(&self) -> Value {
        let root = uri_of_path(&self.root);
        let name = self.root.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut params = json!({
            "processId": std::process::id(),
            "clientInfo": {"name": self.name, "version": env!("CARGO_PKG_VERSION")},
            "rootUri": root,
            "workspaceFolders": [{"uri": root, "name": name.unwrap_or_default()}],
            "capabilities": self.capabilities.to_value(),
        });
        if !self.initialization_options.is_null() {
            params["initializationOptions"] = self.initialization_options.clone();
        }
        params
    }
}
