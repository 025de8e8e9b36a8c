-- The server for `vim.lsp.enable("adjutant")`, in Neovim 0.11 and newer.
return require("adjutant").config()
