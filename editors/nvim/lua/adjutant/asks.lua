-- The questions of Adjutant. Each waits in a float that is never entered by
-- itself and takes no keys. Only a key pressed in the float is an answer, and only one that is
-- on the screen below the text. An approval needs the whole of what it allows to have been in sight, or opened in a tab.
local buffers = require("adjutant.buffers")
local display = require("adjutant.display")
local float = require("adjutant.float")
local notices = require("adjutant.notices")
local tab = require("adjutant.tab")

local M = {}
local api = vim.api

local LONGEST_TITLE = 80 -- characters, where the whole is shown below it
local REACTION = 400 -- milliseconds an approval must have been in sight before it counts
local OFFER = {} -- the id of the question that a command of the user asks
local open = {} -- the questions that wait: the oldest first, those left for later last
local shown -- the one in the float
local window, buffer -- the float
local answers = {} -- the window and the buffer below it, with the answers that a key gives
local entered = false -- the user went into it
local hinting = false -- the float is the one line
local home -- the window they came from
local where = function() end -- the window of the answer, when it is in sight
local prompt = function() end -- the window of the prompt, when it is in sight
local changed = function() end -- called when questions come or go

function M.setup(options) where, prompt, changed = options.chat, options.prompt, options.changed end

local function now() return vim.uv.now() end
local function valid(id) return id and api.nvim_win_is_valid(id) end

-- A folder as the user knows it: below the current directory where it is there. No name of a folder reads as the words for the current
-- one, or as the home folder.
local function relative(path)
  local below = vim.fn.fnamemodify(path, ":.")
  return below ~= path and "./" .. below or vim.fn.fnamemodify(path, ":~")
end

-- How many lines at the head of a diff say no more than the title: both, where they name the file that it edits or creates.
local function named_by(title, lines)
  local old, new = (lines[1] or ""):match("^%-%-%- (.+)$"), (lines[2] or ""):match("^%+%+%+ b/(.+)$")
  title = display.plain(title)
  local edits = new and old == "a/" .. new and title == "Edit " .. new
  local creates = new and old == "/dev/null" and title == "Create " .. new
  return (edits or creates) and vim.fn.strchars(title) <= LONGEST_TITLE and 2 or 0
end

-- What a question is about: a place, and lines that must be seen whole.
local function subject_of(ask)
  local subject = type(ask.subject) == "table" and ask.subject or {}
  local files = subject.type == "edit" and { subject } or subject.type == "edits" and subject.files
  if files then
    local all, plus, minus = {}, 0, 0
    -- File by file, because the line ends of one say nothing about another.
    for _, file in ipairs(files) do
      local lines = vim.split((display.diff(file.diff):gsub("\n$", "")), "\n")
      for index = 3, #lines do
        local sign = lines[index]:sub(1, 1)
        plus, minus = plus + (sign == "+" and 1 or 0), minus + (sign == "-" and 1 or 0)
      end
      vim.list_extend(all, lines)
    end
    -- A move has no lines of its own.
    local short = plus + minus > 0 and ("+%d −%d"):format(plus, minus) or nil
    return { lines = all, syntax = "diff", short = short, named = named_by(ask.title, all) }
  elseif subject.type == "command" then
    local place = subject.cwd == vim.fn.getcwd() and "in this folder" or "in " .. relative(subject.cwd)
    if subject.timeoutSeconds then place = ("%s, for at most %d s"):format(place, subject.timeoutSeconds) end
    -- The reason says what is not saved: it belongs to the whole.
    local note = subject.unsaved and display.plain(ask.description or "") or nil
    local lines = vim.split(display.command(subject.command), "\n")
    table.insert(lines, 1, float.one(display.command(place)) .. ":")
    return { lines = lines, note = note }
  elseif subject.type == "read" then
    return { lines = vim.split(display.command(subject.path), "\n"), place = display.plain(subject.reason) }
  end
  return { lines = {} }
end

