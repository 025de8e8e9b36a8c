-- What Adjutant says, as it comes: one buffer that nobody edits. It opens no window, and never moves a cursor that is not at its end.
local buffers = require("adjutant.buffers")
local panes = require("adjutant.panes")

local M = {}
local api = vim.api

local MOST_LINES, MOST_OUTPUT = 20000, 16384
local space = api.nvim_create_namespace("adjutant.chat")
local buffer
local items = {} -- id of an item -> its mark, and its text in pieces
local order = {} -- the ids, oldest first
local steers = {} -- run -> its own prompt was told, so the next is a steer

local MARKS = {
  pending = "…", in_progress = "…", completed = "✓", failed = "✗", cancelled = "✗", _denied = "✗", _interrupted = "✗",
}

local STEPS = { pending = "[ ]", in_progress = "[~]", completed = "[x]" }

local whole

-- The text of an item. Its pieces are put together only here.
local function text_of(item)
  if #item.pieces > 1 then item.pieces = { table.concat(item.pieces) } end
  return item.pieces[1] or ""
end

local function ensure()
  local new
  buffer, new = buffers.usable(buffer)
  if not new then return end
  api.nvim_buf_set_name(buffer, "adjutant://chat")
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = "adjutant"
  pcall(vim.treesitter.start, buffer, "markdown")
  panes.set(buffer, "chat")
  -- What was said is said again: to close a window is not to throw the answer away.
  local said, ids = items, order
  items, order = {}, {}
  for _, id in ipairs(ids) do
    whole(id, text_of(said[id]), said[id].highlight)
    items[id].line, items[id].call = said[id].line, said[id].call
  end
end

local function place_of(item)
  local mark = api.nvim_buf_get_extmark_by_id(buffer, space, item.mark, { details = true })
  return mark[1], mark[2], mark[3].end_row, mark[3].end_col
end

-- Forgets the items whose lines were cut off: nothing is left of them.
local function forget_cut()
  local from = 1
  while order[from] do
    local item = items[order[from]]
    local _, _, row, column = place_of(item)
    if row > 0 or column > 0 then break end
    api.nvim_buf_del_extmark(buffer, space, item.mark)
    items[order[from]] = nil
    from = from + 1
  end
  if from > 1 then order = vim.list_slice(order, from) end
end

