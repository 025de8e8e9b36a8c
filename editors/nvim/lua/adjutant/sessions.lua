-- The sessions of this Neovim: which one the next text goes to, what is chosen for it, and the list of all. Everything else of a
-- session is the server's. Never changes a session unless a command of the user asked for it.
local about = require("adjutant.about")
local asks = require("adjutant.asks")
local chat = require("adjutant.chat")
local cures = require("adjutant.cures")
local display = require("adjutant.display")
local held = require("adjutant.held")
local images = require("adjutant.images")
local notices = require("adjutant.notices")

local M = {}
local say = notices.say

local NOT_FOUND = -33001 -- `SessionNotFound`
local SHOWN = 200 -- items of a session that is opened
local request -- sends a request to a client
local client_of_buffer -- the client of the file one is in
local opened = function() end -- called with the state of a session that was opened
local moved = function() end -- called when the next text goes to another session
local show = function() end -- opens the chat
local last = {} -- by root folder, so that it outlives a server: the session that the next text goes to
local newest -- the root folder of the last one
local roots_of = {} -- by root folder: its sessions that a text could go to
local empty = {} -- the sessions that were made here and have no text yet
local past = {} -- by session: the number of its last update when it was opened

-- Returns the client of the file one is in; elsewhere that of the last session, else any.
function M.client()
  local here = client_of_buffer()
  if here then return here end
  local all = vim.lsp.get_clients({ name = "adjutant" })
  for _, client in ipairs(all) do
    if client.config.root_dir == newest then return client end
  end
  return all[1]
end

function M.needs_client()
  local client = M.client()
  if not client then notices.no_server() end
  return client
end
local needs_client = M.needs_client

local function goes_on(client, session)
  local root = client.config.root_dir
  local is_other = last[root] ~= session or newest ~= root
  roots_of[root] = roots_of[root] or {}
  roots_of[root][session] = true
  last[root], newest = session, root
  if is_other then moved(root, empty[session] and session) end
end

-- Returns the client of a root folder, else the one at hand.
function M.client_of(root)
  for _, client in ipairs(vim.lsp.get_clients({ name = "adjutant" })) do
    if client.config.root_dir == root then return client end
  end
  return M.client()
end

-- Returns the root folder and the session that the next text goes to.
function M.target()
  local client = M.client()
  local root = client and client.config.root_dir or newest or vim.fn.getcwd()
  return root, last[root]
end

-- Returns the folders that paths of the conversation may be below.
function M.roots()
  local root = M.target()
  return { root, vim.fn.getcwd() }
end

-- Asks for what a step of the chat gave: the server that told of it, or the one after it.
function M.read(call, done)
  local client = call.client and vim.lsp.get_client_by_id(call.client) or needs_client()
  if client then request(client, "agent/item/read", { sessionId = call.session, toolCallId = call.id }, done) end
end

-- Asks for all changes of the session of a step.
function M.changes(call, done)
  local client = call.client and vim.lsp.get_client_by_id(call.client) or needs_client()
  if client then request(client, "agent/review/list", { sessionId = call.session, all = true }, done) end
end

-- The next text goes to a session that is in sight.
function M.use(session)
  for root, known in pairs(roots_of) do
    if known[session] and last[root] ~= session then
      last[root], newest = session, root
      return moved(root)
    end
  end
end

-- Returns the session that the next text goes to, if there is one.
function M.current(client) return last[client.config.root_dir] end

local function failed(client, err)
  if err.code == NOT_FOUND then last[client.config.root_dir] = nil end
  local why, topic = cures.why(err)
  notices.show("Adjutant: " .. why, topic)
end

local function execute(client, command, argument, done, refused)
  local params = { command = command, arguments = argument and { argument } or {} }
  request(client, "workspace/executeCommand", params, done, refused or function(err) failed(client, err) end)
end