-- Makes an entry of an ask; `answer` takes an outcome of `agent/session/request_permission`.
local function entry_of(ask, answer)
  local entry = vim.tbl_extend("force", subject_of(ask), {
    id = ask.askId, title = display.plain(ask.title), options = {}, words = ask.freeText, seen = {}, answer = answer,
    group = ask.group,
  })
  if ask.description and ask.description ~= ask.title then entry.why = display.plain(ask.description) end
  if #entry.lines > 0 and vim.fn.strchars(entry.title) > LONGEST_TITLE then
    entry.title = vim.fn.strcharpart(entry.title, 0, LONGEST_TITLE - 1) .. "…"
  end
  -- An approval is never the first: the ways to say no come before it.
  for _, yes in ipairs({ false, true }) do
    for _, option in ipairs(ask.options) do
      local allows = option.kind == "allow_once" or option.kind == "allow_always"
      entry.rejects = entry.rejects or (option.kind == "reject_once" and option.optionId or nil)
      if allows == yes then
        -- The label is what it says everywhere; what "always" would allow stands behind it.
        local label = option.kind ~= "choose" and option.label or option.name
        local name = label
        if option.kind == "allow_always" and name ~= option.name then name = ("%s (%s)"):format(name, option.name) end
        table.insert(entry.options, {
          id = option.optionId, name = display.plain(name), label = display.plain(label), allows = allows,
        })
      end
    end
  end
  return entry
end

local function close_answers()
  local old = answers.window
  answers.window, answers.offered = nil, {}
  if valid(old) then api.nvim_win_close(old, true) end
end

local function close()
  local old = window
  window, entered = nil, false
  close_answers()
  if valid(old) then
    local back = api.nvim_get_current_win() == old and valid(home) and home
    if back then api.nvim_set_current_win(back) end
    api.nvim_win_close(old, true)
  end
end

local draw

-- Notes which lines of the subject are in sight, and offers approvals once all were.
local function look()
  if not (shown and valid(window)) or hinting then return end
  buffers.hide_nothing(window)
  local _, first, said = float.text(shown)
  local unseen, tall = float.unseen(shown), shown.tall
  for line = 1, said do shown.seen[line] = true end
  for row = vim.fn.line("w0", window), vim.fn.line("w$", window) do
    local line = row - first + 1 + said
    if line > said and line <= #shown.lines then
      -- Of a line that is taller than the float only the head is in sight.
      local rows = api.nvim_win_text_height(window, { start_row = row - 1, end_row = row - 1 }).all
      if rows <= api.nvim_win_get_height(window) then shown.seen[line] = true else shown.tall = true end
    end
  end
  if float.unseen(shown) ~= unseen or shown.tall ~= tall then draw() end
end

local function keys()
  local function map(key, run) vim.keymap.set("n", key, run, { buffer = buffer, nowait = true }) end
  for number = 1, 9 do map(tostring(number), function() M.choose(number) end) end
  map("r", M.words)
  map("s", M.whole)
  map("q", M.leave)
  map("<Esc>", M.leave)
end

-- Puts lines into a float; what stays the same is left alone, so that nothing jumps.
local function write(into, lines)
  local old = api.nvim_buf_get_lines(into, 0, -1, false)
  local same = 0
  while same < #lines and lines[same + 1] == old[same + 1] do same = same + 1 end
  if same == #lines and #old == #lines then return end
  vim.bo[into].modifiable = true
  api.nvim_buf_set_lines(into, same, -1, false, vim.list_slice(lines, same + 1))
  vim.bo[into].modifiable = false
  shown.since = now()
end

-- Shows the answers below the text.
local function draw_answers(below)
  if not below then return close_answers() end
  answers.buffer = buffers.usable(answers.buffer)
  write(answers.buffer, below.lines)
  if valid(answers.window) and api.nvim_win_get_buf(answers.window) ~= answers.buffer then close_answers() end
  if valid(answers.window) then
    api.nvim_win_set_config(answers.window, below.config)
  else
    answers.window = api.nvim_open_win(answers.buffer, false, vim.tbl_extend("force", below.config, { noautocmd = true }))
  end
  answers.offered = below.offered
  buffers.hide_nothing(answers.window)
  vim.wo[answers.window].winhighlight = "Normal:NormalFloat"
end

-- Its place among those that wait; none when it was answered elsewhere meanwhile.
local function index_of(entry)
  for index, other in ipairs(open) do
    if other == entry then return index end
  end
end

-- Which of several questions it is.
local function count_of(entry)
  return #open > 1 and index_of(entry) and (" %d/%d"):format(index_of(entry), #open) or ""
end

