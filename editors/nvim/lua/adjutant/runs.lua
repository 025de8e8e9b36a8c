-- Undoes a whole run, or restores it: the user picks a run, reads what it means, and decides in the float of questions.
-- Never undoes anything but what was shown.
local asks = require("adjutant.asks")
local display = require("adjutant.display")
local notices = require("adjutant.notices")

local M = {}
local api = vim.api

local CONFLICT = -33007 -- `HunkConflict`
local UNDOABLE = { applied = true, amended = true, kept = true }
local request, client_here -- how to send a request, and the client of the current buffer

local function one_line(text, limit)
  return vim.fn.strcharpart(display.plain(vim.trim((text:gsub("%s+", " ")))), 0, limit)
end

local function many(count, noun) return ("%d %s%s"):format(count, noun, count == 1 and "" or "s") end

-- Returns the runs with changes that can be undone, or restored: the newest first.
local function runs_of(hunks, restore)
  local all, by_name = {}, {}
  for _, hunk in ipairs(hunks) do
    local wanted = restore and hunk.state == "undone" or not restore and UNDOABLE[hunk.state]
    if hunk.madeBy and wanted then
      local name = hunk.sessionId .. "\n" .. hunk.runId
      local run = by_name[name]
      if not run then
        run = { sessionId = hunk.sessionId, runId = hunk.runId, made = hunk.madeBy, at = 0, hunks = 0, files = {} }
        by_name[name], all[#all + 1] = run, run
      end
      run.hunks, run.files[hunk.uri] = run.hunks + 1, true
      run.at = math.max(run.at, hunk.madeBy.at)
    end
  end
  table.sort(all, function(one, other) return one.at > other.at end)
  return all
end

local function row_of(run)
  return ("%s · %s in %s · %s"):format(one_line(run.made.task, 80), many(run.hunks, "change"),
    many(vim.tbl_count(run.files), "file"), one_line(run.made.model, 60))
end

-- Says what became of the decision.
local function tell(preview, hunks)
  local verb = preview.restore and "restored" or "undone"
  local refused = vim.tbl_filter(function(hunk) return hunk.why end, hunks)
  if refused[1] then
    return notices.say(("not %s: %d of %s. The first reason: %s"):format(verb, #refused, many(#hunks, "change"), refused[1].why))
  end
  local back = preview.restore and "" or "; to restore: :Adjutant restore run" .. (preview.later and " later" or "")
  notices.say(("%s %s%s"):format(many(#hunks, "change"), verb, back))
end

local decide

-- Sends what was chosen. A text that is not as it was shown is shown once more.
local function rewind(client, target, preview, choice, again)
  local params = {
    sessionId = preview.sessionId, runId = preview.runId, later = preview.later, restore = preview.restore,
    expect = preview.expect, userLines = choice.userLines,
  }
  request(client, "agent/review/rewind", params, function(result) tell(preview, result.hunks) end, function(err)
    notices.say(err.message)
    if err.code == CONFLICT and not again then decide(client, target, true) end
  end)
end

-- Shows what it means, and lets the user choose. The way that changes nothing is the first.
function decide(client, target, again)
  local window = api.nvim_get_current_win()
  request(client, "agent/review/preview", target, function(preview)
    if #preview.choices == 0 then return notices.show("Adjutant: " .. display.plain(table.concat(preview.lines, "\n"))) end
    local entry = {
      title = display.plain(preview.lines[1]), lines = vim.tbl_map(display.plain, vim.list_slice(preview.lines, 2)),
      options = { { id = 0, name = "Leave as it is" } },
    }
    for index, choice in ipairs(preview.choices) do
      table.insert(entry.options, { id = index, name = display.plain(choice.title), allows = true })
    end
    -- Who went on with something else meanwhile is not interrupted: the question waits.
    local waits = api.nvim_get_mode().mode == "n" and api.nvim_get_current_win() == window
    asks.offer(entry, client.id, waits, function(index)
      if preview.choices[index] then rewind(client, target, preview, preview.choices[index], again) end
    end)
  end)
end

local function start(restore, later)
  local client = client_here()
  if not client then return notices.no_server() end
  request(client, "agent/review/list", { all = true }, function(result)
    local all = runs_of(result.hunks, restore)
    local function chosen(run)
      if run then decide(client, { sessionId = run.sessionId, runId = run.runId, later = later, restore = restore }) end
    end
    if #all == 0 then return notices.say("no run has changes to " .. (restore and "restore" or "undo")) end
    if #all == 1 then return chosen(all[1]) end
    local prompt = (restore and "Restore" or "Undo") .. (later and " a run and everything after it:" or " a run:")
    vim.ui.select(all, { prompt = prompt, format_item = row_of }, chosen)
  end)
end

function M.undo(line) start(false, line.later) end
function M.restore(line) start(true, line.later) end

-- `options.request` sends a request; `options.client` returns the client of the current buffer.
function M.setup(options) request, client_here = options.request, options.client end

return M
