// Generated from server/protocol; docs/testing.md says how to generate it again.

export type ClientAgentCapabilities = { version?: number, updates?: ClientUpdates, asks?: ClientAsks, documents?: ClientDocuments, review?: ClientReview,
/**
 * The client has a status line, and gets `agent/overview`.
 */
overview?: boolean,
/**
 * The client shows a list of sessions, and gets `agent/session/changed` from its first `agent/session/list` on.
 */
sessions?: boolean, workspace?: ClientWorkspace, window?: ClientWindow, };

export type ClientUpdates = {
/**
 * The client wants text while it streams, not only finished items.
 */
chunks?: boolean,
/**
 * Update kinds that the server must not send.
 */
optOut?: Array<string>, };

export type ClientAsks = {
/**
 * The client answers `agent/session/request_permission`.
 */
request?: boolean,
/**
 * The client shows the text of a popup as one line. A popup can then allow a diff or command of several
 * lines only after the user has opened it.
 */
popupLine?: boolean, };

export type ClientDocuments = {
/**
 * The client answers `agent/document/save`.
 */
save?: boolean,
/**
 * The client announces every open text document, so a file without `didOpen` is not open.
 */
complete?: boolean, };

export type ClientReview = {
/**
 * The client draws hunks in the text, and gets `agent/review/update`.
 */
hunks?: boolean, };

export type ClientWorkspace = {
/**
 * The user has said that this workspace may be trusted.
 */
trusted?: boolean, };

export type ServerAgentCapabilities = { version: number, sessionMethods: Array<string>, updateKinds: Array<string>, modes: Array<string>, promptCapabilities: PromptCapabilities,
/**
 * For each feature, the surface that the server chose for this client (N19).
 */
fallbacks: { [key in string]: string }, limits: ServerLimits, };

export type PromptCapabilities = {
/**
 * Whether the server accepts images for a model that accepts them.
 */
image: boolean,
/**
 * Whether the server accepts `resource` and `resource_link`.
 */
embeddedContext: boolean, };

export type ServerLimits = {
/**
 * Bytes of the text of a prompt.
 */
maxPromptBytes: number,
/**
 * Number of images in one prompt.
 */
maxImages: number,
/**
 * Bytes of one image, before base64.
 */
maxImageBytes: number,
/**
 * Bytes of all images of one prompt, in base64.
 */
maxImagesEncodedBytes: number,
/**
 * Requests that may wait for one session; a further request fails with `Overloaded`.
 */
maxQueue: number, };

export type Position = { line: number, character: number, };

export type Range = { start: Position, end: Position, };

export type Origin = { uri: string, range?: Range, };

export type ConfigId = "mode" | "model" | "effort" | "verbosity";

export type ConfigKind = "select";

export type ConfigOption = { id: ConfigId, name: string,
/**
 * `mode`, `model`, `thought_level` or `_verbosity`. A client may show its own picker for each.
 */
category: string, type: ConfigKind, currentValue: string, options: Array<ConfigValue>, };

export type ConfigValue = { value: string, name: string, description?: string, };

export type ConfigChange = { configId: ConfigId,
/**
 * Absent if no value was chosen before.
 */
from?: string, to: string, };

export type ConfigScope = "session" | "user";

export type SetConfigOptionParams = { sessionId: SessionId, configId: ConfigId, value: string,
/**
 * `user` is refused for the mode, which has no setting.
 */
scope?: ConfigScope, };

export type SetConfigOptionResult = {
/**
 * All options with their current values.
 */
configOptions: Array<ConfigOption>,
/**
 * One line for the user of a choice with the scope `user`: the file that has it now, or why it does not count although it is
 * written. Nothing in it is markup.
 */
text?: string, };

export type ModelListParams = Record<symbol, never>;

export type ModelListResult = {
/**
 * The models of the settings. The model for new sessions comes first. A client can set any other
 * model of a configured provider by its name.
 */
models: Array<ModelView>, };

export type ModelView = {
/**
 * `provider/model`.
 */
model: string,
/**
 * Tokens that the model can read.
 */
contextWindow: number,
/**
 * Tokens that one reply may have.
 */
maxOutputTokens: number,
/**
 * The values that it accepts as `effort`; empty if none is known.
 */
efforts: Array<string>,
/**
 * The values that it accepts as `verbosity`; empty if none is known.
 */
verbosities: Array<string>,
/**
 * Whether it is known to accept images.
 */
images: boolean,
/**
 * Whether Adjutant knows the numbers of this model. If not, they are defaults or come from the settings.
 */
known: boolean,
/**
 * Why the model cannot be used now, and what to set; absent if it can.
 */
unavailable?: string, };

export type NewSessionParams = {
/**
 * A `file:` URI; if absent, the session uses the workspace folders.
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
data: string, } | { "type": "resource_link",
/**
 * A `file:` URI in the workspace.
 */
uri: string,
/**
 * In the negotiated position encoding; if absent, the whole file.
 */
range?: Range, } | { "type": "resource",
/**
 * The name of the text for the model and the user. The server does not open it.
 */
uri: string, text: string, };

export type Delivery = "auto" | "steer" | "followup" | "collect" | "interrupt";

export type Mode = "code" | "ask";

export type Overrides = {
/**
 * `provider/model`.
 */
model?: string, mode?: Mode,
/**
 * How much the model thinks: `low`, `medium` or `high`.
 */
effort?: string,
/**
 * How many words the model writes: `low`, `medium` or `high`.
 */
verbosity?: string,
/**
 * Consent: the run may do what `[unattended]` allows without asking.
 */
unattended?: boolean, };