-- Changes the buffer; windows whose cursor is at the end stay at the end, unless they are to stay where they are.
local function change(edit, stays)
  ensure()
  local following = {}
  local last = api.nvim_buf_line_count(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    if not stays and api.nvim_win_get_cursor(window)[1] == last then following[#following + 1] = window end
  end
  vim.bo[buffer].modifiable = true
  edit()
  local count = api.nvim_buf_line_count(buffer)
  if count > MOST_LINES then
    api.nvim_buf_set_lines(buffer, 0, count - MOST_LINES, false, {})
    count = MOST_LINES
    forget_cut()
  end
  vim.bo[buffer].modifiable = false
  for _, window in ipairs(following) do api.nvim_win_set_cursor(window, { count, 0 }) end
end

-- Begins an item behind all others.
local function begin(id, highlight)
  local last = api.nvim_buf_line_count(buffer)
  local empty = last == 1 and api.nvim_buf_get_lines(buffer, 0, 1, false)[1] == ""
  if not empty then
    api.nvim_buf_set_lines(buffer, last, last, false, highlight == "tool" and { "" } or { "", "" })
  end
  local row = api.nvim_buf_line_count(buffer) - 1
  local item = { pieces = {}, size = 0, highlight = highlight }
  item.mark = api.nvim_buf_set_extmark(buffer, space, row, 0, {
    end_row = row, end_col = 0, right_gravity = false, end_right_gravity = true,
    hl_group = (highlight == "quiet" or highlight == "tool") and "Comment" or nil,
  })
  items[id] = item
  order[#order + 1] = id
  return item
end

local function append(id, text, highlight)
  change(function()
    local item = items[id] or begin(id, highlight)
    local _, _, row, column = place_of(item)
    api.nvim_buf_set_text(buffer, row, column, row, column, vim.split(text, "\n"))
    item.pieces[#item.pieces + 1] = text
    item.size = item.size + #text
  end)
end

-- The whole of an item, in place of what was known of it.
function whole(id, text, highlight, stays)
  text = text:gsub("%s+$", "")
  local known = items[id]
  if known and text_of(known) == text then return end
  change(function()
    local item = items[id] or begin(id, highlight)
    local row, column, end_row, end_column = place_of(item)
    api.nvim_buf_set_text(buffer, row, column, end_row, end_column, vim.split(text, "\n"))
    item.pieces, item.size = { text }, #text
  end, stays)
end

-- Notes what the server says. Most of it comes two ways, as an update and as a message, in any order.
local counted, ahead = 0, {} -- by text, how much more often it came as an update than as a message
function M.note(text, way)
  text = text:gsub("^Adjutant: ", "")
  local before = ahead[text] or 0
  local after = before + (way == "update" and 1 or -1)
  ahead[text] = after ~= 0 and after or nil
  if math.abs(after) < math.abs(before) then return end
  counted = counted + 1
  whole("note " .. counted, text, "quiet")
end

local function ended(run, finish)
  steers[run] = nil
  local words = ({ completed = "done", stopped = "done", failed = "failed", limit = "stopped at a limit" })[finish.outcome]
  local why = (finish.outcome == "failed" or finish.outcome == "limit") and finish.summary
  whole("end " .. run, ("— %s%s"):format(words or finish.outcome, why and ": " .. why or ""), "quiet")
end

-- Folds in one `agent/session/update`.
function M.told(params, client)
  local update = params.update
  local kind = update.sessionUpdate
  if kind == "agent_message_chunk" then append(update.messageId, update.text)
  elseif kind == "agent_message" then whole(update.messageId, update.text)
  elseif kind == "agent_thought_chunk" then append("thought " .. update.messageId, update.text, "quiet")
  elseif kind == "agent_thought" then whole("thought " .. update.messageId, update.text, "quiet")
  elseif kind == "plan_update" then
    local lines = { #update.entries > 0 and "Plan" or "The plan was taken away" }
    for _, entry in ipairs(update.entries) do
      lines[#lines + 1] = ("- %s %s"):format(STEPS[entry.status] or "[ ]", (entry.content:gsub("%s+", " ")))
    end
    whole("plan " .. (params.runId or ""), table.concat(lines, "\n"))
  elseif kind == "tool_call_update" then
    if update.tool == "update_plan" and update.status ~= "failed" and update.status ~= "_denied" then return end
    local summary = update.summary and " · " .. update.summary or ""
    local line = ("%s %s%s"):format(MARKS[update.status] or "·", update.title, summary)
    line = line:gsub("%s*\n%s*", " "):gsub("%s+$", "")
    whole(update.toolCallId, line, "tool")
    local item = items[update.toolCallId]
    item.line, item.call = line, { id = update.toolCallId, session = params.sessionId, client = client and client.id }
  elseif kind == "tool_call_content_chunk" then
    local id = "output " .. update.toolCallId
    local before = items[id] and items[id].size or 0
    if before < MOST_OUTPUT then
      local text = update.text:sub(1, MOST_OUTPUT - before)
      append(id, before + #update.text > MOST_OUTPUT and text .. "\n…" or text, "tool")
    end
  elseif kind == "_complete" then whole("complete " .. (params.runId or ""), update.summary)
  elseif kind == "notice" then M.note(update.message, "update")
  elseif kind == "_run" and update.phase == "started" then
    whole("run " .. update.runId, "# " .. (update.title:gsub("\n", " ")), "prompt")
    steers[update.runId] = false
  elseif kind == "user_message" and params.runId then
    if steers[params.runId] then whole(update.messageId, "> " .. update.text:gsub("\n", "\n> "), "prompt") end
    steers[params.runId] = true
  elseif kind == "_run" then ended(update.runId, update["end"]) end
end

-- Forgets what was said: another session is shown.
function M.clear()
  items, order, steers, ahead = {}, {}, {}, {}
  ensure()
  vim.bo[buffer].modifiable = true
  api.nvim_buf_clear_namespace(buffer, space, 0, -1)
  api.nvim_buf_set_lines(buffer, 0, -1, false, {})
  vim.bo[buffer].modifiable = false
end

-- Returns the rows at which prompts of the user begin, in order.
function M.prompts()
  local rows = {}
  for _, id in ipairs(order) do
    if items[id].highlight == "prompt" then rows[#rows + 1] = place_of(items[id]) + 1 end
  end
  return rows
end

-- Returns the step at a row, from 1: its call, and whether what it gave stands below it.
function M.step(row)
  for _, id in ipairs(order) do
    local item = items[id]
    local first, _, last = place_of(item)
    if item.line and row > first and row <= last + 1 then return item.call, text_of(item) ~= item.line end
  end
end

-- Shows a text below the line of a step; without one, the line alone. What it printed while it was at work makes way.
function M.unfold(id, text)
  local line = items[id] and items[id].line
  if not line then return end
  local printed = "output " .. id
  if items[printed] then whole(printed, "", "tool", true) end
  -- Behind an empty line it is code of Markdown, so nothing in it is drawn as anything else.
  whole(id, text and line .. "\n\n" .. text or line, "tool", true)
end

-- Whether something stands there that a step printed while it was at work.
function M.has_printed(id)
  local item = items["output " .. id]
  return item ~= nil and text_of(item) ~= ""
end

-- Returns the buffer, which is made anew if something has unloaded it.
function M.buffer()
  ensure()
  return buffer
end

-- The window it is in on this tab page.
function M.window()
  if not buffer or not api.nvim_buf_is_loaded(buffer) then return end
  for _, window in ipairs(api.nvim_tabpage_list_wins(0)) do
    local is_float = api.nvim_win_get_config(window).relative ~= ""
    if not is_float and api.nvim_win_get_buf(window) == buffer then return window end
  end
end

return M
