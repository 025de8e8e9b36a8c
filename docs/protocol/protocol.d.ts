// Generated from server/protocol; the drift test says how to renew it.

export type ClientAgentCapabilities = { version?: number, updates?: ClientUpdates, asks?: ClientAsks, documents?: ClientDocuments, };

export type ClientUpdates = {
/**
 * Wants text while it streams, not only finished items.
 */
chunks?: boolean,
/**
 * Update kinds never to be sent.
 */
optOut?: Array<string>, };

export type ClientAsks = {
/**
 * Answers `agent/session/request_permission`.
 */
request?: boolean,
/**
 * Shows the text of a popup as one line; what has several lines is then not allowed from there
 * before it was shown.
 */
popupLine?: boolean, };

export type ClientDocuments = {
/**
 * Answers `agent/document/save`.
 */
save?: boolean,
/**
 * Announces every open text document, so that a file without `didOpen` is not open.
 */
complete?: boolean, };

export type ServerAgentCapabilities = { version: number, sessionMethods: Array<string>, updateKinds: Array<string>, modes: Array<string>, promptCapabilities: PromptCapabilities,
/**
 * Feature to the surface chosen for this client (N19).
 */
fallbacks: { [key in string]: string }, limits: ServerLimits, };

export type PromptCapabilities = {
/**
 * Whether images are taken where the model takes them.
 */
image: boolean, };

export type ServerLimits = {
/**
 * Of the text of a prompt.
 */
maxPromptBytes: number,
/**
 * Images of one prompt.
 */
maxImages: number,
/**
 * Of one image, before base64.
 */
maxImageBytes: number,
/**
 * Of all images of one prompt, in base64.
 */
maxImagesEncodedBytes: number,
/**
 * Requests one session keeps waiting before it answers `Overloaded`.
 */
maxQueue: number, };

export type Position = { line: number, character: number, };

export type Range = { start: Position, end: Position, };

export type Origin = { uri: string, range?: Range, };

export type ConfigId = "mode" | "model" | "effort" | "verbosity";

export type ConfigKind = "select";

export type ConfigOption = { id: ConfigId, name: string,
/**
 * `mode`, `model`, `thought_level` or `_verbosity`: a client may draw a picker of its own for each.
 */
category: string, type: ConfigKind, currentValue: string, options: Array<ConfigValue>, };

export type ConfigValue = { value: string, name: string, description?: string, };

export type ConfigChange = { configId: ConfigId,
/**
 * Absent where nothing was chosen before.
 */
from?: string, to: string, };

export type SetConfigOptionParams = { sessionId: SessionId, configId: ConfigId, value: string, };

export type SetConfigOptionResult = {
/**
 * All options, with what they are now.
 */
configOptions: Array<ConfigOption>, };

export type ModelListParams = Record<symbol, never>;

export type ModelListResult = {
/**
 * Those of the settings, the one that new sessions start with first. Any other model of a
 * configured provider can be set by its name.
 */
models: Array<ModelView>, };

export type ModelView = {
/**
 * `provider/model`.
 */
model: string,
/**
 * Tokens it reads.
 */
contextWindow: number,
/**
 * Tokens one reply may have.
 */
maxOutputTokens: number,
/**
 * What it takes as `effort`; nothing where it is not known to take any.
 */
efforts: Array<string>,
/**
 * What it takes as `verbosity`; likewise.
 */
verbosities: Array<string>,
/**
 * Whether it is known to read images.
 */
images: boolean,
/**
 * Whether the numbers are known; else they are stated defaults, or the settings'.
 */
known: boolean,
/**
 * Why it cannot be used now, and what to set.
 */
unavailable?: string, };

export type NewSessionParams = {
/**
 * A `file:` URI; the workspace folders count where it is absent.
 */
cwd?: string, };

export type NewSessionResult = { sessionId: SessionId, configOptions: Array<ConfigOption>, };

export type ContentBlock = { "type": "text", text: string, } | { "type": "image",
/**
 * `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
 */
mimeType: string,
/**
 * Base64, with padding.
 */
data: string, };

export type Delivery = "auto" | "steer" | "followup" | "collect" | "interrupt";

export type Mode = "code" | "ask";

export type Overrides = {
/**
 * `provider/model`.
 */
model?: string, mode?: Mode,
/**
 * How much the model thinks: `low`, `medium` or `high`; nothing leaves it to the provider.
 */
effort?: string,
/**
 * How many words the model makes: `low`, `medium` or `high`, likewise.
 */
verbosity?: string,
/**
 * Consent: the run may do what `[unattended]` allows without asking.
 */
unattended?: boolean, };

