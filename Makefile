# Short names for the commands that one types most; none is needed.
.PHONY: build test lint generate check release

build:
	go build -o plannerd ./cmd/plannerd

test:
	.ci/test

lint:
	go tool -modfile=tools/go.mod golangci-lint run

generate:
	go generate ./...

check:
	.ci/run

release:
	.ci/release
