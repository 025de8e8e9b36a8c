-- The command and the maps of Adjutant. What they run is loaded with the first file, or when one of them is used. From Neovim 0.11 on
-- `vim.lsp.enable("adjutant")` starts the server; before, this file does.
if vim.g.loaded_adjutant then return end
vim.g.loaded_adjutant = true

require("adjutant.commands").setup()
if vim.fn.has("nvim-0.11") == 0 then
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile" }, { once = true, callback = function() require("adjutant") end })
end
