-- Plays the table of texts on the set-up's own function. Prints each problem, and nothing without
-- problems. Skips rows of surfaces with markup, because a float has none.
local display, table_of_texts = dofile(arg[1]), arg[2]
local played = 0

for line in io.lines(table_of_texts) do
  local row = vim.json.decode(line)
  local draw = display[row.enc:match("%a+")]
  if draw then
    played = played + 1
    local drawn = draw(row.input)
    if drawn ~= row.expect then print(("%s: %q is not %q"):format(row.id, drawn, row.expect)) end
    if draw(drawn) ~= drawn then print(row.id .. ": not the same twice") end
  end
end
if played < 9 then print(("only %d rows were played"):format(played)) end
