//! What a client of LSP can do, and which surface is used for each feature.
//!
//! Read once from the `initialize` request. The printed table is made from the same
//! values that the client link uses. Never asks a client anything.

use std::collections::BTreeMap;

use adjutant_core::policy::observation::EditRoute;
use adjutant_core::text::position::Encoding;
use adjutant_protocol::capability::ClientAgentCapabilities;
use adjutant_protocol::methods;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::client::surfaces::Surfaces;
use crate::editor::Abilities;

/// Names of clients whose popups cannot be answered: one locks, the other chooses the first button.
const WITHOUT_ANSWERS: [&str; 2] = ["Qt Creator", "vim-lsp"];
/// Names of clients whose popups are notifications of one line: VS Code and its forks. A version or an
/// edition may follow, as in *Visual Studio Code - Insiders*.
const OF_ONE_LINE: [&str; 6] =
    ["Visual Studio Code", "Code - OSS", "VSCodium", "code-server", "Cursor", "Windsurf"];

impl Surfaces {
    /// Reads `ClientCapabilities` of the client with this name and version. Fails only if `experimental.agent` is
    /// wrong, and names the path of the wrong field.
    pub fn of(client: &Value, name: Option<&str>, version: Option<&str>) -> Result<Self, String> {
        let is_one_of = |names: &[&str]| name.is_some_and(|name| names.iter().any(|one| begins(name, one)));
        let agent = agent(client)?;
        let is = |path: &str| client.pointer(path) == Some(&Value::Bool(true));
        let has = |path: &str| client.pointer(path).is_some_and(|value| !value.is_null());
        let operations =
            client.pointer("/workspace/workspaceEdit/resourceOperations").and_then(Value::as_array);
        let does = |kind: &str| operations.is_some_and(|kinds| kinds.iter().any(|one| one == kind));
        let request = agent.as_ref().is_some_and(|agent| agent.asks.request);
        let agent = agent.map(Surfaces::of_methods).unwrap_or_default();
        Ok(Self {
            // A client that gets asks as requests shows them itself, and one surface for a question is enough.
            popup: !request && !is_one_of(&WITHOUT_ANSWERS),
            popup_announced: has("/window/showMessage"),
            popup_line: agent.popup_line || is_one_of(&OF_ONE_LINE),
            item_properties: is("/window/showMessage/messageActionItem/additionalPropertiesSupport"),
            progress: is("/window/workDoneProgress"),
            show_document: is("/window/showDocument/support"),
            diagnostics: !request,
            diagnostic_data: is("/textDocument/publishDiagnostics/dataSupport"),
            diagnostic_version: is("/textDocument/publishDiagnostics/versionSupport"),
            code_actions: has("/textDocument/codeAction"),
            action_literals: has("/textDocument/codeAction/codeActionLiteralSupport"),
            action_disabled: is("/textDocument/codeAction/disabledSupport"),
            hover: has("/textDocument/hover") && !(is_one_of(&["Neovim"]) && shows_one_hover(version)),
            hover_markdown: client
                .pointer("/textDocument/hover/contentFormat")
                .and_then(Value::as_array)
                .is_some_and(|formats| formats.iter().any(|format| format == "markdown")),
            lenses: has("/textDocument/codeLens") && !agent.hunks,
            lens_refresh: is("/workspace/codeLens/refreshSupport")
                && has("/textDocument/codeLens")
                && !agent.hunks,
            annotations: has("/workspace/workspaceEdit/changeAnnotationSupport"),
            configuration: is("/workspace/configuration"),
            register_configuration: is("/workspace/didChangeConfiguration/dynamicRegistration"),
            // Neovim would take it for the completion of every buffer, in place of the one that the file type has.
            completion: has("/textDocument/completion") && !is_one_of(&["Neovim"]),
            register_completion: is("/textDocument/completion/dynamicRegistration"),
            register_files: is("/workspace/didChangeWatchedFiles/dynamicRegistration"),
            abilities: Abilities {
                apply_edit: is("/workspace/applyEdit"),
                document_changes: is("/workspace/workspaceEdit/documentChanges"),
                edit_unknown: false,
                delete_files: does("delete"),
                rename_files: does("rename"),
                action_edits: has("/textDocument/codeAction/codeActionLiteralSupport"),
                ..agent.abilities
            },
            encoding: encoding(client),
            ..agent
        })
    }

