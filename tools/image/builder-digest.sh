#!/bin/sh
# Prints the image that builds ours, by its digest: what the tag of Dockerfile's BUILDER leads to now. Both processors' jobs of a release
# build by what this prints once, since a tag may lead to another image a minute later.
# Usage: builder-digest.sh [image]   An image with a digest is taken as it is. A tag alone is never printed.
set -eu
image=${1:-$(sed -n 's/^ARG BUILDER=//p' "$(dirname "$0")/../../Dockerfile")}
case $image in
*@*) ;;
*) image=$image@$(docker buildx imagetools inspect "$image" --format '{{ .Manifest.Digest }}') ;;
esac
# In one line: grep would take any of several.
if ! printf '%s' "$image" | tr '\n' ' ' | grep -Eqx '[a-z0-9][A-Za-z0-9._/:-]*@sha256:[0-9a-f]{64}'; then
	echo "The builder is \"$image\", which no digest names. A release is built by an image that can't change: name one as <name>:<tag>@sha256:<64 hex digits>." >&2
	exit 1
fi
echo "$image"
