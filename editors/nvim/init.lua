if vim.lsp.enable then vim.lsp.enable("adjutant") end
vim.o.laststatus = 2
vim.o.statusline = "%<%f %m%= %{v:lua.require'adjutant'.status()} %l:%c"
