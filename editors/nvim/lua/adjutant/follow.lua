-- Shows in another window what the agent reads and changes, while the user wants that. Never changes the window that the user is in, its
-- mode, cursor, jumps or alternate file, and never a window in which the user has been since the following began.
local notices = require("adjutant.notices")
local pace = require("adjutant.pace")

local M = {}
local api = vim.api

local MOST_BYTES = 10 * 1024 * 1024
local HEAD = 8000 -- bytes of a file in which a zero says that it is no text
local WIDE = 160 -- columns of a window from which the new one is beside it
local LEAST = 8 -- lines of a window of which the new one takes half
local FAILED = { failed = true, cancelled = true, _denied = true, _interrupted = true }
local space = api.nvim_create_namespace("adjutant.follow")
local timer = assert(vim.uv.new_timer())

---@class adjutant.Place
---@field path string
---@field session string
---@field first? integer the first of its lines, from 1
---@field last? integer

local on = false
local state = pace.new()
local waits = false -- the timer runs
local shown ---@type adjutant.Place? the newest place that is in sight
local window ---@type integer? the one that shows it
local found ---@type { buffer: integer, cursor: integer[] }? what the user found in that window when entering it
local theirs = {} ---@type table<integer, boolean> the windows in which the user has been
local own = {} ---@type table<integer, boolean> the buffers that the following has made
local loaded ---@type integer? the buffer that only the following has loaded
local told_room = false -- the user knows that there is no room for a window
local chat_session = function() end -- returns the session that the chat in sight shows

local function is_float(at) return api.nvim_win_get_config(at).relative ~= "" end

-- Whether the user is at something that another window could disturb. A prompt that is empty was sent: who still is in it looks on.
local function is_busy()
  local mode = api.nvim_get_mode()
  if mode.blocking or vim.fn.getcmdwintype() ~= "" or vim.fn.pumvisible() == 1 then return true end
  local lines = mode.mode == "i" and vim.bo.filetype == "adjutant-prompt" and api.nvim_buf_get_lines(0, 0, 2, false)
  if lines then return #lines > 1 or lines[1] ~= "" end
  return mode.mode ~= "n"
end

-- Whether a file can be shown as text.
local function is_text(path)
  local is = vim.uv.fs_stat(path)
  if not is or is.type ~= "file" or is.size > MOST_BYTES then return false end
  local file = io.open(path, "rb")
  local head = file and file:read(HEAD) or ""
  if file then file:close() end
  return file ~= nil and not head:find("\0", 1, true)
end

-- Returns the buffer of a file, and whether it is loaded only now. A file that another Neovim has open is read without a question, and
-- cannot be written by mistake.
local function load(path)
  -- As the user would name it.
  local name = vim.fn.fnamemodify(path, ":.")
  local was_there = vim.fn.bufexists(name) == 1
  local buffer = vim.fn.bufadd(name)
  if not was_there then own[buffer] = true end
  if api.nvim_buf_is_loaded(buffer) then return buffer, false end
  -- What Neovim says of a file that it reads could wait for a key.
  pcall(vim.fn.execute, ("call bufload(%d)"):format(buffer), "silent!")
  if not api.nvim_buf_is_loaded(buffer) then return end
  local swap = vim.fn.swapname(buffer)
  if swap ~= "" and not vim.endswith(swap, ".swp") then vim.bo[buffer].readonly = true end
  return buffer, true
end

-- Takes away a buffer that the following has made; one that the user has, loaded or not, is only unloaded again.
local function drop(buffer)
  pcall(api.nvim_buf_delete, buffer, { unload = not own[buffer] })
  own[buffer] = nil
end

-- Lets go of a file that nobody but the following has opened.
local function unload()
  local buffer = loaded
  loaded = nil
  if not buffer or not api.nvim_buf_is_loaded(buffer) then return end
  if vim.bo[buffer].modified or vim.bo[buffer].buflisted or #vim.fn.win_findbuf(buffer) > 0 then return end
  drop(buffer)
end

local function unmark()
  for _, buffer in ipairs(api.nvim_list_bufs()) do api.nvim_buf_clear_namespace(buffer, space, 0, -1) end
