-- One session in the chat: a buffer that nobody edits, and the items in it, each at a mark. It opens no window, and never moves a cursor
-- that is not at its end.
local buffers = require("adjutant.buffers")
local folds = require("adjutant.folds")
local panes = require("adjutant.panes")

local M = {}
local api = vim.api

local MOST_LINES, LEFT_LINES = 20000, 19500 -- what is too long is cut to fewer lines, so that not each new one costs a cut
local space = api.nvim_create_namespace("adjutant.chat")

---@class adjutant.Item
---@field mark? integer none while the item is not drawn
---@field minor? boolean it is not drawn where the user wants it brief
---@field kind? "prompt"|"quiet"|"tool"|"thought"
---@field head? string the one line that the rest is folded under
---@field pieces string[] the text without the head
---@field call? { id: string, session: string, client?: integer, kind?: string, runs: boolean } what an item of a tool call is about
---@field asked? string the arguments of that call
---@field message? string the id of the prompt that it shows
---@field printed? integer how much of what it prints has come
---@field read? boolean what the call gave was asked for, and stands there

---@class adjutant.Page
---@field name string of its buffer
---@field session? string
---@field buffer? integer
---@field items table<string, adjutant.Item>
---@field order string[] the ids of the items, oldest first
---@field unfolded table<string, boolean> the items that were not folded in its last window
---@field view? table how its last window showed it
---@field follows? boolean that window was at the end
---@field whole? boolean it has all that this client may be told of its session

local detail = "normal" -- or "brief", or "full": how much is drawn

-- Whether an item is not drawn now.
local function is_left_out(item) return detail == "brief" and item.minor == true end

function M.new(name, session)
  return { name = name, session = session, items = {}, order = {}, unfolded = {} }
end

-- The text of an item. Its pieces are put together only here.
local function rest_of(item)
  if #item.pieces > 1 then item.pieces = { table.concat(item.pieces) } end
  return item.pieces[1] or ""
end

local function text_of(item)
  local rest = rest_of(item)
  -- Behind an empty line it is code of Markdown, so nothing in it is drawn as anything else.
  return item.head and item.head .. (rest ~= "" and "\n\n" .. rest or "") or rest
end

local function place_of(page, item)
  local mark = api.nvim_buf_get_extmark_by_id(page.buffer, space, item.mark, { details = true })
  return mark[1], mark[2], mark[3].end_row, mark[3].end_col
end

-- Puts the mark of an item around its text.
local function draw(page, item, row, column, end_row, end_column)
  item.mark = api.nvim_buf_set_extmark(page.buffer, space, row, column, {
    id = item.mark, end_row = end_row, end_col = end_column, right_gravity = false, end_right_gravity = true,
    hl_group = item.kind and item.kind ~= "prompt" and "Comment" or nil,
    virt_text = item.head and end_row > row and { { folds.OPEN, "Comment" } } or nil, virt_text_pos = "inline",
  })
end

local function index_of(page, id)
  for index = #page.order, 1, -1 do
    if page.order[index] == id then return index end
  end
end

local function windows_of(page) return page.buffer and vim.fn.win_findbuf(page.buffer) or {} end

local function is_at_end(page, window) return folds.row(window) >= api.nvim_buf_line_count(page.buffer) end

-- Goes to the end. With `folded` the lines that are folded now had been counted whole, so the window is filled anew from below.
local function to_end(page, window, folded)
  api.nvim_win_set_cursor(window, { api.nvim_buf_line_count(page.buffer), 0 })
  if not folded then return end
  api.nvim_win_call(window, function()
    -- On the first line of a closed fold, where Neovim puts the cursor too: within one it fills the window only in part.
    local first = vim.fn.foldclosed(".")
    if first > 0 then api.nvim_win_set_cursor(0, { first, 0 }) end
    vim.cmd("normal! zb")
  end)
end

