-- When a server starts, and for which files: with the first file of a project, again after it died, or when a command needs one.
-- Never reads what a server says.
local notices = require("adjutant.notices")
local program = require("adjutant.program")

local M = {}

local PATIENCE_MS = 10000 -- until a server runs
local AGAIN_MS = 500 -- until a server that died is started again
local config_of -- returns the configuration of the server
local on_start, on_end = function() end, function() end -- called with a client, and with the id of one
local restarts = 3 -- a server that died is started again, but not for ever
local waiting = {} -- what the user began before a server ran

local function is_file(buffer)
  return vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == "" and vim.api.nvim_buf_get_name(buffer) ~= ""
end

-- A project inside another has a server of its own. The outer server also has to know what is open in it.
local function attach_to_outer(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  name = vim.uv.fs_realpath(name) or name
  for _, client in ipairs(vim.lsp.get_clients({ name = "adjutant" })) do
    local root = vim.uv.fs_realpath(client.config.root_dir) or client.config.root_dir
    local is_inside = vim.startswith(name, root == "/" and root or root .. "/")
    if is_inside and not vim.lsp.buf_is_attached(buffer, client.id) then vim.lsp.buf_attach_client(buffer, client.id) end
  end
end

local function begin_all()
  local all = waiting
  waiting = {}
  for _, run in ipairs(all) do run() end
end

local function root_of(where) return vim.fs.root(where, ".git") or vim.fn.getcwd() end

-- Whether the program is there. Neovim itself would say three times, and with a stack, that it is not.
local was_said = false
local function can_start()
  if program.is_there() then return true end
  if not was_said then vim.schedule(notices.no_server) end
  was_said = true
  return false
end

-- Calls back with the root folder of a buffer, if a server can start for it.
function M.root_dir(buffer, done)
  if is_file(buffer) and can_start() then done(root_of(buffer)) end
end

local function start(root, options)
  -- What the user sets by `vim.lsp.config` counts too.
  local config = vim.fn.has("nvim-0.11") == 1 and vim.lsp.config.adjutant or config_of()
  config = vim.tbl_extend("force", config, { name = "adjutant", root_dir = root })
  -- Before 0.11 `vim.lsp.start` attaches a buffer in any case.
  if options.attach == false and vim.fn.has("nvim-0.11") == 0 then return vim.lsp.start_client(config) end
  return vim.lsp.start(config, options)
end

local function attach(buffer)
  if not (is_file(buffer) and can_start()) then return end
  start(root_of(buffer), { bufnr = buffer })
  attach_to_outer(buffer)
end

local function attach_all()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) then attach(buffer) end
  end
end

-- Runs this once a server runs. With no file open none does yet; then it is started for the current folder.
function M.with_server(run)
  if #vim.lsp.get_clients({ name = "adjutant" }) > 0 or not program.is_there() then return run() end
  waiting[#waiting + 1] = run
  if #waiting > 1 then return end
  local mine = waiting
  attach_all()
  if not vim.iter(vim.api.nvim_list_bufs()):any(is_file) then start(root_of(vim.fn.getcwd()), { attach = false }) end
  -- Without a server each of them says why nothing happens.
  vim.defer_fn(function()
    if waiting == mine then begin_all() end
  end, PATIENCE_MS)
end

-- A server has started.
function M.started(client)
  -- The client is listed only after this function.
  vim.schedule(function()
    begin_all()
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      if is_file(buffer) then attach_to_outer(buffer) end
    end
  end)
  on_start(client)
end

-- A server has ended.
function M.exited(code, signal, id)
  vim.schedule(function() on_end(id) end)
  if (code == 0 and signal == 0) or restarts == 0 then return end
  restarts = restarts - 1
  vim.defer_fn(attach_all, AGAIN_MS)
end

-- Each file that is open is announced, whatever its type and wherever it is shown. The later events are for one that was
-- loaded without the others: each precedes or is the first change of its text.
local OPENS = { "BufReadPost", "BufNewFile", "BufFilePost", "BufWinEnter", "BufEnter", "InsertEnter", "BufModifiedSet" }

-- Starts the servers of the files that are open, and from now on of each that is opened.
function M.begin()
  vim.api.nvim_create_autocmd(OPENS, { callback = function(event)
    if #vim.lsp.get_clients({ name = "adjutant", bufnr = event.buf }) == 0 then attach(event.buf) end
  end })
  -- Another name is another document. The old one is closed under its old name.
  vim.api.nvim_create_autocmd("BufFilePre", { callback = function(event)
    for _, client in ipairs(vim.lsp.get_clients({ name = "adjutant", bufnr = event.buf })) do
      vim.lsp.buf_detach_client(event.buf, client.id)
    end
  end })
  -- Later, because `lsp/adjutant.lua` may be what loads this.
  vim.schedule(attach_all)
end

-- `options.config` returns the configuration of the server. `options.started` gets each client that started, `options.ended` the id
-- of each that ended.
function M.setup(options) config_of, on_start, on_end = options.config, options.started, options.ended end

return M