export type PromptParams = { sessionId: SessionId, prompt: Array<ContentBlock>, delivery?: Delivery,
/**
 * The server refuses with `RunMismatch` unless this is the open run.
 */
expectedRunId?: RunId,
/**
 * Where in the workspace the user was. Clients show the asks of the run there.
 */
origin?: Origin,
/**
 * What `@diagnostics` in the words means.
 */
diagnostics?: Array<DocumentDiagnostics>, overrides?: Overrides,
/**
 * A second request with the same key and body gets the first result.
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
 * How long the answer may take, in milliseconds. It never limits the run.
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
 * What that costs; absent if the settings have no price of the model.
 */
cost?: CostView,
/**
 * Model turns of the run, answered or given up.
 */
turns: number,
/**
 * What the run changed in files; absent if it changed none.
 */
edits?: RunEdits, };

export type RunEdits = { files: number,
/**
 * Lines.
 */
inserted: number,
/**
 * Lines.
 */
removed: number,
/**
 * Hunks that nobody has decided about.
 */
unreviewed: number,
/**
 * For people, if the run changed more than five files: `40 files +212 −180`. A client shows it once, with ways to review and
 * to undo the run, and opens nothing.
 */
line?: string, };

export type UsageView = {
/**
 * All tokens of the requests, with those of the cache.
 */
inputTokens: number,
/**
 * All tokens of the replies, with those of thoughts.
 */
outputTokens: number,
/**
 * The part of the input that the provider had in its cache.
 */
cacheReadTokens: number,
/**
 * The part of the input that the provider put into its cache; 0 if it does not count that.
 */
cacheWriteTokens: number, };

export type ContextUsage = {
/**
 * The tokens of the request and its reply.
 */
contextUsed: number,
/**
 * The window of the model that replied; absent if it is not known.
 */
contextSize?: number,
/**
 * What the open run has used, else the last one.
 */
run?: SpentView,
/**
 * What all runs of the session have used.
 */
session: SpentView, };

export type SpentView = {
/**
 * Model turns, answered or given up.
 */
requests: number, usage: UsageView,
/**
 * Absent if the settings have no price of any model that replied.
 */
cost?: CostView, };

export type CostView = {
/**
 * In millionths of the currency, rounded.
 */
micros: number, currency: string,
/**
 * Whether it lacks replies: their model has no price, their provider counted no tokens, or they cost another currency.
 */
partial?: boolean,
/**
 * For people: `0.0312 USD`, `at least 1.20 EUR`.
 */
line: string, };

export type CancelParams = { sessionId: SessionId,
/**
 * Cancels only this run; if absent, the open run.
 */
runId?: RunId, };

export type ReplayFrom = { "type": "start" } | { "type": "_seq", seq: number, } | { "type": "last", items: number, };

export type ResumeParams = { sessionId: SessionId, replayFrom?: ReplayFrom,
/**
 * Consent: from now on the open run may do what `[unattended]` allows without asking. The server never
 * reuses the consent of an earlier process.
 */
unattended?: boolean, };

export type ResumeResult = { state: StateView,
/**
 * Number of the last update.
 */
seq: number, title: string,
/**
 * The mode of the open run, else of the next run.
 */
mode: Mode,
/**
 * The model of the open run.
 */
model?: string, configOptions: Array<ConfigOption>,
/**
 * The number in `replayFrom` is higher than that of the last update, so nothing is replayed.
 */
gap?: boolean,
/**
 * With `last`: present if there are older items, as `before` for `agent/session/items`.
 */
before?: number, asks: Array<AskView>,
/**
 * The plan of the task; absent if there is none.
 */
plan?: Array<PlanEntry>,
/**
 * Absent while no reply came with its usage.
 */
usage?: ContextUsage,
/**
 * Problems that the server found in the log.
 */
notices: Array<string>, };

export type ItemsParams = { sessionId: SessionId,
/**
 * The `before` of the later page, or of the answer to `resume`; if absent, the newest page.
 */
before?: number,
/**
 * At most this many items, 1 to 1,000.
 */
limit: number, };

export type ItemsResult = {
/**
 * In the order of their numbers, as `agent/session/update` has them.
 */
updates: Array<SessionUpdateParams>,
/**
 * Present if there are older items: `before` for the next older page.
 */
before?: number,
/**
 * Number of the last update of the session that the page knows. Later ones come as updates.
 */
seq: number, };

export type ItemReadParams = { sessionId: SessionId, toolCallId: ToolCallId, };

export type ItemReadResult = {
/**
 * The end of the result: whole lines where it has more than 32 KiB. Hidden characters are escaped. Absent while there is no
 * result, and for a call that the session does not have.
 */
output?: string,
/**
 * How many bytes of the result stand before `output`.
 */
leftOut: number, };

export type PromptHistoryParams = {
/**
 * Only prompts of sessions of this workspace folder, a `file:` URI.
 */
cwd: string,
/**
 * At most this many prompts, 1 to 200.
 */
limit?: number,
/**
 * The `before` of the later page; if absent, the newest page.
 */
before?: string, };

export type PromptHistoryResult = {
/**
 * Newest first, without equal ones in a row.
 */
prompts: Array<PastPrompt>,
/**
 * Present if there are older prompts: `before` for the next older page.
 */
before?: string, };

export type PastPrompt = { text: string, sessionId: SessionId,
/**
 * Milliseconds since the Unix epoch.
 */
at: number, };

export type PromptCompleteParams = {
/**
 * The whole prompt so far.
 */
text: string,
/**
 * Where the cursor is, from the beginning of the text, in units of the negotiated position encoding.
 */
offset: number, };