end

-- From now on the window is one of the user.
local function give()
  if not window then return end
  theirs[window] = true
  if api.nvim_win_is_valid(window) then
    local buffer = api.nvim_win_get_buf(window)
    if buffer == loaded then
      vim.bo[buffer].buflisted, loaded = true, nil
    end
  end
  window, found, shown = nil, nil, nil
  unmark()
end

-- Whether a window of the user may show another file.
local function is_free(at)
  local buffer = api.nvim_win_get_buf(at)
  local is, of = vim.bo[buffer], vim.wo[at]
  if theirs[at] or is_float(at) or is.buftype ~= "" or of.diff or of.winfixbuf or of.previewwindow then return false end
  return (is.bufhidden == "" or is.bufhidden == "hide") and (vim.o.hidden or not is.modified)
end

-- Opens a window for the file beside or below the largest one with a file. Where texts are compared, none has a place.
local function open(buffer)
  local best, best_size
  for _, at in ipairs(api.nvim_tabpage_list_wins(0)) do
    if vim.wo[at].diff then return end
    local has_file = vim.bo[api.nvim_win_get_buf(at)].buftype == ""
    local size = api.nvim_win_get_width(at) * api.nvim_win_get_height(at) + (has_file and 1000000 or 0)
    if not is_float(at) and not vim.wo[at].winfixheight and size > (best_size or 0) then best, best_size = at, size end
  end
  if not best then return end
  local width, height = api.nvim_win_get_width(best), api.nvim_win_get_height(best)
  if width < WIDE and height < LEAST then
    if not told_room then notices.say("there is no room for a window to follow the agent in") end
    told_room = true
    return
  end
  -- With a size of its own it leaves all others as they are.
  local size = width >= WIDE and { split = "right", width = math.floor(width / 2) }
    or { split = "below", height = math.floor(height / 2) }
  local made, new = pcall(api.nvim_open_win, buffer, false, vim.tbl_extend("error", size, { win = best }))
  if not made then return end
  for name, value in pairs({ scrollbind = false, cursorbind = false, winfixbuf = false, previewwindow = false }) do
    api.nvim_set_option_value(name, value, { win = new, scope = "local" })
  end
  return new
end

-- Returns the window for a file: the one of before, else one that the user has not been in, else a new one.
local function window_for(buffer)
  if window and (not api.nvim_win_is_valid(window) or window == api.nvim_get_current_win()) then give() end
  if window and api.nvim_win_is_valid(window) then return window end
  local free = vim.tbl_filter(is_free, api.nvim_tabpage_list_wins(0))
  for _, at in ipairs(free) do
    if api.nvim_win_get_buf(at) == buffer then return at end
  end
  return free[1] or open(buffer)
end

local function mark(buffer, place)
  unmark()
  local count = api.nvim_buf_line_count(buffer)
  -- All lines of a file are no place in it.
  if not place.first or place.first > count or (place.first == 1 and place.last >= count) then return end
  api.nvim_buf_set_extmark(buffer, space, place.first - 1, 0, {
    end_row = math.min(place.last, count) - 1, line_hl_group = "AdjutantFollow", priority = 10,
  })
end

local function show(place)
  local buffer, is_new = load(place.path)
  if not buffer then return end
  local to = window_for(buffer)
  if not to then
    if is_new then drop(buffer) end
    return
  end
  window = to
  if api.nvim_win_get_buf(to) ~= buffer then api.nvim_win_set_buf(to, buffer) end
  local row = math.min(place.first or 1, api.nvim_buf_line_count(buffer))
  api.nvim_win_set_cursor(to, { row, 0 })
  api.nvim_win_call(to, function()
    vim.fn.winrestview({ topline = math.max(1, row - math.floor(api.nvim_win_get_height(to) / 3)) })
  end)
  mark(buffer, place)
  if loaded ~= buffer then unload() end
  if is_new then loaded = buffer end
  shown = place
end

