-- The program that Neovim starts as the server. Never starts it.
local M = {}

-- Returns its name, or nothing if the settings of the user start a server in another way.
function M.name()
  local config = vim.lsp.config and vim.lsp.config.adjutant
  local command = config and config.cmd or { "adjutant" }
  return type(command) == "table" and command[1] or nil
end

-- Whether Neovim can start it.
function M.is_there()
  local name = M.name()
  return not name or vim.fn.executable(name) == 1
end

return M
