-- Adjutant in Neovim 0.10 and newer, without a plugin. Put this file into
-- ~/.config/nvim/lua/adjutant.lua and `require("adjutant")` into init.lua.
-- It attaches the server to every file and forwards two commands; what is
-- asked and done, the server decides.

-- Tells the server that files which it opened for an edit can be saved.
local capabilities = vim.lsp.protocol.make_client_capabilities()
capabilities.experimental = { agent = { version = 0, documents = { save = true } } }

local function save(_, params)
  local documents = {}
  for _, uri in ipairs(params.uris) do
    local buffer = vim.uri_to_bufnr(uri)
    local saved, why = pcall(vim.api.nvim_buf_call, buffer, function() vim.cmd("silent update") end)
    documents[#documents + 1] = { uri = uri, saved = saved, message = not saved and tostring(why) or nil }
  end
  return { documents = documents }
end

local attach_all
local restarts = 3 -- a server that died is started again, but not for ever

local function exited(code, signal)
  if (code == 0 and signal == 0) or restarts == 0 then return end
  restarts = restarts - 1
  vim.defer_fn(attach_all, 500)
end

local function attach(buffer)
  if vim.bo[buffer].buftype ~= "" or vim.api.nvim_buf_get_name(buffer) == "" then return end
  vim.lsp.start({
    name = "adjutant",
    cmd = { "adjutant", "lsp" },
    root_dir = vim.fs.root(buffer, ".git") or vim.fn.getcwd(),
    capabilities = capabilities,
    -- What is typed is told at once: an edit of the server may be on its way.
    flags = { debounce_text_changes = 0 },
    handlers = { ["agent/document/save"] = save },
    on_exit = exited,
  }, { bufnr = buffer })
end

function attach_all()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) then attach(buffer) end
  end
end

local function execute(command, argument)
  local client = vim.lsp.get_clients({ name = "adjutant" })[1]
  if not client then return vim.notify("Adjutant: open a file first", vim.log.levels.WARN) end
  local params = { command = command, arguments = argument and { argument } or {} }
  local function told(err) if err then vim.notify("Adjutant: " .. err.message, vim.log.levels.ERROR) end end
  -- A plain function before 0.11, a method since.
  if vim.fn.has("nvim-0.11") == 1 then client:request("workspace/executeCommand", params, told)
  else client.request("workspace/executeCommand", params, told) end
end

vim.api.nvim_create_user_command("Adjutant", function(line)
  execute("adjutant.start", {
    text = line.args,
    uri = vim.uri_from_bufnr(0),
    range = {
      start = { line = line.line1 - 1, character = 0 },
      ["end"] = { line = line.line2, character = 0 },
    },
  })
end, { nargs = "+", range = true, desc = "Gives Adjutant a task" })
vim.api.nvim_create_user_command("AdjutantCancel", function() execute("adjutant.cancel") end,
  { desc = "Stops what Adjutant does" })

-- What it is at, for the status line: %{get(g:, "adjutant", "")}
local titles = {}
vim.api.nvim_create_autocmd("LspProgress", { callback = function(event)
  local client = vim.lsp.get_client_by_id(event.data.client_id)
  if not client or client.name ~= "adjutant" then return end
  local token, value = event.data.params.token, event.data.params.value
  titles[token] = value.title or titles[token]
  local ended = value.kind == "end"
  vim.g.adjutant = ("%s: %s"):format(titles[token] or "Adjutant", value.message or (ended and "done" or "at work"))
  if ended then titles[token] = nil end
  vim.cmd.redrawstatus()
end })

vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile" }, { callback = function(event) attach(event.buf) end })
attach_all()
