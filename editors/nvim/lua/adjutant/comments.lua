-- Comments on changes: written one by one at a change, sent to the agent together. They wait on the server.
-- Never sends one by itself.
local hunks = require("adjutant.hunks")
local notices = require("adjutant.notices")

local M = {}
local say = notices.say
local request -- sends a request to a client

local function many(count) return ("%d comment%s"):format(count, count == 1 and "" or "s") end

-- Writes the comment on a change; an empty one takes it back.
local function put(client, hunk, text)
  local params = { sessionId = hunk.sessionId, changeSetId = hunk.changeSetId, hunkId = hunk.hunkId, text = text }
  request(client, "agent/review/comment", params, function(result)
    local count = result.waiting == 0 and "no comment waits" or many(result.waiting) .. (result.waiting == 1 and " waits" or " wait")
    if text == "" then return say("taken back; " .. count) end
    say(("%s; :Adjutant send sends %s"):format(count, result.waiting == 1 and "it" or "them"))
  end, function(err) say(err.message) end)
end

-- Comments on the change at the cursor: with the words of the command, else the user is asked for them.
function M.comment(line)
  local hunk, client = hunks.here()
  if not hunk then return say("no change here; :Adjutant next goes to one") end
  if not hunk.madeBy then return say("this change is not made yet; :Adjutant reject takes a reason") end
  if line.args ~= "" then return put(client, hunk, line.args) end
  vim.ui.input({ prompt = "Comment: ", default = hunk.comment or "" }, function(text)
    text = text and vim.trim(text)
    if text and (text ~= "" or hunk.comment) then put(client, hunk, text) end
  end)
end

-- Sends all comments that wait, with words about all of them. Each session gets its own.
function M.send(line)
  local all = vim.lsp.get_clients({ name = "adjutant" })
  if #all == 0 then return notices.no_server() end
  for _, client in ipairs(all) do
    request(client, "agent/review/list", vim.empty_dict(), function(result)
      local sessions, count = {}, 0
      for _, hunk in ipairs(result.hunks) do
        if hunk.comment then sessions[hunk.sessionId], count = true, count + 1 end
      end
      if count == 0 then return #all == 1 and say("no comment waits; :Adjutant comment writes one on a change") end
      for session in pairs(sessions) do
        local params = { sessionId = session, text = line.args ~= "" and line.args or nil }
        request(client, "agent/review/send", params, nil, function(err) say(err.message) end)
      end
      say(many(count) .. " sent")
    end, function(err) say(err.message) end)
  end
end

-- `options.request` sends a request.
function M.setup(options) request = options.request end

return M