    /// Returns the surface that is used for each feature (N19).
    pub fn table(&self) -> BTreeMap<String, String> {
        let none = || NONE.to_owned();
        let rows = [
            ("asks", self.asks()),
            ("cancel", self.cancel()),
            ("closed files", self.closed_files().to_owned()),
            ("edits", self.edits().to_owned()),
            ("encoding", self.encoding.name().to_owned()),
            ("hover", self.explained().to_owned()),
            ("progress", if self.progress { "window/workDoneProgress".to_owned() } else { none() }),
            ("review", self.review()),
            (
                "save",
                if self.abilities.save { methods::DOCUMENT_SAVE } else { "left to the user" }.to_owned(),
            ),
            ("settings", self.settings().to_owned()),
            ("start", self.start()),
            ("transcript", self.transcript().to_owned()),
            ("updates", self.message()),
        ];
        rows.into_iter().map(|(feature, surface)| (feature.to_owned(), surface)).collect()
    }

    /// Returns the table as text, one line for each feature.
    pub fn text(&self) -> String {
        let table = self.table();
        let width = table.keys().map(String::len).max().unwrap_or(0);
        table.iter().map(|(feature, surface)| format!("{feature:width$}  {surface}\n")).collect()
    }

    /// Returns all surfaces for asks: the first answer counts, from any of them.
    fn asks(&self) -> String {
        let surfaces = [
            (self.asks_by_request, methods::REQUEST_PERMISSION),
            (self.popup && self.popup_announced, "window/showMessageRequest"),
            (self.popup && !self.popup_announced, "window/showMessageRequest until it is refused"),
            (self.diagnostics, "textDocument/publishDiagnostics"),
            (self.code_actions, "code actions"),
            (self.updates, methods::ASK_RESPOND),
        ];
        listed(&surfaces)
    }

    fn cancel(&self) -> String {
        listed(&[
            (self.updates, methods::SESSION_CANCEL),
            (self.progress, "the progress, where the client can"),
            (self.code_actions, "a code action"),
            (true, "the command adjutant.cancel"),
        ])
    }

    fn closed_files(&self) -> &'static str {
        match self.abilities.way(false, true, false) {
            EditRoute::Editor => "workspace/applyEdit",
            EditRoute::Disk => "on disk",
            EditRoute::DiskIfSaved => "on disk, asked each time",
            EditRoute::Action | EditRoute::Nowhere => NONE,
        }
    }

    fn edits(&self) -> &'static str {
        match (self.abilities.apply_edit, self.action_literals) {
            (true, _) => "workspace/applyEdit",
            (false, true) => "workspace/applyEdit until it is refused, then code actions",
            (false, false) => "workspace/applyEdit until it is refused",
        }
    }

    fn explained(&self) -> &'static str {
        match (self.hover, self.hunks) {
            (true, false) => "changes to review and kept ones",
            // The client explains the changes that it draws.
            (true, true) => "kept changes",
            (false, _) => NONE,
        }
    }

    /// Returns all surfaces for applied changes that nobody has looked at.
    fn review(&self) -> String {
        listed(&[
            (self.hunks, methods::REVIEW_UPDATE),
            (self.diagnostics, "textDocument/publishDiagnostics"),
            (self.code_actions, "code actions"),
            (self.lenses, "code lenses"),
            (true, "the command adjutant.review"),
        ])
    }

    fn settings(&self) -> &'static str {
        match (self.configuration, self.register_configuration) {
            (true, _) => "workspace/configuration",
            (false, true) => "initializationOptions, workspace/didChangeConfiguration once registered",
            (false, false) => "initializationOptions, workspace/didChangeConfiguration",
        }
    }

    fn start(&self) -> String {
        listed(&[
            (self.updates, methods::SESSION_PROMPT),
            (self.code_actions, "code actions"),
            (true, "the command adjutant.start"),
        ])
    }

    fn transcript(&self) -> &'static str {
        match (self.updates, self.show_document) {
            (true, _) => "the client's own",
            (false, true) => "a file, opened by window/showDocument",
            (false, false) => "a file, named by window/showMessage",
        }
    }

    fn message(&self) -> String {
        match (self.updates, self.chunks) {
            (true, true) => format!("{}, text while it streams", methods::SESSION_UPDATE),
            (true, false) => format!("{}, whole items", methods::SESSION_UPDATE),
            (false, _) => NONE.to_owned(),
        }
    }
}

