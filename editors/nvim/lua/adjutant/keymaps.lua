-- The default keys for changes, in buffers that have some. A default key is set only where nothing is mapped, and
-- removed with the last change. Never replaces or removes a map of the user.
local commands = require("adjutant.commands")

local M = {}
local api = vim.api

local wanted = true -- whether the default keys are set
local own = {} -- the default keys of a buffer: raw keys -> their `<Plug>` map

function M.setup(keys) wanted = keys ~= false end

local function raw(key)
  local leader = vim.g.mapleader
  if leader == nil or leader == "" then leader = "\\" end
  key = key:gsub("<leader>", function() return leader end)
  return api.nvim_replace_termcodes(key, true, true, true)
end

local function raw_of(map) return map.lhsraw or api.nvim_replace_termcodes(map.lhs, true, true, true) end

local function is_own(buffer, map)
  local plug = own[buffer] and own[buffer][raw_of(map)]
  return plug ~= nil and map.buffer == buffer and map.rhs == plug
end

-- Whether the user has a map for these keys, or one that would wait for their last key.
local function is_taken(buffer, keys, maps)
  for _, map in ipairs(maps) do
    local theirs = raw_of(map)
    local waits = #theirs > 1 and theirs == keys:sub(1, -2)
    if (theirs == keys or waits) and not is_own(buffer, map) then return true end
  end
  return false
end

local function maps_of(buffer)
  return vim.list_extend(api.nvim_buf_get_keymap(buffer, "n"), api.nvim_get_keymap("n"))
end

local function unset(buffer, keys)
  for _, map in ipairs(api.nvim_buf_get_keymap(buffer, "n")) do
    if raw_of(map) == keys and is_own(buffer, map) then pcall(api.nvim_buf_del_keymap, buffer, "n", map.lhs) end
  end
  own[buffer][keys] = nil
end

-- Sets the default keys of a buffer that has changes.
function M.set(buffer)
  if not wanted then return end
  own[buffer] = own[buffer] or {}
  local maps = maps_of(buffer)
  for _, action in ipairs(commands.ACTIONS) do
    local keys = action.key and raw(action.key)
    if keys and is_taken(buffer, keys, maps) then
      if own[buffer][keys] then unset(buffer, keys) end
    elseif keys and not own[buffer][keys] then
      own[buffer][keys] = commands.plug(action)
      vim.keymap.set("n", action.key, commands.plug(action),
        { buffer = buffer, remap = true, desc = "Adjutant: " .. action.name })
    end
  end
end

-- Removes the default keys of a buffer that has no changes any more.
function M.unset(buffer)
  if own[buffer] and api.nvim_buf_is_valid(buffer) then
    for keys in pairs(vim.deepcopy(own[buffer])) do unset(buffer, keys) end
  end
  own[buffer] = nil
end

-- Returns what to press in a buffer for each action, by its name: its key, else its command.
function M.shown(buffer)
  local maps, shown = maps_of(buffer), {}
  for _, action in ipairs(commands.ACTIONS) do
    local plug, command = commands.plug(action), ("<cmd>adjutant %s<cr>"):format(action.name)
    for _, map in ipairs(maps) do
      local does = map.rhs or ""
      local is_plug = vim.startswith(map.lhs, "<Plug>")
      if not is_plug and not shown[action.name] and (does == plug or does:lower() == command) then
        shown[action.name] = vim.fn.keytrans(raw_of(map))
      end
    end
    shown[action.name] = shown[action.name] or ":Adjutant " .. action.name
  end
  return shown
end

return M
