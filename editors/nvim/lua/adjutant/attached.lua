-- The lines of files that wait with a prompt, and go along when it is sent. They follow their text while it is edited. Never quotes a
-- file: the server does.
local display = require("adjutant.display")

local M = {}
local api = vim.api

local MOST = 10 -- as the server takes
local space = api.nvim_create_namespace("adjutant.attached")

---@class adjutant.Attached
---@field name string of the file, below the root folder if it is there
---@field uri? string
---@field buffer integer
---@field mark? integer
---@field first integer from 1, as it was last
---@field last integer
---@field text? string of a text that is no file

-- Notes where the lines are now.
local function settle(one)
  local is_there = api.nvim_buf_is_loaded(one.buffer)
  local mark = is_there and one.mark and api.nvim_buf_get_extmark_by_id(one.buffer, space, one.mark, { details = true }) or {}
  if not mark[1] then return end
  one.first, one.last = mark[1] + 1, math.max(mark[1], mark[3].end_row) + 1
end

---Puts these lines of a buffer into the list. Returns why not, if not.
---@param list adjutant.Attached[]
---@param root string the root folder
---@return string? why
function M.add(list, root, buffer, first, last)
  for _, one in ipairs(list) do
    settle(one)
    if one.buffer == buffer and one.first == first and one.last == last then return end
  end
  if #list >= MOST then return ("a prompt takes at most %d parts of files along"):format(MOST) end
  local path = api.nvim_buf_get_name(buffer)
  local one = { buffer = buffer, first = first, last = last, name = path }
  if vim.bo[buffer].buftype == "" and path ~= "" then
    one.uri = vim.uri_from_bufnr(buffer)
    if vim.startswith(path, root .. "/") then one.name = path:sub(#root + 2) end
  else
    one.text = table.concat(api.nvim_buf_get_lines(buffer, first - 1, last, false), "\n")
    local is_chat = vim.startswith(path, "adjutant://")
    one.name = is_chat and "the chat" or path ~= "" and vim.fn.fnamemodify(path, ":t") or "a buffer without a name"
  end
  local end_line = api.nvim_buf_get_lines(buffer, last - 1, last, false)[1] or ""
  one.mark = api.nvim_buf_set_extmark(buffer, space, first - 1, 0, { end_row = last - 1, end_col = #end_line, end_right_gravity = true })
  list[#list + 1] = one
end

---Takes these out of the list.
---@param list adjutant.Attached[]
---@param gone adjutant.Attached[]
function M.remove(list, gone)
  for index = #list, 1, -1 do
    local one = list[index]
    if vim.list_contains(gone, one) then
      table.remove(list, index)
      if one.mark and api.nvim_buf_is_valid(one.buffer) then api.nvim_buf_del_extmark(one.buffer, space, one.mark) end
    end
  end
end

---Returns one in a line.
---@param one adjutant.Attached
function M.label(one)
  settle(one)
  local lines = one.first == one.last and tostring(one.first) or ("%d-%d"):format(one.first, one.last)
  return ("+ %s:%s"):format(display.plain((one.name:gsub("%s+", " "))), lines)
end

---Returns the blocks of the prompt.
---@param list adjutant.Attached[]
function M.blocks(list)
  return vim.tbl_map(function(one)
    settle(one)
    if one.text then return { type = "resource", uri = one.name, text = one.text } end
    return { type = "resource_link", uri = one.uri, range = {
      start = { line = one.first - 1, character = 0 }, ["end"] = { line = one.last, character = 0 },
    } }
  end, list)
end

-- Before its marks go with the text of a buffer, the list knows where they were.
---@param lists fun(): adjutant.Attached[][]
function M.setup(lists)
  api.nvim_create_autocmd("BufUnload", { group = api.nvim_create_augroup("adjutant.attached", {}), callback = function(event)
    for _, list in ipairs(lists()) do
      for _, one in ipairs(list) do
        if one.buffer == event.buf then
          settle(one)
          one.mark = nil
        end
      end
    end
  end })
end

return M
