-- `:checkhealth adjutant`: whether Neovim, the program and what the server checks are as they have to be.
-- The server judges; this page only draws. Never calls a model.
local cures = require("adjutant.cures")
local program = require("adjutant.program")

local M = {}

local REPORTS = { ok = vim.health.ok, note = vim.health.info, warning = vim.health.warn, error = vim.health.error }
local PATIENCE_MS = 5000
-- What Neovim does itself.
local HERE = { ["adjutant setup"] = ":Adjutant setup" }
local TERMINAL = { "run in a terminal: adjutant doctor" }

-- A plain function before 0.11, a method since.
local function ask(client, method, params)
  if vim.fn.has("nvim-0.11") == 1 then return client:request_sync(method, params, PATIENCE_MS) end
  return client.request_sync(method, params, PATIENCE_MS)
end

local function draw(check)
  local report = REPORTS[check.health] or vim.health.info
  local here = check.cure and HERE[check.cure.command]
  local advice = check.cure and { here and "run " .. here or "run in a terminal: " .. check.cure.command } or nil
  report(check.check .. ": " .. cures.here(check.text), advice)
end

function M.check()
  vim.health.start("adjutant: Neovim")
  if vim.fn.has("nvim-0.10") == 0 then
    return vim.health.error("this Neovim is too old", { "install Neovim 0.10 or newer" })
  end
  vim.health.ok("Neovim " .. tostring(vim.version()))
  local name = program.name()
  if not program.is_there() then
    return vim.health.error(("the program %s is not in the PATH of Neovim"):format(name), {
      "install it as its README says, and start Neovim from a shell that finds it",
    })
  end
  if name then vim.health.ok("program: " .. vim.fn.exepath(name)) end
  local client = vim.lsp.get_clients({ name = "adjutant" })[1]
  if not client then
    return vim.health.warn("no server runs: it starts with the first file, or the first :Adjutant command", TERMINAL)
  end
  vim.health.start("adjutant: the server")
  local answer, why = ask(client, "agent/doctor", vim.empty_dict())
  if not answer or answer.err then
    return vim.health.error("the server does not answer: " .. (why or answer.err.message), TERMINAL)
  end
  for _, check in ipairs(answer.result.checks) do draw(check) end
end

return M