export type PromptParams = { sessionId: SessionId, prompt: Array<ContentBlock>, delivery?: Delivery,
/**
 * Refuses with `RunMismatch` unless this is the open run.
 */
expectedRunId?: RunId,
/**
 * Where in the workspace the user was; its asks are shown there.
 */
origin?: Origin, overrides?: Overrides,
/**
 * Same key and body: the first result again.
 */
key?: string, };

export type PromptResult = { runId: RunId,
/**
 * Milliseconds since the Unix epoch.
 */
acceptedAt: number, disposition: Disposition, };

export type Disposition = "started" | "steered";

export type WaitParams = { sessionId: SessionId, runId: RunId,
/**
 * How long the answer may take; never how long the run may.
 */
timeoutMs?: number, };

export type WaitStatus = "ok" | "error" | "cancelled" | "timeout";

export type WaitResult = { status: WaitStatus,
/**
 * When the run started, in milliseconds since the Unix epoch.
 */
startedAt: number, ended?: RunEnd, };

export type RunEnd = {
/**
 * Milliseconds since the Unix epoch.
 */
endedAt: number, outcome: Outcome, stopReason: StopReason, summary?: string, usage: UsageView,
/**
 * Model calls answered or given up.
 */
turns: number, };

export type UsageView = { inputTokens: number, outputTokens: number, cacheReadTokens: number, cacheWriteTokens: number, };

export type CancelParams = { sessionId: SessionId,
/**
 * Cancels only this run; without it, whichever is open.
 */
runId?: RunId, };

export type ReplayFrom = { "type": "start" } | { "type": "_seq", seq: number, };

export type ResumeParams = { sessionId: SessionId, replayFrom?: ReplayFrom,
/**
 * Consent: from now on the open run may do what `[unattended]` allows without asking. Consent of an earlier process is never taken over.
 */
unattended?: boolean, };

export type ResumeResult = { state: StateView,
/**
 * Number of the last update.
 */
seq: number, title: string,
/**
 * Of the open run, else of the next.
 */
mode: Mode,
/**
 * Of the open run.
 */
model?: string, configOptions: Array<ConfigOption>,
/**
 * The number of `replayFrom` lies beyond the last update: nothing is told again.
 */
gap?: boolean, asks: Array<AskView>,
/**
 * What was found wrong with the log, if anything.
 */
notices: Array<string>, };

export type SessionListParams = {
/**
 * Only sessions of this workspace folder, a `file:` URI.
 */
cwd?: string,
/**
 * Only sessions whose title has this text, in whatever case.
 */
query?: string,
/**
 * Goes on where a page ended: its `nextCursor`.
 */
cursor?: string, };

export type SessionListResult = {
/**
 * Newest first, at most 100.
 */
sessions: Array<SessionEntry>,
/**
 * There are more.
 */
nextCursor?: string, };

export type SessionEntry = { sessionId: SessionId, title: string,
/**
 * The first workspace folder, a `file:` URI.
 */
cwd: string, state: State,
/**
 * Of the last record of its log; milliseconds since the Unix epoch.
 */
updatedAt: number, openAsks: number, turns: number,
/**
 * What is wrong with its log, where something is.
 */
damaged?: string, };

export type SessionParams = { sessionId: SessionId, };

export type Done = Record<symbol, never>;

export type StartParams = {
/**
 * Absent: a new session.
 */
sessionId?: SessionId, template?: Template,
/**
 * A `file:` URI in the workspace.
 */
uri?: string,
/**
 * In the encoding that was agreed.
 */
range?: Range, diagnostics?: Array<StartDiagnostic>,
/**
 * The name of what the range is in: a function, a type.
 */
symbol?: string,
/**
 * What is to be done, or what the user adds to the template.
 */
text?: string,
/**
 * Same key and body: the first result again.
 */
key?: string, };

export type Template = "fix" | "explain" | "write_tests" | "comment";

export type StartDiagnostic = { message: string, range?: Range,
/**
 * As in LSP: 1 is an error, 4 a hint.
 */
severity?: number, source?: string, code?: DiagnosticCode, };

export type DiagnosticCode = number | string;

export type StartResult = { sessionId: SessionId, runId: RunId,
/**
 * Milliseconds since the Unix epoch.
 */
acceptedAt: number, disposition: Disposition, };

export type PromptArguments = { text: string, sessionId?: SessionId, };

export type CancelArguments = { sessionId?: SessionId, runId?: RunId,
/**
 * Every open run, or every one of `sessionId`.
 */
all?: boolean, };

export type RespondArguments = { askId?: AskId, optionId?: string, text?: string, };

