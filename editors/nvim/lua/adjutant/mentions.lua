-- Completion in the prompt, by `omnifunc`: mentions after `@`, slash commands after `/` at the beginning. The server knows them and
-- ranks them; this only shows what it answers.
local M = {}
local api = vim.api

local LONGEST_WAIT_MS = 1000
local found = {} ---@type { label: string, insert: string, kind: string, detail?: string }[] what the last call found
local complete, root_of -- see `M.setup`

-- Returns the length of a text in units of an encoding.
local function units(text, encoding)
  if encoding == "utf-8" then return #text end
  if vim.fn.has("nvim-0.11") == 1 then return vim.str_utfindex(text, encoding) end
  local utf32, utf16 = vim.str_utfindex(text)
  return encoding == "utf-32" and utf32 or utf16
end

-- Returns the bytes that so many units of a text have.
local function bytes(text, count, encoding)
  if encoding == "utf-8" then return count end
  if vim.fn.has("nvim-0.11") == 1 then return vim.str_byteindex(text, encoding, count) end
  return vim.str_byteindex(text, count, encoding == "utf-16")
end

local function find()
  local row, column = unpack(api.nvim_win_get_cursor(0))
  local root = root_of(api.nvim_get_current_buf())
  if not root then return nil end
  local lines = api.nvim_buf_get_lines(0, 0, row, false)
  local line = lines[row]:sub(1, column)
  lines[row] = ""
  local above = table.concat(lines, "\n")
  local result, encoding
  complete(root, function(of_client)
    encoding = of_client
    return { text = above .. line, offset = units(above .. line, encoding) }
  end, function(answer) result = answer or {} end)
  vim.wait(LONGEST_WAIT_MS, function() return result ~= nil end, 5)
  if not result or not result.items then return nil end
  return result.items, bytes(line, math.max(0, result.start - units(above, encoding)), encoding)
end

-- What `omnifunc` calls: first for the place, then for the list.
function M.complete(findstart)
  if findstart == 1 then
    local items, start = find()
    found = items or {}
    -- Nothing, and without a message.
    return #found > 0 and start or -3
  end
  local words = vim.tbl_map(function(item)
    -- What is typed was compared by the server: Neovim compares the beginnings alone.
    return { word = item.insert, abbr = item.label, menu = item.detail or item.kind, equal = 1 }
  end, found)
  -- Each letter may bring others.
  return { words = words, refresh = "always" }
end

-- `options.complete` asks the server of a root and calls back with its answer, `options.root` says which root a prompt has.
function M.setup(options) complete, root_of = options.complete, options.root end

return M
