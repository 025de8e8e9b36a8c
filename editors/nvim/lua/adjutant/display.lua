-- What a text of others looks like when it is shown: `display` of the server
-- (`server/core/src/display.rs`). Both are tested by one table, `tests/corpus/display.jsonl`.
-- Never changes the text that is run or written.
local M = {}

local MAX_MARKS = 6 -- that a letter may carry

-- Control, bidirectional and invisible characters: text that holds one does not look like what it is.
local HIDDEN = {
  { 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
  { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x2800, 0x2800 }, { 0x3164, 0x3164 },
  { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
  { 0xe0000, 0xe0fff },
}
local BLANK = {
  { 0x0b, 0x0d }, { 0x85, 0x85 }, { 0xa0, 0xa0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x2028, 0x2029 }, { 0x202f, 0x202f },
  { 0x205f, 0x205f }, { 0x3000, 0x3000 },
}

local function within(ranges, code)
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then return true end
  end
  return false
end

local function escaped(code) return ("\\u{%x}"):format(code) end

-- What a character is; a mark is what Neovim draws on the letter before it.
local signs = setmetatable({}, { __index = function(signs, char)
  local code = #char == 1 and char:byte() or vim.fn.char2nr(char)
  local is = { code = code, hidden = within(HIDDEN, code), blank = within(BLANK, code) }
  is.mark = not is.hidden and code >= 0x300 and vim.fn.strcharlen("a" .. char) == 1
  signs[char] = is
  return is
end })

-- Hidden characters, and marks without a letter or too many on one, are written `\u{..}`.
function M.plain(text)
  if not text:find("[%c\127-\255]") then return text end
  local marks = MAX_MARKS
  return (text:gsub("[%z\1-\127\194-\244][\128-\191]*", function(char)
    if char == "\n" or char == "\t" or char == " " then
      marks = MAX_MARKS
      return
    end
    if #char == 1 and char:find("%C") then
      -- A sign is no letter.
      marks = char:find("%p") and MAX_MARKS or 0
      return
    end
    local is = signs[char]
    if is.mark then
      marks = marks + 1
      return marks > MAX_MARKS and escaped(is.code) or nil
    end
    marks = (is.blank or is.hidden) and MAX_MARKS or 0
    return is.hidden and escaped(is.code) or nil
  end))
end

-- A line whose blanks are seen: those at its end, and those that are no space and no tab.
local function visible_blanks(line)
  line = line:gsub("[\194-\244][\128-\191]+", function(char)
    return signs[char].blank and escaped(signs[char].code) or nil
  end)
  return (line:gsub("[ \t]+$", function(blanks)
    return (blanks:gsub(".", function(blank) return escaped(blank:byte()) end))
  end))
end

-- The lines of a command as they are shown.
function M.command(text)
  local lines = vim.split(text, "\n", { plain = true })
  for index, line in ipairs(lines) do lines[index] = visible_blanks(line) end
  return M.plain(table.concat(lines, "\n"))
end

-- A diff whose lines all end alike is shown without their ends; where they differ, that is part of
-- the change and is seen.
local function without_ends(diff)
  local within_hunk = false
  for line in vim.gsplit(diff, "\n", { plain = true }) do
    within_hunk = within_hunk or line:sub(1, 2) == "@@"
    if within_hunk and line:find("^[ +-]") and line:sub(-1) ~= "\r" then return diff end
  end
  return (diff:gsub("\r\n", "\n"))
end

-- A diff as it is shown, with the blanks of the lines that it removes and inserts.
function M.diff(text)
  local lines = vim.split(without_ends(text), "\n", { plain = true })
  for index, line in ipairs(lines) do
    if line:find("^[+-]") then lines[index] = visible_blanks(line) end
  end
  return M.plain(table.concat(lines, "\n"))
end

return M
