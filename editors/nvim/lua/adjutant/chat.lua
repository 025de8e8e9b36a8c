-- What Adjutant says, as it comes: a page for each session. It opens no window, and shows no page in one.
local cures = require("adjutant.cures")
local page = require("adjutant.page")

local M = {}
local api = vim.api

local MOST_OUTPUT = 16384
local MOST_HIDDEN = 8 -- pages in no window: as many as one goes between. Each can have some MB; an older one comes back from the server
local NEW = "new" -- the page that has no session yet
local pages = {} ---@type table<string, adjutant.Page> by session
local recent = {} -- the sessions of the pages, the last used one at the end
local steers = {} -- session and run -> its own prompt was told, so the next is a steer; a copy of a session has the same runs
local thinks = {} -- message -> when its reasoning began here
local target = function() end -- returns the session that the next text goes to
local at_work = function() return false end -- whether a task of a session is open

local MARKS = {
  pending = "…", in_progress = "…", completed = "✓", failed = "✗", cancelled = "✗", _denied = "✗", _interrupted = "✗",
}
-- The calls that have a place of their own in the chat: only those that did not work are steps.
local QUIET = { update_plan = true, task_complete = true }
local RUNS = { pending = true, in_progress = true }

local STEPS = { pending = "[ ]", in_progress = "[~]", completed = "[x]" }

