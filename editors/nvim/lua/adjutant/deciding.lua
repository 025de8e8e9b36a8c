-- Sends what the user decided about changes, and says what became of each.
-- Never calls something done without an answer of the server that says so.
local display = require("adjutant.display")
local notices = require("adjutant.notices")

local M = {}
local request -- sends a request to a client

local say = notices.say

function M.one_line(text) return display.plain(vim.trim((text:gsub("%s+", " ")))) end

function M.many(count) return ("%d change%s"):format(count, count == 1 and "" or "s") end

-- Returns the first line with a text of a change, in at most so many characters.
function M.first_line(hunk, most)
  local text = M.one_line((hunk.inserted ~= "" and hunk.inserted or hunk.removed):match("[^\n]*%S[^\n]*") or "")
  return vim.fn.strcharpart(text, 0, most)
end

-- The states in which a change is as it was decided.
local GOALS = {
  undo = { undone = true }, keep = { kept = true }, restore = { applied = true, amended = true },
  reject = { rejected = true }, apply = { applying = true, applied = true },
}
local PAST = { undo = "undone", keep = "kept", restore = "restored", reject = "rejected", apply = "applied" }

local CHANGED = "it is in another state now; look at it again"

-- Sends decisions, one after the other. `done` gets the changes that are as decided, and those that are not, each with the reason.
function M.send(client, decisions, done)
  local decided, refused = {}, {}
  local function next_one(index)
    local decision = decisions[index]
    if not decision then return done(decided, refused) end
    local function answer_all(of)
      for _, hunk in ipairs(decision.hunks) do
        local state, why = of(hunk)
        if why or not GOALS[decision.action][state] then
          refused[#refused + 1] = { hunk = hunk, action = decision.action, why = why or CHANGED }
        else
          decided[#decided + 1] = { hunk = hunk, action = decision.action }
        end
      end
      next_one(index + 1)
    end
    request(client, "agent/review/decide", decision.params, function(result)
      answer_all(function(hunk)
        for _, one in ipairs(result.hunks) do
          if one.changeSetId == hunk.changeSetId and one.hunkId == hunk.hunkId then return one.state, one.why end
        end
      end)
    end, function(err)
      answer_all(function() return nil, err.message end)
    end)
  end
  next_one(1)
end

-- Adds a change to the last decision, or begins another one: the order counts where a later change is on an earlier one.
function M.add(decisions, hunk, action, reason)
  local decision = decisions[#decisions]
  if not decision or decision.action ~= action or decision.params.sessionId ~= hunk.sessionId then
    local params = { sessionId = hunk.sessionId, action = action, targets = {}, reason = reason }
    decision = { action = action, hunks = {}, params = params }
    decisions[#decisions + 1] = decision
  end
  decision.hunks[#decision.hunks + 1] = hunk
  local targets, target = decision.params.targets, nil
  for _, other in ipairs(targets) do
    if other.changeSetId == hunk.changeSetId then target = other end
  end
  if not target then
    target = { changeSetId = hunk.changeSetId, hunkIds = {} }
    targets[#targets + 1] = target
  end
  target.hunkIds[#target.hunkIds + 1] = hunk.hunkId
  -- The server drops the user's lines only if it hears which lines the user saw.
  if hunk.text and action == "undo" then
    target.seen = target.seen or {}
    target.seen[hunk.hunkId] = hunk.text
  end
end

-- Returns names for some changes, for people.
local function named(list)
  local names = {}
  for index = 1, math.min(#list, 2) do
    local hunk = list[index].hunk
    local text = M.first_line(hunk, 20)
    names[index] = ("line %d"):format(hunk.line + 1) .. (text ~= "" and (" “%s”"):format(text) or "")
  end
  if #list > #names then names[#names + 1] = ("%d more"):format(#list - #names) end
  return table.concat(names, ", ")
end

-- Says what became of decisions. Calls done only what an answer of the server calls so.
function M.report(decided, refused)
  local by = {}
  for _, one in ipairs(decided) do
    by[one.action] = by[one.action] or {}
    table.insert(by[one.action], one)
  end
  local first = refused[1]
  if first and #decided + #refused == 1 then return say(first.why) end
  if first then
    local parts = {}
    for action, list in pairs(by) do parts[#parts + 1] = ("%s: %s"):format(PAST[action], named(list)) end
    table.sort(parts)
    parts[#parts + 1] = ("not %s: %s: %s"):format(PAST[first.action], named(refused), first.why)
    return say(table.concat(parts, "; "))
  end
  local gone, kept = by.undo and #by.undo or 0, by.keep and #by.keep or 0
  if gone == 1 then say("undone; :Adjutant restore brings it back")
  elseif gone > 1 then say(M.many(gone) .. " undone; :Adjutant restore brings them back")
  elseif kept > 1 then say(M.many(kept) .. " kept") end
end

function M.setup(send) request = send end

return M
