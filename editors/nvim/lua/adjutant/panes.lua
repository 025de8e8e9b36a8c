-- The table of the keys in the chat and in the prompt. Each row is the map `<Plug>(adjutant-WHERE-NAME)`, its keys, and a line of the
-- help file. Never sets a key outside of those two windows.
local M = {}

-- `where`: `prompt` or `chat`. `keys`: the default keys by mode. `does`: one line of help. `run`: what does it.
local function row(where, name, keys, does, run) return { where = where, name = name, keys = keys, does = does, run = run } end

-- A module is loaded when its first key is pressed.
local function of(module, action)
  return function() return require("adjutant." .. module)[action]() end
end

M.KEYS = {
  row("prompt", "send", { n = { "<CR>" }, i = { "<C-S>" } }, "sends the text, or steers the task that runs in its session", of("prompt", "send")),
  row("prompt", "stop", { n = { "<C-C>" }, i = { "<C-C>" } }, "twice in 2 seconds: stops the task. The first press leaves Insert mode", of("prompt", "stop")),
  row("prompt", "older", { n = { "<Up>" }, i = { "<Up>" } }, "on the first line: brings the prompt before", of("prompt", "older")),
  row("prompt", "newer", { n = { "<Down>" }, i = { "<Down>" } }, "on the last line: comes back, at last to your own text", of("prompt", "newer")),
  row("chat", "write", { n = { "i", "a", "o" } }, "goes to the prompt", of("conversation", "write")),
  row("chat", "close", { n = { "q" } }, "closes the chat and the prompt", of("conversation", "close")),
  row("chat", "next", { n = { "]]" } }, "goes to the next of your prompts", of("reading", "next")),
  row("chat", "previous", { n = { "[[" } }, "goes to the previous of your prompts", of("reading", "previous")),
  row("chat", "fork", { n = { "gF" } }, "on your prompt: copies what was said before it; its text waits below", of("reading", "fork")),
  row("chat", "unfold", { n = { "<CR>" } }, "on a step: opens or closes it; what it changed opens as a diff", of("reading", "unfold")),
  row("chat", "open", { n = { "gf" } }, "opens the file at the cursor, such as src/cart.js:12, at its line", of("reading", "open")),
}

function M.plug(key) return ("<Plug>(adjutant-%s-%s)"):format(key.where, key.name) end

-- Defines the `<Plug>` maps. In other buffers they do nothing.
function M.setup()
  for _, key in ipairs(M.KEYS) do
    for mode in pairs(key.keys) do
      vim.keymap.set(mode, M.plug(key), key.run, { desc = "Adjutant: " .. key.does })
    end
  end
end

-- Sets the keys of a buffer of its own: the chat's or a prompt's.
function M.set(buffer, where)
  for _, key in ipairs(M.KEYS) do
    for mode, keys in pairs(key.where == where and key.keys or {}) do
      for _, lhs in ipairs(keys) do
        vim.keymap.set(mode, lhs, M.plug(key), { buffer = buffer, remap = true, nowait = true, desc = "Adjutant: " .. key.does })
      end
    end
  end
end

-- Returns the key of an action in a buffer as the user has it, or nothing.
function M.shown(buffer, mode, where, name)
  local plug = M.plug({ where = where, name = name })
  for _, map in ipairs(vim.api.nvim_buf_get_keymap(buffer, mode)) do
    if map.rhs == plug then return vim.fn.keytrans(vim.keycode(map.lhs)) end
  end
end

local PLACES = { prompt = "In the prompt, below the chat", chat = "In the chat" }
local MODES = { { "n", "" }, { "i", " in Insert mode" } }

-- Returns the lines of the help file about these keys.
function M.help()
  local lines, last = {}, nil
  for _, key in ipairs(M.KEYS) do
    if key.where ~= last then vim.list_extend(lines, { PLACES[key.where] .. ":", "" }) end
    last = key.where
    local shown = {}
    for _, mode in ipairs(MODES) do
      local keys = key.keys[mode[1]]
      if keys then shown[#shown + 1] = table.concat(keys, ", ") .. mode[2] end
    end
    local typed, tag = table.concat(shown, "; "), ("*%s*"):format(M.plug(key))
    lines[#lines + 1] = typed .. (" "):rep(math.max(2, 78 - #typed - #tag)) .. tag
    lines[#lines + 1] = ("\t%s%s."):format(key.does:sub(1, 1):upper(), key.does:sub(2))
    lines[#lines + 1] = ""
  end
  return lines
end

return M
