#!/bin/sh
# Greets the person in the first argument, or the world.
name=$1
echo "Hello, $name!"
