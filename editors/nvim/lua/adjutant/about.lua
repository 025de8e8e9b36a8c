-- What the bar above the chat says of the session in it: its title, mode, model, and how full its context is.
-- Never asks the server: it keeps what came with updates and answers.
local display = require("adjutant.display")

local M = {}

local known = {} -- by session
local session_in = function() end -- returns the session that a window shows

local function of(session)
  known[session] = known[session] or {}
  return known[session]
end

-- Notes the options of a session.
function M.options(session, options)
  for _, option in ipairs(options) do
    if option.id == "mode" or option.id == "model" then of(session)[option.id] = option.currentValue end
  end
  vim.cmd.redrawstatus({ bang = true })
end

-- Notes the state of a session that was opened.
function M.resumed(session, state)
  local about = of(session)
  about.title, about.usage = state.title, state.usage
  M.options(session, state.configOptions)
end

-- Folds in one `agent/session/update`.
function M.told(params)
  local update, about = params.update, of(params.sessionId)
  local kind = update.sessionUpdate
  if kind == "config_option_update" then M.options(params.sessionId, update.configOptions)
  elseif kind == "usage_update" then about.usage = update
  elseif kind == "_run" and update.phase == "started" then
    -- The first task names the session.
    about.title, about.model = about.title or update.title, update.model
  end
end

-- Returns the text of the bar. It is not read as a status line, so no text of others becomes an item of one.
function M.bar()
  -- While the bar is made, its window is the current one.
  local about = known[session_in(vim.api.nvim_get_current_win()) or ""]
  if not about then return "a new session" end
  local parts = {}
  -- All tools is what one expects.
  if about.mode and about.mode ~= "code" then parts[#parts + 1] = display.plain(about.mode) end
  if about.model then parts[#parts + 1] = display.plain(about.model) end
  local usage = about.usage
  if usage and usage.contextSize and usage.contextSize > 0 then
    parts[#parts + 1] = ("context %d %%"):format(math.floor(usage.contextUsed * 100 / usage.contextSize + 0.5))
  end
  local cost = usage and usage.session.cost
  if cost then parts[#parts + 1] = display.plain(cost.line) end
  local rest = table.concat(parts, " · ")
  if not about.title or about.title == "" then return rest end
  -- The title gives way.
  local room = math.max(10, vim.api.nvim_win_get_width(0) - vim.fn.strdisplaywidth(rest) - 4)
  local title = display.plain((about.title:gsub("%s+", " ")))
  if vim.fn.strchars(title) > room then title = vim.fn.strcharpart(title, 0, room - 1) .. "…" end
  return rest == "" and title or title .. " · " .. rest
end

-- `options.session` returns the session that a window shows.
function M.setup(options) session_in = options.session end

return M
