-- Adjutant in Neovim 0.10 and newer. It attaches the server to every file; what is asked and done, the server
-- decides. `vim.g.adjutant` has the settings, and nothing has to be called. Nothing here takes keys or the focus by itself.
local about = require("adjutant.about")
local asks = require("adjutant.asks")
local chat = require("adjutant.chat")
local commands = require("adjutant.commands")
local comments = require("adjutant.comments")
local conversation = require("adjutant.conversation")
local cures = require("adjutant.cures")
local detail = require("adjutant.detail")
local follow = require("adjutant.follow")
local hunks = require("adjutant.hunks")
local mentions = require("adjutant.mentions")
local notices = require("adjutant.notices")
local panes = require("adjutant.panes")
local prompt = require("adjutant.prompt")
local reading = require("adjutant.reading")
local review = require("adjutant.review")
local runs = require("adjutant.runs")
local sessions = require("adjutant.sessions")
local starting = require("adjutant.starting")
local status = require("adjutant.status")

local M = {}

-- What the user set.
local settings = type(vim.g.adjutant) == "table" and vim.g.adjutant or {}

local capabilities = vim.lsp.protocol.make_client_capabilities()
capabilities.experimental = { agent = {
  version = 0,
  -- Tells the server that files which it opened for an edit can be saved, and that it hears of every file that is open.
  documents = { save = true, complete = true },
  updates = { chunks = true },
  asks = { request = true },
  review = { hunks = true },
  overview = true,
  sessions = true,
  -- Only where the user says so, edits are applied at once and reviewed afterwards.
  workspace = { trusted = settings.trusted == true },
} }

-- When the file of a buffer was last changed as the buffer knows it, by buffer.
local known = {}

local function changed_at(buffer)
  local is = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buffer))
  return is and ("%d.%d"):format(is.mtime.sec, is.mtime.nsec)
end

local function learn(buffer)
  if vim.bo[buffer].buftype == "" then known[buffer] = changed_at(buffer) end
end

vim.api.nvim_create_autocmd({ "BufReadPost", "BufWritePost" }, { callback = function(event)
  -- A part, or a copy by another name, is written without being read.
  local of = vim.api.nvim_buf_get_name(event.buf)
  if event.event == "BufReadPost" or event.match == of then learn(event.buf) end
end })

-- The files that only an edit of the server has opened, by buffer: whether the buffer itself is new.
local opened = {}

vim.api.nvim_create_autocmd("BufWinEnter", { callback = function(event) opened[event.buf] = nil end })
vim.api.nvim_create_autocmd("BufWipeout", { callback = function(event)
  known[event.buf], opened[event.buf] = nil, nil
end })

-- Saves a buffer. Of a file that was changed meanwhile Neovim would ask, and take the keys of the user.
local function save_one(buffer)
  local at = changed_at(buffer)
  if vim.bo[buffer].modified and at and known[buffer] and at ~= known[buffer] then
    return false, "changed on disk since it was opened"
  end
  -- A new file is written also without a text, and its folder is made.
  local write = at and "silent update" or "silent write ++p"
  local saved, why = pcall(vim.api.nvim_buf_call, buffer, function() vim.cmd(write) end)
  -- Of an error only what Neovim says, not where it was raised.
  return saved, not saved and tostring(why):gsub("\n.*", ""):gsub("^.*Vim%b():", "") or nil
end

-- Takes a file away again that the user did not open, unless it has unsaved text.
local function close(buffer)
  local is_new = opened[buffer]
  if is_new == nil or not vim.api.nvim_buf_is_loaded(buffer) then return end
  opened[buffer] = nil
  if vim.bo[buffer].modified then return end
  pcall(vim.api.nvim_buf_delete, buffer, is_new and {} or { unload = true })
end

