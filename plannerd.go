// Package plannerd carries what the whole program shares and no other folder
// can embed: the contract of its HTTP API and its guides.
package plannerd

import "embed"

//go:generate go run ./internal/lab/bundle api/contract/openapi.yaml openapi.yaml
//go:generate go tool -modfile=tools/go.mod oapi-codegen -config sdk/go/wire/oapi-codegen.yaml openapi.yaml
//go:generate go run ./internal/lab/clients openapi.yaml sdk/python/src/plannerd sdk/go/client
//go:generate go -C tools run ./thirdparty notices

// OpenAPI is the contract of the HTTP API, openapi.yaml: OpenAPI 3.0.3, UTF-8. It
// is joined from the files of api/contract.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Guides are the project's pages of Markdown, at the root and in docs, and their
// pictures.
//
//go:embed *.md docs/*.md docs/*.png docs/*.svg
var Guides embed.FS
