-- Draws changes in the text of a buffer with extmarks: lines that a change inserted or would replace get a
-- sign and a colour, the other lines are virtual. Texts come from files and models, so every odd character is
-- visible. Never changes the text, the cursor or the focus.
local display = require("adjutant.display")

local M = {}
local api = vim.api

local MOST_LINES = 20 -- virtual lines of one change
local MOST_COMMENT = 200 -- characters of a comment
local SIGN_WIDTH = 2 -- the column of signs may appear with the first sign
M.space = api.nvim_create_namespace("adjutant.hunks")
M.beside = {} -- the buffers that a diff shows beside the lines before: these are not drawn again

-- How a change looks by its state: its sign, the colour of the lines in the buffer.
local LOOKS = {
  applied = { sign = "+", lines = "DiffAdd" },
  amended = { sign = "~", lines = "DiffAdd" },
  undoing = { sign = "+", lines = "DiffAdd" },
  proposed = { sign = "?", lines = "DiffDelete", waits = true },
  applying = { sign = "?", lines = "DiffDelete", waits = true },
}

-- Whether the client can draw a change in this state.
function M.knows(hunk) return LOOKS[hunk.state] ~= nil end

local function split(text)
  if text == "" then return {} end
  return vim.split((text:gsub("\n$", "")), "\n", { plain = true })
end

-- Returns how many lines a text has.
function M.count(text) return #split(text) end

-- The narrowest room for text among the windows of a buffer.
local function room_of(buffer)
  local room
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local info = vim.fn.getwininfo(window)[1]
    room = math.min(room or math.huge, info.width - info.textoff)
  end
  return math.max(10, (room or vim.o.columns) - SIGN_WIDTH)
end

-- Cuts a line visibly; returns the line, and whether it was cut.
local function fitting(line, room)
  if vim.fn.strdisplaywidth(line) <= room then return line, false end
  line = vim.fn.strcharpart(line, 0, room - 1)
  while vim.fn.strdisplaywidth(line) > room - 1 do
    line = vim.fn.strcharpart(line, 0, vim.fn.strchars(line) - 1)
  end
  return line .. "…", true
end