local function save(_, params)
  local documents = {}
  for _, uri in ipairs(params.uris) do
    local buffer = vim.uri_to_bufnr(uri)
    local saved, why = save_one(buffer)
    -- The answer comes first: it is about a document that is still open.
    if saved then vim.schedule(function() close(buffer) end) end
    documents[#documents + 1] = { uri = uri, saved = saved, message = why }
  end
  return { documents = documents }
end

-- Neovim prints what it edits and what it loads, and a line that is too long waits for Enter: here
-- nothing is printed. A file that another Neovim has open is not asked about; the edit fails.
local function apply(err, params, context)
  local swap = vim.api.nvim_create_autocmd("SwapExists", { callback = function() vim.v.swapchoice = "q" end })
  local result
  local closed = {}
  for _, change in ipairs(params.edit.documentChanges or {}) do
    local name = change.textDocument and vim.uri_to_fname(change.textDocument.uri)
    if name and vim.fn.bufloaded(name) == 0 then closed[name] = vim.fn.bufexists(name) == 0 end
  end
  function M.running() result = vim.lsp.handlers["workspace/applyEdit"](err, params, context) end
  local done, why = pcall(vim.cmd, "silent lua require('adjutant').running()")
  vim.api.nvim_del_autocmd(swap)
  for name, is_new in pairs(closed) do opened[vim.fn.bufadd(name)] = is_new end
  return done and result or { applied = false, failureReason = tostring(why) }
end

-- A plain function before 0.11, a method since. `quiet` says nothing of a failure, or is what says it.
local function request(client, method, params, done, quiet)
  local function told(err, result)
    if err and type(quiet) == "function" then quiet(err)
    elseif err and not quiet then
      local why, topic = cures.why(err)
      notices.show("Adjutant: " .. why, topic)
    end
    if not err and done then done(result) end
  end
  if vim.fn.has("nvim-0.11") == 1 then client:request(method, params, told)
  else client.request(method, params, told) end
end

hunks.setup({ request = request, keys = settings.keys, updated = review.told })
review.setup({ request = request })
comments.setup({ request = request })

local function client_of(context) return vim.lsp.get_client_by_id(context.client_id) end

-- Returns the text for the status line: %{v:lua.require'adjutant'.status()}. The event `User AdjutantStatus` says that it is another one.
function M.status() return status.text() end

asks.setup({ chat = chat.window, prompt = conversation.prompt_window, changed = status.draw })
status.setup({ chat = chat.window, changed = prompt.draw })

local function respond(client, ask)
  asks.state(ask, client.id, function(answer)
    request(client, "agent/ask/respond", answer, function(result)
      if result.status == "already_resolved" then notices.show("Adjutant: this was answered before") end
    end)
  end)
end

-- Takes away what says that something is missing which is there now.
local function cured(topic, root)
  notices.cured(topic)
  prompt.cured(topic, root)
end

-- How a task ends that has not failed.
local DONE = { completed = true, stopped = true }

local function update(_, params, context)
  local client = client_of(context)
  chat.told(params, client)
  about.told(params)
  sessions.told(params, client)
  if sessions.is_past(params) then return end
  follow.told(params)
  local now = params.update
  local kind = now.sessionUpdate
  local ended = status.told(now)
  -- Nothing runs without one.
  if kind == "_run" and now.phase == "started" then cured("model") end
  if kind == "_run" and now.phase == "ended" then
    if now["end"].outcome == "failed" or now["end"].outcome == "limit" then
      notices.show("Adjutant: " .. cures.here(now["end"].summary or "the task could not be finished"))
    end
    local edits = now["end"].edits
    if edits and edits.line then notices.say(edits.line .. " · :Adjutant review · :Adjutant undo run")
    -- Not everyone has a status line of Adjutant.
    elseif ended and DONE[now["end"].outcome] and not chat.window() then
      notices.say(("done: %s · :Adjutant chat"):format(vim.fn.strcharpart(ended, 0, 30)))
    end
  elseif kind == "_ask" and now.phase == "opened" and client then
    -- The others come as requests.
    if now.ask.group == "idle" or now.ask.group == "resumable" then
      respond(client, now.ask)
    end
  elseif kind == "_ask" and now.phase == "changed" then asks.left(now.ask)
  elseif kind == "_ask" and now.phase == "closed" then asks.resolved(nil, now) end
end

-- Shows the questions of a session that was opened: what could be done next. The others come as requests.
local function opened(client, resumed)
  for _, ask in ipairs(resumed.asks) do
    if ask.group == "idle" or ask.group == "resumable" then respond(client, ask) end
  end
end

-- Says what an earlier server of this folder left open.
local WEEK = 7 * 24 * 3600 * 1000
local function reopen(client)
  local waits = { resumable = true, requires_action = true, running = true }
  request(client, "agent/session/list", { cwd = vim.uri_from_fname(client.config.root_dir) }, function(listed)
    local tried = 0
    for _, entry in ipairs(listed.sessions) do
      local young = entry.updatedAt > os.time() * 1000 - WEEK
      if waits[entry.state] and young and tried < 3 then
        tried = tried + 1
        -- One that another Neovim has open is its own.
        request(client, "agent/session/resume", { sessionId = entry.sessionId }, function(resumed)
          opened(client, resumed)
        end, true)
      end
    end
  end, true)
end

-- Returns the configuration of the server, as `vim.lsp.enable` takes it.
function M.config()
  return {
    cmd = { "adjutant", "lsp" },
    root_dir = starting.root_dir,
    capabilities = capabilities,
    -- What is typed is told at once: an edit of the server may be on its way.
    flags = { debounce_text_changes = 0 },
    handlers = {
      ["agent/document/save"] = save,
      ["workspace/applyEdit"] = apply,
      ["agent/session/update"] = update,
      ["agent/session/request_permission"] = asks.asked,
      ["agent/ask/resolved"] = asks.resolved,
      ["agent/review/update"] = hunks.update,
      ["agent/overview"] = function(err, params, context)
        status.overview(err, params, context)
        detail.told(params)
      end,
      ["agent/session/changed"] = function(_, params) require("adjutant.held").changed(_, params) end,
      ["window/showMessageRequest"] = asks.message,
      -- What a code action began: Neovim itself would show the number of the error.
      ["workspace/executeCommand"] = function(err)
        if not err then return end
        local why, topic = cures.why(err)
        notices.show("Adjutant: " .. why, topic)
      end,
      ["window/showMessage"] = function(_, params)
        notices.show(cures.here(params.message))
        chat.note(params.message, "message")
      end,
    },
    on_init = starting.started,
    on_exit = starting.exited,
  }
end

starting.setup({
  config = M.config,
  started = function(client)
    cured("server", client.config.root_dir)
    detail.started(client)
    reopen(client)
  end,
  ended = function(client)
    asks.forget(client)
    hunks.forget(client)
    prompt.forget(client)
    status.forget(client)
    chat.unsure()
  end,
})

-- Runs this once a server runs.
M.with_server = starting.with_server

sessions.setup({
  request = request,
  opened = opened,
  moved = conversation.follow,
  show = conversation.open,
  client = function() return vim.lsp.get_clients({ name = "adjutant", bufnr = 0 })[1] end,
})
runs.setup({ request = request, client = sessions.client })
chat.setup({ target = function() return select(2, sessions.target()) end, at_work = status.at_work })
conversation.setup({ target = sessions.target, use = sessions.use })
prompt.setup({
  send = sessions.send, stop = sessions.cancel, history = sessions.history, at_work = status.at_work,
})
mentions.setup({ complete = sessions.complete, root = function(buffer)
  local draft = prompt.draft(buffer)
  return draft and draft.root
end })
about.setup({ session = chat.session })
detail.setup({ draws = chat.draws })
follow.setup({ session = function()
  local window = chat.window()
  return window and chat.session(window)
end })
reading.setup({ roots = sessions.roots, read = sessions.read, changes = sessions.changes, fork = sessions.fork_at })
commands.setup()
panes.setup()

for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
  if vim.api.nvim_buf_is_loaded(buffer) then learn(buffer) end
end
starting.begin()

return M
