-- The buffers of Adjutant's own windows, and what no such window may take from the one it comes from.
-- Some ways to close a window unload its buffer, which stays valid but loses its text and what it is:
-- such a one is made anew.
local M = {}
local api = vim.api

-- Returns the buffer if it can be used, else a new one, and whether it is new.
function M.usable(buffer)
  if buffer and api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == "nofile" then return buffer, false end
  -- What is left of it would hold its name, and could hold up the end as a text that is not saved.
  if buffer and api.nvim_buf_is_valid(buffer) then pcall(api.nvim_buf_delete, buffer, { force = true }) end
  buffer = api.nvim_create_buf(false, true)
  local is = vim.bo[buffer]
  is.buftype, is.bufhidden, is.swapfile, is.buflisted = "nofile", "hide", false, false
  return buffer, true
end

-- A new window has the options of the current one. These would leave lines out, or parts of them.
local NOTHING_HIDDEN = {
  wrap = true, foldenable = false, foldmethod = "manual", conceallevel = 0, diff = false, scrollbind = false, cursorbind = false,
  rightleft = false, smoothscroll = false, linebreak = false, breakindent = false, showbreak = "NONE", winblend = 0,
}

-- Makes a window show the whole of each line.
function M.hide_nothing(window)
  for name, value in pairs(NOTHING_HIDDEN) do
    local at = { win = window, scope = "local" }
    if api.nvim_get_option_value(name, at) ~= value then api.nvim_set_option_value(name, value, at) end
  end
end

return M