-- Shows the newest place if it is its time, else waits for that.
local tick
function tick()
  waits = false
  if not on then return end
  local place, wait = pace.next(state, vim.uv.now(), is_busy())
  if place then
    pcall(show, place)
  elseif wait then
    waits = true
    timer:start(wait, 0, vim.schedule_wrap(tick))
  end
end

-- What keeps a place from being shown has changed. While the timer runs, it will see that.
local function again()
  if not on or waits or state.place == nil then return end
  waits = true
  timer:start(0, 0, vim.schedule_wrap(tick))
end

local function is_same(one, other)
  return one ~= nil and one.path == other.path and one.first == other.first and one.last == other.last
end

-- Folds in one `agent/session/update` that is about now.
function M.told(params)
  if not on then return end
  local update = params.update
  if update.sessionUpdate == "_run" and update.phase == "ended" then
    if state.place and state.place.session == params.sessionId then state.place = nil end
    if shown and shown.session == params.sessionId then
      shown = nil
      unmark()
    end
    return
  end
  if update.sessionUpdate ~= "tool_call_update" or FAILED[update.status] then return end
  local only = chat_session()
  if only and only ~= params.sessionId then return end
  local locations = update.locations or {}
  local last = locations[#locations]
  if not last or not vim.startswith(last.uri, "file:") then return end
  local place = { path = vim.uri_to_fname(last.uri), session = params.sessionId }
  if last.range then
    local from, to = last.range.start, last.range["end"]
    place.first = from.line + 1
    -- A range that ends before the first character of a line does not touch that line.
    place.last = math.max(place.first, to.character == 0 and to.line or to.line + 1)
  end
  if is_same(shown, place) then
    state.place = nil
  elseif not is_same(state.place, place) and is_text(place.path) then
    pace.arrived(state, place)
    again()
  end
end

local function watch(group)
  local function at(event, run) api.nvim_create_autocmd(event, { group = group, callback = run }) end
  at("ModeChanged", again)
  at("WinEnter", function()
    local here = api.nvim_get_current_win()
    if here ~= window then
      theirs[here] = true
    else
      found = { buffer = api.nvim_win_get_buf(here), cursor = api.nvim_win_get_cursor(here) }
    end
  end)
  -- Who only passes through leaves the window as it was.
  at("WinLeave", function()
    local here = api.nvim_get_current_win()
    if here ~= window or not found then return end
    local is_as_found = found.buffer == api.nvim_win_get_buf(here) and vim.deep_equal(found.cursor, api.nvim_win_get_cursor(here))
    found = nil
    if not is_as_found then give() end
  end)
  at("WinClosed", function(event)
    local closed = tonumber(event.match)
    theirs[closed] = nil
    if closed ~= window then return end
    window = nil
    -- Whoever closes the window does not want it again.
    vim.schedule(function() if on then M.stop() end end)
  end)
end

function M.stop()
  on, waits, state = false, false, pace.new()
  timer:stop()
  vim.on_key(nil, space)
  api.nvim_create_augroup("adjutant.follow", {})
  unmark()
  if loaded and api.nvim_buf_is_loaded(loaded) and #vim.fn.win_findbuf(loaded) > 0 then
    -- It stays where the user looks at it.
    vim.bo[loaded].buflisted, loaded = true, nil
  end
  unload()
  window, found, shown, theirs = nil, nil, nil, {}
  notices.say("no longer follows the agent")
end

local function start()
  on, told_room = true, false
  theirs[api.nvim_get_current_win()] = true
  -- Whoever begins in the chat or the prompt has not said which of the files may make way.
  if vim.bo.buftype ~= "" then
    for _, at in ipairs(api.nvim_tabpage_list_wins(0)) do theirs[at] = true end
  end
  vim.cmd("highlight default link AdjutantFollow CursorLine")
  vim.on_key(function(_, typed)
    if typed == "" then return end
    pace.typed(state, vim.uv.now())
    again()
  end, space)
  watch(api.nvim_create_augroup("adjutant.follow", {}))
  notices.say("follows the agent in another window")
end

-- Begins to follow, or ends it.
function M.toggle()
  if on then M.stop() else start() end
end

-- `options.session` returns the session that the chat in sight shows.
function M.setup(options) chat_session = options.session end

return M