export type ShowArguments = {
/**
 * Without it, the only open ask.
 */
askId?: AskId, };

export type SessionArguments = { sessionId?: SessionId, };

export type StateView = { state: State, sub?: SubState,
/**
 * Milliseconds since the Unix epoch at which this state began.
 */
since: number, runId?: RunId,
/**
 * Open asks, oldest first.
 */
asks: Array<AskId>, askKind?: AskKind, requiredAction: RequiredAction, stopReason?: StopReason, };

export type State = "none" | "running" | "requires_action" | "idle" | "resumable";

export type SubState = "preparing" | "model" | "streaming" | "stalled" | "tools" | "retrying" | "completed" | "stopped" | "failed" | "limit" | "cancelled";

export type RequiredAction = "none" | "start" | "answer" | "resume_or_discard" | "new_task" | "retry_or_new_task" | "continue_or_new_task";

export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled" | "_failed" | "_mistakes" | "_gave_up";

export type Outcome = "completed" | "stopped" | "failed" | "limit" | "cancelled";

export type AskKind = "tool" | "command" | "followup" | "browser_action_launch" | "use_mcp_server" | "completion_result" | "api_req_failed" | "mistake_limit_reached" | "auto_approval_max_req_reached" | "resume_completed_task" | "resume_task" | "command_output";

export type AskGroup = "interactive" | "idle" | "resumable" | "non_blocking";

export type AskSubject = { "type": "edit", uri: string, path: string, diff: string, newFile: boolean, } | { "type": "command", command: string, cwd: string, timeoutSeconds?: number,
/**
 * The open documents of the workspace that were not saved when this was asked, at most 100: the command
 * sees each as it was saved last. `description` says it in words.
 */
unsaved?: Array<UnsavedDocument>, } | { "type": "read", path: string, reason: string, };

export type OptionKind = "allow_once" | "allow_always" | "reject_once" | "choose";

export type AskOption = { optionId: string,
/**
 * In full: what a tooltip or a numbered list says.
 */
name: string, kind: OptionKind,
/**
 * What a button says, in at most 16 characters; always there where the server tells of an ask.
 */
label?: string, };

export type AskView = { sessionId: SessionId, askId: AskId, kind: AskKind, group: AskGroup,
/**
 * One line: what is asked.
 */
title: string,
/**
 * Why it is asked, and what is known about it.
 */
description?: string, subject?: AskSubject, runId?: RunId, toolCallId?: ToolCallId,
/**
 * Where the run was started from; an ask is shown there.
 */
origin?: Origin, options: Array<AskOption>,
/**
 * Whether a text of the user's own counts as an answer.
 */
freeText: boolean,
/**
 * Milliseconds since the Unix epoch.
 */
openedAt: number, };

export type PermissionResponse = { outcome: PermissionOutcome, };

export type PermissionOutcome = { "outcome": "selected", optionId: string,
/**
 * The reason of a rejection, or what the user adds.
 */
text?: string, } | { "outcome": "answered", text: string, } | { "outcome": "cancelled" } | { "outcome": "absent" };

export type AskListParams = { sessionId?: SessionId, };

export type AskListResult = { asks: Array<AskView>, };

export type AskRespondParams = { askId: AskId, optionId?: string, answer?: string,
/**
 * The reason of a rejection; the model is told.
 */
reason?: string,
/**
 * Consent: the run that this answer continues may do what `[unattended]` allows without asking. Consent
 * of an earlier run or process is never taken over. Not taken from an inbox.
 */
unattended?: boolean, };

export type RespondStatus = "accepted" | "already_resolved";

export type AskRespondResult = { status: RespondStatus,
/**
 * What the ask was resolved to: this answer, or the one that came first.
 */
resolution: Resolution, };

export type Resolution = { "type": "selected", optionId: string, text?: string,
/**
 * The door the answer came by.
 */
surface: string, } | { "type": "answered", text: string, surface: string, } | { "type": "cancelled" } | { "type": "superseded" } | { "type": "withdrawn" };

export type AskResolvedParams = { sessionId: SessionId, askId: AskId, resolution: Resolution, };

export type SessionUpdateParams = { sessionId: SessionId,
/**
 * One more for each lasting update; ephemeral ones carry the last with `sub`.
 */
seq: number, sub?: number, runId?: RunId, update: Update, };

