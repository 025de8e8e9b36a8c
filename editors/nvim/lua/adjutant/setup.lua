-- `:Adjutant setup`: from no model to a working one. The server knows the services, tries the choice and writes the settings; this
-- asks. Keeps no key: what is typed goes to the server and nowhere else.
local cures = require("adjutant.cures")
local display = require("adjutant.display")
local notices = require("adjutant.notices")
local sessions = require("adjutant.sessions")

local M = {}

local say = notices.say

local function send(client, method, params, done)
  sessions.request(client, method, params, done, function(err) notices.show("Adjutant: " .. cures.why(err)) end)
end

-- Asks for one line. Nothing typed, or <Esc>, ends the set-up; nothing is written then.
local function line(prompt, usual, done)
  vim.ui.input({ prompt = prompt .. ": ", default = usual }, function(typed)
    typed = vim.trim(typed or "")
    if typed == "" then return say("nothing was written") end
    done(typed)
  end)
end

-- Asks for the key of a provider, and calls `done` with where it is. `again`: a key that was found may be the wrong one.
local function with_key(one, again, done)
  if not one.keyVariable or (one.keyFound and not again) then return done(nil) end
  local ways = { "Type the key: it goes into a file that only you can read", "It is in an environment variable" }
  vim.ui.select(ways, { prompt = "Where is the key?" }, function(_, number)
    if not number then return say("nothing was written") end
    if number == 2 then
      return line("Name of the variable", one.keyVariable, function(name) done({ type = "variable", name = name }) end)
    end
    -- The one box of Neovim that does not show what is typed.
    local ok, key = pcall(vim.fn.inputsecret, "Key (not shown): ")
    key = ok and vim.trim(key) or ""
    if key == "" then return say("nothing was written") end
    done({ type = "typed", key = key })
  end)
end

local function with_address(one, done)
  if not one.needsAddress then return done(nil) end
  line("Address of its API, for example https://HOST/v1", one.address, done)
end

local function write(client, params, written)
  send(client, "agent/setup/write", params, function(result)
    if result.inUse then
      notices.cured("model")
      require("adjutant.prompt").cured("model")
    end
    say(result.text)
    if written and result.inUse then written(result.model) end
  end)
end

local DEMO = {} -- the row of the one who has no service
local ask -- asks from the begin

local function try(client, params, again, written)
  say(("asking %s for one word…"):format(params.model))
  send(client, "agent/setup/try", params, function(result)
    say(result.text)
    if result.works then return write(client, params, written) end
    vim.ui.select({ "Try again", "Write anyway", "Leave" }, { prompt = "It does not work yet:" }, function(_, number)
      if number == 1 then return again() end
      if number == 2 then return write(client, params, written) end
      say("nothing was written")
    end)
  end)
end

function ask(client, providers, again, written)
  local function row(one)
    if one == DEMO then return "None yet: try it without a key, with a scripted model in a terminal" end
    local found = one.keyFound and (" · its key is in %s"):format(one.keyVariable) or ""
    return display.plain(one.title .. found)
  end
  local rows = vim.list_extend(vim.list_slice(providers), { DEMO })
  vim.ui.select(rows, { prompt = "Which service has the model?", format_item = row }, function(one)
    if not one then return say("nothing was written") end
    if one == DEMO then return require("adjutant.demo").begin() end
    with_address(one, function(address)
      with_key(one, again, function(key)
        line("Model, as the service calls it", one.model, function(model)
          local params = { provider = one.provider, address = address, key = key, model = model }
          try(client, params, function() ask(client, providers, true, written) end, written)
        end)
      end)
    end)
  end)
end

-- Sets up a provider. Calls `written` with its model once that is in use.
function M.begin(written)
  local client = sessions.needs_client()
  if not client then return end
  send(client, "agent/setup/providers", vim.empty_dict(), function(listed)
    if listed.problem then return notices.show("Adjutant: " .. display.plain(cures.here(listed.problem))) end
    ask(client, listed.providers, false, type(written) == "function" and written or nil)
  end)
end

return M
