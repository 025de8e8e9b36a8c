-- Prompts that were written and not sent, kept in a file over the end of Neovim. Never has a text that was sent.
local M = {}

local MOST = 50 -- prompts; the newest stay

local function path() return vim.fs.joinpath(vim.fn.stdpath("state"), "adjutant", "unsent.json") end

---@class adjutant.Unsent
---@field root string
---@field session? string
---@field text string

---Returns what is kept. A file that is damaged has nothing.
---@return adjutant.Unsent[]
function M.read()
  local file = io.open(path(), "r")
  if not file then return {} end
  local text = file:read("*a")
  file:close()
  local ok, kept = pcall(vim.json.decode, text, { luanil = { object = true } })
  if not ok or type(kept) ~= "table" then return {} end
  return vim.tbl_filter(function(one) return type(one) == "table" and type(one.root) == "string" and type(one.text) == "string" end, kept)
end

---Keeps these instead of what was kept for the same sessions; of others it stays, because another Neovim may have written it.
---@param unsent adjutant.Unsent[] the ones without a text are removed
function M.write(unsent)
  if #unsent == 0 then return end
  local is_ours = {}
  local function key(one) return one.root .. "\n" .. (one.session or "") end
  for _, one in ipairs(unsent) do is_ours[key(one)] = true end
  local all = vim.tbl_filter(function(one) return not is_ours[key(one)] end, M.read())
  for _, one in ipairs(unsent) do
    if vim.trim(one.text) ~= "" then all[#all + 1] = one end
  end
  local to = path()
  if #all == 0 then return os.remove(to) end
  vim.fn.mkdir(vim.fs.dirname(to), "p", tonumber("700", 8))
  local new = ("%s.%d"):format(to, vim.fn.getpid())
  local file = io.open(new, "w")
  if not file then return end
  file:write(vim.json.encode(vim.list_slice(all, math.max(1, #all - MOST + 1))))
  file:close()
  vim.uv.fs_chmod(new, tonumber("600", 8))
  vim.uv.fs_rename(new, to)
end

return M