export type Update = { "sessionUpdate": "user_message", messageId: MessageId, text: string,
/**
 * What images it had; what they show is not told again.
 */
images?: Array<ImageView>, } | { "sessionUpdate": "agent_message", messageId: MessageId, text: string,
/**
 * The stream broke off here; the next attempt replaces this item.
 */
interrupted?: boolean, } | { "sessionUpdate": "agent_message_chunk", messageId: MessageId, text: string, } | { "sessionUpdate": "agent_thought", messageId: MessageId, text: string, } | { "sessionUpdate": "agent_thought_chunk", messageId: MessageId, text: string, } | { "sessionUpdate": "tool_call_update" } & ToolCallView | { "sessionUpdate": "tool_call_content_chunk", toolCallId: ToolCallId, text: string, } | { "sessionUpdate": "state_update" } & StateView | { "sessionUpdate": "notice", message: string, } | { "sessionUpdate": "config_option_update", configOptions: Array<ConfigOption>, changed: ConfigChange, } | { "sessionUpdate": "_turn" } & TurnView | { "sessionUpdate": "_run" } & RunView | { "sessionUpdate": "_complete", summary: string, } | { "sessionUpdate": "_ask" } & AskChange | { "sessionUpdate": "_change_set" } & ChangeSetView | { "sessionUpdate": "_rule", text: string, };

export type ImageView = { mimeType: string,
/**
 * Its length before base64.
 */
bytes: number, };

export type UnsavedDocument = { uri: string,
/**
 * As shown to the user.
 */
path: string, };

export type ToolStatus = "pending" | "in_progress" | "completed" | "failed" | "cancelled" | "_denied" | "_interrupted";

export type ToolCallView = { toolCallId: ToolCallId,
/**
 * The tool's name as the model knows it.
 */
tool: string, title: string, status: ToolStatus,
/**
 * One line on the result, once there is one.
 */
summary?: string, elapsedMs?: number, };

export type TurnView = {
/**
 * Counts from 1 within the session.
 */
turn: number, phase: TurnPhase, attempt: number, usage?: UsageView,
/**
 * Of a failed attempt or turn: what kind of failure it was (S115).
 */
failure?: FailureKind,
/**
 * Of a failed attempt or turn, and of a model that took over: what happened.
 */
message?: string,
/**
 * Of a model that took over: `provider/model`.
 */
model?: string,
/**
 * Of a failed attempt: when the next one starts, in milliseconds since the Unix epoch.
 */
retryAt?: number, };

export type TurnPhase = "started" | "attempt_failed" | "model_replaced" | "failed" | "ended";

export type FailureKind = "rate_limited" | "overloaded" | "network" | "timed_out" | "broken" | "auth" | "quota" | "context_exceeded" | "model_not_found" | "invalid_request" | "interrupted";

export type RunView = { "phase": "started", runId: RunId, continues?: RunId,
/**
 * `provider/model`.
 */
model: string,
/**
 * The model of the run before in this session, where that was another one.
 */
previousModel?: string,
/**
 * Its first call waits until then, as the user chose; milliseconds since the Unix epoch.
 */
notBefore?: number,
/**
 * What a start is called, else the first line of the prompt; at most 80 characters.
 */
title: string,
/**
 * Where it was started from.
 */
origin?: Origin, } | { "phase": "ended", runId: RunId, end: RunEnd, };

export type AskChange = { "phase": "opened", ask: AskView, } | { "phase": "closed", askId: AskId, resolution: Resolution, };

export type HunkState = "proposed" | "applying" | "applied" | "rejected" | "not_applied";

export type ChangeSetView = { changeSetId: ChangeSetId, toolCallId: ToolCallId, uri: string, path: string, hunks: Array<HunkView>,
/**
 * What the user has to know of the change, for example that the file runs on build.
 */
mark?: string, };

export type HunkView = { hunkId: string, state: HunkState,
/**
 * Lines it takes out.
 */
removed: number,
/**
 * Lines it puts in.
 */
inserted: number, };

export type DocumentSaveParams = { uris: Array<string>,
/**
 * For the user: why the server asks.
 */
reason: string, };

export type DocumentSaveResult = { documents: Array<SavedDocument>, };

export type SavedDocument = { uri: string, saved: boolean,
/**
 * Why it was not saved.
 */
message?: string, };

export type ErrorName = "SessionNotFound" | "Overloaded" | "SessionLocked" | "RunMismatch" | "AskClosed" | "KeyReused" | "HunkConflict" | "ModeForbids" | "NotTrusted" | "ProviderUnavailable" | "VersionUnsupported" | "AskNotFound" | "SessionReadOnly" | "AnswerInvalid" | "DeliveryUnsupported" | "ImagesUnsupported";

export type ErrorDetail = { name: ErrorName, retryable: boolean, retryAfterMs?: number, };

export type SessionId = string;

export type RunId = string;

export type MessageId = string;

export type ToolCallId = string;

export type AskId = string;

export type ChangeSetId = string;
