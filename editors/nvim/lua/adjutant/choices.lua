-- What the server says can be chosen, for the completion of the command line. Waits a moment for it, because a completion cannot come
-- later. Never sends anything that changes a session.
local M = {}

local PATIENCE_MS = 1000
local LEAST_WORD, MOST_WORDS = 3, 40

-- A plain function before 0.11, a method since.
local function ask(method, params)
  local client = require("adjutant.sessions").client()
  if not client then return end
  local answer
  if vim.fn.has("nvim-0.11") == 1 then answer = client:request_sync(method, params, PATIENCE_MS)
  else answer = client.request_sync(method, params, PATIENCE_MS) end
  return answer and answer.result
end

function M.modes()
  local client = require("adjutant.sessions").client()
  local can = client and client.server_capabilities.experimental
  return can and can.agent and can.agent.modes or {}
end

function M.models()
  local listed = ask("agent/model/list", vim.empty_dict())
  return vim.tbl_map(function(model) return model.model end, listed and listed.models or {})
end

-- Returns the words of the titles of this project's newest sessions, as they can be typed.
function M.titles()
  local root = require("adjutant.sessions").target()
  local listed = ask("agent/session/list", { cwd = vim.uri_from_fname(root) })
  local words, known = {}, {}
  for _, entry in ipairs(listed and listed.sessions or {}) do
    for word in entry.title:gmatch("[%w_%-\128-\255]+") do
      local name = vim.fn.tolower(word)
      if #word >= LEAST_WORD and not known[name] and #words < MOST_WORDS then
        known[name], words[#words + 1] = true, word
      end
    end
  end
  return words
end

return M
