-- The prompt: an ordinary buffer for each session, with a text that waits to be sent. The text is kept whatever becomes of its window and
-- its buffer, and over the end of Neovim. It is cleared only when the server has taken it, and goes to the session in which it was written.
local attached = require("adjutant.attached")
local buffers = require("adjutant.buffers")
local display = require("adjutant.display")
local history = require("adjutant.history")
local notices = require("adjutant.notices")
local panes = require("adjutant.panes")
local unsent = require("adjutant.unsent")

local M = {}
local api = vim.api

local LEAST, MOST = 3, 12 -- lines of the window
local LEAST_CHAT = 3 -- lines that the chat keeps
local MOST_REASON = 8 -- lines of the reason why a text was not taken
local LONGEST_REASON = 2000 -- characters
local AGAIN_MS = 2000 -- in which the key that stops has to be pressed again
local space = api.nvim_create_namespace("adjutant.prompt")

---@class adjutant.Draft
---@field root string the root folder of its server
---@field session? string none for a text that begins a session
---@field lines string[] the text as it was last
---@field attached adjutant.Attached[] what goes along with it
---@field buffer? integer
---@field pending? string the text that was sent and is not taken yet
---@field server? integer the client it was sent to
---@field refused? string why the last one was not taken
---@field topic? string what may cure that
---@field key? { text: string, name: string } so that a text that is sent again is taken once
---@field pressed? integer when the key that stops was pressed, if it may be pressed again
---@field walk? adjutant.Walk the walk through the prompts of before

local drafts = {} ---@type table<string, adjutant.Draft>
local of = {} ---@type table<integer, adjutant.Draft> by buffer
local made = 0 -- buffers
local send, stop, at_work, request -- see `M.setup`

local function key_of(root, session) return session or "new " .. root end

local function lines_of(draft) return api.nvim_buf_get_lines(draft.buffer, 0, -1, false) end

local function text_of(draft) return (table.concat(lines_of(draft), "\n"):gsub("%s+$", "")) end

-- Makes the window as high as its text, while the chat above it keeps some lines.
local function fit(draft)
  for _, window in ipairs(vim.fn.win_findbuf(draft.buffer)) do
    local now = api.nvim_win_get_height(window)
    local above = api.nvim_win_call(window, function() return vim.fn.win_getid(vim.fn.winnr("k")) end)
    local room = above ~= window and api.nvim_win_get_height(above) + now - LEAST_CHAT or now
    local wanted = math.min(MOST, math.max(LEAST, api.nvim_win_text_height(window, {}).all))
    wanted = math.max(1, math.min(wanted, room))
    if wanted ~= now and above ~= window then api.nvim_win_set_height(window, wanted) end
  end
end