-- The folds of a window that a change of an item can damage: its own and the next one.
local function folds_at(page, id, window)
  local found, index = {}, index_of(page, id)
  for at = index or 1, index and index + 1 or 0 do
    local other = page.order[at]
    if other and page.items[other].head and page.items[other].mark then
      local row = place_of(page, page.items[other]) + 1
      found[#found + 1] = { id = other, open = folds.is_open(window, row) or detail == "full" and not folds.is_closed(window, row) }
    end
  end
  return found
end

local function mend(page, window, list)
  for _, fold in ipairs(list) do
    local first, _, last = place_of(page, page.items[fold.id])
    fold.first, fold.last = first + 1, last + 1
  end
  folds.mend(window, list)
end

-- Forgets the items whose lines were cut off: nothing is left of them.
local function forget_cut(page)
  local from = 1
  while page.order[from] do
    local item = page.items[page.order[from]]
    if item.mark then
      local _, _, row, column = place_of(page, item)
      if row > 0 or column > 0 then break end
      api.nvim_buf_del_extmark(page.buffer, space, item.mark)
    end
    page.items[page.order[from]] = nil
    from = from + 1
  end
  if from > 1 then page.order = vim.list_slice(page.order, from) end
end

-- Changes the text of an item; windows whose cursor is at the end stay at the end, unless they are to stay where they are.
local function change(page, id, edit, stays)
  local before = {}
  for _, window in ipairs(windows_of(page)) do
    before[window] = { folds = folds_at(page, id, window), follows = not stays and is_at_end(page, window) }
  end
  vim.bo[page.buffer].modifiable = true
  edit()
  local count = api.nvim_buf_line_count(page.buffer)
  if count > MOST_LINES then api.nvim_buf_set_lines(page.buffer, 0, count - LEFT_LINES, false, {}) end
  vim.bo[page.buffer].modifiable = false
  for window, was in pairs(before) do
    if #was.folds == 0 then was.folds = folds_at(page, id, window) end
    mend(page, window, was.folds)
    if was.follows then to_end(page, window, #was.folds > 0) end
  end
  if count > MOST_LINES then forget_cut(page) end
end

-- Returns the last item that is drawn.
local function last_of(page)
  for index = #page.order, 1, -1 do
    local item = page.items[page.order[index]]
    if item.mark then return item end
  end
end

-- Draws an item, which has no text there yet, behind all others.
local function place(page, item)
  local last = api.nvim_buf_line_count(page.buffer)
  local empty = last == 1 and api.nvim_buf_get_lines(page.buffer, 0, 1, false)[1] == ""
  local before = last_of(page)
  -- Lines that fold stand close together.
  local close = (item.kind == "tool" or item.kind == "thought") and (not before or before.head ~= nil)
  if not empty then api.nvim_buf_set_lines(page.buffer, last, last, false, close and { "" } or { "", "" }) end
  local row = api.nvim_buf_line_count(page.buffer) - 1
  draw(page, item, row, 0, row, 0)
end

-- Writes the text of an item into its place.
local function fill(page, item)
  local row, column, end_row, end_column = place_of(page, item)
  api.nvim_buf_set_text(page.buffer, row, column, end_row, end_column, vim.split(text_of(item), "\n"))
  local _, _, last, last_column = place_of(page, item)
  draw(page, item, row, column, last, last_column)
end

-- Begins an item behind all others.
local function begin(page, id, kind)
  local item = { pieces = {}, kind = kind }
  page.items[id] = item
  page.order[#page.order + 1] = id
  return item
end

-- Draws all items in an empty buffer.
local function draw_all(page)
  for _, id in ipairs(page.order) do page.items[id].mark = nil end
  vim.bo[page.buffer].modifiable = true
  for _, id in ipairs(page.order) do
    local item = page.items[id]
    if not is_left_out(item) then
      place(page, item)
      fill(page, item)
    end
  end
  vim.bo[page.buffer].modifiable = false
end

-- Adds a text at the end of an item.
function M.append(page, id, text, kind)
  M.ensure(page)
  local known = page.items[id]
  if known and not known.mark then
    known.pieces[#known.pieces + 1] = text
    return
  end
  change(page, id, function()
    local item = known or begin(page, id, kind)
    if not known then place(page, item) end
    local row, column, end_row, end_column = place_of(page, item)
    local put = item.head and rest_of(item) == "" and "\n\n" .. text or text
    api.nvim_buf_set_text(page.buffer, end_row, end_column, end_row, end_column, vim.split(put, "\n"))
    item.pieces[#item.pieces + 1] = text
    if item.head and end_row == row then
      local _, _, last, last_column = place_of(page, item)
      draw(page, item, row, column, last, last_column)
    end
  end)
end

-- Writes the whole of an item, in place of what was known of it. `more.head` is the line that the text is folded under; with
-- `more.stays` no window goes to the end. What is `more.minor` may be left out; what becomes more than that is drawn at the end.
function M.write(page, id, text, kind, more)
  more = more or {}
  text = text:gsub("%s+$", "")
  M.ensure(page)
  local known = page.items[id]
  if known then known.minor = more.minor end
  local is_out = is_left_out(known or more)
  if known and known.head == more.head and rest_of(known) == text and (is_out or known.mark) then return end
  if known and not known.mark and not is_out then
    table.remove(page.order, index_of(page, id))
    page.order[#page.order + 1] = id
  end
  local item = known or begin(page, id, kind)
  item.minor = more.minor
  if is_out and not item.mark then
    item.pieces, item.head = { text }, more.head
    return
  end
  change(page, id, function()
    if not item.mark then place(page, item) end
    item.pieces, item.head = { text }, more.head
    fill(page, item)
  end, more.stays)
end

-- Returns the text of an item without the line that it is folded under.
function M.rest(page, id) return page.items[id] and rest_of(page.items[id]) or "" end

-- Makes the folds of a window as they were, or as they begin.
local function fold(page, window)
  local list = {}
  for _, id in ipairs(page.order) do
    local item, open = page.items[id], page.unfolded[id]
    if item.head and item.mark then
      local first, _, last = place_of(page, item)
      if open == nil then open = detail == "full" end
      list[#list + 1] = { first = first + 1, last = last + 1, open = open }
    end
  end
  folds.make_all(window, list)
  return list
end

-- Shows the page in a window as its last one did.
local function enter(page, window)
  folds.set_options(window)
  local list = fold(page, window)
  if page.view and not page.follows then
    return api.nvim_win_call(window, function() vim.fn.winrestview(page.view) end)
  end
  to_end(page, window, #list > 0)
end

-- Notes how the last window shows the page.
local function leave(page)
  local window = windows_of(page)[1]
  if not window then return end
  local rows, ids = {}, {}
  for _, id in ipairs(page.order) do
    if page.items[id].head and page.items[id].mark then rows[#rows + 1], ids[#ids + 1] = M.row(page, id), id end
  end
  local open = folds.open_among(window, rows)
  page.unfolded = {}
  for index, row in ipairs(rows) do page.unfolded[ids[index]] = open[row] or false end
  page.view = api.nvim_win_call(window, vim.fn.winsaveview)
  page.follows = is_at_end(page, window)
end

-- Makes the buffer, and makes it anew if something has unloaded it.
function M.ensure(page)
  local new
  page.buffer, new = buffers.usable(page.buffer)
  if not new then return end
  local buffer = page.buffer
  api.nvim_buf_set_name(buffer, page.name)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = "adjutant"
  pcall(vim.treesitter.start, buffer, "markdown")
  panes.set(buffer, "chat")
  api.nvim_create_autocmd("BufWinEnter", { buffer = buffer, callback = function()
    local window = api.nvim_get_current_win()
    if page.buffer == buffer and api.nvim_win_get_buf(window) == buffer then enter(page, window) end
  end })
  api.nvim_create_autocmd("BufWinLeave", { buffer = buffer, callback = function()
    if page.buffer == buffer then leave(page) end
  end })
  -- What was said is said again: to close a window is not to throw the answer away.
  draw_all(page)
end

-- Draws the page anew, each window at the item that it is at.
local function redraw(page)
  if not page.buffer or not api.nvim_buf_is_loaded(page.buffer) then return end
  local at = {}
  for _, window in ipairs(windows_of(page)) do
    local row = api.nvim_win_get_cursor(window)[1]
    for index, id in ipairs(page.order) do
      if page.items[id].mark and M.row(page, id) <= row then at[window] = index end
    end
    if is_at_end(page, window) then at[window] = "end" end
  end
  vim.bo[page.buffer].modifiable = true
  api.nvim_buf_clear_namespace(page.buffer, space, 0, -1)
  api.nvim_buf_set_lines(page.buffer, 0, -1, false, {})
  page.unfolded = {}
  draw_all(page)
  for window, index in pairs(at) do
    local list = fold(page, window)
    if index == "end" then
      to_end(page, window, #list > 0)
    else
      while index > 1 and not page.items[page.order[index]].mark do index = index - 1 end
      local item = page.items[page.order[index]]
      api.nvim_win_set_cursor(window, { item.mark and M.row(page, page.order[index]) or 1, 0 })
    end
  end
end

-- How much is drawn from now on, in all of these pages.
---@param wanted "brief"|"normal"|"full"
---@param pages table<string, adjutant.Page>
function M.draws(wanted, pages)
  if wanted == detail then return end
  detail = wanted
  for _, page in pairs(pages) do redraw(page) end
end

-- Forgets what was said.
function M.clear(page)
  M.ensure(page)
  page.items, page.order, page.unfolded, page.view, page.follows = {}, {}, {}, nil, nil
  vim.bo[page.buffer].modifiable = true
  api.nvim_buf_clear_namespace(page.buffer, space, 0, -1)
  api.nvim_buf_set_lines(page.buffer, 0, -1, false, {})
  vim.bo[page.buffer].modifiable = false
end

-- Returns the rows at which prompts of the user begin, in order.
function M.prompts(page)
  local rows = {}
  for _, id in ipairs(page.order) do
    if page.items[id].kind == "prompt" and page.items[id].mark then rows[#rows + 1] = place_of(page, page.items[id]) + 1 end
  end
  return rows
end

-- Returns the message of the prompt at a row, from 1.
function M.prompt_at(page, row)
  for _, id in ipairs(page.order) do
    local item = page.items[id]
    if item.message and item.mark then
      local first, _, last = place_of(page, item)
      if row > first and row <= last + 1 then return item.message end
    end
  end
end

-- Returns the item at a row, from 1, that is folded under a line, and its id.
function M.folding(page, row)
  for _, id in ipairs(page.order) do
    local item = page.items[id]
    if item.head and item.mark then
      local first, _, last = place_of(page, item)
      if row > first and row <= last + 1 then return item, id end
    end
  end
end

-- Returns the first row of an item, from 1.
function M.row(page, id) return (place_of(page, page.items[id])) + 1 end

-- Keeps the end in sight after windows have another size: Neovim counts lines that are folded.
function M.resized(page)
  for _, window in ipairs(windows_of(page)) do
    if is_at_end(page, window) then to_end(page, window, true) end
  end
end

-- Whether a window shows the page.
function M.is_shown(page) return #windows_of(page) > 0 end

-- Takes the page and its buffer away.
function M.forget(page)
  if page.buffer and api.nvim_buf_is_valid(page.buffer) then pcall(api.nvim_buf_delete, page.buffer, { force = true }) end
  page.buffer = nil
end

return M
