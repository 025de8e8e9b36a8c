-- What to do about an error, in words of Neovim: the server speaks of a terminal. Never changes what is said to have happened.
local M = {}

local NO_MODEL = -33010 -- `ProviderUnavailable`

-- What the server says for those at a terminal, and what it is here.
local HERE = {
  { "`adjutant setup`", ":Adjutant setup" },
  { "`adjutant doctor`", ":checkhealth adjutant" },
  { "`adjutant demo`", ":Adjutant demo" },
  { "where Adjutant is started", "where Neovim is started" },
}

local function replaced(text, from, to)
  local first, last = text:find(from, 1, true)
  return first and text:sub(1, first - 1) .. to .. replaced(text:sub(last + 1), from, to) or text
end

-- Returns a text of the server in the words of Neovim.
function M.here(text)
  -- All that follows is for a terminal.
  local what = text:match("^(no model is configured): run `adjutant setup`, ")
  if what then return what .. ": begin with :Adjutant setup; :Adjutant demo shows a task without one" end
  text = text:gsub(", or use `%-%-model [^`]*`", "")
  for _, pair in ipairs(HERE) do text = replaced(text, pair[1], pair[2]) end
  return text
end

-- Returns why something was refused and what to do, and what it is about if something may cure it: `model`.
function M.why(err)
  local text = M.here(err.message)
  if err.code ~= NO_MODEL then return text end
  -- What is wrong in a file is mended by hand.
  local says = text:find(":Adjutant setup", 1, true) or text:find(":checkhealth adjutant", 1, true) or text:find(": correct its `")
  return (says and "" or "begin with :Adjutant setup; ") .. text, "model"
end

return M