-- What the key that sends does now.
local function hint_of(draft)
  if draft.pending then return "sending…" end
  local inserts = api.nvim_get_current_buf() == draft.buffer and api.nvim_get_mode().mode:find("^i") ~= nil
  local mode = inserts and "i" or "n"
  local works = draft.session ~= nil and at_work(draft.session)
  local keys = {}
  local sends = panes.shown(draft.buffer, mode, "prompt", "send")
  if sends then keys[1] = sends .. (works and " steers" or draft.session and " sends" or " sends, in a new session") end
  local stops = works and panes.shown(draft.buffer, mode, "prompt", "stop")
  if stops then keys[#keys + 1] = stops .. (draft.pressed and " again stops the task" or " twice stops") end
  return table.concat(keys, " · ")
end

-- Breaks a text into lines of this width, at spaces where there are some. Virtual lines are not wrapped.
local function wrapped(text, width)
  local lines = {}
  while text ~= "" do
    local line = text
    while vim.fn.strdisplaywidth(line) > width do
      local words = line:match("^(.*%S)%s+%S+$")
      line = words or vim.fn.strcharpart(line, 0, vim.fn.strchars(line) - 1)
    end
    text = vim.trim(text:sub(#line + 1))
    lines[#lines + 1] = line
    if #lines == MOST_REASON and text ~= "" then
      lines[#lines] = vim.fn.strcharpart(line, 0, vim.fn.strchars(line) - 1) .. "…"
      break
    end
  end
  return lines
end

-- Draws what is no text of the user below it.
local function draw(draft)
  if not draft.buffer or not api.nvim_buf_is_loaded(draft.buffer) then return end
  local window = vim.fn.win_findbuf(draft.buffer)[1]
  local width = window and api.nvim_win_get_width(window) or 40
  local below = {}
  for index, one in ipairs(draft.attached) do
    local label = attached.label(one) .. (index == #draft.attached and " · :Adjutant prompt drop" or "")
    for _, line in ipairs(wrapped(label, math.max(10, width))) do below[#below + 1] = { { line, "Special" } } end
  end
  if draft.refused then
    local why = "Not sent: " .. display.plain((vim.fn.strcharpart(draft.refused, 0, LONGEST_REASON):gsub("%s+", " ")))
    for _, line in ipairs(wrapped(why, math.max(10, width))) do below[#below + 1] = { { line, "DiagnosticError" } } end
  end
  below[#below + 1] = { { hint_of(draft), "Comment" } }
  api.nvim_buf_clear_namespace(draft.buffer, space, 0, -1)
  api.nvim_buf_set_extmark(draft.buffer, space, api.nvim_buf_line_count(draft.buffer) - 1, 0, { virt_lines = below })
  fit(draft)
end

-- Draws all prompts that are in sight.
function M.draw()
  for _, draft in pairs(of) do
    if #vim.fn.win_findbuf(draft.buffer) > 0 then draw(draft) end
  end
end

-- Puts a text into the buffer without a step to undo.
local function load(draft)
  local buffer = draft.buffer
  vim.bo[buffer].undolevels = -1
  api.nvim_buf_set_lines(buffer, 0, -1, false, draft.lines)
  -- The number that stands for the global value.
  vim.bo[buffer].undolevels = -123456
end

-- Keeps the text with each change, so that no way to lose the buffer loses it.
local function attach(draft)
  local buffer = draft.buffer
  api.nvim_buf_attach(buffer, false, { on_lines = function()
    if of[buffer] ~= draft then return true end
    draft.lines, draft.refused = lines_of(draft), nil
    vim.schedule(function() draw(draft) end)
  end })
end

local function watch(draft)
  local buffer = draft.buffer
  attach(draft)
  -- `:e` empties the buffer, because it is of no file.
  api.nvim_create_autocmd("BufReadCmd", { buffer = buffer, callback = function()
    if of[buffer] ~= draft then return end
    load(draft)
    attach(draft)
    vim.bo[buffer].buflisted = false
    vim.schedule(function() draw(draft) end)
  end })
  api.nvim_create_autocmd({ "InsertEnter", "InsertLeave", "BufEnter", "BufWinEnter" }, { buffer = buffer, callback = function()
    vim.schedule(function() draw(draft) end)
  end })
end

local recalled ---@type adjutant.Unsent[]? what an earlier Neovim left unsent

-- Makes drafts of what an earlier Neovim left unsent, once.
local function recall()
  if recalled then return end
  recalled = unsent.read()
  for _, one in ipairs(recalled) do
    local key = key_of(one.root, one.session)
    drafts[key] = drafts[key] or { root = one.root, session = one.session, lines = vim.split(one.text, "\n"), attached = {} }
  end
end

-- Returns the buffer of a session's prompt, or of the one that begins a session.
function M.buffer(root, session)
  recall()
  local key = key_of(root, session)
  local draft = drafts[key] or { root = root, session = session, lines = { "" }, attached = {} }
  drafts[key] = draft
  local buffer, new = buffers.usable(draft.buffer)
  if not new then return buffer end
  if draft.buffer then of[draft.buffer] = nil end
  draft.buffer, of[buffer] = buffer, draft
  made = made + 1
  pcall(api.nvim_buf_set_name, buffer, "adjutant://prompt/" .. made)
  load(draft)
  watch(draft)
  -- Before the event for the file type, in which the user may set others.
  panes.set(buffer, "prompt")
  vim.bo[buffer].omnifunc = "v:lua.require'adjutant.mentions'.complete"
  vim.bo[buffer].filetype = "adjutant-prompt"
  draw(draft)
  return buffer
end

-- Returns the draft of a buffer, if it is a prompt.
function M.draft(buffer) return of[buffer] end

-- What is written here goes to another session from now on, unless that one has a text of its own.
local function moves(draft, session)
  local from, to = key_of(draft.root, draft.session), key_of(draft.root, session)
  local other = drafts[to]
  if other and (#other.attached > 0 or vim.trim(table.concat(other.lines, "\n")) ~= "") then return end
  drafts[from], drafts[to], draft.session = nil, draft, session
  if not (other and other.buffer) then return end
  of[other.buffer] = nil
  if not api.nvim_buf_is_valid(other.buffer) then return end
  for _, window in ipairs(vim.fn.win_findbuf(other.buffer)) do api.nvim_win_set_buf(window, M.buffer(draft.root, session)) end
  pcall(api.nvim_buf_delete, other.buffer, { force = true })
end

-- Puts a text that was not taken behind what is written for its session, with the reason.
function M.keep(root, session, text, why, topic)
  local draft = of[M.buffer(root, session)]
  local before = text_of(draft)
  local all = before == "" and text or before .. "\n\n" .. text
  api.nvim_buf_set_lines(draft.buffer, 0, -1, false, vim.split(all, "\n"))
  draft.refused, draft.topic = why, topic
  draw(draft)
end

-- Lets these lines of a buffer wait with the prompt of a session. A prompt does not quote another one.
function M.attach(root, session, buffer, first, last)
  if of[buffer] then return end
  local draft = of[M.buffer(root, session)]
  local why = attached.add(draft.attached, root, buffer, first, last)
  if why then return notices.say(why) end
  draft.refused = nil
  draw(draft)
end

-- Takes away all that waits with the prompt of a session.
function M.drop(root, session)
  local draft = drafts[key_of(root, session)]
  if not draft or #draft.attached == 0 then return notices.say("no lines wait with the prompt") end
  attached.remove(draft.attached, vim.list_slice(draft.attached))
  draft.refused = nil
  draw(draft)
end

-- Takes away the reasons that do not hold any more, of one root if it is named; the texts wait to be sent.
function M.cured(topic, root)
  for _, draft in pairs(drafts) do
    if draft.refused and draft.topic == topic and (not root or draft.root == root) then
      draft.refused = nil
      draw(draft)
    end
  end
end

-- A session was made for the text that begins one.
function M.adopt(root, session)
  local draft = drafts[key_of(root)]
  if draft then moves(draft, session) end
end

local function taken(draft, sent, along, session)
  attached.remove(draft.attached, along)
  draft.pending, draft.server, draft.refused, draft.key = nil, nil, nil, nil
  if not draft.session then moves(draft, session) end
  draft.walk = nil
  if not draft.buffer or not api.nvim_buf_is_loaded(draft.buffer) then
    if vim.trim(table.concat(draft.lines, "\n")) == sent then draft.lines = { "" } end
    return
  end
  local now = table.concat(lines_of(draft), "\n")
  -- What was typed meanwhile stays.
  local rest = vim.startswith(now, sent) and now:sub(#sent + 1):gsub("^%s+", "") or now
  api.nvim_buf_set_lines(draft.buffer, 0, -1, false, vim.split(rest, "\n"))
  draw(draft)
end

-- `is_gone`: its session is not there any more, so the next try begins one.
local function refuse(draft, why, is_gone, topic)
  draft.pending, draft.server, draft.refused, draft.topic = nil, nil, why, topic
  if is_gone then moves(draft, nil) end
  draw(draft)
end

-- Sends the text of the prompt one is in.
function M.send()
  local draft = of[api.nvim_get_current_buf()]
  if not draft or draft.pending then return end
  local text = text_of(draft)
  if vim.trim(text) == "" then return end
  draft.pending, draft.refused = text, nil
  local along = vim.list_slice(draft.attached)
  local whole = table.concat(vim.list_extend({ text }, vim.tbl_map(attached.label, along)), "\n")
  if not draft.key or draft.key.text ~= whole then
    draft.key = { text = whole, name = ("nvim-%d-%d"):format(vim.fn.getpid(), vim.uv.hrtime()) }
  end
  draft.server = send(draft.root, draft.session, text, {
    key = draft.key.name, attached = attached.blocks(along),
    taken = function(session) taken(draft, text, along, session) end,
    refused = function(why, is_gone, topic) refuse(draft, why, is_gone, topic) end,
  })
  draw(draft)
end

-- A server has ended, so nothing that was sent to it is answered any more.
function M.forget(client)
  for _, draft in pairs(drafts) do
    if draft.pending and draft.server == client then
      refuse(draft, "the server ended before it answered; send it again, it is taken once")
    end
  end
end

-- Stops the task at the second press: the first one may be meant for Insert mode, or for nothing.
function M.stop()
  local draft = of[api.nvim_get_current_buf()]
  if not draft then return end
  local pressed = draft.pressed
  draft.pressed = nil
  local works = draft.session and at_work(draft.session)
  if works and pressed then return stop(draft.root, draft.session) end
  if works then
    local now = vim.uv.hrtime()
    draft.pressed = now
    vim.defer_fn(function()
      if draft.pressed ~= now then return end
      draft.pressed = nil
      draw(draft)
    end, AGAIN_MS)
  end
  -- Many leave Insert mode by this key.
  if api.nvim_get_mode().mode:find("^i") then return vim.cmd.stopinsert() end
  if not works then return notices.show("Adjutant: no task runs in this session") end
  draw(draft)
end

-- Presses a key as if it had no map.
local function press(key) api.nvim_feedkeys(vim.keycode(key), "ni", false) end

local function replace(draft, lines, at_end)
  api.nvim_buf_set_lines(draft.buffer, 0, -1, false, lines)
  local row = at_end and #lines or 1
  api.nvim_win_set_cursor(0, { row, #lines[row] })
end

-- What the walk through the prompts of before needs of a prompt.
local function steps_of(draft)
  return {
    text = function() return table.concat(lines_of(draft), "\n") end,
    put = function(lines, at_end)
      if api.nvim_get_current_buf() == draft.buffer then replace(draft, lines, at_end) end
    end,
    load = function(before, done) request(draft.root, before, done) end,
  }
end

function M.older()
  local draft = of[api.nvim_get_current_buf()]
  if not draft or api.nvim_win_get_cursor(0)[1] > 1 or vim.fn.pumvisible() == 1 then return press("<Up>") end
  history.older(draft, steps_of(draft))
end

function M.newer()
  local draft = of[api.nvim_get_current_buf()]
  local is_last = draft and api.nvim_win_get_cursor(0)[1] == api.nvim_buf_line_count(draft.buffer)
  if not is_last or vim.fn.pumvisible() == 1 or not history.newer(draft, steps_of(draft)) then press("<Down>") end
end

-- `options.send` sends a text to a session, calls `taken` with the session or `refused` with the reason, and returns the client.
-- `options.stop` stops the task of a session, `options.at_work` says whether it has one, `options.history` gets a page of the prompts.
function M.setup(options)
  send, stop, at_work, request = options.send, options.stop, options.at_work, options.history
  api.nvim_create_autocmd("VimLeavePre", { group = api.nvim_create_augroup("adjutant.unsent", {}), callback = function()
    local all = {}
    -- A text that was sent may be of another session by now.
    for _, one in ipairs(recalled or {}) do
      if not drafts[key_of(one.root, one.session)] then all[#all + 1] = { root = one.root, session = one.session, text = "" } end
    end
    for _, draft in pairs(drafts) do
      all[#all + 1] = { root = draft.root, session = draft.session, text = table.concat(draft.lines, "\n") }
    end
    unsent.write(all)
  end })
  attached.setup(function() return vim.tbl_map(function(draft) return draft.attached end, vim.tbl_values(drafts)) end)
  api.nvim_create_autocmd({ "VimResized", "WinResized" }, {
    group = api.nvim_create_augroup("adjutant.prompt", {}), callback = function() vim.schedule(M.draw) end,
  })
end

return M