/// Whether this version of Neovim shows only the last of several hovers, and says of an empty one that there is none: up to 0.10.
fn shows_one_hover(version: Option<&str>) -> bool {
    let mut numbers = version.unwrap_or_default().split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(0)), Some(Ok(minor))) => minor < 11,
        _ => false,
    }
}

/// Whether a name is `with`, alone or before other words.
fn begins(name: &str, with: &str) -> bool {
    let rest = name.get(..with.len()).filter(|start| start.eq_ignore_ascii_case(with));
    rest.is_some() && !name[with.len()..].starts_with(char::is_alphanumeric)
}

fn listed(surfaces: &[(bool, &str)]) -> String {
    let there: Vec<&str> = surfaces.iter().filter(|(there, _)| *there).map(|(_, name)| *name).collect();
    there.join("; ")
}

const NONE: &str = "none";

/// Reads `experimental.agent`; `None` means a plain client.
fn agent(client: &Value) -> Result<Option<ClientAgentCapabilities>, String> {
    let Some(said) = client.pointer("/experimental/agent").filter(|said| !said.is_null()) else {
        return Ok(None);
    };
    serde_json::from_value(said.clone()).map(Some).map_err(|error| {
        let path = wrong::<ClientAgentCapabilities>(said, &|whole| whole);
        format!("capabilities.experimental.agent{path}: {error}")
    })
}

/// Returns the path of the first field that alone makes the whole unreadable. Every field may be left
/// out, so a wrong one fails on its own.
fn wrong<T: DeserializeOwned>(value: &Value, whole: &dyn Fn(Value) -> Value) -> String {
    let Value::Object(fields) = value else { return String::new() };
    for (name, field) in fields {
        let with = |field: Value| whole(Value::Object(Map::from_iter([(name.clone(), field)])));
        if serde_json::from_value::<T>(with(field.clone())).is_err() {
            return format!(".{name}{}", wrong::<T>(field, &with));
        }
    }
    String::new()
}

/// Returns the client's first choice of encoding, or utf-16 if it names none (design 11).
fn encoding(client: &Value) -> Encoding {
    let offered = client.pointer("/general/positionEncodings").and_then(Value::as_array);
    offered
        .into_iter()
        .flatten()
        .find_map(|name| Encoding::from_name(name.as_str()?))
        .unwrap_or(Encoding::Utf16)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finding_d2_every_edition_of_a_client_is_known() {
        let of = |name: &str| {
            let surfaces = Surfaces::of(&json!({}), Some(name), None).unwrap_or_else(|why| panic!("{why}"));
            (surfaces.popup_line, surfaces.popup)
        };
        for name in [
            "Visual Studio Code",
            "Visual Studio Code - Insiders",
            "VSCodium - Insiders",
            "Code - OSS",
            "code-server",
            "Cursor",
            "Windsurf",
            "Windsurf - Next",
        ] {
            assert_eq!(of(name), (true, true), "{name}");
        }
        for name in ["Qt Creator", "Qt Creator 9.0.2", "vim-lsp"] {
            assert_eq!(of(name), (false, false), "{name}");
        }
        for name in ["Neovim", "Cursorless", "vim-lspx", "Code", "é"] {
            assert_eq!(of(name), (false, true), "{name}");
        }
    }
}
