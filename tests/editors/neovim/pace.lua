-- Plays what happens while the agent is followed on the pace's own functions, with a clock that it moves. Prints each problem, and
-- nothing without problems.
local pace = dofile(arg[1])
local state

local function check(what, wanted, wanted_wait, now, busy)
  local place, wait = pace.next(state, now, busy or false)
  if place ~= wanted or wait ~= wanted_wait then
    print(("%s: %s and %s, not %s and %s"):format(what, tostring(place), tostring(wait), tostring(wanted), tostring(wanted_wait)))
  end
end

state = pace.new()
check("nothing is there", nil, nil, 5000)
pace.arrived(state, "one")
check("the first is shown at once", "one", nil, 5000)
check("and once", nil, nil, 9000)

state = pace.new()
pace.arrived(state, "one")
check("the first", "one", nil, 5000)
pace.arrived(state, "two")
check("one in a second", nil, 900, 5100)
pace.arrived(state, "three")
check("the newest", nil, 1, 5999)
check("alone", "three", nil, 6000)
check("without a queue", nil, nil, 9000)

state = pace.new()
pace.typed(state, 5000)
pace.arrived(state, "one")
check("the user types", nil, 3000, 5000)
pace.typed(state, 7000)
check("and types", nil, 2000, 8000)
check("and is quiet", "one", nil, 10000)

state = pace.new()
pace.arrived(state, "one")
check("the user writes, however long", nil, nil, 90000, true)
check("and no more", "one", nil, 90000)

state = pace.new()
for at = 1, 10000 do
  pace.arrived(state, at)
  local place = pace.next(state, at, false)
  if place and place ~= at then print(("at %d an older place, %d"):format(at, place)) end
  if (place ~= nil) ~= (at % 1000 == 1) then print(("at %d: %s"):format(at, tostring(place))) end
end