function draw()
  if not shown then return close() end
  local new
  buffer, new = buffers.usable(buffer)
  if new then keys() end
  local lines, config, below = float.layout(shown, entered, count_of(shown), where(), prompt())
  local hint = below == nil
  write(buffer, lines)
  vim.bo[buffer].syntax = hint and "" or shown.syntax or ""
  if valid(window) and (hint ~= hinting or api.nvim_win_get_buf(window) ~= buffer) then
    api.nvim_win_close(window, true)
  end
  hinting = hint
  if valid(window) then
    api.nvim_win_set_config(window, config)
  else
    window = api.nvim_open_win(buffer, false, vim.tbl_extend("force", config, { noautocmd = true }))
  end
  buffers.hide_nothing(window)
  vim.wo[window].winhighlight = hint and "Normal:IncSearch" or "Normal:NormalFloat"
  draw_answers(below)
  look()
end

-- The oldest question that holds something up, or with `idle` one of what could be done next.
local function first(idle)
  for _, entry in ipairs(open) do
    if (entry.group == "idle") == idle then return entry end
  end
end

local function next_one()
  if not entered then
    local before = shown
    shown = first(false)
    if shown and shown ~= before then shown.since = now() end
  end
  draw()
  changed()
end

-- Puts a question before the user; nothing waits for it here.
local function put(entry)
  M.remove(entry.id)
  entry.since = now()
  table.insert(open, entry)
  next_one()
end

-- Takes a question away. One that the user is looking at says so, and answers nothing any more.
function M.remove(id, gone)
  for index, entry in ipairs(open) do
    if entry.id == id then
      table.remove(open, index)
      if entry == shown and entered and gone then entry.gone = gone elseif entry == shown then entered = false end
      next_one()
      return entry
    end
  end
end

-- Takes away all questions of a server that is gone.
function M.forget(client)
  for index = #open, 1, -1 do
    if open[index].client == client then M.remove(open[index].id, "The server that asked this has ended.") end
  end
end

-- Handles `agent/session/request_permission`: answers when the user has, for as long as it takes.
function M.asked(_, ask, context)
  local thread = coroutine.running()
  local entry = entry_of(ask, function(outcome) coroutine.resume(thread, { outcome = outcome }) end)
  entry.client = context.client_id
  put(entry)
  return coroutine.yield()
end

-- A question that comes as state: what is answered goes by `agent/ask/respond`.
function M.state(ask, client, respond)
  if ask.kind == "completion_result" or ask.kind == "resume_completed_task" then return end
  local entry = entry_of(ask, function(outcome)
    -- It is closed already, so there is nothing to answer.
    if outcome.outcome == "cancelled" then return end
    respond({ askId = ask.askId, optionId = outcome.optionId, answer = not outcome.optionId and outcome.text or nil,
      reason = outcome.optionId and outcome.text or nil })
  end)
  entry.client = client
  put(entry)
end

-- Handles `window/showMessageRequest`, for a server that asks so.
function M.message(_, params, context)
  local thread = coroutine.running()
  local actions = params.actions or {}
  local entry = {
    id = {}, title = display.plain(params.message), lines = {}, seen = {}, options = {}, client = context.client_id,
    answer = function(outcome) coroutine.resume(thread, actions[outcome.optionId] or vim.NIL) end,
  }
  for index, action in ipairs(actions) do entry.options[index] = { id = index, name = display.plain(action.title) } end
  put(entry)
  return coroutine.yield()
end

-- Asks what a command of the user needs, before all others: `done` gets the id of the chosen option. With `enters` the user
-- is in the float at once. Leaving it by a key ends it with no effect, and a second one replaces it.
function M.offer(entry, client, enters, done)
  M.remove(OFFER)
  entry = vim.tbl_extend("force", entry, { id = OFFER, client = client, seen = {}, brief = true, since = now() })
  entry.answer = function(outcome) done(outcome.optionId) end
  table.insert(open, 1, entry)
  if enters then close() end
  next_one()
  if enters then M.enter() end
end

-- Handles `agent/ask/resolved`: it was answered, maybe elsewhere.
function M.resolved(_, params)
  local entry = M.remove(params.askId, "This was answered elsewhere, or is not asked any more.")
  if entry then entry.answer({ outcome = "cancelled" }) end
end

-- Shows what is left of a question of which a part was decided elsewhere. If all of it was in sight, what is left was.
function M.left(ask)
  for _, entry in ipairs(open) do
    if entry.id == ask.askId then
      local all = float.unseen(entry) == 0
      local subject = subject_of(ask)
      entry.lines, entry.short, entry.named, entry.seen, entry.since = subject.lines, subject.short, subject.named, {}, now()
      if all then for line = 1, #entry.lines do entry.seen[line] = true end end
      if entry == shown then draw() end
    end
  end
