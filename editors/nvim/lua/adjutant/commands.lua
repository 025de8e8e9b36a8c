-- The table of everything a user can do. Each row is one action: the sub-command `:Adjutant NAME`, the map
-- `<Plug>(adjutant-NAME)`, and a line of the help file. Never does anything itself: a row names the module that does.
local M = {}

-- `name`: its words. `does`: one line of help. `run`: what does it; it gets the line of the command. `key`: the default key where
-- a file has changes. `count`: the key takes a count. `range`: it is also for selected lines, and what becomes of them if they are not
-- those of changes. `words`: `NAME: words` is possible, and
-- what the words are. `value`: one more word is possible, and what it is; `values` returns those that there are. `alone`: it needs no
-- server.
local function row(name, does, run, more)
  return vim.tbl_extend("error", { name = name, does = does, run = run }, more or {})
end

-- A module is loaded when its first action runs.
local function of(module, action, given)
  return function(line)
    return require("adjutant." .. module)[action](given and vim.tbl_extend("force", line, given) or line)
  end
end

local function values_of(name)
  return function() return require("adjutant.choices")[name]() end
end

M.ACTIONS = {
  row("chat", "opens the chat with the prompt below it, or closes both", of("conversation", "toggle")),
  row("prompt", "goes to the prompt, and opens the chat if it is closed", of("conversation", "write"),
    { range = "these lines go along with the text" }),
  row("prompt drop", "takes away the lines that wait below the text of the prompt", of("conversation", "drop")),
  row("ask", "brings back a question that was left; of several, you choose one", of("sessions", "ask")),
  row("answer", "goes to the question that waits", of("sessions", "answer")),
  row("detail", "chooses how much of a task the chat draws: brief, normal or full",
    of("detail", "choose"), { value = "DETAIL", values = function() return require("adjutant.detail").values() end }),
  row("follow", "shows in another window what the agent reads and changes, or ends that",
    of("follow", "toggle"), { alone = true }),
  row("stop", "stops the last task", of("sessions", "stop")),
  row("stop all", "stops every task", of("sessions", "stop", { all = true })),
  row("sessions", "lists the sessions, or those with a word in the title; choose one",
    of("sessions", "pick"), { value = "WORD", values = values_of("titles") }),
  row("take over", "goes on here with a session that another window had open", of("held", "take_over")),
  row("rename", "gives this session a title of your own, or asks for it",
    of("sessions", "rename"), { words = "TITLE" }),
  row("fork", "copies this session into a new one, and opens that", of("sessions", "fork")),
  row("model", "lists the models; the chosen one counts for this session", of("sessions", "model"),
    { value = "MODEL", values = values_of("models") }),
  row("setup", "sets up a model: asks for its service and key, and tries it", of("setup", "begin")),
  row("demo", "shows a task with a scripted model, in a terminal, without a key", of("demo", "begin"), { alone = true }),
  row("mode", "lists the modes: with all tools, or only with those that read", of("sessions", "mode"),
    { value = "MODE", values = values_of("modes") }),
  row("export", "opens this session as one page of text", of("sessions", "export")),
  row("log", "opens this session as a page, else the log of the language servers", of("sessions", "log")),
  row("review", "compares each changed file with its text before, in a tab page", of("review", "open")),
  row("review list", "lists the changes of all files in the quickfix window", of("review", "list")),
  row("next", "goes to the next change in this file", of("hunks", "next"), { key = "]h", count = true }),
  row("previous", "goes to the previous change in this file", of("hunks", "previous"), { key = "[h", count = true }),
  row("show", "shows the whole change at the cursor in a tab", of("hunks", "show")),
  row("keep", "keeps the change at the cursor, or applies a proposed one", of("hunks", "keep"),
    { key = "<leader>ak", range = true }),
  row("keep file", "keeps every change of this file", of("hunks", "keep", { file = true }), { key = "<leader>aK" }),
  row("keep all", "keeps every change of every file", of("hunks", "keep_all")),
  row("undo", "undoes the change at the cursor, or rejects a proposed one", of("hunks", "undo"),
    { key = "<leader>au", range = true }),
  row("undo file", "undoes every change of this file", of("hunks", "undo", { file = true }), { key = "<leader>aU" }),
  row("undo run", "undoes all changes of a task, after you saw what that means", of("runs", "undo")),
  row("undo run later", "the same, with everything after that task", of("runs", "undo", { later = true })),
  row("reject", "undoes or rejects the change at the cursor, with a reason", of("hunks", "reject"),
    { key = "<leader>ar", words = "REASON" }),
  row("restore", "restores what was undone last in this file", of("hunks", "restore")),
  row("restore run", "restores a task that was undone", of("runs", "restore")),
  row("restore run later", "the same, with everything after that task", of("runs", "restore", { later = true })),
  row("comment", "writes a comment on the change; an empty one takes it back", of("comments", "comment"),
    { key = "<leader>ac", words = "TEXT" }),
  row("send", "sends all comments that wait", of("comments", "send"), { words = "TEXT" }),
}

