-- The changes of all files: as a quickfix list, and as a tab page that has this list and, for the file of the entry, its text before the
-- changes beside its text of now. Decides nothing: the keys of the changes do so in the file.
local deciding = require("adjutant.deciding")
local drawing = require("adjutant.drawing")
local hunks = require("adjutant.hunks")
local notices = require("adjutant.notices")

local M = {}
local api = vim.api

local LIST_LINES = 7 -- at most, of the window with the list
local request -- sends a request to a client

---@class adjutant.Review
---@field tab integer
---@field file integer the window of the file
---@field base integer the window with the text before
---@field buffer? integer the file that is compared
---@field there table<integer, boolean> the buffers that were loaded before it
local open ---@type adjutant.Review?
local owners = {} -- by the name of a file: the id of the client that listed its changes

local function clients() return vim.lsp.get_clients({ name = "adjutant" }) end

-- Returns the entry of a change in the list. A move is at the new name of its file, and a deletion at none: to open it would make a
-- new file.
local function item_of(hunk)
  local is, removed = hunk.operation or {}, drawing.count(hunk.removed)
  if is.kind == "move" then
    local text = ("%s: moved from %s"):format(hunk.state, deciding.one_line(hunk.path))
    return { filename = vim.uri_to_fname(is.uri), lnum = 1, text = text }
  elseif is.kind == "delete" then
    return { text = ("%s −%d: deleted %s"):format(hunk.state, removed, deciding.one_line(hunk.path)) }
  end
  return {
    filename = vim.uri_to_fname(hunk.uri), lnum = hunk.line + 1,
    text = ("%s +%d −%d: %s"):format(hunk.state, drawing.count(hunk.inserted), removed, deciding.first_line(hunk, 80)),
  }
end

