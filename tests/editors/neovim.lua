-- The test's additions to Neovim: the shipped set-up, and a user who answers by title.
-- Never replaces a part of the client, except the function that shows choices.
vim.o.swapfile = false
vim.o.shada = ""
vim.o.shortmess = vim.o.shortmess .. "I"
vim.g.progress = {}
local open -- the waiting choice: its items, their titles, and the callback for the answer

vim.ui.select = function(items, options, choose)
  local titles = {}
  for index, item in ipairs(items) do
    titles[index] = options.format_item and options.format_item(item) or tostring(item)
  end
  open = { items = items, titles = titles, prompt = options.prompt or "", choose = choose }
end

-- Returns the buffer of the file, from any window.
function File()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buffer].buflisted and vim.bo[buffer].buftype == "" then return buffer end
  end
end

-- Returns the buffer of the chat that is in sight, else that of the session that the next text goes to, else -1.
function Chat()
  local window = require("adjutant.chat").window()
  if window then return vim.api.nvim_win_get_buf(window) end
  local _, session = require("adjutant.sessions").target()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buffer) == "adjutant://" .. (session or "new") then return buffer end
  end
  return -1
end

-- Returns the lines of the floats with the question and with its answers.
function Question()
  local text, answers
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local config, lines = vim.api.nvim_win_get_config(window), vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
    if config.title and config.title[1] and config.title[1][1]:find("Adjutant asks", 1, true) then text = lines end
    if config.footer then answers = lines end
  end
  return text and vim.list_extend(text, answers)
end

-- Returns the choice on the screen, or nil. A question is one line first; the user opens it.
function Asked()
  if open then return { prompt = open.prompt, titles = open.titles } end
  if require("adjutant.asks").count() == 0 then return nil end
  vim.cmd.Adjutant('answer')
  local lines = Question()
  return lines and { prompt = table.concat(lines, "\n"), titles = {} } or nil
end

-- Chooses the title that begins with this text; returns false if there is none.
function Choose(title)
  if open then
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
  for _, line in ipairs(Question() or {}) do
    local key, shown = line:match("^(%d)  (.*)")
    if key and vim.startswith(shown, title) then
      vim.api.nvim_feedkeys(key, "mx", false)
      return true
    end
  end
  return false
end

-- Leaves a question without an answer.
function Dismiss() if Question() then vim.api.nvim_feedkeys("q", "mx", false) end end

-- Returns the text of a buffer as the window shows it with the changes of Adjutant: a sign and a colour before
-- each line, virtual lines, and the hint at the end of a line.
function Drawn(buffer)
  buffer = buffer or File()
  if buffer == 0 then buffer = vim.api.nvim_get_current_buf() end
  local space = vim.api.nvim_get_namespaces()["adjutant.hunks"]
  local above, below, signs, colours, hints = {}, {}, {}, {}, {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })) do
    local row, is = mark[2], mark[4]
    for at = row, math.max(row, is.end_row or row) do
      signs[at] = is.sign_text and vim.trim(is.sign_text) or signs[at]
      colours[at] = is.line_hl_group or colours[at]
    end
    if is.virt_text then hints[row] = is.virt_text[1][1] end
    local lines = is.virt_lines_above and above or below
    lines[row] = lines[row] or {}
    for _, line in ipairs(is.virt_lines or {}) do
      table.insert(lines[row], ("  %s %s"):format(line[1][2], (line[1][1]:gsub(" +$", ""))))
    end
  end
  local shown = {}
  for index, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local row = index - 1
    vim.list_extend(shown, above[row] or {})
    local hint = hints[row] and " «" .. vim.trim(hints[row]) .. "»" or ""
    shown[#shown + 1] = vim.trim(("%s %s"):format(signs[row] or "|", colours[row] or "")) .. " " .. line .. hint
    vim.list_extend(shown, below[row] or {})
  end
  return table.concat(shown, "\n")
end

-- What was said by `vim.notify`.
vim.g.told = {}
vim.notify = function(text) vim.g.told = vim.list_extend(vim.g.told, { text }) end

vim.api.nvim_create_autocmd("LspProgress", { callback = function(event)
  local value = (event.data.params or event.data.result or {}).value or {}
  local line = (value.kind or "") .. ": " .. (value.title or "") .. " " .. (value.message or "")
  vim.g.progress = vim.list_extend(vim.g.progress, { line })
end })

vim.opt.runtimepath:prepend(vim.env.ADJUTANT_NVIM)
require("adjutant")