export type PromptCompleteResult = {
/**
 * Where the text begins that an item replaces; it ends at the cursor.
 */
start: number,
/**
 * The best first, at most 50; empty where nothing can be completed.
 */
items: Array<PromptItem>,
/**
 * Whether the next letter may bring items that are not here, so that the client asks again.
 */
incomplete: boolean, };

export type PromptItem = {
/**
 * What a list shows.
 */
label: string,
/**
 * The text that replaces what was typed.
 */
insert: string, kind: PromptItemKind,
/**
 * One line about it.
 */
detail?: string, };

export type PromptItemKind = "file" | "folder" | "mention" | "command";

export type SessionListParams = {
/**
 * Only sessions of this workspace folder, a `file:` URI.
 */
cwd?: string,
/**
 * Only sessions whose title contains this text, in upper or lower case.
 */
query?: string,
/**
 * The `nextCursor` of the previous page.
 */
cursor?: string, };

export type SessionListResult = {
/**
 * Newest first, at most 100.
 */
sessions: Array<SessionEntry>,
/**
 * Present if there are more sessions.
 */
nextCursor?: string, };

export type SessionEntry = { sessionId: SessionId, title: string,
/**
 * The first workspace folder, a `file:` URI.
 */
cwd: string, state: State,
/**
 * Time of the last record in its log; milliseconds since the Unix epoch.
 */
updatedAt: number,
/**
 * When it began to be in this state: the start or the end of its run, or its oldest open ask; milliseconds since the Unix
 * epoch.
 */
since?: number, openAsks: number,
/**
 * What it asks the user: the title of the oldest ask that its run waits for, in one line. Nothing in it is markup.
 */
waitsFor?: string,
/**
 * Applied hunks that nobody has looked at.
 */
unreviewedHunks?: number, turns: number,
/**
 * The session whose conversation it began with; absent if it is no fork.
 */
parentSessionId?: SessionId,
/**
 * The id of the other process that has it open and alone can go on with it; absent if this server can.
 */
openIn?: number,
/**
 * What is wrong with its log; absent if nothing is.
 */
damaged?: string, };

export type SessionChangedParams = { sessionId: SessionId,
/**
 * The entry that `agent/session/list` returns now; absent if the session is gone.
 */
session?: SessionEntry, };

export type SessionRenameParams = { sessionId: SessionId,
/**
 * One line of 1 to 200 characters, all of them visible.
 */
title: string, };

export type SessionForkParams = { sessionId: SessionId,
/**
 * The id of a prompt: the new session has what was said before it. If absent, it has the whole conversation.
 */
atMessageId?: MessageId, };

export type SessionForkResult = {
/**
 * The new session. It is on disk; `agent/session/resume` opens it.
 */
sessionId: SessionId, title: string,
/**
 * The words of the named prompt, so that the user can change and send them; absent if none was named.
 */
prompt?: string,
/**
 * What is not in the new session although it is in the old one, in sentences for the user.
 */
notices: Array<string>, };

export type SessionParams = { sessionId: SessionId, };

export type SessionContextParams = { sessionId: SessionId,
/**
 * Whether the answer has the texts of the sections, too.
 */
texts?: boolean, };

export type SessionContextResult = {
/**
 * `provider/model`: the model of the open run, else of the next.
 */
model: string,
/**
 * Tokens of the whole request; an estimate that learns from what the provider counts.
 */
tokens: number,
/**
 * The most tokens of a conversation with this model. For a model that nobody has described, the least of most models.
 */
contextSize: number, sections: Array<ContextSection>, tools: Array<ContextTool>,
/**
 * What the session has used so far.
 */
spent: SpentView, };

export type ContextSection = {
/**
 * Also its name in the setting `prompt.off`, if it can be switched off.
 */
name: string,
/**
 * Where it is from: Adjutant, the editor, this machine, or the path of a file.
 */
source: string, lifetime: ContextLifetime,
/**
 * Bytes of its text.
 */
bytes: number,
/**
 * About how many tokens it has.
 */
tokens: number,
/**
 * Whether the setting `prompt.off` keeps it out of the request. It has no text then.
 */
off?: boolean,
/**
 * Its text, if it was asked for. Hidden characters are as the model gets them. The conversation and the tools have none.
 */
text?: string, };

export type ContextLifetime = "version" | "session" | "run" | "grows" | "turn";

export type ContextTool = { name: string,
/**
 * About how many tokens its description has.
 */
tokens: number,
/**
 * Why the request does not have it; absent if it does.
 */
hidden?: string, };

export type SessionCompactResult = { runId: RunId, };

export type Done = Record<symbol, never>;

export type StartParams = {
/**
 * If absent, the server creates a session.
 */
sessionId?: SessionId, template?: Template,
/**
 * A `file:` URI in the workspace.
 */
uri?: string,
/**
 * In the negotiated position encoding.
 */
range?: Range, diagnostics?: Array<StartDiagnostic>,
/**
 * The name of the function, type or other symbol that contains the range.
 */
symbol?: string,
/**
 * The task, or what the user adds to the template.
 */
text?: string,
/**
 * What goes along with the text: images, links to files and texts; no block of the type `text`.
 */
attach?: Array<ContentBlock>,
/**
 * A second request with the same key and body gets the first result.
 */
key?: string, };

export type Template = "fix" | "explain" | "write_tests" | "comment";

export type StartDiagnostic = { message: string, range?: Range,
/**
 * As in LSP: 1 is an error, 4 a hint.
 */
severity?: number, source?: string, code?: DiagnosticCode, };

export type DiagnosticCode = number | string;

export type DocumentDiagnostics = {
/**
 * A `file:` URI in the workspace.
 */
uri: string, diagnostics: Array<StartDiagnostic>, };