local function use(name)
  for index, other in ipairs(recent) do
    if other == name then table.remove(recent, index) end
  end
  recent[#recent + 1] = name
end

-- Forgets the pages that were in no window for the longest time. One that grows now would come back with a part missing.
local function forget_hidden()
  local hidden = vim.tbl_filter(function(name)
    return name ~= NEW and name ~= target() and not at_work(name) and not page.is_shown(pages[name])
  end, recent)
  for index = 1, #hidden - MOST_HIDDEN do
    local name = hidden[index]
    page.forget(pages[name])
    pages[name] = nil
    recent = vim.tbl_filter(function(other) return other ~= name end, recent)
  end
end

local function page_of(session)
  local name = session or NEW
  if not pages[name] then
    pages[name] = page.new("adjutant://" .. name, session)
    use(name)
    forget_hidden()
  end
  return pages[name]
end

-- Notes what the server says. Most of it comes two ways, as an update and as a message, in any order.
local counted, ahead = 0, {} -- by text, how much more often it came as an update than as a message
function M.note(text, way, session)
  text = cures.here((text:gsub("^Adjutant: ", "")))
  local before = ahead[text] or 0
  local after = before + (way == "update" and 1 or -1)
  ahead[text] = after ~= 0 and after or nil
  if math.abs(after) < math.abs(before) then return end
  counted = counted + 1
  page.write(page_of(session or target()), "note " .. counted, text, "quiet")
end

local function ended(at, run, finish)
  local words = ({ completed = "done", stopped = "done", failed = "failed", limit = "stopped at a limit" })[finish.outcome]
  local why = (finish.outcome == "failed" or finish.outcome == "limit") and finish.summary
  page.write(at, "end " .. run, ("— %s%s"):format(words or finish.outcome, why and ": " .. cures.here(why) or ""), "quiet")
end

-- Text below the line of a step.
local function indented(text) return "    " .. text:gsub("\n", "\n    ") end

local function tool_call(at, update, session, client)
  if QUIET[update.tool] and update.status ~= "failed" and update.status ~= "_denied" then return end
  local summary = update.summary and " · " .. update.summary or ""
  local line = ("%s %s%s"):format(MARKS[update.status] or "·", update.title, summary)
  line = line:gsub("%s*\n%s*", " "):gsub("%s+$", "")
  local id = update.toolCallId
  local rest = page.rest(at, id)
  if rest == "" and update.argumentsText and update.argumentsText ~= "" then rest = indented(update.argumentsText) end
  page.write(at, id, rest, "tool", { head = line, minor = update.minor })
  local item = at.items[id]
  item.asked = update.argumentsText and update.argumentsText ~= "" and indented(update.argumentsText) or item.asked
  item.call = {
    id = id, session = session, client = client and client.id, kind = update.kind, runs = RUNS[update.status] ~= nil,
  }
end

-- What a step prints while it is at work.
local function output(at, update)
  local item = at.items[update.toolCallId]
  if not item or not item.head then return end
  local before = item.printed or 0
  if before >= MOST_OUTPUT then return end
  local text = update.text:sub(1, MOST_OUTPUT - before)
  item.printed = before + #update.text
  if item.printed > MOST_OUTPUT then text = text .. "\n…" end
  text = text:gsub("\n", "\n    ")
  local rest = page.rest(at, update.toolCallId)
  page.append(at, update.toolCallId, before > 0 and text or (rest ~= "" and "\n\n" or "") .. "    " .. text, "tool")
end

-- The reasoning of a message, under one line that says how long it took. `whole`: it is over.
local function thought(at, update, whole)
  local id = "thought " .. update.messageId
  if not whole then
    if not at.items[id] then
      thinks[id] = vim.uv.now()
      page.write(at, id, update.text, "thought", { head = "Thinking…", minor = true })
      return
    end
    return page.append(at, id, update.text, "thought")
  end
  local seconds = thinks[id] and math.floor((vim.uv.now() - thinks[id]) / 1000 + 0.5) or 0
  thinks[id] = nil
  if vim.trim(update.text) == "" then return end
  local head = seconds > 0 and ("Thought %d s"):format(seconds) or "Thought"
  page.write(at, id, update.text, "thought", { head = head, minor = true })
end

-- A compaction: one line, and folded under it what the model reads from then on.
local function compaction(at, update)
  local head = ("%s %s"):format(MARKS[update.status] or "·", update.title)
  local rest = update.text and indented(update.text) or ""
  page.write(at, "compaction " .. update.compactionId, rest, "thought", { head = head, minor = update.kind == "outputs" })
end

-- Folds in one `agent/session/update`.
function M.told(params, client)
  local update = params.update
  local kind = update.sessionUpdate
  local at = page_of(params.sessionId)
  local run = params.sessionId .. " " .. (params.runId or "")
  if kind == "agent_message_chunk" then page.append(at, update.messageId, update.text)
  elseif kind == "agent_message" then
    page.write(at, update.messageId, update.text)
  elseif kind == "agent_thought_chunk" then thought(at, update, false)
  elseif kind == "agent_thought" then thought(at, update, true)
  elseif kind == "plan_update" then
    local lines = { #update.entries > 0 and "Plan" or "The plan was taken away" }
    for _, entry in ipairs(update.entries) do
      lines[#lines + 1] = ("- %s %s"):format(STEPS[entry.status] or "[ ]", (entry.content:gsub("%s+", " ")))
    end
    page.write(at, "plan " .. (params.runId or ""), table.concat(lines, "\n"))
  elseif kind == "compaction_update" then compaction(at, update)
  elseif kind == "tool_call_update" then tool_call(at, update, params.sessionId, client)
  elseif kind == "tool_call_content_chunk" then output(at, update)
  elseif kind == "_complete" then
    -- Most models have just said the same.
    if not update.said then page.write(at, "complete " .. (params.runId or ""), update.summary) end
  elseif kind == "notice" then M.note(update.message, "update", params.sessionId)
  elseif kind == "_run" and update.phase == "started" then
    page.write(at, "run " .. update.runId, "# " .. (update.title:gsub("\n", " ")), "prompt")
    steers[run] = false
  elseif kind == "user_message" and params.runId then
    local id = steers[run] and update.messageId or "run " .. params.runId
    if steers[run] then page.write(at, id, "> " .. update.text:gsub("\n", "\n> "), "prompt") end
    if at.items[id] then at.items[id].message = update.messageId end
    local along = vim.tbl_map(function(name) return "+ " .. name end, update.attached or {})
    if along[1] then page.write(at, "attached " .. update.messageId, table.concat(along, "\n"), "quiet") end
    steers[run] = true
  elseif kind == "_run" then
    steers[run] = nil
    ended(at, update.runId, update["end"])
  end
end

-- A session was opened: what is told of it from now on is its whole page.
function M.opened(session)
  local at = page_of(session)
  page.clear(at)
  at.whole = true
end

-- A session was made here, so its page has all of it.
function M.made(session) page_of(session).whole = true end

-- A server ended: another window may go on with its sessions, so no page is known to be whole. With `session` that one alone.
function M.unsure(session)
  for name, at in pairs(pages) do
    if not session or name == session then at.whole = nil end
  end
end

-- Whether the page of a session is here, with all that the client was told of it.
function M.has(session) return pages[session] ~= nil and pages[session].whole == true end

-- How much of each session is drawn from now on: `brief`, `normal` or `full`.
function M.draws(detail) page.draws(detail, pages) end

-- Returns the buffer of a session, or of the one that begins; it is made anew if something has unloaded it.
function M.buffer(session)
  local at = page_of(session)
  use(session or NEW)
  page.ensure(at)
  -- What was said before a session began is of no use for the next one.
  if not session and not page.is_shown(at) then page.clear(at) end
  return at.buffer
end

-- Returns the page of a buffer.
local function page_in(buffer)
  for _, at in pairs(pages) do
    if at.buffer == buffer then return at end
  end
end

-- Returns the session that a window shows.
function M.session(window)
  local at = page_in(api.nvim_win_get_buf(window))
  return at and at.session
end

-- Returns the rows at which prompts of the user begin on the page one is on, in order.
function M.prompts()
  local at = page_in(api.nvim_get_current_buf())
  return at and page.prompts(at) or {}
end

-- Returns the session and the message of the prompt at a row of the page one is on.
function M.prompt_at(row)
  local at = page_in(api.nvim_get_current_buf())
  local message = at and page.prompt_at(at, row)
  if message then return at.session, message end
end

-- Returns what is folded under a line at a row of the page one is on: whether it is reasoning or a call, and what is known of it.
function M.folding(row)
  local at = page_in(api.nvim_get_current_buf())
  if at then return page.folding(at, row) end
end

-- Puts what a step gave below its line. What it printed while it was at work makes way. Returns the row of the line, and the buffer.
function M.gave(call, text)
  local at = pages[call.session]
  local item = at and at.items[call.id]
  if not (item and item.mark) then return end
  item.read = true
  page.write(at, call.id, text, "tool", { head = item.head, minor = item.minor, stays = true })
  return page.row(at, call.id), at.buffer
end

-- The window that a page is in on this tab page.
function M.window()
  for _, window in ipairs(api.nvim_tabpage_list_wins(0)) do
    local is_float = api.nvim_win_get_config(window).relative ~= ""
    if not is_float and page_in(api.nvim_win_get_buf(window)) then return window end
  end
end

-- `options.target` returns the session that the next text goes to, `options.at_work` whether a task of a session is open.
function M.setup(options)
  target, at_work = options.target, options.at_work
  api.nvim_create_autocmd({ "WinResized", "VimResized" }, { group = api.nvim_create_augroup("adjutant.chat", {}), callback = function()
    for _, at in pairs(pages) do page.resized(at) end
  end })
end

return M
