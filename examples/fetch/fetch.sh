#!/bin/sh
# Stands in for the network: the page is a file in the folder `pages`.
# The parameters come as one line of JSON on stdin. What is printed is the result.
url=$(sed 's/.*"url":"\([^"]*\)".*/\1/')
page=$(dirname "$0")/pages/${url##*/}.txt
if [ ! -f "$page" ]; then
    echo "404: there is no page $url" >&2 # the message that the model reads
    exit 1
fi
cat "$page"