export type StartResult = { sessionId: SessionId, runId: RunId,
/**
 * Milliseconds since the Unix epoch.
 */
acceptedAt: number, disposition: Disposition, };

export type PromptArguments = { text: string, sessionId?: SessionId, };

export type SendArguments = {
/**
 * An open document whose name ends with `.adjutant.md`.
 */
uri: string, };

export type CancelArguments = { sessionId?: SessionId, runId?: RunId,
/**
 * Cancels every open run, or every open run of `sessionId`.
 */
all?: boolean, };

export type RespondArguments = { askId?: AskId, optionId?: string, text?: string, };

export type ShowArguments = {
/**
 * The ask to show; when absent, the only open ask.
 */
askId?: AskId, };

export type SessionArguments = { sessionId?: SessionId, };

export type ReviewArguments = { action: ReviewAction,
/**
 * Only changes of this document.
 */
uri?: string,
/**
 * Only the change at this line, from zero.
 */
line?: number,
/**
 * Exactly these hunks.
 */
targets?: Array<ChosenHunks>, };

export type UndoRunArguments = { sessionId?: SessionId, runId?: RunId,
/**
 * Also everything after it in its session.
 */
later?: boolean,
/**
 * Restores what was undone in this way.
 */
restore?: boolean, };

export type ChosenHunks = { sessionId: SessionId, changeSetId: ChangeSetId, hunkIds: Array<string>,
/**
 * For hunks that the user changed, the text that was shown in their place.
 */
seen?: { [key in string]: string }, };

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

export type SubState = "preparing" | "model" | "streaming" | "compacting" | "stalled" | "tools" | "retrying" | "completed" | "stopped" | "failed" | "limit" | "cancelled";

export type RequiredAction = "none" | "start" | "answer" | "resume_or_discard" | "new_task" | "retry_or_new_task" | "continue_or_new_task";

export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "_budget" | "refusal" | "cancelled" | "_failed" | "_mistakes" | "_gave_up";

export type Outcome = "completed" | "stopped" | "failed" | "limit" | "cancelled";

export type AskKind = "tool" | "command" | "followup" | "browser_action_launch" | "use_mcp_server" | "completion_result" | "api_req_failed" | "mistake_limit_reached" | "auto_approval_max_req_reached" | "resume_completed_task" | "resume_task" | "command_output";

export type AskGroup = "interactive" | "idle" | "resumable" | "non_blocking";

export type AskSubject = { "type": "edit" } & EditedFile | { "type": "edits", files: Array<EditedFile>, } | { "type": "command", command: string, cwd: string, timeoutSeconds?: number,
/**
 * The documents of the workspace with unsaved changes when the ask was opened, at most 100. The command
 * reads the saved text of each. `description` contains the same as prose.
 */
unsaved?: Array<UnsavedDocument>, } | { "type": "read", path: string, reason: string, };

export type OptionKind = "allow_once" | "allow_always" | "reject_once" | "choose";

export type AskOption = { optionId: string,
/**
 * The full name, for a tooltip or a numbered list.
 */
name: string, kind: OptionKind,
/**
 * The text of a button, at most 16 characters. The server always sends it.
 */
label?: string, };

export type AskView = { sessionId: SessionId, askId: AskId, kind: AskKind, group: AskGroup,
/**
 * The question, in one line.
 */
title: string,
/**
 * Why the server asks, and what it knows about the subject.
 */
description?: string, subject?: AskSubject, runId?: RunId, toolCallId?: ToolCallId,
/**
 * All calls that wait for the answer, if they are several. `toolCallId` is the first.
 */
toolCallIds?: Array<ToolCallId>,
/**
 * The place from which the run was started. Clients show the ask there.
 */
origin?: Origin, options: Array<AskOption>,
/**
 * Whether the user may answer with free text.
 */
freeText: boolean,
/**
 * Milliseconds since the Unix epoch.
 */
openedAt: number, };

export type PermissionResponse = { outcome: PermissionOutcome, };

export type PermissionOutcome = { "outcome": "selected", optionId: string,
/**
 * The reason for a rejection, or a remark of the user.
 */
text?: string, } | { "outcome": "answered", text: string, } | { "outcome": "cancelled" } | { "outcome": "absent" };

export type AskListParams = { sessionId?: SessionId, };

export type AskListResult = { asks: Array<AskView>, };

export type AskRespondParams = { askId: AskId, optionId?: string, answer?: string,
/**
 * The reason for a rejection; the model gets it.
 */
reason?: string,
/**
 * Consent: the run that this answer continues may do what `[unattended]` allows without asking.
 * The server never reuses the consent of an earlier run or process, and refuses it in an inbox message.
 */
unattended?: boolean, };

export type RespondStatus = "accepted" | "already_resolved";

export type AskRespondResult = { status: RespondStatus,
/**
 * The resolution of the ask: this answer, or the earlier one.
 */
resolution: Resolution, };

export type Resolution = { "type": "selected", optionId: string, text?: string,
/**
 * The way by which the answer arrived, for example `request_permission`.
 */
surface: string, } | { "type": "answered", text: string, surface: string, } | { "type": "decided" } | { "type": "cancelled" } | { "type": "superseded" } | { "type": "withdrawn" };

export type AskResolvedParams = { sessionId: SessionId, askId: AskId, resolution: Resolution, };

export type SessionUpdateParams = { sessionId: SessionId,
/**
 * Each lasting update has the next number. An ephemeral update has the last number, and a `sub`.
 */
seq: number, sub?: number, runId?: RunId, update: Update, };

