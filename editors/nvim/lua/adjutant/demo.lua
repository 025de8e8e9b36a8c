-- `:Adjutant demo`: a task with a scripted model, without network or key, in a project of its own. The program plays it; this only
-- opens the terminal.
local notices = require("adjutant.notices")
local program = require("adjutant.program")

local M = {}

function M.begin()
  if not program.is_there() then return notices.no_server() end
  vim.cmd("tabnew")
  local command = { program.name() or "adjutant", "demo" }
  if vim.fn.has("nvim-0.11") == 1 then vim.fn.jobstart(command, { term = true })
  else vim.fn.termopen(command) end
  vim.cmd("startinsert")
end

return M