local by_name = {}
for _, action in ipairs(M.ACTIONS) do by_name[action.name] = action end

function M.plug(action) return ("<Plug>(adjutant-%s)"):format((action.name:gsub(" ", "-"))) end

-- Returns the action of a text and its words, or nothing if the text is one for the model: every word of it has to belong to the
-- action, so that "undo the last commit" is a task.
function M.parse(text)
  text = vim.trim(text)
  if by_name[text] then return by_name[text] end
  local name, words = text:match("^(%l+):%s*(.*)$")
  if name and by_name[name] and by_name[name].words then return by_name[name], words end
  name, words = text:match("^(%l+)%s+(%S+)$")
  if name and by_name[name] and by_name[name].value then return by_name[name], words end
end

-- Returns how the sub-commands go on after `typed`, which ends at the cursor.
function M.complete(typed)
  local before, last = typed:match("^%s*Adjutant%s+(.-)(%S*)$")
  if not before then before, last = typed:match("Adjutant%s+(.-)(%S*)$") end
  if not before then return {} end
  before = before:gsub("%s+", " ")
  local found = {}
  for _, action in ipairs(M.ACTIONS) do
    local rest = vim.startswith(action.name, before) and action.name:sub(#before + 1) or ""
    local word = rest:match("^%S+")
    if word and vim.startswith(word, last) and not vim.list_contains(found, word) then found[#found + 1] = word end
  end
  local action = by_name[vim.trim(before)]
  for _, value in ipairs(action and action.values and action.values() or {}) do
    if vim.startswith(value:lower(), last:lower()) then found[#found + 1] = value end
  end
  return found
end

-- Returns the lines of the help file about the sub-commands.
function M.help()
  local lines = {}
  for _, action in ipairs(M.ACTIONS) do
    local typed = ":Adjutant " .. action.name .. (action.value and (" [%s]"):format(action.value) or "")
    local tag = ("*%s*"):format(M.plug(action))
    lines[#lines + 1] = typed .. (" "):rep(math.max(2, 78 - #typed - #tag)) .. tag
    if action.words then lines[#lines + 1] = (":Adjutant %s: %s"):format(action.name, action.words) end
    lines[#lines + 1] = ("\t%s%s."):format(action.does:sub(1, 1):upper(), action.does:sub(2))
    if action.key then
      lines[#lines + 1] = ("\tKey in a file with changes: %s%s"):format(action.key, action.count and ", with a count" or "")
    end
    local range = action.range == true and "the changes in these lines" or action.range
    if range then lines[#lines + 1] = ("\tWith a range, or a selection: %s."):format(range) end
    lines[#lines + 1] = ""
  end
  return vim.list_extend(lines, require("adjutant.panes").help())
end

local function with_server(run) require("adjutant").with_server(run) end

local function act(action, line)
  if action.alone then return action.run(line) end
  with_server(function() action.run(line) end)
end

-- Runs `:Adjutant`. With `!` the text is always one for the model, in a new session.
function M.run(line)
  local action, words
  if not line.bang then action, words = M.parse(line.args) end
  if not action then
    return with_server(function() require("adjutant.sessions").task(vim.trim(line.args), line) end)
  end
  act(action, { range = line.range, line1 = line.line1, line2 = line.line2, count = 1, args = words or "" })
end

-- Defines the command and the maps.
function M.setup()
  vim.api.nvim_create_user_command("Adjutant", M.run, {
    nargs = "*", bang = true, range = true, desc = "Gives Adjutant a task, or runs one of its sub-commands",
    complete = function(_, line, at) return M.complete(line:sub(1, at)) end,
  })
  for _, action in ipairs(M.ACTIONS) do
    local function run()
      act(action, { range = 0, count = action.count and vim.v.count1 or 1, args = "" })
    end
    vim.keymap.set("n", M.plug(action), run, { desc = "Adjutant: " .. action.name })
    -- From Visual mode `:` puts the selected lines before the command.
    if action.range then
      vim.keymap.set("x", M.plug(action), (":Adjutant %s<CR>"):format(action.name), { desc = "Adjutant: " .. action.name, silent = true })
    end
  end
end

return M
