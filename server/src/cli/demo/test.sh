#!/bin/sh
# Fails unless greet.sh does what its comment says.
cd "$(dirname "$0")" || exit 1
expect() {
    if [ "$1" != "$2" ]; then
        echo "FAILED: expected \"$2\", got \"$1\""
        exit 1
    fi
    echo "ok: $2"
}
expect "$(sh greet.sh Ada)" "Hello, Ada!"
expect "$(sh greet.sh)" "Hello, world!"
