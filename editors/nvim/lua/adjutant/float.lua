-- How a question is drawn: its text, and where the float is that holds it.
-- Never opens a window, and knows of no question but the one it is given.
local M = {}
local api = vim.api

-- How many lines of its subject have not been in sight.
function M.unseen(entry)
  if entry.whole then return 0 end
  local count = 0
  for line = 1, #entry.lines do count = count + (entry.seen[line] and 0 or 1) end
  return count
end

-- Lines of text cannot hold line ends.
function M.one(text) return (text:gsub("%s*\n%s*", " ")) end

-- The float as the user reads it, and the row of the first line of the subject.
function M.text(entry)
  local lines = { M.one(entry.title) }
  if entry.why then vim.list_extend(lines, vim.split(entry.why, "\n")) end
  if entry.place then lines[#lines + 1] = M.one(entry.place) end
  if #entry.lines > 0 then lines[#lines + 1] = "" end
  local first = #lines + 1
  vim.list_extend(lines, entry.lines)
  lines[#lines + 1] = ""
  local left = entry.gone and 0 or M.unseen(entry)
  if entry.gone then
    lines[#lines + 1] = entry.gone
  else
    for number, option in ipairs(entry.options) do
      if option.allows and left > 0 then
        local first_look = entry.tall and "first press s: a line is longer than this window"
          or ("first look at the other %d line%s"):format(left, left == 1 and "" or "s")
        lines[#lines + 1] = ("-  %s: %s"):format(M.one(option.name), first_look)
      else
        lines[#lines + 1] = ("%d  %s"):format(number, M.one(option.name))
      end
    end
  end
  return lines, first
end

-- The keys that are no choice.
local function keys_of(entry)
  if entry.gone then return " q close " end
  local words = entry.words and (entry.rejects and "r reason · " or "r my words · ") or ""
  return (" %s%sq %s "):format(words, #entry.lines > 0 and "s in a tab · " or "", entry.brief and "close" or "later")
end

-- One line for those who are at something else.
local function hint_of(entry, count)
  local short = entry.short and " " .. entry.short or ""
  return ("?%s %s%s · :AdjutantAnswer"):format(count, M.one(entry.title), short)
end

-- How high some lines are at a width.
local function height_of(lines, width)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return height
end

local LEAST = 5 -- lines of a question that are of use
local KEPT = 8 -- lines of the answer that a question beside it leaves in sight

-- Where the window of the answer is: `below` the file over the whole width, or beside it.
local function place_of(chat)
  local row, column = unpack(api.nvim_win_get_position(chat))
  local width, height = api.nvim_win_get_width(chat), api.nvim_win_get_height(chat)
  return { row = row, col = column, width = width, height = height, below = row > 1 and column == 0 }
end

-- One line that leaves the answer, the text and the cursor alone.
local function hint_at(entry, count, chat, bottom)
  local lines = { hint_of(entry, count) }
  local right = chat and not chat.below and chat.col > 40 and chat.col - 1 or vim.o.columns
  local width = math.min(vim.fn.strdisplaywidth(lines[1]), right)
  local height = math.min(height_of(lines, width), 3)
  local row = math.max(0, (chat and chat.below and chat.row - 1 or bottom) - height)
  -- The line with the cursor stays in sight.
  local at = api.nvim_win_get_cursor(0)
  local cursor = vim.fn.screenpos(0, at[1], at[2] + 1).row
  if cursor > row and cursor <= row + height then row = vim.o.showtabline > 0 and 1 or 0 end
  return lines, {
    relative = "editor", border = "none", row = row, col = right - width, width = width, height = height,
    focusable = false, zindex = 60, style = "minimal",
  }
end

-- Where the float is, and what is in it: the whole when it is entered or has room beside the
-- answer, else one line. `count` is the place among several; `chat` is the window of the answer.
function M.layout(entry, entered, count, chat)
  local bottom = vim.o.lines - vim.o.cmdheight - (vim.o.laststatus > 0 and 1 or 0)
  chat = chat and place_of(chat)
  local beside = chat and chat.height - 2 - KEPT or 0
  if not entered and beside < LEAST then return hint_at(entry, count, chat, bottom) end
  local lines = M.text(entry)
  local room = math.max(3, math.min(math.floor(vim.o.lines * 0.6), vim.o.lines - 14))
  local config = {
    relative = "editor", border = "rounded", title = (" Adjutant asks%s "):format(count),
    footer_pos = "right", focusable = entered, zindex = 60, style = "minimal",
  }
  if not entered then
    config.width = math.max(10, chat.width - 2)
    config.height = math.min(height_of(lines, config.width), room, beside)
    config.row, config.col = chat.row + chat.height - config.height - 2, chat.col
  elseif chat and chat.below and chat.row - 4 >= LEAST then
    -- Above the answer, which stays in sight.
    config.width = math.max(10, math.min(vim.o.columns - 2, 100))
    config.height = math.min(height_of(lines, config.width), room, chat.row - 3)
    config.row, config.col = chat.row - 3 - config.height, vim.o.columns - config.width - 2
  else
    -- Left of the answer where it has a side of its own.
    local right = chat and not chat.below and chat.col > 40 and chat.col - 1 or vim.o.columns
    config.width = math.max(10, math.min(right - 2, 100))
    config.height = math.min(height_of(lines, config.width), room, math.max(1, bottom - 2))
    config.row, config.col = math.max(0, bottom - config.height - 2), right - config.width - 2
  end
  config.footer = " :AdjutantAnswer "
  if entered then
    local more = " scroll for more ·" .. keys_of(entry)
    local fits = vim.fn.strdisplaywidth(more) <= config.width and not entry.gone
    config.footer = fits and height_of(lines, config.width) > config.height and more or keys_of(entry)
  end
  return lines, config
end

return M