export type Update = { "sessionUpdate": "user_message", messageId: MessageId, text: string,
/**
 * The images of the message, without their content.
 */
images?: Array<ImageView>,
/**
 * What the user attached, each as a short name; its lines are in `added`.
 */
attached?: Array<string>,
/**
 * The end of `text` that the user did not write: the place and the problems that the editor added, and what the user attached.
 */
added?: string, } | { "sessionUpdate": "agent_message", messageId: MessageId, text: string,
/**
 * The stream ended here too early; the next attempt replaces this item.
 */
interrupted?: boolean, } | { "sessionUpdate": "agent_message_chunk", messageId: MessageId, text: string, } | { "sessionUpdate": "agent_thought", messageId: MessageId, text: string, } | { "sessionUpdate": "agent_thought_chunk", messageId: MessageId, text: string, } | { "sessionUpdate": "tool_call_update" } & ToolCallView | { "sessionUpdate": "tool_call_content_chunk", toolCallId: ToolCallId, text: string, } | { "sessionUpdate": "state_update" } & StateView | { "sessionUpdate": "notice", message: string, } | { "sessionUpdate": "config_option_update", configOptions: Array<ConfigOption>, changed: ConfigChange, } | { "sessionUpdate": "plan_update", entries: Array<PlanEntry>, } | { "sessionUpdate": "compaction_update" } & CompactionView | { "sessionUpdate": "usage_update" } & ContextUsage | { "sessionUpdate": "_turn" } & TurnView | { "sessionUpdate": "_run" } & RunView | { "sessionUpdate": "_complete", summary: string,
/**
 * Whether the last text of the model says the same; it is not drawn again (S104).
 */
said?: boolean, } | { "sessionUpdate": "_ask" } & AskChange | { "sessionUpdate": "_change_set" } & ChangeSetView | { "sessionUpdate": "_rule", text: string, };

export type ConfigSchemaParams = Record<symbol, never>;

export type ConfigSchemaResult = {
/**
 * The JSON Schema (draft 7) of an editor's settings section `adjutant`, as JSON text. Its descriptions are Markdown. Keys that
 * only the user's own settings file may set, and those that change nothing in an editor, are not in it.
 */
schemaText: string, };

export type DoctorParams = {
/**
 * Whether each model is asked for one word. That costs a few tokens and takes at most 30 s for each; without it no
 * provider is called. Refused as `Overloaded` while another such request is under way.
 */
callModels?: boolean, };

export type DoctorResult = {
/**
 * In the order in which a user reads them.
 */
checks: Array<Check>, };

export type Check = {
/**
 * What was checked, in a word, such as `settings` or `model`. Several checks may have the same.
 */
check: string, health: Health,
/**
 * One line for the user, ready to be drawn; nothing in it is markup. A key is cut out of it, also
 * of a provider's words; of a part of one that a provider repeats, nothing is known.
 */
text: string,
/**
 * What to do about it, if it is one command.
 */
cure?: Cure, };

export type Health = "ok" | "note" | "warning" | "error";

export type Cure = {
/**
 * The label of a button, at most 16 characters.
 */
title: string,
/**
 * A line for a terminal.
 */
command: string, };

export type SetupProvidersParams = Record<symbol, never>;

export type SetupProvidersResult = {
/**
 * Those whose key was found come first.
 */
providers: Array<SetupProvider>,
/**
 * Why nothing can be written, and what to do; absent if something can. One line for the user.
 */
problem?: string, };

export type SetupProvider = {
/**
 * Its name, for `agent/setup/try` and `agent/setup/write`.
 */
provider: string,
/**
 * Its name for the user.
 */
title: string,
/**
 * Whether the user has to give the address.
 */
needsAddress: boolean,
/**
 * The address that it has, or that most users give.
 */
address?: string,
/**
 * The variable that usually has its key; absent if it needs no key.
 */
keyVariable?: string,
/**
 * Whether the server has that variable, with a value.
 */
keyFound: boolean,
/**
 * A model to begin with; absent if the user has to name one.
 */
model?: string, };

export type SetupParams = {
/**
 * The `provider` of a [`SetupProvider`].
 */
provider: string,
/**
 * Only for one that needs an address.
 */
address?: string,
/**
 * Without it the key is read from the usual variable of the provider, if it needs one.
 */
key?: SetupKey,
/**
 * As the service calls it.
 */
model: string, };

export type SetupKey = { "type": "variable", name: string, } | { "type": "typed", key: string, };

export type SetupTryResult = {
/**
 * Whether the model answered.
 */
works: boolean,
/**
 * One line for the user, ready to be drawn: how fast it answered, or why not and what to do. The key is cut
 * out of it.
 */
text: string, };

export type SetupWriteResult = {
/**
 * `provider/model`, as it is in the settings now.
 */
model: string,
/**
 * Whether new sessions of this server use it.
 */
inUse: boolean,
/**
 * One line for the user, ready to be drawn: what was written, and what else to do if the model is not in use.
 */
text: string, };

export type Overview = { kind: OverviewKind,
/**
 * At most 40 characters, such as `2 questions` or `thinking`; empty if there is nothing to say.
 */
short: string,
/**
 * A line for each task that is open: what it waits for, and its title.
 */
tooltip: Array<string>,
/**
 * The questions that wait for the user.
 */
asks: number,
/**
 * How many changes of open documents wait for a decision.
 */
hunks: number,
/**
 * The open runs, in the order in which they began.
 */
runs: Array<OverviewRun>,
/**
 * How much of a run the user wants to see.
 */
detail: Detail, };

export type Detail = "brief" | "normal" | "full";

export type OverviewKind = "idle" | "running" | "interrupted" | "asks";

