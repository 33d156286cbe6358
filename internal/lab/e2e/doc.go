// Package e2e drives plannerd as an engine does, over HTTP and with whole key
// streams, and recomputes every figure that it answers. It holds tests only.
package e2e
