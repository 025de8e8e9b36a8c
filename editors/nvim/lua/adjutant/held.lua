-- A session that another process has open: says who has it, and when it can go on here. Never opens it by itself.
local display = require("adjutant.display")
local notices = require("adjutant.notices")

local M = {}

local held -- the session that was refused last, its title, and the function that opens it

-- Says that a session of the list is open elsewhere. `open` tries it again.
function M.refused(entry, open)
  held = { session = entry.sessionId, title = display.plain((entry.title:gsub("%s+", " "))), open = open }
  local who = entry.openIn and ("another window (process %d)"):format(entry.openIn) or "another window"
  notices.show(("Adjutant: this session is open in %s. Go on with it there, or here once that window has closed it or is gone."):format(who))
end

-- Forgets a session that is open here now.
function M.opened(session)
  if held and held.session == session then held = nil end
end

-- One `agent/session/changed`.
function M.changed(_, params)
  local is_free = params.session and not params.session.openIn
  if not (held and held.session == params.sessionId and is_free) or held.told then return end
  held.told = true
  notices.show(("Adjutant: the window that had “%s” has let it go · :Adjutant take over"):format(vim.fn.strcharpart(held.title, 0, 40)))
end

-- Goes on here with the session that was refused last; the server refuses again while another process has it.
function M.take_over()
  if not held then return notices.show("Adjutant: no session waits to be taken over; :Adjutant sessions lists those of this project") end
  held.open()
end

return M
