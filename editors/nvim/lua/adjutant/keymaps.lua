-- The keys for changes: `<Plug>` maps, and default keys in buffers that have changes. A default key is set
-- only where nothing is mapped, and removed with the last change. Never replaces or removes a map of the user.
local M = {}
local api = vim.api

-- The actions, each with its command, its default key if it has one, and whether it takes a count.
local ACTIONS = {
  { "next-change", "AdjutantNextChange", "]h", true },
  { "previous-change", "AdjutantPreviousChange", "[h", true },
  { "keep", "AdjutantKeep", "<leader>ak" },
  { "undo", "AdjutantUndo", "<leader>au" },
  { "reject", "AdjutantReject", "<leader>ar" },
  { "comment", "AdjutantComment", "<leader>ac" },
  { "keep-all", "AdjutantKeep!", "<leader>aK" },
  { "keep-all-files", "AdjutantKeepAll" },
  { "undo-all", "AdjutantUndo!", "<leader>aU" },
  { "restore", "AdjutantRestore" },
  { "changes", "AdjutantChanges" },
  { "show-change", "AdjutantShowChange" },
  { "send-comments", "AdjutantSendComments" },
}
local wanted = true -- whether the default keys are set
local own = {} -- the default keys of a buffer: raw keys -> their `<Plug>` map

local function plug_of(action) return ("<Plug>(adjutant-%s)"):format(action) end

function M.setup(keys)
  wanted = keys ~= false
  for _, action in ipairs(ACTIONS) do
    local run = (action[4] and "<Cmd>execute v:count1 .. '%s'<CR>" or "<Cmd>%s<CR>"):format(action[2])
    vim.keymap.set("n", plug_of(action[1]), run, { desc = "Adjutant: " .. action[1]:gsub("-", " ") })
  end
end

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
  for _, action in ipairs(ACTIONS) do
    local keys = action[3] and raw(action[3])
    if keys and is_taken(buffer, keys, maps) then
      if own[buffer][keys] then unset(buffer, keys) end
    elseif keys and not own[buffer][keys] then
      own[buffer][keys] = plug_of(action[1])
      vim.keymap.set("n", action[3], plug_of(action[1]),
        { buffer = buffer, remap = true, desc = "Adjutant: " .. action[1]:gsub("-", " ") })
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

-- Returns what to press in a buffer for each action: its key, else its command.
function M.shown(buffer)
  local maps, shown = maps_of(buffer), {}
  for _, action in ipairs(ACTIONS) do
    local command = ("<cmd>%s<cr>"):format(action[2]):lower()
    for _, map in ipairs(maps) do
      local does = map.rhs or ""
      local is_plug = vim.startswith(map.lhs, "<Plug>")
      if not is_plug and not shown[action[1]] and (does == plug_of(action[1]) or does:lower() == command) then
        shown[action[1]] = vim.fn.keytrans(raw_of(map))
      end
    end
    shown[action[1]] = shown[action[1]] or ":" .. action[2]
  end
  return shown
end

return M
