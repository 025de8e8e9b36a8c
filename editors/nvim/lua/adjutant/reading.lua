-- Moving in the chat: from prompt to prompt, to what a step gave and changed, and to the files that it names. Never opens a file that
-- is not there.
local chat = require("adjutant.chat")
local display = require("adjutant.display")
local folds = require("adjutant.folds")
local notices = require("adjutant.notices")
local prompt = require("adjutant.prompt")
local tab = require("adjutant.tab")

local M = {}
local api = vim.api

local CHANGES = { edit = true, delete = true, move = true } -- the kinds of steps that have a diff
local read = function() end -- calls back with what a step gave
local changes = function() end -- calls back with all changes of the session of a step
local fork = function() end -- copies a session up to before a message of the user
local roots = function() return {} end -- returns the folders that paths may be below

local function move(step)
  local at = api.nvim_win_get_cursor(0)[1]
  local rows = chat.prompts()
  for _ = 1, vim.v.count1 do
    local found
    for _, row in ipairs(rows) do
      if step > 0 and row > at and not found then found = row end
      if step < 0 and row < at then found = row end
    end
    at = found or at
  end
  vim.cmd("normal! m'")
  api.nvim_win_set_cursor(0, { at, 0 })
end

function M.next() move(1) end
function M.previous() move(-1) end

-- What stands below the line of a step: its arguments, and the end of what it gave.
local function below(item, result)
  local lines = {}
  local function add(text) lines[#lines + 1] = "    " .. text end
  if item.asked then vim.list_extend(lines, { item.asked, "" }) end
  if result.leftOut > 0 then add(("… %d bytes before this are left out"):format(result.leftOut)) end
  if not result.output then add("There is no result yet.")
  elseif vim.trim(result.output) == "" then add("It gave nothing.")
  else
    for _, line in ipairs(vim.split(result.output:gsub("%s+$", ""), "\n")) do add(line) end
  end
  return table.concat(lines, "\n")
end

-- Shows the changes of a step in a tab page, or calls `none`.
local function show_changes(call, none)
  changes(call, function(result)
    local lines = {}
    for _, hunk in ipairs(result.hunks) do
      if vim.list_contains(hunk.toolCallIds, call.id) then
        vim.list_extend(lines, vim.split((display.diff(hunk.diff):gsub("\n$", "")), "\n", { plain = true }))
      end
    end
    if #lines > 0 then tab.open(lines, { syntax = "diff" }) else none() end
  end)
end

-- Reads what a step gave, and opens it once it is here.
local function read_and_open(item, window)
  read(item.call, function(result)
    local row, buffer = chat.gave(item.call, below(item, result))
    if not row or not api.nvim_win_is_valid(window) or api.nvim_win_get_buf(window) ~= buffer then return end
    api.nvim_win_call(window, function() folds.set(row, true) end)
  end)
end

-- Opens what is folded at the cursor, or closes it. The changes of a step are shown as a diff. What a step gave comes when it is opened
-- for the first time. Elsewhere the key does what it does without Adjutant.
function M.unfold()
  local row, window = api.nvim_win_get_cursor(0)[1], api.nvim_get_current_win()
  local item = chat.folding(row)
  if not item then return pcall(vim.cmd.normal, { vim.keycode("<CR>"), bang = true }) end
  local folds_here = vim.fn.foldlevel(row) > 0
  if folds_here and vim.fn.foldclosed(row) == -1 then return folds.set(row, false) end
  local call = item.call
  if not call or item.read then return folds.set(row, true) end
  if CHANGES[call.kind] and not call.runs then
    return show_changes(call, function() read_and_open(item, window) end)
  end
  if not call.runs then return read_and_open(item, window) end
  if not folds_here then return notices.show("Adjutant: this step is still at work") end
  folds.set(row, true)
end

-- Copies the session up to before the prompt at the cursor.
function M.fork()
  local session, message = chat.prompt_at(api.nvim_win_get_cursor(0)[1])
  if not session then return notices.show("Adjutant: no prompt of yours is at the cursor") end
  fork(session, message)
end

-- Returns the path, the line and the column that a word names.
local function place_of(word)
  word = word:gsub("^[%(%[`\"'<]+", ""):gsub("[%)%]`\"'>,;.!?]+$", "")
  local path, line, column = word:match("^(.-):(%d+):?(%d*)")
  if not path then path = word:gsub(":$", "") end
  return path, tonumber(line), tonumber(column)
end

-- Returns the file of a path as the user knows it. A path of the model is only a name of a file that is there.
local function file_of(path)
  if path == "" then return end
  local folders = vim.startswith(path, "/") and { "" } or roots()
  for _, folder in ipairs(folders) do
    local file = folder == "" and path or folder .. "/" .. path
    local is = vim.uv.fs_stat(file)
    if is and is.type == "file" then return file end
  end
end

-- Returns a window for a file, on this tab page.
local function window_for_file()
  local last = vim.fn.win_getid(vim.fn.winnr("#"))
  for _, window in ipairs(vim.list_extend({ last }, api.nvim_tabpage_list_wins(0))) do
    local ours = window == 0 or api.nvim_win_get_config(window).relative ~= ""
    local buffer = not ours and api.nvim_win_get_buf(window)
    if buffer and vim.bo[buffer].buftype == "" and not prompt.draft(buffer) then return window end
  end
end

function M.open()
  local path, line, column = place_of(vim.fn.expand("<cWORD>"))
  local file = file_of(path)
  if not file then return notices.show("Adjutant: there is no file " .. display.plain(path)) end
  local window = window_for_file()
  if window then api.nvim_set_current_win(window) else vim.cmd("topleft split") end
  vim.cmd.edit(vim.fn.fnameescape(vim.fn.fnamemodify(file, ":.")))
  if not line then return end
  local row = math.max(1, math.min(line, api.nvim_buf_line_count(0)))
  api.nvim_win_set_cursor(0, { row, math.max(0, (column or 1) - 1) })
end

-- `options.roots` returns the folders that paths may be below; `options.read` asks for what a step gave, `options.changes` for all
-- changes of its session; `options.fork` copies a session up to before a message.
function M.setup(options) roots, read, changes, fork = options.roots, options.read, options.changes, options.fork end

return M
