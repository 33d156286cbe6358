#!/bin/sh
# Generates the types of requests and answers from the contract, members in its order.
set -eu
ordered=$(mktemp)
trap 'rm -f "$ordered"' EXIT
awk '
	/^  schemas:/ {schemas = 1}
	/^      [a-z]/ {properties = schemas && /^      properties:/}
	properties && /^        [a-z_0-9]+:/ {
		if (!sub(/: \{/, ": {x-order: " NR ", x-omitempty: false, "))
			$0 = $0 "\n          x-order: " NR "\n          x-omitempty: false"
	}
	{print}
' ../../openapi.yaml >"$ordered"
go tool -modfile=../../tools/go.mod oapi-codegen -config oapi-codegen.yaml "$ordered"