export type OverviewRun = { sessionId: SessionId, runId: RunId, title: string,
/**
 * What it is doing or waiting for, at most 80 characters.
 */
step: string,
/**
 * When its present state began, in milliseconds since the Unix epoch.
 */
since: number, };

export type PlanEntry = {
/**
 * At most 300 bytes, as the model wrote it.
 */
content: string, status: PlanStatus, };

export type PlanStatus = "pending" | "in_progress" | "completed";

export type ImageView = { mimeType: string,
/**
 * Its size before base64.
 */
bytes: number, };

export type EditedFile = { uri: string,
/**
 * The path as the user sees it.
 */
path: string, diff: string, newFile: boolean,
/**
 * What is done with the file as a whole; absent for an edit of its lines.
 */
operation?: FileOperation, };

export type ReviewListParams = {
/**
 * Without it, the hunks of all sessions of the workspace.
 */
sessionId?: SessionId,
/**
 * Only the hunks of this document.
 */
uri?: string,
/**
 * Also hunks that were kept or undone.
 */
all?: boolean,
/**
 * Only what came after the last comments of its session were sent.
 */
new?: boolean,
/**
 * Instead, the hunks that the next commit would have and the last one does not, and that nobody has kept. `uri`, `path`, the
 * lines and the state are then those of the staged texts.
 */
staged?: StagedParams, };

export type StagedParams = {
/**
 * The path of another index of the first of these repositories, as git gives it to a hook in `GIT_INDEX_FILE`. Relative to
 * the top of the work tree.
 */
index?: string, };

export type ReviewListResult = {
/**
 * What needs a look comes first: hunks that the user changed, then those that wait for an answer or are on their way, in the
 * order of their calls, then all others, oldest change first. Those that were kept or undone and have no comment that waits
 * are not in it.
 */
hunks: Array<ReviewHunk>,
/**
 * What the editor's formatter changed beside the listed changes when it saved them. It is no change of the agent, and no
 * undo takes it back.
 */
formatted?: Array<FormattedFile>, };

export type ReviewHunk = { sessionId: SessionId, changeSetId: ChangeSetId, hunkId: string, state: HunkState, uri: string,
/**
 * The path as the user sees it.
 */
path: string,
/**
 * What is done with the file as a whole; absent for an edit of its lines.
 */
operation?: FileOperation,
/**
 * The first line of its place, from zero. For a hunk that waits for an answer, in the text for which it was proposed;
 * for an applied one, in the text of now.
 */
line: number,
/**
 * For an applied hunk, the line after its place in the text of now. The same as `line` if it has only removed lines.
 */
endLine?: number,
/**
 * The lines that it removes, with their line ends.
 */
removed: string,
/**
 * The lines that it inserts, with their line ends.
 */
inserted: string,
/**
 * The hunk as a unified diff with its context.
 */
diff: string, runId: RunId,
/**
 * The calls that made it.
 */
toolCallIds: Array<ToolCallId>,
/**
 * If the user changed it: the text of now in its place. With `removed`, before the change, and `inserted`, the agent's, these
 * are the three sides of a comparison. A decision that drops it has to say that it was seen.
 */
text?: string,
/**
 * How many lines of `text` are not the agent's.
 */
userLines?: number,
/**
 * Hunks of later changes that stand on it. They have to be undone first, or together with it.
 */
beneath?: Array<HunkName>,
/**
 * What the editor's formatter made of `inserted` when it saved the hunk. These lines count as the agent's.
 */
formatted?: string,
/**
 * For a hunk that counts as kept, why it does; also while it is `away`.
 */
keptBy?: KeptBy,
/**
 * For a hunk that is undone, how, if that is known.
 */
undoneBy?: UndoneBy,
/**
 * For a hunk that is `away`, where its text is, if that is known.
 */
away?: AwayPlace,
/**
 * For an applied hunk, what made it.
 */
madeBy?: MadeBy,
/**
 * The ask that it waits for.
 */
askId?: AskId,
/**
 * The user's comment that waits to be sent.
 */
comment?: string,
/**
 * It was applied before the last comments of its session were sent.
 */
earlier?: boolean, };

export type HunkName = { sessionId: SessionId, changeSetId: ChangeSetId, hunkId: string, };

export type AwayPlace = { "kind": "branch", name: string, } | { "kind": "commit", id: string, } | { "kind": "stash" };

export type FormattedFile = { sessionId: SessionId,
/**
 * The change that was saved.
 */
changeSetId: ChangeSetId, uri: string,
/**
 * The path as the user sees it.
 */
path: string,
/**
 * How many lines it changed.
 */
lines: number, };

export type KeptBy = "question" | "review" | "edits_mode" | "commit" | "age";

export type UndoneBy = "review" | "editor" | "close";

export type ReviewCommentParams = { sessionId: SessionId, changeSetId: ChangeSetId, hunkId: string,
/**
 * At most 4000 bytes; replaces an earlier comment that waits. An empty one takes it back.
 */
text: string, };

export type ReviewCommentResult = {
/**
 * How many comments of the session wait.
 */
waiting: number, };

export type ReviewSendParams = { sessionId: SessionId,
/**
 * Words about all of them.
 */
text?: string, };

export type MadeBy = {
/**
 * The title of the run: the first line of the prompt, or what the user chose.
 */
task: string,
/**
 * The prompts of the run that the model had read when it made the change, oldest first, in the user's words: the first one
 * and the newest two, each cut to 600 bytes.
 */
prompts?: Array<string>,
/**
 * How many prompts between the first one and the newest two are left out.
 */
promptsLeftOut?: number,
/**
 * `provider/model`.
 */
model: string,
/**
 * When the change was applied; milliseconds since the Unix epoch.
 */
at: number,
/**
 * The ask that allowed it, if a person was asked.
 */
askId?: AskId,
/**
 * What allowed it, for people.
 */
allowedBy: string,
/**
 * What the user has to know about the file, for example that a build runs it.
 */
mark?: string, };

