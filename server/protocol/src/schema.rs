//! Generates JSON Schema, TypeScript and the Markdown tables from the types.
//!
//! Never writes a file; a test compares the result with `docs/protocol/`.

use schemars::SchemaGenerator;
use ts_rs::TS;

use crate::methods::{Direction, METHODS};
use crate::update::Update;
use crate::{
    ask, capability, commands, complete, config, context, doctor, document, errors, history, ids, items,
    model, operation, option, origin, overview, plan, problem, review, rewind, session, setup, start, state,
    update,
};

macro_rules! wire_types {
    ($visit:ident) => {
        $visit!(
            capability::ClientAgentCapabilities,
            capability::ClientUpdates,
            capability::ClientAsks,
            capability::ClientDocuments,
            capability::ClientReview,
            capability::ClientWorkspace,
            capability::ServerAgentCapabilities,
            capability::PromptCapabilities,
            capability::ServerLimits,
            origin::Position,
            origin::Range,
            origin::Origin,
            option::ConfigId,
            option::ConfigKind,
            option::ConfigOption,
            option::ConfigValue,
            option::ConfigChange,
            option::ConfigScope,
            option::SetConfigOptionParams,
            option::SetConfigOptionResult,
            model::ModelListParams,
            model::ModelListResult,
            model::ModelView,
            session::NewSessionParams,
            session::NewSessionResult,
            session::ContentBlock,
            session::Delivery,
            session::Mode,
            session::Overrides,
            session::PromptParams,
            session::PromptResult,
            session::Disposition,
            session::WaitParams,
            session::WaitStatus,
            session::WaitResult,
            session::RunEnd,
            session::RunEdits,
            session::UsageView,
            session::ContextUsage,
            session::SpentView,
            session::CostView,
            session::CancelParams,
            session::ReplayFrom,
            session::ResumeParams,
            session::ResumeResult,
            items::ItemsParams,
            items::ItemsResult,
            items::ItemReadParams,
            items::ItemReadResult,
            history::PromptHistoryParams,
            history::PromptHistoryResult,
            history::PastPrompt,
            complete::PromptCompleteParams,
            complete::PromptCompleteResult,
            complete::PromptItem,
            complete::PromptItemKind,
            session::SessionListParams,
            session::SessionListResult,
            session::SessionEntry,
            session::SessionChangedParams,
            session::SessionRenameParams,
            session::SessionForkParams,
            session::SessionForkResult,
            session::SessionParams,
            context::SessionContextParams,
            context::SessionContextResult,
            context::ContextSection,
            context::ContextLifetime,
            context::ContextTool,
            context::SessionCompactResult,
            session::Done,
            start::StartParams,
            start::Template,
            problem::StartDiagnostic,
            problem::DiagnosticCode,
            problem::DocumentDiagnostics,
            start::StartResult,
            commands::PromptArguments,
            commands::SendArguments,
            commands::CancelArguments,
            commands::RespondArguments,
            commands::ShowArguments,
            commands::SessionArguments,
            commands::ReviewArguments,
            commands::UndoRunArguments,
            commands::ChosenHunks,
            state::StateView,
            state::State,
            state::SubState,
            state::RequiredAction,
            state::StopReason,
            state::Outcome,
            ask::AskKind,
            ask::AskGroup,
            ask::AskSubject,
            ask::OptionKind,
            ask::AskOption,
            ask::AskView,
            ask::PermissionResponse,
            ask::PermissionOutcome,
            ask::AskListParams,
            ask::AskListResult,
            ask::AskRespondParams,
            ask::RespondStatus,
            ask::AskRespondResult,
            ask::Resolution,
            ask::AskResolvedParams,
            update::SessionUpdateParams,
            update::Update,
            config::ConfigSchemaParams,
            config::ConfigSchemaResult,
            doctor::DoctorParams,
            doctor::DoctorResult,
            doctor::Check,
            doctor::Health,
            doctor::Cure,
            setup::SetupProvidersParams,
            setup::SetupProvidersResult,
            setup::SetupProvider,
            setup::SetupParams,
            setup::SetupKey,
            setup::SetupTryResult,
            setup::SetupWriteResult,
            overview::Overview,
            overview::Detail,
            overview::OverviewKind,
            overview::OverviewRun,
            plan::PlanEntry,
            plan::PlanStatus,
            update::ImageView,
            ask::EditedFile,
            review::ReviewListParams,
            review::StagedParams,
            review::ReviewListResult,
            review::ReviewHunk,
            review::HunkName,
            review::AwayPlace,
            review::FormattedFile,
            review::KeptBy,
            review::UndoneBy,
            review::ReviewCommentParams,
            review::ReviewCommentResult,
            review::ReviewSendParams,
            review::MadeBy,
            review::ReviewUpdateParams,
            review::ReviewAction,
            review::ReviewTarget,
            review::ReviewDecideParams,
            review::ReviewDecideResult,
            rewind::PreviewParams,
            rewind::RewindPreview,
            rewind::FilePreview,
            rewind::LeftHunks,
            rewind::RewindChoice,
            rewind::RewindParams,
            review::DecidedHunk,
            review::ReviewDiffParams,
            review::ReviewDiffResult,
            review::LeftOutFile,
            review::ReviewBaseParams,
            review::ReviewBaseResult,
            ask::UnsavedDocument,
            update::ToolStatus,
            update::ToolKind,
            update::FileLocation,
            update::ToolCallView,
            update::TurnView,
            update::CacheBreak,
            update::CompactionView,
            update::CompactionKind,
            update::CompactionStatus,
            update::TurnPhase,
            update::FailureKind,
            update::RunView,
            update::AskChange,
            update::HunkState,
            operation::FileOperation,
            update::ChangeSetView,
            update::HunkView,
            document::DocumentSaveParams,
            document::DocumentSaveResult,
            document::SavedDocument,
            document::WindowReachParams,
            document::WindowReachResult,
            capability::ClientWindow,
            errors::ErrorName,
            errors::ErrorDetail
        )
    };
}