end

-- How many questions hold something up.
function M.count()
  local count = 0
  for _, entry in ipairs(open) do count = count + (entry.group == "idle" and 0 or 1) end
  return count
end

-- Goes into the float.
function M.enter()
  shown = shown or first(false) or first(true)
  if not shown then return false end
  if entered and api.nvim_get_current_win() == window then return true end
  home, entered, shown.tight = api.nvim_get_current_win(), true, nil
  draw()
  vim.cmd.stopinsert()
  api.nvim_set_current_win(window)
  api.nvim_win_set_cursor(window, { 1, 0 })
  shown.since, shown.tall = now(), nil
  look()
  return true
end

-- Goes to a question that waits; of several, the user chooses one.
function M.pick()
  if #open < 2 then return M.enter() end
  local function row(entry) return float.one(entry.title) .. (entry.short and " " .. entry.short or "") end
  vim.ui.select(vim.list_slice(open), { prompt = "Go to a question:", format_item = row }, function(entry)
    if not entry then return end
    if not index_of(entry) then return notices.show("Adjutant: this was answered before") end
    close()
    shown = entry
    M.enter()
  end)
  return true
end

local function leave()
  if shown and shown.gone then shown = nil end
  close()
  next_one()
end

-- Leaves the float; the question stays, behind the others, unless a command of the user asked it.
function M.leave()
  local index = shown and index_of(shown)
  local left = index and table.remove(open, index)
  if left and not left.brief then table.insert(open, left) end
  leave()
end

local function answer(entry, outcome)
  if not index_of(entry) then return notices.show("Adjutant: this was answered before, so nothing was sent") end
  if entry == shown then
    shown = nil
    close()
  end
  M.remove(entry.id)
  entry.answer(outcome)
  if entry.rejects and outcome.optionId == entry.rejects then
    notices.say(("rejected%s: %s"):format(outcome.text and ", with your reason" or "", float.one(entry.title)))
  end
end

function M.choose(number)
  local option = shown and not shown.gone and shown.options[number]
  if not option then return end
  -- Something else may have closed the window below.
  if not (valid(answers.window) and api.nvim_win_get_tabpage(answers.window) == api.nvim_get_current_tabpage()) then
    return draw()
  end
  if not answers.offered[number] or option.allows and float.unseen(shown) > 0 then
    return notices.say("scroll through all of it first: j or Ctrl-F")
  end
  if option.allows and now() - shown.since < REACTION then return notices.say("the question is new; press again") end
  answer(shown, { outcome = "selected", optionId = option.id })
end

-- Asks for the user's own words.
function M.words()
  local entry = shown
  if not entry or entry.gone or not entry.words then return end
  vim.ui.input({ prompt = entry.rejects and "Reject because: " or "Answer: " }, function(text)
    if not text or vim.trim(text) == "" then return end
    answer(entry, entry.rejects and { outcome = "selected", optionId = entry.rejects, text = text }
      or { outcome = "answered", text = text })
  end)
end

-- Shows the whole in a tab of its own; `q` comes back.
function M.whole()
  local entry = shown
  if not entry or #entry.lines == 0 and not entry.cut then return end
  entry.whole = true
  leave()
  local all = vim.list_extend(entry.note and { float.one(entry.note), "" } or {}, entry.lines)
  if entry.cut then
    all[#all + 1] = ""
    for number, option in ipairs(entry.options) do all[#all + 1] = ("%d  %s"):format(number, float.one(option.name)) end
  end
  tab.open(all, { syntax = entry.syntax, bar = "q goes back to the question", leave = M.enter })
end

local group = api.nvim_create_augroup("adjutant.asks", {})
api.nvim_create_autocmd({ "CursorMoved", "CursorMovedI", "VimResized", "WinResized", "TabEnter" }, {
  group = group,
  callback = function()
    -- A float belongs to one tab page.
    if valid(window) and api.nvim_win_get_tabpage(window) ~= api.nvim_get_current_tabpage() then close() end
    if entered and not valid(window) then entered = false end
    if shown and not entered then draw() end
  end,
})
api.nvim_create_autocmd("WinScrolled", { group = group, callback = look })
api.nvim_create_autocmd("WinLeave", {
  group = group,
  callback = function()
    if not (entered and api.nvim_get_current_win() == window) then return end
    entered = false
    vim.schedule(function()
      if shown and shown.gone then shown = nil end
      next_one()
    end)
  end,
})

return M