-- Puts the changes of all files into the quickfix list. `done` is called if there are some.
local function list(done)
  local all, waiting = {}, #clients()
  if waiting == 0 then return notices.no_server() end
  local function answered()
    waiting = waiting - 1
    if waiting > 0 then return end
    local items, seen = {}, {}
    for _, hunk in ipairs(all) do
      local name = table.concat({ hunk.sessionId, hunk.changeSetId, hunk.hunkId }, "\n")
      -- One that is decided is listed for its comment, which waits to be sent.
      if not seen[name] and hunk.state ~= "kept" and hunk.state ~= "undone" then
        seen[name] = true
        items[#items + 1] = item_of(hunk)
      end
    end
    if #items == 0 then return notices.say("no changes wait for you") end
    vim.fn.setqflist({}, " ", { title = "Changes of Adjutant", items = items })
    done(items)
  end
  for _, client in ipairs(clients()) do
    request(client, "agent/review/list", vim.empty_dict(), function(result)
      vim.list_extend(all, result.hunks)
      for _, hunk in ipairs(result.hunks) do owners[vim.uri_to_fname(hunk.operation and hunk.operation.uri or hunk.uri)] = client.id end
      answered()
    end, function(err)
      notices.say(err.message)
      answered()
    end)
  end
end

-- Shows the list in the quickfix window, which is not entered: it opens when the servers have answered.
function M.list()
  list(function()
    local window = api.nvim_get_current_win()
    vim.cmd("botright copen")
    if api.nvim_win_is_valid(window) then api.nvim_set_current_win(window) end
  end)
end

-- Returns the client that knows the changes of a file, which may not be attached to its buffer yet.
local function client_of(buffer)
  local name = api.nvim_buf_get_name(buffer)
  return vim.lsp.get_clients({ name = "adjutant", bufnr = buffer })[1] or vim.lsp.get_client_by_id(owners[name] or -1)
end

local function in_tab(run)
  if open and api.nvim_win_is_valid(open.file) then api.nvim_win_call(open.file, run) end
end

-- Compares the file with this text.
local function compare(buffer, text)
  if not open or open.buffer ~= buffer or not api.nvim_win_is_valid(open.base) then return end
  local base = api.nvim_win_get_buf(open.base)
  local lines = vim.split((text:gsub("\n$", "")), "\n", { plain = true })
  vim.bo[base].modifiable = true
  api.nvim_buf_set_lines(base, 0, -1, false, lines)
  vim.bo[base].modifiable, vim.bo[base].syntax = false, vim.bo[buffer].filetype
  for _, window in ipairs({ open.base, open.file }) do
    if not vim.wo[window].diff then api.nvim_win_call(window, function() vim.cmd("diffthis") end) end
  end
  in_tab(function()
    vim.cmd("diffupdate")
    vim.cmd("syncbind")
  end)
end

-- Gets the text before the changes of the file that is shown.
local function fetch()
  local buffer = open and open.buffer
  local client = buffer and client_of(buffer)
  if not client then return end
  request(client, "agent/review/base", { uri = vim.uri_from_bufnr(buffer) }, function(result) compare(buffer, result.text) end,
    function(err) notices.say(err.message) end)
end

-- Lets a file look as it does outside of the tab page.
local function let_go(buffer)
  drawing.beside[buffer] = nil
  hunks.redraw(buffer)
end

-- Turns to the file that has come into its window.
local function turn()
  local buffer = api.nvim_win_get_buf(open.file)
  if buffer == open.buffer or vim.bo[buffer].buftype ~= "" then return end
  in_tab(function() vim.cmd("diffoff!") end)
  if open.buffer then let_go(open.buffer) end
  open.buffer = buffer
  -- The lines before are in the other window.
  drawing.beside[buffer] = true
  hunks.redraw(buffer)
  fetch()
end

-- Takes away what the tab page leaves: the diff, and the buffers that it alone had opened.
local function finish()
  local was = open
  open = nil
  if not was then return end
  if was.buffer then let_go(was.buffer) end
  if api.nvim_tabpage_is_valid(was.tab) and #api.nvim_list_tabpages() > 1 then
    if api.nvim_win_is_valid(was.file) then api.nvim_win_call(was.file, function() vim.cmd("diffoff!") end) end
    vim.cmd.tabclose({ api.nvim_tabpage_get_number(was.tab) })
  end
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    local is_ours = api.nvim_buf_is_loaded(buffer) and not was.there[buffer] and #vim.fn.win_findbuf(buffer) == 0
    local kind = vim.bo[buffer].buftype
    if is_ours and kind == "quickfix" then pcall(api.nvim_buf_delete, buffer, {})
    elseif is_ours and kind == "" and not vim.bo[buffer].modified then
      -- The list still names it.
      vim.bo[buffer].buflisted = false
      pcall(api.nvim_buf_delete, buffer, { unload = true })
    end
  end
end

local function watch()
  local group = api.nvim_create_augroup("adjutant.review", {})
  api.nvim_create_autocmd("BufEnter", { group = group, callback = function()
    if open and api.nvim_get_current_win() == open.file then turn() end
  end })
  -- However one of the two is closed, the other one alone would be of no use.
  api.nvim_create_autocmd("WinClosed", { group = group, callback = function(event)
    local closed = tonumber(event.match)
    if open and (closed == open.file or closed == open.base) then vim.schedule(finish) end
  end })
end

-- Makes the window with the text before, left of the file.
local function open_base(file)
  local buffer = api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden, vim.bo[buffer].modifiable = "wipe", false
  local window = api.nvim_open_win(buffer, false, { split = "left", win = file })
  for name, value in pairs({ winfixbuf = true, winbar = "before · :tabclose ends the review" }) do
    api.nvim_set_option_value(name, value, { win = window, scope = "local" })
  end
  api.nvim_set_option_value("winbar", "now", { win = file, scope = "local" })
  return window
end

-- Returns the first entry of the file one is in, else the first one of any file.
local function first_of(items, name)
  local any
  for index, item in ipairs(items) do
    if item.filename == name then return index end
    any = any or item.filename and index
  end
  return any
end

-- Opens the tab page, or comes back to it, with a new list.
function M.open()
  list(function(items)
    local first = first_of(items, api.nvim_buf_get_name(0))
    if not first then return M.list() end
    if open then
      api.nvim_set_current_win(open.file)
      return vim.cmd("cc " .. first)
    end
    local there = {}
    for _, buffer in ipairs(api.nvim_list_bufs()) do there[buffer] = api.nvim_buf_is_loaded(buffer) or nil end
    vim.cmd.tabedit(vim.fn.fnameescape(vim.fn.fnamemodify(items[first].filename, ":.")))
    local file = api.nvim_get_current_win()
    vim.cmd(("botright copen %d"):format(math.min(LIST_LINES, #items)))
    api.nvim_set_current_win(file)
    open = { tab = api.nvim_get_current_tabpage(), file = file, base = open_base(file), there = there }
    vim.cmd("cc " .. first)
    turn()
  end)
end

-- The changes of a file are not as they were.
function M.told(buffer)
  if open and open.buffer == buffer then fetch() end
end

-- `options.request` sends a request.
function M.setup(options)
  request = options.request
  watch()
end

return M
