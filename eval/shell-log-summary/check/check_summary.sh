set -eu
is() {
    if [ "$1" != "$2" ]; then
        printf 'expected\n%s\ngot\n%s\n' "$2" "$1" >&2
        exit 1
    fi
}
is "$(sh summary.sh < sample.log)" 'INFO 2
ERROR 1
WARN 1'
is "$(sh summary.sh < /dev/null)" ''
is "$(printf 'a b NOTICE x\na b ERRORS x\na b error x\nERROR\na ERROR b\n\n' | sh summary.sh)" ''
is "$(printf 'd t DEBUG x\nd t DEBUG\nd t WARN y' | sh summary.sh)" 'DEBUG 2
WARN 1'
long=$(awk 'BEGIN { for (at = 0; at < 12; at++) print "d t INFO x"; for (at = 0; at < 9; at++) print "d t DEBUG x" }' | sh summary.sh)
is "$long" 'INFO 12
DEBUG 9'
