-- Moving in the chat: from prompt to prompt, to what a step gave, and to the files that it names. Never opens anything but a file that
-- is there.
local chat = require("adjutant.chat")
local notices = require("adjutant.notices")
local display = require("adjutant.display")
local prompt = require("adjutant.prompt")

local M = {}
local api = vim.api

local read = function() end -- calls back with what a step gave
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

-- The lines below a step.
local function below(result)
  local lines = {}
  if result.leftOut > 0 then lines[1] = ("    … %d bytes before this are left out"):format(result.leftOut) end
  if not result.output then lines[1] = "    There is no result yet."
  elseif vim.trim(result.output) == "" then lines[1] = "    It gave nothing."
  else
    for _, line in ipairs(vim.split(result.output:gsub("%s+$", ""), "\n")) do lines[#lines + 1] = "    " .. line end
  end
  return table.concat(lines, "\n")
end

-- Shows or hides what the step at the cursor gave. Elsewhere the key does what it does without Adjutant.
function M.unfold()
  local call, is_open = chat.step(api.nvim_win_get_cursor(0)[1])
  if not call then return pcall(vim.cmd.normal, { vim.keycode("<CR>"), bang = true }) end
  if is_open then return chat.unfold(call.id) end
  read(call, function(result)
    if not result.output and chat.has_printed(call.id) then return notices.show("Adjutant: this step is still at work") end
    chat.unfold(call.id, below(result))
  end)
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

-- `options.roots` returns the folders that paths may be below; `options.read` asks for what a step gave.
function M.setup(options) roots, read = options.roots, options.read end

return M
