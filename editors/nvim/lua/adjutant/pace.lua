-- When the place where the agent is may be shown: the newest place alone, at most one in a second, and only after the user has been quiet.
-- Never needs Neovim: whoever asks says what time it is.
local M = {}

M.EVERY = 1000 -- milliseconds between two places
M.QUIET = 3000 -- milliseconds since the last key of the user

---@class adjutant.Pace
---@field place? any the newest place that is not shown yet
---@field shown? integer when the last one was shown
---@field typed? integer when the user pressed the last key

---@return adjutant.Pace
function M.new() return {} end

---The agent is at a place: those before it that were not shown never will be.
---@param pace adjutant.Pace
function M.arrived(pace, place) pace.place = place end

---@param pace adjutant.Pace
---@param now integer in milliseconds
function M.typed(pace, now) pace.typed = now end

---Returns the place to show now, or nothing and the milliseconds after which to ask again. Without a place, and while the user is busy,
---there is nothing to wait for: what ends that asks again.
---@param pace adjutant.Pace
---@param now integer in milliseconds
---@param busy boolean the user writes, selects or has begun a command
---@return any? place, integer? wait
function M.next(pace, now, busy)
  if pace.place == nil or busy then return nil, nil end
  local from = math.max(pace.shown and pace.shown + M.EVERY or now, pace.typed and pace.typed + M.QUIET or now)
  if from > now then return nil, from - now end
  local place = pace.place
  pace.place, pace.shown = nil, now
  return place, nil
end

return M
