#!/bin/sh
# Copies the text files of one folder into another, and prints how many.
from=$1
to=$2
count=0
for name in $(ls $from | grep .txt); do
    cp $from/$name $to
    count=$((count + 1))
done
echo $count