export type ReviewUpdateParams = { uri: string,
/**
 * The version of the text in which the lines are; without it, the document is not open.
 */
version?: number, hunks: Array<ReviewHunk>, };

export type ReviewAction = "apply" | "reject" | "keep" | "undo" | "restore";

export type ReviewTarget = { changeSetId: ChangeSetId,
/**
 * Without ids, all of its hunks that the action is possible for.
 */
hunkIds?: Array<string>,
/**
 * For hunks that the user changed, their `text` as it was shown. Undo drops it only if it is still the same.
 */
seen?: { [key in string]: string }, };

export type ReviewDecideParams = { sessionId: SessionId, targets: Array<ReviewTarget>, action: ReviewAction,
/**
 * Why hunks are rejected or undone, in the user's own words.
 */
reason?: string, };

export type ReviewDecideResult = {
/**
 * The decided hunks, each with the state that it has now. Undo and restore answer when they are done.
 */
hunks: Array<DecidedHunk>, };

export type PreviewParams = { sessionId: SessionId,
/**
 * Without it, the last run that changed something.
 */
runId?: RunId,
/**
 * Also all later runs: back to before the prompt of this run.
 */
later?: boolean,
/**
 * Restores what was undone in this way, instead of undoing it.
 */
restore?: boolean, };

export type RewindPreview = { sessionId: SessionId, runId: RunId,
/**
 * The title of the run.
 */
title: string, later: boolean, restore: boolean,
/**
 * The files with changes of these runs, in the order of their paths.
 */
files: Array<FilePreview>,
/**
 * The starts of the command lines that ran, oldest first, without those before the last 20. What they changed is not
 * undone.
 */
commands: Array<string>,
/**
 * How many commands ran.
 */
commandsRun: number,
/**
 * Older changes of these runs are not remembered any more, so they stay.
 */
forgotten: boolean,
/**
 * All of this in lines for people. Odd characters are escaped.
 */
lines: Array<string>,
/**
 * The decisions that are possible. The first takes nothing of the user's. Empty if there is nothing to do.
 */
choices: Array<RewindChoice>,
/**
 * To be sent back with the decision.
 */
expect: { [key in string]: string }, };

export type FilePreview = { uri: string,
/**
 * The path as the user sees it.
 */
path: string,
/**
 * How many hunks are undone or restored, with nothing of the user's.
 */
hunks: number,
/**
 * How many of them a person or a setting kept.
 */
kept: number,
/**
 * How many more hunks, if what the user wrote into them goes too.
 */
userHunks: number,
/**
 * How many lines of the user's are in these.
 */
userLines: number,
/**
 * How many hunks are so already.
 */
already: number,
/**
 * The file that is there now goes away, because the run made it and it has nothing else, or because its deletion is
 * restored.
 */
removed: boolean,
/**
 * What becomes of the file as a whole, in words, in the order in which it is done: its deletion or move is undone or
 * restored.
 */
becomes: Array<string>,
/**
 * The hunks that stay as they are.
 */
left: Array<LeftHunks>, };

export type LeftHunks = { hunks: number, why: string, };

export type RewindChoice = {
/**
 * The text of its button.
 */
title: string,
/**
 * What to send as `userLines`.
 */
userLines: boolean, };

export type RewindParams = { sessionId: SessionId, runId: RunId, later?: boolean, restore?: boolean,
/**
 * The `expect` of the preview.
 */
expect: { [key in string]: string },
/**
 * Whether what the user wrote into the hunks goes too.
 */
userLines?: boolean,
/**
 * Why, in the user's own words; the model reads it.
 */
reason?: string, };

export type DecidedHunk = { changeSetId: ChangeSetId, hunkId: string, state: HunkState,
/**
 * Why it was not done; the hunk is as it was.
 */
why?: string, };

export type ReviewDiffParams = { sessionId?: SessionId, runId?: RunId,
/**
 * Only the changes of this document.
 */
uri?: string, };

export type ReviewDiffResult = {
/**
 * One unified diff in the form of git, files in the order of their paths: from the texts without the changes to the texts
 * of now. It has no hunk that was undone, and nothing that the user wrote elsewhere.
 */
diff: string,
/**
 * Whether files are left out because the diff would have more than 8 MiB.
 */
cut: boolean,
/**
 * Files that are not in the diff, or not with all of their changes.
 */
leftOut: Array<LeftOutFile>, };

export type LeftOutFile = {
/**
 * The path as the user sees it.
 */
path: string,
/**
 * Why, for people.
 */
why: string, };

export type ReviewBaseParams = {
/**
 * A document with changes of Adjutant.
 */
uri: string, };

export type ReviewBaseResult = {
/**
 * The text of now without the changes that nobody has looked at. A new file has none.
 */
text: string,
/**
 * The version of the open document that the text was made from.
 */
version?: number,
/**
 * How many of these changes are still in the text, because changes that were kept stand on them.
 */
leftOut?: number, };

export type UnsavedDocument = { uri: string,
/**
 * The path as the user sees it.
 */
path: string, };

export type ToolStatus = "pending" | "in_progress" | "completed" | "failed" | "cancelled" | "_denied" | "_interrupted";

export type ToolKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";

export type FileLocation = { uri: string,
/**
 * Whole lines, as they were when the call read or changed them; absent for the whole file.
 */
range?: Range, };

