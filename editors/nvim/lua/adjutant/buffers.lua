-- The buffers of Adjutant's own windows. Some ways to close a window unload its buffer, which
-- stays valid but loses its text and what it is: such a one is made anew.
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

return M
