-- A tab page with lines that nobody edits. The bar above them says how to leave it. Never outlives its window.
local buffers = require("adjutant.buffers")

local M = {}
local api = vim.api

-- Gives the window one is in, which has a new buffer, these lines. `options.bar` is what stands above them, `options.syntax` their
-- syntax, and `options.leave` is called after `q` has closed the tab.
function M.fill(lines, options)
  options = options or {}
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile, vim.bo.buflisted = "nofile", "wipe", false, false
  api.nvim_buf_set_lines(0, 0, -1, false, lines)
  vim.bo.syntax, vim.bo.modifiable = options.syntax or "", false
  buffers.hide_nothing(0)
  api.nvim_set_option_value("winbar", options.bar or "q closes this tab", { scope = "local" })
  vim.keymap.set("n", "q", function()
    pcall(vim.cmd.tabclose)
    if options.leave then options.leave() end
  end, { buffer = 0, nowait = true })
end

-- Opens a tab page with these lines.
function M.open(lines, options)
  vim.cmd("tabnew")
  M.fill(lines, options)
end

return M
