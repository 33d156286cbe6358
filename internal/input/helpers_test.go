package input

import (
	"io"

	"plannerd/internal/input/internal/inputtest"
)

// Tests of Arrow are mostly made of these.
var (
	arrowOf, usual    = inputtest.Arrow, inputtest.UsualColumns
	col, dictionaryOf = inputtest.Column, inputtest.DictionaryOf
)

// of is the decoder of a format.
func of(f Format) func(io.Reader, Options) (*Document, error) {
	return func(r io.Reader, o Options) (*Document, error) { return Decode(r, f, o) }
}

// resolved is the decoder of resolutions in a format.
func resolved(f Format) func(io.Reader, Options) (*Resolution, error) {
	return func(r io.Reader, o Options) (*Resolution, error) { return DecodeResolution(r, f, o) }
}

var (
	decodeJSON, decodeNDJSON, decodeCSV, decodeArrow = of(JSON), of(NDJSON), of(CSV), of(Arrow)
	decodeResolutionNDJSON, decodeResolutionCSV      = resolved(NDJSON), resolved(CSV)
)
