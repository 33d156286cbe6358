// Package operator says what an operator is: its configuration with all defaults, what may
// not change once it exists, and the parameters of its plans. Each scheme has a form here,
// which knows what of a configuration belongs to the scheme. The package never asks which keys
// there are, and reads no store.
package operator
