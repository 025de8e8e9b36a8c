-- The line about all tasks, as the server words it, for the status line. Never makes up a state: only how the last task ended is its own.
local M = {}

local PRESSING = { asks = 3, interrupted = 2, running = 1 }
local shown = ""
local overviews, titles, said = {}, {}, {} -- by client; by run; about the last task
local ended -- the title of the last task, once it has ended
local chat_window = function() end -- returns the window of the chat, when it is in sight
local changed = function() end -- called when tasks begin and end

-- The longest of these that leaves room for the name of the file: the step before the task.
local function fitting(...)
  local words
  for _, candidate in ipairs({ ... }) do
    words = candidate
    if vim.fn.strdisplaywidth(words) <= vim.o.columns - 24 then break end
  end
  return words
end

function M.draw()
  local now
  for _, one in pairs(overviews) do
    if not now or (PRESSING[one.kind] or 0) > (PRESSING[now.kind] or 0) then now = one end
  end
  local status, about = "", ""
  if now and now.kind == "asks" then status = "? " .. now.short .. " · :Adjutant answer"
  elseif now and PRESSING[now.kind] then
    local only = #now.runs == 1 and now.runs[1]
    status, about = only and only.step or now.short, only and " · " .. only.title or ""
  else
    if ended then
      status, about = now and now.short ~= "" and now.short or "done", ended ~= "" and " · " .. ended or ""
    end
    if said.text and said.over and not chat_window() then status = status .. " · :Adjutant chat" end
  end
  shown = status == "" and "" or fitting("Adjutant: " .. status .. about, "Adjutant: " .. status, status)
  vim.cmd.redrawstatus({ bang = true })
  vim.api.nvim_exec_autocmds("User", { pattern = "AdjutantStatus", modeline = false })
end

-- Returns the text for the status line.
function M.text() return shown end

-- Whether a task of this session is open.
function M.at_work(session)
  for _, one in pairs(overviews) do
    for _, run in ipairs(one.runs) do
      if run.sessionId == session then return true end
    end
  end
  return false
end

-- Handles `agent/overview`.
function M.overview(_, params, context)
  overviews[context.client_id] = params
  for _, run in ipairs(params.runs) do titles[run.runId] = run.title end
  M.draw()
  changed()
end

-- Notes an update of a session. Returns the title of the task that has ended with it.
function M.told(now)
  local kind = now.sessionUpdate
  if kind == "_run" and now.phase == "started" then said = {}
  elseif kind:find("^agent_message") or kind == "_complete" then said.text = true
  elseif kind == "_run" and now.phase == "ended" then
    said.over = true
    ended, titles[now.runId] = titles[now.runId] or "", nil
    M.draw()
    return ended
  end
end

-- A server is gone.
function M.forget(client)
  overviews[client], ended = nil, nil
  M.draw()
  changed()
end

-- `options.chat` returns the window of the chat; `options.changed` is called when tasks begin and end.
function M.setup(options) chat_window, changed = options.chat, options.changed end

return M
