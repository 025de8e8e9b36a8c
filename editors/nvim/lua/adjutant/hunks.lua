-- The changes of Adjutant in the text, and what the user decides about them. Each update of the server is drawn
-- as a whole, in the version of the text that it is about. A decision is about what was drawn.
-- Never moves the cursor, takes the focus or opens a window unless the user asked for it.
local deciding = require("adjutant.deciding")
local display = require("adjutant.display")
local drawing = require("adjutant.drawing")
local keymaps = require("adjutant.keymaps")
local notices = require("adjutant.notices")
local tab = require("adjutant.tab")

local M = {}
local api = vim.api

local REACTION = 400 -- milliseconds a proposed change must have been drawn before it can be applied
local request -- sends a request to a client
local known = {} -- by buffer: the client, the update, what of it is drawn, and the version in which it is drawn
local undone = {} -- by buffer: what was undone, the last one at the end
local updated = function() end -- called with a buffer whose changes are others
local opened = {} -- the proposed changes that the user has opened whole

local say, many = notices.say, deciding.many

local function name_of(hunk) return table.concat({ hunk.sessionId, hunk.changeSetId, hunk.hunkId }, "\n") end
local function content_of(hunk) return name_of(hunk) .. "\n" .. hunk.removed .. "\n" .. hunk.inserted end

-- Whether what is drawn in a buffer is about its text of now.
local function is_of_now(buffer)
  local at = known[buffer]
  return at.version ~= nil and at.version == vim.lsp.util.buf_versions[buffer]
end

local function forget(buffer)
  if not known[buffer] then return end
  known[buffer] = nil
  pcall(drawing.clear, buffer)
  pcall(keymaps.unset, buffer)
end

-- Draws the last update of a buffer if it is about the text of now.
local function draw(buffer)
  local at = known[buffer]
  if at.update.version ~= vim.lsp.util.buf_versions[buffer] then return end
  local before, above = {}, drawing.above(at.drawn)
  for _, one in ipairs(at.drawn) do before[name_of(one.hunk)] = one end
  keymaps.set(buffer)
  at.drawn = drawing.draw(buffer, at.update.hunks, keymaps.shown(buffer), at.version and at.drawn)
  at.version = at.update.version
  for _, one in ipairs(at.drawn) do
    local old = before[name_of(one.hunk)]
    local same = old and old.hunk.state == one.hunk.state and content_of(old.hunk) == content_of(one.hunk)
    one.since, one.sent = same and old.since or vim.uv.now(), same and old.sent
  end
  if drawing.above(at.drawn) > above then
    for _, window in ipairs(vim.fn.win_findbuf(buffer)) do drawing.reveal(window, at.drawn) end
  end
end

-- Returns the loaded buffer of a client with this name; never makes one.
local function buffer_of(client, uri)
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buffer) and vim.lsp.buf_is_attached(buffer, client) and vim.uri_from_bufnr(buffer) == uri then
      return buffer
    end
  end
end

-- Handles `agent/review/update`: all changes of one document.
function M.update(_, params, context)
  local buffer = buffer_of(context.client_id, params.uri)
  if not buffer then return end
  local drawable = vim.tbl_filter(drawing.knows, params.hunks)
  if #drawable == 0 then
    -- A file can have two servers: that of its project, and that of a project around it.
    if known[buffer] and known[buffer].client == context.client_id then
      forget(buffer)
      updated(buffer)
    end
    return
  end
  known[buffer] = known[buffer] or { drawn = {} }
  known[buffer].client, known[buffer].update = context.client_id, params
  draw(buffer)
  updated(buffer)
end

-- Draws a buffer that is to look different.
function M.redraw(buffer)
  if known[buffer] and is_of_now(buffer) then draw(buffer) end
end

-- Forgets the changes of a server that is gone.
function M.forget(client)
  for _, buffer in ipairs(vim.tbl_keys(known)) do
    if known[buffer].client == client then forget(buffer) end
  end
end

