package reading

import (
	"plannerd/internal/cli"
	"plannerd/internal/drive"
	"plannerd/internal/input"
)

// Source yields one interval after the other, and io.EOF after the last.
type Source func() (interval int64, given *input.Document, err error)

// SummedUp is the source with S(k,w), the sum of what the last w intervals added, for the
// state that rows tell.
func (next Source) SummedUp(w int) Source {
	window := drive.NewSums(w)
	return func() (interval int64, given *input.Document, err error) {
		if interval, given, err = next(); err != nil {
			return interval, given, err
		}
		if given.Records != nil {
			return interval, given, cli.Usagef("--window: compact records do not say which keys they are of")
		}
		given.Stats, err = window.Add(given.Stats)
		return interval, given, err
	}
}
