-- What a test adds to Neovim: the user's set-up as shipped, and a user who answers by title.
-- Nothing of the client is replaced but the place where choices are shown.
vim.o.swapfile = false
vim.o.shada = ""
vim.o.shortmess = vim.o.shortmess .. "I"
vim.g.progress = {}
vim.g.notes = {}
local open -- the choice that waits: its items, their titles, and what takes the answer

vim.ui.select = function(items, options, choose)
  local titles = {}
  for index, item in ipairs(items) do
    titles[index] = options.format_item and options.format_item(item) or tostring(item)
  end
  open = { items = items, titles = titles, prompt = options.prompt or "", choose = choose }
end

vim.notify = function(text) vim.g.notes = vim.list_extend(vim.g.notes, { tostring(text) }) end

-- The choice that is shown, or nil.
function Asked() return open and { prompt = open.prompt, titles = open.titles } or nil end

-- Chooses by the first part of a title; false if there is none such.
function Choose(title)
  if not open then return false end
  local choice = open
  for index, shown in ipairs(choice.titles) do
    if vim.startswith(shown, title) then
      open = nil
      choice.choose(choice.items[index], index)
      return true
    end
  end
  return false
end

-- Closes what is shown without a choice.
function Dismiss()
  local choice = open
  open = nil
  if choice then choice.choose(nil, nil) end
end

vim.api.nvim_create_autocmd("LspProgress", { callback = function(event)
  local value = (event.data.params or event.data.result or {}).value or {}
  local line = (value.kind or "") .. ": " .. (value.title or "") .. " " .. (value.message or "")
  vim.g.progress = vim.list_extend(vim.g.progress, { line })
end })

dofile(vim.env.ADJUTANT_LUA)
