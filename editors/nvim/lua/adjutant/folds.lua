-- The folds of the chat, in one window: each step and each piece of reasoning under its one line, closed until the user opens it. They
-- are manual folds, because only these are kept up while the user types in the prompt. Never changes a text, or another window.
local M = {}
local api = vim.api

-- Two columns, with which each line that folds begins, so that opening one moves no text.
M.OPEN = "▾ "
local CLOSED = "▸ "

-- Local to the window and the buffer: another buffer in this window has the folds of the user.
function M.set_options(window)
  local fill = vim.go.fillchars
  local options = {
    foldmethod = "manual", foldenable = true, foldlevel = 0, foldminlines = 1, foldnestmax = 20,
    foldtext = "v:lua.require'adjutant.folds'.text()", fillchars = fill .. (fill == "" and "" or ",") .. "fold: ",
    winhighlight = "Folded:Comment",
  }
  local at = { win = window, scope = "local" }
  for name, value in pairs(options) do
    -- To set the level closes all folds, also where it stays the same.
    if api.nvim_get_option_value(name, at) ~= value then api.nvim_set_option_value(name, value, at) end
  end
end

-- Returns the line of a closed fold: the one line of its step, cut visibly.
function M.text()
  local line = CLOSED .. vim.fn.getline(vim.v.foldstart)
  local window = vim.fn.getwininfo(api.nvim_get_current_win())[1]
  local room = math.max(1, window.width - window.textoff)
  if vim.fn.strdisplaywidth(line) <= room then return line end
  line = vim.fn.strcharpart(line, 0, room - 1)
  while vim.fn.strdisplaywidth(line) > room - 1 do line = vim.fn.strcharpart(line, 0, vim.fn.strchars(line) - 1) end
  return line .. "…"
end

-- Runs this in a window, without moving anything in it.
local function within(window, run)
  return api.nvim_win_call(window, function()
    local view = vim.fn.winsaveview()
    local result = run()
    vim.fn.winrestview(view)
    return result
  end)
end

-- Whether a row is in a fold that is open.
function M.is_open(window, row)
  return api.nvim_win_call(window, function() return vim.fn.foldlevel(row) > 0 and vim.fn.foldclosed(row) == -1 end)
end

-- Whether a row is in a fold that is closed.
function M.is_closed(window, row)
  return api.nvim_win_call(window, function() return vim.fn.foldclosed(row) > -1 end)
end

-- Returns those of some rows that are in an open fold.
function M.open_among(window, rows)
  return api.nvim_win_call(window, function()
    local open = {}
    for _, row in ipairs(rows) do open[row] = vim.fn.foldlevel(row) > 0 and vim.fn.foldclosed(row) == -1 or nil end
    return open
  end)
end

-- Returns the last row of the closed fold at the cursor, or the row of the cursor.
function M.row(window)
  local row = api.nvim_win_get_cursor(window)[1]
  return api.nvim_win_call(window, function() return math.max(row, vim.fn.foldclosedend(row)) end)
end

local function make(fold)
  if fold.last <= fold.first then return end
  vim.cmd(("%d,%dfold"):format(fold.first, fold.last))
  if fold.open then vim.cmd(("%dfoldopen"):format(fold.first)) end
end

-- Makes these folds anew, each with its `first` and `last` row, and whether it is `open`. Neovim leaves lines out that are written at
-- the edge of a fold, and which ones depends on its version.
function M.mend(window, list)
  if not vim.iter(list):any(function(fold) return fold.last > fold.first end) or vim.wo[window].foldmethod ~= "manual" then return end
  within(window, function()
    for _, fold in ipairs(list) do
      for row = fold.first, fold.last do
        while vim.fn.foldlevel(row) > 0 do
          api.nvim_win_set_cursor(0, { row, 0 })
          vim.cmd("normal! zd")
        end
      end
    end
    for _, fold in ipairs(list) do make(fold) end
  end)
end

-- Makes all folds of a window.
function M.make_all(window, list)
  within(window, function()
    vim.cmd("normal! zE")
    for _, fold in ipairs(list) do make(fold) end
  end)
end

-- Opens the fold at a row of the window one is in, or closes it.
function M.set(row, open)
  if vim.fn.foldlevel(row) > 0 then vim.cmd(("%d%s"):format(row, open and "foldopen" or "foldclose")) end
end

return M
