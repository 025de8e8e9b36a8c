//! What can be started at a place: the fixed verbs.
//!
//! Never reads more than the range and the diagnostics that the client sent, and the open document.

use adjutant_core::text::display::one_line;
use adjutant_core::wire::start::touches_comment;
use adjutant_protocol::commands::START;
use adjutant_protocol::origin;
use adjutant_protocol::start::{DiagnosticCode, StartDiagnostic, StartParams, Template};
use serde_json::json;
use tower_lsp::ls_types::{self, CodeActionParams, CodeActionTriggerKind, Diagnostic, NumberOrString};

use super::{ActionOffer, FIX, MAX_TITLE, REWRITE, Trigger, is_from_adjutant};
use crate::agent::Agent;
use crate::documents::Text;
use crate::session::quotable::{NO_FILE, NO_FOLDER, OUTSIDE};
use crate::uri;

/// Diagnostics that one action carries.
const MAX_DIAGNOSTICS: usize = 10;
/// Characters of a message that it carries.
const MAX_MESSAGE: usize = 500;

pub(super) fn offered(agent: &Agent, params: &CodeActionParams, trigger: Trigger) -> Vec<ActionOffer> {
    let explicit = trigger == Trigger::Invoked;
    let uri = params.text_document.uri.as_str();
    let documents = &agent.sessions.world().documents;
    // The tools cannot work outside the folders. The list shows why if the client says that its user
    // asked for it. In other clients that would be a light bulb on every line.
    if !uri::to_path(uri).is_ok_and(|path| documents.is_in_folder(&path)) {
        let invoked = params.context.trigger_kind == Some(CodeActionTriggerKind::INVOKED);
        return if invoked { vec![nothing(agent, uri)] } else { Vec::new() };
    }
    let foreign = params.context.diagnostics.iter().filter(|one| !is_from_adjutant(one));
    let problems: Vec<&Diagnostic> = foreign.take(MAX_DIAGNOSTICS).collect();
    let range = range_of(&params.range);
    let make = |template: Template, title: String, kind| {
        let about = match template {
            Template::Fix | Template::Explain => problems.as_slice(),
            Template::WriteTests | Template::Comment => &[],
        };
        let start = StartParams {
            template: Some(template),
            uri: Some(uri.to_owned()),
            range: Some(range),
            diagnostics: about.iter().map(|one| carried(one)).collect(),
            ..StartParams::default()
        };
        let diagnostics =
            if kind == FIX { about.iter().map(|one| (*one).clone()).collect() } else { Vec::new() };
        ActionOffer {
            title,
            kind,
            command: START,
            argument: json!(start),
            edit: None,
            generated: false,
            diagnostics,
            disabled: None,
        }
    };
    let mut offered = Vec::new();
    match problems.as_slice() {
        [] => {}
        [one] => offered.push(make(Template::Fix, title("Fix", &one.message), FIX)),
        many => {
            offered.push(make(Template::Fix, format!("Adjutant: Fix these {} problems", many.len()), FIX))
        }
    }
    match problems.first() {
        Some(first) => offered.push(make(Template::Explain, title("Explain", &first.message), FIX)),
        None if explicit => offered.push(make(Template::Explain, "Adjutant: Explain".to_owned(), REWRITE)),
        None => {}
    }
    if explicit {
        offered.push(make(Template::WriteTests, "Adjutant: Write tests".to_owned(), REWRITE));
    }
    if trigger != Trigger::Automatic {
        let place = range.into();
        let commented = match documents.under(uri) {
            Text::Open(snapshot) => touches_comment(&snapshot.text, place, uri),
            Text::Unsynced(_) | Text::Closed => false,
        };
        if commented {
            let says = "Adjutant: Do what this comment says".to_owned();
            offered.push(make(Template::Comment, says, REWRITE));
        }
    }
    offered
}

/// Returns a disabled action that says why nothing can be started at a document.
fn nothing(agent: &Agent, uri: &str) -> ActionOffer {
    let folders = agent.configured.folders();
    let why = match (uri.starts_with("file:"), folders.is_empty()) {
        (false, _) => NO_FILE,
        (true, true) => NO_FOLDER,
        (true, false) => OUTSIDE,
    };
    let start = StartParams {
        template: Some(Template::Explain),
        uri: Some(uri.to_owned()),
        ..StartParams::default()
    };
    ActionOffer {
        title: format!("Adjutant: Explain: {why}"),
        kind: REWRITE,
        command: START,
        argument: json!(start),
        edit: None,
        generated: false,
        diagnostics: Vec::new(),
        disabled: Some(why.to_owned()),
    }
}

fn title(verb: &str, message: &str) -> String {
    format!("Adjutant: {verb}: {}", one_line(message, MAX_TITLE / 2))
}

fn range_of(range: &ls_types::Range) -> origin::Range {
    let place = |at: ls_types::Position| origin::Position { line: at.line, character: at.character };
    origin::Range { start: place(range.start), end: place(range.end) }
}

/// Returns a short form of a diagnostic, because it travels to the client and back.
fn carried(diagnostic: &Diagnostic) -> StartDiagnostic {
    let severity = diagnostic.severity.and_then(|severity| serde_json::to_value(severity).ok());
    StartDiagnostic {
        message: diagnostic.message.chars().take(MAX_MESSAGE).collect(),
        range: Some(range_of(&diagnostic.range)),
        severity: severity.and_then(|severity| u8::try_from(severity.as_u64()?).ok()),
        source: diagnostic.source.as_ref().map(|source| one_line(source, MAX_TITLE)),
        code: diagnostic.code.as_ref().map(|code| match code {
            NumberOrString::Number(number) => DiagnosticCode::Number(*number),
            NumberOrString::String(name) => DiagnosticCode::Name(one_line(name, MAX_TITLE)),
        }),
    }
}