-- The lines that a task is about. What is no file is no place; the task is about the folder then.
local function place_of(line)
  if vim.bo.buftype ~= "" or vim.api.nvim_buf_get_name(0) == "" then return end
  return { uri = vim.uri_from_bufnr(0), range = {
    start = { line = line.line1 - 1, character = 0 },
    ["end"] = { line = line.line2, character = 0 },
  } }
end

-- Returns the limits that a server announces.
local function limits_of(client)
  local can = client.server_capabilities.experimental
  return can and can.agent and can.agent.limits or {}
end

-- Sends a text to a session, which it steers while it works; without one it begins one. `on.taken` gets the session once the server has
-- the text and the blocks `on.attached`, else `on.refused` gets the reason, whether the session is gone, and what may cure it. Returns the id of the client.
function M.send(root, session, text, on)
  local client = M.client_of(root)
  if not client then return on.refused("no server runs here; open a file of the project, and send it again", false, "server") end
  local function taken(id)
    empty[id] = nil
    if not session then chat.made(id) end
    -- First, so that the prompt of a session that begins is the one in which it was written.
    on.taken(id)
    goes_on(client, id)
  end
  local function not_taken(err)
    local is_gone = err.code == NOT_FOUND
    if is_gone and last[client.config.root_dir] == session then last[client.config.root_dir] = nil end
    local why, topic = cures.why(err)
    on.refused(why, is_gone, topic)
  end
  local function prompt(to, blocks)
    local params = { sessionId = to, prompt = blocks, key = on.key }
    request(client, "agent/session/prompt", params, function() taken(to) end, not_taken)
  end
  local along = on.attached or {}
  if images.has(text) then
    local blocks, why = images.blocks(text, root, limits_of(client))
    vim.list_extend(blocks or {}, along)
    if not blocks then on.refused(why)
    elseif session then prompt(session, blocks)
    else
      -- What starts a session takes no images. Without a prompt a new one leaves no trace.
      request(client, "agent/session/new", vim.empty_dict(), function(made) prompt(made.sessionId, blocks) end, not_taken)
    end
  elseif session then prompt(session, vim.list_extend({ { type = "text", text = text } }, along))
  else
    local params = { text = text, key = on.key, attach = #along > 0 and along or nil }
    execute(client, "adjutant.start", params, function(result) taken(result.sessionId) end, not_taken)
  end
  return client.id
end

-- Keeps the text of a command that was not taken: the command line alone would have it.
local function keep(root, session, text, why, topic)
  require("adjutant.prompt").keep(root, session, text, why, topic)
  notices.show("Adjutant: " .. why, topic)
  notices.show("The text is kept: :Adjutant prompt")
end

-- Sends a text: to the last session, which it steers while it works, or with `!` to a new one. The lines of the command go along; in a
-- session that goes on, only if they were given.
function M.task(text, line)
  local client = needs_client()
  if not client and text ~= "" then
    local root, at = M.target()
    require("adjutant.prompt").keep(root, not line.bang and at or nil, text, "no server runs here", "server")
  end
  if not client then return end
  local root, session = client.config.root_dir, not line.bang and M.current(client) or nil
  if text == "" then
    local conversation = require("adjutant.conversation")
    if line.bang then
      last[root] = nil
      moved()
    end
    if line.range > 0 then return conversation.write(line) end
    if not line.bang then return conversation.toggle() end
    return say("the next text begins a new session")
  end
  local place = (not session or empty[session] or line.range > 0) and place_of(line) or nil
  -- What starts with a place takes no images.
  if session and not place or images.has(text) then
    return M.send(root, session, text, {
      taken = function() end,
      refused = function(why, is_gone, topic) keep(root, not is_gone and session or nil, text, why, topic) end,
    })
  end
  local params = vim.tbl_extend("error", { text = text, sessionId = session }, place or {})
  execute(client, "adjutant.start", params, function(result)
    empty[result.sessionId] = nil
    if not session then chat.made(result.sessionId) end
    goes_on(client, result.sessionId)
  end, function(err)
    local is_gone = err.code == NOT_FOUND
    if is_gone and last[root] == session then last[root] = nil end
    local why, topic = cures.why(err)
    keep(root, not is_gone and session or nil, text, why, topic)
  end)
end

-- Notes a run that was started in another way, such as a code action.
function M.told(params, client)
  local update = params.update
  if client and update.sessionUpdate == "_run" and update.phase == "started" and not update.continues then
    if not M.is_past(params) then goes_on(client, params.sessionId) end
  end
end

-- Whether an update was there before its session was opened here: it is shown, and has no other effect.
function M.is_past(params) return not params.sub and (past[params.sessionId] or 0) >= params.seq end

function M.answer()
  if not asks.enter() then notices.show("Adjutant: nothing is asked") end
end

-- Brings a question back.
function M.ask()
  if not asks.pick() then notices.show("Adjutant: nothing is asked") end
end

-- Stops the task of a session.
function M.cancel(root, session)
  local client = M.client_of(root)
  if not client then return end
  local params = { sessionId = session }
  if vim.fn.has("nvim-0.11") == 1 then client:notify("agent/session/cancel", params)
  else client.notify("agent/session/cancel", params) end
end

-- Gets a page of the prompts that the user wrote in a folder.
function M.history(root, before, done)
  local client = M.client_of(root)
  if not client then return end
  request(client, "agent/prompt/history", { cwd = vim.uri_from_fname(root), before = before }, done)
end

-- Asks what completes a prompt; `params` makes the request in the encoding of the client.
function M.complete(root, params, done)
  local client = M.client_of(root)
  if not client then return end
  request(client, "agent/prompt/complete", params(client.offset_encoding), done)
end

function M.stop(line)
  local client = M.client()
  if not client then return notices.show("Adjutant: nothing runs") end
  execute(client, "adjutant.cancel", line.all and { all = true } or nil, nil, function(err)
    notices.show("Adjutant: " .. err.message)
  end)
end

local function many(count, noun) return ("%d %s%s"):format(count, noun, count == 1 and "" or "s") end

local function age_of(then_ms)
  local minutes = math.max(0, math.floor((os.time() - then_ms / 1000) / 60))
  if minutes < 1 then return "now" end
  if minutes < 60 then return many(minutes, "minute") .. " ago" end
  if minutes < 24 * 60 then return many(math.floor(minutes / 60), "hour") .. " ago" end
  return many(math.floor(minutes / 24 / 60), "day") .. " ago"
end

local STATES = { running = "at work", requires_action = "asks you", resumable = "was cut short" }

-- Returns the line of a session in the list.
function M.row(entry)
  if entry.more then return "… older sessions" end
  local title = vim.fn.strcharpart(display.plain((entry.title:gsub("%s+", " "))), 0, 60)
  local parts = { title ~= "" and title or "without a title", STATES[entry.state] }
  if entry.damaged then parts[#parts + 1] = "damaged" end
  local open = entry.unreviewedHunks or 0
  if open > 0 then parts[#parts + 1] = many(open, "change") .. " to review" end
  if entry.openIn then parts[#parts + 1] = "open in another window" end
  parts[#parts + 1] = age_of(entry.updatedAt)
  return table.concat(parts, " · ")
end

-- Shows a session in the chat, and lets the next text go on in it. A page that is here already stays as the user left it.
local open
function open(client, entry)
  local session, has = entry.sessionId, chat.has(entry.sessionId)
  local params = { sessionId = session, replayFrom = not has and { type = "last", items = SHOWN } or nil }
  request(client, "agent/session/resume", params, function(state)
    past[session] = state.seq
    about.resumed(session, state)
    if not has then chat.opened(session) end
    goes_on(client, session)
    if not has and state.before then
      chat.note("Earlier messages are left out here; :Adjutant export has all.", "page", session)
    end
    opened(client, state)
    held.opened(session)
    show(true)
  end, function(err)
    local name = type(err.data) == "table" and err.data.name
    if name ~= "SessionLocked" then return failed(client, err) end
    chat.unsure(session)
    held.refused(entry, function() open(client, { sessionId = session, title = entry.title }) end)
  end)
end

function M.pick(line)
  local client = needs_client()
  if not client then return end
  local folder = vim.uri_from_fname(client.config.root_dir)
  local function list(cursor)
    local word = line.args ~= "" and line.args or nil
    request(client, "agent/session/list", { cwd = folder, cursor = cursor, query = word }, function(listed)
      local rows = vim.list_slice(listed.sessions)
      if #rows == 0 and word then return say(("no session of this project has “%s” in its title"):format(word)) end
      if #rows == 0 then return say("no session in this project yet; :Adjutant TEXT begins one") end
      if #rows == 1 and word then return open(client, rows[1]) end
      if listed.nextCursor then rows[#rows + 1] = { more = listed.nextCursor } end
      vim.ui.select(rows, { prompt = "Go on in a session:", format_item = M.row }, function(entry)
        if entry and entry.more then list(entry.more) elseif entry then open(client, entry) end
      end)
    end)
  end
  list()
end

-- Gives the session that the next text goes to the title of the line, or one that the user types in the place of the old one.
function M.rename(line)
  local client = needs_client()
  if not client then return end
  local session = M.current(client)
  if not session then return say("no session here yet; :Adjutant sessions lists those of this project") end
  local function to(title)
    request(client, "agent/session/rename", { sessionId = session, title = title }, function()
      say("this session is now called: " .. display.plain(title))
    end, function(err) failed(client, err) end)
  end
  if line.args ~= "" then return to(line.args) end
  request(client, "agent/session/resume", { sessionId = session }, function(state)
    vim.ui.input({ prompt = "Title of this session: ", default = display.plain((state.title:gsub("%s+", " "))) }, function(title)
      if title and title ~= "" then to(title) end
    end)
  end)
end

-- Copies a session, up to before a prompt if its message is given. The copy is opened, with the words of that prompt in its own.
local function fork(client, session, message)
  request(client, "agent/session/fork", { sessionId = session, atMessageId = message }, function(made)
    if made.prompt then require("adjutant.prompt").keep(client.config.root_dir, made.sessionId, made.prompt) end
    open(client, { sessionId = made.sessionId, title = made.title })
    say("this is a copy of the session now: " .. display.plain(made.title))
    for _, notice in ipairs(made.notices) do notices.show("Adjutant: " .. display.plain(notice)) end
  end, function(err) failed(client, err) end)
end

-- Copies the session that the next text goes to.
function M.fork()
  local client = needs_client()
  if not client then return end
  local session = M.current(client)
  if not session then return say("no session here yet; :Adjutant sessions lists those of this project") end
  fork(client, session)
end

-- Copies a session of the chat up to before one of its prompts.
function M.fork_at(session, message)
  local client = needs_client()
  if client then fork(client, session, message) end
end

-- Calls `done` with the session that the next text goes to, and its options. Without one a new session is made, which leaves no
-- trace before its first prompt.
local function with_options(client, done)
  local session = M.current(client)
  local params = session and { sessionId = session } or vim.empty_dict()
  request(client, session and "agent/session/resume" or "agent/session/new", params, function(result)
    if not session then chat.made(result.sessionId) end
    done(session or result.sessionId, result.configOptions, not session)
  end, function(err) failed(client, err) end)
end

-- With the scope `user` the value is that of new sessions, too.
local function set(client, session, option, value, scope)
  local params = { sessionId = session, configId = option.id, value = value, scope = scope }
  request(client, "agent/session/set_config_option", params, function(result)
    about.options(session, result.configOptions)
    goes_on(client, session)
    if result.text then return say(display.plain(result.text)) end
    local when = option.id == "mode" and "" or ", from the next task on"
    say(("%s of this session: %s%s"):format(option.id, display.plain(value), when))
  end)
end

-- What a value in a list means, and which one is chosen.
local function value_row(option, details)
  return function(value)
    local detail = value.description or details[value.value]
    return ("%s %s%s"):format(value.value == option.currentValue and "*" or " ", display.plain(value.name),
      detail and " · " .. display.plain(detail) or "")
  end
end

local function choose(id, value, details)
  local client = needs_client()
  if not client then return end
  with_options(client, function(session, options, is_new)
    local option
    for _, one in ipairs(options) do option = one.id == id and one or option end
    if not option then
      if is_new then request(client, "agent/session/close", { sessionId = session }, nil, true) end
      return require("adjutant.setup").begin()
    end
    empty[session] = empty[session] or is_new
    if value ~= "" then return set(client, session, option, value) end
    details(client, function(known, of_new)
      local prompt = id == "mode" and "Mode of this session:" or "Model of this session:"
      local rows, row_of = vim.list_slice(option.options), value_row(option, known)
      if id == "model" then table.insert(rows, 1, { adds = true }) end
      if of_new and of_new ~= option.currentValue then rows[#rows + 1] = { keeps = true } end
      local function format(value)
        if value.keeps then return "+ For new sessions too: " .. display.plain(option.currentValue) end
        return value.adds and "+ Add a provider…" or row_of(value)
      end
      vim.ui.select(rows, { prompt = prompt, format_item = format }, function(chosen)
        if chosen and chosen.adds then
          return require("adjutant.setup").begin(function(model) set(client, session, option, model) end)
        end
        if chosen and chosen.keeps then return set(client, session, option, option.currentValue, "user") end
        if chosen then return set(client, session, option, chosen.value) end
        if is_new then request(client, "agent/session/close", { sessionId = session }, nil, true) end
      end)
    end)
  end)
end

function M.mode(line)
  choose("mode", line.args, function(_, show) show({}) end)
end

-- Returns what is known of a model, in words.
local function model_detail(model)
  if model.unavailable then return "cannot be used: " .. cures.here(model.unavailable) end
  local parts = {}
  -- Of a model that Adjutant does not know the numbers are no facts.
  if model.known then parts[1] = ("a window of %dk tokens"):format(math.floor(model.contextWindow / 1000)) end
  if model.images then parts[#parts + 1] = "reads images" end
  return #parts > 0 and table.concat(parts, " · ") or nil
end

function M.model(line)
  choose("model", line.args, function(client, show)
    request(client, "agent/model/list", vim.empty_dict(), function(result)
      local details = {}
      for _, model in ipairs(result.models) do details[model.model] = model_detail(model) end
      -- The first model is the one of new sessions.
      show(details, result.models[1] and result.models[1].model)
    end)
  end)
end

function M.export()
  local client = needs_client()
  if not client then return end
  local session = M.current(client)
  if not session then return say("no session here yet; :Adjutant sessions lists those of this project") end
  execute(client, "adjutant.showTranscript", { sessionId = session })
end

-- Opens this session as a page, else what Neovim notes of its language servers.
function M.log()
  local client = M.client()
  if client and M.current(client) then return M.export() end
  local file = vim.lsp.get_log_path()
  if vim.uv.fs_stat(file) then return vim.cmd.split(vim.fn.fnameescape(file)) end
  say("there is no log yet")
end

-- `options.request` sends a request, `options.client` returns the client of the current buffer, and `options.opened` gets the state of
-- a session that was opened. `options.moved` is called when the next text goes to another session, and `options.show` opens the chat.
-- Sends a request that is about no session.
function M.request(client, method, params, done, refused) request(client, method, params, done, refused) end

function M.setup(options)
  request, client_of_buffer, opened = options.request, options.client, options.opened
  moved, show = options.moved, options.show
end

return M