-- Adds a text of Adjutant's own as virtual lines. Without room it is broken at `·` and at blanks, because a key
-- that is cut off is of no use.
local function add_words(lines, text, room)
  local function add(part) lines[#lines + 1] = { { (fitting(part, room)), "Comment" } } end
  if vim.fn.strdisplaywidth(text) <= room then return add(text) end
  for _, part in ipairs(vim.split(text, " · ", { plain = true })) do
    local line = ""
    for word in part:gmatch("%S+") do
      local longer = line == "" and word or line .. " " .. word
      if line ~= "" and vim.fn.strdisplaywidth(longer) > room then
        add(line)
        line = word
      else
        line = longer
      end
    end
    add(line)
  end
end

-- Virtual text does not expand tabs by itself.
local function untabbed(line, tabstop)
  if not line:find("\t", 1, true) then return line end
  local out, column = {}, 0
  for piece, tab in line:gmatch("([^\t]*)(\t?)") do
    out[#out + 1], column = piece, column + vim.fn.strdisplaywidth(piece)
    if tab ~= "" then
      local blanks = tabstop - column % tabstop
      out[#out + 1], column = (" "):rep(blanks), column + blanks
    end
  end
  return table.concat(out)
end

-- Returns the lines of one side of a change as they are shown, and how many lines are left out.
local function side_of(hunk, wanted)
  local diff, own = { "@@" }, 0
  -- Whether the ends of lines are visible depends on both sides.
  local ends_differ = (hunk.removed .. hunk.inserted):find("\r", 1, true)
  for _, side in ipairs({ "removed", "inserted" }) do
    local lines = (side == wanted or ends_differ) and split(hunk[side]) or {}
    for index = 1, math.min(#lines, MOST_LINES) do
      diff[#diff + 1] = (side == "removed" and "-" or "+") .. lines[index]
    end
    if side == wanted then own = #lines end
  end
  local shown, sign = {}, wanted == "removed" and "-" or "+"
  for _, line in ipairs(vim.split(display.diff(table.concat(diff, "\n")), "\n", { plain = true })) do
    if line:sub(1, 1) == sign then shown[#shown + 1] = line:sub(2) end
  end
  -- Otherwise a change of only the last line end shows the same line twice.
  local function ends(text) return text == "" or text:sub(-1) == "\n" end
  if not ends(hunk[wanted]) and own <= MOST_LINES then shown[#shown + 1] = "\\ No newline at end of file" end
  return shown, math.max(0, own - MOST_LINES)
end

-- Returns the virtual lines of one side, and whether a part of it is not visible.
local function virtual(buffer, hunk, side, room)
  local shown, left = side_of(hunk, side)
  local group = side == "removed" and "DiffDelete" or "DiffAdd"
  local lines, cut = {}, left > 0
  for index, line in ipairs(shown) do
    local text, short = fitting(untabbed(line, vim.bo[buffer].tabstop), room)
    cut = cut or short
    -- The colour of a line reaches to the edge of every window.
    lines[index] = { { text .. (" "):rep(vim.o.columns - vim.fn.strdisplaywidth(text)), group } }
  end
  if left > 0 then
    add_words(lines, ("… %d more line%s, :Adjutant show"):format(left, left == 1 and "" or "s"), room)
  end
  return lines, cut
end

-- Returns what can be done with a change, with the keys that do it.
local function hint_of(hunk, keys)
  if hunk.state == "undoing" then return "undoing…" end
  if hunk.state == "applying" then return "applying…" end
  if hunk.state == "proposed" then return ("apply %s · reject %s"):format(keys.keep, keys.undo) end
  if hunk.state == "applied" then return ("keep %s · undo %s"):format(keys.keep, keys.undo) end
  local count = hunk.userLines or 0
  local yours = count == 0 and "your changes" or count == 1 and "your line" or ("your %d lines"):format(count)
  return ("keep %s · undo with %s %s"):format(keys.keep, yours, keys.undo)
end

-- Returns the user's comment that waits to be sent, as one line.
local function comment_of(hunk)
  local text = vim.trim((hunk.comment:gsub("%s+", " ")))
  if vim.fn.strchars(text) > MOST_COMMENT then text = vim.fn.strcharpart(text, 0, MOST_COMMENT - 1) .. "…" end
  return ("» %s"):format(display.plain(text))
end

local function mark(buffer, row, options)
  options.strict = false
  return api.nvim_buf_set_extmark(buffer, M.space, row, 0, options)
end

local cached = {} -- by buffer: the virtual lines of the last drawing, which most updates leave as they are

-- As `virtual`, for a room and a width of tabs that are part of the key.
local function virtual_once(buffer, hunk, side, room, fresh)
  local key = table.concat({ side, room, vim.bo[buffer].tabstop, vim.o.columns, hunk.removed, hunk.inserted }, "\n")
  local found = fresh[key] or (cached[buffer] or {})[key]
  if not found then
    local lines, cut = virtual(buffer, hunk, side, room)
    found = { lines = lines, cut = cut }
  end
  fresh[key] = found
  -- The caller adds lines of its own.
  return vim.list_slice(found.lines), found.cut
end

-- Where a change is in a buffer: the row of its mark, its last row, and where its virtual lines and its hint go.
local function place_of(buffer, hunk, hint, room)
  local count = api.nvim_buf_line_count(buffer)
  local first = math.min(hunk.line, count)
  local last = math.min(hunk.endLine or hunk.line + #split(hunk.removed), count)
  local place = { bare = last <= first }
  -- A change without a line of its own is at the line after it, or at the end of the text.
  place.row = math.min(first, count - 1)
  place.end_row = place.bare and place.row or last - 1
  local text = api.nvim_buf_get_lines(buffer, place.row, place.row + 1, false)[1] or ""
  place.below = not place.bare and LOOKS[hunk.state].waits or place.bare and (first >= count or count == 1 and text == "")
  place.hint_fits = not place.bare and vim.fn.strdisplaywidth(text) + 2 + vim.fn.strdisplaywidth(hint) <= room
  return place
end

-- Draws one change; `keys` are the keys to print. Returns its mark and what the mark stands for.
local function draw_one(buffer, hunk, keys, room, fresh)
  local look, hint = LOOKS[hunk.state], hint_of(hunk, keys)
  local place = place_of(buffer, hunk, hint, room)
  local lines, cut = virtual_once(buffer, hunk, look.waits and "inserted" or "removed", room, fresh)
  if M.beside[buffer] and not look.waits then lines = {} end
  local one = { hunk = hunk, bare = place.bare, place = place, cut = cut, above = 0 }
  local removal = place.bare and not look.waits
  one.mark = mark(buffer, place.row, {
    end_row = place.end_row,
    sign_text = removal and "-" or look.sign,
    sign_hl_group = removal and "DiffDelete" or look.lines,
    line_hl_group = not place.bare and look.lines or nil,
    priority = 100,
  })
  -- Without room after the first line the hint is a line of its own.
  if place.hint_fits then
    mark(buffer, place.row, { virt_text = { { " " .. hint, "Comment" } }, hl_mode = "combine", priority = 100 })
  else
    add_words(lines, hint, room)
  end
  if hunk.comment then add_words(lines, comment_of(hunk), room) end
  if #lines > 0 then
    local at = place.below and place.end_row or place.row
    mark(buffer, at, { virt_lines = lines, virt_lines_above = not place.below, priority = 100 })
    if at == 0 and not place.below then one.above = #lines end
  end
  return one
end

-- Whether a change is drawn already exactly where and as it has to be.
local function is_drawn(buffer, one, hunk, keys, room)
  local first, last = M.rows(buffer, one)
  if not first then return false end
  local place = place_of(buffer, hunk, hint_of(hunk, keys), room)
  if place.row ~= first or place.end_row ~= last then return false end
  for _, part in ipairs({ "bare", "below", "hint_fits" }) do
    if place[part] ~= one.place[part] then return false end
  end
  -- Virtual lines above the first line of the text are another case.
  if (first == 0) ~= (one.place.row == 0) then return false end
  local function moved(of) return vim.tbl_extend("force", of, { line = 0, endLine = 0, diff = "" }) end
  return vim.deep_equal(moved(one.hunk), moved(hunk))
end

-- Neovim itself leaves virtual lines on the screen that are gone and were cut by the edge of a window.
local function refresh(buffer) pcall(api.nvim__redraw, { buf = buffer, valid = false }) end

-- Draws all changes of a buffer in place of what was drawn; returns them in the order of their lines. What is
-- drawn already stays: most updates come while the user types elsewhere.
function M.draw(buffer, hunks, keys, before)
  local room, drawn, fresh = room_of(buffer), {}, {}
  hunks = vim.tbl_filter(M.knows, hunks)
  local as_before = { room, vim.bo[buffer].tabstop, vim.o.columns, keys.keep, keys.undo, M.beside[buffer] or false }
  local stays = before and #before == #hunks and vim.deep_equal(before.as_before, as_before)
  for index, hunk in ipairs(hunks) do
    stays = stays and is_drawn(buffer, before.by_index[index], hunk, keys, room)
  end
  if stays then
    for index, hunk in ipairs(hunks) do before.by_index[index].hunk = hunk end
    return before
  end
  api.nvim_buf_clear_namespace(buffer, M.space, 0, -1)
  for index, hunk in ipairs(hunks) do
    drawn[index] = draw_one(buffer, hunk, keys, room, fresh)
    drawn[index].index = index
  end
  refresh(buffer)
  cached[buffer] = fresh
  drawn.by_index, drawn.as_before = vim.list_slice(drawn), as_before
  table.sort(drawn, function(one, other)
    if one.hunk.line ~= other.hunk.line then return one.hunk.line < other.hunk.line end
    return one.index < other.index
  end)
  return drawn
end

function M.clear(buffer)
  cached[buffer] = nil
  if not api.nvim_buf_is_valid(buffer) then return end
  api.nvim_buf_clear_namespace(buffer, M.space, 0, -1)
  refresh(buffer)
end

-- Returns the first and the last row of a change that was drawn, where typing has moved it.
function M.rows(buffer, one)
  local place = api.nvim_buf_get_extmark_by_id(buffer, M.space, one.mark, { details = true })
  if not place[1] then return end
  return place[1], math.max(place[1], place[3].end_row or place[1])
end

-- Returns how many virtual lines are above the first line.
function M.above(drawn)
  local above = 0
  for _, one in ipairs(drawn) do above = above + one.above end
  return above
end

-- Neovim leaves virtual lines above the first line out of sight. This scrolls a window that is at its top.
function M.reveal(window, drawn)
  local above = M.above(drawn)
  if above == 0 then return end
  api.nvim_win_call(window, function()
    local view = vim.fn.winsaveview()
    if view.topline == 1 and view.topfill < above then vim.fn.winrestview({ topfill = above }) end
  end)
end

return M
