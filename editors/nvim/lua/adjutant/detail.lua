-- How much of a task the chat draws. The choice is one of the settings that this Neovim sends to its servers; what they make of it comes
-- back from them. Never draws anything.
local notices = require("adjutant.notices")

local M = {}

local MEANS = {
  { "brief", "answers, changes, commands, questions, the plan and whatever went wrong" },
  { "normal", "also a line for each step that only looks" },
  { "full", "also thoughts and the arguments of steps" },
}
local chosen ---@type string? what the user chose in this Neovim
local now = "normal" -- what the servers say
local draws = function() end -- draws the chat with a value

-- Sends the choice to a server, with what else it has of the settings.
local function send(client)
  local settings = client.settings or {}
  local section = settings.adjutant or client.config.init_options or {}
  settings.adjutant = vim.tbl_extend("force", section, { detail = chosen })
  client.settings = settings
  local params = { settings = settings }
  -- A plain function before 0.11, a method since.
  if vim.fn.has("nvim-0.11") == 1 then client:notify("workspace/didChangeConfiguration", params)
  else client.notify("workspace/didChangeConfiguration", params) end
end

-- A server has started: the choice counts for it too.
function M.started(client)
  if chosen then send(client) end
end

-- Handles what a server announces.
function M.told(overview)
  now = overview.detail or "normal"
  draws(now)
end

function M.values()
  return vim.tbl_map(function(row) return row[1] end, MEANS)
end

local function set(value)
  local clients = vim.lsp.get_clients({ name = "adjutant" })
  if #clients == 0 then return notices.no_server() end
  chosen = value
  for _, client in ipairs(clients) do send(client) end
  notices.say("the chat draws tasks: " .. value)
end

-- Takes the value of the line, else lists those that there are.
function M.choose(line)
  if vim.list_contains(M.values(), line.args) then return set(line.args) end
  if line.args ~= "" then return notices.say("how much the chat draws is brief, normal or full") end
  vim.ui.select(MEANS, { prompt = "How much the chat draws:", format_item = function(row)
    return ("%s %s · %s"):format(row[1] == now and "*" or " ", row[1], row[2])
  end }, function(row)
    if row then set(row[1]) end
  end)
end

-- `options.draws` draws the chat with a value.
function M.setup(options) draws = options.draws end

return M
