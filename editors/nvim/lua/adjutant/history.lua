-- The walk through the prompts of before, which the server has. Never loses the text that one comes from: it is at the end of the way
-- back, and each step can be undone.
local M = {}

---@class adjutant.Walk
---@field own string[] the text that one comes from
---@field shown string what the walk put last
---@field prompts string[] newest first
---@field index integer the one that is shown; 0 is the own text
---@field before? string where older ones begin
---@field loading? boolean

local function put(walk, steps, lines, at_end)
  walk.shown = table.concat(lines, "\n")
  steps.put(lines, at_end)
end

local step

local function load(draft, walk, steps, before)
  if walk.loading then return end
  walk.loading = true
  steps.load(before, function(page)
    walk.loading = nil
    for _, prompt in ipairs(page.prompts) do walk.prompts[#walk.prompts + 1] = prompt.text end
    walk.before = page.before
    -- Who went on typing meanwhile does not lose it.
    if draft.walk == walk and steps.text() == walk.shown and #page.prompts > 0 then step(draft, walk, steps) end
  end)
end

function step(draft, walk, steps)
  local prompt = walk.prompts[walk.index + 1]
  if not prompt then
    if walk.before then load(draft, walk, steps, walk.before) end
    return
  end
  walk.index = walk.index + 1
  if prompt == walk.shown then return step(draft, walk, steps) end
  put(walk, steps, vim.split(prompt, "\n"), false)
end

-- Shows the prompt before. A text that was changed on the way is the own one from then on.
function M.older(draft, steps)
  local text = steps.text()
  if draft.walk and draft.walk.shown == text then
    if not draft.walk.loading then step(draft, draft.walk, steps) end
    return
  end
  draft.walk = { own = vim.split(text, "\n"), shown = text, prompts = {}, index = 0 }
  load(draft, draft.walk, steps)
end

-- Goes back. Returns `false` if there is nowhere to go back to.
function M.newer(draft, steps)
  local walk = draft.walk
  if not walk or walk.index == 0 or walk.shown ~= steps.text() then return false end
  walk.index = walk.index - 1
  if walk.index == 0 then
    draft.walk = nil
    steps.put(walk.own, true)
  else
    put(walk, steps, vim.split(walk.prompts[walk.index], "\n"), true)
  end
  return true
end

return M
