-- Starts the server for each file, in Neovim 0.11 and newer. Only `adjutant editor nvim` installs this file, because whoever runs
-- that command wants it. `vim.g.adjutant = { start = false }` in init.lua leaves the start to you.
local settings = type(vim.g.adjutant) == "table" and vim.g.adjutant or {}
if vim.lsp.enable and settings.start ~= false then vim.lsp.enable("adjutant") end
