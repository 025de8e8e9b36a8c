-- How a question is drawn: its text, its answers below it, and where the floats are that hold them. The text scrolls, the answers do
-- not. Never opens a window, and knows of no question but the one it is given.
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

-- The text of a question as the user reads it, the row of the first line of the subject, and how many lines before it the title
-- stands for. A tight one leaves out what is also said elsewhere.
function M.text(entry)
  local tight = entry.tight or {}
  local lines = tight.framed and {} or { M.one(entry.title) }
  if entry.why then vim.list_extend(lines, vim.split(entry.why, "\n")) end
  if entry.place then lines[#lines + 1] = M.one(entry.place) end
  if #entry.lines > 0 and not entry.tight then lines[#lines + 1] = "" end
  local first, said = #lines + 1, entry.tight and entry.named or 0
  vim.list_extend(lines, entry.lines, said + 1)
  return lines, first, said
end

-- How high some lines are at a width.
local function height_of(lines, width)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return height
end

-- A line in at most so many columns, cut visibly.
local function cut_to(line, width)
  line = vim.fn.strcharpart(line, 0, width - 1)
  while vim.fn.strdisplaywidth(line) > width - 1 do line = vim.fn.strcharpart(line, 0, vim.fn.strchars(line) - 1) end
  return line .. "…"
end

-- The answers below the text, in at most so many rows, and the numbers of those that a key gives: what is not whole on the screen
-- is no answer, unless it was opened in a tab.
local function answers_of(entry, width, most)
  if entry.gone then return { "", entry.gone }, {} end
  local lines, offered, left = { "" }, {}, M.unseen(entry)
  for number, option in ipairs(entry.options) do
    if option.allows and left > 0 then
      local first_look = entry.tall and "first press s: a line is longer than this window"
        or ("first look at the other %d line%s"):format(left, left == 1 and "" or "s")
      -- What it would allow is said when it can be given.
      lines[#lines + 1] = ("-  %s: %s"):format(M.one(entry.tight and option.label or option.name), first_look)
    else
      lines[#lines + 1] = ("%d  %s"):format(number, M.one(option.name))
      offered[number] = true
    end
  end
  entry.cut = height_of(lines, width) > most
  if not entry.cut then return lines, offered end
  for number = 1, #entry.options do
    local line = lines[number + 1]
    if vim.fn.strdisplaywidth(line) > width then
      offered[number] = offered[number] and entry.whole
      lines[number + 1] = cut_to(offered[number] and line or line:gsub("^%d", "-"), width)
    end
    if number + 1 > most then offered[number] = nil end
  end
  return vim.list_slice(lines, 1, most), offered
end

-- The keys that are no choice.
local function keys_of(entry)
  if entry.gone then return " q close " end
  local words = entry.words and (entry.rejects and "r reason · " or "r my words · ") or ""
  return (" %s%sq %s "):format(words, (#entry.lines > 0 or entry.cut) and "s in a tab · " or "", entry.brief and "close" or "later")
end

-- One line for those who are at something else.
local function hint_of(entry, count)
  local short = entry.short and " " .. entry.short or ""
  return ("?%s %s%s · :Adjutant answer"):format(count, M.one(entry.title), short)
end

local LEAST = 5 -- lines of a question that are of use
local LEAST_TEXT = 3 -- lines of its text
local KEPT = 8 -- lines of the answer that a question beside it leaves in sight
local KEPT_BY_TIGHT = 5 -- lines of the answer that a question leaves in sight which has no room above it
local CHANGES = 2 -- changed lines that are in sight before the user scrolls

-- Where the window of the answer is: `below` the file over the whole width, or beside it.
local function place_of(chat)
  local row, column = unpack(api.nvim_win_get_position(chat))
  local width, height = api.nvim_win_get_width(chat), api.nvim_win_get_height(chat)
  return { row = row, col = column, width = width, height = height, below = row > 1 and column == 0 }
end

-- The row above a window, if these lines would cover it.
local function row_above(window, row, height, column, width)
  if not window then return row end
  local top, left = unpack(api.nvim_win_get_position(window))
  local covers = row + height > top and row < top + api.nvim_win_get_height(window)
    and column < left + api.nvim_win_get_width(window) and column + width > left
  return covers and math.max(0, top - 1 - height) or row
end

-- One line that leaves the answer, the text, the prompt and the cursor alone.
local function hint_at(entry, count, chat, prompt, bottom)
  local lines = { hint_of(entry, count) }
  local right = chat and not chat.below and chat.col > 40 and chat.col - 1 or vim.o.columns
  local width = math.min(vim.fn.strdisplaywidth(lines[1]), right)
  local height = math.min(height_of(lines, width), 3)
  local row = math.max(0, (chat and chat.below and chat.row - 1 or bottom) - height)
  row = row_above(prompt, row, height, right - width, width)
  -- The line with the cursor stays in sight.
  local at = api.nvim_win_get_cursor(0)
  local cursor = vim.fn.screenpos(0, at[1], at[2] + 1).row
  if cursor > row and cursor <= row + height then row = vim.o.showtabline > 0 and 1 or 0 end
  return lines, {
    relative = "editor", border = "none", row = row, col = right - width, width = width, height = height,
    focusable = false, zindex = 60, style = "minimal",
  }
end

-- The frame is around both floats.
local ABOVE = { "╭", "─", "╮", "│", "", "", "", "│" }
local BELOW = { "", "", "", "│", "╯", "─", "╰", "│" }

-- The frame's title.
local function title_of(entry, count)
  return (" Adjutant asks%s%s "):format(count, entry.tight and entry.tight.framed and ": " .. M.one(entry.title) or "")
end

-- How high the text is down to the first lines that say what would be done.
local function height_to_subject(lines, first, said, entry, width)
  local row = first
  if entry.syntax == "diff" then
    row = math.min(first + 2 - said, #lines)
    while row < #lines and not lines[row]:find("^[+-]") do row = row + 1 end
  end
  return height_of(vim.list_slice(lines, 1, row + CHANGES - 1), width)
end

-- The text, what is below it, and how high each may be: in at most `most` rows, of which the text is given `room`.
local function parts_of(entry, entered, width, most, room)
  local lines, first, said = M.text(entry)
  local answers, offered = answers_of(entry, width, math.max(1, most - LEAST_TEXT))
  local whole = height_of(lines, width)
  -- Nobody can answer before the floats are entered, so the text has its room first.
  while not entered and #answers > 1 and whole + height_of(answers, width) > room do table.remove(answers) end
  local own = height_of(answers, width)
  local height = math.max(1, math.min(whole, (entered and most or room) - own, room))
  return {
    lines = lines, answers = answers, offered = offered, own = own, height = height, whole = whole,
    enough = height >= math.min(whole, height_to_subject(lines, first, said, entry, width)),
  }
end

-- Where the floats are, and what is in them: the whole when they are entered or have room beside the answer of the model, else one
-- line. Returns the lines and the place of the text, and what is below it, which is nothing for the one line. `count` is the place
-- among several; `chat` is the window of the answer of the model, and `prompt` that of the user's text, which nothing covers until the
-- floats are entered.
function M.layout(entry, entered, count, chat, prompt)
  local bottom = vim.o.lines - vim.o.cmdheight - (vim.o.laststatus > 0 and 1 or 0)
  chat = chat and place_of(chat)
  local beside = chat and chat.height - 2 - KEPT or 0
  if not entered then entry.tight = nil end
  if not entered and beside < LEAST then return hint_at(entry, count, chat, prompt, bottom) end
  local above = entered and chat and chat.below and chat.row - 4 >= LEAST
  -- Left of the answer where it has a side of its own.
  local right = not above and chat and not chat.below and chat.col > 40 and chat.col - 1 or vim.o.columns
  local width = math.max(10, entered and math.min(right - 2, 100) or chat.width - 2)
  local function made()
    local most = not entered and beside or above and chat.row - 3 or math.max(2, bottom - 2)
    -- Over the line between the windows, and the first lines of the answer.
    if above and entry.tight then most = most + 1 + math.max(0, chat.height - KEPT_BY_TIGHT) end
    local room = math.min(most, math.max(3, math.min(math.floor(vim.o.lines * 0.6), vim.o.lines - 13)))
    return parts_of(entry, entered, width, most, room)
  end
  -- A window that became narrower has no room for the title in the frame any more.
  local function frame()
    entry.tight.framed = true
    entry.tight.framed = vim.fn.strdisplaywidth(title_of(entry, count)) <= width
  end
  if entry.tight then frame() end
  local parts = made()
  -- It stays so until it is left: what the user reads does not jump.
  if entered and not entry.tight and #entry.lines > 0 and not parts.enough then
    entry.tight = {}
    frame()
    parts = made()
  end
  local answers, height, own = parts.answers, parts.height, parts.own
  if height < parts.whole and answers[1] == "" then
    local more = M.unseen(entry) > 0 and "… scroll for more: j or Ctrl-F" or ""
    answers[1] = entered and more or "…"
  end
  local config = {
    relative = "editor", border = ABOVE, title = title_of(entry, count), focusable = entered, zindex = 60,
    style = "minimal", width = width, height = height,
  }
  local all = height + own
  if not entered then config.row, config.col = chat.row + chat.height - all - 2, chat.col
  -- Above the end of the answer, which stays in sight.
  elseif above then config.row, config.col = math.max(0, chat.row - 3 - all), vim.o.columns - width - 2
  else config.row, config.col = math.max(0, bottom - all - 2), right - width - 2 end
  local below = {
    lines = answers, offered = parts.offered, config = {
      relative = "editor", border = BELOW, footer = entered and keys_of(entry) or " :Adjutant answer ", footer_pos = "right",
      focusable = false, zindex = 60, style = "minimal", width = width, height = own,
      row = config.row + 1 + height, col = config.col,
    },
  }
  return parts.lines, config, below
end

return M
