require("adjutant")
vim.o.laststatus = 2
vim.o.statusline = "%<%f %m%= %{get(g:, 'adjutant', '')} %l:%c"