-- Returns the changes that cover these rows; among several at a row, the newest.
local function within(buffer, first, last)
  local found, bare = {}, {}
  for _, one in ipairs(known[buffer] and known[buffer].drawn or {}) do
    local from, to = drawing.rows(buffer, one)
    if from and from <= last and to >= first then table.insert(one.bare and bare or found, one) end
  end
  if first < last then return vim.list_extend(found, bare) end
  return { found[#found] or bare[#bare] }
end

-- Returns the change at the cursor as it was drawn, and its client; nothing where none is.
function M.here()
  local buffer, row = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1] - 1
  local one = within(buffer, row, row)[1]
  if one then return one.hunk, vim.lsp.get_client_by_id(known[buffer].client) end
end

local function clients() return vim.lsp.get_clients({ name = "adjutant" }) end

-- Remembers what was undone, to restore it.
local function note_undone(buffer, decided)
  local gone = vim.tbl_filter(function(one) return one.action == "undo" end, decided)
  if #gone == 0 then return end
  undone[buffer] = undone[buffer] or {}
  table.insert(undone[buffer], vim.tbl_map(function(one) return one.hunk end, gone))
end

-- Why a proposed change cannot be applied yet, if so.
local function not_yet(one)
  if one.cut and not opened[content_of(one.hunk)] then return "first look at all of it: :Adjutant show" end
  if vim.uv.now() - one.since < REACTION then return "the change is new; press again" end
end

-- Decides about changes as they are drawn. `yes` keeps or applies, else they are undone or rejected.
local function decide(buffer, list, yes, reason)
  if not known[buffer] or not is_of_now(buffer) then return say("the change moved; press again") end
  local decisions, left, busy = {}, 0, 0
  -- The newest first: a later change can be on top of an earlier one.
  list = vim.list_slice(list)
  table.sort(list, function(one, other)
    local at, other_at = one.hunk.madeBy and one.hunk.madeBy.at or 0, other.hunk.madeBy and other.hunk.madeBy.at or 0
    if at ~= other_at then return at > other_at end
    return one.index < other.index
  end)
  for _, one in ipairs(list) do
    local state = one.hunk.state
    local waits = state == "proposed"
    local under_way = one.sent and "this change is being decided"
      or (state == "undoing" or state == "applying") and ("this change is %s already"):format(state)
    local why = under_way or waits and yes and #list == 1 and not_yet(one)
    if why and #list == 1 then return say(why) end
    if under_way then busy = busy + 1
    elseif waits and yes and #list > 1 then left = left + 1
    else
      deciding.add(decisions, one.hunk, waits and (yes and "apply" or "reject") or yes and "keep" or "undo", reason)
      one.sent = true
    end
  end
  deciding.send(vim.lsp.get_client_by_id(known[buffer].client), decisions, function(decided, refused)
    for _, one in ipairs(known[buffer] and known[buffer].drawn or {}) do one.sent = nil end
    note_undone(buffer, decided)
    deciding.report(decided, refused)
    if left > 0 then say(many(left) .. " left: apply each proposed change by itself") end
    if busy > 0 then say(many(busy) .. " left out: a decision is under way already") end
  end)
end

-- Returns a change with those that are on top of it, as far as they are drawn: these have to be undone with it.
local function with_those_on(buffer, one)
  local all = { one }
  for _, name in ipairs(one.hunk.beneath or {}) do
    for _, other in ipairs(known[buffer].drawn) do
      if name_of(other.hunk) == name_of(name) and not vim.list_contains(all, other) then all[#all + 1] = other end
    end
  end
  return all
end

-- Undoes one change. If later changes are on top of it, the user says whether they go too.
local function undo_one(buffer, one, reason)
  local all = with_those_on(buffer, one)
  if #all == 1 then return decide(buffer, all, false, reason) end
  local both = #all == 2 and "Undo both" or ("Undo all %d"):format(#all)
  local top = all[#all]
  local prompt = ("A later change (%s) stands on this one:"):format(display.plain(top.hunk.madeBy and top.hunk.madeBy.task or ""))
  vim.ui.select({ "Leave both", both, "Show" }, { prompt = prompt }, function(choice)
    if choice == both then decide(buffer, all, false, reason) end
    local row = choice == "Show" and drawing.rows(buffer, top)
    if row and api.nvim_get_current_buf() == buffer then api.nvim_win_set_cursor(0, { row + 1, 0 }) end
  end)
end

-- Decides about the changes at the cursor, in the range of a command, or in the whole file.
local function decide_here(line, yes, reason)
  local buffer = api.nvim_get_current_buf()
  if not known[buffer] or #known[buffer].drawn == 0 then return say("no change in this file") end
  if not is_of_now(buffer) then return say("the change moved; press again") end
  local list
  if line.file then list = known[buffer].drawn
  elseif (line.range or 0) > 0 then list = within(buffer, line.line1 - 1, line.line2 - 1)
  else
    local row = api.nvim_win_get_cursor(0)[1] - 1
    list = within(buffer, row, row)
  end
  if #list == 0 then return say("no change here; :Adjutant next goes to one") end
  if #list == 1 and not yes then return undo_one(buffer, list[1], reason) end
  decide(buffer, list, yes, reason)
end

-- Undoes or rejects the change at the cursor, with a reason in the user's words.
local function reject(line)
  if line.args ~= "" then return decide_here(line, false, line.args) end
  local buffer, row = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1] - 1
  local one = within(buffer, row, row)[1]
  if not one then return say("no change here; :Adjutant next goes to one") end
  local content, text = content_of(one.hunk), one.hunk.text
  vim.ui.input({ prompt = one.hunk.state == "proposed" and "Reject because: " or "Undo because: " }, function(reason)
    if not reason then return end
    reason = vim.trim(reason)
    -- Meanwhile the change may have moved or changed; what the user meant is the one that was drawn.
    for _, now in ipairs(known[buffer] and known[buffer].drawn or {}) do
      if content_of(now.hunk) == content and now.hunk.text == text then
        return decide(buffer, { now }, false, reason ~= "" and reason or nil)
      end
    end
    say("the change is not the same any more, so nothing was sent")
  end)
end

-- Returns what was undone of the newest change with an undone part, among changes of one file.
local function newest_undone(hunks)
  local newest
  for _, hunk in ipairs(hunks) do
    local at = hunk.state == "undone" and hunk.madeBy and hunk.madeBy.at
    if at and (not newest or at > newest.madeBy.at) then newest = hunk end
  end
  return newest and vim.tbl_filter(function(hunk)
    return hunk.state == "undone" and hunk.changeSetId == newest.changeSetId and hunk.sessionId == newest.sessionId
  end, hunks)
end

-- Makes what was undone last in this buffer again; else what the file has lost without a decision here, such as changes in a
-- buffer that was closed without saving it.
local function restore()
  local buffer = api.nvim_get_current_buf()
  local client = vim.lsp.get_clients({ name = "adjutant", bufnr = buffer })[1]
  if not client then return say("nothing was undone in this file") end
  local function make_again(last)
    if not last then return say("nothing was undone in this file") end
    local decisions = {}
    -- What was undone last comes first.
    for index = #last, 1, -1 do deciding.add(decisions, last[index], "restore") end
    deciding.send(client, decisions, function(decided, refused)
      if not refused[1] then return end
      undone[buffer] = undone[buffer] or {}
      local rest = {}
      for index = #refused, 1, -1 do rest[#rest + 1] = refused[index].hunk end
      table.insert(undone[buffer], rest)
      deciding.report(decided, refused)
    end)
  end
  local last = undone[buffer] and table.remove(undone[buffer])
  if last then return make_again(last) end
  request(client, "agent/review/list", { uri = vim.uri_from_bufnr(buffer), all = true }, function(result)
    make_again(newest_undone(result.hunks))
  end)
end

-- Says which changes are not in a file because its buffer was closed without saving it.
local function closing(buffer)
  local at = known[buffer]
  if not at or not vim.bo[buffer].modified then return end
  local client, uri, drawn = vim.lsp.get_client_by_id(at.client), vim.uri_from_bufnr(buffer), {}
  for _, one in ipairs(at.drawn) do drawn[name_of(one.hunk)] = one.hunk.state ~= "proposed" end
  vim.schedule(function()
    if not client or client.is_stopped() then return end
    request(client, "agent/review/list", { uri = uri, all = true }, function(result)
      local lost = vim.tbl_filter(function(hunk) return hunk.state == "undone" and drawn[name_of(hunk)] end, result.hunks)
      if #lost > 0 then
        say(("%s not applied: closed without saving; :Adjutant restore in the file brings %s back"):format(
          many(#lost), #lost == 1 and "it" or "them"))
      end
    end, true)
  end)
end

-- Goes to the next change, or with -1 to the previous one; after the last comes the first.
local function go(step, count)
  local buffer, rows = api.nvim_get_current_buf(), {}
  for _, one in ipairs(known[buffer] and known[buffer].drawn or {}) do
    local row = drawing.rows(buffer, one)
    if row and not vim.list_contains(rows, row) then rows[#rows + 1] = row end
  end
  if #rows == 0 then return say("no change in this file") end
  table.sort(rows)
  local here = api.nvim_win_get_cursor(0)[1] - 1
  local at = step > 0 and 0 or #rows + 1
  for index, row in ipairs(rows) do
    if step > 0 and row <= here then at = index elseif step < 0 and row >= here then at = math.min(at, index) end
  end
  local row = rows[(at + step * count - 1) % #rows + 1]
  vim.cmd("normal! m'")
  api.nvim_win_set_cursor(0, { row + 1, 0 })
  vim.cmd("normal! zv")
  if row == 0 then drawing.reveal(0, known[buffer].drawn) end
end

-- Compares the three texts of a change that the user wrote into: before it, the agent's, and now.
local function show_three(hunk)
  vim.cmd("tabnew")
  for index, side in ipairs({ { "before", hunk.removed }, { "the agent's", hunk.inserted }, { "now", hunk.text } }) do
    if index > 1 then vim.cmd("rightbelow vnew") end
    tab.fill(vim.split((display.command(side[2]):gsub("\n$", "")), "\n", { plain = true }), { bar = side[1] })
    vim.cmd("diffthis")
    vim.wo.foldenable = false
  end
  vim.cmd("wincmd =")
end

-- Keeps every change of every file, as the servers list them now.
local function keep_all()
  if #clients() == 0 then return notices.no_server() end
  for _, client in ipairs(clients()) do
    request(client, "agent/review/list", vim.empty_dict(), function(result)
      local decisions = {}
      for _, hunk in ipairs(result.hunks) do
        if hunk.state == "applied" or hunk.state == "amended" then deciding.add(decisions, hunk, "keep") end
      end
      if #decisions == 0 then return #clients() == 1 and say("no changes wait for you") end
      deciding.send(client, decisions, function(decided, refused)
        if refused[1] then deciding.report(decided, refused) else say(many(#decided) .. " kept") end
      end)
    end, function(err) say(err.message) end)
  end
end

-- Shows the whole change at the cursor in a tab; `q` comes back.
local function show_change()
  local buffer, row = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1] - 1
  local one = within(buffer, row, row)[1]
  if not one then return say("no change here; :Adjutant next goes to one") end
  local hunk, lines = one.hunk, {}
  opened[content_of(hunk)] = true
  if hunk.text then return show_three(hunk) end
  if hunk.madeBy then
    local made = hunk.madeBy
    lines = { deciding.one_line(("%s, for: %s"):format(made.model, made.task)) }
    local prompts = made.prompts or {}
    if #prompts ~= 1 or prompts[1] ~= made.task then
      for _, text in ipairs(prompts) do table.insert(lines, deciding.one_line("on the prompt: " .. text)) end
    end
    vim.list_extend(lines, { deciding.one_line("allowed by " .. made.allowedBy), "" })
  end
  vim.list_extend(lines, vim.split((display.diff(hunk.diff):gsub("\n$", "")), "\n", { plain = true }))
  tab.open(lines, { syntax = "diff" })
end

function M.keep(line) decide_here(line, true) end
function M.undo(line) decide_here(line, false) end
function M.next(line) go(1, line.count) end
function M.previous(line) go(-1, line.count) end
M.reject, M.restore, M.keep_all, M.show = reject, restore, keep_all, show_change

local function events()
  local group = api.nvim_create_augroup("adjutant.hunks", {})
  local function on(names, run) api.nvim_create_autocmd(names, { group = group, callback = run }) end
  -- The text is read again or goes away, and the marks with it. The server sends the changes of what is opened.
  on("BufUnload", function(event) closing(event.buf) end)
  on({ "BufReadPost", "BufUnload", "BufWipeout" }, function(event) forget(event.buf) end)
  on("BufWipeout", function(event) undone[event.buf] = nil end)
  on("LspDetach", function(event)
    if not known[event.buf] or known[event.buf].client ~= event.data.client_id then return end
    -- Some versions detach before the buffer is unloaded, others after it.
    closing(event.buf)
    forget(event.buf)
  end)
  on({ "WinResized", "VimResized" }, function()
    for buffer in pairs(known) do draw(buffer) end
  end)
  on("BufWinEnter", function(event)
    if known[event.buf] then drawing.reveal(0, known[event.buf].drawn) end
  end)
  on("WinScrolled", function()
    for id, moved in pairs(vim.v.event) do
      local window = tonumber(id)
      local at = window and moved.topline < 0 and api.nvim_win_is_valid(window) and known[api.nvim_win_get_buf(window)]
      if at then drawing.reveal(window, at.drawn) end
    end
  end)
end

-- `options.request` sends a request; `options.keys` is false without default keys. `options.updated` gets a buffer whose changes are
-- others.
function M.setup(options)
  request, updated = options.request, options.updated
  deciding.setup(request)
  keymaps.setup(options.keys)
  events()
end

return M