/// Returns the JSON Schema of every type on the wire, pretty-printed.
pub fn json_schema() -> String {
    let mut generator = SchemaGenerator::default();
    macro_rules! each {
        ($($type:ty),*) => { $( let _ = generator.subschema_for::<$type>(); )* };
    }
    wire_types!(each);
    let definitions = generator.take_definitions(true);
    let root = serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Adjutant wire protocol, version 0",
        "$defs": definitions,
    });
    let mut text = serde_json::to_string_pretty(&root).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns TypeScript declarations of every type on the wire.
pub fn typescript() -> String {
    let config = ts_rs::Config::default();
    let mut text =
        String::from("// Generated from server/protocol; docs/testing.md says how to generate it again.\n");
    macro_rules! each {
        ($($type:ty),*) => { $(
            text.push_str("\nexport ");
            for line in <$type as TS>::decl(&config).lines() {
                text.push_str(line.trim_end());
                text.push('\n');
            }
        )* };
    }
    wire_types!(each);
    for id in ids::NAMES {
        text.push_str(&format!("\nexport type {id} = string;\n"));
    }
    text
}

/// Returns the generated tables of `docs/protocol.md`.
pub fn tables() -> String {
    let mut text = String::from(
        "### Methods\n\n| method | direction | params | result | meaning |\n|---|---|---|---|---|\n",
    );
    for method in METHODS {
        let direction = match method.direction {
            Direction::ClientRequest => "client → server, request",
            Direction::ClientNotification => "client → server, notification",
            Direction::ServerRequest => "server → client, request",
            Direction::ServerNotification => "server → client, notification",
        };
        let result = if method.result.is_empty() { "–".to_owned() } else { format!("`{}`", method.result) };
        text.push_str(&format!(
            "| `{}` | {direction} | `{}` | {result} | {} |\n",
            method.name, method.params, method.meaning
        ));
    }
    text.push_str("\n### Commands\n\n| command | object | strings are | meaning |\n|---|---|---|---|\n");
    for command in commands::COMMANDS {
        let is_prose = command.object.contains(' ');
        let object = if is_prose { command.object.to_owned() } else { format!("`{}`", command.object) };
        text.push_str(&format!(
            "| `{}` | {object} | {} | {} |\n",
            command.name, command.strings, command.meaning
        ));
    }
    text.push_str("\n### Update kinds\n\n| kind | nature |\n|---|---|\n");
    for (kind, lasting) in Update::KINDS {
        let nature = match (kind, lasting) {
            ("state_update", _) => "lasting, but ephemeral if it has a `sub`",
            (_, true) => "lasting: logged, numbered, replayed",
            (_, false) => "ephemeral: never replayed",
        };
        text.push_str(&format!("| `{kind}` | {nature} |\n"));
    }
    text.push_str("\n### Ask kinds\n\n| kind | group |\n|---|---|\n");
    for kind in ask::AskKind::ALL {
        text.push_str(&format!("| `{}` | {} |\n", name_of(&kind), name_of(&kind.group())));
    }
    text.push_str("\n### Errors\n\n| code | name | retry | when |\n|---|---|---|---|\n");
    for error in errors::ErrorName::ALL {
        let retry = if error.retryable() { "yes" } else { "no" };
        text.push_str(&format!("| {} | {error:?} | {retry} | {} |\n", error.code(), error.meaning()));
    }
    text
}

fn name_of(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}
