package reading

import (
	"plannerd/internal/cli"
	"plannerd/internal/drive"
	statsio "plannerd/internal/input"
)

// Source yields one interval after the other, and io.EOF after the last.
type Source func() (interval int64, input *statsio.Document, err error)

// SummedUp is the source with S(k,w), the sum of what the last w intervals added, for the
// state that rows tell.
func (next Source) SummedUp(w int) Source {
	window := drive.NewSums(w)
	return func() (interval int64, input *statsio.Document, err error) {
		if interval, input, err = next(); err != nil {
			return interval, input, err
		}
		if input.Records != nil {
			return interval, input, cli.Usagef("--window: compact records do not say which keys they are of")
		}
		input.Stats, err = window.Add(input.Stats)
		return interval, input, err
	}
}