export type ToolCallView = { toolCallId: ToolCallId,
/**
 * The name of the tool, as the model uses it.
 */
tool: string, title: string, kind: ToolKind, status: ToolStatus,
/**
 * The files that it changes, and at the end of a read those that it read; at most 20.
 */
locations?: Array<FileLocation>,
/**
 * The beginning of its arguments for people, at most 1,000 characters. Hidden characters are escaped.
 */
argumentsText?: string,
/**
 * Whether it only looks or thinks, and nothing has gone wrong with it so far: a brief view leaves it out (S102).
 */
minor?: boolean,
/**
 * One line about the result; absent while there is none.
 */
summary?: string, elapsedMs?: number, };

export type TurnView = {
/**
 * Counts from 1 within the session.
 */
turn: number, phase: TurnPhase, attempt: number, usage?: UsageView,
/**
 * What that costs; absent if the settings have no price of the model.
 */
cost?: CostView,
/**
 * The kind of failure, for a failed attempt or turn (S115).
 */
failure?: FailureKind,
/**
 * What happened, for a failed attempt or turn and for a change to a fallback model.
 */
message?: string,
/**
 * The fallback model that continues, as `provider/model`.
 */
model?: string,
/**
 * When the next attempt starts after a failed one, in milliseconds since the Unix epoch.
 */
retryAt?: number,
/**
 * For a turn that began: the first part of its request that is not as in the request before, so that the provider's cache
 * ends there (S70).
 */
cacheBreak?: CacheBreak,
/**
 * Whether the turn only asks for a summary of the conversation.
 */
compacts?: boolean, };

export type CacheBreak = "model" | "tools" | "mode" | "instructions" | "history";

export type CompactionView = { compactionId: MessageId,
/**
 * One line that says what happened.
 */
title: string, kind: CompactionKind, status: CompactionStatus,
/**
 * Tokens of the next request without it; an estimate.
 */
before: number,
/**
 * Tokens of the next request with it; an estimate.
 */
after?: number,
/**
 * What the model reads in place of the earlier messages. The user can still read those.
 */
text?: string,
/**
 * Why it failed.
 */
message?: string, };

export type CompactionKind = "outputs" | "summary" | "cut";

export type CompactionStatus = "in_progress" | "completed" | "failed";

export type TurnPhase = "started" | "attempt_failed" | "model_replaced" | "failed" | "ended";

export type FailureKind = "rate_limited" | "overloaded" | "network" | "timed_out" | "broken" | "auth" | "quota" | "context_exceeded" | "model_not_found" | "invalid_request" | "interrupted";

export type RunView = { "phase": "started", runId: RunId, continues?: RunId,
/**
 * `provider/model`.
 */
model: string,
/**
 * The model of the previous run in this session; absent if it is the same.
 */
previousModel?: string,
/**
 * The first model call waits until this time, as the user chose; milliseconds since the Unix epoch.
 */
notBefore?: number,
/**
 * The title of an `agent/start`, else the first line of the prompt; at most 80 characters.
 */
title: string,
/**
 * The place from which the run was started.
 */
origin?: Origin, } | { "phase": "ended", runId: RunId, end: RunEnd, };

export type AskChange = { "phase": "opened", ask: AskView, } | { "phase": "changed", ask: AskView, } | { "phase": "closed", askId: AskId, resolution: Resolution, };

export type HunkState = "proposed" | "applying" | "applied" | "rejected" | "not_applied" | "amended" | "kept" | "conflicted" | "undoing" | "undone" | "away";

export type FileOperation = { "kind": "delete" } | { "kind": "move", uri: string,
/**
 * The new path as the user sees it.
 */
path: string, };

export type ChangeSetView = { changeSetId: ChangeSetId, toolCallId: ToolCallId,
/**
 * All calls that made the change, if they are several. `toolCallId` is the first.
 */
toolCallIds?: Array<ToolCallId>, uri: string, path: string,
/**
 * What is done with the file as a whole; absent for an edit of its lines.
 */
operation?: FileOperation, hunks: Array<HunkView>,
/**
 * What the user has to know about the change, for example that the file runs on build.
 */
mark?: string, };

export type HunkView = { hunkId: string, state: HunkState,
/**
 * Lines that it removes.
 */
removed: number,
/**
 * Lines that it inserts.
 */
inserted: number, };

export type DocumentSaveParams = { uris: Array<string>,
/**
 * Why the server asks, for the user.
 */
reason: string, };

export type DocumentSaveResult = { documents: Array<SavedDocument>, };

export type SavedDocument = { uri: string, saved: boolean,
/**
 * Why the client did not save it.
 */
message?: string, };

export type WindowReachParams = Record<symbol, never>;

export type WindowReachResult = Record<symbol, never>;

export type ClientWindow = {
/**
 * The window of the user may be on another machine than the client, and the client answers `agent/window/reach`.
 */
reach?: boolean, };

export type ErrorName = "SessionNotFound" | "Overloaded" | "SessionLocked" | "RunMismatch" | "AskClosed" | "KeyReused" | "HunkConflict" | "ModeForbids" | "NotTrusted" | "ProviderUnavailable" | "VersionUnsupported" | "AskNotFound" | "SessionReadOnly" | "AnswerInvalid" | "DeliveryUnsupported" | "ImagesUnsupported" | "PromptInvalid";

export type ErrorDetail = { name: ErrorName, retryable: boolean, retryAfterMs?: number, };

export type SessionId = string;

export type RunId = string;

export type MessageId = string;

export type ToolCallId = string;

export type AskId = string;

export type ChangeSetId = string;
