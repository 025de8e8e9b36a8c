-- The images of a prompt: a line `@image:PATH` of its text stands for a file. What the server accepts, the server says; only the size of
-- a file is looked at here, before it is read. Never reads a file that no such line names.
local display = require("adjutant.display")

local M = {}

local LINE = "^%s*@image:%s*(.-)%s*$"
local BEGINNINGS = {
  { "\137PNG\r\n\26\n", "image/png" }, { "\255\216\255", "image/jpeg" }, { "GIF87a", "image/gif" }, { "GIF89a", "image/gif" },
}

local function type_of(bytes)
  for _, known in ipairs(BEGINNINGS) do
    if vim.startswith(bytes, known[1]) then return known[2] end
  end
  if vim.startswith(bytes, "RIFF") and bytes:sub(9, 12) == "WEBP" then return "image/webp" end
end

-- Whether a text has such a line.
function M.has(text)
  for line in vim.gsplit(text, "\n", { plain = true }) do
    if line:match(LINE) then return true end
  end
  return false
end

-- Returns the file of a path and its size: below the root folder, else below the current one.
local function find(path, root)
  if vim.startswith(path, "~/") then path = vim.uv.os_homedir() .. path:sub(2) end
  local is_whole = vim.startswith(path, "/")
  for _, folder in ipairs(is_whole and { "" } or { root .. "/", vim.fn.getcwd() .. "/" }) do
    local is = vim.uv.fs_stat(folder .. path)
    if is and is.type == "file" then return folder .. path, is.size end
  end
end

local function read(path, root, limits)
  local shown = display.plain(path)
  local file, size = find(path, root)
  if not file then return nil, ("there is no image %s"):format(shown) end
  if limits.maxImageBytes and size > limits.maxImageBytes then
    return nil, ("the image %s is too large: %d bytes, at most %d"):format(shown, size, limits.maxImageBytes)
  end
  local opened = io.open(file, "rb")
  local bytes = opened and opened:read("*a")
  if opened then opened:close() end
  if not bytes then return nil, ("the image %s cannot be read"):format(shown) end
  local kind = type_of(bytes)
  if not kind then return nil, ("%s is no PNG, JPEG, GIF or WebP image"):format(shown) end
  return { type = "image", mimeType = kind, data = vim.base64.encode(bytes) }
end

-- Returns the blocks of a prompt: its text as it was written, and an image for each such line; or nothing, and why. `limits` are those
-- that the server announces.
function M.blocks(text, root, limits)
  local blocks = { { type = "text", text = text } }
  for line in vim.gsplit(text, "\n", { plain = true }) do
    local path = line:match(LINE)
    if path then
      if limits.maxImages and #blocks > limits.maxImages then
        return nil, ("a prompt has at most %d images"):format(limits.maxImages)
      end
      local block, why = read(path, root, limits)
      if not block then return nil, why end
      blocks[#blocks + 1] = block
    end
  end
  return blocks
end

return M
