-- Short messages of Adjutant in a float with a frame that is not entered: never a
-- prompt that waits for a key, as long messages are.
local buffers = require("adjutant.buffers")
local display = require("adjutant.display")
local program = require("adjutant.program")

local M = {}
local api = vim.api

local STAYS = 8000 -- milliseconds
local MOST = 6 -- lines
local ROWS = 10 -- of the screen
local lines, window, buffer = {}, nil, nil
local topics = {} -- of the lines, what may cure what they say
local echoed -- the last message that Neovim itself shows, and its topic
local timer = assert(vim.uv.new_timer())

local function close()
  if window and api.nvim_win_is_valid(window) then api.nvim_win_close(window, true) end
  window, lines, topics = nil, {}, {}
end

local function draw()
  buffer = buffers.usable(buffer)
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  local width = 1
  for _, line in ipairs(lines) do width = math.max(width, vim.fn.strdisplaywidth(line)) end
  width = math.min(width, 60, vim.o.columns - 4)
  local config = {
    relative = "editor", row = vim.o.showtabline > 0 and 1 or 0, col = vim.o.columns - width - 2, width = width,
    height = 1, focusable = false, style = "minimal", zindex = 70,
    border = "rounded", title = " Adjutant ",
  }
  -- A float belongs to one tab page, and shows the buffer it was opened with.
  local here = window and api.nvim_win_is_valid(window) and api.nvim_win_get_buf(window) == buffer
    and api.nvim_win_get_tabpage(window) == api.nvim_get_current_tabpage()
  if window and not here and api.nvim_win_is_valid(window) then api.nvim_win_close(window, true) end
  if here then api.nvim_win_set_config(window, config)
  else window = api.nvim_open_win(buffer, false, vim.tbl_extend("force", config, { noautocmd = true })) end
  buffers.hide_nothing(window)
  vim.wo[window].winhighlight = "Normal:NormalFloat"
  vim.wo[window].linebreak = true
  -- Only the window knows how many rows its lines take where words stay whole.
  local rows = api.nvim_win_text_height(window, {}).all
  api.nvim_win_set_height(window, math.max(1, math.min(rows, ROWS, vim.o.lines - 6)))
end

-- With a topic, `model` or `server`, the message goes when that is cured.
function M.show(text, topic)
  for _, line in ipairs(vim.split(vim.trim(text), "\n")) do
    lines[#lines + 1], topics[#topics + 1] = line, topic or ""
  end
  local first = math.max(1, #lines - MOST + 1)
  lines, topics = vim.list_slice(lines, first), vim.list_slice(topics, first)
  draw()
  timer:start(STAYS, 0, vim.schedule_wrap(close))
end

-- Says something in one line. What is longer would wait for a key.
function M.say(text, topic)
  text = "Adjutant: " .. display.plain((text:gsub("%s*\n%s*", " ")))
  if vim.fn.strdisplaywidth(text) > vim.v.echospace then return M.show(text, topic) end
  vim.notify(text)
  echoed = { text = text, topic = topic }
end

-- Takes away what was said about something that is cured now.
function M.cured(topic)
  local left, left_topics = {}, {}
  for index, line in ipairs(lines) do
    if topics[index] ~= topic then left[#left + 1], left_topics[#left_topics + 1] = line, topics[index] end
  end
  local changed = #left < #lines
  lines, topics = left, left_topics
  if changed and #lines == 0 then close() elseif changed then draw() end
  local last = echoed and echoed.topic == topic and vim.fn.execute("1messages")
  -- Neovim shows it until something else is said.
  if last and vim.trim(last) == echoed.text then vim.api.nvim_echo({ { "" } }, false, {}) end
  if last then echoed = nil end
end

-- Why there is no server to ask, and what to do.
function M.no_server()
  if not program.is_there() then
    return M.say(("the program %s is not in the PATH of Neovim; :checkhealth adjutant says what to do"):format(program.name()), "server")
  end
  M.say("no server runs; :Adjutant log may say why", "server")
end

return M
