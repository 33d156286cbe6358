// Package plannerd carries what the whole program shares and no other folder
// can embed: the contract of its HTTP API.
package plannerd

import _ "embed"

// OpenAPI is the contract of the HTTP API, openapi.yaml: OpenAPI 3.0.3, UTF-8.
//
//go:embed openapi.yaml
var OpenAPI []byte
