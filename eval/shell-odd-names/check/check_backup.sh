set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() {
    echo "$1" >&2
    exit 1
}
mkdir "$place/from" "$place/from/folder.txt"
cd "$place/from"
line='two
lines.txt'
for name in 'plain.txt' 'two words.txt' './-n.txt' 'a*b.txt' "$line" 'no-text.md' 'atxt'; do
    printf '%s' "$name" > "$name"
done
cd - > /dev/null
script=$PWD/backup.sh
said=$(sh "$script" "$place/from" "$place/new/to")
[ "$said" = 5 ] || fail "it printed \"$said\", expected 5"
for name in 'plain.txt' 'two words.txt' '-n.txt' 'a*b.txt' "$line"; do
    cmp "$place/from/$name" "$place/new/to/$name" || fail "$name is not the same"
done
[ ! -e "$place/new/to/no-text.md" ] || fail "no-text.md was copied"
[ ! -e "$place/new/to/atxt" ] || fail "atxt was copied"
mkdir "$place/empty"
said=$(sh "$script" "$place/empty" "$place/to2") || fail "it fails without files"
[ "$said" = 0 ] || fail "it printed \"$said\" without files"
[ -d "$place/to2" ] || fail "the folder was not made"
cd "$place"
mkdir -- -from
echo x > ./-from/x.txt
said=$(sh "$script" -from -to)
[ "$said" = 1 ] && [ -f ./-to/x.txt ] || fail "a folder that begins with a dash is not copied"
if said=$(sh "$script" "$place/none" "$place/to3" 2> /dev/null); then
    fail "it succeeds without a folder"
fi
[ -z "$said" ] || fail "it printed \"$said\" without a folder"
