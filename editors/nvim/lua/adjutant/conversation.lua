-- The two windows of the conversation: the chat, and the prompt below it. A command opens and closes them; the focus stays where it is
-- unless the user asks for the prompt. Never holds a text.
local buffers = require("adjutant.buffers")
local chat = require("adjutant.chat")
local folds = require("adjutant.folds")
local prompt = require("adjutant.prompt")

local M = {}
local api = vim.api

local WIDE = 100 -- columns from which the chat is beside the file
local LINES_FOR_BAR = 30 -- lines from which the chat has a bar above it
local target = function() end -- returns the root folder and the session that the next text goes to
local use = function() end -- lets the next text go to a session

-- The windows of this tab page but the floats.
local function ordinary()
  return vim.tbl_filter(function(window)
    return api.nvim_win_get_config(window).relative == ""
  end, api.nvim_tabpage_list_wins(0))
end

-- Returns the window of the prompt on this tab page.
function M.prompt_window()
  for _, window in ipairs(ordinary()) do
    if prompt.draft(api.nvim_win_get_buf(window)) then return window end
  end
end

local function set_options(window, more)
  buffers.hide_nothing(window)
  local options = vim.wo[window]
  options.linebreak, options.number, options.relativenumber = true, false, false
  options.signcolumn, options.foldcolumn = "no", "0"
  for name, value in pairs(more) do options[name] = value end
end

-- However the chat is closed, the prompt goes with it. Its text is kept.
local function close_with(window)
  api.nvim_create_autocmd("WinClosed", { pattern = tostring(window), once = true, callback = function()
    vim.schedule(function()
      local prompts = M.prompt_window()
      if prompts and not chat.window() and #ordinary() > 1 then api.nvim_win_close(prompts, false) end
    end)
  end })
end

local function dress_chat(window)
  -- In a terminal of a few rows the text needs all of them.
  local bar = vim.o.lines >= LINES_FOR_BAR and "%{v:lua.require'adjutant.about'.bar()}%<" or ""
  set_options(window, { spell = false, winbar = bar })
  folds.set_options(window)
end

-- Returns the buffer of the session that the next text goes to.
local function chat_buffer() return chat.buffer(select(2, target())) end

local function open_chat()
  local buffer = chat_buffer()
  -- A float cannot be split.
  local here = api.nvim_get_current_win()
  if not vim.list_contains(ordinary(), here) then here = ordinary()[1] end
  local wide = vim.o.columns >= WIDE
  local window = api.nvim_open_win(buffer, false, {
    split = wide and "right" or "below", win = here,
    width = wide and math.floor(vim.o.columns * 0.4) or nil,
    -- The prompt gets four of these lines, with the line above it.
    height = not wide and math.max(3, math.floor(vim.o.lines * 0.47)) or nil,
  })
  dress_chat(window)
  close_with(window)
  return window
end

-- Shows the session that the next text goes to in the chat of this tab page; the others keep theirs.
local function turn_to(window)
  local wanted = chat_buffer()
  if api.nvim_win_get_buf(window) == wanted then return end
  api.nvim_win_set_buf(window, wanted)
  dress_chat(window)
end

local function open_prompt(above)
  local buffer = prompt.buffer(target())
  -- In a terminal of a few rows the chat alone has room.
  local made, window = pcall(api.nvim_open_win, buffer, false, { split = "below", win = above, height = 3 })
  if not made then return end
  set_options(window, { winfixheight = true })
  prompt.draw()
  return window
end

-- Opens both where they are missing. After the user chose a session, its prompt is shown, whatever is written in another one.
function M.open(chosen)
  local window = chat.window()
  if window then turn_to(window) else window = open_chat() end
  local prompts = M.prompt_window() or open_prompt(window)
  if not (prompts and chosen) then return end
  api.nvim_win_set_buf(prompts, prompt.buffer(target()))
  prompt.draw()
end

-- Closes both, but not the last window.
function M.close()
  for _, window in ipairs({ M.prompt_window() or false, chat.window() or false }) do
    if window and #ordinary() > 1 then api.nvim_win_close(window, false) end
  end
end

function M.toggle()
  if chat.window() then M.close() else M.open() end
end

-- Goes to the prompt, at the end of its text. The lines of a command with a range wait there.
function M.write(line)
  if line and (line.range or 0) > 0 then
    local root, session = target()
    prompt.attach(root, session, api.nvim_get_current_buf(), line.line1, line.line2)
  end
  M.open()
  local window = M.prompt_window()
  if not window then return end
  api.nvim_set_current_win(window)
  local last = api.nvim_buf_line_count(0)
  api.nvim_win_set_cursor(0, { last, #api.nvim_buf_get_lines(0, last - 1, last, false)[1] })
  vim.cmd("startinsert!")
end

-- Takes away the lines that wait with the prompt: the one in which the user is, else the one of the next text.
function M.drop()
  local draft = prompt.draft(api.nvim_get_current_buf())
  if draft then prompt.drop(draft.root, draft.session) else prompt.drop(target()) end
end

-- Shows the page and the prompt of the session that the next text goes to, the prompt unless the user is writing in another one. `made` is a session of the
-- root folder that was made for that text.
function M.follow(root, made)
  if made then prompt.adopt(root, made) end
  local shown_in = chat.window()
  if shown_in then turn_to(shown_in) end
  local window = M.prompt_window()
  if not window then return end
  local shown = api.nvim_win_get_buf(window)
  local is_empty = vim.trim(table.concat(api.nvim_buf_get_lines(shown, 0, -1, false))) == ""
  if window == api.nvim_get_current_win() and not is_empty then return end
  local wanted = prompt.buffer(target())
  if wanted ~= shown then api.nvim_win_set_buf(window, wanted) end
  prompt.draw()
end

-- `options.target` returns the root folder and the session that the next text goes to, `options.use` lets it go to another session.
function M.setup(options)
  target, use = options.target, options.use
  -- Where a chat is in sight, the next text goes to its session.
  api.nvim_create_autocmd("TabEnter", { group = api.nvim_create_augroup("adjutant.conversation", {}), callback = function()
    local window = chat.window()
    local session = window and chat.session(window)
    if session then use(session) end
  end })
end

return M
